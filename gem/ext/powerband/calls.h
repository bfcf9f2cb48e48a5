/* Calls that a request waits in: queries, HTTP clients, caches, Redis, the connection pool's checkout. */
#ifndef POWERBAND_CALLS_H
#define POWERBAND_CALLS_H

#include <ruby.h>

/* true when the thread serves a request, whose time in this call is then seen. Never raises. */
VALUE pb_call_start(VALUE self, VALUE kind);

/* Ends what pb_call_start began; does nothing unless `started`, its answer, is true. Never raises. */
VALUE pb_call_finish(VALUE self, VALUE started, VALUE kind);

/* The same for what only served calls, such as connecting: its time is seen, and it is no call of its own. */
VALUE pb_call_prepared(VALUE self, VALUE started, VALUE kind);

/* From now on calls of this kind are seen, in this file and in later ones. Never raises. */
VALUE pb_call_measures(VALUE self, VALUE kind);

#endif
