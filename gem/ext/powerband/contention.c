#include "contention.h"

#include <ruby.h>
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <string.h>
#include "flight.h"
#include "lock_site.h"
#include "locks.h"

#define SLOTS 16
#define SOMEBODY UINT32_MAX /* took the mutex before it was followed */

/* A mutex that is followed. Marked, so that no other object takes its place. */
struct slot {
    VALUE mutex;
    uint32_t owner; /* the thread that holds it, as far as that was seen; 0 none */
    uint8_t row;
    uint64_t held_since_ns;
    uint64_t released_ns; /* a thread that waited was woken since; 0 no */
    uint64_t awaited_ns; /* last */
};

unsigned pb_contention_count;
static struct slot slots[SLOTS];
static unsigned generation;

/* Set in the main Ractor alone. */
static rb_ractor_local_key_t in_main;

/* By row of the flight file: what its site and kind come to. */
static uint64_t digests[PB_LOCKS];

static void
mark(void *unused)
{
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].mutex) rb_gc_mark(slots[i].mutex);
    }
}

static const rb_data_type_t marker = { .wrap_struct_name = "powerband_followed_locks", .function = { .dmark = mark } };

void
pb_contention_init(void)
{
    rb_gc_register_mark_object(rb_data_typed_object_wrap(rb_cObject, slots, &marker));
    in_main = rb_ractor_local_storage_ptr_newkey(NULL);
    rb_ractor_local_storage_ptr_set(in_main, slots);
}

/* What was of another file. */
static void
renew(void)
{
    memset(slots, 0, sizeof slots);
    memset(digests, 0, sizeof digests);
    __atomic_store_n(&pb_contention_count, 0, __ATOMIC_RELAXED);
    generation = pb_generation;
}

static bool
current(void)
{
    return pb_flight.header && generation == pb_generation;
}

/* Of the lock's file: a wait may end when another file is open. */
static bool
is_current(const struct pb_lock_wait *wait)
{
    return wait->generation == generation && current();
}

/* Threads of other Ractors run at the same time, each Ractor under a GVL of its own, and lock none of these mutexes. A thread that is
 * not Ruby's yet, or no longer, holds none either. */
static bool
in_main_ractor(void)
{
    return ruby_native_thread_p() && rb_ractor_local_storage_ptr(in_main);
}

static bool
is_locked(const struct slot *slot)
{
    return RTEST(rb_mutex_locked_p(slot->mutex));
}

static void
longest(uint64_t *most, uint64_t ns)
{
    if (ns > *most) *most = ns;
}

static void
end_hold(struct slot *slot, uint64_t end_ns)
{
    struct pb_lock *lock = &pb_flight.locks[slot->row];
    const uint64_t held_ns = end_ns > slot->held_since_ns ? end_ns - slot->held_since_ns : 0;

    if (slot->owner != SOMEBODY) {
        lock->holds++;
        lock->held_ns += held_ns;
        longest(&lock->longest_held_ns, held_ns);
    }
    slot->owner = 0;
    slot->released_ns = 0;
}

/* Between what was seen, the thread that waited for the mutex took it as it got the GVL, and one that did not wait took it at the
 * latest now. It was released when a waiting thread was woken, else at the earliest when the owner got the GVL again. */
static void
look(struct slot *slot, const struct pb_thread *thread, uint64_t now_ns)
{
    const struct pb_lock_wait *wait = &thread->lock_wait;
    const bool locked = is_locked(slot);

    if (slot->owner && (!locked || slot->released_ns)) {
        end_hold(slot, slot->released_ns ? slot->released_ns : slot->owner == thread->number ? thread->running_since_ns : now_ns);
    }
    if (!locked || slot->owner) return;
    slot->owner = thread->number;
    slot->held_since_ns = is_current(wait) && wait->slot == slot - slots + 1 ? thread->running_since_ns : now_ns;
}

uint64_t
pb_contention_look(struct pb_thread *thread, uint64_t now_ns)
{
    uint64_t rows = 0;

    if (!pb_contention_followed() || !current() || !in_main_ractor()) return 0;
    for (int i = 0; i < SLOTS; i++) {
        if (!slots[i].mutex) continue;
        look(&slots[i], thread, now_ns);
        if (slots[i].owner == thread->number) rows |= UINT64_C(1) << slots[i].row;
    }
    thread->lock_wait.slot = 0;
    return rows & ~UINT64_C(1);
}

