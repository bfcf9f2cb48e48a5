/* A start whose finish never came leaves its kind open until the request ends: calls of that kind then count as
 * inside of it, and the next request begins anew. */
#include "calls.h"

#include "clock.h"
#include "events.h"
#include "flight.h"
#include "gvl.h"

static bool
kind_of(VALUE value, enum pb_call *kind)
{
    if (!FIXNUM_P(value) || FIX2LONG(value) < 0 || FIX2LONG(value) >= PB_CALLS) return false;
    *kind = (enum pb_call)FIX2LONG(value);
    return true;
}

VALUE
pb_call_start(VALUE self, VALUE kind_number)
{
    struct pb_thread *thread = pb_thread_current();
    struct pb_open_call *call;
    enum pb_call kind;

    if (!thread || !thread->serving || thread->generation != pb_generation) return Qfalse;
    if (!kind_of(kind_number, &kind)) return Qfalse;
    thread->eventful = true;
    call = &thread->calls[kind];
    if (call->depth++ > 0) return Qtrue;
    call->since_ns = pb_mono_ns();
    call->gvl_wait_before_ns = thread->watch.sums.gvl_wait_ns;
    call->lock_wait_before_ns = thread->watch.sums.lock_wait_ns;
    pb_event(thread, call->since_ns, PB_EVENT_CALL_BEGIN, kind);
    return Qtrue;
}

static VALUE
finish(VALUE started, VALUE kind_number, bool counts)
{
    struct pb_thread *thread;
    struct pb_open_call *call;
    struct pb_call_ns *sum;
    enum pb_call kind;
    uint64_t gvl_ns, lock_ns;

    if (!RTEST(started)) return Qnil;
    thread = pb_thread_current();
    if (!thread || !thread->serving || thread->generation != pb_generation) return Qnil;
    if (!kind_of(kind_number, &kind)) return Qnil;
    call = &thread->calls[kind];
    if (call->depth == 0 || --call->depth > 0) return Qnil;
    if (pb_events_wanted()) pb_event_write(thread, pb_mono_ns(), PB_EVENT_CALL_END, kind, 0, 0);

    gvl_ns = thread->watch.sums.gvl_wait_ns - call->gvl_wait_before_ns;
    lock_ns = thread->watch.sums.lock_wait_ns - call->lock_wait_before_ns;
    /* A checkout that found a connection waited for none, whatever else happened in it. */
    if (kind == PB_POOL && lock_ns == 0) return Qnil;
    sum = &thread->more.calls[kind];
    sum->seen += kind == PB_POOL ? lock_ns + gvl_ns : pb_mono_ns() - call->since_ns;
    sum->gvl += gvl_ns;
    if (counts) thread->more.call_counts[kind]++;
    return Qnil;
}

VALUE
pb_call_finish(VALUE self, VALUE started, VALUE kind_number)
{
    return finish(started, kind_number, true);
}

VALUE
pb_call_prepared(VALUE self, VALUE started, VALUE kind_number)
{
    return finish(started, kind_number, false);
}

VALUE
pb_call_measures(VALUE self, VALUE kind_number)
{
    enum pb_call kind;

    if (kind_of(kind_number, &kind)) pb_flight_measures(kind, pb_gvl_available());
    return Qnil;
}
