#include "sites.h"

#include <ruby/debug.h>
#include <stdlib.h>
#include <string.h>

#define SITES 16384u
#define FRAMES 16384u
#define STEPS (1u << 21)
/* At most half of the places of an index are taken, so that a search ends soon. */
#define SITE_PLACES (2 * SITES)
#define FRAME_PLACES (2 * FRAMES)

/* Some 20 MB, of which only what is used is ever touched. An index holds numbers from 1. */
static struct tables {
    struct pb_site sites[SITES];
    uint32_t site_index[SITE_PLACES];
    VALUE frames[FRAMES];
    uint32_t frame_index[FRAME_PLACES];
    struct pb_step steps[STEPS];
    uint32_t site_count, frame_count, step_count;
    VALUE stack[PB_DEEPEST];
    int lines[PB_DEEPEST];
} *tables;

bool
pb_sites_make(void)
{
    /* Those of a parent that was about to end when it forked. */
    free(tables);
    tables = calloc(1, sizeof *tables);
    return tables != NULL;
}

void
pb_sites_free(void)
{
    free(tables);
    tables = NULL;
}

/* The finalizer of MurmurHash3 (public domain, Austin Appleby), after each word. */
static uint64_t
mixed(uint64_t hash, uint64_t word)
{
    hash ^= word;
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    return hash;
}

static uint32_t
frame_number(VALUE frame)
{
    uint32_t place = (uint32_t)(mixed(0, frame) >> 8) % FRAME_PLACES;

    for (; tables->frame_index[place]; place = (place + 1) % FRAME_PLACES) {
        const uint32_t number = tables->frame_index[place] - 1;

        if (tables->frames[number] == frame) return number;
    }
    if (tables->frame_count == FRAMES) return PB_NO_SITE;
    tables->frames[tables->frame_count++] = frame;
    tables->frame_index[place] = tables->frame_count;
    return tables->frame_count - 1;
}

static bool
is_here(const struct pb_site *site, VALUE class, uint64_t hash, int depth)
{
    const struct pb_step *steps = tables->steps + site->first_step;

    if (site->hash != hash || site->class != class || site->depth != (uint32_t)depth) return false;
    for (int i = 0; i < depth; i++) {
        if (tables->frames[steps[i].frame] != tables->stack[i] || steps[i].line != tables->lines[i]) return false;
    }
    return true;
}

static bool
add(struct pb_site *site, VALUE class, uint64_t hash, int depth)
{
    struct pb_step *steps = tables->steps + tables->step_count;

    if (tables->step_count + (uint32_t)depth > STEPS) return false;
    for (int i = 0; i < depth; i++) {
        const uint32_t frame = frame_number(tables->stack[i]);

        if (frame == PB_NO_SITE) return false;
        steps[i] = (struct pb_step){ frame, tables->lines[i] };
    }
    *site = (struct pb_site){ .class = class, .hash = hash, .first_step = tables->step_count, .depth = (uint32_t)depth };
    tables->step_count += (uint32_t)depth;
    return true;
}

uint32_t
pb_sites_here(VALUE class)
{
    const int depth = rb_profile_frames(0, PB_DEEPEST, tables->stack, tables->lines);
    uint64_t hash = mixed(1, class);
    uint32_t place;

    for (int i = 0; i < depth; i++) hash = mixed(hash, tables->stack[i] + ((uint64_t)tables->lines[i] << 32));
    place = (uint32_t)(hash >> 8) % SITE_PLACES;
    for (; tables->site_index[place]; place = (place + 1) % SITE_PLACES) {
        const uint32_t number = tables->site_index[place] - 1;

        if (is_here(&tables->sites[number], class, hash, depth)) return number;
    }
    if (tables->site_count == SITES || !add(&tables->sites[tables->site_count], class, hash, depth)) return PB_NO_SITE;
    tables->site_index[place] = ++tables->site_count;
    return tables->site_count - 1;
}

struct pb_site *
pb_sites_at(uint32_t number)
{
    return &tables->sites[number];
}

uint32_t
pb_sites_count(void)
{
    return tables->site_count;
}

uint32_t
pb_sites_frames_count(void)
{
    return tables->frame_count;
}

VALUE
pb_sites_frame(uint32_t number)
{
    return tables->frames[number];
}

const struct pb_step *
pb_sites_steps(const struct pb_site *site)
{
    return tables->steps + site->first_step;
}

void
pb_sites_mark(void)
{
    if (!tables) return;
    for (uint32_t i = 0; i < tables->frame_count; i++) rb_gc_mark(tables->frames[i]);
    for (uint32_t i = 0; i < tables->site_count; i++) rb_gc_mark(tables->sites[i].class);
}