/* The row of this site and kind, perhaps a new one; 0, "(other)", where none is left. */
static uint8_t
row_of(enum pb_lock_kind kind, uint64_t now_ns)
{
    struct pb_lock_site site;
    uint64_t digest;
    uint8_t row;

    pb_lock_site_find(&site, pb_flight.header->app_root);
    digest = pb_lock_site_digest(&site, kind);
    for (row = 1; row < PB_LOCKS && digests[row]; row++) {
        if (digests[row] == digest) return row;
    }
    if (row == PB_LOCKS) return 0;
    digests[row] = digest;
    pb_lock_site_write(&site, pb_flight.header->app_root, pb_flight.locks[row].site);
    pb_flight.locks[row].kind = (uint8_t)kind;
    pb_flight.locks[row].first_mono_ns = now_ns;
    __atomic_store_n(&pb_flight.locks[row].named, 1, __ATOMIC_RELEASE);
    return row;
}

/* The slot of a mutex, perhaps in place of the one that was awaited longest ago. */
static struct slot *
follow(VALUE mutex, enum pb_lock_kind kind, uint64_t now_ns)
{
    struct slot *oldest = slots;

    for (struct slot *slot = slots; slot < slots + SLOTS; slot++) {
        if (slot->mutex == mutex) return slot;
        if (slot->awaited_ns < oldest->awaited_ns) oldest = slot;
    }
    if (!oldest->mutex) __atomic_add_fetch(&pb_contention_count, 1, __ATOMIC_RELAXED);
    *oldest = (struct slot){ .mutex = mutex, .owner = SOMEBODY, .row = row_of(kind, now_ns) };
    pb_flight.locks[oldest->row].objects++;
    return oldest;
}

uint8_t
pb_contention_wait(struct pb_thread *thread, enum pb_lock_kind kind, uint64_t now_ns)
{
    struct pb_lock_wait *wait = &thread->lock_wait;
    VALUE mutex;

    if (!pb_flight.header || !thread->watch.running || thread->generation != pb_generation) return 0;
    if (generation != pb_generation) renew();
    mutex = pb_locks_mutex(rb_current_receiver(), kind);
    *wait = (struct pb_lock_wait){ .open = true, .generation = generation, .before_ns = thread->watch.sums.lock_wait_ns };
    if (!RTEST(mutex)) {
        const bool signal = NIL_P(mutex) && (kind == PB_LOCK_MUTEX || kind == PB_LOCK_MONITOR);

        wait->row = row_of(signal ? PB_LOCK_CONDITION : kind, now_ns);
    }
    else {
        struct slot *slot = follow(mutex, kind, now_ns);

        slot->awaited_ns = now_ns;
        wait->slot = (uint8_t)(slot - slots + 1);
        wait->row = slot->row;
    }
    return wait->row;
}

/* Not while a time limit or another thread's Thread#wakeup ends the wait: the mutex is still locked then. */
void
pb_contention_woken(const struct pb_thread *thread, uint64_t now_ns)
{
    struct slot *slot;

    if (!thread->lock_wait.open || !thread->lock_wait.slot || !is_current(&thread->lock_wait)) return;
    slot = &slots[thread->lock_wait.slot - 1];
    if (slot->mutex && slot->owner && !slot->released_ns && !is_locked(slot)) slot->released_ns = now_ns;
}

void
pb_contention_waited(struct pb_thread *thread, uint64_t now_ns)
{
    struct pb_lock_wait *wait = &thread->lock_wait;
    struct pb_lock *lock;
    uint64_t waited_ns;

    thread->running_since_ns = now_ns;
    if (!wait->open) return;
    wait->open = false;
    if (!is_current(wait)) return;
    lock = &pb_flight.locks[wait->row];
    waited_ns = thread->watch.sums.lock_wait_ns - wait->before_ns;
    lock->waits++;
    lock->wait_ns += waited_ns;
    longest(&lock->longest_wait_ns, waited_ns);
}
