//! Puma's configuration file, changed as little as possible.
//!
//! Only lines whose meaning is certain are rewritten: the last `threads`, `workers` and `preload_app!` statement
//! where it stands at the start of a line, with plain numbers or with the default of
//! `ENV.fetch("RAILS_MAX_THREADS")` or `ENV.fetch("WEB_CONCURRENCY")`. Anything cleverer (inside a block, with a
//! condition, computed) is left alone and overridden by a line at the end, because Puma lets the last statement
//! win.

use crate::statement::{last, rewritten, set_number, set_statement};
use crate::{Change, Knobs, Note, Puma};

/// The text of a `config/puma.rb` with these knobs; `before` is empty when there is none.
pub fn puma_config(path: &str, before: &str, knobs: Knobs) -> Change {
    write(path, before, knobs, &Puma::default(), &mut Vec::new())
}

/// The same with what only Puma has.
pub fn write(path: &str, before: &str, knobs: Knobs, puma: &Puma, notes: &mut Vec<Note>) -> Change {
    let after = rewritten(before, |lines| {
        set_threads(lines, knobs.threads);
        set_workers(lines, knobs.workers);
        set_preload(lines, knobs);
        for (name, value) in &puma.statements {
            let same = |said: &str| match (said, said.parse::<f64>(), value.parse()) {
                ("", ..) => default_argument(name) == Some(value.as_str()),
                (_, Ok(said), Ok(value)) => said == value,
                _ => said == value,
            };
            set_statement(lines, name, &format!("{name} {value}"), same);
        }
        let calls = [
            (puma.compact_before_fork, "GC.compact"),
            (puma.warm_up_before_fork, "Process.warmup"),
        ];
        for (_, call) in calls.into_iter().filter(|(wanted, _)| *wanted) {
            call_before_fork(path, lines, call, notes);
        }
    });
    Change::between(path, before, after, 2)
}

fn set_threads(lines: &mut Vec<String>, threads: u16) {
    // A minimum of its own keeps the pool from being as large as was measured.
    let names = ["RAILS_MAX_THREADS", "RAILS_MIN_THREADS"];
    set_number(
        lines,
        "threads",
        &names,
        threads,
        &format!("threads {threads}, {threads}"),
    );
}

fn set_workers(lines: &mut Vec<String>, workers: u16) {
    let is_there = last(lines, "workers").is_some();
    // `.env` and Dockerfile set WEB_CONCURRENCY, which a bare number would put out of force.
    let wanted = match is_there {
        true => format!("workers {workers}"),
        false => format!("workers ENV.fetch(\"WEB_CONCURRENCY\", {workers})"),
    };
    if workers > 0 || is_there {
        set_number(lines, "workers", &["WEB_CONCURRENCY"], workers, &wanted);
    }
}

fn set_preload(lines: &mut Vec<String>, knobs: Knobs) {
    if knobs.workers == 0 {
        return;
    }
    // Written out even where it is the default, which differs between `workers 2` and WEB_CONCURRENCY=2.
    let wanted = if knobs.preload {
        "preload_app!"
    } else {
        "preload_app! false"
    };
    set_statement(lines, "preload_app!", wanted, |said| match said {
        "" | "true" => knobs.preload,
        "false" => !knobs.preload,
        _ => false,
    });
}

/// Puma runs all blocks of `before_fork`, so that one more takes nothing from another.
fn call_before_fork(path: &str, lines: &mut Vec<String>, call: &str, notes: &mut Vec<Note>) {
    let wanted = format!("before_fork {{ {call} }}");
    match last(lines, call) {
        Some(at) if lines[at].trim() == wanted => {}
        Some(at) => notes.push(Note::new(
            path,
            format!(
                "line {} calls {call} already; make sure that it is in before_fork, where it was measured.",
                at + 1
            ),
        )),
        None => lines.push(wanted),
    }
}

