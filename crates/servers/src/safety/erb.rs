//! Understands ERB tags that only look up environment variables. Evaluates nothing.

use std::sync::LazyLock;

use regex::Regex;

/// Each tag is replaced by its number between these characters, which are plain text for YAML.
const BEGIN: char = '\u{e000}';
const END: char = '\u{e001}';

/// A file with its tags replaced.
pub(super) struct Template<'a> {
    /// The text with a mark in place of each `<%= %>`; line numbers are kept.
    pub(super) text: String,
    /// The Ruby expressions of these tags.
    expressions: Vec<&'a str>,
}

static LOOK_UP: LazyLock<Regex> = LazyLock::new(|| {
    let name = r#"["'](\w+)["']"#;
    let literal = r##"("[^"#\\]*"|'[^'\\]*'|\d+|nil)"##;
    let fetch =
        format!(r"ENV\.fetch\(?\s*{name}\s*(?:,\s*{literal}\s*)?\)?\s*(?:\{{\s*{literal}\s*\}})?");
    let index = format!(r"ENV\[\s*{name}\s*\](\.presence)?");
    let pattern = format!(r"^\s*(?:{fetch}|{index}|{literal})(?:\.to_[is])?\s*$");
    Regex::new(&pattern).expect("a constant")
});

impl<'a> Template<'a> {
    pub(super) fn of(file: &'a str) -> Template<'a> {
        let (mut text, mut expressions) = (String::new(), Vec::new());
        let mut rest = file;
        while let Some((before, tag)) = rest.split_once("<%") {
            text.push_str(before);
            let (tag, after) = tag.split_once("%>").unwrap_or((tag, ""));
            if let Some(printed) = tag.strip_prefix('=') {
                text.push_str(&format!("{BEGIN}{}{END}", expressions.len()));
                expressions.push(printed.trim_end_matches('-').trim());
            } else {
                text.extend(tag.chars().filter(|&c| c == '\n'));
            }
            rest = after;
        }
        text.push_str(rest);
        Template { text, expressions }
    }

    /// A value with its tags evaluated; `None` if a tag is more than a look-up.
    pub(super) fn filled(
        &self,
        value: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let mut filled = String::new();
        let mut rest = value;
        while let Some((before, tag)) = rest.split_once(BEGIN) {
            let (number, after) = tag.split_once(END)?;
            let expression = self.expressions.get(number.parse::<usize>().ok()?)?;
            filled.push_str(before);
            filled.push_str(&printed(expression, variable)?.unwrap_or_default());
            rest = after;
        }
        filled.push_str(rest);
        Some(filled)
    }
}

/// The value of an expression (`Some(None)`: nil); `None` if it is more than a look-up with a literal default.
fn printed(expression: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<Option<String>> {
    let mut value = None;
    for operand in expression.split("||") {
        let found = LOOK_UP.captures(operand)?;
        let group = |numbers: &[usize]| {
            numbers
                .iter()
                .find_map(|&n| found.get(n))
                .map(|m| m.as_str())
        };
        let looked_up = group(&[1, 4]).and_then(variable);
        let looked_up = looked_up.filter(|text| found.get(5).is_none() || !text.trim().is_empty());
        let literal = group(&[2, 3, 6]).filter(|literal| *literal != "nil");
        let literal = literal.map(|literal| literal.trim_matches(['"', '\'']).to_owned());
        // Operands after the first value are parsed too: all must be understood.
        value = value.or(looked_up).or(literal);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_are_understood_and_nothing_else() {
        let variable = |name: &str| match name {
            "SET" => Some("value".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (expression, expected) in [
            (r#"ENV["SET"]"#, Some("value")),
            (r#"ENV['UNSET']"#, Some("")),
            (r#"ENV["EMPTY"] || "x""#, Some("")),
            (r#"ENV["EMPTY"].presence || "x""#, Some("x")),
            (r#"ENV["UNSET"] || ENV["SET"]"#, Some("value")),
            (r#"ENV.fetch("SET")"#, Some("value")),
            (r#"ENV.fetch("UNSET", "x")"#, Some("x")),
            (r#"ENV.fetch("UNSET") { "x" }"#, Some("x")),
            (r#"ENV.fetch("UNSET") { 5 }"#, Some("5")),
            (r#"ENV.fetch "UNSET", "x""#, Some("x")),
            (r#""x""#, Some("x")),
            (r#"ENV["UNSET"] || lookup"#, None),
            (r#"ENV.fetch("UNSET") { "db.#{zone}" }"#, None),
            (r#"ENV["SET"] + ".example.org""#, None),
            ("Rails.application.credentials.db", None),
            (r#"['db', "example.org"].join(".")"#, None),
        ] {
            let file = format!("a: <%= {expression} -%>");
            let template = Template::of(&file);
            let value = template.text.strip_prefix("a: ").unwrap();
            let filled = template.filled(value, &variable);
            assert_eq!(filled.as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn tags_that_print_nothing_leave_their_lines() {
        let template = Template::of("a\n<%# x %>\n<% if y\n z %>\nb <%= 1 %>c\n<% end");
        let filled = template.filled(&template.text, &|_| None).unwrap();
        assert_eq!(filled, "a\n\n\n\nb 1c\n");
    }
}
