//! The command line of a server: which program it is, and its options that say the environment.

/// Programs that start a server and take an environment's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Puma,
    RailsServer,
    Rackup,
    Unicorn,
    UnicornRails,
    Pitchfork,
    Falcon,
    Passenger,
}

/// The servers that doctor knows.
pub const SERVERS: &str = "Puma, Unicorn, Pitchfork, Falcon or Passenger";

/// The process of each that `--pid` names.
pub const PROCESSES: &str = "Puma's or Unicorn's master, Pitchfork's monitor, Falcon's first process, or a process of Passenger's application";

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerWords {
    pub program: Program,
    arguments: Vec<String>,
}

impl ServerWords {
    /// The server among a command's words, wherever `ruby`, `bundle exec` or a shell put it. A shell's script that
    /// starts several programs is left alone: which of them it is cannot be known.
    #[must_use]
    pub fn of(words: &[String]) -> Option<ServerWords> {
        let words = flat(words)?;
        let (at, program) = words.iter().enumerate().rev().find_map(|(at, word)| {
            let next = words.get(at + 1).map(String::as_str);
            Some((at, program(word, next)?))
        })?;
        let arguments = words[at + 1..].to_vec();
        Some(ServerWords { program, arguments })
    }

    /// The environment's name, with the option that says it.
    #[must_use]
    pub fn environment(&self) -> Option<(&str, &str)> {
        match self.program {
            Program::Puma | Program::RailsServer | Program::Passenger => {
                self.option("-e", "--environment")
            }
            Program::Unicorn | Program::UnicornRails | Program::Pitchfork | Program::Rackup => {
                self.option("-E", "--env")
            }
            Program::Falcon => None,
        }
    }

    /// Puma's configuration file.
    #[must_use]
    pub fn config(&self) -> Option<&str> {
        let option = self.option("-C", "--config")?;
        (self.program == Program::Puma).then_some(option.1)
    }

    /// The last of an option, as OptionParser reads it: `-e x`, `-ex`, `--environment x`, `--env=x`.
    fn option<'a>(&'a self, short: &'static str, long: &'static str) -> Option<(&'a str, &'a str)> {
        let words = self.arguments.iter().take_while(|word| *word != "--");
        let words: Vec<&str> = words.map(String::as_str).collect();
        let mut found = words.iter().enumerate().filter_map(|(at, word)| {
            let next = words.get(at + 1).copied();
            if word.starts_with("--") {
                let (name, value) = match word.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (*word, next),
                };
                // OptionParser takes what is unambiguous.
                let named = name.len() > "--en".len() - 1 && long.starts_with(name);
                return Some((long, value?)).filter(|_| named);
            }
            match word.strip_prefix(short)? {
                "" => Some((short, next?)),
                value => Some((short, value)),
            }
        });
        found.next_back()
    }
}

/// The words, those of a shell's script or of a title included.
fn flat(words: &[String]) -> Option<Vec<String>> {
    let split = |text: &str| -> Vec<String> {
        let words = text.split_whitespace();
        words
            .map(|word| word.trim_matches(['"', '\'']).to_owned())
            .collect()
    };
    match words {
        [title] => Some(split(title)),
        [shell, flag, script, ..] if flag == "-c" && shell.ends_with("sh") => {
            let words = split(script);
            let several = |word: &String| word == "&" || word == "|" || word.ends_with(';');
            (!script.trim().contains('\n') && !words.iter().any(several)).then_some(words)
        }
        words => Some(words.to_vec()),
    }
}

fn program(word: &str, next: Option<&str>) -> Option<Program> {
    Some(match word.rsplit('/').next()? {
        "puma" => Program::Puma,
        "rails" if matches!(next, Some("server" | "s")) => Program::RailsServer,
        "rackup" => Program::Rackup,
        "unicorn" => Program::Unicorn,
        "unicorn_rails" => Program::UnicornRails,
        "pitchfork" => Program::Pitchfork,
        "falcon" if matches!(next, Some("serve" | "host")) => Program::Falcon,
        "passenger" if next == Some("start") => Program::Passenger,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(command: &[&str]) -> Option<(Program, Option<(String, String)>)> {
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let found = ServerWords::of(&words)?;
        let owned = |(flag, value): (&str, &str)| (flag.to_owned(), value.to_owned());
        Some((found.program, found.environment().map(owned)))
    }

    #[test]
    fn every_servers_option_is_read() {
        let production = |flag: &str| Some((flag.to_owned(), "production".to_owned()));
        for (command, program, flag) in [
            (&["puma", "-e", "production"][..], Program::Puma, "-e"),
            (
                &["ruby", "/usr/bin/puma", "-w", "2", "-eproduction"],
                Program::Puma,
                "-e",
            ),
            (
                &["puma", "-e", "test", "--env=production"],
                Program::Puma,
                "--environment",
            ),
            (
                &["ruby", "bin/rails", "server", "--environment", "production"],
                Program::RailsServer,
                "--environment",
            ),
            (
                &["sh", "-c", "exec bundle exec puma -e 'production'"],
                Program::Puma,
                "-e",
            ),
            (
                &["unicorn master -c config/unicorn.rb -E production"],
                Program::Unicorn,
                "-E",
            ),
            (
                &["unicorn_rails", "--env", "production"],
                Program::UnicornRails,
                "--env",
            ),
            (
                &["pitchfork monitor - -c config/pitchfork.rb -E production"],
                Program::Pitchfork,
                "-E",
            ),
            (&["rackup", "-Eproduction"], Program::Rackup, "-E"),
            (
                &["passenger", "start", "-e", "production"],
                Program::Passenger,
                "-e",
            ),
        ] {
            assert_eq!(
                asked(command),
                Some((program, production(flag))),
                "{command:?}"
            );
        }
    }

    #[test]
    fn other_words_say_nothing() {
        for command in [
            &["bash"][..],
            &["rails", "console", "-e", "production"],
            &["sh", "-c", "puma -e production & puma -e staging"],
            &["bash", "-c", "echo\npuma -e production"],
        ] {
            assert_eq!(asked(command), None, "{command:?}");
        }
        let falcon = ["ruby", "/usr/bin/falcon", "serve", "-e", "UTF-8"];
        assert_eq!(asked(&falcon), Some((Program::Falcon, None)));
        for command in [
            &["puma", "--", "-e", "production"][..],
            &["puma", "-C", "x.rb"],
            &["puma", "-e"],
        ] {
            assert_eq!(asked(command), Some((Program::Puma, None)), "{command:?}");
        }
    }
}
