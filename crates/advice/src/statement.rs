//! Statements of a server's configuration in Ruby, of which the last wins.

use crate::ruby::{arguments, comment, mentions, plain, resolves, set_default};
use crate::text::Text;

/// A file with its program changed; the text after `__END__` stays.
pub fn rewritten(before: &str, change: impl FnOnce(&mut Vec<String>)) -> String {
    // A file of blanks alone is a new one.
    let text = Text::of(if before.trim().is_empty() { "" } else { before });
    let end = text.lines.iter().position(|line| line == "__END__");
    let program = end.unwrap_or(text.lines.len());
    let mut lines = text.lines[..program].to_vec();
    change(&mut lines);
    let mut after = text.clone();
    for (at, line) in lines.into_iter().enumerate() {
        if at < program {
            after.lines[at] = line;
        } else {
            after.insert(at, line);
        }
    }
    after.whole()
}

/// The last line that mentions the statement, certain or not: it overrides the lines before it.
pub fn last(lines: &[String], name: &str) -> Option<usize> {
    lines.iter().rposition(|line| mentions(line, name))
}

/// Makes every argument of the statement this value: in place where that is certain, by `wanted` at the end
/// where it is not.
pub fn set_number(
    lines: &mut Vec<String>,
    name: &str,
    variables: &[&str],
    value: u16,
    wanted: &str,
) {
    let certain = last(lines, name).filter(|at| plain(&lines[*at], name));
    let Some(at) = certain else {
        lines.push(wanted.to_owned());
        return;
    };
    let said = arguments(&lines[at], name);
    if !said.is_empty() && said.iter().all(|part| part.parse::<u16>().is_ok()) {
        // As it is written where it says so already.
        if said.iter().any(|part| part.parse() != Ok(value)) {
            lines[at] = format!("{wanted}{}", comment(&lines[at]));
        }
        return;
    }
    let mut changed = lines.clone();
    for variable in variables {
        set_default(&mut changed, variable, value);
    }
    let said = arguments(&changed[at], name);
    let follows = |part: &String| resolves(&changed, part, variables, value);
    if !said.is_empty() && said.iter().all(follows) {
        *lines = changed;
    } else {
        lines.push(wanted.to_owned());
    }
}

/// Makes the statement `wanted`, unless what it says already is the same: in place where that is certain, else at
/// the end.
pub fn set_statement(
    lines: &mut Vec<String>,
    name: &str,
    wanted: &str,
    same: impl Fn(&str) -> bool,
) {
    let certain = last(lines, name).filter(|at| plain(&lines[*at], name));
    let Some(at) = certain else {
        lines.push(wanted.to_owned());
        return;
    };
    let said = arguments(&lines[at], name).join(",");
    let plain = |word: &str| {
        ["", "true", "false"].contains(&word.trim()) || word.trim().parse::<f64>().is_ok()
    };
    let list = said
        .strip_prefix('[')
        .and_then(|list| list.strip_suffix(']'));
    let known = list.unwrap_or(&said).split(',').all(plain);
    match (known, same(&said)) {
        (true, true) => {}
        (true, false) => lines[at] = format!("{wanted}{}", comment(&lines[at])),
        (false, _) => lines.push(wanted.to_owned()),
    }
}
