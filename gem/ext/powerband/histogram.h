/* Four buckets for each power of two of whole microseconds, the last bucket open: at most 25 % wide each. */
#ifndef POWERBAND_HISTOGRAM_H
#define POWERBAND_HISTOGRAM_H

#include <stdint.h>
#include "layout.h"

static inline unsigned
pb_bucket(uint64_t nanoseconds)
{
    uint64_t microseconds = nanoseconds / 1000;
    unsigned exponent, bucket;

    if (microseconds < 4) return (unsigned)microseconds;
    exponent = 63u - (unsigned)__builtin_clzll(microseconds);
    bucket = 4u * (exponent - 1u) + (unsigned)((microseconds >> (exponent - 2u)) & 3u);
    return bucket < PB_BUCKETS ? bucket : PB_BUCKETS - 1u;
}

#endif
