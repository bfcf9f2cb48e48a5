/* A name of an endpoint that is being written: plain ASCII, cut where there is no more room. */
#ifndef POWERBAND_NAME_H
#define POWERBAND_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include "layout.h"

struct pb_name {
    char *to; /* PB_NAME_SIZE bytes, all zero */
    size_t length;
};

static inline bool
pb_name_full(const struct pb_name *name)
{
    return name->length >= PB_NAME_SIZE - 1;
}

/* The table is UTF-8 whatever the request was, hence plain ASCII. */
static inline void
pb_name_put(struct pb_name *name, const char *text, size_t length)
{
    for (size_t i = 0; i < length && !pb_name_full(name); i++) {
        unsigned char c = (unsigned char)text[i];
        name->to[name->length++] = (c < 0x20 || c > 0x7E) ? '?' : (char)c;
    }
}

#endif
