/* In a callback: no Ruby allocation, no exception, no I/O. READY and RESUMED run under the scheduler's lock, and
 * READY may run on another thread than the one it is about. A thread has at most one event at a time; on Ruby 3.2 the thread that takes
 * the GVL from another one books that, too. */
#include "gvl.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/thread.h>
#include "clock.h"
#include "contention.h"
#include "events.h"
#include "locks.h"
#include "request.h"
#include "rescued.h"
#include "threads.h"
#include "watch.h"

static bool available;
static bool enabled;

/* The state of the thread that runs: all there is on Ruby 3.2, whose events name no thread and come on the native
 * thread that they are about; from 3.3, where they need not, only for want of a key, and then without the split. */
static __thread struct pb_thread *own;

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
static rb_internal_thread_specific_key_t key = -1;

static VALUE
create_key(VALUE unused)
{
    key = rb_internal_thread_specific_key_create();
    return unused;
}

/* There are eight keys in a process; the ninth is handed out silently, out of bounds. */
static bool
prepare(void)
{
    return pb_rescued(create_key, Qnil) && key >= 0 && key < RB_INTERNAL_THREAD_SPECIFIC_KEY_MAX;
}

static struct pb_thread *
thread_get(VALUE thread)
{
    return available ? rb_internal_thread_specific_get(thread, key) : own;
}

static void
thread_set(VALUE thread, struct pb_thread *state)
{
    if (available) rb_internal_thread_specific_set(thread, key, state);
    else own = state;
}

static bool
has_frame(void)
{
    return rb_sourcefile() != NULL;
}

#define EVENT_THREAD(data) ((data)->thread)
#else
static bool
prepare(void)
{
    return true;
}

static struct pb_thread *
thread_get(VALUE unused)
{
    return own;
}

/* A thread that starts is none of Ruby's before it has the GVL. */
static void
thread_set(VALUE unused, struct pb_thread *state)
{
    own = state;
    if (!state) return;
    state->watch.said = ruby_native_thread_p() ? PB_HELD : PB_GIVEN_UP;
    if (ruby_native_thread_p()) state->ruby_thread = rb_thread_current();
}

/* A thread that ends is none of Ruby's any more when it gives the GVL up for the last time. */
static bool
has_frame(void)
{
    return ruby_native_thread_p() && rb_sourcefile() != NULL;
}

#define EVENT_THREAD(data) Qnil
#endif

/* So that no thread is without a state when it is first asked for something. On Ruby 3.2 always for the running thread. */
static void
begin(VALUE thread)
{
    if (!thread_get(thread)) thread_set(thread, pb_threads_take());
}

static void
end(VALUE thread)
{
    struct pb_thread *state = thread_get(thread);

    if (!state) return;
    thread_set(thread, NULL);
    pb_threads_give(state);
}

static void
on_life(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    if (event == (RUBY_INTERNAL_THREAD_EVENT_STARTED)) {
        begin(EVENT_THREAD(data));
        if (pb_events_wanted()) pb_event_write(thread_get(EVENT_THREAD(data)), pb_mono_ns(), PB_EVENT_STARTED, 0, 0, 0);
    }
    else {
        if (pb_events_wanted()) pb_event_write(thread_get(EVENT_THREAD(data)), pb_mono_ns(), PB_EVENT_EXITED, 0, 0, 0);
        end(EVENT_THREAD(data));
    }
}

/* A thread that was killed is here for the last time without a frame left; nothing may be asked of it then, and what
 * it had open ends. */
static void
lose(struct pb_thread *thread, uint64_t now_ns)
{
    enum pb_lock_kind kind = PB_LOCK_NONE;
    uint64_t held_rows;
    uint8_t row = 0;

    if (thread->serving || thread->pending) {
        if (has_frame()) kind = pb_locks_awaited();
        else pb_request_abandon(thread);
    }
    else if (pb_events_wanted()) {
        if (has_frame()) kind = pb_locks_awaited();
    }
    held_rows = pb_contention_look(thread, now_ns);
    if (kind && thread->serving) row = pb_contention_wait(thread, kind, now_ns);
    if (thread->watch.running) pb_watch_lose(&thread->watch, now_ns, kind != PB_LOCK_NONE);
    if (pb_events_wanted()) pb_event_write(thread, now_ns, PB_EVENT_SUSPENDED, kind != PB_LOCK_NONE, row, held_rows);
}

/* A trace sees the threads that never served, too. */
static void
turn(struct pb_thread *thread, rb_event_flag_t event, uint64_t now_ns)
{
    const bool running = thread->watch.running;

    switch (event) {
      case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED:
        lose(thread, now_ns);
        break;
      case RUBY_INTERNAL_THREAD_EVENT_READY:
        if (running) pb_watch_want(&thread->watch, now_ns);
        pb_contention_woken(thread, now_ns);
        pb_event(thread, now_ns, PB_EVENT_READY, 0);
        break;
      case RUBY_INTERNAL_THREAD_EVENT_RESUMED:
        if (running) pb_watch_gain(&thread->watch, now_ns);
        pb_contention_waited(thread, now_ns);
        pb_event(thread, now_ns, PB_EVENT_RESUMED, 0);
        break;
      default:
        break;
    }
}

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
static bool
is_new(struct pb_thread *thread, rb_event_flag_t event)
{
    return true;
}
#else
/* The thread that had the GVL of the main Ractor last; NULL where that is not known. Only the thread that has that GVL reads it. */
static struct pb_thread *holder;

