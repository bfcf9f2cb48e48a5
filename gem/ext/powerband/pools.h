/* Samples of the state of database connection pools. */
#ifndef POWERBAND_POOLS_H
#define POWERBAND_POOLS_H

#include <ruby.h>

/* true once a second and file, for one caller. Never raises. */
VALUE pb_pool_due(VALUE self);

/* What is no number, or does not fit, is written as the nearest that does. Never raises. */
VALUE pb_pool_sample(VALUE self, VALUE pool, VALUE size, VALUE connections, VALUE busy, VALUE dead, VALUE idle, VALUE waiting);

#endif
