//! What `ruby -w` says of the variables it was started with.
//!
//! With `-w` CRuby prints `NAME=value (default value: other)` for each of the collector's variables that it took, and
//! the same with `is ignored because …` for one that it did not; of names that it does not know it says nothing.

use std::collections::BTreeMap;

/// The collector's variables begin with it.
const COLLECTOR: &str = "RUBY_GC_";
/// Which collector is loaded; Ruby does not speak of it as it does of the others.
const LIBRARY: &str = "RUBY_GC_LIBRARY";
/// Names from before `RUBY_GC_…`, which people still copy.
const OLD_NAMES: [&str; 3] = ["RUBY_FREE_MIN", "RUBY_HEAP_MIN_SLOTS", "RUBY_HEAP_FREE_MIN"];

/// Whether a variable sets the collector, so that Ruby mentions it when warnings are on.
#[must_use]
pub fn sets_collector(name: &str) -> bool {
    name.starts_with(COLLECTOR) && name != LIBRARY || OLD_NAMES.contains(&name)
}

/// Why Ruby, or what is loaded into it, does not take these variables, from what it wrote to stderr; empty where it
/// takes them all, as far as it says.
pub fn refusals(stderr: &str, variables: &BTreeMap<String, String>) -> Vec<String> {
    let mut refused = Vec::new();
    for (name, value) in variables {
        let about: Vec<&str> = stderr.lines().filter(|line| names(line, name)).collect();
        let taken = |line: &&str| is_taken(line, name);
        if let Some(line) = about.iter().find(|line| !taken(line)) {
            refused.push(sentence(line));
        } else if sets_collector(name) && !value.is_empty() && !about.iter().any(taken) {
            refused.push(format!("this Ruby does not know {name}"));
        }
    }
    if variables.contains_key("MALLOC_CONF") {
        let complains = |line: &&str| line.starts_with("<jemalloc>:");
        refused.extend(stderr.lines().filter(complains).map(sentence));
    }
    refused
}

/// A line without what ends it, since more is said after it.
fn sentence(line: &str) -> String {
    line.trim().trim_end_matches('.').to_owned()
}

/// Whether a line speaks of the variable, and not of one whose name is longer.
fn names(line: &str, variable: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    line.match_indices(variable).any(|(at, _)| {
        !part(line[..at].chars().next_back()) && !part(line[at + variable.len()..].chars().next())
    })
}

fn is_taken(line: &str, variable: &str) -> bool {
    line.starts_with(&format!("{variable}="))
        && line.contains(" (default value: ")
        && !line.contains(" is ignored")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_unknown_and_which_collector_is_loaded_is_nothing_to_speak_of() {
        assert_eq!(
            refused("", &[("RUBY_FREE_MIN", "1"), ("RUBY_GC_LIBRARY", "mmtk")]),
            ["this Ruby does not know RUBY_FREE_MIN"]
        );
    }

    fn refused(stderr: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
        refusals(stderr, &variables.iter().map(own).collect())
    }

    #[test]
    fn what_was_taken_is_no_refusal() {
        let said = "RUBY_GC_MALLOC_LIMIT=33554432 (default value: 16777216)\n\
                    RUBY_GC_MALLOC_LIMIT_MAX=0 (default value: 33554432) is ignored because it must be greater than 0.\n";
        assert!(
            refused(
                said,
                &[("RUBY_GC_MALLOC_LIMIT", "33554432"), ("GREETING", "x")]
            )
            .is_empty()
        );
        let why = refused(said, &[("RUBY_GC_MALLOC_LIMIT_MAX", "0")]);
        assert!(why[0].contains("greater than 0"), "{why:?}");
    }

    #[test]
    fn silence_about_a_collectors_variable_is_a_refusal() {
        let why = refused("", &[("RUBY_GC_HEAP_7_INIT_SLOTS", "9")]);
        assert!(why[0].contains("does not know"), "{why:?}");
        assert!(
            refused(
                "",
                &[("RUBY_GC_HEAP_FREE_SLOTS", ""), ("MALLOC_ARENA_MAX", "2")]
            )
            .is_empty()
        );
    }

    #[test]
    fn warnings_of_loaders_and_allocators_count_too() {
        let said = "ERROR: ld.so: object '/x.so' from LD_PRELOAD cannot be preloaded: ignored.\n\
                    <jemalloc>: Invalid conf pair: turbo:1\n";
        assert_eq!(
            refused(said, &[("LD_PRELOAD", "/x.so"), ("MALLOC_CONF", "turbo:1")]).len(),
            2
        );
        assert!(refused(said, &[("THREADS", "1")]).is_empty());
    }
}
