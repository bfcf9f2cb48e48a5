#include "collections.h"

#include <ruby.h>
#include "flight.h"
#include "rescued.h"

#define LENGTH(array) (sizeof array / sizeof array[0])

/* What rb_gc_stat is asked for; of what this Ruby does not count, UINT64_MAX is recorded. */
enum count { LIVE, OLD, PAGES, FREED, MALLOC, OLDMALLOC, COUNTS };
static const char *const count_names[COUNTS] = {
    [LIVE] = "heap_live_slots",
    [OLD] = "old_objects",
    [PAGES] = "heap_allocated_pages",
    [FREED] = "total_freed_objects",
    [MALLOC] = "malloc_increase_bytes",
    [OLDMALLOC] = "oldmalloc_increase_bytes",
};
static VALUE count_keys[COUNTS];
static bool has_count[COUNTS];

/* In the order of the numbers in contract/flight-v1.md, from 1. */
static const char *const major_names[] = { "nofree", "oldgen", "shady", "oldmalloc", "force" };
static const char *const cause_names[] = { "newobj", "malloc", "method", "capi", "stress" };
static VALUE major_causes[LENGTH(major_names)], causes[LENGTH(cause_names)];
static VALUE major_key, cause_key, immediate_key;
static bool has_info;

/* The collection that the latest pause was of, as far as this process's present file has it. */
static struct pb_collection latest;
static unsigned latest_generation;

/* Before a collection that may begin with the present pause. */
static uint64_t before[COUNTS];
static size_t number_before;
static bool idle_before;

static uint64_t freed_before_latest;

/* Only reads memory, because its symbols were interned at load. */
static uint64_t
count_of(enum count which)
{
    return has_count[which] ? rb_gc_stat(count_keys[which]) : UINT64_MAX;
}

static uint32_t
pages_of(uint64_t pages)
{
    return pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages;
}

static VALUE
ask_count(VALUE key)
{
    rb_gc_stat(key);
    return Qnil;
}

static VALUE
ask_info(VALUE unused)
{
    rb_gc_latest_gc_info(major_key);
    rb_gc_latest_gc_info(cause_key);
    rb_gc_latest_gc_info(immediate_key);
    return Qnil;
}

static VALUE
symbol(const char *name)
{
    return ID2SYM(rb_intern(name));
}

void
pb_collections_init(void)
{
    major_key = symbol("major_by");
    cause_key = symbol("gc_by");
    immediate_key = symbol("immediate_sweep");
    for (size_t i = 0; i < LENGTH(major_causes); i++) major_causes[i] = symbol(major_names[i]);
    for (size_t i = 0; i < LENGTH(causes); i++) causes[i] = symbol(cause_names[i]);
    /* Another collector, such as MMTk, has no such kinds and causes. */
    has_info = pb_rescued(ask_info, Qnil);
    for (int i = 0; i < COUNTS; i++) {
        count_keys[i] = symbol(count_names[i]);
        has_count[i] = pb_rescued(ask_count, count_keys[i]);
    }
}

void
pb_collection_enter(bool idle)
{
    number_before = rb_gc_count();
    idle_before = idle;
    if (!idle) return;
    for (int i = 0; i < COUNTS; i++) before[i] = count_of(i);
}

static uint8_t
place(VALUE value, const VALUE *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (value == names[i]) return (uint8_t)(i + 1);
    }
    return 0;
}

static void
begin(size_t number, uint64_t start_ns, const struct pb_thread *thread)
{
    const bool began = number != number_before;

    latest = (struct pb_collection){
        .start_mono_ns = start_ns,
        .number = (uint32_t)number,
        .thread_id = thread ? thread->thread_id : 0,
        .flags = (began ? PB_COLLECTION_BEGAN : 0) | (thread && thread->serving ? PB_COLLECTION_IN_REQUEST : 0),
        .live_before = began ? before[LIVE] : UINT64_MAX,
        .old_before = began ? before[OLD] : UINT64_MAX,
        .freed = UINT64_MAX,
        .pages_before = pages_of(began ? before[PAGES] : UINT64_MAX),
        .malloc_increase = began ? before[MALLOC] : UINT64_MAX,
        .oldmalloc_increase = began ? before[OLDMALLOC] : UINT64_MAX,
    };
    latest_generation = pb_generation;
    freed_before_latest = before[FREED];
    if (has_info) {
        const VALUE major = rb_gc_latest_gc_info(major_key);

        latest.kind = NIL_P(major) ? PB_COLLECTION_MINOR : PB_COLLECTION_MAJOR;
        latest.major_by = place(major, major_causes, LENGTH(major_causes));
        latest.cause = place(rb_gc_latest_gc_info(cause_key), causes, LENGTH(causes));
        if (RTEST(rb_gc_latest_gc_info(immediate_key))) latest.flags |= PB_COLLECTION_SWEPT_AT_ONCE;
    }
}

bool
pb_collection_leave(const struct pb_pause *pause, const struct pb_thread *thread)
{
    const size_t number = rb_gc_count();
    const uint64_t pause_ns = pause->end_ns - pause->start_ns;
    const bool first = latest_generation != pb_generation || latest.number != (uint32_t)number;

    /* Ruby looks whether there is something to go on with, and there was not. */
    if (idle_before && number == number_before) return false;
    if (first) begin(number, pause->start_ns, thread);
    latest.end_mono_ns = pause->end_ns;
    latest.pause_ns += pause_ns;
    latest.cpu_ns += pause->cpu_ns;
    latest.pauses++;
    if (pause->swept) latest.sweeping_ns += pause_ns;
    if (pause_ns > latest.longest_ns) latest.longest_ns = pause_ns;
    if (pause->over) latest.flags |= PB_COLLECTION_OVER;
    latest.live_after = count_of(LIVE);
    latest.old_after = count_of(OLD);
    latest.pages_after = pages_of(count_of(PAGES));
    if ((latest.flags & PB_COLLECTION_BEGAN) && has_count[FREED]) latest.freed = count_of(FREED) - freed_before_latest;
    pb_flight_write_collection(&latest, first);
    return latest.kind == PB_COLLECTION_MAJOR;
}
