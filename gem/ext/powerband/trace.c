/* Once per trace Ruby is asked for its threads and their names, which allocates: protected, and outside of what any
 * request is charged with. */
#include "trace.h"

#include <fcntl.h>
#include <ruby.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "beside.h"
#include "clock.h"
#include "events.h"
#include "mapping.h"
#include "survivors.h"

#define LARGEST (UINT64_C(1) << 30)
#define MOST_THREADS 65536u

uint64_t pb_trace_seen;
bool pb_trace_mapped;

static struct pb_events_header *header; /* not NULL while mapped */
static struct pb_events_thread *table;
static uint32_t table_capacity, table_count;
static size_t mapped_size;
static uint32_t traces; /* so that a thread knows whether it is in this one's table */
static bool over;
static bool attending;

static void
enter(struct pb_thread *thread, VALUE ruby_thread)
{
    /* Of now: while Ruby answers the thread may end, and its state be another's. */
    const uint32_t number = thread->number;
    VALUE name, id;
    struct pb_events_thread *entry;

    thread->traced_in = traces;
    header->thread_count = ++table_count;
    if (table_count > table_capacity) return;
    name = rb_funcall(ruby_thread, rb_intern("name"), 0);
    id = rb_funcall(ruby_thread, rb_intern("native_thread_id"), 0);
    entry = &table[table_count - 1];
    if (RB_TYPE_P(name, T_STRING)) {
        size_t length = (size_t)RSTRING_LEN(name);

        if (length >= sizeof entry->name) length = sizeof entry->name - 1;
        memcpy(entry->name, RSTRING_PTR(name), length);
    }
    else if (ruby_thread == rb_thread_main()) {
        memcpy(entry->name, "main", sizeof "main");
    }
    entry->native_id = FIXNUM_P(id) ? (uint32_t)FIX2LONG(id) : 0;
#ifndef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
    /* In the child of a fork Ruby 3.2 gives the id that the thread had in the parent. */
    if (ruby_thread == rb_thread_main()) entry->native_id = (uint32_t)getpid();
#endif
    __atomic_store_n(&entry->number, number, __ATOMIC_RELEASE);
}

/* The state of a thread that has not served yet is unknown; its first event shows it. */
static void
write_state(const struct pb_thread *thread)
{
    const struct pb_watch *watch = &thread->watch;

    if (watch->running) pb_event_write(thread, pb_mono_ns(), PB_EVENT_STATE, watch->gvl, watch->at_lock, 0);
}

static VALUE
enter_all(VALUE beginning)
{
    VALUE list = rb_funcall(rb_cThread, rb_intern("list"), 0);

    for (long i = 0; RB_TYPE_P(list, T_ARRAY) && i < RARRAY_LEN(list); i++) {
        VALUE ruby_thread = rb_ary_entry(list, i);
        struct pb_thread *thread = pb_thread_of(ruby_thread);

        if (!thread) continue;
        if (RTEST(beginning)) write_state(thread);
        enter(thread, ruby_thread);
    }
    RB_GC_GUARD(list);
    return Qnil;
}

static VALUE
enter_current(VALUE thread)
{
    enter((struct pb_thread *)thread, rb_thread_current());
    return Qnil;
}

/* The methods asked are Ruby's own; an application's replacement may fail, which is a fault, or end the thread or throw,
 * which is on its way to another receiver. Returns the tag to go on with; 0: none. */
static int
protected(VALUE (*body)(VALUE), VALUE argument)
{
    VALUE error, before = rb_errinfo();
    int tag = 0;

    rb_protect(body, argument, &tag);
    if (!tag) return 0;
    error = rb_errinfo();
    /* The end of a thread arrives as an Integer, a throw as an object without a class. */
    if (!RB_TYPE_P(error, T_OBJECT) || !RTEST(rb_obj_is_kind_of(error, rb_eStandardError))) return tag;
    /* An exception that is on its way through an ensure of the application's stays the one it was. */
    rb_set_errinfo(RB_TYPE_P(before, T_OBJECT) ? before : Qnil);
    pb_flight_fault();
    return 0;
}

/* The file was written by another process: nothing of it is trusted. */
static bool
sound(const struct pb_events_header *asked, const struct stat *file, uint64_t request)
{
    const uint64_t threads_end = sizeof *asked + (uint64_t)asked->thread_capacity * sizeof(struct pb_events_thread);

    return memcmp(asked->magic, PB_EVENTS_MAGIC, sizeof asked->magic) == 0 && asked->version == PB_EVENTS_VERSION &&
           asked->header_size == sizeof *asked && asked->mode == PB_MODE_TRACE && asked->state == PB_EVENTS_ASKED &&
           asked->request == request && asked->pid == pb_flight.header->pid &&
           asked->start_ticks == pb_flight.header->start_ticks &&
           asked->thread_offset == sizeof *asked && asked->thread_size == sizeof(struct pb_events_thread) &&
           asked->thread_capacity <= MOST_THREADS && asked->thread_count == 0 && asked->claimed == 0 &&
           asked->event_size == sizeof(struct pb_event) && asked->event_offset >= threads_end &&
           asked->event_offset % sizeof(struct pb_event) == 0 && asked->event_offset <= LARGEST &&
           asked->event_capacity <= LARGEST / sizeof(struct pb_event) &&
           pb_beside_private(file, asked->event_offset + asked->event_capacity * sizeof(struct pb_event));
}

