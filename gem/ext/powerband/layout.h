/* The flight file's layout, field for field as contract/flight-v1.md says it; the assertions hold both together. */
#ifndef POWERBAND_LAYOUT_H
#define POWERBAND_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define PB_MAGIC "PBFLIGHT"
#define PB_VERSION 1
#define PB_UNKNOWN 0xFFFFFFFFu

#define PB_FIELD_TABLE_OFFSET 512
#define PB_FIELD_NS 1
#define PB_FIELD_COUNT 2
#define PB_FIELD_INDEX 3
#define PB_FIELD_MEASURED 1

#define PB_BUCKETS 128
#define PB_NAME_SIZE 120
#define PB_ENDPOINTS 256

#define PB_FLAG_GVL_HOOK 1u
#define PB_FLAG_FIBERS 2u

#define PB_REQUEST_QUEUE_KNOWN 1u
#define PB_REQUEST_RAISED 2u

enum pb_state { PB_STATE_MAKING = 0, PB_STATE_LIVE = 1, PB_STATE_CLOSED = 2 };

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
    char app_root[128];
    uint64_t written;
    uint64_t faults;
    uint64_t clock_skew;
    uint64_t endpoints_lost;
    uint64_t in_flight;
    char zero[3672];
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
    char zero[16];
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

struct pb_totals {
    struct pb_counters counters;
    char zero[128];
};

struct pb_endpoint {
    struct pb_counters counters;
    char name[PB_NAME_SIZE];
    uint64_t named;
    uint32_t wall_histogram[PB_BUCKETS];
    uint32_t gvl_wait_histogram[PB_BUCKETS];
};

_Static_assert(sizeof(struct pb_header) == 4096, "header");
_Static_assert(offsetof(struct pb_header, created_wall_ns) == 88, "header");
_Static_assert(offsetof(struct pb_header, ruby_version) == 128, "header");
_Static_assert(offsetof(struct pb_header, written) == 384, "header");
_Static_assert(offsetof(struct pb_header, in_flight) == 416, "header");
_Static_assert(sizeof(struct pb_field) == 32, "field table");
_Static_assert(sizeof(struct pb_record) == 128, "record");
_Static_assert(offsetof(struct pb_record, yields) == 96, "record");
_Static_assert(offsetof(struct pb_record, flags) == 111, "record");
_Static_assert(sizeof(struct pb_counters) == 128, "counters");
_Static_assert(sizeof(struct pb_totals) == 256, "totals");
_Static_assert(sizeof(struct pb_endpoint) == 1280, "endpoint entry");
_Static_assert(offsetof(struct pb_endpoint, named) == 248, "endpoint entry");
_Static_assert(offsetof(struct pb_endpoint, gvl_wait_histogram) == 768, "endpoint entry");

#endif
