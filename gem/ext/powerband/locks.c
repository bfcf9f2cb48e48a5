/* What waits for a lock is a method of the lock: the receiver of the running frame is a Mutex, a Queue, a SizedQueue, a
 * ConditionVariable or a Monitor. (ConditionVariable#wait sleeps in the mutex; Monitor calls the mutex's C functions;
 * the block that synchronize runs has another receiver.) These classes are data of a type each, which subclasses
 * share: the comparison of one pointer. Locks that C code takes inside its own calls are not seen. */
#include "locks.h"

#include <ruby.h>

static const char *const classes[] = { "Thread::Mutex", "Thread::Queue", "Thread::SizedQueue", "Thread::ConditionVariable", "Monitor" };
#define CLASSES (sizeof classes / sizeof classes[0])

static const rb_data_type_t *types[CLASSES];

static VALUE
instance(VALUE name)
{
    return rb_obj_alloc(rb_path2class((const char *)name));
}

/* Monitor is a library, which may not be there yet. */
void
pb_locks_learn(void)
{
    for (size_t i = 0; i < CLASSES; i++) {
        VALUE lock;
        int failed = 0;

        if (types[i]) continue;
        lock = rb_protect(instance, (VALUE)classes[i], &failed);
        if (failed) rb_set_errinfo(Qnil);
        else if (RB_TYPE_P(lock, T_DATA) && RTYPEDDATA_P(lock)) types[i] = RTYPEDDATA_TYPE(lock);
    }
}

bool
pb_locks_awaited(void)
{
    VALUE receiver = rb_current_receiver();
    const rb_data_type_t *type;

    if (!RB_TYPE_P(receiver, T_DATA) || !RTYPEDDATA_P(receiver)) return false;
    type = RTYPEDDATA_TYPE(receiver);
    for (size_t i = 0; i < CLASSES; i++) {
        if (types[i] == type) return true;
    }
    return false;
}
