#include "pools.h"

#include "clock.h"
#include "flight.h"

#define EVERY_NS UINT64_C(1000000000)

static uint64_t due_ns;
static unsigned due_generation;

VALUE
pb_pool_due(VALUE self)
{
    uint64_t now_ns;

    if (!pb_flight.header) return Qfalse;
    now_ns = pb_coarse_ns();
    if (due_generation == pb_generation && now_ns < due_ns) return Qfalse;
    due_generation = pb_generation;
    due_ns = now_ns + EVERY_NS;
    return Qtrue;
}

static uint16_t
number(VALUE value)
{
    long number = FIXNUM_P(value) ? FIX2LONG(value) : 0;

    if (number < 0) return 0;
    return number > UINT16_MAX ? UINT16_MAX : (uint16_t)number;
}

VALUE
pb_pool_sample(VALUE self, VALUE pool, VALUE size, VALUE connections, VALUE busy, VALUE dead, VALUE idle, VALUE waiting)
{
    struct pb_pool_sample sample = {
        .mono_ns = pb_mono_ns(),
        .size = number(size),
        .connections = number(connections),
        .busy = number(busy),
        .dead = number(dead),
        .idle = number(idle),
        .waiting = number(waiting),
        .pool = number(pool),
    };

    if (pb_flight.header) pb_flight_write_pool(&sample);
    return Qnil;
}