/* Ruby 3.2 does not announce that it takes the GVL from a thread, which then waits in the scheduler. The next thread shows it as it
 * gets the GVL, or the thread itself by READY, perhaps at the same time: the first of the two books it. */
static void
book_preemption(struct pb_thread *thread)
{
    uint8_t held = PB_HELD;
    uint64_t now_ns, held_rows;

    if (!__atomic_compare_exchange_n(&thread->watch.said, &held, PB_READY, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
    if (!thread->watch.running && !pb_events_wanted() && !pb_contention_followed()) return;
    now_ns = pb_mono_ns();
    held_rows = pb_contention_look(thread, now_ns);
    if (thread->watch.running) pb_watch_lose(&thread->watch, now_ns, false);
    if (pb_events_wanted()) pb_event_write(thread, now_ns, PB_EVENT_SUSPENDED, 0, 0, held_rows);
    turn(thread, RUBY_INTERNAL_THREAD_EVENT_READY, now_ns);
}

static void
note_holder(struct pb_thread *thread)
{
    if (holder && holder != thread) book_preemption(holder);
    holder = thread;
}

/* Whether the event is new: Ruby announces twice that a thread gives the GVL up to sleep, and READY may be booked already. */
static bool
is_new(struct pb_thread *thread, rb_event_flag_t event)
{
    const uint8_t before = __atomic_load_n(&thread->watch.said, __ATOMIC_ACQUIRE);

    switch (event) {
      case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED:
        if (holder == thread) holder = NULL;
        if (before != PB_HELD) return false;
        thread->watch.said = PB_GIVEN_UP;
        return true;
      case RUBY_INTERNAL_THREAD_EVENT_READY:
        if (before == PB_HELD) book_preemption(thread);
        if (before != PB_GIVEN_UP) return false;
        thread->watch.said = PB_READY;
        return true;
      default:
        thread->watch.said = PB_HELD;
        /* Other Ractors have other GVLs, and their threads have no ruby_thread. */
        if (thread->ruby_thread) note_holder(thread);
        return true;
    }
}

/* In the main Ractor, on a thread that has the GVL for the first time. */
static void
on_begin(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE klass)
{
    if (!own) return;
    own->ruby_thread = rb_thread_current();
    if (__atomic_load_n(&enabled, __ATOMIC_RELAXED)) note_holder(own);
}
#endif

static void
on_turn(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    struct pb_thread *thread;

    if (!__atomic_load_n(&enabled, __ATOMIC_RELAXED)) return;
    thread = thread_get(EVENT_THREAD(data));
    if (!thread || !is_new(thread, event)) return;
    if (thread->watch.running || pb_events_wanted() || pb_contention_followed()) turn(thread, event, pb_mono_ns());
}

void
pb_gvl_init(void)
{
    VALUE threads;

    pb_watch_init();
    available = prepare();
    if (!available) return;
    threads = rb_funcall(rb_cThread, rb_intern("list"), 0);
    for (long i = 0; i < RARRAY_LEN(threads); i++) begin(rb_ary_entry(threads, i));
    rb_internal_thread_add_event_hook(on_life, (RUBY_INTERNAL_THREAD_EVENT_STARTED) | (RUBY_INTERNAL_THREAD_EVENT_EXITED), NULL);
    rb_internal_thread_add_event_hook(
        on_turn,
        (RUBY_INTERNAL_THREAD_EVENT_READY) | (RUBY_INTERNAL_THREAD_EVENT_RESUMED) | (RUBY_INTERNAL_THREAD_EVENT_SUSPENDED),
        NULL);
#ifndef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
    rb_add_event_hook(on_begin, RUBY_EVENT_THREAD_BEGIN, Qnil);
#endif
}

bool
pb_gvl_available(void)
{
    return available;
}

void
pb_gvl_enable(bool on)
{
#ifndef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
    holder = on ? own : NULL;
    if (holder) holder->watch.said = PB_HELD;
#endif
    __atomic_store_n(&enabled, on && available, __ATOMIC_RELAXED);
}

void
pb_gvl_after_fork(void)
{
    struct pb_thread *kept = ruby_native_thread_p() ? thread_get(rb_thread_current()) : NULL;

    pb_gvl_enable(false);
    pb_threads_keep_only(kept);
    /* Clearing the state has taken from it, on Ruby 3.2, which thread it belongs to. */
    if (kept) thread_set(rb_thread_current(), kept);
}

struct pb_thread *
pb_thread_known(void)
{
    return thread_get(rb_thread_current());
}

struct pb_thread *
pb_thread_current(void)
{
    VALUE thread = rb_thread_current();
    struct pb_thread *state = thread_get(thread);

    if (!state) {
        state = pb_threads_take();
        if (state) thread_set(thread, state);
    }
    return state;
}

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
struct pb_thread *
pb_thread_of(VALUE thread)
{
    return available ? thread_get(thread) : NULL;
}
#else
struct pb_thread *
pb_thread_of(VALUE thread)
{
    return pb_threads_find(thread);
}
#endif
