/* The flight file of this process: made, mapped, forgotten in forked children, closed. What goes into a record
 * is request.c's business. Everything here runs with the GVL held, except pb_flight_forget. */
#ifndef POWERBAND_FLIGHT_H
#define POWERBAND_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "layout.h"

struct pb_settings {
    const char *root;
    bool default_root; /* the folder was not configured; see folder.h */
    uint32_t ring_capacity;
    int32_t worker_index;
    uint32_t server_workers;
    uint32_t server_min_threads;
    uint32_t server_max_threads;
    uint32_t server_preload;
    const char *ruby_version;
    const char *server_name;
    const char *framework;
    const char *agent_version;
    const char *app_root;
    const char *arm;
    const char *allocator;
    const char *jit;
    const char *variables; /* NAME=VALUE lines */
    bool gvl_hook;
    bool thread_cpu; /* a Ruby thread has a kernel thread of its own, whose CPU clock is its own */
    uint64_t queue_limit_ns;
};

struct pb_flight {
    struct pb_header *header; /* NULL: this process records nothing */
    struct pb_totals *totals;
    struct pb_endpoint *endpoints;
    struct pb_pool_sample *pool;
    struct pb_heap *heap;
    struct pb_lock *locks;
    struct pb_collection *collections;
    uint64_t collections_written; /* as in ring_mask */
    struct pb_record *ring;
    uint64_t ring_mask; /* not asked of the file, which somebody may spoil: it must not lead the writer astray */
    uint64_t queue_limit_ns;
    bool thread_cpu;
    bool default_root;
    char path[4352];
};

extern struct pb_flight pb_flight;

/* Changes whenever the file of this process does, which distinguishes a request that began before the change. */
extern unsigned pb_generation;

/* Makes and maps the file; on failure returns false, says why in `reason` and leaves a marker if it can (unrecorded.h). */
bool pb_flight_open(const struct pb_settings *settings, char *reason, size_t reason_size);

/* For the child of a fork: the mapping is not there (MADV_DONTFORK), so only the pointers go. */
void pb_flight_forget(void);

/* The file stays mapped, because other threads may still be serving; it only says that the end was in order. The marker of a
 * process without a file is removed. */
void pb_flight_close(void);

void pb_flight_fault(void);

/* Calls of this kind are seen from now on, in this file and in later ones. */
void pb_flight_measures(enum pb_call kind, bool gvl_hook);

static inline uint32_t
pb_saturated_us(uint64_t nanoseconds)
{
    const uint64_t microseconds = nanoseconds / 1000;

    return microseconds > UINT32_MAX ? UINT32_MAX : (uint32_t)microseconds;
}

/* Books and publishes a request; its fields in microseconds are filled from `more`. Unless it was `eventful`, only what of
 * `more` is of the server is not zero. */
void pb_flight_write(struct pb_record *record, const struct pb_more_counters *more, bool eventful);

void pb_flight_write_pool(const struct pb_pool_sample *sample);

/* Rewrites a structure of the file whose first and last 8 bytes hold the number of the writing, which is never 0. */
void pb_flight_rewrite(void *place, const void *source, size_t size, uint64_t writing);

/* Writes a collection and its sequence: the `next` one, or the one written last once more. */
void pb_flight_write_collection(struct pb_collection *collection, bool next);

#endif
