/* Which locks requests wait for: at which line, for how long, and how long others hold them. Called by the GVL's hook, so
 * nothing here allocates, raises or calls a method. Without a wait nothing is followed, and a hand-over costs one comparison more.
 *
 * A mutex that a request waited for is followed from then on. Only the thread that has the GVL locks and unlocks, so a
 * thread that gives the GVL up with the mutex locked, which was free when the previous thread gave the GVL up, has taken it. What
 * is locked and unlocked without giving the GVL up in between is not seen, and hinders no other thread. */
#ifndef POWERBAND_CONTENTION_H
#define POWERBAND_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>
#include "thread.h"

/* Once, at load. */
void pb_contention_init(void);

extern unsigned pb_contention_count;

/* Whether any mutex is followed: then every thread of the main Ractor is looked at as it gives the GVL up. */
static inline bool
pb_contention_followed(void)
{
    return __builtin_expect(__atomic_load_n(&pb_contention_count, __ATOMIC_RELAXED) != 0, 0);
}

/* The thread gives the GVL up or ends a request. Answers in which rows of the flight file it holds a lock, a bit each; none in another
 * Ractor than the main one. */
uint64_t pb_contention_look(struct pb_thread *thread, uint64_t now_ns);

/* After that: the thread, which serves a request, waits in a lock of this kind. Answers the row; 0: no other was free. */
uint8_t pb_contention_wait(struct pb_thread *thread, enum pb_lock_kind kind, uint64_t now_ns);

/* It is ready; perhaps on the thread that has just unlocked the mutex. */
void pb_contention_woken(const struct pb_thread *thread, uint64_t now_ns);

/* It has the GVL again, and its watch is up to date. */
void pb_contention_waited(struct pb_thread *thread, uint64_t now_ns);

#endif
