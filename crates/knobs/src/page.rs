//! `docs/knobs.md`, made of the catalogue so that it cannot drift from what is parsed.

use crate::catalogue::CATALOGUE;
use crate::knob::{Knob, Place};
use std::fmt::Write;

const OPENING: &str = "# Knobs

<!-- Generated from crates/knobs by `make contract`; a test fails when it is stale. -->

`powerband compare` and `powerband sweep` can set these knobs in addition to `threads`, `workers` and `preload`:

- variables that a server takes from its environment;
- calls that set something in Ruby at boot;
- directives in the configuration of Puma, Pitchfork, Passenger and nginx.

`tune` searches threads, workers and preloading. With `--knobs` it also searches the knobs that you name.

```sh
powerband compare threads=5 threads=5,malloc_arena_max=2 threads=5,allocator=jemalloc
powerband sweep gc.malloc_limit=16MiB,32MiB,64MiB --baseline threads=5,workers=2
powerband compare threads=5 threads=5,env.MY_CACHE=on     # any other variable
powerband compare puma=6.6 puma=7.2 puma=8.0              # versions of a gem that are installed
powerband compare ruby=3.3 ruby=3.4                       # Rubies that are installed
powerband sweep pod.cpus=0.5,1,2 --baseline threads=3     # CPU quotas of the server
```

In `powerband.toml`, write knobs in `[baseline]` and in each [`[[arm]]`](configuration.md#arm-configurations-to-compare). There
`[baseline.gc]` and `[baseline.env]` save the prefix.

- An arm takes every knob that it does not name from the baseline.
- The value `default` returns a knob to the behaviour of Ruby or glibc themselves, even if the application's own environment sets the
  variable. A directive of a server returns to what the application's configuration says. Two knobs differ: `allocator` returns with
  `glibc`, and for `env.NAME` the value `default` is a text like any other.
- Put a value with commas into double quotes if it would otherwise be read as another knob, and in `sweep` and `--knobs`, where commas
  separate values: `--knobs 'pitchfork.refork_after=\"50,100,1000\"'`. Within the quotes, write a double quote as two.

## What is checked

- **Before the first trial**, Powerband starts the application's Ruby once in the environment of each configuration, with `-w`. The run
  ends with the reason if:
  - Ruby says that it ignores a setting;
  - Ruby does not know a variable of the collector;
  - Ruby of this version does not look at a variable;
  - the library of an allocator is not installed.
- **In a search over several Rubies** (knob `ruby`), Powerband tries a value with the Rubies that take it. It names the Rubies with which
  it does not try a value, before the first trial and on the page. If a Ruby ends with an error for a value, nothing is run.
- **In each trial**, after the warm-up, Powerband reads each variable back from `/proc/PID/environ` of the server's processes, and the
  allocator from `/proc/PID/maps`. If one did not take effect, the trial fails. Changes that the application makes to `ENV` while it runs
  are not seen there.
- **Knobs that the agent sets** (`warmup` to `require`): the agent reports them in a file of each process. **`pool`** comes back from
  Active Record's own pool.
- **Directives** of Puma, Pitchfork, Passenger and nginx: Powerband writes them into the configuration that the server is started with. It reads them
  back if the program shows them.
- **Limits of a pod** (`pod.cpus`, `pod.memory`): for each trial Powerband makes a control group, starts the server in it, reads limits and
  members back, and removes it. If none can be made, the run ends before the first trial. The page says how often the quota stopped
  the server. If the kernel kills a process at the memory limit, the trial fails for that reason. [More](kubernetes.md#the-limits-of-a-pod).
- **Versions of gems** (`gem.NAME`): for each configuration Powerband writes a Gemfile and its lock into the run folder. The Gemfile reads
  the application's (or that of `gemfile`) with another version of the gem, and Bundler resolves it before the first trial among the gems
  that are installed. The application's Gemfile and Gemfile.lock stay as they are. `6.6` is the newest installed version of 6.6, `6.6.0`
  that one; in `powerband.toml` write a version in quotes, and where a configuration has directives of Puma as well, as `[arm.gem]`
  `puma = \"8.0\"`. A gem that comes from git or a path is taken from the installed gems. Puma, Unicorn, Pitchfork and Falcon are started by `bundle exec`; a command
  of your own (`server.command`) must do that itself. In each trial the agent reports which version is activated. With
  `workload.command` there is no agent, and nothing reads the version back. `Bundler.root` is the folder of that Gemfile.
- **Rubies** (`ruby`): a path, or a version such as `3.4`, which is looked for among programs named `ruby3.4` on `PATH` and in the folders of
  rbenv, asdf, mise, chruby and RVM. If the Gemfile names another version of Ruby, the configuration gets a Gemfile without that line. The
  gems must be installed for this Ruby.
- `value.NAME` fills `{NAME}` in `server.command`, in `workload.command` and in the commands and templates of `[[service]]`. If `{NAME}`
  is in none of them, that is an error.
- `env.NAME` cannot set `PORT`, `PATH`, `RAILS_ENV`, `RACK_ENV`, `RAILS_MAX_THREADS`, `RAILS_MIN_THREADS`, `WEB_CONCURRENCY`, `RUBYOPT`,
  `RUBYLIB` and `POWERBAND_*`, because Powerband sets them itself.
- The page, the run document and messages show `REDACTED` in place of the value of a variable that looks secret. A variable looks secret if
  its name has `SECRET`, `PASS`, `PWD`, `TOKEN`, `KEY`, `CREDENTIAL`, `AUTH`, `DSN` or `DATABASE_URL` in it, if it has [another name of a
  secret](traffic.md#redaction), or if its value holds a URL with a user. The folders `PWD` and `OLDPWD` are shown. Remote addresses in
  variables are refused as everywhere ([safety](tune.md#safety)).

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
         given | any | `value.shared_buffers=64MB` |\n| `gem.NAME`, `puma` for `gem.puma` | a Gemfile for the configuration | a version that is \
         installed | that of Gemfile.lock | any | `gem.rack=3.1` |\n\n## What they do\n\n",
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
        Place::Group => format!("`{}` of the server's control group", knob.variable),
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
