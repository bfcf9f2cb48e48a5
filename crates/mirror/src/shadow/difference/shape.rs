//! The shape of a line: what is left when everything that a record or a moment
//! puts into it is taken out.

use std::sync::LazyLock;

use regex::Regex;

use super::secrets;

/// UUIDs, hexadecimal words with a digit, and numbers, also within words.
#[allow(clippy::expect_used)]
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        [0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}
        | [A-Fa-f]*[0-9][0-9A-Fa-f]{7,}
        | [0-9]+(?:[.,:][0-9]+)*
        ",
    )
    .expect("a constant expression")
});

/// `#` stands for all of them.
pub(super) fn shape(line: &str) -> String {
    let without_secrets = secrets::replaced(line, "#");
    NUMBERS.replace_all(&without_secrets, "#").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_moments_are_taken_out() {
        for (line, expected) in [
            (
                "<li id=\"item_17\">12.50 EUR at 10:31:02</li>",
                "<li id=\"item_#\"># EUR at #</li>",
            ),
            ("/a/0190a3c4-0000-7000-8000-00000000000a/b", "/a/#/b"),
            ("app-3fa85f64.css", "app-#.css"),
            ("a facade of words", "a facade of words"),
            ("nonce=\"x7Gh2Kd9Qw3Er5Ty8Ui1op==\"", "nonce=\"#\""),
        ] {
            assert_eq!(shape(line), expected);
        }
    }
}
