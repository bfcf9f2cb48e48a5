//! Lines and cells of Markdown tables.

use run::SetVariable;
use std::fmt::Write;

/// The head of a table, its first columns aligned left.
pub fn rows(page: &mut String, head: &[impl ToString], words: usize) {
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    line(page, &head);
    let rule: Vec<String> = (0..head.len())
        .map(|nth| if nth < words { "---" } else { "---:" }.to_owned())
        .collect();
    line(page, &rule);
}

/// Text with names that users choose, such as branches and pages, none of which is markup.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_markup = match letter {
            '\\' | '`' | '*' | '~' | '[' => true,
            // Of a tag or a comment; no comparison.
            '<' => letters
                .peek()
                .is_some_and(|next| next.is_alphabetic() || "/!?".contains(*next)),
            _ => false,
        };
        if is_markup {
            plain.push('\\');
        }
        plain.push(letter);
    }
    plain
}

pub fn line(page: &mut String, cells: &[String]) {
    for cell in cells {
        let _ = write!(page, "| {} ", cell.replace('|', "\\|").replace('\n', " "));
    }
    page.push_str("|\n");
}

/// The variables that an arm sets, as a cell.
pub fn sets(environment: &[SetVariable]) -> String {
    let sets: Vec<String> = environment
        .iter()
        .map(|set| match set.is_internal() {
            true => format!("`{}={}`", set.knob, set.value),
            false => format!("`{}={}`", set.variable, set.holds),
        })
        .collect();
    match sets.is_empty() {
        true => "nothing".to_owned(),
        false => sets.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_only_powerband_sets_is_named_by_its_knob() {
        let set = |knob: &str, variable: &str| SetVariable {
            knob: knob.to_owned(),
            value: "4.0".to_owned(),
            variable: variable.to_owned(),
            holds: "4.0".to_owned(),
        };
        let all = [set("ruby", "PATH"), set("env.LEVEL", "LEVEL")];
        assert_eq!(sets(&all), "`ruby=4.0`, `LEVEL=4.0`");
        assert_eq!(sets(&[]), "nothing");
    }

    #[test]
    fn names_are_no_markup() {
        assert_eq!(plain("HEAD~1 against main~1"), "HEAD\\~1 against main\\~1");
        assert_eq!(plain("fix-<img src=x>"), "fix-\\<img src=x>");
        for as_it_is in ["throughput >= -3% holds", "p95 <= +5% fails", "a < b"] {
            assert_eq!(plain(as_it_is), as_it_is);
        }
    }
}
