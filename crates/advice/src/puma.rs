//! Puma's configuration file, changed as little as possible.
//!
//! Only lines whose meaning is certain are rewritten: `threads`, `workers` and `preload_app!` statements on one
//! line each, and the defaults of `ENV.fetch("RAILS_MAX_THREADS")` and `ENV.fetch("WEB_CONCURRENCY")`. Anything
//! cleverer is left alone and overridden by a line at the end, because Puma lets the last statement win.

use crate::{Change, Knobs};

/// The text of a `config/puma.rb` with these knobs; `before` is empty when there is none.
pub fn puma_config(path: &str, before: &str, knobs: Knobs) -> Change {
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    set_threads(&mut lines, knobs.threads);
    set_workers(&mut lines, knobs.workers);
    set_preload(&mut lines, knobs);
    let mut after = lines.join("\n");
    after.push('\n');
    if before.trim().is_empty() {
        after = after.trim_start().to_owned();
    }
    Change::between(path, before, after)
}

fn set_threads(lines: &mut Vec<String>, threads: u16) {
    let through_env = set_default(lines, "RAILS_MAX_THREADS", threads);
    // A minimum of its own keeps the pool from being as large as was measured.
    set_default(lines, "RAILS_MIN_THREADS", threads);
    match statement(lines, "threads") {
        Some(at) if is_number_list(arguments(&lines[at], "threads")) => {
            lines[at] = format!("{}threads {threads}, {threads}", indent(&lines[at]));
        }
        Some(_) if through_env => {}
        _ => lines.push(format!("threads {threads}, {threads}")),
    }
}

fn set_workers(lines: &mut Vec<String>, workers: u16) {
    let through_env = set_default(lines, "WEB_CONCURRENCY", workers);
    match statement(lines, "workers") {
        Some(at) if is_number_list(arguments(&lines[at], "workers")) => {
            lines[at] = format!("{}workers {workers}", indent(&lines[at]));
        }
        Some(_) if through_env => {}
        None if workers == 0 => {}
        _ => lines.push(format!("workers {workers}")),
    }
}

fn set_preload(lines: &mut Vec<String>, knobs: Knobs) {
    // Written out even where it is the default, which differs between `workers 2` and WEB_CONCURRENCY=2.
    let wanted = if knobs.preload {
        "preload_app!"
    } else {
        "preload_app! false"
    };
    match statement(lines, "preload_app!") {
        _ if knobs.workers == 0 => {}
        Some(at) => {
            let said = arguments(&lines[at], "preload_app!").trim_matches(['(', ')', ' ']);
            let says = said.is_empty() || said == "true";
            if says != knobs.preload {
                lines[at] = format!("{}{wanted}", indent(&lines[at]));
            }
        }
        None => lines.push(wanted.to_owned()),
    }
}

/// The last line that is this statement and nothing conditional.
fn statement(lines: &[String], name: &str) -> Option<usize> {
    lines.iter().rposition(|line| {
        let code = line.trim_start();
        code.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(']))
            && !code.contains(" if ")
            && !code.contains(" unless ")
    })
}

fn arguments<'a>(line: &'a str, name: &str) -> &'a str {
    let code = line.trim_start();
    let rest = code.strip_prefix(name).unwrap_or(code);
    rest.split('#').next().unwrap_or(rest).trim()
}

fn is_number_list(arguments: &str) -> bool {
    let list = arguments.trim_matches(['(', ')', ' ']);
    !list.is_empty()
        && list
            .split(',')
            .all(|part| part.trim().parse::<u16>().is_ok())
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Changes the default of `ENV.fetch("NAME", 3)` or `ENV.fetch("NAME") { 3 }`; whether there was one.
fn set_default(lines: &mut [String], name: &str, value: u16) -> bool {
    let mut found = false;
    for line in lines
        .iter_mut()
        .filter(|line| !line.trim_start().starts_with('#'))
    {
        for quote in ['"', '\''] {
            let call = format!("ENV.fetch({quote}{name}{quote}");
            let Some(start) = line.find(&call).map(|at| at + call.len()) else {
                continue;
            };
            let rest = &line[start..];
            let digits_from = rest.find(|c: char| c.is_ascii_digit());
            let only_glue = |text: &str| {
                text.chars()
                    .all(|c| matches!(c, ',' | ' ' | ')' | '{' | '"' | '\''))
            };
            if let Some(from) = digits_from.filter(|from| only_glue(&rest[..*from])) {
                let length = rest[from..]
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .count();
                line.replace_range(start + from..start + from + length, &value.to_string());
                found = true;
            }
        }
    }
    found
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
            "threads_count = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nthreads threads_count, threads_count\n\nport ENV.fetch(\"PORT\", 3000)\nworkers 2\npreload_app!\n"
        );
    }

    #[test]
    fn block_defaults_and_plain_numbers_are_known() {
        let before =
            "workers ENV.fetch('WEB_CONCURRENCY') { 4 }\nthreads 1, 6 # as ever\npreload_app!\n";
        let change = puma_config("p", before, knobs(2, 3, false));
        assert_eq!(
            change.text,
            "workers ENV.fetch('WEB_CONCURRENCY') { 2 }\nthreads 3, 3\npreload_app! false\n"
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
}
