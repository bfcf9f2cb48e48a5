/* Invariant: nothing here can raise, allocate a Ruby object or call a method, though the environment and the response
 * are the application's objects. Types are checked before use, and a look-up whose key is a plain String or a Symbol
 * asks neither the hash nor its keys. */
#include "environment.h"

#include <stdbool.h>
#include <string.h>
#include "endpoint.h"
#include "flight.h"
#include "queue_time.h"

static VALUE key_request_start, key_body_wait, key_method, key_path, key_path_parameters, key_endpoint, key_sinatra_route;
static VALUE sym_controller, sym_action;

static const char *const methods[] = { "OTHER", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };
#define METHODS (sizeof methods / sizeof methods[0])

static VALUE
key(const char *name)
{
    VALUE string = rb_interned_str_cstr(name);

    rb_gc_register_mark_object(string);
    return string;
}

void
pb_environment_init(void)
{
    key_request_start = key("HTTP_X_REQUEST_START");
    key_body_wait = key("puma.request_body_wait");
    key_method = key("REQUEST_METHOD");
    key_path = key("PATH_INFO");
    key_path_parameters = key("action_dispatch.request.path_parameters");
    key_endpoint = key("powerband.endpoint");
    key_sinatra_route = key("sinatra.route");
    sym_controller = ID2SYM(rb_intern("controller"));
    sym_action = ID2SYM(rb_intern("action"));
}

static unsigned looked_for;

VALUE
pb_environment_names(VALUE self, VALUE whose)
{
    if (FIXNUM_P(whose) && FIX2LONG(whose) >= PB_NAMES_RAILS && FIX2LONG(whose) <= PB_NAMES_SINATRA) {
        looked_for |= 1u << FIX2LONG(whose);
    }
    return Qtrue;
}

static bool
looks_for(enum pb_names whose)
{
    return looked_for & 1u << whose;
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

/* What is further off than the limit is a clock that is wrong, or a client's own header: no proxy waits that long. */
static void
read_queue_time(struct pb_record *record, VALUE env)
{
    VALUE header = rb_hash_lookup(env, key_request_start);
    const uint64_t arrival_ns = record->arrival_wall_ns, limit_ns = pb_flight.queue_limit_ns;
    uint64_t sent_ns, waited_ns, ahead_ns, age_ns, queue_ns;

    if (!is_string(header)) return;
    if (!pb_request_start_ns(RSTRING_PTR(header), (size_t)RSTRING_LEN(header), &sent_ns)) return;
    waited_ns = body_wait_ns(rb_hash_lookup(env, key_body_wait));
    ahead_ns = sent_ns > arrival_ns ? sent_ns - arrival_ns : 0;
    age_ns = sent_ns < arrival_ns ? arrival_ns - sent_ns : 0;
    queue_ns = waited_ns < age_ns ? age_ns - waited_ns : 0;
    if (ahead_ns > 0 || waited_ns > age_ns || queue_ns > limit_ns) pb_flight.header->clock_skew++;
    if (ahead_ns > limit_ns || queue_ns > limit_ns) return;
    record->queue_ns = queue_ns;
    record->flags |= PB_REQUEST_QUEUE_KNOWN;
}

uint8_t
pb_environment_method(VALUE env)
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

void
pb_environment_read(VALUE env, struct pb_record *record)
{
    if (!RB_TYPE_P(env, T_HASH)) return;
    read_queue_time(record, env);
    record->method = pb_environment_method(env);
}

uint16_t
pb_environment_status(VALUE response)
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

/* What the application, or an adapter of ours for its framework, calls the endpoint. */
static bool
given_name(VALUE env, VALUE key, char name[PB_NAME_SIZE])
{
    VALUE given = rb_hash_lookup(env, key);

    if (!is_string(given) || RSTRING_LEN(given) == 0) return false;
    pb_endpoint_given_name(name, "", RSTRING_PTR(given), (size_t)RSTRING_LEN(given));
    return true;
}

static bool
action_name(VALUE env, char name[PB_NAME_SIZE])
{
    VALUE parameters = rb_hash_lookup(env, key_path_parameters);
    VALUE controller, action;

    if (!RB_TYPE_P(parameters, T_HASH)) return false;
    controller = text_of(rb_hash_lookup(parameters, sym_controller));
    action = text_of(rb_hash_lookup(parameters, sym_action));
    if (!is_string(controller) || !is_string(action)) return false;
    pb_endpoint_action_name(name, RSTRING_PTR(controller), (size_t)RSTRING_LEN(controller),
                            RSTRING_PTR(action), (size_t)RSTRING_LEN(action));
    return true;
}

uint16_t
pb_environment_endpoint(VALUE env, uint8_t method, uint16_t status)
{
    char name[PB_NAME_SIZE];
    VALUE path;

    if (!RB_TYPE_P(env, T_HASH)) {
        pb_endpoint_path_name(name, methods[method], "", 0);
        return pb_endpoint_index(name, false);
    }
    if (given_name(env, key_endpoint, name) || (looks_for(PB_NAMES_RAILS) && action_name(env, name)) ||
        (looks_for(PB_NAMES_SINATRA) && given_name(env, key_sinatra_route, name))) {
        return pb_endpoint_index(name, true);
    }
    path = rb_hash_lookup(env, key_path);
    if (status >= 300 && status <= 499) pb_endpoint_status_name(name, methods[method], status);
    else if (is_string(path)) pb_endpoint_path_name(name, methods[method], RSTRING_PTR(path), (size_t)RSTRING_LEN(path));
    else pb_endpoint_path_name(name, methods[method], "", 0);
    return pb_endpoint_index(name, false);
}
