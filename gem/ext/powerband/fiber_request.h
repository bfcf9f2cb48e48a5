/* Requests under a fiber scheduler (Falcon): several take turns on one thread, so that the thread's work belongs to no single
 * request. Only what is true of each is recorded: arrival, queue time, wall time, status, endpoint, requests in flight. */
#ifndef POWERBAND_FIBER_REQUEST_H
#define POWERBAND_FIBER_REQUEST_H

#include <ruby.h>
#include <stdbool.h>

void pb_fiber_request_init(void);

/* Whether the fiber that runs is one that a scheduler switches. */
bool pb_fiber_scheduled(void);

/* There is a flight file. Answers what the end wants to have: an Integer, or false inside another such request. */
VALUE pb_fiber_request_start(VALUE env);

void pb_fiber_request_finish(VALUE started, VALUE env, VALUE response, bool raised);

#endif
