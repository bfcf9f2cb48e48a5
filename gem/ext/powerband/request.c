/* Invariant: nothing here can raise, allocate a Ruby object or call a method. Any of these may come at any time, in
 * any thread: an exception from another thread can end a request between any two lines, and a file can change under
 * it. A thread's state from an older file counts for nothing. */
#include "request.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "clock.h"
#include "contention.h"
#include "endpoint.h"
#include "environment.h"
#include "events.h"
#include "fiber_request.h"
#include "flight.h"
#include "gvl.h"
#include "trace.h"

static bool
current(const struct pb_thread *thread)
{
    return thread->generation == pb_generation && pb_flight.header;
}

/* The thread's first request in this file: there is no previous one for it to count from. */
static void
adopt(struct pb_thread *thread, uint64_t now_ns)
{
    thread->generation = pb_generation;
    thread->serving = thread->spanned = thread->pending = false;
    thread->thread_id = (uint32_t)syscall(SYS_gettid);
    if (pb_gvl_available()) pb_watch_start(&thread->watch, now_ns);
    thread->before = thread->watch.sums;
    thread->cpu_before_ns = pb_thread_cpu_ns();
}

/* The end of one record is the beginning of the thread's next: its CPU clock, a system call, is read here alone. The
 * watch has been read. */
static void
write_record(struct pb_thread *thread, uint64_t cpu_ns)
{
    const struct pb_sums *sums = &thread->watch.sums;

    if (pb_flight.thread_cpu) thread->record.cpu_ns = cpu_ns - thread->cpu_before_ns;
    thread->more.server_held_ns = sums->held_ns - thread->before.held_ns - thread->inside_held_ns;
    thread->more.server_gvl_wait_ns = sums->gvl_wait_ns - thread->before.gvl_wait_ns - thread->inside_gvl_wait_ns;
    thread->cpu_before_ns = cpu_ns;
    thread->before = *sums;
    thread->pending = false;
    pb_flight_write(&thread->record, &thread->more, thread->eventful);
}

static void
write_pending(struct pb_thread *thread, uint64_t cpu_ns, uint64_t now_ns, bool written)
{
    pb_watch_read(&thread->watch, now_ns);
    if (written) {
        thread->record.flags |= PB_REQUEST_SPANS;
        thread->more.spans_known = 1;
        thread->more.parse_ns = thread->record.start_mono_ns - thread->span_start_ns;
        thread->more.write_ns = now_ns - thread->returned_ns;
    }
    write_record(thread, cpu_ns);
}

void
pb_request_abandon(struct pb_thread *thread)
{
    if (!current(thread)) thread->serving = thread->pending = false;
    if (thread->serving) pb_flight.header->in_flight--;
    thread->serving = thread->sampled = false;
    pb_watch_count(&thread->watch, false);
    if (thread->pending) write_pending(thread, pb_thread_cpu_ns(), pb_mono_ns(), false);
}

/* What was of the previous request. */
static void
clear(struct pb_thread *thread)
{
    memset(&thread->record, 0, sizeof thread->record);
    if (thread->eventful) {
        memset(&thread->more, 0, sizeof thread->more);
        memset(thread->calls, 0, sizeof thread->calls);
        thread->eventful = false;
    }
    else {
        thread->more.parse_ns = thread->more.write_ns = thread->more.spans_known = 0;
    }
    thread->env = 0;
}

