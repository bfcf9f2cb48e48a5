//! Which change a call site suggests, by its class, its stack and the line of code. The line is read as text, not parsed: advice
//! is what is worth a look, and no claim. `docs/trace.md` has the rules.

use crate::survivors::{Fate, Sites};
use flight::survivors::{Site, Step};

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Freeze,
    Constant,
    Memoise,
    MoveToBoot,
    Stream,
}

/// Of fewer sampled objects nothing is said.
const FEWEST: u64 = 10;
/// Nor of a smaller share of all objects with the same fate.
const LEAST_SHARE: f64 = 0.01;
/// Mean size from which an object is large, bytes.
const LARGE: u64 = 64 << 10;

/// Methods that load code, and their labels before Ruby 3.4, which names no class of them.
const LOADING: [&str; 6] = [
    "Kernel#require",
    "Kernel#require_relative",
    "Kernel#load",
    "require",
    "require_relative",
    "load",
];
/// Calls whose result depends on nothing but their arguments.
const PURE: [&str; 6] = [
    ".parse(",
    ".compile(",
    ".load(",
    ".strptime(",
    "Regexp.new(",
    "Regexp.union(",
];

/// Changes that the site suggests; `totals` are all sampled objects that became old and that died young, `code` the line of
/// code of [`Sites::making`] if it is known.
#[must_use]
pub fn advice(sites: &Sites, site: &Site, totals: [u64; 2], code: Option<&str>) -> Vec<Change> {
    let mut changes = Vec::new();
    if is_worth_a_word(site, Fate::Old, totals[0]) {
        let at_first_use = code.is_some_and(|code| code.contains("||="));
        if at_first_use || site.steps.iter().any(|step| loads(sites, step)) {
            changes.push(Change::MoveToBoot);
        }
    }
    if is_worth_a_word(site, Fate::Young, totals[1]) {
        changes.extend(of_short_lived(sites, site, code));
    }
    changes
}

/// Whether nothing would be said of the site, whatever its line of code is.
#[must_use]
pub fn is_negligible(site: &Site, totals: [u64; 2]) -> bool {
    !is_worth_a_word(site, Fate::Old, totals[0]) && !is_worth_a_word(site, Fate::Young, totals[1])
}

fn is_worth_a_word(site: &Site, fate: Fate, total: u64) -> bool {
    let count = fate.count(site);
    count >= FEWEST && count as f64 >= LEAST_SHARE * total as f64
}

fn loads(sites: &Sites, step: &Step) -> bool {
    LOADING.contains(&sites.frames[step.frame].label.as_str())
}

fn of_short_lived(sites: &Sites, site: &Site, code: Option<&str>) -> Option<Change> {
    let is_text_or_list = matches!(site.class.as_str(), "String" | "Array");
    if is_text_or_list && site.died_bytes / site.died.max(1) >= LARGE {
        return Some(Change::Stream);
    }
    let code = code?;
    // Otherwise a function in C made it, and not the code of the line itself.
    let by_the_line = site.steps.first().map(|step| (step.frame, step.line))
        == sites.making(site).map(|step| (step.frame, step.line));
    let change = match site.class.as_str() {
        "String" if by_the_line && has_plain_string(code) => Change::Freeze,
        "Array" if by_the_line && has_constant_list(code, '[', ']') => Change::Constant,
        "Hash" if by_the_line && has_constant_list(code, '{', '}') => Change::Constant,
        "Regexp" => Change::Constant,
        _ if PURE.iter().any(|call| code.contains(call)) => Change::Memoise,
        _ => return None,
    };
    Some(change)
}

/// Whether there is a string literal without interpolation, and none with.
fn has_plain_string(code: &str) -> bool {
    let code = without_comment(code);
    !code.contains("#{") && strings(code).count() > 0
}

/// The positions of string literals: of the opening quote and behind the closing one.
fn strings(code: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let open = from + code.get(from..)?.find(['"', '\''])?;
        let quote = code[open..].chars().next()?;
        let mut escaped = false;
        let inside = code[open + 1..].find(|c| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        from = open + 1 + inside + 1;
        Some((open, from))
    })
}

fn without_comment(code: &str) -> &str {
    code.split_once(" # ").map_or(code, |(code, _)| code)
}

