/* pb_watch_want may run on another thread than the watch's; the scheduler's lock orders it between that thread's
 * pb_watch_lose and pb_watch_gain. On Ruby 3.2 pb_watch_lose may, too; gvl.c orders the two (book_preemption). */
#include "watch.h"

#include <ruby.h>
#include <string.h>
#include "clock.h"
#include "gc.h"

static VALUE total_allocated_objects;

/* Only reads memory, because the symbol was interned at load. Process-wide, and yet exact for one thread: only
 * the thread that holds the GVL allocates. */
static uint64_t
allocated(void)
{
    return rb_gc_stat(total_allocated_objects);
}

void
pb_watch_init(void)
{
    total_allocated_objects = ID2SYM(rb_intern("total_allocated_objects"));
    allocated();
}

void
pb_watch_start(struct pb_watch *watch, uint64_t now_ns)
{
    memset(watch, 0, sizeof *watch);
    watch->gvl = PB_HELD;
    watch->since_ns = now_ns;
    watch->running = true;
}

static void
book_held(struct pb_watch *watch, uint64_t now_ns)
{
    watch->sums.held_ns += now_ns - watch->since_ns;
    watch->since_ns = now_ns;
    if (watch->counting) {
        const uint64_t now_allocated = allocated();

        watch->sums.allocations += now_allocated - watch->allocated_before;
        watch->allocated_before = now_allocated;
    }
}

/* The thread itself is here, so it holds the GVL, even where the last event said that it gave it up: Ruby announces
 * that before it looks whether there is anything to wait for. */
void
pb_watch_read(struct pb_watch *watch, uint64_t now_ns)
{
    if (!watch->running || watch->gvl == PB_READY) return;
    book_held(watch, now_ns);
    watch->gvl = PB_HELD;
}

void
pb_watch_count(struct pb_watch *watch, bool on)
{
    watch->counting = on && watch->running;
    if (watch->counting) watch->allocated_before = allocated();
}

uint64_t
pb_watch_held_since_ns(const struct pb_watch *watch)
{
    return watch->running && watch->gvl == PB_HELD ? watch->since_ns : pb_mono_ns();
}

void
pb_watch_lose(struct pb_watch *watch, uint64_t now_ns, bool at_lock)
{
    if (watch->gvl == PB_READY) return;
    book_held(watch, now_ns);
    watch->sums.yields++;
    watch->at_lock = at_lock;
    watch->gvl = PB_GIVEN_UP;
}

/* Of half the size, so that the watch fits into its cache lines; it wraps, like differences of it. */
static uint32_t
major_us(uint64_t now_ns)
{
    return (uint32_t)(pb_gc_major_ns(now_ns) / 1000);
}

void
pb_watch_want(struct pb_watch *watch, uint64_t now_ns)
{
    if (watch->gvl != PB_GIVEN_UP) return;
    if (watch->at_lock) watch->sums.lock_wait_ns += now_ns - watch->since_ns;
    watch->gc_before_ns = pb_gc_paused_ns(now_ns);
    watch->gc_runs_before = (uint32_t)pb_gc_runs();
    watch->gc_major_before_us = major_us(now_ns);
    watch->since_ns = now_ns;
    watch->gvl = PB_READY;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The thread that runs the collector holds the GVL, so that this thread was stopped by it only while it waited for
 * the GVL. */
static void
book_wait(struct pb_watch *watch, uint64_t now_ns)
{
    const uint64_t wait_ns = now_ns - watch->since_ns;
    const uint64_t paused_ns = pb_gc_paused_ns(now_ns);
    uint64_t stopped_ns;
    int32_t major;

    watch->sums.gvl_wait_ns += wait_ns;
    if (paused_ns <= watch->gc_before_ns) return;
    stopped_ns = least(paused_ns - watch->gc_before_ns, wait_ns);
    /* Below 0 where the pause that was under way when this thread became ready was a minor one. */
    major = (int32_t)(major_us(now_ns) - watch->gc_major_before_us);
    watch->sums.gc_wait_ns += stopped_ns;
    if (major > 0) watch->sums.gc_major_ns += least((uint64_t)major * 1000, stopped_ns);
    watch->sums.gc_count += (uint32_t)pb_gc_runs() - watch->gc_runs_before;
}

void
pb_watch_gain(struct pb_watch *watch, uint64_t now_ns)
{
    if (watch->gvl == PB_HELD) return;
    if (watch->gvl == PB_READY) book_wait(watch, now_ns);
    else if (watch->at_lock) watch->sums.lock_wait_ns += now_ns - watch->since_ns;
    if (watch->counting) watch->allocated_before = allocated();
    watch->since_ns = now_ns;
    watch->gvl = PB_HELD;
}
