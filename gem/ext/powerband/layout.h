/* The flight file's layout, field for field as contract/flight-v1.md says it; the assertions hold both together. */
#ifndef POWERBAND_LAYOUT_H
#define POWERBAND_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include "origin.h"

#define PB_MAGIC "PBFLIGHT"
#define PB_VERSION 1
#define PB_UNKNOWN 0xFFFFFFFFu

#define PB_FIELD_TABLE_OFFSET 512
#define PB_FIELD_NS 1
#define PB_FIELD_COUNT 2
#define PB_FIELD_INDEX 3
#define PB_FIELD_US 4
#define PB_FIELD_MEASURED 1

#define PB_BUCKETS 128
#define PB_NAME_SIZE 120
#define PB_ENDPOINTS 256

#define PB_FLAG_GVL_HOOK 1u
#define PB_FLAG_FIBERS 2u
#define PB_FLAG_LOCKED 4u
#define PB_FLAG_STATUSES 8u
#define PB_FLAG_EDGES 16u

#define PB_REQUEST_QUEUE_KNOWN 1u
#define PB_REQUEST_RAISED 2u
#define PB_REQUEST_JOB 4u
#define PB_REQUEST_EVENTS 8u
#define PB_REQUEST_SPANS 16u

#define PB_POOL_SAMPLES 1024
#define PB_COLLECTIONS 2048
#define PB_LOCKS 64
#define PB_SITE_SIZE 120
#define PB_ROOT_SIZE 128

#define PB_ABOUT_OFFSET 2048
#define PB_HEAP_OFFSET 2304
#define PB_VARIABLES_OFFSET 2816
#define PB_VARIABLES_SIZE 1280
#define PB_HEAP_POOLS 16
#define PB_STATUS_CLASSES 5 /* 1xx to 5xx */
#define PB_EDGES 2 /* 75 and 250 ms */

enum pb_collection_kind { PB_COLLECTION_MINOR = 1, PB_COLLECTION_MAJOR = 2 };

#define PB_COLLECTION_BEGAN 1u /* its first pause is in this file, so that what was before it is known */
#define PB_COLLECTION_OVER 2u
#define PB_COLLECTION_IN_REQUEST 4u
#define PB_COLLECTION_SWEPT_AT_ONCE 8u

/* What a thread waits in. PB_LOCK_NONE: nothing of these. */
enum pb_lock_kind {
    PB_LOCK_NONE,
    PB_LOCK_MUTEX,
    PB_LOCK_QUEUE,
    PB_LOCK_SIZED_QUEUE,
    PB_LOCK_CONDITION,
    PB_LOCK_MONITOR,
    PB_LOCK_KINDS
};

enum pb_state { PB_STATE_MAKING = 0, PB_STATE_LIVE = 1, PB_STATE_CLOSED = 2 };

/* What a request calls and waits for, in the order of the record's fields. */
enum pb_call { PB_SQL, PB_HTTP, PB_CACHE, PB_REDIS, PB_POOL, PB_CALLS };

struct pb_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t record_size;
    uint32_t ring_capacity;
    uint64_t ring_offset;
    uint32_t field_count;
    uint32_t field_table_offset;
    uint64_t endpoint_offset;
    uint32_t endpoint_size;
    uint32_t endpoint_capacity;
    uint64_t totals_offset;
    uint32_t totals_size;
    uint32_t state;
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_ticks;
    uint64_t created_wall_ns;
    uint64_t created_mono_ns;
    int32_t worker_index;
    uint32_t server_workers;
    uint32_t server_min_threads;
    uint32_t server_max_threads;
    uint32_t server_preload;
    uint32_t flags;
    char ruby_version[32];
    char server_name[32];
    char framework[32];
    char agent_version[32];
    char app_root[PB_ROOT_SIZE];
    uint64_t written;
    uint64_t faults;
    uint64_t clock_skew;
    uint64_t endpoints_lost;
    uint64_t in_flight;
    uint64_t gc_runs;
    uint64_t gc_pause_ns;
    uint64_t gc_cpu_ns;
    uint64_t pool_offset;
    uint32_t pool_sample_size;
    uint32_t pool_capacity;
    uint64_t pool_written;
    uint64_t trace_request; /* the one field that readers write */
    struct pb_origin origin;
    uint32_t about_offset;
    uint32_t about_size;
    char zero[3584];
};

/* What the process runs with, inside the header's page. */
struct pb_about {
    char arm[64];
    char allocator[32];
    char jit[16];
    uint32_t heap_offset;
    uint32_t heap_size;
    uint64_t collection_offset;
    uint32_t collection_size;
    uint32_t collection_capacity;
    uint64_t collections_written;
    uint32_t variables_offset;
    uint32_t variables_size;
    uint64_t lock_offset;
    uint32_t lock_size;
    uint32_t lock_capacity;
    char zero[8];
};

