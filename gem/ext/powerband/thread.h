/* What is on record so far of the request or job that a thread serves. */
#ifndef POWERBAND_THREAD_H
#define POWERBAND_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "layout.h"
#include "watch.h"

/* A kind of call that is under way: only the outermost counts. */
struct pb_open_call {
    uint32_t depth;
    uint64_t since_ns;
    uint64_t gvl_wait_before_ns;
    uint64_t lock_wait_before_ns;
};

/* The wait for a lock that a thread is in, or came out of last; contention.c's. */
struct pb_lock_wait {
    bool open;
    uint8_t row; /* in the flight file */
    uint8_t slot; /* of the lock's mutex among those that are followed, from 1; 0 none. Until the thread gives the GVL up again */
    unsigned generation; /* the file that both are about */
    uint64_t before_ns; /* the thread's lock wait as it began */
};

struct pb_thread {
    struct pb_thread *next; /* threads.c's, as in_use is */
    bool in_use;

    struct pb_watch watch; /* from here on zeroed for each new thread */
    uintptr_t ruby_thread; /* only to be compared; Ruby 3.2 alone */
    unsigned generation; /* the file that all of this is about */
    uint32_t thread_id;
    uint32_t number; /* from 1, given once in a process: what events call the thread */
    uint32_t traced_in; /* the trace whose thread table has it */
    bool sampled; /* this request's events are recorded */
    bool serving; /* between a start and its finish */
    uintptr_t env; /* the request's environment, which may be gone: only to be compared; 0 of a job */
    struct pb_lock_wait lock_wait;
    uint64_t running_since_ns; /* it got the GVL, while a mutex was followed or it served; contention.c's */
    bool spanned; /* between server_start and server_finish */
    bool pending; /* the application returned, and the record waits for server_finish */
    unsigned span_requests;
    uint64_t span_start_ns;
    uint64_t returned_ns;

    uint64_t cpu_before_ns; /* thread CPU when the previous record was finished */
    struct pb_sums before;  /* the sums then */
    struct pb_sums began;   /* the sums when this request began */
    uint64_t inside_held_ns;
    uint64_t inside_gvl_wait_ns;

    struct pb_record record;

    /* This request made calls or met the collector. Of one that did not, `calls` and, but for the server's part, `more` are
     * zeroes, whose cache lines it need not touch. */
    bool eventful;
    struct pb_open_call calls[PB_CALLS];
    struct pb_more_counters more;
};

#endif
