//! What the collector, the scheduler and the compiler of a Ruby process take from their environment.
//!
//! Names, bounds and defaults of the collector's variables are those of `ruby_gc_set_params` in CRuby's `gc.c` (from 3.4
//! on `rb_gc_impl_set_params` in `gc/default/default.c`), read in 3.3 and in what will be 4.1, and tried with
//! `tests/suite/ruby.rs`. Where Ruby has no upper bound, the one here keeps a slip of the finger from taking the machine down.

use crate::knob::{Kind, Knob, Place, Version, Versions};

const GIB: u64 = 1 << 30;
const SLOTS: Kind = Kind::Whole {
    least: 1,
    most: 100_000_000,
    of: "slots",
};
const BYTES: Kind = Kind::Size {
    least: 1024,
    most: 1024 * GIB,
};
const GROWTH: Kind = Kind::Number {
    over: 1.0,
    most: 100.0,
    zero: false,
};
const FACTOR: Kind = Kind::Number {
    over: 0.0,
    most: 1000.0,
    zero: true,
};
const SHARE: Kind = Kind::Number {
    over: 0.0,
    most: 1.0,
    zero: false,
};
const SHARE_OR_NONE: Kind = Kind::Number {
    over: 0.0,
    most: 1.0,
    zero: true,
};

const fn pool(name: &'static str, variable: &'static str, about: &'static str) -> Knob {
    Knob {
        versions: Versions::since(3, 3),
        caution: "Ruby takes their memory at boot; slots that stay empty cost PSS.",
        ..Knob::variable(name, variable, SLOTS, "10000", "40000", about)
    }
}

