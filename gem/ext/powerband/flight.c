#include "flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include "clock.h"
#include "endpoint.h"
#include "folder.h"
#include "histogram.h"

struct pb_flight pb_flight;
unsigned pb_generation;

/* Faults from before there was a file to count them in. */
static uint64_t early_faults;

#define GVL 0x8000u /* measured only while the GVL hook is active */
#define FIELD(name, unit, flags) { #name, offsetof(struct pb_record, name), sizeof(((struct pb_record *)0)->name), unit, flags }
static const struct pb_field fields[] = {
    FIELD(sequence, 0, PB_FIELD_MEASURED),
    FIELD(arrival_wall_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(start_mono_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(queue_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(wall_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(held_ns, PB_FIELD_NS, GVL),
    FIELD(gvl_wait_ns, PB_FIELD_NS, GVL),
    FIELD(lock_wait_ns, PB_FIELD_NS, 0),
    FIELD(io_ns, PB_FIELD_NS, GVL),
    FIELD(cpu_ns, PB_FIELD_NS, PB_FIELD_MEASURED),
    FIELD(gc_ns, PB_FIELD_NS, 0),
    FIELD(allocations, PB_FIELD_COUNT, GVL),
    FIELD(yields, PB_FIELD_COUNT, GVL),
    FIELD(thread_id, 0, PB_FIELD_MEASURED),
    FIELD(endpoint, PB_FIELD_INDEX, PB_FIELD_MEASURED),
    FIELD(status, 0, PB_FIELD_MEASURED),
    FIELD(busy_threads, PB_FIELD_COUNT, PB_FIELD_MEASURED),
    FIELD(method, 0, PB_FIELD_MEASURED),
    FIELD(flags, 0, PB_FIELD_MEASURED),
};
#undef FIELD
#define FIELD_COUNT (sizeof fields / sizeof fields[0])

_Static_assert(PB_FIELD_TABLE_OFFSET + FIELD_COUNT * sizeof(struct pb_field) <= sizeof(struct pb_header), "field table");

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
fill_header(struct pb_header *header, const struct pb_settings *settings, uint64_t ticks, uint64_t ring_offset)
{
    memcpy(header->magic, PB_MAGIC, sizeof header->magic);
    header->version = PB_VERSION;
    header->header_size = sizeof *header;
    header->record_size = sizeof(struct pb_record);
    header->ring_capacity = settings->ring_capacity;
    header->ring_offset = ring_offset;
    header->field_count = FIELD_COUNT;
    header->field_table_offset = PB_FIELD_TABLE_OFFSET;
    header->endpoint_offset = 8192;
    header->endpoint_size = sizeof(struct pb_endpoint);
    header->endpoint_capacity = PB_ENDPOINTS;
    header->totals_offset = sizeof *header;
    header->totals_size = sizeof(struct pb_totals);
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
    header->flags = settings->gvl_hook ? PB_FLAG_GVL_HOOK : 0;
    header->faults = early_faults;
    copy_text(header->ruby_version, sizeof header->ruby_version, settings->ruby_version);
    copy_text(header->server_name, sizeof header->server_name, settings->server_name);
    copy_text(header->framework, sizeof header->framework, settings->framework);
    copy_text(header->agent_version, sizeof header->agent_version, settings->agent_version);
    copy_text(header->app_root, sizeof header->app_root, settings->app_root);
}

static void
fill_field_table(struct pb_header *header, bool gvl_hook)
{
    struct pb_field *table = (struct pb_field *)((char *)header + PB_FIELD_TABLE_OFFSET);

    for (size_t i = 0; i < FIELD_COUNT; i++) {
        table[i] = fields[i];
        if (fields[i].flags == GVL) table[i].flags = gvl_hook ? PB_FIELD_MEASURED : 0;
    }
}

/* Every signal to the thread interrupts it, and Ruby's own timer sends some: tried again, but not for ever. */
static int
allocate(int fd, size_t size)
{
    int error = EINTR;

    for (int attempt = 0; error == EINTR && attempt < 64; attempt++) {
        error = posix_fallocate(fd, 0, (off_t)size);
    }
    return error;
}

bool
pb_flight_open(const struct pb_settings *settings, char *reason, size_t reason_size)
{
    const uint64_t ring_offset = (8192 + PB_ENDPOINTS * sizeof(struct pb_endpoint) + 4095) / 4096 * 4096;
    const size_t size = ring_offset + (size_t)settings->ring_capacity * sizeof(struct pb_record);
    const uint64_t ticks = start_ticks();
    char name[80];
    char *base;
    int error, fd;
    int folder = pb_folder_open(settings->root, reason, reason_size);

    if (folder < 0) return false;
    fd = create(folder, ticks, name, sizeof name);
    if (fd < 0) {
        snprintf(reason, reason_size, "cannot create %s in %s: %s", name, settings->root, strerror(errno));
        close(folder);
        return false;
    }

    /* A sparse file on a disk that fills up later is a SIGBUS, which would kill the server. */
    error = allocate(fd, size);
    base = error ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!error && base == MAP_FAILED) error = errno;
    /* A child must never write into its parent's file; if the kernel cannot promise that, there is no file. */
    if (!error && madvise(base, size, MADV_DONTFORK) != 0) {
        error = errno;
        munmap(base, size);
    }
    close(fd);
    if (error) {
        unlinkat(folder, name, 0);
        close(folder);
        snprintf(reason, reason_size, "cannot map %zu bytes in %s: %s", size, settings->root, strerror(error));
        return false;
    }
    close(folder);

    fill_header((struct pb_header *)base, settings, ticks, ring_offset);
    fill_field_table((struct pb_header *)base, settings->gvl_hook);
    snprintf(pb_flight.path, sizeof pb_flight.path, "%s/%u/%s", settings->root, (unsigned)geteuid(), name);
    pb_flight.totals = (struct pb_totals *)(base + sizeof(struct pb_header));
    pb_flight.endpoints = (struct pb_endpoint *)(base + 8192);
    pb_flight.ring = (struct pb_record *)(base + ring_offset);
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
    pb_flight.ring = NULL;
    pb_flight.path[0] = '\0';
    early_faults = 0;
    pb_generation++;
}

void
pb_flight_close(void)
{
    if (pb_flight.header) __atomic_store_n(&pb_flight.header->state, PB_STATE_CLOSED, __ATOMIC_RELEASE);
}

void
pb_flight_fault(void)
{
    if (pb_flight.header) pb_flight.header->faults++;
    else early_faults++;
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
    counters->io_ns += record->io_ns;
    counters->cpu_ns += record->cpu_ns;
    counters->allocations += record->allocations;
    counters->yields += record->yields;
}

void
pb_flight_write(const struct pb_record *record)
{
    struct pb_header *header = pb_flight.header;
    struct pb_endpoint *endpoint = &pb_flight.endpoints[record->endpoint];
    const uint64_t k = header->written;
    struct pb_record *slot = &pb_flight.ring[k & (header->ring_capacity - 1)];

    count(&pb_flight.totals->counters, record);
    count(&endpoint->counters, record);
    endpoint->wall_histogram[pb_bucket(record->wall_ns)]++;
    endpoint->gvl_wait_histogram[pb_bucket(record->gvl_wait_ns)]++;

    __atomic_store_n(&slot->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy((char *)slot + sizeof slot->sequence, (const char *)record + sizeof record->sequence,
           sizeof *slot - sizeof slot->sequence);
    __atomic_store_n(&slot->sequence, k + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&header->written, k + 1, __ATOMIC_RELEASE);
}
