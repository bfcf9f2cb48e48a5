/* Two hooks. One sees each object that is made and takes one in `every`, by chance; the other sees each object that is freed,
 * and each end of a marking, which is where objects become old. While both are there an address stands for one object from
 * its beginning to its end, so that neither a reference is needed, which would keep objects alive, nor Ruby's WeakMap, whose
 * methods may raise what other threads send. In a hook nothing of Ruby is called that allocates. */
#include "survivors.h"

#include <math.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/ractor.h>
#include <string.h>
#include <sys/random.h>
#include "clock.h"
#include "flight.h"
#include "sites.h"
#include "survivors_file.h"
#include "young.h"

/* Three markings make an object old, and one more shows that the rest is not going to be. */
#define MARKINGS_AFTER 4

/* Ruby 3.2 counts an object's age in the two bits of RUBY_FL_PROMOTED; from 3.3 on it is one, set of old objects alone. The
 * function came with 3.3. */
#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_GET
#define AGES_KNOWN true
#else
#define AGES_KNOWN false
#endif

bool pb_survivors_on;

static struct {
    uint64_t deadline_ns, last_ns;
    uint64_t countdown;
    uint64_t random;
    double per_object; /* ln(1 - 1/every); 0: take each one */
    uint64_t allocated_before;
    uint64_t collections_seen; /* as Ruby counts them, up to the last one whose marking was seen */
    uint32_t markings_left;
    bool sampling;
    bool ractors;
} state;

static struct pb_survivors_counts counts;

static VALUE made, gone; /* the hooks */
static VALUE total_allocated_objects;

/* By chance and not every N-th: what repeats itself in the program would be hit always or never. The distance to the next
 * object that is taken is geometric (inversion; Devroye 1986, X.2), of mean `every`. */
static uint64_t
next_distance(void)
{
    double uniform;
    uint64_t x = state.random;

    if (state.per_object >= 0) return 1;
    /* xorshift64* of Vigna (doi 10.1145/2845077) */
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state.random = x;
    uniform = ((double)((x * UINT64_C(2685821657736338717)) >> 11) + 0.5) / 9007199254740992.0;
    return 1 + (uint64_t)(log(uniform) / state.per_object);
}

/* What it surely takes: a slot and, beyond it, what it holds. Read from the object alone, because the collector may be at work. */
static uint64_t
bytes_of(VALUE object)
{
    uint64_t bytes = 0;

    switch (RB_BUILTIN_TYPE(object)) {
      case T_STRING:
        bytes = 24 + (uint64_t)RSTRING_LEN(object) + 1;
        break;
      case T_ARRAY:
        bytes = 16 + (uint64_t)RARRAY_LEN(object) * sizeof(VALUE);
        break;
      case T_HASH:
        bytes = 16 + (uint64_t)RHASH_SIZE(object) * 2 * sizeof(VALUE);
        break;
      case T_OBJECT:
        bytes = 16 + (uint64_t)rb_ivar_count(object) * sizeof(VALUE);
        break;
      default:
        break;
    }
    return bytes > 40 ? bytes : 40;
}

static void
died(VALUE object, uint32_t number)
{
    struct pb_site *site = pb_sites_at(number);

    site->died++;
    site->died_bytes += bytes_of(object);
}

static bool
is_old(VALUE object, uint32_t number)
{
    struct pb_site *site = pb_sites_at(number);

    if (!RB_OBJ_PROMOTED_RAW(object)) return false;
    site->promoted++;
    site->promoted_bytes += bytes_of(object);
    return true;
}

static void
stop_sampling(void)
{
    if (!state.sampling) return;
    state.sampling = false;
    state.countdown = UINT64_MAX;
    counts.allocated = rb_gc_stat(total_allocated_objects) - state.allocated_before;
}

/* Neither a node of the parser nor an environment of a block is an object that a program knows. */
static bool
is_internal(VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_NONE:
      case T_IMEMO:
      case T_NODE:
      case T_ICLASS:
      case T_ZOMBIE:
      case T_MOVED:
        return true;
      default:
        return RBASIC_CLASS(object) == 0;
    }
}

static void
take(VALUE object)
{
    uint32_t site;

    if (pb_mono_ns() >= state.deadline_ns) {
        stop_sampling();
        return;
    }
    state.countdown = next_distance();
    counts.sampled++;
    if (is_internal(object)) {
        counts.internal++;
        return;
    }
    /* It was freed inside another library's hook. */
    if (pb_young_take(object, &site)) pb_sites_at(site)->died++;
    site = pb_sites_here(RBASIC_CLASS(object));
    if (site == PB_NO_SITE || !pb_young_add(object, site)) {
        counts.lost++;
        return;
    }
    pb_sites_at(site)->sampled++;
}

static bool
is_ractor(VALUE object)
{
    VALUE class = RB_BUILTIN_TYPE(object) == T_DATA ? RBASIC_CLASS(object) : 0;

    while (class && class != rb_cRactor) class = RCLASS_SUPER(class);
    return class != 0;
}

static void
unhook(void)
{
    rb_tracepoint_disable(made);
    rb_tracepoint_disable(gone);
}

/* Ruby serializes these hooks by a lock. */
static void
on_made(VALUE tracepoint, void *unused)
{
    VALUE object;

    if (!pb_survivors_on) {
        /* The child of a fork has the hooks of its parent. */
        pb_survivors_drop();
        return;
    }
    if (state.ractors) return;
    object = rb_tracearg_object(rb_tracearg_from_tracepoint(tracepoint));
    if (is_ractor(object)) {
        /* What it frees is not seen: from here on an address may be that of nothing. */
        state.ractors = true;
        stop_sampling();
        return;
    }
    if (--state.countdown == 0) take(object);
}

