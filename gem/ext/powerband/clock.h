/* The clocks, in nanoseconds. CLOCK_THREAD_CPUTIME_ID is a system call of half a microsecond: read it once at
 * each end of a request, never at a hand-over of the GVL. */
#ifndef POWERBAND_CLOCK_H
#define POWERBAND_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
pb_clock(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t pb_mono_ns(void) { return pb_clock(CLOCK_MONOTONIC); }
/* Good to a tick of the kernel, some milliseconds, and a quarter of the price. */
static inline uint64_t pb_coarse_ns(void) { return pb_clock(CLOCK_MONOTONIC_COARSE); }
static inline uint64_t pb_wall_ns(void) { return pb_clock(CLOCK_REALTIME); }
static inline uint64_t pb_thread_cpu_ns(void) { return pb_clock(CLOCK_THREAD_CPUTIME_ID); }

#endif
