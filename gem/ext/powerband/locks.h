/* Whether a thread that gives the GVL up does so to wait for a lock, which to the GVL's events looks like I/O. */
#ifndef POWERBAND_LOCKS_H
#define POWERBAND_LOCKS_H

#include <stdbool.h>

/* Learns what locks look like. May allocate; called at load and again later, when more of Ruby is loaded. */
void pb_locks_learn(void);

/* Of the current thread, which must have a frame; never raises then. */
bool pb_locks_awaited(void);

#endif
