//! Two texts, line by line: lines of the same shape are held against each
//! other, a line that only one has is reported as such.

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

use super::secrets::masked;
use super::shape::shape;
use super::{ABSENT, EXAMPLE_BYTES, Found};

/// Lines that are compared of what lies between the first and the last difference: aligning takes time in the
/// square of what differs.
const MOST_LINES: usize = 1000;
/// Of a line; the rest counts only for its being equal.
const LINE_BYTES: usize = 2000;
/// Two shapes have this much in common at least to be one line that changed.
const COMMON_BYTES: usize = 3;

/// A kind, and what makes examples of it.
type Tell<'a> = dyn FnMut(&str, &dyn Fn() -> (String, String)) + 'a;

/// Whether all of both was looked at.
pub(super) fn compare(ours: &str, theirs: &str, is_markup: bool, found: &mut Found) -> bool {
    // The order decides which of several equally good alignments is taken.
    if ours <= theirs {
        ordered(ours, theirs, is_markup, &mut |kind, examples| {
            found.add(kind, examples)
        })
    } else {
        ordered(theirs, ours, is_markup, &mut |kind, examples| {
            found.add(kind, || {
                let (theirs, ours) = examples();
                (ours, theirs)
            });
        })
    }
}

fn ordered(first: &str, second: &str, is_markup: bool, tell: &mut Tell<'_>) -> bool {
    let (mut a, mut b) = (split(first, is_markup), split(second, is_markup));
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    a.drain(..same);
    b.drain(..same);
    let same = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    a.truncate(a.len() - same);
    b.truncate(b.len() - same);
    let whole = a.len() <= MOST_LINES && b.len() <= MOST_LINES;
    a.truncate(MOST_LINES);
    b.truncate(MOST_LINES);
    let of =
        |lines: &[&str]| -> Vec<String> { lines.iter().map(|line| shape(start(line))).collect() };
    let shapes = (of(&a), of(&b));
    for op in operations(&shapes.0, &shapes.1) {
        aligned(op, (&a, &shapes.0), (&b, &shapes.1), tell);
    }
    whole
}

/// What `capture_diff_slices` does for `Algorithm::Myers`, without the code of the four other algorithms.
fn operations(a: &[String], b: &[String]) -> Vec<DiffOp> {
    let mut steps = Compact::new(Replace::new(Capture::new()), a, b);
    let Ok(()) = myers::diff(&mut steps, a, 0..a.len(), b, 0..b.len());
    steps.into_inner().into_inner().into_ops()
}

type Lines<'a> = (&'a [&'a str], &'a [String]);

fn aligned(op: DiffOp, a: Lines<'_>, b: Lines<'_>, tell: &mut Tell<'_>) {
    let (old, new) = (op.old_range(), op.new_range());
    let pairs = old.len().min(new.len());
    let shown = |line: &str| masked(start(line));
    let only_first = |i: usize, tell: &mut Tell<'_>| {
        tell(&format!("line {}", a.1[i]), &|| {
            (shown(a.0[i]), ABSENT.into())
        });
    };
    let only_second = |j: usize, tell: &mut Tell<'_>| {
        tell(&format!("line {}", b.1[j]), &|| {
            (ABSENT.into(), shown(b.0[j]))
        });
    };
    for (i, j) in old.clone().zip(new.clone()) {
        if a.0[i] == b.0[j] {
            continue;
        }
        match common(&a.1[i], &b.1[j]) {
            Some(kind) => tell(&format!("line {kind}"), &|| examples(a.0[i], b.0[j])),
            None => {
                only_first(i, tell);
                only_second(j, tell);
            }
        }
    }
    old.skip(pairs).for_each(|i| only_first(i, tell));
    new.skip(pairs).for_each(|j| only_second(j, tell));
}

/// Lines without the space around them, and no empty ones; of markup also where one tag follows another.
fn split(text: &str, is_markup: bool) -> Vec<&str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if !is_markup {
        return lines.collect();
    }
    let mut pieces = Vec::new();
    for mut line in lines {
        while let Some(at) = line.find("><") {
            pieces.push(&line[..=at]);
            line = &line[at + 1..];
        }
        pieces.push(line);
    }
    pieces
}

fn start(line: &str) -> &str {
    let end = (0..=LINE_BYTES.min(line.len()))
        .rev()
        .find(|at| line.is_char_boundary(*at));
    &line[..end.unwrap_or(0)]
}

/// The shape itself where both have it; else what they begin and end with, the same for both orders.
fn common(a: &str, b: &str) -> Option<String> {
    if a == b {
        return Some(a.to_owned());
    }
    let front = same_bytes(a, b);
    let beginning = &a[..front];
    let (a, b) = (&a[front..], &b[front..]);
    let reversed = a.chars().rev().zip(b.chars().rev());
    let same = reversed.take_while(|(a, b)| a == b);
    let back: usize = same.map(|(char, _)| char.len_utf8()).sum();
    let end = &a[a.len() - back..];
    (front + back >= COMMON_BYTES).then(|| format!("{beginning}…{end}"))
}

/// How many bytes of both are the same from the beginning, in whole characters.
fn same_bytes(a: &str, b: &str) -> usize {
    a.chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(char, _)| char.len_utf8())
        .sum()
}

/// Both around the first byte that differs; secrets go first, or a part of one could be left.
fn examples(ours: &str, theirs: &str) -> (String, String) {
    let (ours, theirs) = (masked(start(ours)), masked(start(theirs)));
    let from = same_bytes(&ours, &theirs).saturating_sub(EXAMPLE_BYTES / 4);
    let cut = |line: &str| {
        let from = (from..=line.len()).find(|at| line.is_char_boundary(*at));
        match from {
            Some(0) => line.to_owned(),
            Some(from) => format!("…{}", &line[from..]),
            None => String::new(),
        }
    };
    (cut(&ours), cut(&theirs))
}
