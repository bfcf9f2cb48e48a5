//! Unified diffs of lines, as `git apply` reads them.

use std::fmt::Write;
use std::ops::Range;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};

/// `name` is the path from the root, without a slash; `context` is how many unchanged lines each side of a change has.
pub(crate) fn unified(name: &str, before: &str, after: &str, context: usize) -> String {
    let [old, new] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut diff = format!("--- a/{name}\n+++ b/{name}\n");
    for hunk in group_diff_ops(operations(&old, &new), context) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let removed = range(first.old_range().start..last.old_range().end);
        let added = range(first.new_range().start..last.new_range().end);
        let _ = writeln!(diff, "@@ -{removed} +{added} @@");
        for op in hunk {
            if op.tag() == DiffTag::Equal {
                lines(&mut diff, ' ', &old[op.old_range()]);
            } else {
                lines(&mut diff, '-', &old[op.old_range()]);
                lines(&mut diff, '+', &new[op.new_range()]);
            }
        }
    }
    diff
}

/// `similar::TextDiff` links the code of all its algorithms; this links one.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut steps = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut steps, old, 0..old.len(), new, 0..new.len());
    steps.into_inner().into_inner().into_ops()
}

/// An empty range is named by the line before it.
fn range(of: Range<usize>) -> String {
    match of.len() {
        0 => format!("{},0", of.start),
        1 => format!("{}", of.start + 1),
        lines => format!("{},{lines}", of.start + 1),
    }
}

fn lines(diff: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        diff.push(sign);
        diff.push_str(line);
        if !line.ends_with('\n') {
            diff.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_diff_is_what_diff_prints() {
        let before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
        let after = "one\ntwo\n3\nfour\nfive\nsix\nseven\neight\n";
        assert_eq!(
            unified("a", before, after, 1),
            "--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n@@ -7 +7,2 @@\n seven\n+eight\n"
        );
        assert_eq!(
            unified("a", before, after, 0),
            "--- a/a\n+++ b/a\n@@ -3 +3 @@\n-three\n+3\n@@ -7,0 +8 @@\n+eight\n"
        );
        assert_eq!(
            unified("a", "", "one\n", 3),
            "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+one\n"
        );
        assert_eq!(
            unified("a", "one\ntwo", "one\n", 3),
            "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n one\n-two\n\\ No newline at end of file\n"
        );
    }
}
