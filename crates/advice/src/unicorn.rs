//! Unicorn's configuration file, changed as little as possible, by the rules that hold for Puma's.

use crate::statement::{rewritten, set_number, set_statement};
use crate::{Change, Note};

/// `worker_processes` and `preload_app`; `before` is empty when there is none.
pub fn write(
    path: &str,
    before: &str,
    workers: u16,
    preload: bool,
    notes: &mut Vec<Note>,
) -> Change {
    // Unicorn has no single mode.
    let workers = workers.max(1);
    let after = rewritten(before, |lines| {
        let wanted = format!("worker_processes {workers}");
        let variables = ["WEB_CONCURRENCY"];
        set_number(lines, "worker_processes", &variables, workers, &wanted);
        set_statement(
            lines,
            "preload_app",
            &format!("preload_app {preload}"),
            |said| said == if preload { "true" } else { "false" },
        );
    });
    if preload && !before.contains("after_fork") {
        notes.push(Note::new(
            path,
            "with preload_app the workers inherit open connections: where the application opens some as it \
             loads, close them in before_fork and open them in after_fork (Active Record does so by itself).",
        ));
    }
    Change::between(path, before, after, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(before: &str, workers: u16, preload: bool) -> String {
        write("u", before, workers, preload, &mut Vec::new()).text
    }

    #[test]
    fn statements_are_changed_where_they_stand() {
        let before = "worker_processes 4 # cores\npreload_app true\nlisten \"/tmp/sock\"\nafter_fork do |server, worker|\nend\n";
        assert_eq!(
            config(before, 6, false),
            before.replace(" 4", " 6").replace("true", "false")
        );
        assert_eq!(config(before, 4, true), before);
    }

    #[test]
    fn defaults_of_the_environment_are_known_and_what_is_clever_is_overridden() {
        let before = "worker_processes Integer(ENV.fetch(\"WEB_CONCURRENCY\", 3))\n";
        assert_eq!(
            config(before, 5, true),
            "worker_processes Integer(ENV.fetch(\"WEB_CONCURRENCY\", 5))\npreload_app true\n"
        );
        let before = "worker_processes Integer(ENV[\"WEB_CONCURRENCY\"] || 3)\n";
        assert_eq!(
            config(before, 5, true),
            format!("{before}worker_processes 5\npreload_app true\n")
        );
        assert_eq!(
            config("", 0, false),
            "worker_processes 1\npreload_app false\n"
        );
    }

    #[test]
    fn connections_that_are_inherited_are_told() {
        let mut notes = Vec::new();
        write("u", "", 2, true, &mut notes);
        assert_eq!(notes.len(), 1);
    }
}
