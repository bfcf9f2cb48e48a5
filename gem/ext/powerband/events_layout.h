/* The events file's layout, field for field as contract/events-v1.md says it; the assertions hold both together. */
#ifndef POWERBAND_EVENTS_LAYOUT_H
#define POWERBAND_EVENTS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include "origin.h"

#define PB_EVENTS_MAGIC "PBEVENTS"
#define PB_EVENTS_VERSION 1
#define PB_EVENTS_THREADS_AT 4096

enum pb_events_mode { PB_MODE_TRACE = 1, PB_MODE_SAMPLING = 2 };
enum pb_events_state { PB_EVENTS_ASKED = 0, PB_EVENTS_RECORDING = 1, PB_EVENTS_OVER = 2 };

enum pb_event_kind {
    PB_EVENT_STARTED = 1,
    PB_EVENT_EXITED,
    PB_EVENT_READY,
    PB_EVENT_RESUMED,
    PB_EVENT_SUSPENDED,
    PB_EVENT_GC_ENTER,
    PB_EVENT_GC_EXIT,
    PB_EVENT_REQUEST_BEGIN,
    PB_EVENT_REQUEST_END,
    PB_EVENT_CALL_BEGIN,
    PB_EVENT_CALL_END,
    PB_EVENT_STATE
};

struct pb_events_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t mode;
    uint32_t state;
    uint64_t request;
    uint64_t thread_offset;
    uint32_t thread_size;
    uint32_t thread_capacity;
    uint64_t event_offset;
    uint32_t event_size;
    uint32_t one_in;
    uint64_t event_capacity;
    uint32_t pid;
    int32_t worker_index;
    uint64_t start_ticks;
    uint64_t created_wall_ns;
    uint64_t created_mono_ns;
    uint64_t deadline_mono_ns;
    uint64_t began_mono_ns;
    uint64_t ended_mono_ns;
    uint32_t thread_count;
    uint32_t zero;
    struct pb_origin origin;
    char zeros[32];
    uint64_t claimed; /* a cache line of its own: every event of every thread writes to it */
    char more_zero[3896];
};

struct pb_events_thread {
    uint32_t number;
    uint32_t native_id;
    char name[56];
};

struct pb_event {
    uint64_t sequence;
    uint64_t mono_ns;
    uint32_t thread;
    uint8_t kind;
    uint8_t detail;
    uint16_t code;
    uint64_t argument;
};

_Static_assert(sizeof(struct pb_events_header) == PB_EVENTS_THREADS_AT, "header");
_Static_assert(offsetof(struct pb_events_header, request) == 24, "header");
_Static_assert(offsetof(struct pb_events_header, event_offset) == 48, "header");
_Static_assert(offsetof(struct pb_events_header, event_capacity) == 64, "header");
_Static_assert(offsetof(struct pb_events_header, start_ticks) == 80, "header");
_Static_assert(offsetof(struct pb_events_header, ended_mono_ns) == 120, "header");
_Static_assert(offsetof(struct pb_events_header, thread_count) == 128, "header");
_Static_assert(offsetof(struct pb_events_header, origin) == 136, "header");
_Static_assert(offsetof(struct pb_events_header, claimed) == 192, "header");
_Static_assert(sizeof(struct pb_events_thread) == 64, "thread");
_Static_assert(sizeof(struct pb_event) == 32, "event");
_Static_assert(offsetof(struct pb_event, kind) == 20, "event");
_Static_assert(offsetof(struct pb_event, argument) == 24, "event");

#endif
