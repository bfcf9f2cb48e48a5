//! The environment lines that Rails' and Puma's own configuration read.

use crate::{Change, Knobs};

/// `RAILS_MAX_THREADS` (which sizes the connection pool in a Rails `database.yml` too) and `WEB_CONCURRENCY`
/// in an environment file; `before` is the file as it is, empty when there is none.
pub fn environment_file(path: &str, before: &str, knobs: Knobs) -> Change {
    let wanted = [
        ("RAILS_MAX_THREADS", knobs.threads),
        ("WEB_CONCURRENCY", knobs.workers),
    ];
    let mut missing = wanted.to_vec();
    let mut after = String::new();
    for line in before.lines() {
        let key = line
            .trim_start()
            .trim_start_matches("export ")
            .split('=')
            .next()
            .unwrap_or_default()
            .trim();
        match wanted.iter().find(|(name, _)| *name == key) {
            Some((name, value)) => {
                missing.retain(|(other, _)| other != name);
                let start = &line[..line.find(name).unwrap_or(0)];
                after.push_str(&format!("{start}{name}={value}\n"));
            }
            None => after.push_str(&format!("{line}\n")),
        }
    }
    for (name, value) in missing {
        after.push_str(&format!("{name}={value}\n"));
    }
    Change::between(path, before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOBS: Knobs = Knobs {
        workers: 2,
        threads: 5,
        preload: true,
    };

    #[test]
    fn lines_are_replaced_where_they_stand_and_added_where_they_do_not() {
        let change = environment_file(".env", "A=1\nexport RAILS_MAX_THREADS=3\n", KNOBS);
        assert_eq!(
            change.text,
            "A=1\nexport RAILS_MAX_THREADS=5\nWEB_CONCURRENCY=2\n"
        );
        assert!(
            change
                .diff
                .contains("-export RAILS_MAX_THREADS=3\n+export RAILS_MAX_THREADS=5\n"),
            "{}",
            change.diff
        );
    }

    #[test]
    fn what_is_right_already_makes_no_diff() {
        let text = "RAILS_MAX_THREADS=5\nWEB_CONCURRENCY=2\n";
        assert_eq!(environment_file(".env", text, KNOBS).diff, "");
    }
}
