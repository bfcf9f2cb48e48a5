/* GC_ENTER and GC_EXIT bracket each stretch in which the collector has the process to itself: a marking, a step of
 * an incremental one, a step of sweeping. The hooks run inside the collector, on the thread that needed the memory. */
#include "gc.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <stdbool.h>
#include "clock.h"
#include "collections.h"
#include "events.h"
#include "flight.h"
#include "gvl.h"
#include "rescued.h"

/* What the thread's CPU clock costs to read twice: of a shorter pause the length is taken for its CPU time. */
#define SHORT_NS 2000

/* The pauses' length P at any instant, in one word that other threads may read meanwhile: between pauses P itself,
 * during one (UNDER_WAY set) what is to be taken from the clock to have P. */
#define UNDER_WAY (UINT64_C(1) << 63)
static uint64_t paused;
static uint64_t runs;
static uint64_t major_ns;

static uint64_t since_ns;
static uint64_t cpu_before_ns;
static uint8_t phase_before;

uint64_t
pb_gc_paused_ns(uint64_t now_ns)
{
    const uint64_t word = __atomic_load_n(&paused, __ATOMIC_ACQUIRE);
    const uint64_t offset_ns = word & ~UNDER_WAY;

    if (!(word & UNDER_WAY)) return word;
    return now_ns > offset_ns ? now_ns - offset_ns : 0;
}

uint64_t
pb_gc_runs(void)
{
    return __atomic_load_n(&runs, __ATOMIC_ACQUIRE);
}

uint64_t
pb_gc_major_ns(uint64_t now_ns)
{
    const bool under_way = __atomic_load_n(&paused, __ATOMIC_ACQUIRE) & UNDER_WAY;
    const uint64_t began_ns = __atomic_load_n(&since_ns, __ATOMIC_RELAXED);
    const uint64_t elapsed_ns = under_way && now_ns > began_ns ? now_ns - began_ns : 0;

    return __atomic_load_n(&major_ns, __ATOMIC_ACQUIRE) + elapsed_ns;
}

static bool has_state;
static VALUE state_key, sym_marking, sym_sweeping;

enum phase { IDLE, MARKING, SWEEPING, UNKNOWN }; /* as events-v1.md numbers them */

/* Only reads memory, because its symbols were interned at load. */
static uint8_t
phase(void)
{
    VALUE state;

    if (!has_state) return UNKNOWN;
    state = rb_gc_latest_gc_info(state_key);
    if (state == sym_marking) return MARKING;
    return state == sym_sweeping ? SWEEPING : IDLE;
}

static void
enter(void)
{
    cpu_before_ns = pb_thread_cpu_ns();
    phase_before = phase();
    pb_collection_enter(phase_before == IDLE || phase_before == UNKNOWN);
    __atomic_store_n(&since_ns, pb_mono_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&paused, (since_ns - pb_gc_paused_ns(since_ns)) | UNDER_WAY, __ATOMIC_RELEASE);
    if (pb_events_wanted()) pb_event_write(pb_thread_known(), since_ns, PB_EVENT_GC_ENTER, phase_before, 0, 0);
}

static void
leave(void)
{
    const uint64_t now_ns = pb_mono_ns();
    const uint64_t pause_ns = now_ns - since_ns;
    uint64_t cpu_ns = pause_ns;
    struct pb_thread *thread = pb_thread_known();
    struct pb_pause pause;
    bool major;

    pb_event(thread, now_ns, PB_EVENT_GC_EXIT, 0);
    if (pause_ns >= SHORT_NS) {
        cpu_ns = pb_thread_cpu_ns() - cpu_before_ns;
        if (cpu_ns > pause_ns) cpu_ns = pause_ns;
    }
    pb_flight.header->gc_runs++;
    pb_flight.header->gc_pause_ns += pause_ns;
    pb_flight.header->gc_cpu_ns += cpu_ns;
    pause = (struct pb_pause){ since_ns, now_ns, cpu_ns, .swept = phase_before == SWEEPING, .over = phase() == IDLE };
    major = pb_collection_leave(&pause, thread);
    if (major) __atomic_store_n(&major_ns, major_ns + pause_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&paused, pb_gc_paused_ns(now_ns), __ATOMIC_RELEASE);
    __atomic_store_n(&runs, runs + 1, __ATOMIC_RELEASE);
    if (!thread || !thread->watch.running) return;
    thread->watch.sums.gc_own_ns += pause_ns;
    thread->watch.sums.gc_cpu_ns += cpu_ns;
    thread->watch.sums.gc_count++;
    if (major) thread->watch.sums.gc_major_ns += pause_ns;
}

static void
on_gc(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE klass)
{
    if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
        if (pb_flight.header) enter();
    }
    else if (paused & UNDER_WAY) {
        leave();
    }
}

/* No hook for objects made or freed: those cost each object. */
void
pb_gc_init(void)
{
    state_key = ID2SYM(rb_intern("state"));
    sym_marking = ID2SYM(rb_intern("marking"));
    sym_sweeping = ID2SYM(rb_intern("sweeping"));
    has_state = pb_rescued(rb_gc_latest_gc_info, state_key);
    pb_collections_init();
    rb_add_event_hook(on_gc, RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT, Qnil);
}