/// Whether there is a literal of more than nothing between such brackets, and only literals are in it.
fn has_constant_list(code: &str, open: char, close: char) -> bool {
    let code = without_comment(code);
    if code.contains("#{") {
        return false;
    }
    let mut bare = code.to_owned();
    for (from, to) in strings(code).collect::<Vec<_>>() {
        bare.replace_range(from..to, &"0".repeat(to - from));
    }
    let within = |from: usize| {
        let rest = &bare[from + 1..];
        let inside = rest.find(close).map(|end| &rest[..end]);
        inside.is_some_and(|inside| is_constant(inside, open == '['))
    };
    let before = |from: usize| bare[..from].chars().next_back();
    // Behind a name it is an index, and behind a space and a call it may be a block: a hash literal has a key.
    bare.match_indices(open).any(|(from, _)| {
        !before(from).is_some_and(|c| c.is_alphanumeric() || c == ']' || c == ')') && within(from)
    })
}

fn is_constant(inside: &str, list: bool) -> bool {
    let has_key = inside.contains("=>") || inside.contains(": ");
    let words = inside
        .split([',', ' ', '[', ']'])
        .filter(|word| !word.is_empty());
    let mut any = false;
    let only_literals = words.into_iter().all(|word| {
        any = true;
        let first = word.chars().next().unwrap_or(' ');
        first == ':'
            || first == '-'
            || first.is_ascii_digit()
            || word.ends_with(':')
            || matches!(word, "=>" | "true" | "false" | "nil")
    });
    any && only_literals && (list || has_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survivors::samples::{frame, recording, site};
    use crate::survivors::sites;

    fn advised(class: &str, steps: &[(usize, u32)], fates: [u64; 2], code: &str) -> Vec<Change> {
        let frames = vec![
            frame("/app/a.rb", "A#a"),
            frame("<cfunc>", "Kernel#require"),
            frame("<cfunc>", "Array#join"),
        ];
        let one = site(class, steps, fates[0], fates[1]);
        let all = sites([&recording(frames, vec![one.clone()])]);
        advice(&all, &one, [100, 100], Some(code))
    }

    fn short_lived(class: &str, code: &str) -> Vec<Change> {
        advised(class, &[(0, 3)], [0, 50], code)
    }

    #[test]
    fn each_kind_has_its_line() {
        assert_eq!(short_lived("String", "  x == 'paid'"), [Change::Freeze]);
        assert_eq!(short_lived("String", "  x == \"#{a}\""), []);
        assert_eq!(short_lived("String", "  x.to_s # 'paid'"), []);
        assert_eq!(
            short_lived("Array", "  %i[a b].include?(x) || [1, :b, 'c'].include?(x)"),
            [Change::Constant]
        );
        assert_eq!(short_lived("Array", "  [x, 1]"), []);
        assert_eq!(short_lived("Array", "  x[1]"), []);
        assert_eq!(
            short_lived("Hash", "  f({ a: 1, \"b\" => nil })"),
            [Change::Constant]
        );
        assert_eq!(short_lived("Hash", "  f({ a: b })"), []);
        assert_eq!(short_lived("Hash", "  f { 1 }"), []);
        assert_eq!(short_lived("Regexp", "  /#{x}/"), [Change::Constant]);
        assert_eq!(
            short_lived("Money", "  Money.parse(text)"),
            [Change::Memoise]
        );
        assert_eq!(short_lived("Money", "  Money.from(text)"), []);
    }

    #[test]
    fn what_a_function_in_c_made_is_not_the_lines_own() {
        assert_eq!(
            advised("String", &[(2, 0), (0, 3)], [0, 50], "x.join('a')"),
            []
        );
    }

    #[test]
    fn survivors_that_are_loaded_or_built_at_first_use_belong_to_boot() {
        let loaded = advised("String", &[(0, 3), (1, 0)], [50, 0], "x");
        assert_eq!(loaded, [Change::MoveToBoot]);
        let first_use = advised("Hash", &[(0, 3)], [50, 0], "@all ||= build");
        assert_eq!(first_use, [Change::MoveToBoot]);
        assert_eq!(advised("Hash", &[(0, 3)], [50, 0], "build"), []);
    }

    #[test]
    fn of_few_objects_nothing_is_said() {
        assert_eq!(advised("Regexp", &[(0, 3)], [0, 9], "/a/"), []);
        let all = sites([&recording(
            vec![frame("/a", "a")],
            vec![site("Regexp", &[(0, 3)], 0, 20)],
        )]);
        assert_eq!(advice(&all, &all.sites[0], [0, 3_000], Some("/a/")), []);
    }

    #[test]
    fn large_texts_are_to_be_streamed() {
        let mut one = site("String", &[(0, 3)], 0, 20);
        one.died_bytes = 20 * LARGE;
        let all = sites([&recording(vec![frame("/a", "a")], vec![one])]);
        assert_eq!(
            advice(&all, &all.sites[0], [0, 100], None),
            [Change::Stream]
        );
    }
}
