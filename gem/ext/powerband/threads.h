/* The states of all threads: taken, given back, kept for the next thread. */
#ifndef POWERBAND_THREADS_H
#define POWERBAND_THREADS_H

#include "thread.h"

/* A zeroed state; NULL without memory. Any thread may call this, with the GVL or without. */
struct pb_thread *pb_threads_take(void);
void pb_threads_give(struct pb_thread *thread);

/* In the child of a fork, whose other threads are gone without a word: all states but `kept` are free again, and that one
 * knows nothing of what its thread did in the parent. */
void pb_threads_keep_only(struct pb_thread *kept);

/* The state that has this `ruby_thread`; NULL without. */
struct pb_thread *pb_threads_find(uintptr_t ruby_thread);

/* How many are taken, and how many there are. */
void pb_threads_count(unsigned *used, unsigned *made);

#endif
