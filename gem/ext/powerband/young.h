/* Sampled objects that are neither old nor freed yet, by their addresses. They are not marked: what is sampled lives no longer
 * for it. Only the hooks of survivors.c call this: with the GVL held, or inside the collector. */
#ifndef POWERBAND_YOUNG_H
#define POWERBAND_YOUNG_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

bool pb_young_make(void);
void pb_young_free(void);

/* False where there is no room for another one. */
bool pb_young_add(VALUE object, uint32_t site);

/* Forgets the object and says of which site it was; false: it is none of them. */
bool pb_young_take(VALUE object, uint32_t *site);

uint32_t pb_young_count(void);

/* Forgets those of which `is_over` is true. */
void pb_young_sift(bool (*is_over)(VALUE object, uint32_t site));

/* After Ruby moved objects: rb_gc_location knows where to. */
void pb_young_follow(void);

#endif
