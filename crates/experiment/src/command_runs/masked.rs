//! A command as it may be shown: what is given to a secret variable in it, or stands in a URL as password, is not.

/// The command without its secrets.
pub fn shown(command: &str) -> String {
    let word = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or(("", word));
        let bare = name.trim_start_matches(['-', '"', '\'']);
        if !value.is_empty() && knobs::is_secret(bare, value) {
            let quote = value.chars().last().filter(|c| matches!(c, '"' | '\''));
            let name = match name.is_empty() {
                true => String::new(),
                false => format!("{name}="),
            };
            return format!(
                "{name}REDACTED{}",
                quote.map_or_else(String::new, String::from)
            );
        }
        word.to_owned()
    };
    // Spaces as they are, so that what is shown is what was typed.
    command
        .split_inclusive(char::is_whitespace)
        .map(|piece| {
            let text = piece.trim_end();
            word(text) + &piece[text.len()..]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn secrets_are_not_shown_and_all_else_is() {
        for (command, expected) in [
            ("bin/rails test  -n a=b", "bin/rails test  -n a=b"),
            ("API_TOKEN=hunter2 rake", "API_TOKEN=REDACTED rake"),
            ("rake --api-key=hunter2 x", "rake --api-key=REDACTED x"),
            ("psql postgres://me:hunter2@localhost/x", "psql REDACTED"),
            (
                "env \"SECRET=hunter2\" rake",
                "env \"SECRET=REDACTED\" rake",
            ),
        ] {
            assert_eq!(shown(command), expected);
        }
    }
}