/* Ruby's heap at one instant; both sequence numbers are 0 while it is written. */
struct pb_heap {
    uint64_t sequence;
    uint64_t mono_ns;
    uint32_t page_bytes;
    uint32_t pool_count;
    uint64_t pages;
    uint64_t live_slots;
    uint64_t free_slots;
    uint64_t old_objects;
    uint64_t zero;
    struct pb_heap_pool {
        uint32_t slot_bytes;
        uint32_t zero;
        uint64_t slots;
        uint64_t live_slots; /* UINT64_MAX: unknown */
    } pools[PB_HEAP_POOLS];
    uint64_t sequence_again;
};

struct pb_field {
    char name[24];
    uint16_t offset;
    uint16_t size;
    uint16_t unit;
    uint16_t flags;
};

struct pb_record {
    uint64_t sequence;
    uint64_t arrival_wall_ns;
    uint64_t start_mono_ns;
    uint64_t queue_ns;
    uint64_t wall_ns;
    uint64_t held_ns;
    uint64_t gvl_wait_ns;
    uint64_t lock_wait_ns;
    uint64_t io_ns;
    uint64_t cpu_ns;
    uint64_t gc_ns;
    uint64_t allocations;
    uint32_t yields;
    uint32_t thread_id;
    uint16_t endpoint;
    uint16_t status;
    uint16_t busy_threads;
    uint8_t method;
    uint8_t flags;
    uint32_t gc_own_us;
    uint32_t gc_cpu_us;
    struct pb_call_us { uint32_t seen, gvl; } calls[PB_CALLS];
    uint16_t call_counts[PB_CALLS];
    uint16_t gc_count;
    uint32_t parse_us;
    uint32_t write_us;
    uint32_t server_held_us;
    uint32_t server_gvl_wait_us;
    uint32_t gc_major_us;
};

struct pb_counters {
    uint64_t requests;
    uint64_t server_errors;
    uint64_t queue_ns;
    uint64_t queue_known;
    uint64_t wall_ns;
    uint64_t held_ns;
    uint64_t gvl_wait_ns;
    uint64_t lock_wait_ns;
    uint64_t io_ns;
    uint64_t cpu_ns;
    uint64_t gc_ns;
    uint64_t allocations;
    uint64_t yields;
    char zero[24];
};

/* The counters that came after those; see the contract for why they stand apart. */
struct pb_more_counters {
    uint64_t gc_own_ns;
    uint64_t gc_cpu_ns;
    struct pb_call_ns { uint64_t seen, gvl; } calls[PB_CALLS];
    uint64_t call_counts[PB_CALLS];
    uint64_t gc_count;
    uint64_t parse_ns;
    uint64_t write_ns;
    uint64_t server_held_ns;
    uint64_t server_gvl_wait_ns;
    uint64_t busy_sum;
    uint64_t spans_known;
    uint64_t statuses[PB_STATUS_CLASSES];
    uint64_t edges[PB_EDGES];
    char zero[8];
};

struct pb_totals {
    struct pb_counters counters;
    struct pb_more_counters more;
    char zero[128];
};

struct pb_endpoint {
    struct pb_counters counters;
    char name[PB_NAME_SIZE];
    uint64_t named;
    uint32_t wall_histogram[PB_BUCKETS];
    uint32_t gvl_wait_histogram[PB_BUCKETS];
    struct pb_more_counters more;
    uint32_t queue_histogram[PB_BUCKETS];
};

struct pb_pool_sample {
    uint64_t sequence;
    uint64_t mono_ns;
    uint16_t size;
    uint16_t connections;
    uint16_t busy;
    uint16_t dead;
    uint16_t idle;
    uint16_t waiting;
    uint16_t pool;
    uint16_t zero;
};

/* A collection: the sums of its pauses until now. Written again at each of them. */
struct pb_collection {
    uint64_t writing;
    uint64_t sequence;
    uint64_t start_mono_ns;
    uint64_t end_mono_ns;
    uint64_t pause_ns;
    uint64_t sweeping_ns;
    uint64_t longest_ns;
    uint64_t cpu_ns;
    uint32_t number;
    uint32_t pauses;
    uint32_t thread_id;
    uint8_t kind;
    uint8_t major_by;
    uint8_t cause;
    uint8_t flags;
    /* All bits set: unknown. */
    uint64_t live_before;
    uint64_t live_after;
    uint64_t old_before;
    uint64_t old_after;
    uint64_t freed;
    uint32_t pages_before;
    uint32_t pages_after;
    uint64_t malloc_increase;
    uint64_t oldmalloc_increase;
    uint64_t zero;
    uint64_t writing_again;
};

