/* One request, from the agent's arrival until the application returned. */
#ifndef POWERBAND_REQUEST_H
#define POWERBAND_REQUEST_H

#include <ruby.h>

void pb_request_init(void);

/* true: recording began. false: not to be recorded (an outer layer of ours does, or recording is paused). nil: this
 * process has no flight file yet. Never raises. */
VALUE pb_request_start(VALUE self, VALUE env);

/* Ends what pb_request_start began; does nothing unless `started`, its answer, is true. `response` is what the
 * application returned; `raised` is true when it did not return. Never raises. */
VALUE pb_request_finish(VALUE self, VALUE started, VALUE env, VALUE response, VALUE raised);

#endif
