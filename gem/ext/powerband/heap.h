/* The state of Ruby's heap: pages, and slots by their size. */
#ifndef POWERBAND_HEAP_H
#define POWERBAND_HEAP_H

#include <ruby.h>

/* Learns what this Ruby counts, once, at load. */
void pb_heap_init(void);

/* Writes it into the flight file, if there is one. Allocates nothing. */
VALUE pb_heap_sample(VALUE self);

#endif