/* A lock that requests waited for, or a place in the code where they waited. */
struct pb_lock {
    uint64_t named; /* 1 once site and kind are whole */
    uint64_t first_mono_ns;
    uint64_t waits;
    uint64_t wait_ns;
    uint64_t longest_wait_ns;
    uint64_t holds;
    uint64_t held_ns;
    uint64_t longest_held_ns;
    uint32_t objects;
    uint8_t kind;
    char zero[3];
    char site[PB_SITE_SIZE];
};

_Static_assert(sizeof(struct pb_header) == 4096, "header");
_Static_assert(offsetof(struct pb_header, created_wall_ns) == 88, "header");
_Static_assert(offsetof(struct pb_header, ruby_version) == 128, "header");
_Static_assert(offsetof(struct pb_header, written) == 384, "header");
_Static_assert(offsetof(struct pb_header, in_flight) == 416, "header");
_Static_assert(offsetof(struct pb_header, gc_runs) == 424, "header");
_Static_assert(offsetof(struct pb_header, trace_request) == 472, "header");
_Static_assert(offsetof(struct pb_header, origin) == 480, "header");
_Static_assert(offsetof(struct pb_header, about_offset) == 504, "header");
_Static_assert(sizeof(struct pb_about) == 176, "about");
_Static_assert(PB_ABOUT_OFFSET + sizeof(struct pb_about) <= sizeof(struct pb_header), "about");
_Static_assert(offsetof(struct pb_about, heap_offset) == 112, "about");
_Static_assert(offsetof(struct pb_about, collection_offset) == 120, "about");
_Static_assert(offsetof(struct pb_about, collections_written) == 136, "about");
_Static_assert(sizeof(struct pb_heap) == 456, "heap");
_Static_assert(offsetof(struct pb_heap, pools) == 64, "heap");
_Static_assert(PB_ABOUT_OFFSET + sizeof(struct pb_about) <= PB_HEAP_OFFSET, "heap");
_Static_assert(PB_HEAP_OFFSET + sizeof(struct pb_heap) <= PB_VARIABLES_OFFSET, "heap");
_Static_assert(offsetof(struct pb_about, variables_offset) == 144, "about");
_Static_assert(offsetof(struct pb_about, lock_offset) == 152, "about");
_Static_assert(sizeof(struct pb_lock) == 192, "lock");
_Static_assert(offsetof(struct pb_lock, objects) == 64, "lock");
_Static_assert(offsetof(struct pb_lock, site) == 72, "lock");
_Static_assert(PB_VARIABLES_OFFSET + PB_VARIABLES_SIZE <= sizeof(struct pb_header), "variables");
_Static_assert(sizeof(struct pb_field) == 32, "field table");
_Static_assert(sizeof(struct pb_record) == 192, "record");
_Static_assert(offsetof(struct pb_record, yields) == 96, "record");
_Static_assert(offsetof(struct pb_record, flags) == 111, "record");
_Static_assert(offsetof(struct pb_record, calls) == 120, "record");
_Static_assert(offsetof(struct pb_record, call_counts) == 160, "record");
_Static_assert(offsetof(struct pb_record, gc_major_us) == 188, "record");
_Static_assert(sizeof(struct pb_counters) == 128, "counters");
_Static_assert(sizeof(struct pb_more_counters) == 256, "counters");
_Static_assert(offsetof(struct pb_more_counters, call_counts) == 96, "counters");
_Static_assert(offsetof(struct pb_more_counters, busy_sum) == 176, "counters");
_Static_assert(offsetof(struct pb_more_counters, statuses) == 192, "counters");
_Static_assert(offsetof(struct pb_more_counters, edges) == 232, "counters");
_Static_assert(sizeof(struct pb_totals) == 512, "totals");
_Static_assert(sizeof(struct pb_endpoint) == 2048, "endpoint entry");
_Static_assert(offsetof(struct pb_endpoint, named) == 248, "endpoint entry");
_Static_assert(offsetof(struct pb_endpoint, gvl_wait_histogram) == 768, "endpoint entry");
_Static_assert(offsetof(struct pb_endpoint, more) == 1280, "endpoint entry");
_Static_assert(offsetof(struct pb_endpoint, queue_histogram) == 1536, "endpoint entry");
_Static_assert(sizeof(struct pb_pool_sample) == 32, "pool sample");
_Static_assert(sizeof(struct pb_collection) == 160, "collection");
_Static_assert(offsetof(struct pb_collection, number) == 64, "collection");
_Static_assert(offsetof(struct pb_collection, live_before) == 80, "collection");
_Static_assert(offsetof(struct pb_collection, pages_before) == 120, "collection");
_Static_assert(offsetof(struct pb_collection, writing_again) == 152, "collection");

#endif