static bool
map(uint64_t request)
{
    struct pb_events_header asked;
    struct stat file;
    char reason[256];
    void *base;
    int fd = pb_beside_open("events", O_RDWR, reason, sizeof reason);

    if (fd < 0) return false;
    if (pread(fd, &asked, sizeof asked, 0) != (ssize_t)sizeof asked || fstat(fd, &file) != 0 ||
        !sound(&asked, &file, request)) {
        close(fd);
        return false;
    }
    mapped_size = (size_t)file.st_size;
    base = pb_mapping_open(fd, mapped_size);
    close(fd);
    if (!base) return false;
    header = base;
    table = (struct pb_events_thread *)((char *)base + asked.thread_offset);
    table_capacity = asked.thread_capacity;
    pb_trace_mapped = true;
    table_count = 0;
    over = false;
    traces++;
    header->began_mono_ns = pb_mono_ns();
    __atomic_store_n(&header->state, PB_EVENTS_RECORDING, __ATOMIC_RELEASE);
    pb_events_trace_on(header, &asked);
    return true;
}

/* Returns a tag as above. */
static int
end(void)
{
    const bool quiet = pb_events_trace_off();
    int tag = 0;

    if (!over) {
        over = true;
        /* Once more, for the names of those that came since, or were named since. */
        tag = protected(enter_all, Qfalse);
        header->ended_mono_ns = pb_mono_ns();
        __atomic_store_n(&header->state, PB_EVENTS_OVER, __ATOMIC_RELEASE);
    }
    /* Else at the next request. */
    if (!quiet) return tag;
    munmap(header, mapped_size);
    header = NULL;
    pb_trace_mapped = false;
    return tag;
}

static VALUE
begin_survivors(VALUE unused)
{
    pb_survivors_begin();
    return Qnil;
}

static VALUE
end_survivors(VALUE unused)
{
    pb_survivors_end();
    return Qnil;
}

/* A beginning or an end that raised leaves nothing behind. Returns a tag as above. */
static int
survivors(VALUE (*body)(VALUE))
{
    const int tag = protected(body, Qnil);

    if (tag || !pb_survivors_on) pb_survivors_drop();
    pb_trace_mapped = pb_survivors_on;
    return tag;
}

static VALUE
attend(RB_BLOCK_CALL_FUNC_ARGLIST(unused, given))
{
    struct pb_thread *thread = (struct pb_thread *)given;
    const uint64_t asked = __atomic_load_n(&pb_flight.header->trace_request, __ATOMIC_RELAXED);
    int tag = 0;

    /* Another thread may come by while Ruby answers. */
    if (attending) return Qnil;
    attending = true;
    if (header && (over || asked != pb_trace_seen || !pb_events_trace_goes_on())) tag = end();
    if (pb_survivors_on && (asked != pb_trace_seen || pb_survivors_due())) tag = survivors(end_survivors);
    if (!tag && !header && !pb_survivors_on && asked != pb_trace_seen) {
        pb_trace_seen = asked;
        if (asked != 0 && pb_survivors_asked(asked)) tag = survivors(begin_survivors);
        else if (asked != 0 && map(asked)) tag = protected(enter_all, Qtrue);
        else if (asked != 0) pb_flight_fault();
    }
    if (!tag && header && !over && thread->traced_in != traces) tag = protected(enter_current, (VALUE)thread);
    attending = false;
    if (tag) rb_jump_tag(tag);
    return Qnil;
}

/* Ruby raises what other threads send (a timeout, the end of the thread) as any method returns, those that are asked here
 * too: it is put off until all is done. */
void
pb_trace_attend(struct pb_thread *thread)
{
    const uint64_t asked = __atomic_load_n(&pb_flight.header->trace_request, __ATOMIC_RELAXED);
    VALUE mask;

    if (asked == pb_trace_seen && pb_survivors_on && !pb_survivors_due()) return;
    if (asked == pb_trace_seen && !over && thread->traced_in == traces && pb_events_trace_goes_on()) return;
    mask = rb_hash_new();
    rb_hash_aset(mask, rb_cObject, ID2SYM(rb_intern("never")));
    rb_block_call(rb_cThread, rb_intern("handle_interrupt"), 1, &mask, attend, (VALUE)thread);
}

void
pb_trace_stop(void)
{
    int tag = header && !attending ? end() : 0;

    if (pb_survivors_on && !attending) tag = survivors(end_survivors);

    pb_trace_seen = 0;
    if (tag) rb_jump_tag(tag);
}

void
pb_trace_forget(void)
{
    header = NULL;
    pb_survivors_forget();
    pb_trace_mapped = false;
    pb_trace_seen = 0;
    attending = false;
}
