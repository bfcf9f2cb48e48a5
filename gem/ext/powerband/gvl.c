/* In a callback: no Ruby allocation, no exception, no I/O. READY and RESUMED run under the scheduler's lock, and
 * READY may run on another thread than the one it is about; a thread has at most one event at a time. */
#include "gvl.h"

#include <ruby.h>
#include <ruby/thread.h>
#include <stdlib.h>
#include "clock.h"

static bool available;
static bool enabled;
static VALUE total_allocated_objects;

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
    int failed = 0;

    rb_protect(create_key, Qnil, &failed);
    if (failed) rb_set_errinfo(Qnil);
    return !failed && key >= 0 && key < RB_INTERNAL_THREAD_SPECIFIC_KEY_MAX;
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

#define EVENT_THREAD(data) ((data)->thread)
#define EVENT_HAS_THREAD true
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

static void
thread_set(VALUE unused, struct pb_thread *state)
{
    own = state;
}

#define EVENT_THREAD(data) Qnil
#define EVENT_HAS_THREAD ruby_native_thread_p()
#endif

/* Only reads memory, because the symbol was interned at load. Process-wide, and yet exact for one thread: only
 * the thread that holds the GVL allocates. */
static uint64_t
allocated(void)
{
    return rb_gc_stat(total_allocated_objects);
}

static void
lose(struct pb_watch *watch, uint64_t now_ns)
{
    if (watch->gvl != PB_HELD) return;
    watch->held_ns += now_ns - watch->since_ns;
    watch->allocations += allocated() - watch->allocated_before;
    watch->yields++;
    watch->since_ns = now_ns;
    watch->gvl = PB_GIVEN_UP;
}

static void
want(struct pb_watch *watch, uint64_t now_ns)
{
    if (watch->gvl != PB_GIVEN_UP) return;
    watch->since_ns = now_ns;
    watch->gvl = PB_READY;
}

static void
gain(struct pb_watch *watch, uint64_t now_ns)
{
    if (watch->gvl == PB_HELD) return;
    if (watch->gvl == PB_READY) watch->gvl_wait_ns += now_ns - watch->since_ns;
    watch->allocated_before = allocated();
    watch->since_ns = now_ns;
    watch->gvl = PB_HELD;
}

static void
on_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    struct pb_thread *thread;

    if (!EVENT_HAS_THREAD) return;
    if (event == (RUBY_INTERNAL_THREAD_EVENT_EXITED)) {
        thread = thread_get(EVENT_THREAD(data));
        if (thread) {
            thread_set(EVENT_THREAD(data), NULL);
            free(thread);
        }
        return;
    }
    if (!__atomic_load_n(&enabled, __ATOMIC_RELAXED)) return;
    thread = thread_get(EVENT_THREAD(data));
    if (!thread || !thread->watch.running) return;

    switch (event) {
      case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED: lose(&thread->watch, pb_mono_ns()); break;
      case RUBY_INTERNAL_THREAD_EVENT_READY: want(&thread->watch, pb_mono_ns()); break;
      case RUBY_INTERNAL_THREAD_EVENT_RESUMED: gain(&thread->watch, pb_mono_ns()); break;
      default: break;
    }
}

void
pb_gvl_init(void)
{
    total_allocated_objects = ID2SYM(rb_intern("total_allocated_objects"));
    allocated();
    available = prepare();
    if (!available) return;
    rb_internal_thread_add_event_hook(
        on_event,
        (RUBY_INTERNAL_THREAD_EVENT_READY) | (RUBY_INTERNAL_THREAD_EVENT_RESUMED) |
            (RUBY_INTERNAL_THREAD_EVENT_SUSPENDED) | (RUBY_INTERNAL_THREAD_EVENT_EXITED),
        NULL);
}

bool
pb_gvl_available(void)
{
    return available;
}

void
pb_gvl_enable(bool on)
{
    __atomic_store_n(&enabled, on && available, __ATOMIC_RELAXED);
}

struct pb_thread *
pb_thread_current(void)
{
    VALUE thread = rb_thread_current();
    struct pb_thread *state = thread_get(thread);

    if (!state) {
        state = calloc(1, sizeof *state);
        if (state) thread_set(thread, state);
    }
    return state;
}

void
pb_watch_start(struct pb_watch *watch, uint64_t now_ns)
{
    watch->gvl = PB_HELD;
    watch->since_ns = now_ns;
    watch->held_ns = watch->gvl_wait_ns = watch->allocations = 0;
    watch->yields = 0;
    watch->allocated_before = allocated();
    watch->running = available;
}

void
pb_watch_stop(struct pb_watch *watch, uint64_t now_ns)
{
    if (!watch->running) return;
    watch->running = false;
    if (watch->gvl != PB_HELD) return;
    watch->held_ns += now_ns - watch->since_ns;
    watch->allocations += allocated() - watch->allocated_before;
}
