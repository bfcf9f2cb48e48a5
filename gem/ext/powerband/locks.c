/* What waits for a lock is a method of the lock: the receiver of the running frame is a Mutex, a Queue, a SizedQueue, a
 * ConditionVariable or a Monitor. (ConditionVariable#wait sleeps in the mutex; Monitor calls the mutex's C functions;
 * the block that synchronize runs has another receiver.) These classes are data of a type each, which subclasses
 * share: the comparison of one pointer. Locks that C code takes inside its own calls are not seen. */
#include "locks.h"

#define MONITOR_WORDS 8

static const char *const classes[PB_LOCK_KINDS] = {
    [PB_LOCK_MUTEX] = "Thread::Mutex",
    [PB_LOCK_QUEUE] = "Thread::Queue",
    [PB_LOCK_SIZED_QUEUE] = "Thread::SizedQueue",
    [PB_LOCK_CONDITION] = "Thread::ConditionVariable",
    [PB_LOCK_MONITOR] = "Monitor",
};

static const rb_data_type_t *types[PB_LOCK_KINDS];

/* Which word of a Monitor is its mutex; -1: not known. */
static int monitor_mutex = -1;

static bool
is_a(VALUE object, const rb_data_type_t *type)
{
    return type && RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object) && RTYPEDDATA_TYPE(object) == type;
}

static VALUE
instance(VALUE name)
{
    return rb_obj_alloc(rb_path2class((const char *)name));
}

/* A new Monitor has a count of 0 and no owner, so that its only reference to an object is its mutex. */
static void
learn_monitor(VALUE monitor, const rb_data_type_t *type)
{
    const VALUE *words = rb_check_typeddata(monitor, type);
    const size_t size = words && type->function.dsize ? type->function.dsize(words) : 0;

    for (size_t i = 0; i < size / sizeof *words && i < MONITOR_WORDS; i++) {
        if (!RB_SPECIAL_CONST_P(words[i]) && is_a(words[i], types[PB_LOCK_MUTEX])) monitor_mutex = (int)i;
    }
}

/* Monitor is a library, which may not be there yet. */
void
pb_locks_learn(void)
{
    for (int kind = PB_LOCK_NONE + 1; kind < PB_LOCK_KINDS; kind++) {
        VALUE lock;
        int failed = 0;

        if (types[kind]) continue;
        lock = rb_protect(instance, (VALUE)classes[kind], &failed);
        if (failed) rb_set_errinfo(Qnil);
        else if (RB_TYPE_P(lock, T_DATA) && RTYPEDDATA_P(lock)) {
            types[kind] = RTYPEDDATA_TYPE(lock);
            if (kind == PB_LOCK_MONITOR) learn_monitor(lock, types[kind]);
        }
        RB_GC_GUARD(lock);
    }
}

enum pb_lock_kind
pb_locks_awaited(void)
{
    VALUE receiver = rb_current_receiver();
    const rb_data_type_t *type;

    if (!RB_TYPE_P(receiver, T_DATA) || !RTYPEDDATA_P(receiver)) return PB_LOCK_NONE;
    type = RTYPEDDATA_TYPE(receiver);
    for (int kind = PB_LOCK_NONE + 1; kind < PB_LOCK_KINDS; kind++) {
        if (types[kind] == type) return (enum pb_lock_kind)kind;
    }
    return PB_LOCK_NONE;
}

/* While a thread waits for a mutex, the mutex is locked. A thread that sleeps in one (Mutex#sleep, ConditionVariable#wait) has
 * released it before, and no other thread has had the GVL since. */
VALUE
pb_locks_mutex(VALUE receiver, enum pb_lock_kind kind)
{
    VALUE mutex = receiver;

    if (kind == PB_LOCK_MONITOR) {
        if (monitor_mutex < 0) return Qfalse;
        mutex = ((const VALUE *)rb_check_typeddata(receiver, types[kind]))[monitor_mutex];
        if (RB_SPECIAL_CONST_P(mutex) || !is_a(mutex, types[PB_LOCK_MUTEX])) return Qfalse;
    }
    else if (kind != PB_LOCK_MUTEX) {
        return Qnil;
    }
    return RTEST(rb_mutex_locked_p(mutex)) ? mutex : Qnil;
}
