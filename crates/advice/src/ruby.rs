//! As much Ruby as one line of a server's configuration needs. It gives no answer that is not certain.

/// The code of a line, without its comment.
fn code(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.find(" #").map_or(line, |at| &line[..at]).trim_end()
}

/// The comment of a line with the space before it; empty without one.
pub fn comment(line: &str) -> &str {
    &line[code(line).len()..]
}

/// Whether the name stands in the line's code as a word of its own.
pub fn mentions(line: &str, name: &str) -> bool {
    let code = code(line);
    code.match_indices(name).any(|(at, _)| {
        !code[..at].ends_with(is_word_char) && !code[at + name.len()..].starts_with(is_word_char)
    })
}

/// Whether the line is this statement at the outermost level; an indented one may be conditional.
pub fn plain(line: &str, name: &str) -> bool {
    code(line)
        .strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(']))
}

/// The arguments of a plain statement, split at its own commas.
pub fn arguments(line: &str, name: &str) -> Vec<String> {
    let rest = code(line).strip_prefix(name).unwrap_or_default().trim();
    let inner = rest
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .unwrap_or(rest);
    let mut parts = vec![String::new()];
    let mut depth = 0_i32;
    for c in inner.chars() {
        depth += match c {
            '(' | '{' | '[' => 1,
            ')' | '}' | ']' => -1,
            _ => 0,
        };
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (_, Some(part)) => part.push(c),
            (_, None) => {}
        }
    }
    let parts = parts.iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whether an expression comes to this value when none of the environment variables is set: the number itself,
/// `ENV.fetch` of one of them with such a default, or a variable that is assigned once, on a line of its own,
/// from such an expression.
pub fn resolves(lines: &[String], expression: &str, variables: &[&str], value: u16) -> bool {
    let mut expression = dense(expression);
    // Each turn leaves a variable or a call behind; more of them than lines is a circle.
    for _ in 0..=lines.len() {
        if expression == value.to_string() {
            return true;
        }
        let next = fetched(&expression, variables).or_else(|| assigned(lines, &expression));
        let Some(next) = next else {
            return false;
        };
        expression = next;
    }
    false
}

/// Without spaces, with one kind of quote, and without the conversions that a number survives.
fn dense(expression: &str) -> String {
    let mut text: String = expression.chars().filter(|c| *c != ' ').collect();
    text = text.replace('\'', "\"");
    let unwrapped = text
        .strip_prefix("Integer(")
        .and_then(|t| t.strip_suffix(')'));
    let unwrapped = unwrapped.or_else(|| text.strip_suffix(".to_i"));
    unwrapped.map_or_else(|| text.clone(), str::to_owned)
}

/// The default of `ENV.fetch` of one of the variables.
fn fetched(expression: &str, variables: &[&str]) -> Option<String> {
    let rest = variables
        .iter()
        .find_map(|name| expression.strip_prefix(&format!("ENV.fetch(\"{name}\"")))?;
    let default = rest
        .strip_prefix(',')
        .and_then(|rest| rest.strip_suffix(')'))
        .or_else(|| {
            rest.strip_prefix("){")
                .and_then(|rest| rest.strip_suffix('}'))
        })?;
    let default = default.trim_matches('"');
    is_word(default).then(|| default.to_owned())
}

/// What the variable is assigned, if that happens once and outside of every block.
fn assigned(lines: &[String], variable: &str) -> Option<String> {
    if !is_word(variable) {
        return None;
    }
    let mut values = lines.iter().filter_map(|line| {
        let rest = code(line).trim_start().strip_prefix(variable)?;
        let assigns = rest.trim_start().contains('=') && !rest.starts_with(is_word_char);
        assigns.then_some((line, rest.trim_start()))
    });
    let (line, rest) = values.next()?;
    let value = rest.strip_prefix('=')?;
    (values.next().is_none() && !line.starts_with(char::is_whitespace)).then(|| dense(value))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word_char)
}

/// Changes the default of `ENV.fetch("NAME", 3)` or `ENV.fetch("NAME") { 3 }` outside of blocks.
pub fn set_default(lines: &mut [String], name: &str, value: u16) {
    let outermost =
        |line: &&mut String| !line.starts_with(char::is_whitespace) && !line.starts_with('#');
    for line in lines.iter_mut().filter(outermost) {
        for quote in ['"', '\''] {
            let call = format!("ENV.fetch({quote}{name}{quote}");
            let mut searched = 0;
            while let Some(found) = line[searched..].find(&call) {
                let start = searched + found + call.len();
                searched = start;
                let rest = &line[start..];
                let glue = |c: &char| matches!(c, ',' | ' ' | ')' | '{' | '"' | '\'');
                let from = start + rest.chars().take_while(glue).count();
                let digits = line[from..]
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .count();
                if digits > 0 {
                    line.replace_range(from..from + digits, &value.to_string());
                }
            }
        }
    }
}
