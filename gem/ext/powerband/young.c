/* A hash table of addresses with linear probing. A freed object is looked up in it, whatever object it is, so a bit for each
 * few addresses goes first: most are not there, and that much stays in the fastest cache. */
#include "young.h"

#include <stdlib.h>
#include <string.h>

#define MOST 32768u
#define PLACES (2 * MOST)
#define BITS 65536u

static struct table {
    uint64_t bits[BITS / 64];
    VALUE objects[PLACES]; /* 0: free */
    uint32_t sites[PLACES];
    uint32_t count;
    VALUE kept_objects[MOST];
    uint32_t kept_sites[MOST];
} *table;

bool
pb_young_make(void)
{
    free(table);
    table = calloc(1, sizeof *table);
    return table != NULL;
}

void
pb_young_free(void)
{
    free(table);
    table = NULL;
}

/* Slots are multiples of 8 apart. Multiplicative hashing (Knuth, TAOCP 3, 6.4) with 2^64 over the golden ratio. */
static uint64_t
hashed(VALUE object)
{
    return (object >> 3) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t
home(VALUE object)
{
    return (uint32_t)(hashed(object) >> 32) % PLACES;
}

static uint32_t
bit(VALUE object)
{
    return (uint32_t)(hashed(object) >> 48) % BITS;
}

bool
pb_young_add(VALUE object, uint32_t site)
{
    uint32_t place = home(object);

    if (table->count == MOST) return false;
    while (table->objects[place] && table->objects[place] != object) place = (place + 1) % PLACES;
    if (!table->objects[place]) table->count++;
    table->objects[place] = object;
    table->sites[place] = site;
    table->bits[bit(object) / 64] |= UINT64_C(1) << (bit(object) % 64);
    return true;
}

/* What stands behind a hole is moved into it unless its home lies after the hole (Knuth, algorithm 6.4R). */
static void
remove_at(uint32_t hole)
{
    table->count--;
    for (uint32_t place = (hole + 1) % PLACES; table->objects[place]; place = (place + 1) % PLACES) {
        const uint32_t from_home = (place - home(table->objects[place])) % PLACES;

        if (from_home < (place - hole) % PLACES) continue;
        table->objects[hole] = table->objects[place];
        table->sites[hole] = table->sites[place];
        hole = place;
    }
    table->objects[hole] = 0;
}

bool
pb_young_take(VALUE object, uint32_t *site)
{
    uint32_t place;

    if (!(table->bits[bit(object) / 64] >> (bit(object) % 64) & 1)) return false;
    for (place = home(object); table->objects[place]; place = (place + 1) % PLACES) {
        if (table->objects[place] != object) continue;
        *site = table->sites[place];
        remove_at(place);
        return true;
    }
    return false;
}

uint32_t
pb_young_count(void)
{
    return table->count;
}

/* Anew, because a removal while one goes through the table moves entries, and because bits of those that left are cleared
 * in no other way. */
static void
fill_anew(uint32_t kept)
{
    memset(table->bits, 0, sizeof table->bits);
    memset(table->objects, 0, sizeof table->objects);
    table->count = 0;
    for (uint32_t i = 0; i < kept; i++) pb_young_add(table->kept_objects[i], table->kept_sites[i]);
}

void
pb_young_sift(bool (*is_over)(VALUE object, uint32_t site))
{
    uint32_t kept = 0;

    if (table->count == 0) return;
    for (uint32_t place = 0; place < PLACES; place++) {
        const VALUE object = table->objects[place];

        if (!object || is_over(object, table->sites[place])) continue;
        table->kept_objects[kept] = object;
        table->kept_sites[kept++] = table->sites[place];
    }
    fill_anew(kept);
}

void
pb_young_follow(void)
{
    uint32_t kept = 0;

    if (!table || table->count == 0) return;
    for (uint32_t place = 0; place < PLACES; place++) {
        if (!table->objects[place]) continue;
        table->kept_objects[kept] = rb_gc_location(table->objects[place]);
        table->kept_sites[kept++] = table->sites[place];
    }
    fill_anew(kept);
}
