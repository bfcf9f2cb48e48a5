//! Prometheus' own check of what it would scrape.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What `promtool check metrics` has against a text; empty when nothing. `None` where it is not installed: Debian's package,
/// which continuous integration has; elsewhere the gem's tests say what is skipped.
///
/// # Panics
/// When it cannot be spoken to.
#[must_use]
pub fn promtool(text: &str) -> Option<String> {
    let mut command = Command::new("promtool");
    let command = command.args(["check", "metrics"]).stdin(Stdio::piped());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = command.spawn().ok()?;
    let mut input = promtool.stdin.take().expect("its standard input is a pipe");
    input
        .write_all(text.as_bytes())
        .expect("promtool reads to the end");
    drop(input);
    let output = promtool.wait_with_output().expect("promtool ends");
    let mut said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if !output.status.success() {
        said.push_str(&output.status.to_string());
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_wrong_is_said() {
        let of = |text: &str| super::promtool(text).map(|said| said.is_empty());
        assert_ne!(of("# TYPE a_total counter\na_total x\n"), Some(true));
        let fine = "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n";
        assert_ne!(of(fine), Some(false));
    }
}
