/* The pauses of the garbage collector: whole, for the process, and to the thread that ran them. */
#ifndef POWERBAND_GC_H
#define POWERBAND_GC_H

#include <stdint.h>

/* Registers the hook, once, at load. */
void pb_gc_init(void);

/* The length of all pauses until now, one that is under way included, and the number of those that ended. Any thread
 * may ask, with the GVL or without. */
uint64_t pb_gc_paused_ns(uint64_t now_ns);
uint64_t pb_gc_runs(void);

/* The length of the pauses of major collections that ended, and what has passed of one that is under way, of whatever kind:
 * its kind is known at its end. */
uint64_t pb_gc_major_ns(uint64_t now_ns);

#endif
