//! The configuration file of Unicorn or of Pitchfork, its fork, changed as little as possible, by the rules that hold for Puma's.

use crate::statement::{rewritten, set_number, set_statement};
use crate::{Change, Note, Recommended, Server};

/// `worker_processes`, and `preload_app` or Pitchfork's reforking; `before` is empty when there is none.
pub fn write(path: &str, before: &str, recommended: &Recommended, notes: &mut Vec<Note>) -> Change {
    // Neither server has a single mode.
    let workers = recommended.workers.max(1);
    let preload = recommended.preload;
    let reforks = recommended.server == Server::Pitchfork;
    let after = rewritten(before, |lines| {
        let wanted = format!("worker_processes {workers}");
        let variables = ["WEB_CONCURRENCY"];
        set_number(lines, "worker_processes", &variables, workers, &wanted);
        if reforks {
            refork(lines, recommended);
        } else {
            let wanted = preload.to_string();
            let statement = format!("preload_app {wanted}");
            set_statement(lines, "preload_app", &statement, |said| said == wanted);
        }
    });
    let hook = if reforks {
        "after_worker_fork"
    } else {
        "after_fork"
    };
    if preload && !before.contains(hook) {
        let preloads = if reforks { "Pitchfork" } else { "preload_app" };
        notes.push(Note::new(
            path,
            format!(
                "with {preloads} the workers inherit open connections: where the application opens some as it \
                 loads, close them in before_fork and open them in {hook} (Active Record does so by itself)."
            ),
        ));
    }
    Change::between(path, before, after, 2)
}

fn refork(lines: &mut Vec<String>, recommended: &Recommended) {
    let pitchfork = &recommended.pitchfork;
    let after = pitchfork.refork_after.as_ref();
    let after = after.map(|counts| format!("[{}]", counts.replace(',', ", ")));
    let most = pitchfork.refork_max_unavailable.map(|n| n.to_string());
    for (name, value) in [("refork_after", after), ("refork_max_unavailable", most)] {
        if let Some(value) = value {
            let dense = |text: &str| text.replace(' ', "");
            set_statement(lines, name, &format!("{name} {value}"), |said| {
                dense(said) == dense(&value)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pitchfork;

    fn unicorn(workers: u16, preload: bool) -> Recommended {
        Recommended::of(Server::Unicorn, workers, 1, preload)
    }

    fn config(before: &str, workers: u16, preload: bool) -> String {
        write("u", before, &unicorn(workers, preload), &mut Vec::new()).text
    }

    #[test]
    fn pitchfork_has_its_reforking_and_no_word_on_preloading() {
        let wanted = |after: &str| Recommended {
            pitchfork: Pitchfork {
                refork_after: Some(after.to_owned()),
                refork_max_unavailable: Some(2),
            },
            ..Recommended::of(Server::Pitchfork, 3, 1, true)
        };
        let written =
            |before: &str, after| write("p", before, &wanted(after), &mut Vec::new()).text;
        let new = "worker_processes 3\nrefork_after [50, 100, false]\nrefork_max_unavailable 2\n";
        assert_eq!(written("", "50,100,false"), new);
        assert_eq!(written(new, "50,100,false"), new);
        let as_it_was = new.replace(", 100", ",100");
        assert_eq!(written(&as_it_was, "50,100,false"), as_it_was);
        assert_eq!(written(new, "false"), new.replace("50, 100, ", ""));
        let commented = "worker_processes 3\nrefork_after [10] # often\nrefork_max_unavailable 2\n";
        assert_eq!(written(commented, "20"), commented.replace("10", "20"));
        let computed = "refork_after COUNTS\nworker_processes 3\nrefork_max_unavailable 2\n";
        assert_eq!(
            written(computed, "20"),
            format!("{computed}refork_after [20]\n")
        );
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
        write("u", "", &unicorn(2, true), &mut notes);
        assert_eq!(notes.len(), 1);
    }
}
