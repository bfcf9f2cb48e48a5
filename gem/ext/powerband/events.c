/* Writing an event: a slot is claimed by counting, filled, and made valid last, because READY comes from threads that
 * do not hold the GVL. */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "beside.h"
#include "clock.h"
#include "flight.h"
#include "mapping.h"

#define BURST_EVENTS 65536u
#define BURSTS_SIZE (sizeof(struct pb_events_header) + BURST_EVENTS * sizeof(struct pb_event))

int pb_events_on;

/* What a writer needs, copied from the header: a damaged file must not lead a writer astray. */
static struct {
    struct pb_events_header *header;
    struct pb_event *events;
    uint64_t capacity;
    uint64_t deadline_ns;
} trace;

/* Threads inside a write to the trace. A writer counts itself before it looks whether the trace is on, and the end
 * switches off before it looks at the count (both sequentially consistent): when the end sees zero, any later
 * writer sees "off", so that no write to unmapped memory is possible. */
static int writers;

static struct {
    struct pb_events_header *header;
    struct pb_event *events;
    uint64_t threshold;
    uint64_t random;
} bursts;

static void
fill(struct pb_event *slot, uint64_t k, const struct pb_thread *thread, uint64_t now_ns, enum pb_event_kind kind,
     uint8_t detail, uint16_t code, uint64_t argument)
{
    __atomic_store_n(&slot->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    slot->mono_ns = now_ns;
    slot->thread = thread ? thread->number : 0;
    slot->kind = (uint8_t)kind;
    slot->detail = detail;
    slot->code = code;
    slot->argument = argument;
    __atomic_store_n(&slot->sequence, k + 1, __ATOMIC_RELEASE);
}

static void
write_trace(const struct pb_thread *thread, uint64_t now_ns, enum pb_event_kind kind, uint8_t detail, uint16_t code,
            uint64_t argument)
{
    uint64_t k;

    if (now_ns >= trace.deadline_ns) {
        __atomic_fetch_and(&pb_events_on, ~PB_EVENTS_TRACE, __ATOMIC_SEQ_CST);
        return;
    }
    k = __atomic_fetch_add(&trace.header->claimed, 1, __ATOMIC_RELAXED);
    if (k < trace.capacity) fill(&trace.events[k], k, thread, now_ns, kind, detail, code, argument);
}

void
pb_event_write(const struct pb_thread *thread, uint64_t now_ns, enum pb_event_kind kind, uint8_t detail, uint16_t code,
               uint64_t argument)
{
    const int on = __atomic_load_n(&pb_events_on, __ATOMIC_RELAXED);

    if (on & PB_EVENTS_TRACE) {
        __atomic_fetch_add(&writers, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&pb_events_on, __ATOMIC_SEQ_CST) & PB_EVENTS_TRACE) {
            write_trace(thread, now_ns, kind, detail, code, argument);
        }
        __atomic_fetch_sub(&writers, 1, __ATOMIC_SEQ_CST);
    }
    if ((on & PB_EVENTS_BURSTS) && thread && thread->sampled) {
        const uint64_t k = __atomic_fetch_add(&bursts.header->claimed, 1, __ATOMIC_RELAXED);

        fill(&bursts.events[k & (BURST_EVENTS - 1)], k, thread, now_ns, kind, detail, code, argument);
    }
}

void
pb_events_trace_on(struct pb_events_header *header, const struct pb_events_header *asked)
{
    trace.header = header;
    trace.events = (struct pb_event *)((char *)header + asked->event_offset);
    trace.capacity = asked->event_capacity;
    trace.deadline_ns = asked->deadline_mono_ns;
    __atomic_fetch_or(&pb_events_on, PB_EVENTS_TRACE, __ATOMIC_SEQ_CST);
}

bool
pb_events_trace_goes_on(void)
{
    return (__atomic_load_n(&pb_events_on, __ATOMIC_RELAXED) & PB_EVENTS_TRACE) != 0 && pb_mono_ns() < trace.deadline_ns;
}

bool
pb_events_trace_off(void)
{
    __atomic_fetch_and(&pb_events_on, ~PB_EVENTS_TRACE, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&writers, __ATOMIC_SEQ_CST) == 0;
}

/* By chance and not every N-th: a fixed interval resonates with whatever in the traffic has a period. */
bool
pb_bursts_sampled(void)
{
    uint64_t x;

    if (!(__atomic_load_n(&pb_events_on, __ATOMIC_RELAXED) & PB_EVENTS_BURSTS)) return false;
    /* xorshift64* of Vigna (doi 10.1145/2845077) */
    x = bursts.random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    bursts.random = x;
    return x * UINT64_C(2685821657736338717) <= bursts.threshold;
}

static void
fill_bursts_header(struct pb_events_header *header, uint32_t one_in)
{
    memcpy(header->magic, PB_EVENTS_MAGIC, sizeof header->magic);
    header->version = PB_EVENTS_VERSION;
    header->header_size = sizeof *header;
    header->mode = PB_MODE_SAMPLING;
    header->thread_offset = sizeof *header;
    header->thread_size = sizeof(struct pb_events_thread);
    header->event_offset = sizeof *header;
    header->event_size = sizeof(struct pb_event);
    header->one_in = one_in;
    header->event_capacity = BURST_EVENTS;
    header->pid = pb_flight.header->pid;
    header->worker_index = pb_flight.header->worker_index;
    header->start_ticks = pb_flight.header->start_ticks;
    header->origin = pb_flight.header->origin;
    header->created_wall_ns = pb_wall_ns();
    header->created_mono_ns = header->began_mono_ns = pb_mono_ns();
    __atomic_store_n(&header->state, PB_EVENTS_RECORDING, __ATOMIC_RELEASE);
}

bool
pb_bursts_open(uint32_t one_in, char *reason, size_t reason_size)
{
    char *base;
    int error, fd = pb_beside_open("bursts", O_RDWR | O_CREAT | O_EXCL, reason, reason_size);

    if (fd < 0) return false;
    base = pb_mapping_make(fd, BURSTS_SIZE);
    error = errno;
    close(fd);
    if (!base) {
        pb_beside_unlink("bursts");
        snprintf(reason, reason_size, "cannot map %zu bytes: %s", BURSTS_SIZE, strerror(error));
        return false;
    }
    if (getrandom(&bursts.random, sizeof bursts.random, 0) != (ssize_t)sizeof bursts.random) bursts.random = pb_mono_ns();
    bursts.random |= 1;
    bursts.threshold = UINT64_MAX / one_in;
    bursts.header = (struct pb_events_header *)base;
    bursts.events = (struct pb_event *)(base + sizeof(struct pb_events_header));
    fill_bursts_header(bursts.header, one_in);
    __atomic_fetch_or(&pb_events_on, PB_EVENTS_BURSTS, __ATOMIC_SEQ_CST);
    return true;
}

void
pb_events_stop(void)
{
    __atomic_store_n(&pb_events_on, 0, __ATOMIC_SEQ_CST);
}

void
pb_events_forget(void)
{
    __atomic_store_n(&pb_events_on, 0, __ATOMIC_SEQ_CST);
    writers = 0;
    trace.header = NULL;
    bursts.header = NULL;
}