/* nil, false or true, as pb_request_start answers. */
static VALUE
start(struct pb_thread **started)
{
    struct pb_header *header = pb_flight.header;
    struct pb_thread *thread;
    uint64_t now_ns;

    if (!header) return Qnil;
    thread = pb_thread_current();
    if (!thread) {
        pb_flight_fault();
        return Qfalse;
    }
    pb_trace_look(thread);
    if (current(thread)) {
        if (thread->serving) return Qfalse;
        /* The server goes on with the connection's next request: where writing ended and parsing began is unknown. */
        if (thread->pending) write_pending(thread, pb_thread_cpu_ns(), pb_mono_ns(), false);
        now_ns = pb_mono_ns();
        pb_watch_read(&thread->watch, now_ns);
    }
    else {
        now_ns = pb_mono_ns();
        adopt(thread, now_ns);
    }

    clear(thread);
    pb_watch_count(&thread->watch, true);
    thread->began = thread->watch.sums;
    thread->span_requests++;
    thread->record.arrival_wall_ns = pb_wall_ns();
    thread->record.start_mono_ns = now_ns;
    thread->record.thread_id = thread->thread_id;
    thread->record.busy_threads = (uint16_t)++header->in_flight;
    thread->more.busy_sum = thread->record.busy_threads;
    thread->serving = true;
    thread->sampled = pb_bursts_sampled();
    if (thread->sampled) thread->record.flags |= PB_REQUEST_EVENTS;
    if (pb_events_wanted()) pb_event_write(thread, now_ns, PB_EVENT_REQUEST_BEGIN, 0, thread->record.busy_threads, 0);
    *started = thread;
    return Qtrue;
}

static void
split(struct pb_thread *thread)
{
    const struct pb_sums *now = &thread->watch.sums, *then = &thread->began;
    struct pb_record *record = &thread->record;
    struct pb_more_counters *more = &thread->more;

    thread->inside_held_ns = record->held_ns = now->held_ns - then->held_ns;
    thread->inside_gvl_wait_ns = record->gvl_wait_ns = now->gvl_wait_ns - then->gvl_wait_ns;
    if (!thread->watch.running) return;
    record->lock_wait_ns = now->lock_wait_ns - then->lock_wait_ns;
    record->io_ns = record->wall_ns - record->held_ns - record->gvl_wait_ns - record->lock_wait_ns;
    record->allocations = now->allocations - then->allocations;
    record->yields = now->yields - then->yields;
    if (now->gc_count == then->gc_count) return;
    thread->eventful = true;
    more->gc_own_ns = now->gc_own_ns - then->gc_own_ns;
    more->gc_cpu_ns = now->gc_cpu_ns - then->gc_cpu_ns;
    more->gc_count = now->gc_count - then->gc_count;
    record->gc_ns = more->gc_own_ns + now->gc_wait_ns - then->gc_wait_ns;
    record->gc_major_us = pb_saturated_us(now->gc_major_ns - then->gc_major_ns);
}

/* The thread whose request, begun with that answer, ends now; NULL when there is none. What is still to be read of the
 * request takes time that is not the application's, so the clocks come first. */
static struct pb_thread *
returned(VALUE started, VALUE raised, uint64_t *cpu_ns)
{
    struct pb_thread *thread;

    if (!RTEST(started)) return NULL;
    thread = pb_thread_current();
    if (!thread || !thread->serving) return NULL;
    thread->serving = false;
    /* The file that it began in is gone, and with it what it counted in. */
    if (!current(thread)) return NULL;

    *cpu_ns = thread->spanned ? 0 : pb_thread_cpu_ns();
    thread->returned_ns = pb_mono_ns();
    /* Else two holds of a lock in two requests are one, where the thread keeps the GVL in between. */
    pb_contention_look(thread, thread->returned_ns);
    pb_watch_read(&thread->watch, thread->returned_ns);
    pb_watch_count(&thread->watch, false);
    thread->record.wall_ns = thread->returned_ns - thread->record.start_mono_ns;
    if (RTEST(raised)) thread->record.flags |= PB_REQUEST_RAISED;
    split(thread);
    pb_flight.header->in_flight--;
    return thread;
}

static void
conclude(struct pb_thread *thread, uint64_t cpu_ns)
{
    const struct pb_record *record = &thread->record;

    if (pb_events_wanted()) {
        pb_event_write(thread, thread->returned_ns, PB_EVENT_REQUEST_END, record->flags, record->status, record->endpoint);
    }
    thread->sampled = false;
    if (thread->spanned) thread->pending = true;
    else write_record(thread, cpu_ns);
    pb_trace_look(thread);
}

