/* One request or job: from the agent's arrival until the application returned, or until the server had written the
 * response where it reports that. */
#ifndef POWERBAND_REQUEST_H
#define POWERBAND_REQUEST_H

#include <ruby.h>
#include "thread.h"

/* true: recording began. false: not to be recorded (an outer layer of ours does). nil: this process has no flight
 * file yet. Never raises. */
VALUE pb_request_start(VALUE self, VALUE env);

/* Ends what pb_request_start began: `started` is its answer, or nil where an exception came as it returned and the answer
 * never arrived. Of false nothing began. `response` is what the application returned; `raised` is true when it did not
 * return. Never raises. */
VALUE pb_request_finish(VALUE self, VALUE started, VALUE env, VALUE response, VALUE raised);

/* The same for a job; `queue_ns` is what it waited in its queue, or nil. Never raises. */
VALUE pb_job_start(VALUE self, VALUE queue_ns);
VALUE pb_job_finish(VALUE self, VALUE started, VALUE name, VALUE raised);

/* The server begins to handle a connection, and is done with it. An earlier connection that the thread still had
 * open is ended. Never raises. */
VALUE pb_server_start(VALUE self);
VALUE pb_server_finish(VALUE self);

/* The end of what the current thread still has open never came, and never will. Needs the GVL; makes no Ruby object
 * and never raises, so that a callback may use it. */
void pb_request_abandon(struct pb_thread *thread);

#endif
