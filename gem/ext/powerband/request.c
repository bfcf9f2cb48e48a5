/* Invariant: nothing here can raise, allocate a Ruby object or call a method, though the environment and the response
 * are the application's objects. Types are checked before use, and a look-up whose key is a plain String or a Symbol
 * asks neither the hash nor its keys. */
#include "request.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef HAVE_RUBY_FIBER_SCHEDULER_H
#include <ruby/fiber/scheduler.h>
#endif
#include "clock.h"
#include "endpoint.h"
#include "flight.h"
#include "gvl.h"
#include "queue_time.h"

static VALUE key_request_start, key_body_wait, key_method, key_path, key_path_parameters;
static VALUE sym_controller, sym_action;

static const char *const methods[] = { "OTHER", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };
#define METHODS (sizeof methods / sizeof methods[0])

/* What is further off, one hour, is a clock that is wrong, or a client's own header. */
#define QUEUE_AT_MOST_NS UINT64_C(3600000000000)

static VALUE
key(const char *name)
{
    VALUE string = rb_interned_str_cstr(name);

    rb_gc_register_mark_object(string);
    return string;
}

void
pb_request_init(void)
{
    key_request_start = key("HTTP_X_REQUEST_START");
    key_body_wait = key("puma.request_body_wait");
    key_method = key("REQUEST_METHOD");
    key_path = key("PATH_INFO");
    key_path_parameters = key("action_dispatch.request.path_parameters");
    sym_controller = ID2SYM(rb_intern("controller"));
    sym_action = ID2SYM(rb_intern("action"));
}

static bool
is_string(VALUE value)
{
    return RB_TYPE_P(value, T_STRING);
}

static uint64_t
body_wait_ns(VALUE milliseconds)
{
    double value = 0;

    if (RB_FLOAT_TYPE_P(milliseconds)) value = RFLOAT_VALUE(milliseconds);
    else if (FIXNUM_P(milliseconds)) value = (double)FIX2LONG(milliseconds);
    return value > 0 && value < 1e9 ? (uint64_t)(value * 1e6) : 0;
}

static void
read_queue_time(struct pb_thread *thread, VALUE env)
{
    VALUE header = rb_hash_lookup(env, key_request_start);
    const uint64_t arrival_ns = thread->arrival_wall_ns;
    uint64_t sent_ns, waited_ns, ahead_ns, age_ns, queue_ns;

    if (!is_string(header)) return;
    if (!pb_request_start_ns(RSTRING_PTR(header), (size_t)RSTRING_LEN(header), &sent_ns)) return;
    waited_ns = body_wait_ns(rb_hash_lookup(env, key_body_wait));
    ahead_ns = sent_ns > arrival_ns ? sent_ns - arrival_ns : 0;
    age_ns = sent_ns < arrival_ns ? arrival_ns - sent_ns : 0;
    queue_ns = waited_ns < age_ns ? age_ns - waited_ns : 0;
    if (ahead_ns > 0 || waited_ns > age_ns || queue_ns > QUEUE_AT_MOST_NS) pb_flight.header->clock_skew++;
    if (ahead_ns > QUEUE_AT_MOST_NS || queue_ns > QUEUE_AT_MOST_NS) return;
    thread->queue_ns = queue_ns;
    thread->flags |= PB_REQUEST_QUEUE_KNOWN;
}

static uint8_t
read_method(VALUE env)
{
    VALUE method = rb_hash_lookup(env, key_method);

    if (is_string(method)) {
        for (unsigned i = 1; i < METHODS; i++) {
            size_t length = strlen(methods[i]);
            if ((size_t)RSTRING_LEN(method) == length && memcmp(RSTRING_PTR(method), methods[i], length) == 0) return (uint8_t)i;
        }
    }
    return 0;
}

static void
read_arrival(struct pb_thread *thread, VALUE env)
{
    thread->flags = 0;
    thread->queue_ns = 0;
    thread->method = 0;
    if (!RB_TYPE_P(env, T_HASH)) return;
    read_queue_time(thread, env);
    thread->method = read_method(env);
}

