//! Which commands a run folder keeps: those that can hold no password.

/// What a server's command has filled in.
const PLACEHOLDERS: [&str; 4] = ["{port}", "{threads}", "{workers}", "{config}"];

/// Whether a command can hold no password: words of letters, digits and `_./:-`, and options without values of their own. The only
/// values of options are placeholders such as `{port}`.
pub fn is_plain(command: &str) -> bool {
    let mut after_option = false;
    command.split_ascii_whitespace().all(|word| {
        let bare = PLACEHOLDERS
            .iter()
            .fold(word.to_owned(), |word, placeholder| {
                word.replace(placeholder, "")
            });
        let is_value = after_option;
        after_option = bare.starts_with('-');
        match after_option {
            true => is_plain_option(&bare) && bare == word,
            false if is_value => bare.chars().all(|c| c == ':') && bare != word,
            false => bare
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_./:-".contains(c)),
        }
    })
}

/// `-w` or `--quiet`, and neither `-phunter2` nor `--password`.
fn is_plain_option(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(name) => {
            name.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !knobs::is_secret(name, "")
        }
        None => word.len() == 2 && word.ends_with(|c: char| c.is_ascii_alphabetic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_a_value_of_an_option_quotes_or_an_assignment_is_not_plain() {
        for plain in [
            "bin/rails db:reset",
            "/srv/shop/script/reset.sh",
            "bin/rails db:reset --trace",
            "bundle exec puma -t {threads}:{threads} -w {workers} -p {port}",
        ] {
            assert!(is_plain(plain), "{plain}");
        }
        let secret = [
            "curl -H 'Authorization: Bearer hunter2' http://127.0.0.1/",
            "curl -H Authorization:hunter2 127.0.0.1/",
            "mysql -phunter2",
            "mysql --password hunter2",
            "redis-cli -a hunter2 FLUSHALL",
            "curl -u hunter2:x {port}",
            "script --quiet hunter2{port}",
            "curl me:hunter2@127.0.0.1",
            "sh -c 'reset hunter2'",
            "MODE=hunter2 bin/reset",
        ];
        for command in secret {
            assert!(!is_plain(command), "{command}");
        }
    }
}
