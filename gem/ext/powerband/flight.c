#include "flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>
#include "clock.h"
#include "endpoint.h"
#include "folder.h"
#include "histogram.h"
#include "mapping.h"
#include "unrecorded.h"

#define ENDPOINT_OFFSET 8192
#define POOL_OFFSET (ENDPOINT_OFFSET + PB_ENDPOINTS * sizeof(struct pb_endpoint))
#define LOCK_OFFSET (POOL_OFFSET + PB_POOL_SAMPLES * sizeof(struct pb_pool_sample))
#define RING_OFFSET (LOCK_OFFSET + PB_LOCKS * sizeof(struct pb_lock))
#define COLLECTION_OFFSET(ring_capacity) (RING_OFFSET + (size_t)(ring_capacity) * sizeof(struct pb_record))
_Static_assert(COLLECTION_OFFSET(64) % 4096 == 0 && POOL_OFFSET % 4096 == 0 && RING_OFFSET % 4096 == 0, "sections begin at pages");

struct pb_flight pb_flight;
unsigned pb_generation;

/* Faults from before there was a file to count them in. */
static uint64_t early_faults;

/* The kinds of calls that are seen in this process, a bit each; a forked child sees them too. */
static unsigned kinds;

#define GVL 0x8000u /* measured only while the GVL hook is active */
#define CPU 0x4000u /* measured only where a Ruby thread has a CPU clock of its own */
#define FIELD(name, unit, flags) { #name, offsetof(struct pb_record, name), sizeof(((struct pb_record *)0)->name), unit, flags }
#define AT(call, member) offsetof(struct pb_record, member) + (call) * sizeof(((struct pb_record *)0)->member[0])
#define CALL(name, call) \
    { #name "_us", AT(call, calls), 4, PB_FIELD_US, 0 }, { #name "_gvl_us", AT(call, calls) + 4, 4, PB_FIELD_US, 0 }, \
    { #name "_count", AT(call, call_counts), 2, PB_FIELD_COUNT, 0 }
static const struct pb_field fields[] = {
    FIELD(sequence, 0, PB_FIELD_MEASURED),
    FIELD(arrival_wall_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(start_mono_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(queue_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(wall_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(held_ns, PB_FIELD_NS, GVL),
    FIELD(gvl_wait_ns, PB_FIELD_NS, GVL),
    FIELD(lock_wait_ns, PB_FIELD_NS, GVL),
    FIELD(io_ns, PB_FIELD_NS, GVL),
    FIELD(cpu_ns, PB_FIELD_NS, CPU),
    FIELD(gc_ns, PB_FIELD_NS, GVL),
    FIELD(allocations, PB_FIELD_COUNT, GVL),
    FIELD(yields, PB_FIELD_COUNT, GVL),
    FIELD(thread_id, 0, PB_FIELD_MEASURED),
    FIELD(endpoint, PB_FIELD_INDEX, PB_FIELD_MEASURED),
    FIELD(status, 0, PB_FIELD_MEASURED),
    FIELD(busy_threads, PB_FIELD_COUNT, PB_FIELD_MEASURED),
    FIELD(method, 0, PB_FIELD_MEASURED),
    FIELD(flags, 0, PB_FIELD_MEASURED),
    FIELD(gc_own_us, PB_FIELD_US, GVL),
    FIELD(gc_cpu_us, PB_FIELD_US, GVL),
    CALL(sql, PB_SQL),
    CALL(http, PB_HTTP),
    CALL(cache, PB_CACHE),
    CALL(redis, PB_REDIS),
    CALL(pool, PB_POOL),
    FIELD(gc_count, PB_FIELD_COUNT, GVL),
    FIELD(parse_us, PB_FIELD_US, PB_FIELD_MEASURED),
    FIELD(write_us, PB_FIELD_US, PB_FIELD_MEASURED),
    FIELD(server_held_us, PB_FIELD_US, GVL),
    FIELD(server_gvl_wait_us, PB_FIELD_US, GVL),
    FIELD(gc_major_us, PB_FIELD_US, GVL),
};
#undef FIELD
#undef CALL
#define FIELD_COUNT (sizeof fields / sizeof fields[0])

_Static_assert(PB_FIELD_TABLE_OFFSET + FIELD_COUNT * sizeof(struct pb_field) <= PB_ABOUT_OFFSET, "field table");

/* Field 22 of /proc/self/stat. The command, field 2, may hold spaces and brackets: count from the last one. */
static uint64_t
start_ticks(void)
{
    char text[1024];
    char *at;
    ssize_t length;
    unsigned long long ticks = 0;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    if (fd < 0) return 0;
    length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return 0;
    text[length] = '\0';
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    if (at) sscanf(at, " %llu", &ticks);
    return ticks;
}

static int
create(int folder, uint64_t ticks, char *name, size_t name_size)
{
    int fd = -1;

    for (int attempt = 0; fd < 0 && attempt < 8; attempt++) {
        uint32_t nonce;

        if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) nonce = (uint32_t)pb_mono_ns();
        snprintf(name, name_size, "%ld-%llu-%08x.flight", (long)getpid(), (unsigned long long)ticks, nonce);
        fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    return fd;
}

static void
copy_text(char *to, size_t size, const char *from)
{
    size_t length = from ? strlen(from) : 0;

    if (length >= size) length = size - 1;
    memcpy(to, from ? from : "", length);
    /* Never end inside a UTF-8 character. */
    if (from && from[length] != '\0') {
        while (length > 0 && ((unsigned char)from[length] & 0xC0) == 0x80) to[--length] = '\0';
    }
}

static void
fill_header(struct pb_header *header, const struct pb_settings *settings, uint64_t ticks, bool locked)
{
    memcpy(header->magic, PB_MAGIC, sizeof header->magic);
    header->version = PB_VERSION;
    header->header_size = sizeof *header;
    header->record_size = sizeof(struct pb_record);
    header->ring_capacity = settings->ring_capacity;
    header->ring_offset = RING_OFFSET;
    header->field_count = FIELD_COUNT;
    header->field_table_offset = PB_FIELD_TABLE_OFFSET;
    header->endpoint_offset = ENDPOINT_OFFSET;
    header->endpoint_size = sizeof(struct pb_endpoint);
    header->endpoint_capacity = PB_ENDPOINTS;
    header->totals_offset = sizeof *header;
    header->totals_size = sizeof(struct pb_totals);
    header->pool_offset = POOL_OFFSET;
    header->pool_sample_size = sizeof(struct pb_pool_sample);
    header->pool_capacity = PB_POOL_SAMPLES;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->start_ticks = ticks;
    header->created_wall_ns = pb_wall_ns();
    header->created_mono_ns = pb_mono_ns();
    header->worker_index = settings->worker_index;
    header->server_workers = settings->server_workers;
    header->server_min_threads = settings->server_min_threads;
    header->server_max_threads = settings->server_max_threads;
    header->server_preload = settings->server_preload;
    header->flags = (settings->gvl_hook ? PB_FLAG_GVL_HOOK : 0) | (locked ? PB_FLAG_LOCKED : 0) | PB_FLAG_STATUSES | PB_FLAG_EDGES;
    header->origin = pb_origin_of_this_process();
    header->faults = early_faults;
    copy_text(header->ruby_version, sizeof header->ruby_version, settings->ruby_version);
    copy_text(header->server_name, sizeof header->server_name, settings->server_name);
    copy_text(header->framework, sizeof header->framework, settings->framework);
    copy_text(header->agent_version, sizeof header->agent_version, settings->agent_version);
    copy_text(header->app_root, sizeof header->app_root, settings->app_root);
    header->about_offset = PB_ABOUT_OFFSET;
    header->about_size = sizeof(struct pb_about);
}

static void
fill_about(struct pb_header *header, const struct pb_settings *settings)
{
    struct pb_about *about = (struct pb_about *)((char *)header + PB_ABOUT_OFFSET);

    copy_text(about->arm, sizeof about->arm, settings->arm);
    copy_text(about->allocator, sizeof about->allocator, settings->allocator);
    copy_text(about->jit, sizeof about->jit, settings->jit);
    about->heap_offset = PB_HEAP_OFFSET;
    about->heap_size = sizeof(struct pb_heap);
    about->collection_offset = COLLECTION_OFFSET(settings->ring_capacity);
    about->collection_size = sizeof(struct pb_collection);
    about->collection_capacity = PB_COLLECTIONS;
    about->variables_offset = PB_VARIABLES_OFFSET;
    about->variables_size = PB_VARIABLES_SIZE;
    about->lock_offset = LOCK_OFFSET;
    about->lock_size = sizeof(struct pb_lock);
    about->lock_capacity = PB_LOCKS;
    copy_text((char *)header + PB_VARIABLES_OFFSET, PB_VARIABLES_SIZE, settings->variables);
}

static void
fill_field_table(struct pb_header *header, bool gvl_hook, bool thread_cpu)
{
    struct pb_field *table = (struct pb_field *)((char *)header + PB_FIELD_TABLE_OFFSET);

    for (size_t i = 0; i < FIELD_COUNT; i++) {
        table[i] = fields[i];
        if (fields[i].flags == GVL) table[i].flags = gvl_hook ? PB_FIELD_MEASURED : 0;
        if (fields[i].flags == CPU) table[i].flags = thread_cpu ? PB_FIELD_MEASURED : 0;
    }
}

/* A kind's fields are three in a row of the table. Fields that depend on the GVL's events are known only with them. */
static void
mark_kinds(struct pb_header *header, bool gvl_hook)
{
    struct pb_field *table = (struct pb_field *)((char *)header + PB_FIELD_TABLE_OFFSET);

    for (size_t i = 0; i < FIELD_COUNT; i++) {
        for (int kind = 0; kind < PB_CALLS; kind++) {
            const bool seen = fields[i].offset == AT(kind, calls);
            const bool gvl = fields[i].offset == AT(kind, calls) + 4;
            const bool counted = fields[i].offset == AT(kind, call_counts);

            if (!(kinds & 1u << kind) || !(seen || gvl || counted)) continue;
            if ((gvl || kind == PB_POOL) && !gvl_hook) continue;
            __atomic_fetch_or(&table[i].flags, PB_FIELD_MEASURED, __ATOMIC_RELEASE);
        }
    }
}

bool
pb_flight_open(const struct pb_settings *settings, char *reason, size_t reason_size)
{
    const size_t size = COLLECTION_OFFSET(settings->ring_capacity) + PB_COLLECTIONS * sizeof(struct pb_collection);
    const uint64_t ticks = start_ticks();
    char name[80], path[sizeof pb_flight.path];
    char *base;
    bool locked;
    int error, fd, folder;

    pb_unrecorded_remove();
    if (!pb_folder_make(settings->root, settings->default_root, reason, reason_size)) return false;
    folder = pb_folder_open(settings->root, settings->default_root, reason, reason_size);
    if (folder < 0) return false;
    fd = create(folder, ticks, name, sizeof name);
    if (fd < 0) {
        snprintf(reason, reason_size, "cannot create %s in %s: %s", name, settings->root, strerror(errno));
        close(folder);
        return false;
    }

    snprintf(path, sizeof path, "%s/%u/%s", settings->root, (unsigned)geteuid(), name);
    base = pb_mapping_make(fd, size);
    error = errno;
    /* The mapping keeps the lock after the descriptor is closed; the kernel releases it when the process ends or calls exec,
     * and a forked child, which does not have the mapping, does not have the lock. So every process of the machine can see
     * whether this one still runs, in whichever container it is. */
    locked = base && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (!base) pb_unrecorded_mark(folder, fd, path, name, error);
    close(fd);
    close(folder);
    if (!base) {
        snprintf(reason, reason_size, "cannot map %zu bytes in %s: %s", size, settings->root, strerror(error));
        return false;
    }

    fill_header((struct pb_header *)base, settings, ticks, locked);
    fill_about((struct pb_header *)base, settings);
    fill_field_table((struct pb_header *)base, settings->gvl_hook, settings->thread_cpu);
    mark_kinds((struct pb_header *)base, settings->gvl_hook);
    memcpy(pb_flight.path, path, sizeof path);
    pb_flight.default_root = settings->default_root;
    pb_flight.queue_limit_ns = settings->queue_limit_ns;
    pb_flight.thread_cpu = settings->thread_cpu;
    pb_flight.totals = (struct pb_totals *)(base + sizeof(struct pb_header));
    pb_flight.endpoints = (struct pb_endpoint *)(base + ENDPOINT_OFFSET);
    pb_flight.pool = (struct pb_pool_sample *)(base + POOL_OFFSET);
    pb_flight.heap = (struct pb_heap *)(base + PB_HEAP_OFFSET);
    pb_flight.locks = (struct pb_lock *)(base + LOCK_OFFSET);
    pb_flight.collections = (struct pb_collection *)(base + COLLECTION_OFFSET(settings->ring_capacity));
    pb_flight.collections_written = 0;
    pb_flight.ring = (struct pb_record *)(base + RING_OFFSET);
    pb_flight.ring_mask = settings->ring_capacity - 1;
    pb_flight.header = (struct pb_header *)base;
    pb_generation++;
    early_faults = 0;
    pb_endpoint_reset();
    __atomic_store_n(&pb_flight.header->state, PB_STATE_LIVE, __ATOMIC_RELEASE);
    return true;
}

void
pb_flight_forget(void)
{
    pb_flight.header = NULL;
    pb_flight.totals = NULL;
    pb_flight.endpoints = NULL;
    pb_flight.pool = NULL;
    pb_flight.heap = NULL;
    pb_flight.locks = NULL;
    pb_flight.collections = NULL;
    pb_flight.ring = NULL;
    pb_flight.path[0] = '\0';
    early_faults = 0;
    pb_generation++;
    pb_unrecorded_forget();
}

void
pb_flight_close(void)
{
    pb_unrecorded_remove();
    if (pb_flight.header) __atomic_store_n(&pb_flight.header->state, PB_STATE_CLOSED, __ATOMIC_RELEASE);
}

void
pb_flight_fault(void)
{
    if (pb_flight.header) pb_flight.header->faults++;
    else early_faults++;
}

/* Both kinds of slots begin with their sequence number, 0 while the rest is not whole. */
static void
publish(void *slot, const void *from, size_t size, uint64_t sequence)
{
    uint64_t *number = slot;

    __atomic_store_n(number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(number + 1, (const uint64_t *)from + 1, size - sizeof *number);
    __atomic_store_n(number, sequence, __ATOMIC_RELEASE);
}

void
pb_flight_measures(enum pb_call kind, bool gvl_hook)
{
    kinds |= 1u << kind;
    if (pb_flight.header) mark_kinds(pb_flight.header, gvl_hook);
}

static uint16_t
saturated(uint64_t count)
{
    return count > UINT16_MAX ? UINT16_MAX : (uint16_t)count;
}

static void
fill_calls_and_pauses(struct pb_record *record, const struct pb_more_counters *more)
{
    for (int kind = 0; kind < PB_CALLS; kind++) {
        record->calls[kind].seen = pb_saturated_us(more->calls[kind].seen);
        record->calls[kind].gvl = pb_saturated_us(more->calls[kind].gvl);
        record->call_counts[kind] = saturated(more->call_counts[kind]);
    }
    record->gc_own_us = pb_saturated_us(more->gc_own_ns);
    record->gc_cpu_us = pb_saturated_us(more->gc_cpu_ns);
    record->gc_count = saturated(more->gc_count);
}

static void
fill_server_part(struct pb_record *record, const struct pb_more_counters *more)
{
    record->parse_us = pb_saturated_us(more->parse_ns);
    record->write_us = pb_saturated_us(more->write_ns);
    record->server_held_us = pb_saturated_us(more->server_held_ns);
    record->server_gvl_wait_us = pb_saturated_us(more->server_gvl_wait_ns);
}

static void
count(struct pb_counters *counters, const struct pb_record *record)
{
    bool failed = (record->flags & PB_REQUEST_RAISED) || (record->status >= 500 && record->status <= 599);

    counters->requests++;
    counters->server_errors += failed;
    counters->queue_ns += record->queue_ns;
    counters->queue_known += (record->flags & PB_REQUEST_QUEUE_KNOWN) != 0;
    counters->wall_ns += record->wall_ns;
    counters->held_ns += record->held_ns;
    counters->gvl_wait_ns += record->gvl_wait_ns;
    counters->lock_wait_ns += record->lock_wait_ns;
    counters->io_ns += record->io_ns;
    counters->cpu_ns += record->cpu_ns;
    counters->gc_ns += record->gc_ns;
    counters->allocations += record->allocations;
    counters->yields += record->yields;
}

/* The structure holds nothing but such counters, up to the statuses; those of the server come last. */
static void
count_more(struct pb_more_counters *counters, const struct pb_more_counters *more, bool eventful)
{
    uint64_t *to = (uint64_t *)counters;
    const uint64_t *from = (const uint64_t *)more;
    const size_t first = eventful ? 0 : offsetof(struct pb_more_counters, parse_ns);

    for (size_t i = first / sizeof *to; i < offsetof(struct pb_more_counters, statuses) / sizeof *to; i++) to[i] += from[i];
}

/* Servers answer 500 to what raises. A job has no status, so that one that ends well is in no class. */
static void
count_status(struct pb_more_counters *counters, const struct pb_record *record)
{
    const unsigned class = record->flags & PB_REQUEST_RAISED ? PB_STATUS_CLASSES - 1u : record->status / 100u - 1u;

    if (class < PB_STATUS_CLASSES) counters->statuses[class]++;
}

/* Times at which no bucket of the histogram ends. */
static void
count_edges(struct pb_more_counters *counters, const struct pb_record *record)
{
    counters->edges[0] += record->wall_ns <= 75000000u;
    counters->edges[1] += record->wall_ns <= 250000000u;
}

void
pb_flight_write(struct pb_record *record, const struct pb_more_counters *more, bool eventful)
{
    struct pb_header *header = pb_flight.header;
    struct pb_endpoint *endpoint = &pb_flight.endpoints[record->endpoint];
    const uint64_t k = header->written;
    struct pb_record *slot = &pb_flight.ring[k & pb_flight.ring_mask];

    if (eventful) fill_calls_and_pauses(record, more);
    fill_server_part(record, more);
    count(&pb_flight.totals->counters, record);
    count(&endpoint->counters, record);
    count_more(&pb_flight.totals->more, more, eventful);
    count_more(&endpoint->more, more, eventful);
    count_status(&pb_flight.totals->more, record);
    count_status(&endpoint->more, record);
    count_edges(&pb_flight.totals->more, record);
    count_edges(&endpoint->more, record);
    endpoint->wall_histogram[pb_bucket(record->wall_ns)]++;
    endpoint->gvl_wait_histogram[pb_bucket(record->gvl_wait_ns)]++;
    if (record->flags & PB_REQUEST_QUEUE_KNOWN) endpoint->queue_histogram[pb_bucket(record->queue_ns)]++;

    publish(slot, record, sizeof *slot, k + 1);
    __atomic_store_n(&header->written, k + 1, __ATOMIC_RELEASE);
}

void
pb_flight_write_pool(const struct pb_pool_sample *sample)
{
    struct pb_header *header = pb_flight.header;
    const uint64_t k = header->pool_written;

    publish(&pb_flight.pool[k % PB_POOL_SAMPLES], sample, sizeof *sample, k + 1);
    __atomic_store_n(&header->pool_written, k + 1, __ATOMIC_RELEASE);
}

/* Both numbers are cleared before the rest changes and set after it, the first one last: what lies between two equal ones is
 * whole. */
void
pb_flight_rewrite(void *place, const void *source, size_t size, uint64_t writing)
{
    uint64_t *first = place, *last = first + size / sizeof *first - 1;

    __atomic_store_n(first, 0, __ATOMIC_RELAXED);
    __atomic_store_n(last, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(first + 1, (const uint64_t *)source + 1, size - 2 * sizeof *first);
    __atomic_store_n(last, writing, __ATOMIC_RELEASE);
    __atomic_store_n(first, writing, __ATOMIC_RELEASE);
}

void
pb_flight_write_collection(struct pb_collection *collection, bool next)
{
    /* Counts on in later files of this process: a reader only compares it with itself. */
    static uint64_t writings;
    struct pb_about *about = (struct pb_about *)((char *)pb_flight.header + PB_ABOUT_OFFSET);

    if (next) pb_flight.collections_written++;
    collection->sequence = pb_flight.collections_written;
    pb_flight_rewrite(&pb_flight.collections[(collection->sequence - 1) % PB_COLLECTIONS], collection, sizeof *collection, ++writings);
    __atomic_store_n(&about->collections_written, pb_flight.collections_written, __ATOMIC_RELEASE);
}
