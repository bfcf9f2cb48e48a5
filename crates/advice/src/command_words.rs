//! Words of a command that set what is recommended: flags of the server, and variables before it.

use crate::variable::{Wanted, is_name, is_plain};
use crate::{Recommended, Server};

/// The words that are to stand in the place of others, by their number. A command may run in a shell; what is computed there stays.
pub fn replaced(
    words: &[&str],
    recommended: &Recommended,
    wanted: &[Wanted],
) -> Vec<(usize, String)> {
    let mut new = Vec::new();
    let server = words.iter().position(|word| runs(word, recommended.server));
    // Another program may follow, with flags of the same names.
    let end = server.and_then(|server| (server..words.len()).find(|at| ends(words[*at])));
    for (at, word) in words[..end.unwrap_or(words.len())].iter().enumerate() {
        let assigned = word.split_once('=').and_then(|(name, value)| {
            let wanted = wanted.iter().find(|wanted| wanted.name == name)?;
            let new = wanted.over(Some(value))?;
            (is_plain(value) && is_plain(&new)).then(|| format!("{name}={new}"))
        });
        let flag = server
            .filter(|server| at > *server)
            .and_then(|_| of_flag(words, at, recommended));
        if let Some(other) = assigned.or(flag).filter(|other| other != word) {
            new.push((at, other));
        }
    }
    new
}

/// What to say of a command that sets other variables too: its line would show them.
pub const SHOWS_OTHERS: &str =
    "the command sets other variables too, so it stays; set its flags and variables by hand";

/// Whether a command sets variables that are not ours.
pub fn sets_others<'w>(words: impl IntoIterator<Item = &'w str>, wanted: &[Wanted]) -> bool {
    let mut assigned = words
        .into_iter()
        .filter_map(|word| Some(word.split_once('=')?.0));
    assigned.any(|name| is_name(name) && wanted.iter().all(|wanted| wanted.name != name))
}

/// A command in one line, with those words; `None` where it is as it should be.
pub fn line_with(line: &str, recommended: &Recommended, wanted: &[Wanted]) -> Option<String> {
    // Split at each space, so that joined again it is the same.
    let words: Vec<&str> = line.split(' ').collect();
    let replaced = replaced(&words, recommended, wanted);
    let mut all: Vec<String> = words.iter().map(ToString::to_string).collect();
    let changes = !replaced.is_empty();
    for (at, word) in replaced {
        all[at] = word;
    }
    changes.then(|| all.join(" "))
}

/// Whether a word is the server's program.
pub fn runs(word: &str, server: Server) -> bool {
    let program = match server {
        Server::Puma => "puma",
        Server::Unicorn => "unicorn",
        Server::Pitchfork => "pitchfork",
        Server::Falcon => "falcon",
        Server::Passenger => "passenger",
    };
    word.rsplit('/').next() == Some(program)
}

/// Whether a word ends a command of a shell: `;`, `&&`, `3000;`. An address in quotes holds such characters further in.
fn ends(word: &str) -> bool {
    const OPERATORS: [char; 3] = [';', '&', '|'];
    word.starts_with(OPERATORS) || word.ends_with(OPERATORS)
}

/// A flag's value as it should be: of `-w 2`, of `-w2`, of `--workers=2`.
fn of_flag(words: &[&str], at: usize, recommended: &Recommended) -> Option<String> {
    let threads = format!("{0}:{0}", recommended.threads);
    let workers = recommended.workers.to_string();
    let flags: &[(&str, &str, &str)] = match recommended.server {
        Server::Puma => &[("-t", "--threads", &threads), ("-w", "--workers", &workers)],
        Server::Falcon => &[("-n", "--count", &workers)],
        _ => &[],
    };
    let number =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == ':');
    flags.iter().find_map(|(short, long, value)| {
        let before = words[..at].last();
        if before.is_some_and(|word| word == short || word == long) && number(words[at]) {
            return Some((*value).to_owned());
        }
        let assigned = format!("{long}=");
        [*short, &assigned].into_iter().find_map(|flag| {
            let joined = words[at].strip_prefix(flag)?;
            number(joined).then(|| format!("{flag}{value}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(line: &str, server: Server) -> String {
        let recommended = Recommended::of(server, 2, 5, true);
        let wanted = [
            Wanted::is("WEB_CONCURRENCY", 2),
            Wanted::is("RAILS_MAX_THREADS", 5),
        ];
        line_with(line, &recommended, &wanted).unwrap_or_else(|| line.to_owned())
    }

    #[test]
    fn flags_of_the_server_and_variables_are_replaced_and_others_are_not() {
        for (line, expected) in [
            (
                "WEB_CONCURRENCY=4 bundle exec puma -t 3:3 -w 4 -p 3000",
                "WEB_CONCURRENCY=2 bundle exec puma -t 5:5 -w 2 -p 3000",
            ),
            (
                "bin/puma --threads=1:6 --workers 8",
                "bin/puma --threads=5:5 --workers 2",
            ),
            ("puma -t3:3 -w9 -p3000", "puma -t5:5 -w2 -p3000"),
            ("puma -w 9 && sidekiq -t 25", "puma -w 2 && sidekiq -t 25"),
            (
                "puma -w 9 -p 3000; sidekiq -t 25",
                "puma -w 2 -p 3000; sidekiq -t 25",
            ),
            (
                "puma -b 'ssl://[::]:9292?key=k&cert=c' -w 9 2>&1",
                "puma -b 'ssl://[::]:9292?key=k&cert=c' -w 2 2>&1",
            ),
            ("timeout -t 9 puma", "timeout -t 9 puma"),
            (
                "puma -w ${WEB_CONCURRENCY:-2} -t $T",
                "puma -w ${WEB_CONCURRENCY:-2} -t $T",
            ),
            ("RAILS_MAX_THREADS=$N puma", "RAILS_MAX_THREADS=$N puma"),
        ] {
            assert_eq!(after(line, Server::Puma), expected);
        }
        assert_eq!(
            after("falcon serve --count 9 -t 1", Server::Falcon),
            "falcon serve --count 2 -t 1"
        );
        assert_eq!(after("puma -w 9", Server::Unicorn), "puma -w 9");
    }
}
