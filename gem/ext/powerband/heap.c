#include "heap.h"

#include <stdbool.h>
#include "clock.h"
#include "flight.h"
#include "rescued.h"

static ID id_stat_heap;
static VALUE sym_pages, sym_live, sym_free, sym_old;
static VALUE sym_slot_size, sym_slots, sym_made, sym_freed;
static uint32_t page_bytes;
static uint32_t pool_count;
static bool counts_live;
/* Counts on in later files of this process: a reader only compares it with itself. */
static uint64_t written;

static uint64_t
of_pool(uint32_t pool, VALUE key)
{
    return NUM2ULL(rb_funcall(rb_mGC, id_stat_heap, 2, UINT2NUM(pool), key));
}

static VALUE
learn(VALUE unused)
{
    VALUE constants = rb_const_get(rb_mGC, rb_intern("INTERNAL_CONSTANTS"));
    VALUE all = rb_funcall(rb_mGC, id_stat_heap, 0);
    VALUE first = rb_hash_aref(all, INT2FIX(0));
    uint32_t pools = (uint32_t)RHASH_SIZE(all);

    page_bytes = NUM2UINT(rb_hash_fetch(constants, ID2SYM(rb_intern("HEAP_PAGE_SIZE"))));
    rb_hash_fetch(first, sym_slot_size);
    rb_hash_fetch(first, sym_slots);
    counts_live = !NIL_P(rb_hash_aref(first, sym_made)) && !NIL_P(rb_hash_aref(first, sym_freed));
    rb_gc_stat(sym_pages);
    rb_gc_stat(sym_live);
    rb_gc_stat(sym_free);
    rb_gc_stat(sym_old);
    pool_count = pools < PB_HEAP_POOLS ? pools : PB_HEAP_POOLS;
    return Qnil;
}

void
pb_heap_init(void)
{
    id_stat_heap = rb_intern("stat_heap");
    sym_pages = ID2SYM(rb_intern("heap_allocated_pages"));
    sym_live = ID2SYM(rb_intern("heap_live_slots"));
    sym_free = ID2SYM(rb_intern("heap_free_slots"));
    sym_old = ID2SYM(rb_intern("old_objects"));
    sym_slot_size = ID2SYM(rb_intern("slot_size"));
    sym_slots = ID2SYM(rb_intern("heap_eden_slots"));
    sym_made = ID2SYM(rb_intern("total_allocated_objects"));
    sym_freed = ID2SYM(rb_intern("total_freed_objects"));
    /* Another collector, such as MMTk, counts other things: then nothing is recorded. */
    if (!pb_rescued(learn, Qnil)) pool_count = 0;
}

VALUE
pb_heap_sample(VALUE self)
{
    struct pb_heap heap = { .pool_count = pool_count, .page_bytes = page_bytes };
    struct pb_heap *to = pb_flight.heap;

    if (!to || !pool_count) return Qnil;
    heap.mono_ns = pb_mono_ns();
    heap.pages = rb_gc_stat(sym_pages);
    heap.live_slots = rb_gc_stat(sym_live);
    heap.free_slots = rb_gc_stat(sym_free);
    heap.old_objects = rb_gc_stat(sym_old);
    for (uint32_t i = 0; i < pool_count; i++) {
        heap.pools[i].slot_bytes = (uint32_t)of_pool(i, sym_slot_size);
        heap.pools[i].slots = of_pool(i, sym_slots);
        heap.pools[i].live_slots = counts_live ? of_pool(i, sym_made) - of_pool(i, sym_freed) : UINT64_MAX;
    }
    /* A method call may let another thread run, which may have begun another file. */
    if (to != pb_flight.heap) return Qnil;
    pb_flight_rewrite(to, &heap, sizeof heap, ++written);
    return Qnil;
}
