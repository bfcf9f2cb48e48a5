//! Headers that go with each request. Their values are often credentials, so that no message shows one.

use super::{Asked, Problem};
use load::Header;

/// Each `NAME: VALUE`, every name once.
///
/// # Errors
/// Names each that cannot be sent, by its number where it has no name, without its value.
pub fn parse_headers(asked: &[Asked]) -> Result<Vec<Header>, Vec<Problem>> {
    let mut headers: Vec<Header> = Vec::new();
    let mut problems = Vec::new();
    for (index, asked) in asked.iter().enumerate() {
        let origin = &asked.origin;
        match Header::parse(&asked.text) {
            Ok(header) => {
                let name = header.name();
                let twice = |known: &Header| known.name().eq_ignore_ascii_case(name);
                if headers.iter().any(twice) {
                    problems.push(Problem::with(
                        format!("{origin} {name}: given twice"),
                        "join the values in one header",
                    ));
                    continue;
                }
                headers.push(header);
            }
            Err(wrong) => {
                let which = match &wrong.name {
                    Some(name) => format!("{origin} {name}"),
                    None => format!("{origin}, number {}", index + 1),
                };
                problems.push(Problem::with(
                    format!("{which}: {}", wrong.what),
                    wrong.remedy,
                ));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(headers),
        false => Err(problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_header_is_named_and_its_value_not_shown() {
        let given = [
            "X-Key: s3cret",
            "x-other s3cret",
            "x-key: s3cret",
            "Host: s3cret",
        ];
        let asked = given.map(|text| Asked::new(text, "--header"));
        let problems = parse_headers(&asked).unwrap_err();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3);
        assert!(!said.join("\n").contains("s3cret"), "{said:?}");
        assert!(
            said[0].contains("--header, number 2")
                && said[1].contains("x-key: given twice")
                && said[2].contains("Host: set by powerband; use --host"),
            "{said:?}"
        );
    }
}