pub const KNOBS: &[Knob] = &[
    Knob {
        versions: Versions {
            from: None,
            ignored_from: Some((
                Version(3, 3),
                "gc.heap_0_init_slots to gc.heap_4_init_slots",
            )),
        },
        caution: "Ruby 3.2 only: 3.3 has one for each pool.",
        ..Knob::variable(
            "gc.heap_init_slots",
            "RUBY_GC_HEAP_INIT_SLOTS",
            SLOTS,
            "10000",
            "400000",
            "Slots for objects at boot.",
        )
    },
    pool(
        "gc.heap_0_init_slots",
        "RUBY_GC_HEAP_0_INIT_SLOTS",
        "Slots of 40 bytes at boot.",
    ),
    pool(
        "gc.heap_1_init_slots",
        "RUBY_GC_HEAP_1_INIT_SLOTS",
        "Slots of 80 bytes at boot.",
    ),
    pool(
        "gc.heap_2_init_slots",
        "RUBY_GC_HEAP_2_INIT_SLOTS",
        "Slots of 160 bytes at boot.",
    ),
    pool(
        "gc.heap_3_init_slots",
        "RUBY_GC_HEAP_3_INIT_SLOTS",
        "Slots of 320 bytes at boot.",
    ),
    pool(
        "gc.heap_4_init_slots",
        "RUBY_GC_HEAP_4_INIT_SLOTS",
        "Slots of 640 bytes at boot.",
    ),
    Knob::variable(
        "gc.heap_free_slots",
        "RUBY_GC_HEAP_FREE_SLOTS",
        SLOTS,
        "4096",
        "16384",
        "Slots that must be free after a collection; Ruby adds pages until they are.",
    ),
    Knob::variable(
        "gc.heap_growth_factor",
        "RUBY_GC_HEAP_GROWTH_FACTOR",
        GROWTH,
        "1.8",
        "1.1",
        "How much larger the heap is each time it grows.",
    ),
    Knob::variable(
        "gc.heap_growth_max_slots",
        "RUBY_GC_HEAP_GROWTH_MAX_SLOTS",
        SLOTS,
        "no limit",
        "300000",
        "Most slots by which the heap grows at once.",
    ),
    Knob {
        caution: "Stays below gc.heap_free_slots_max_ratio.",
        ..Knob::variable(
            "gc.heap_free_slots_min_ratio",
            "RUBY_GC_HEAP_FREE_SLOTS_MIN_RATIO",
            SHARE,
            "0.2",
            "0.1",
            "Share of free slots below which the heap grows.",
        )
    },
    Knob {
        caution: "0, or between gc.heap_free_slots_min_ratio and gc.heap_free_slots_max_ratio.",
        ..Knob::variable(
            "gc.heap_free_slots_goal_ratio",
            "RUBY_GC_HEAP_FREE_SLOTS_GOAL_RATIO",
            SHARE_OR_NONE,
            "0.4",
            "0.3",
            "Share of free slots to which the heap grows; 0: it grows by gc.heap_growth_factor.",
        )
    },
    Knob {
        caution: "Stays above gc.heap_free_slots_min_ratio.",
        ..Knob::variable(
            "gc.heap_free_slots_max_ratio",
            "RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO",
            SHARE,
            "0.65",
            "0.5",
            "Share of free slots above which Ruby frees pages.",
        )
    },
    Knob::variable(
        "gc.heap_oldobject_limit_factor",
        "RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR",
        FACTOR,
        "2",
        "1.2",
        "Ruby starts a major GC when the old objects are so many times those that the last one left.",
    ),
    Knob {
        versions: Versions::since(3, 3),
        ..Knob::variable(
            "gc.heap_remembered_wb_unprotected_objects_limit_ratio",
            "RUBY_GC_HEAP_REMEMBERED_WB_UNPROTECTED_OBJECTS_LIMIT_RATIO",
            FACTOR,
            "0.01",
            "0.05",
            "Ruby starts a major GC when the remembered objects without a write barrier reach this share of the old objects.",
        )
    },
    Knob {
        caution: "A higher limit means fewer collections and more memory. Grows at run time up to gc.malloc_limit_max.",
        ..Knob::variable(
            "gc.malloc_limit",
            "RUBY_GC_MALLOC_LIMIT",
            BYTES,
            "16MiB",
            "64MiB",
            "Bytes allocated by malloc until a GC.",
        )
    },
    Knob {
        caution: "A value below gc.malloc_limit lowers that as well.",
        ..Knob::variable(
            "gc.malloc_limit_max",
            "RUBY_GC_MALLOC_LIMIT_MAX",
            BYTES,
            "32MiB",
            "128MiB",
            "The highest value that gc.malloc_limit grows to.",
        )
    },
    Knob::variable(
        "gc.malloc_limit_growth_factor",
        "RUBY_GC_MALLOC_LIMIT_GROWTH_FACTOR",
        GROWTH,
        "1.4",
        "1.1",
        "The factor by which gc.malloc_limit grows each time it is reached.",
    ),
    Knob {
        caution: "A higher limit means fewer major collections and more memory.",
        ..Knob::variable(
            "gc.oldmalloc_limit",
            "RUBY_GC_OLDMALLOC_LIMIT",
            BYTES,
            "16MiB",
            "64MiB",
            "Bytes allocated by malloc for old objects until a major GC.",
        )
    },
    Knob::variable(
        "gc.oldmalloc_limit_max",
        "RUBY_GC_OLDMALLOC_LIMIT_MAX",
        BYTES,
        "128MiB",
        "256MiB",
        "The highest value of gc.oldmalloc_limit.",
    ),
    Knob::variable(
        "gc.oldmalloc_limit_growth_factor",
        "RUBY_GC_OLDMALLOC_LIMIT_GROWTH_FACTOR",
        GROWTH,
        "1.2",
        "1.4",
        "The factor by which gc.oldmalloc_limit grows each time it is reached.",
    ),
    Knob {
        name: "thread_timeslice",
        place: Place::Environment,
        variable: "RUBY_THREAD_TIMESLICE",
        kind: Kind::Milliseconds {
            least: 1,
            most: 10_000,
        },
        versions: Versions::since(3, 4),
        default: "100ms",
        example: "10ms",
        about: "How long a thread may run Ruby while others wait for the GVL.",
        caution: "Ruby does not report whether it took the value.",
    },
    Knob {
        name: "yjit",
        place: Place::Environment,
        variable: "RUBY_YJIT_ENABLE",
        kind: Kind::Switch,
        versions: Versions::ALL,
        default: "off",
        example: "on",
        about: "Whether Ruby starts with YJIT, its compiler.",
        caution: "`on` needs a Ruby that was built with it. Rails 7.2 and newer switch it on by themselves after boot, \
                  whatever is set here (`config.yjit = false` stops that).",
    },
];
