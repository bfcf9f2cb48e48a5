//! The environment lines that Rails' and Puma's own configuration read.

use crate::{Change, Knobs};

/// `RAILS_MAX_THREADS` (which sizes the connection pool in a Rails `database.yml` too) and `WEB_CONCURRENCY`
/// in an environment file; `before` is the file as it is, empty when there is none.
///
/// The diff shows lines of these two names alone: their neighbours are keys and passwords, and diffs are stored
/// and passed around.
pub fn environment_file(path: &str, before: &str, knobs: Knobs) -> Change {
    let wanted = [
        ("RAILS_MAX_THREADS", knobs.threads),
        ("WEB_CONCURRENCY", knobs.workers),
    ];
    let mut missing = wanted.to_vec();
    let mut after = String::new();
    for whole in before.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        // Other lines keep their own ending, or each of them would count as changed.
        let ending = match &whole[line.len()..] {
            "" => "\n",
            ending => ending,
        };
        match wanted.iter().find(|(name, _)| *name == key(line)) {
            Some((name, value)) => {
                missing.retain(|(other, _)| other != name);
                let start = &line[..line.find(name).unwrap_or(0)];
                let comment = line.find(" #").map_or("", |at| &line[at..]);
                after.push_str(&format!("{start}{name}={value}{comment}{ending}"));
            }
            None => after.push_str(&format!("{line}{ending}")),
        }
    }
    for (name, value) in missing {
        after.push_str(&format!("{name}={value}\n"));
    }
    Change::between(path, before, after, 0)
}

/// The variable that a line sets.
fn key(line: &str) -> &str {
    line.trim_start()
        .trim_start_matches("export ")
        .split('=')
        .next()
        .unwrap_or_default()
        .trim()
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

    #[test]
    fn the_diff_shows_no_line_but_ours() {
        let ours =
            |line: &str| line.contains("RAILS_MAX_THREADS") || line.contains("WEB_CONCURRENCY");
        for before in [
            "STRIPE=sk_live_1\nAWS=secret\n",
            "STRIPE=sk_live_1\nAWS=secret",
            "STRIPE=sk_live_1\r\nRAILS_MAX_THREADS=3\r\nAWS=secret\r\n",
            "A=secret\nWEB_CONCURRENCY=9\nB=secret\nRAILS_MAX_THREADS=3\nC=secret",
            "A=secret\n\n\nRAILS_MAX_THREADS=3\nRAILS_MAX_THREADS=5\nA=secret\n",
        ] {
            let change = environment_file(".env", before, KNOBS);
            let shown: Vec<&str> = change
                .diff
                .lines()
                .filter(|l| !["---", "+++", "@@ "].iter().any(|head| l.starts_with(head)))
                .collect();
            assert!(!shown.is_empty(), "{before:?}");
            assert!(shown.iter().all(|l| ours(l)), "{before:?}: {}", change.diff);
            assert!(change.text.contains("secret"), "{before:?}");
        }
    }

    #[test]
    fn a_comment_on_our_line_stays() {
        let change = environment_file(
            ".env",
            "WEB_CONCURRENCY=2\nRAILS_MAX_THREADS=3 # was 5\n",
            KNOBS,
        );
        assert_eq!(
            change.text,
            "WEB_CONCURRENCY=2\nRAILS_MAX_THREADS=5 # was 5\n"
        );
    }
}
