/* Nothing is kept for a thread here: the beginning travels with the caller, and what else must last until the end is in
 * the request's environment. */
#include "fiber_request.h"

#include <string.h>
#ifdef HAVE_RUBY_FIBER_SCHEDULER_H
#include <ruby/fiber/scheduler.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>
#include "clock.h"
#include "environment.h"
#include "flight.h"
#include "rescued.h"
#include "trace.h"

static VALUE key_in_flight;

void
pb_fiber_request_init(void)
{
    key_in_flight = rb_interned_str_cstr("powerband.in_flight");
    rb_gc_register_mark_object(key_in_flight);
}

bool
pb_fiber_scheduled(void)
{
#ifdef HAVE_RB_FIBER_SCHEDULER_CURRENT
    return rb_fiber_scheduler_current() != Qnil;
#else
    return false;
#endif
}

struct mark {
    VALUE env, in_flight;
};

static VALUE
set_mark(VALUE argument)
{
    const struct mark *mark = (const struct mark *)argument;

    return rb_hash_aset(mark->env, key_in_flight, mark->in_flight);
}

/* An environment may be frozen, or a hash that is being iterated over. */
static void
remember(VALUE env, VALUE in_flight)
{
    struct mark mark = { env, in_flight };

    if (RB_TYPE_P(env, T_HASH)) pb_rescued(set_mark, (VALUE)&mark);
}

static VALUE
remembered(VALUE env)
{
    return RB_TYPE_P(env, T_HASH) ? rb_hash_lookup(env, key_in_flight) : Qnil;
}

/* Of a trace there are the thread's hand-overs alone: which of its fibers' requests they belong to is not known. */
static void
look(void)
{
    struct pb_thread *thread = pb_thread_current();

    if (thread) pb_trace_look(thread);
}

VALUE
pb_fiber_request_start(VALUE env)
{
    struct pb_header *header = pb_flight.header;

    look();
    if (FIXNUM_P(remembered(env))) return Qfalse;
    header->flags |= PB_FLAG_FIBERS;
    header->in_flight++;
    remember(env, ULL2NUM(header->in_flight));
    return LL2NUM((long long)pb_mono_ns());
}

void
pb_fiber_request_finish(VALUE started, VALUE env, VALUE response, bool raised)
{
    const uint64_t now_ns = pb_mono_ns(), start_ns = (uint64_t)FIX2LONG(started);
    const VALUE in_flight = remembered(env);
    struct pb_record record;
    struct pb_more_counters more;

    /* In the child of a fork inside the request, which may have a file of its own by now, it is the parent's. */
    if (!pb_flight.header || start_ns < pb_flight.header->created_mono_ns) return;
    pb_flight.header->in_flight--;
    memset(&record, 0, sizeof record);
    memset(&more, 0, sizeof more);
    record.wall_ns = now_ns - start_ns;
    record.start_mono_ns = start_ns;
    record.arrival_wall_ns = pb_wall_ns() - record.wall_ns;
    record.thread_id = (uint32_t)syscall(SYS_gettid);
    if (FIXNUM_P(in_flight)) record.busy_threads = (uint16_t)FIX2LONG(in_flight);
    more.busy_sum = record.busy_threads;
    pb_environment_read(env, &record);
    if (raised) record.flags |= PB_REQUEST_RAISED;
    else record.status = pb_environment_status(response);
    record.endpoint = pb_environment_endpoint(env, record.method, record.status);
    pb_flight_write(&record, &more, false);
    if (FIXNUM_P(in_flight)) remember(env, Qnil);
    look();
}
