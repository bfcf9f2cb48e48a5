//! `filter_parameters` in a Rails application's configuration, as far as they
//! are literal symbols and strings.

/// Why a file's `filter_parameters` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Nothing is assigned to it.
    #[error("it sets no filter_parameters")]
    Missing,
    /// Not a literal.
    #[error("line {line}: only literal symbols and strings are read, not {found:?}")]
    NotLiteral {
        /// From 1.
        line: usize,
        /// How it begins.
        found: String,
    },
}

const NAME: &str = "filter_parameters";

/// The names that a Ruby file such as `config/initializers/filter_parameter_logging.rb` filters.
///
/// # Errors
/// When there are none, or one is an expression, such as a regular expression or a lambda.
pub fn filter_parameters(ruby: &str) -> Result<Vec<String>, FilterError> {
    let mut names = Vec::new();
    let mut found = false;
    let mut at = 0;
    while let Some(next) = ruby[at..].find(NAME) {
        let name = at + next;
        at = name + NAME.len();
        let line = &ruby[ruby[..name].rfind('\n').map_or(0, |end| end + 1)..name];
        if line.contains('#') {
            continue;
        }
        let rest = ruby[at..].trim_start_matches([' ', '\t']);
        let operators = ["+=", "=", "<<", ".push", ".concat", ".append"];
        if let Some(list) = operators
            .iter()
            .find_map(|operator| rest.strip_prefix(operator))
        {
            let mut literals = Literals {
                ruby,
                at: ruby.len() - list.len(),
            };
            literals.read(&mut names)?;
            at = literals.at;
            found = true;
        }
    }
    if found {
        Ok(names)
    } else {
        Err(FilterError::Missing)
    }
}

struct Literals<'a> {
    ruby: &'a str,
    at: usize,
}

impl Literals<'_> {
    /// Up to the end of the statement.
    fn read(&mut self, names: &mut Vec<String>) -> Result<(), FilterError> {
        let mut depth = 0_usize;
        let mut goes_on = true;
        loop {
            let rest = &self.ruby[self.at..];
            let Some(c) = rest.chars().next() else {
                return Ok(());
            };
            let taken = match c {
                '\n' if depth == 0 && !goes_on => return Ok(()),
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '[' | '(' => {
                    depth += 1;
                    1
                }
                ']' | ')' => {
                    depth = depth.saturating_sub(1);
                    goes_on = false;
                    1
                }
                ',' => {
                    goes_on = true;
                    1
                }
                c if c.is_whitespace() => c.len_utf8(),
                _ if rest.starts_with(".freeze") => ".freeze".len(),
                _ => {
                    goes_on = false;
                    self.literal(rest, names)?
                }
            };
            self.at += taken;
        }
    }

    /// The length of the literal at the beginning.
    fn literal(&self, rest: &str, names: &mut Vec<String>) -> Result<usize, FilterError> {
        let refused = || FilterError::NotLiteral {
            line: self.ruby[..self.at].matches('\n').count() + 1,
            found: rest
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(30)
                .collect(),
        };
        let quoted = |text: &str| {
            let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let inner = &text[1..1 + text[1..].find(quote)?];
            (!inner.contains(['\\', '\n']) && !inner.contains("#{")).then(|| inner.to_owned())
        };
        if let Some(text) = quoted(rest) {
            let length = text.len() + 2;
            names.push(text);
            return Ok(length);
        }
        if let Some(symbol) = rest.strip_prefix(':') {
            if let Some(text) = quoted(symbol) {
                let length = text.len() + 3;
                names.push(text);
                return Ok(length);
            }
            let end = symbol.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '?' | '!'));
            let name = &symbol[..end.unwrap_or(symbol.len())];
            if !name.is_empty() {
                names.push(name.to_owned());
                return Ok(1 + name.len());
            }
        }
        let words = rest
            .strip_prefix("%i")
            .or_else(|| rest.strip_prefix("%w"))
            .ok_or_else(refused)?;
        let close = match words.chars().next() {
            Some('[') => ']',
            Some('(') => ')',
            Some('{') => '}',
            _ => return Err(refused()),
        };
        let end = words.find(close).ok_or_else(refused)?;
        names.extend(words[1..end].split_whitespace().map(str::to_owned));
        Ok(2 + end + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read() {
        let rails = "# Be sure to restart your server when you change filter_parameters = [:no].\n\
            Rails.application.config.filter_parameters += [\n  :passw, :email, # people\n  :_key, \"bank.iban\",\n  :'x-y'\n]\n\
            puts :other\n";
        for (ruby, expected) in [
            (rails, &["passw", "email", "_key", "bank.iban", "x-y"][..]),
            ("config.filter_parameters << :a << 1", &[]),
            (
                "config.filter_parameters << :a\nconfig.filter_parameters.push(:b, 'c')",
                &["a", "b", "c"],
            ),
            ("config.filter_parameters = %i[a b] \n", &["a", "b"]),
            (
                "config.filter_parameters += %w(a\n b).freeze\nx = 1",
                &["a", "b"],
            ),
            ("config.filter_parameters += [:a,\n  :b]\n[:c]", &["a", "b"]),
            // White space of two and three bytes.
            (
                "config.filter_parameters += [\u{a0}:a,\u{2003}:b\u{3000}]",
                &["a", "b"],
            ),
            ("config.filter_parameters\u{a0}+= [:a]", &[]),
        ] {
            match filter_parameters(ruby) {
                Ok(names) => assert_eq!(names, expected, "{ruby}"),
                Err(error) => assert!(expected.is_empty(), "{ruby}: {error}"),
            }
        }
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for (ruby, message) in [
            ("", "it sets no filter_parameters"),
            (
                "# filter_parameters += [:a]",
                "it sets no filter_parameters",
            ),
            (
                "\nc.filter_parameters += [:a, /b/]",
                "line 2: only literal symbols and strings are read, not \"/b/]\"",
            ),
            (
                "c.filter_parameters += [\"a#{b}\"]",
                "line 1: only literal symbols and strings are read, not \"\\\"a#{b}\\\"]\"",
            ),
            (
                "c.filter_parameters += names",
                "line 1: only literal symbols and strings are read, not \"names\"",
            ),
        ] {
            assert_eq!(
                filter_parameters(ruby).unwrap_err().to_string(),
                message,
                "{ruby}"
            );
        }
    }
}
