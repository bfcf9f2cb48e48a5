/* What a request says of itself: its environment on arrival, the response at its end. */
#ifndef POWERBAND_ENVIRONMENT_H
#define POWERBAND_ENVIRONMENT_H

#include <ruby.h>
#include <stdint.h>
#include "layout.h"

void pb_environment_init(void);

/* Fills the record's method, queue time and the flag that goes with it, from its arrival_wall_ns. */
void pb_environment_read(VALUE env, struct pb_record *record);

/* 0 for one that has no number. */
uint8_t pb_environment_method(VALUE env);

/* 0 for what is no status. */
uint16_t pb_environment_status(VALUE response);

/* Frameworks whose names of endpoints are looked for in the environment, as Powerband::NAMES numbers them; a forked child
 * looks for them too. Each look-up is a hash of a long string, which an application without them need not pay. */
enum pb_names { PB_NAMES_RAILS, PB_NAMES_SINATRA };
VALUE pb_environment_names(VALUE self, VALUE whose);

/* The entry of the endpoint table. */
uint16_t pb_environment_endpoint(VALUE env, uint8_t method, uint16_t status);

#endif