VALUE
pb_request_start(VALUE self, VALUE env)
{
    struct pb_header *header = pb_flight.header;
    struct pb_thread *thread;

    if (!header) return Qnil;
    thread = pb_thread_current();
    if (!thread) {
        pb_flight_fault();
        return Qfalse;
    }
    if (thread->serving && thread->generation == pb_generation) return Qfalse;

    thread->serving = true;
    if (thread->generation != pb_generation) thread->thread_id = (uint32_t)syscall(SYS_gettid);
    thread->generation = pb_generation;
    thread->busy_threads = (uint16_t)++header->in_flight;
    thread->arrival_wall_ns = pb_wall_ns();
    thread->start_mono_ns = pb_mono_ns();
    thread->cpu_ns = pb_thread_cpu_ns();
    pb_watch_start(&thread->watch, thread->start_mono_ns);

    read_arrival(thread, env);
#ifdef HAVE_RB_FIBER_SCHEDULER_CURRENT
    /* Other requests run on this thread while this one waits: the thread's split is not this request's. */
    if (rb_fiber_scheduler_current() != Qnil) header->flags |= PB_FLAG_FIBERS;
#endif
    return Qtrue;
}

static uint16_t
read_status(VALUE response)
{
    VALUE status;
    long code = 0;

    if (!RB_TYPE_P(response, T_ARRAY) || RARRAY_LEN(response) == 0) return 0;
    status = rb_ary_entry(response, 0);
    if (FIXNUM_P(status)) {
        code = FIX2LONG(status);
    }
    else if (is_string(status)) {
        for (long i = 0; i < RSTRING_LEN(status) && i < 3; i++) {
            char c = RSTRING_PTR(status)[i];
            if (c < '0' || c > '9') return 0;
            code = code * 10 + (c - '0');
        }
    }
    return code >= 100 && code <= 999 ? (uint16_t)code : 0;
}

static VALUE
text_of(VALUE value)
{
    return RB_SYMBOL_P(value) ? rb_sym2str(value) : value;
}

static uint16_t
read_endpoint(VALUE env, uint8_t method, uint16_t status)
{
    char name[PB_NAME_SIZE];
    VALUE parameters, path;

    if (!RB_TYPE_P(env, T_HASH)) {
        pb_endpoint_path_name(name, methods[method], "", 0);
        return pb_endpoint_index(name);
    }
    parameters = rb_hash_lookup(env, key_path_parameters);
    if (RB_TYPE_P(parameters, T_HASH)) {
        VALUE controller = text_of(rb_hash_lookup(parameters, sym_controller));
        VALUE action = text_of(rb_hash_lookup(parameters, sym_action));

        if (is_string(controller) && is_string(action)) {
            pb_endpoint_action_name(name, RSTRING_PTR(controller), (size_t)RSTRING_LEN(controller),
                                    RSTRING_PTR(action), (size_t)RSTRING_LEN(action));
            return pb_endpoint_index(name);
        }
    }
    path = rb_hash_lookup(env, key_path);
    if (status == 404) pb_endpoint_not_found_name(name, methods[method]);
    else if (is_string(path)) pb_endpoint_path_name(name, methods[method], RSTRING_PTR(path), (size_t)RSTRING_LEN(path));
    else pb_endpoint_path_name(name, methods[method], "", 0);
    return pb_endpoint_index(name);
}

VALUE
pb_request_finish(VALUE self, VALUE started, VALUE env, VALUE response, VALUE raised)
{
    struct pb_thread *thread;
    struct pb_record record;
    uint64_t cpu_ns, end_ns;

    if (!RTEST(started)) return Qnil;
    thread = pb_thread_current();
    if (!thread || !thread->serving) return Qnil;
    cpu_ns = pb_thread_cpu_ns();
    end_ns = pb_mono_ns();
    pb_watch_stop(&thread->watch, end_ns);
    thread->serving = false;
    /* The application forked while it served: this is the child, and the record is the parent's. */
    if (thread->generation != pb_generation || !pb_flight.header) return Qnil;

    memset(&record, 0, sizeof record);
    record.arrival_wall_ns = thread->arrival_wall_ns;
    record.start_mono_ns = thread->start_mono_ns;
    record.queue_ns = thread->queue_ns;
    record.wall_ns = end_ns - thread->start_mono_ns;
    record.cpu_ns = cpu_ns - thread->cpu_ns;
    record.thread_id = thread->thread_id;
    record.busy_threads = thread->busy_threads;
    record.method = thread->method;
    record.flags = (uint8_t)(thread->flags | (RTEST(raised) ? PB_REQUEST_RAISED : 0));
    if (pb_gvl_available()) {
        record.held_ns = thread->watch.held_ns;
        record.gvl_wait_ns = thread->watch.gvl_wait_ns;
        record.io_ns = record.wall_ns - record.held_ns - record.gvl_wait_ns;
        record.allocations = thread->watch.allocations;
        record.yields = thread->watch.yields;
    }

    if (!RTEST(raised)) record.status = read_status(response);
    record.endpoint = read_endpoint(env, record.method, record.status);
    pb_flight.header->in_flight--;
    pb_flight_write(&record);
    return Qnil;
}
