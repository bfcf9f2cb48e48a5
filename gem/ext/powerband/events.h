/* Events on demand: a trace of the whole process while a reader wants one, and those of one request in N. Off, each
 * place that could record one costs a relaxed load. When a trace begins and ends is trace.c's business. */
#ifndef POWERBAND_EVENTS_H
#define POWERBAND_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "events_layout.h"
#include "thread.h"

#define PB_EVENTS_TRACE 1
#define PB_EVENTS_BURSTS 2

/* Which of the two are on. */
extern int pb_events_on;

static inline bool
pb_events_wanted(void)
{
    return __builtin_expect(__atomic_load_n(&pb_events_on, __ATOMIC_RELAXED) != 0, 0);
}

/* From any thread, with the GVL or without; no lock, no Ruby, no system call. */
void pb_event_write(const struct pb_thread *thread, uint64_t now_ns, enum pb_event_kind kind, uint8_t detail,
                    uint16_t code, uint64_t argument);

static inline void
pb_event(const struct pb_thread *thread, uint64_t now_ns, enum pb_event_kind kind, uint8_t detail)
{
    if (pb_events_wanted()) pb_event_write(thread, now_ns, kind, detail, 0, 0);
}

/* Gives a mapped file to the writers. `asked` is its header as it was found to be sound. */
void pb_events_trace_on(struct pb_events_header *header, const struct pb_events_header *asked);

/* False also when a writer met the deadline. */
bool pb_events_trace_goes_on(void);

/* No event is begun from here on. True once no thread is inside one any more: only then may the file be unmapped. */
bool pb_events_trace_off(void);

/* For each request as it begins, with the GVL held: whether it is one of the sampled. */
bool pb_bursts_sampled(void);

/* Makes the file of sampled requests next to the flight file; on failure returns false and says why. */
bool pb_bursts_open(uint32_t one_in, char *reason, size_t reason_size);

/* The end of both, in a process that goes on. Mappings stay. */
void pb_events_stop(void);

/* For the child of a fork, where no file is mapped (MADV_DONTFORK) and no thread is inside a write. */
void pb_events_forget(void);

#endif
