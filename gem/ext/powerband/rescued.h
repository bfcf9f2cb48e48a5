/* A call that may raise, made where an exception must not pass. */
#ifndef POWERBAND_RESCUED_H
#define POWERBAND_RESCUED_H

#include <ruby.h>
#include <stdbool.h>

/* Whether it returned; an exception that it raised is dropped. */
static inline bool
pb_rescued(VALUE (*call)(VALUE), VALUE argument)
{
    int failed = 0;

    rb_protect(call, argument, &failed);
    if (failed) rb_set_errinfo(Qnil);
    return !failed;
}

#endif
