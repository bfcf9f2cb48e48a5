/* The log of collections in the flight file: what set each off, how long it stopped the process, what it freed. Called by
 * gc.c's hooks, inside the collector: nothing here allocates, raises or calls a method. */
#ifndef POWERBAND_COLLECTIONS_H
#define POWERBAND_COLLECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "thread.h"

/* Interns symbols and learns what this collector reports, once, at load. */
void pb_collections_init(void);

struct pb_pause {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t cpu_ns;
    bool swept; /* it went on with the sweeping of a collection and did nothing else */
    bool over; /* no collection is under way any more */
};

/* A pause begins, with no collection under way where `idle`. */
void pb_collection_enter(bool idle);

/* A pause ended that this thread, which may be NULL, ran. Answers whether it was of a major collection. */
bool pb_collection_leave(const struct pb_pause *pause, const struct pb_thread *thread);

#endif
