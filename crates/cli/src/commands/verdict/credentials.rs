//! The credentials for Prometheus: from files or variables, never from the command line, never printed.

use crate::Failure;
use crate::args::VerdictArgs;
use crate::commands::experiment_file::variable;
use std::path::Path;

const TOKEN: &str = "POWERBAND_PROMETHEUS_TOKEN";
const BASIC: &str = "POWERBAND_PROMETHEUS_BASIC";

/// The value of the header `Authorization`, where one is given.
pub(super) fn authorization(args: &VerdictArgs) -> Result<Option<String>, Failure> {
    if let Some(file) = &args.token_file {
        return bearer("--token-file", &read(file, "--token-file")?).map(Some);
    }
    if let Some(file) = &args.basic_file {
        return basic("--basic-file", &read(file, "--basic-file")?).map(Some);
    }
    match (variable(TOKEN)?, variable(BASIC)?) {
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "{TOKEN} and {BASIC} are both set; set one of them"
        ))),
        (Some(token), None) => bearer(TOKEN, &token).map(Some),
        (None, Some(pair)) => basic(BASIC, &pair).map(Some),
        (None, None) => Ok(None),
    }
}

fn read(file: &Path, flag: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|e| {
        Failure::usage(format!(
            "{flag} = \"{}\": {e}; name a file that can be read",
            file.display()
        ))
    })
}

fn bearer(origin: &str, text: &str) -> Result<String, Failure> {
    Ok(format!("Bearer {}", line(origin, text)?))
}

fn basic(origin: &str, text: &str) -> Result<String, Failure> {
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
}
