/* The stop-watch of one thread: how long it held the GVL, waited for it, waited for a lock. It goes on between
 * requests; the share of one request is the difference of two readings. */
#ifndef POWERBAND_WATCH_H
#define POWERBAND_WATCH_H

#include <stdbool.h>
#include <stdint.h>

enum pb_gvl { PB_HELD, PB_GIVEN_UP, PB_READY };

struct pb_sums {
    uint64_t held_ns;
    uint64_t gvl_wait_ns;
    uint64_t lock_wait_ns;
    uint64_t gc_own_ns;  /* pauses that this thread ran: part of held */
    uint64_t gc_cpu_ns;
    uint64_t gc_wait_ns; /* other threads' pauses while this one was ready: part of gvl_wait */
    uint64_t gc_major_ns; /* of both: major collections */
    uint64_t allocations;
    uint32_t gc_count; /* these two wrap, like their differences */
    uint32_t yields;
};

struct pb_watch {
    bool running;
    bool counting; /* allocations are of interest */
    bool at_lock; /* the GVL was given up to wait for a lock */
    uint8_t said; /* an enum pb_gvl as the events were, also of a thread that never served; gvl.c's, Ruby 3.2 alone */
    enum pb_gvl gvl;
    uint64_t since_ns; /* when the GVL state last changed, CLOCK_MONOTONIC */
    uint64_t allocated_before; /* the process's count when this thread last gained the GVL */
    uint64_t gc_before_ns; /* the process's pauses when it last was ready */
    uint32_t gc_runs_before;
    uint32_t gc_major_before_us;
    struct pb_sums sums;
};

/* Begins at zero. Needs the GVL, as pb_watch_read does. */
void pb_watch_start(struct pb_watch *watch, uint64_t now_ns);

/* Brings the sums up to now. */
void pb_watch_read(struct pb_watch *watch, uint64_t now_ns);

/* Allocations are counted from here on, or no longer: asking for the count costs more than all the rest of a hand-over,
 * and a server makes most of those between its requests. Needs the GVL and a watch that was read just now. */
void pb_watch_count(struct pb_watch *watch, bool on);

/* Since when the thread, which is running, has the GVL without a break, or its watch was last read; now where that is
 * not known. */
uint64_t pb_watch_held_since_ns(const struct pb_watch *watch);

/* The three events. `at_lock`: the following wait is for a lock. */
void pb_watch_lose(struct pb_watch *watch, uint64_t now_ns, bool at_lock);
void pb_watch_want(struct pb_watch *watch, uint64_t now_ns);
void pb_watch_gain(struct pb_watch *watch, uint64_t now_ns);

void pb_watch_init(void);

#endif
