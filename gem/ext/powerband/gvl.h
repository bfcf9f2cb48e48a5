/* The holder of the GVL: one hook for the whole process, and a state for each thread. */
#ifndef POWERBAND_GVL_H
#define POWERBAND_GVL_H

#include <ruby.h>
#include <stdbool.h>
#include "thread.h"

/* Registers the hook. Called once, when the extension is loaded, which should be before any fork: a hook added in
 * a child can hang for ever when the parent forked inside a callback. */
void pb_gvl_init(void);

/* Whether the split into held, waited and given up can be measured in this process. */
bool pb_gvl_available(void);

/* Turns the callback on or off for the whole process; off, it costs one load of a flag. */
void pb_gvl_enable(bool on);

/* In the child of a fork: forgets the states of the parent's other threads, which do not exist there. */
void pb_gvl_after_fork(void);

/* The current thread's state; NULL without memory. Needs the GVL. */
struct pb_thread *pb_thread_current(void);

/* The same, but NULL when there is none yet: for callbacks. */
struct pb_thread *pb_thread_known(void);

/* The state of any thread of Thread.list; NULL where it is not known (on Ruby 3.2 before the thread first has the GVL).
 * Needs the GVL. */
struct pb_thread *pb_thread_of(VALUE thread);

#endif
