/* Whether a thread that gives the GVL up does so to wait for a lock, which to the GVL's events looks like I/O. */
#ifndef POWERBAND_LOCKS_H
#define POWERBAND_LOCKS_H

#include <ruby.h>
#include <stdbool.h>
#include "layout.h"

/* Learns what locks look like. May allocate; called at load and again later, when more of Ruby is loaded. */
void pb_locks_learn(void);

/* What the current thread, which must have a frame, waits for; PB_LOCK_NONE: no lock. Never raises. */
enum pb_lock_kind pb_locks_awaited(void);

/* The mutex for which a thread waits whose running frame is a method of `receiver`, a lock of this kind. Qnil: it waits for a signal
 * or an entry of a queue. Qfalse: the mutex is not known. Neither allocates nor raises. */
VALUE pb_locks_mutex(VALUE receiver, enum pb_lock_kind kind);

#endif
