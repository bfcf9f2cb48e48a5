/* What a reader asks for, a trace (contract/events-v1.md) or survivors (contract/survivors-file-v1.md): begun and ended as
 * requests begin and end, by the thread that holds the GVL then. */
#ifndef POWERBAND_TRACE_H
#define POWERBAND_TRACE_H

#include "flight.h"
#include "gvl.h"

/* The request that was last attended to, and whether its file, of either kind, is mapped. */
extern uint64_t pb_trace_seen;
extern bool pb_trace_mapped;

/* Begins or ends a trace, enters `thread` into it. Raises nothing of its own; an exception that ends the thread passes
 * through, which is why it is called before anything of a request is begun, or after all of it is done. */
void pb_trace_attend(struct pb_thread *thread);

/* With the GVL held and a flight file there: has a reader asked for something? */
static inline void
pb_trace_look(struct pb_thread *thread)
{
    const uint64_t asked = __atomic_load_n(&pb_flight.header->trace_request, __ATOMIC_RELAXED);

    if (__builtin_expect(asked != pb_trace_seen || pb_trace_mapped, 0)) pb_trace_attend(thread);
}

/* Ends what there is; for a process that goes on without its flight file. */
void pb_trace_stop(void);

/* For the child of a fork. */
void pb_trace_forget(void);

#endif