static bool
is_lost(VALUE object, uint32_t number)
{
    pb_sites_at(number)->sampled--;
    counts.lost++;
    return true;
}

/* Ruby calls no hook inside another library's hook. After a collection in there an address may be that of another object. */
static void
lose_after_unseen_collections(void)
{
    const uint64_t collections = rb_gc_count();

    if (collections > state.collections_seen + 1) pb_young_sift(is_lost);
    state.collections_seen = collections;
}

static void
on_marked(void)
{
    lose_after_unseen_collections();
    counts.collections++;
    if (!state.sampling && state.markings_left > 0) state.markings_left--;
    pb_young_sift(is_old);
}

static void
on_gone(VALUE tracepoint, void *unused)
{
    rb_trace_arg_t *argument;
    uint32_t site;
    VALUE object;

    if (!pb_survivors_on || state.ractors) return;
    argument = rb_tracearg_from_tracepoint(tracepoint);
    if (rb_tracearg_event_flag(argument) != RUBY_INTERNAL_EVENT_FREEOBJ) {
        on_marked();
        return;
    }
    object = rb_tracearg_object(argument);
    if (pb_young_take(object, &site)) died(object, site);
}

static VALUE
ractors(void)
{
    return rb_funcall(rb_cRactor, rb_intern("count"), 0);
}

/* GC.config came with the choice of a collector, in Ruby 3.4. */
static bool
is_default_collector(void)
{
    VALUE config, name;

    if (!rb_respond_to(rb_mGC, rb_intern("config"))) return true;
    config = rb_funcall(rb_mGC, rb_intern("config"), 0);
    if (!RB_TYPE_P(config, T_HASH)) return true;
    name = rb_hash_lookup(config, ID2SYM(rb_intern("implementation")));
    return !RB_TYPE_P(name, T_STRING) || strcmp(StringValueCStr(name), "default") == 0;
}

static enum pb_survivors_refusal
refusal(void)
{
    if (!AGES_KNOWN) return PB_REFUSED_RUBY;
    if (!is_default_collector()) return PB_REFUSED_COLLECTOR;
    if (ractors() != INT2FIX(1)) return PB_REFUSED_RACTORS;
    return PB_REFUSED_NOT;
}

static void
start(const struct pb_survivors_header *asked)
{
    memset(&counts, 0, sizeof counts);
    memset(&state, 0, sizeof state);
    if (getrandom(&state.random, sizeof state.random, 0) != (ssize_t)sizeof state.random) state.random = pb_mono_ns();
    state.random |= 1;
    state.per_object = asked->every > 1 ? log1p(-1.0 / asked->every) : 0;
    state.deadline_ns = asked->deadline_mono_ns;
    state.last_ns = asked->last_mono_ns;
    state.markings_left = MARKINGS_AFTER;
    state.countdown = next_distance();
    state.allocated_before = rb_gc_stat(total_allocated_objects);
    state.collections_seen = rb_gc_count();
    state.sampling = true;
    pb_survivors_on = true;
    rb_tracepoint_enable(gone);
    rb_tracepoint_enable(made);
}

bool
pb_survivors_asked(uint64_t request)
{
    return pb_survivors_file_open(request);
}

void
pb_survivors_begin(void)
{
    enum pb_survivors_refusal refused = refusal();

    if (!refused && (!pb_sites_make() || !pb_young_make())) refused = PB_REFUSED_MEMORY;
    if (refused) {
        pb_survivors_file_refuse(refused);
        return;
    }
    if (!made) {
        made = rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_NEWOBJ, on_made, NULL);
        gone = rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_FREEOBJ | RUBY_INTERNAL_EVENT_GC_END_MARK, on_gone, NULL);
    }
    pb_survivors_file_begin();
    start(pb_survivors_file_header());
}

void
pb_survivors_drop(void)
{
    pb_survivors_on = false;
    if (made) unhook();
    pb_young_free();
    pb_sites_free();
    pb_survivors_file_close();
}

void
pb_survivors_end(void)
{
    stop_sampling();
    counts.undecided = pb_young_count();
    /* Its objects are of no interest any more, its code is marked until all is written. A hook without a recording would take this
     * for the child of a fork and drop everything. */
    unhook();
    pb_survivors_on = false;
    if (state.ractors) pb_survivors_file_refuse(PB_REFUSED_RACTORS);
    else pb_survivors_file_write(&counts);
}

bool
pb_survivors_due(void)
{
    const uint64_t now_ns = pb_mono_ns();

    if (state.ractors) return true;
    if (now_ns < state.deadline_ns) return false;
    stop_sampling();
    return pb_young_count() == 0 || state.markings_left == 0 || now_ns >= state.last_ns;
}

void
pb_survivors_forget(void)
{
    pb_survivors_on = false;
    pb_survivors_file_forget();
}

static void
mark(void *unused)
{
    pb_sites_mark();
}

static void
moved(void *unused)
{
    if (pb_survivors_on && !state.ractors) pb_young_follow();
}

static const rb_data_type_t type = {
    "powerband/survivors",
    { .dmark = mark, .dfree = RUBY_NEVER_FREE, .dcompact = moved },
    .flags = 0,
};

void
pb_survivors_init(void)
{
    total_allocated_objects = ID2SYM(rb_intern("total_allocated_objects"));
    rb_gc_register_address(&made);
    rb_gc_register_address(&gone);
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &type, &state));
}
