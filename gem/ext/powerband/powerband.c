/* The extension's doors into Ruby: Powerband::Native, whose no-op methods these override. */
#include <pthread.h>
#include <ruby.h>
#include <stdlib.h>
#include <string.h>
#include "calls.h"
#include "contention.h"
#include "endpoint.h"
#include "environment.h"
#include "events.h"
#include "fiber_request.h"
#include "flight.h"
#include "gc.h"
#include "gvl.h"
#include "heap.h"
#include "histogram.h"
#include "locks.h"
#include "pools.h"
#include "queue_time.h"
#include "request.h"
#include "survivors.h"
#include "threads.h"
#include "trace.h"

static VALUE
option(VALUE options, const char *name)
{
    return rb_hash_lookup(options, ID2SYM(rb_intern(name)));
}

static uint32_t
number_option(VALUE options, const char *name)
{
    VALUE value = option(options, name);

    return NIL_P(value) ? PB_UNKNOWN : NUM2UINT(value);
}

static const char *
text_option(VALUE options, const char *name)
{
    VALUE value = option(options, name);

    return NIL_P(value) ? "" : StringValueCStr(value);
}

static VALUE bursts_refused = Qnil;

/* Without them the rest goes on. */
static void
open_bursts(uint32_t one_in)
{
    char reason[512] = "";

    bursts_refused = Qnil;
    if (one_in == 0 || pb_bursts_open(one_in, reason, sizeof reason)) return;
    pb_flight_fault();
    bursts_refused = rb_utf8_str_new_cstr(reason);
}

/* Why no request's events are recorded although it was asked for, or nil. */
static VALUE
native_bursts_refused(VALUE self)
{
    return bursts_refused;
}

/* With RUBY_MN_THREADS many Ruby threads take turns on a few kernel threads, as Ruby's description says. */
static bool
many_to_many(void)
{
    VALUE description = rb_const_get(rb_cObject, rb_intern("RUBY_DESCRIPTION"));

    return strstr(StringValueCStr(description), "+MN") != NULL;
}

/* Makes this process's flight file; true when there is one (also one from before). Raises when it cannot. */
static VALUE
native_open(VALUE self, VALUE options)
{
    char reason[512];
    VALUE index;
    struct pb_settings settings;

    Check_Type(options, T_HASH);
    if (pb_flight.header) return Qtrue;
    /* A state would be its kernel thread's, which other Ruby threads take over. */
    if (!pb_gvl_available() && many_to_many()) {
        rb_raise(rb_eRuntimeError, "RUBY_MN_THREADS is on, and other libraries have taken all of Ruby's keys for threads");
    }
    index = option(options, "worker_index");
    settings = (struct pb_settings){
        .root = text_option(options, "root"),
        .default_root = RTEST(option(options, "default_root")),
        .ring_capacity = NUM2UINT(option(options, "ring_capacity")),
        .worker_index = NIL_P(index) ? -1 : NUM2INT(index),
        .server_workers = number_option(options, "workers"),
        .server_min_threads = number_option(options, "min_threads"),
        .server_max_threads = number_option(options, "max_threads"),
        .server_preload = number_option(options, "preload"),
        .ruby_version = text_option(options, "ruby_version"),
        .server_name = text_option(options, "server_name"),
        .framework = text_option(options, "framework"),
        .agent_version = text_option(options, "agent_version"),
        .app_root = text_option(options, "app_root"),
        .arm = text_option(options, "arm"),
        .allocator = text_option(options, "allocator"),
        .jit = text_option(options, "jit"),
        .variables = text_option(options, "variables"),
        .gvl_hook = pb_gvl_available(),
        .thread_cpu = !many_to_many(),
        .queue_limit_ns = NUM2ULL(option(options, "queue_limit_ns")),
    };
    if (settings.ring_capacity < 64 || settings.ring_capacity > 1048576 ||
        (settings.ring_capacity & (settings.ring_capacity - 1)) != 0) {
        rb_raise(rb_eArgError, "a ring of %u records: it must be a power of two from 64 to 1048576", settings.ring_capacity);
    }
    if (!pb_flight_open(&settings, reason, sizeof reason)) rb_raise(rb_eRuntimeError, "%s", reason);
    pb_locks_learn();
    pb_heap_sample(self);
    if (!NIL_P(option(options, "bursts"))) open_bursts(NUM2UINT(option(options, "bursts")));
    pb_gvl_enable(true);
    return Qtrue;
}

static VALUE
native_close(VALUE self)
{
    pb_flight_close();
    return Qnil;
}

/* For tests, and for processes that end one recording and begin another: unmaps nothing, forgets the file. */
static VALUE
native_forget(VALUE self)
{
    pb_trace_stop();
    pb_events_stop();
    pb_gvl_enable(false);
    pb_flight_close();
    pb_flight_forget();
    return Qnil;
}

