/* Call sites of sampled objects: a stack and a class, each kept once, with what became of the objects. Memory is set aside once
 * for a recording and never grows, so that a hook may add to it: no Ruby, no lock; with the GVL held or inside the collector. */
#ifndef POWERBAND_SITES_H
#define POWERBAND_SITES_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#define PB_NO_SITE UINT32_MAX
#define PB_DEEPEST 512

struct pb_step {
    uint32_t frame;
    int32_t line; /* 0 of a function in C */
};

struct pb_site {
    VALUE class;
    uint64_t hash;
    uint32_t first_step;
    uint32_t depth;
    uint64_t sampled;
    uint64_t promoted;
    uint64_t died;
    uint64_t promoted_bytes;
    uint64_t died_bytes;
};

bool pb_sites_make(void);
void pb_sites_free(void);

/* The site of an object of this class that the running code makes; PB_NO_SITE where there is no room for another one. */
uint32_t pb_sites_here(VALUE class);

struct pb_site *pb_sites_at(uint32_t number);
uint32_t pb_sites_count(void);
uint32_t pb_sites_frames_count(void);
VALUE pb_sites_frame(uint32_t number);
const struct pb_step *pb_sites_steps(const struct pb_site *site);

/* Code and classes that the sites name: marked, they are neither freed nor moved. */
void pb_sites_mark(void);

#endif
