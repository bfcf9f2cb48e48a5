//! `docs/knobs.md`, made of the catalogue so that it cannot drift from what is parsed.

use crate::catalogue::CATALOGUE;
use crate::knob::{Knob, Place};
use std::fmt::Write;

const OPENING: &str = "# Knobs

<!-- Generated from crates/knobs by `make contract`; a test fails when it is stale. -->

What `powerband compare` and `powerband sweep` can set in addition to `threads`, `workers` and `preload`: whatever a server takes
from its environment, what calls at boot set in Ruby, and what stands in the configuration of Puma, Passenger
and nginx. `tune` searches threads, workers and preloading, and with `--knobs` those of these that are named.

```sh
powerband compare threads=5 threads=5,malloc_arena_max=2 threads=5,allocator=jemalloc
powerband sweep gc.malloc_limit=16MiB,32MiB,64MiB --baseline threads=5,workers=2
powerband compare threads=5 threads=5,env.MY_CACHE=on     # any other variable
```

In `powerband.toml` they stand in `[baseline]` and in each [`[[arm]]`](configuration.md#arm-configurations-to-compare), where
`[baseline.gc]` and `[baseline.env]` save the prefix. An arm takes
what it does not name from the baseline; `default` as a value takes a knob back to what Ruby or glibc do by themselves, also
where the application's own environment sets the variable (`allocator` goes back by `glibc`, and of `env.NAME` `default` is a
text like any other). A value with commas goes into double quotes where it would be read as another knob; two double quotes
within them are one.

## What is checked

- **Before the first trial** the application's Ruby is started once in the environment of each configuration, with `-w`.
  What it says it ignores, and a variable of the collector that it does not know, ends the run with that reason, as does a
  variable that Ruby of this version does not look at, and an allocator whose library is not installed.
  In a search over several Rubies (knob `ruby`) a value is tried with those that take it; with which it is not
  tried is said before the first trial and on the page. With a value that a Ruby ends with an error for, nothing is run.
- **In each trial**, after warming up, each variable is read back from `/proc/PID/environ` of the server's processes, and the
  allocator from `/proc/PID/maps`. One that did not take fails the trial. What the application does to `ENV` while it runs
  is not seen there.
- **What the agent does** (`warmup` to `require`) it reports in a file of each process, and **`pool`** comes back from Active
  Record's own pool. **Directives** of Puma, Passenger and nginx are written into the configuration that the server is started
  with, and read back where the program tells.
- `value.NAME` fills `{NAME}` in `server.command`, in `workload.command` and in the commands and templates of `[[service]]`; one that stands nowhere is
  an error.
- `PORT`, `PATH`, `RAILS_ENV`, `RACK_ENV`, `RAILS_MAX_THREADS`, `RAILS_MIN_THREADS`, `WEB_CONCURRENCY`, `RUBYOPT`, `RUBYLIB` and
  `POWERBAND_*` cannot be set by `env.NAME`: Powerband sets them itself.
- The page, the run document and messages show `REDACTED` in place of the value of a variable that looks secret
  (`DATABASE_URL`, names with `SECRET`, `PASS`, `PWD`, `TOKEN`, `KEY`, `CREDENTIAL`, `AUTH` or `DSN`, URLs with a user in them).
  Remote addresses in them are refused as everywhere ([safety](tune.md#safety)).

";

/// The page.
pub fn page() -> String {
    let mut page = OPENING.to_owned();
    page.push_str("## The knobs\n\n| knob | sets | takes | without it | Ruby | e.g. |\n|---|---|---|---|---|---|\n");
    for knob in CATALOGUE.iter() {
        let _ = writeln!(
            page,
            "| `{0}` | {1} | {2} | {3} | {4} | `{0}={5}` |",
            knob.name,
            sets(knob),
            knob.takes(),
            knob.default,
            versions(knob),
            knob.example
        );
    }
    page.push_str(
        "| `env.NAME` | `NAME` | text; with commas in double quotes | what the application's environment holds | any | \
         `env.MY_CACHE=on` |\n| `value.NAME` | `{NAME}` in commands and templates | text; with commas in double quotes | none: it must be \
         given | any | `value.shared_buffers=64MB` |\n\n## What they do\n\n",
    );
    for knob in CATALOGUE.iter() {
        let space = if knob.caution.is_empty() { "" } else { " " };
        let _ = writeln!(
            page,
            "- **`{}`**: {}{space}{}",
            knob.name, knob.about, knob.caution
        );
    }
    page
}

fn sets(knob: &Knob) -> String {
    match knob.place {
        Place::Environment => format!("`{}`", knob.variable),
        Place::Configuration(program) => format!("`{}` of {}", knob.variable, program.name()),
    }
}

fn versions(knob: &Knob) -> String {
    match (knob.versions.from, knob.versions.ignored_from) {
        (None, None) => "any".to_owned(),
        (Some(from), None) => format!("{from} and newer"),
        (None, Some((since, _))) => format!("before {since}"),
        (Some(from), Some((since, _))) => format!("{from} until before {since}"),
    }
}
