/* What bench/agent needs in C: a GVL cycle to time, and the usual way of recording the GVL to compare with. */
#include <ruby.h>
#include <ruby/thread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *
nothing(void *unused)
{
    return unused;
}

/* Gives the GVL up and takes it back, `count` times: SUSPENDED, READY, RESUMED. The nanoseconds of all. */
static VALUE
cycles(VALUE self, VALUE count)
{
    const long n = NUM2LONG(count);
    const uint64_t began = clock_ns(CLOCK_MONOTONIC);

    for (long i = 0; i < n; i++) rb_thread_call_without_gvl(nothing, NULL, NULL, NULL);
    return ULL2NUM(clock_ns(CLOCK_MONOTONIC) - began);
}

static VALUE
thread_cpu_ns(VALUE self)
{
    return ULL2NUM(clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* The usual way: a timer is a hook of its own, added as a request begins and removed as it ends; every thread's
 * events call every live timer, which looks whether they are its own thread's. */
struct timer {
    VALUE thread;
    rb_internal_thread_event_hook_t *hook;
    uint64_t since_ns;
    uint64_t cpu_ns;
    uint64_t waiting_ns;
    uint64_t idle_ns;
    uint64_t running_ns;
    int state;
};

static void
on_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *given)
{
    struct timer *timer = given;
    uint64_t now;

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
    if (data->thread != timer->thread) return;
#else
    if (rb_thread_current() != timer->thread) return;
#endif
    now = clock_ns(CLOCK_MONOTONIC);
    switch (event) {
      case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED: timer->running_ns += now - timer->since_ns; break;
      case RUBY_INTERNAL_THREAD_EVENT_READY: timer->idle_ns += now - timer->since_ns; break;
      case RUBY_INTERNAL_THREAD_EVENT_RESUMED: timer->waiting_ns += now - timer->since_ns; break;
      default: return;
    }
    timer->since_ns = now;
}

static VALUE
usual_start(VALUE self)
{
    struct timer *timer = calloc(1, sizeof *timer);

    if (!timer) rb_memerror();
    timer->thread = rb_thread_current();
    timer->since_ns = clock_ns(CLOCK_MONOTONIC);
    timer->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    timer->hook = rb_internal_thread_add_event_hook(on_event, RUBY_INTERNAL_THREAD_EVENT_MASK, timer);
    return ULL2NUM((uintptr_t)timer);
}

/* Running, waiting and idle time and thread CPU in nanoseconds. */
static VALUE
usual_stop(VALUE self, VALUE handle)
{
    struct timer *timer = (struct timer *)(uintptr_t)NUM2ULL(handle);
    VALUE figures;

    rb_internal_thread_remove_event_hook(timer->hook);
    timer->running_ns += clock_ns(CLOCK_MONOTONIC) - timer->since_ns;
    figures = rb_ary_new_from_args(4, ULL2NUM(timer->running_ns), ULL2NUM(timer->waiting_ns), ULL2NUM(timer->idle_ns),
                                   ULL2NUM(clock_ns(CLOCK_THREAD_CPUTIME_ID) - timer->cpu_ns));
    free(timer);
    return figures;
}

RUBY_FUNC_EXPORTED void
Init_agent_bench(void)
{
    VALUE module = rb_define_module("AgentBench");

    rb_define_singleton_method(module, "cycles", cycles, 1);
    rb_define_singleton_method(module, "thread_cpu_ns", thread_cpu_ns, 0);
    rb_define_singleton_method(module, "usual_start", usual_start, 0);
    rb_define_singleton_method(module, "usual_stop", usual_stop, 1);
}
