/* Who holds the GVL: one hook for the whole process, and a stop-watch for each thread that serves requests. */
#ifndef POWERBAND_GVL_H
#define POWERBAND_GVL_H

#include <stdbool.h>
#include <stdint.h>

enum pb_gvl { PB_HELD, PB_GIVEN_UP, PB_READY };

struct pb_watch {
    bool running;
    enum pb_gvl gvl;
    uint64_t since_ns; /* when the GVL state last changed, CLOCK_MONOTONIC */
    uint64_t held_ns;
    uint64_t gvl_wait_ns;
    uint64_t allocated_before; /* the process's count when this thread last gained the GVL */
    uint64_t allocations;
    uint32_t yields;
};

/* What one thread's request has on record so far; request.c fills the second half. */
struct pb_thread {
    struct pb_watch watch;
    bool serving;
    unsigned generation;
    uint32_t thread_id;
    uint32_t flags;
    uint64_t arrival_wall_ns;
    uint64_t start_mono_ns;
    uint64_t cpu_ns;
    uint64_t queue_ns;
    uint16_t busy_threads;
    uint8_t method;
};

/* Registers the hook. Called once, when the extension is loaded, which should be before any fork: a hook added in
 * a child can hang for ever when the parent forked inside a callback. */
void pb_gvl_init(void);

/* Whether the split into held, waited and given up can be measured in this process. */
bool pb_gvl_available(void);

/* Turns the callback on or off for the whole process; off, it costs one load of a flag. */
void pb_gvl_enable(bool on);

/* The current thread's state, made at its first request; NULL without memory. Needs the GVL. */
struct pb_thread *pb_thread_current(void);

void pb_watch_start(struct pb_watch *watch, uint64_t now_ns);
void pb_watch_stop(struct pb_watch *watch, uint64_t now_ns);

#endif