VALUE
pb_request_start(VALUE self, VALUE env)
{
    struct pb_thread *thread;
    VALUE answer;

    if (pb_flight.header && pb_fiber_scheduled()) return pb_fiber_request_start(env);
    answer = start(&thread);
    if (answer != Qtrue) return answer;
    thread->env = (uintptr_t)env;
    pb_environment_read(env, &thread->record);
    return Qtrue;
}

/* Whether the thread serves this very request. An inner layer, whose environment is the same, is not distinguished from
 * the outer one: it then ends the request a little early. */
static bool
serves(VALUE env)
{
    const struct pb_thread *thread = pb_thread_current();

    return thread && thread->serving && thread->env == (uintptr_t)env;
}

VALUE
pb_request_finish(VALUE self, VALUE started, VALUE env, VALUE response, VALUE raised)
{
    uint64_t cpu_ns;
    struct pb_thread *thread;

    if (FIXNUM_P(started)) {
        pb_fiber_request_finish(started, env, response, RTEST(raised));
        return Qnil;
    }
    if (NIL_P(started) && serves(env)) started = Qtrue;
    thread = returned(started, raised, &cpu_ns);
    if (!thread) return Qnil;
    if (!RTEST(raised)) thread->record.status = pb_environment_status(response);
    thread->record.endpoint = pb_environment_endpoint(env, thread->record.method, thread->record.status);
    conclude(thread, cpu_ns);
    return Qnil;
}

VALUE
pb_job_start(VALUE self, VALUE queue_ns)
{
    struct pb_thread *thread;
    VALUE answer;

    /* Others run on this thread while this one waits: the thread's split is not its own. */
    if (pb_flight.header && pb_fiber_scheduled()) return Qfalse;
    answer = start(&thread);
    if (answer != Qtrue) return answer;
    thread->record.flags |= PB_REQUEST_JOB;
    if (FIXNUM_P(queue_ns) && FIX2LONG(queue_ns) >= 0) {
        thread->record.queue_ns = (uint64_t)FIX2LONG(queue_ns);
        thread->record.flags |= PB_REQUEST_QUEUE_KNOWN;
    }
    return Qtrue;
}

VALUE
pb_job_finish(VALUE self, VALUE started, VALUE name, VALUE raised)
{
    uint64_t cpu_ns;
    struct pb_thread *thread = returned(started, raised, &cpu_ns);
    char endpoint[PB_NAME_SIZE];

    if (!thread) return Qnil;
    if (RB_TYPE_P(name, T_STRING)) pb_endpoint_given_name(endpoint, "job ", RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    else pb_endpoint_given_name(endpoint, "job ", "(unnamed)", strlen("(unnamed)"));
    thread->record.endpoint = pb_endpoint_index(endpoint, true);
    conclude(thread, cpu_ns);
    return Qnil;
}

VALUE
pb_server_start(VALUE self)
{
    struct pb_thread *thread;

    if (!pb_flight.header) return Qnil;
    thread = pb_thread_current();
    if (!thread) return Qnil;
    if (!current(thread)) adopt(thread, pb_mono_ns());
    /* The server had looked at the connection before it came to our mark, and has not waited for anything since. */
    thread->span_start_ns = pb_watch_held_since_ns(&thread->watch);
    pb_request_abandon(thread);
    thread->spanned = true;
    thread->span_requests = 0;
    return Qnil;
}

VALUE
pb_server_finish(VALUE self)
{
    struct pb_thread *thread;

    if (!pb_flight.header) return Qnil;
    thread = pb_thread_current();
    if (!thread || !current(thread) || !thread->spanned) return Qnil;
    if (thread->pending) {
        const uint64_t cpu_ns = pb_thread_cpu_ns();
        write_pending(thread, cpu_ns, pb_mono_ns(), thread->span_requests == 1);
    }
    pb_request_abandon(thread);
    thread->spanned = false;
    return Qnil;
}