static VALUE
native_path(VALUE self)
{
    return pb_flight.header ? rb_utf8_str_new_cstr(pb_flight.path) : Qnil;
}

static VALUE
native_fault(VALUE self)
{
    pb_flight_fault();
    return Qnil;
}

static VALUE
native_available(VALUE self)
{
    return Qtrue;
}

static VALUE
native_bucket(VALUE self, VALUE nanoseconds)
{
    return UINT2NUM(pb_bucket(NUM2ULL(nanoseconds)));
}

static VALUE
native_path_name(VALUE self, VALUE method, VALUE path)
{
    char name[PB_NAME_SIZE];

    StringValue(path);
    pb_endpoint_path_name(name, StringValueCStr(method), RSTRING_PTR(path), (size_t)RSTRING_LEN(path));
    return rb_utf8_str_new_cstr(name);
}

static VALUE
native_endpoint(VALUE self, VALUE env, VALUE response)
{
    uint16_t entry;

    if (!pb_flight.header || !RB_TYPE_P(env, T_HASH)) return Qnil;
    entry = pb_environment_endpoint(env, pb_environment_method(env), pb_environment_status(response));
    return rb_utf8_str_new_cstr(pb_flight.endpoints[entry].name);
}

static VALUE
native_address(VALUE self, VALUE object)
{
    return RB_SPECIAL_CONST_P(object) ? Qnil : ULL2NUM((unsigned long long)object);
}

static VALUE
native_request_start_ns(VALUE self, VALUE text)
{
    uint64_t start_ns;

    StringValue(text);
    return pb_request_start_ns(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), &start_ns) ? ULL2NUM(start_ns) : Qnil;
}

static VALUE
native_thread_states(VALUE self)
{
    unsigned used, made;

    pb_threads_count(&used, &made);
    return rb_assoc_new(UINT2NUM(used), UINT2NUM(made));
}

/* In the child of a fork: only clears, because any lock may be held by a thread that is not there. */
static void
after_fork_in_child(void)
{
    pb_events_forget();
    pb_trace_forget();
    pb_gvl_after_fork();
    pb_flight_forget();
}

RUBY_FUNC_EXPORTED void
Init_powerband(void)
{
    VALUE native = rb_const_get(rb_const_get(rb_cObject, rb_intern("Powerband")), rb_intern("Native"));

    pb_environment_init();
    pb_fiber_request_init();
    pb_locks_learn();
    pb_contention_init();
    pb_gvl_init();
    pb_gc_init();
    pb_heap_init();
    pb_survivors_init();
    pthread_atfork(NULL, NULL, after_fork_in_child);

    rb_define_singleton_method(native, "available?", native_available, 0);
    rb_define_singleton_method(native, "open", native_open, 1);
    rb_global_variable(&bursts_refused);
    rb_define_singleton_method(native, "bursts_refused", native_bursts_refused, 0);
    rb_define_singleton_method(native, "close", native_close, 0);
    rb_define_singleton_method(native, "forget", native_forget, 0);
    rb_define_singleton_method(native, "path", native_path, 0);
    rb_define_singleton_method(native, "fault", native_fault, 0);
    rb_define_singleton_method(native, "start", pb_request_start, 1);
    rb_define_singleton_method(native, "finish", pb_request_finish, 4);
    rb_define_singleton_method(native, "server_start", pb_server_start, 0);
    rb_define_singleton_method(native, "server_finish", pb_server_finish, 0);
    rb_define_singleton_method(native, "call_start", pb_call_start, 1);
    rb_define_singleton_method(native, "call_finish", pb_call_finish, 2);
    rb_define_singleton_method(native, "call_prepared", pb_call_prepared, 2);
    rb_define_singleton_method(native, "names", pb_environment_names, 1);
    rb_define_singleton_method(native, "measures", pb_call_measures, 1);
    rb_define_singleton_method(native, "job_start", pb_job_start, 1);
    rb_define_singleton_method(native, "job_finish", pb_job_finish, 3);
    rb_define_singleton_method(native, "pool_due?", pb_pool_due, 0);
    rb_define_singleton_method(native, "pool_sample", pb_pool_sample, 7);
    rb_define_singleton_method(native, "heap_sample", pb_heap_sample, 0);
    rb_define_singleton_method(native, "bucket", native_bucket, 1);
    rb_define_singleton_method(native, "path_name", native_path_name, 2);
    rb_define_singleton_method(native, "endpoint", native_endpoint, 2);
    rb_define_singleton_method(native, "address", native_address, 1);
    rb_define_singleton_method(native, "request_start_ns", native_request_start_ns, 1);
    rb_define_singleton_method(native, "thread_states", native_thread_states, 0);
}