/// What a statement without an argument says.
fn default_argument(name: &str) -> Option<&'static str> {
    match name {
        "wait_for_less_busy_worker" => Some("0.005"),
        "fork_worker" => Some("1000"),
        "queue_requests" | "enable_keep_alives" | "fiber_per_request" => Some("true"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(workers: u16, threads: u16, preload: bool) -> Knobs {
        Knobs {
            workers,
            threads,
            preload,
        }
    }

    const RAILS: &str = "threads_count = ENV.fetch(\"RAILS_MAX_THREADS\", 3)\nthreads threads_count, threads_count\n\nport ENV.fetch(\"PORT\", 3000)\n";

    #[test]
    fn the_file_that_rails_generates_keeps_its_shape() {
        let change = puma_config("config/puma.rb", RAILS, knobs(2, 5, true));
        assert_eq!(
            change.text,
            "threads_count = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nthreads threads_count, threads_count\n\nport ENV.fetch(\"PORT\", 3000)\nworkers ENV.fetch(\"WEB_CONCURRENCY\", 2)\npreload_app!\n"
        );
    }

    #[test]
    fn block_defaults_and_plain_numbers_are_known() {
        let before =
            "workers ENV.fetch('WEB_CONCURRENCY') { 4 }\nthreads 1, 6 # as ever\npreload_app!\n";
        let change = puma_config("p", before, knobs(2, 3, false));
        assert_eq!(
            change.text,
            "workers ENV.fetch('WEB_CONCURRENCY') { 2 }\nthreads 3, 3 # as ever\npreload_app! false\n"
        );
    }

    #[test]
    fn what_is_too_clever_is_overridden_at_the_end() {
        let before = "threads Etc.nprocessors, 9\nworkers 3 if ENV['BIG']\n";
        let change = puma_config("p", before, knobs(1, 2, true));
        assert_eq!(
            change.text,
            "threads Etc.nprocessors, 9\nworkers 3 if ENV['BIG']\nthreads 2, 2\nworkers 1\npreload_app!\n"
        );
    }

    #[test]
    fn comments_are_no_statements() {
        let change = puma_config(
            "p",
            "# threads 9, 9\n# ENV.fetch(\"RAILS_MAX_THREADS\", 9)\n",
            knobs(0, 2, false),
        );
        assert_eq!(
            change.text,
            "# threads 9, 9\n# ENV.fetch(\"RAILS_MAX_THREADS\", 9)\nthreads 2, 2\n"
        );
    }

    #[test]
    fn a_new_file_and_an_unchanged_one() {
        let change = puma_config("config/puma.rb", "", knobs(0, 5, false));
        assert_eq!(change.text, "threads 5, 5\n");
        assert_eq!(
            puma_config("config/puma.rb", &change.text, knobs(0, 5, false)).diff,
            ""
        );
    }

    const RAILS_7_0: &str = "max_threads_count = ENV.fetch(\"RAILS_MAX_THREADS\") { 5 }
min_threads_count = ENV.fetch(\"RAILS_MIN_THREADS\") { max_threads_count }
threads min_threads_count, max_threads_count

worker_timeout 3600 if ENV.fetch(\"RAILS_ENV\", \"development\") == \"development\"
port ENV.fetch(\"PORT\") { 3000 }
# workers ENV.fetch(\"WEB_CONCURRENCY\") { 2 }
# preload_app!
plugin :tmp_restart
";

    #[test]
    fn rails_7_0_keeps_its_shape() {
        let change = puma_config("p", RAILS_7_0, knobs(0, 3, false));
        assert_eq!(change.text, RAILS_7_0.replace("{ 5 }", "{ 3 }"));
        let change = puma_config("p", RAILS_7_0, knobs(2, 3, true));
        let ending =
            "plugin :tmp_restart\nworkers ENV.fetch(\"WEB_CONCURRENCY\", 2)\npreload_app!\n";
        assert!(change.text.ends_with(ending), "{}", change.text);
    }

    const RAILS_7_1: &str = "max_threads_count = ENV.fetch(\"RAILS_MAX_THREADS\") { 5 }
min_threads_count = ENV.fetch(\"RAILS_MIN_THREADS\") { max_threads_count }
threads min_threads_count, max_threads_count

if ENV[\"RAILS_ENV\"] == \"production\"
  require \"concurrent-ruby\"
  worker_count = Integer(ENV.fetch(\"WEB_CONCURRENCY\") { Concurrent.physical_processor_count })
  workers worker_count if worker_count > 1
end
";

    #[test]
    fn rails_7_1_leaves_its_cluster() {
        let change = puma_config("p", RAILS_7_1, knobs(0, 5, false));
        assert_eq!(change.text, format!("{RAILS_7_1}workers 0\n"));
        let change = puma_config("p", RAILS_7_1, knobs(2, 5, false));
        assert_eq!(
            change.text,
            format!("{RAILS_7_1}workers 2\npreload_app! false\n")
        );
    }

    #[test]
    fn what_stands_in_a_block_is_conditional() {
        let before =
            "workers 3\nif ENV['SMALL']\n  workers 0\n  threads 1, 1\n  preload_app!\nend\n";
        let change = puma_config("p", before, knobs(2, 4, true));
        assert_eq!(
            change.text,
            format!("{before}threads 4, 4\nworkers 2\npreload_app!\n")
        );
    }

    #[test]
    fn an_environment_default_counts_only_where_it_decides() {
        for before in [
            "threads 1, ENV.fetch(\"RAILS_MAX_THREADS\", 5)\n",
            "pool = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nthreads 2, count\n",
            "n = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nn = 9\nthreads n, n\n",
            "n = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nn += 1\nthreads n, n\n",
            "a = b\nb = a\nthreads a, b\n",
            "if x\n  n = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nend\nthreads n, n\n",
            "threads ENV.fetch(\"RAILS_MAX_THREADS\", 5) * 2, 9\n",
        ] {
            let change = puma_config("p", before, knobs(0, 3, false));
            assert_eq!(change.text, format!("{before}threads 3, 3\n"));
        }
        let before = "spare = ENV.fetch(\"WEB_CONCURRENCY\", 2)\nworkers Etc.nprocessors\n";
        let change = puma_config("p", before, knobs(1, 3, true));
        let ending = "workers Etc.nprocessors\nthreads 3, 3\nworkers 1\npreload_app!\n";
        assert!(change.text.ends_with(ending), "{}", change.text);
    }

    #[test]
    fn fetches_in_all_arguments_and_conversions_are_known() {
        let before = "threads ENV.fetch('RAILS_MAX_THREADS', 5), ENV.fetch('RAILS_MAX_THREADS') { 5 }.to_i\nworkers Integer(ENV.fetch('WEB_CONCURRENCY', \"4\"))\n";
        let change = puma_config("p", before, knobs(0, 3, false));
        assert_eq!(
            change.text,
            before.replace('5', "3").replace("\"4\"", "\"0\"")
        );
    }

    #[test]
    fn comments_of_rewritten_lines_stay() {
        let before = "threads 1, 6   # as ever\nworkers(2) # cores\npreload_app! # saves memory\n";
        let change = puma_config("p", before, knobs(3, 4, false));
        assert_eq!(
            change.text,
            "threads 4, 4   # as ever\nworkers 3 # cores\npreload_app! false # saves memory\n"
        );
    }

    #[test]
    fn what_only_puma_has_is_set_once() {
        let with = |before: &str, statements: &[(&'static str, &str)]| {
            let statements = statements
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()));
            let puma = Puma {
                statements: statements.collect(),
                ..Puma::default()
            };
            let mut notes = Vec::new();
            let change = write("p", before, knobs(2, 3, false), &puma, &mut notes);
            assert!(notes.is_empty(), "{notes:?}");
            change.text
        };
        let base = "threads 3, 3\nworkers 2\npreload_app! false\n";
        let on = [
            ("wait_for_less_busy_worker", "0.01"),
            ("fork_worker", "500"),
        ];
        let wanted = format!("{base}wait_for_less_busy_worker 0.01\nfork_worker 500\n");
        assert_eq!(with(base, &on), wanted);
        assert_eq!(with(&wanted, &on), wanted);
        let other = wanted.replace("0.01", "0.0100").replace("500", "9");
        assert_eq!(with(&other, &on), wanted.replace("0.01", "0.0100"));
        let bare = format!("{base}fork_worker\nqueue_requests\n");
        let said = [("fork_worker", "1000"), ("queue_requests", "true")];
        assert_eq!(with(&bare, &said), bare);
        let off = with(&bare, &[("queue_requests", "false")]);
        assert_eq!(off, bare.replace("queue_requests", "queue_requests false"));
        let hidden = format!("{base}if x\n  fork_worker\nend\n");
        assert_eq!(
            with(&hidden, &[("fork_worker", "5")]),
            format!("{hidden}fork_worker 5\n")
        );
    }

    #[test]
    fn calls_before_the_fork_are_written_once() {
        let with = |before: &str| {
            let puma = Puma {
                compact_before_fork: true,
                warm_up_before_fork: true,
                ..Puma::default()
            };
            let mut notes = Vec::new();
            let change = write("p", before, knobs(2, 3, true), &puma, &mut notes);
            (change.text, notes.len())
        };
        let base = "threads 3, 3\nworkers 2\npreload_app!\n";
        let wanted =
            format!("{base}before_fork {{ GC.compact }}\nbefore_fork {{ Process.warmup }}\n");
        assert_eq!(with(base), (wanted.clone(), 0));
        assert_eq!(with(&wanted), (wanted, 0));
        let own = format!("{base}before_fork do\n  Process.warmup\n  GC.compact\nend\n");
        assert_eq!(with(&own), (own, 2));
    }

    #[test]
    fn what_follows_the_program_and_how_lines_end_stay() {
        let before = "threads 1, 2\r\nport 3000\r\n__END__\nnotes\n";
        let change = puma_config("p", before, knobs(2, 3, true));
        assert_eq!(
            change.text,
            "threads 3, 3\r\nport 3000\r\nworkers ENV.fetch(\"WEB_CONCURRENCY\", 2)\r\npreload_app!\r\n__END__\nnotes\n"
        );
    }
}
