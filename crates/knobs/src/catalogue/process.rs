//! Calls that a Ruby process makes once it runs: the agent makes them as the server boots (`docs/agent.md`).

use crate::knob::{Kind, Knob, Place, Versions};

/// The prefix of the variables that name these calls to the agent; only a server reads them, as it boots.
pub const SETUP: &str = "POWERBAND_SETUP_";

const fn switch(
    name: &'static str,
    variable: &'static str,
    about: &'static str,
    caution: &'static str,
) -> Knob {
    Knob {
        caution,
        ..Knob::variable(name, variable, Kind::Switch, "off", "on", about)
    }
}

pub const KNOBS: &[Knob] = &[
    Knob {
        name: "ruby",
        place: Place::Environment,
        variable: "PATH",
        kind: Kind::Text,
        versions: Versions::ALL,
        default: "the `ruby` on the `PATH`",
        example: "3.4",
        about: "The Ruby that runs the server: a version that is installed, or a path from the configuration's folder. Puma, Unicorn, Pitchfork and Falcon are \
                started by it, Passenger gets \
                its path, a command of your own finds its folder first on `PATH`.",
        caution: "Its gems must be there; the agent's extension is built for each version.",
    },
    Knob {
        versions: Versions::since(3, 3),
        ..switch(
            "warmup",
            "POWERBAND_SETUP_WARMUP",
            "`Process.warmup` once the application is loaded: a major GC, compaction, and free memory returned to the kernel, so that \
             forked workers share more.",
            "In a preloading cluster before the workers are forked, else in each process.",
        )
    },
    switch(
        "compact",
        "POWERBAND_SETUP_COMPACT",
        "`GC.compact` once the application is loaded.",
        "`warmup` does this, too.",
    ),
    switch(
        "auto_compact",
        "POWERBAND_SETUP_AUTO_COMPACT",
        "`GC.auto_compact = true`: every major GC compacts.",
        "A major GC takes longer then.",
    ),
    switch(
        "gc_profiler",
        "POWERBAND_SETUP_GC_PROFILER",
        "`GC::Profiler.enable` in every process that serves, as monitoring tools leave it.",
        "",
    ),
    Knob {
        kind: Kind::Whole {
            least: 1,
            most: 1_000_000,
            of: "requests",
        },
        example: "10",
        ..switch(
            "oob_gc",
            "POWERBAND_SETUP_OOB_GC",
            "A GC after every so many requests of a process, when it serves none.",
            "From Ruby 3.4 on, major collections happen only then.",
        )
    },
    Knob {
        versions: Versions::since(3, 4),
        ..switch(
            "oob_major",
            "POWERBAND_SETUP_OOB_MAJOR",
            "Major collections run only while a process serves no request, as soon as Ruby needs one.",
            "A process that always serves a request never runs them, so that its memory grows. Not together with `oob_gc`.",
        )
    },
    Knob {
        kind: Kind::Text,
        default: "nothing",
        example: "oj",
        ..switch(
            "require",
            "POWERBAND_SETUP_REQUIRE",
            "Ruby libraries that are loaded before the application, such as a drop-in one.",
            "Bundler lets through what the Gemfile names; `gemfile` takes another Gemfile.",
        )
    },
    Knob {
        kind: Kind::Text,
        default: "the application's Gemfile",
        example: "Gemfile.next",
        ..switch(
            "gemfile",
            "BUNDLE_GEMFILE",
            "Another Gemfile, from the application's folder: with a gem more or less, or another version.",
            "Its gems must be installed.",
        )
    },
    Knob {
        kind: Kind::Whole {
            least: 1,
            most: 1000,
            of: "connections",
        },
        default: "what the application's config/database.yml says, as a rule its threads",
        example: "10",
        ..switch(
            "pool",
            "pool",
            "Connections to the database that each process may hold: `pool=` in `DATABASE_URL` where there is one, else \
             `RAILS_MAX_THREADS` apart from Puma's own threads.",
            "The agent reads it back from Active Record's pool.",
        )
    },
];
