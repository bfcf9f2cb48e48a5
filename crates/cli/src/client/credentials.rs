//! What a secret's file or variable holds: values of headers, never from the command line, never printed.

use crate::Failure;
use std::path::Path;

/// The text of a flag's file.
pub fn read(file: &Path, flag: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|e| {
        Failure::usage(format!(
            "{flag} = \"{}\": {e}; name a file that can be read",
            file.display()
        ))
    })
}

/// `Authorization` with a token.
pub fn bearer(origin: &str, text: &str) -> Result<String, Failure> {
    Ok(format!("Bearer {}", line(origin, text)?))
}

/// `Authorization` with a user and a password.
pub fn basic(origin: &str, text: &str) -> Result<String, Failure> {
    use base64::Engine as _;
    let pair = line(origin, text)?;
    if !pair.contains(':') {
        return Err(Failure::usage(format!(
            "{origin} holds no colon; write user:password"
        )));
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
    Ok(format!("Basic {encoded}"))
}

/// Names and values of headers, one a line.
pub fn headers(origin: &str, text: &str) -> Result<Vec<(String, String)>, Failure> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let headers: Option<Vec<_>> = lines.map(header).collect();
    headers.filter(|all| !all.is_empty()).ok_or_else(|| {
        Failure::usage(format!(
            "{origin} does not hold headers alone; write a line such as \"api-key: SECRET\" for each, in printable ASCII"
        ))
    })
}

fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let value = value.trim();
    let is_plain = !value.is_empty() && value.chars().all(|c| (' '..='~').contains(&c));
    http::HeaderName::from_bytes(name.as_bytes()).ok()?;
    is_plain.then(|| (name.to_owned(), value.to_owned()))
}

/// Editors end a file with a newline.
fn line<'a>(origin: &str, text: &'a str) -> Result<&'a str, Failure> {
    let line = text.trim_end_matches(['\n', '\r']);
    match line.is_empty() || line.chars().any(|c| !(' '..='~').contains(&c)) {
        true => Err(Failure::usage(format!(
            "{origin} does not hold one line of printable ASCII; write it there"
        ))),
        false => Ok(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_without_what_a_header_cannot_hold() {
        assert_eq!(bearer("x", "abc\n").unwrap(), "Bearer abc");
        assert_eq!(basic("x", "user:pass\r\n").unwrap(), "Basic dXNlcjpwYXNz");
        for wrong in ["", "\n", "a\nb", "ü"] {
            let said = bearer("--token-file", wrong).unwrap_err().message;
            assert!(said.starts_with("--token-file does not hold"), "{said}");
        }
        assert!(
            !basic("x", "hunter2")
                .unwrap_err()
                .message
                .contains("hunter2")
        );
    }

    #[test]
    fn a_header_a_line() {
        let found = headers("x", "api-key: a:b \r\n\nX-Scope-OrgID:shop\n").unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found,
            [pair("api-key", "a:b"), pair("X-Scope-OrgID", "shop")]
        );
        for wrong in ["", "hunter2", "a b: hunter2", "a:", "a: hunter\u{7f}2"] {
            let said = headers("--header-file", wrong).unwrap_err().message;
            assert!(said.starts_with("--header-file"), "{said}");
            assert!(!said.contains("hunter"), "{said}");
        }
    }
}
