//! Allocators, and the options that each of them takes from the environment.
//!
//! Those of tcmalloc are gperftools', whose library reads them as `libtcmalloc_minimal.so.4` too; those of mimalloc are what
//! `MIMALLOC_VERBOSE=1` lists for 2.1 and newer. Older ones call `purge_delay` `decommit_delay`.

use crate::knob::{Kind, Knob, Place, Versions};

const MIB: u64 = 1 << 20;

const fn option(
    name: &'static str,
    variable: &'static str,
    kind: Kind,
    default: &'static str,
    example: &'static str,
    about: &'static str,
) -> Knob {
    Knob {
        caution: "Other allocators ignore it.",
        ..Knob::variable(name, variable, kind, default, example, about)
    }
}

pub const KNOBS: &[Knob] = &[
    Knob {
        name: "allocator",
        place: Place::Environment,
        variable: "LD_PRELOAD",
        kind: Kind::OneOf(&["glibc", "jemalloc", "tcmalloc", "mimalloc"]),
        versions: Versions::ALL,
        default: "what Ruby is linked with, glibc as a rule",
        example: "jemalloc",
        about: "The allocator of memory for Ruby's strings, arrays and extensions.",
        caution: "The library must be installed. `glibc` removes an allocator that is preloaded already; it is refused for a Ruby that is linked with musl (Alpine).",
    },
    Knob {
        caution: "Other allocators ignore it. It is refused for a Ruby that is linked with musl (Alpine).",
        ..option(
            "malloc_arena_max",
            "MALLOC_ARENA_MAX",
            Kind::Whole {
                least: 1,
                most: 4096,
                of: "arenas",
            },
            "8 a core",
            "2",
            "Arenas of glibc's allocator: fewer hold less memory and may make threads wait for one another.",
        )
    },
    option(
        "malloc_conf",
        "MALLOC_CONF",
        Kind::Text,
        "jemalloc's own",
        "narenas:2,background_thread:true",
        "Options of jemalloc, `name:value` with commas between them.",
    ),
    option(
        "tcmalloc.release_rate",
        "TCMALLOC_RELEASE_RATE",
        Kind::Number {
            over: 0.0,
            most: 1000.0,
            zero: true,
        },
        "1",
        "5",
        "How fast tcmalloc returns free memory to the kernel: 0 never, 10 fast.",
    ),
    option(
        "tcmalloc.thread_cache",
        "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
        Kind::Size {
            least: MIB,
            most: 1024 * MIB,
        },
        "32MiB",
        "64MiB",
        "The most that tcmalloc's caches of all threads hold together.",
    ),
    option(
        "tcmalloc.aggressive_decommit",
        "TCMALLOC_AGGRESSIVE_DECOMMIT",
        Kind::Switch,
        "off",
        "on",
        "Whether tcmalloc returns every free page to the kernel at once.",
    ),
    Knob {
        caution: "mimalloc 2.1 and newer look at it (Debian 12's is older); other allocators ignore it.",
        ..option(
            "mimalloc.purge_delay",
            "MIMALLOC_PURGE_DELAY",
            Kind::Milliseconds {
                least: 0,
                most: 3_600_000,
            },
            "10ms; 1000ms from 3 on",
            "100ms",
            "How long mimalloc keeps free pages before it returns them to the kernel.",
        )
    },
    option(
        "mimalloc.large_pages",
        "MIMALLOC_ALLOW_LARGE_OS_PAGES",
        Kind::Switch,
        "off; left to transparent huge pages from 2.2 on",
        "on",
        "Whether mimalloc asks for pages of 2 MiB.",
    ),
];
