/* The survivors file's layout, field for field as contract/survivors-file-v1.md says it; the assertions hold both together. */
#ifndef POWERBAND_SURVIVORS_LAYOUT_H
#define POWERBAND_SURVIVORS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include "origin.h"

#define PB_SURVIVORS_MAGIC "PBSURVIV"
#define PB_SURVIVORS_VERSION 1

enum pb_survivors_state {
    PB_SURVIVORS_ASKED = 0,
    PB_SURVIVORS_RECORDING,
    PB_SURVIVORS_OVER,
    PB_SURVIVORS_REFUSED
};

enum pb_survivors_refusal {
    PB_REFUSED_NOT = 0,
    PB_REFUSED_RUBY,       /* a Ruby without what is needed */
    PB_REFUSED_COLLECTOR,  /* another garbage collector than CRuby's default one */
    PB_REFUSED_RACTORS,    /* hooks of one Ractor do not see the objects of another */
    PB_REFUSED_MEMORY
};

struct pb_survivors_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t state;
    uint32_t refusal;
    uint64_t request;
    uint32_t pid;
    int32_t worker_index;
    uint64_t start_ticks;
    uint64_t created_wall_ns;
    uint64_t created_mono_ns;
    uint64_t deadline_mono_ns;
    uint64_t last_mono_ns;
    uint64_t began_mono_ns;
    uint64_t ended_mono_ns;
    uint32_t every;
    uint32_t collections;
    uint64_t capacity;
    uint64_t used;
    uint64_t allocated;
    uint64_t sampled;
    uint64_t internal;
    uint64_t lost;
    uint64_t undecided;
    uint32_t frames;
    uint32_t sites;
    struct pb_origin origin;
    char zeros[3904];
};

/* Without padding: what follows has any length. */
struct pb_survivors_frame {
    uint32_t path_length;
    uint32_t label_length;
};

struct pb_survivors_site {
    uint32_t class_length;
    uint32_t depth;
    uint64_t sampled;
    uint64_t promoted;
    uint64_t died;
    uint64_t promoted_bytes;
    uint64_t died_bytes;
};

_Static_assert(sizeof(struct pb_survivors_header) == 4096, "header");
_Static_assert(offsetof(struct pb_survivors_header, request) == 24, "header");
_Static_assert(offsetof(struct pb_survivors_header, start_ticks) == 40, "header");
_Static_assert(offsetof(struct pb_survivors_header, deadline_mono_ns) == 64, "header");
_Static_assert(offsetof(struct pb_survivors_header, every) == 96, "header");
_Static_assert(offsetof(struct pb_survivors_header, used) == 112, "header");
_Static_assert(offsetof(struct pb_survivors_header, undecided) == 152, "header");
_Static_assert(offsetof(struct pb_survivors_header, origin) == 168, "header");
_Static_assert(sizeof(struct pb_survivors_frame) == 8, "frame");
_Static_assert(sizeof(struct pb_survivors_site) == 48, "site");

#endif
