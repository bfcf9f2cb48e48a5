//! Passenger's directives in Apache's configuration.
//!
//! A directive is changed where it stands for the whole server, `<IfModule mod_passenger.c>` counting as that. One that
//! stands nowhere is added inside such a block. Below `<VirtualHost>` and the like a directive is changed where it is the
//! only one, else reported.

use crate::text::{Text, indent};
use crate::{Change, Note, Recommended, SpawnMethod};

/// What of the settings concerns Passenger, in the file.
pub fn write(path: &str, before: &str, recommended: &Recommended, notes: &mut Vec<Note>) -> Change {
    let mut text = Text::of(before);
    for (name, value) in wanted(recommended) {
        let step = match Parsed::of(&text.lines) {
            Some(parsed) => set(&mut text, &parsed, name, &value),
            None => Some(
                "a section or a line is not ended, so it is changed by hand or not at all."
                    .to_owned(),
            ),
        };
        if let Some(said) = step {
            notes.push(Note::new(path, said));
            if Parsed::of(&text.lines).is_none() {
                break;
            }
        }
    }
    Change::private(path, before, text.whole())
}

fn wanted(recommended: &Recommended) -> Vec<(&'static str, String)> {
    let passenger = recommended.passenger;
    let pool = passenger
        .max_pool_size
        .unwrap_or(u32::from(recommended.workers.max(1)));
    let spawn = passenger.spawn_method.unwrap_or(match recommended.preload {
        true => SpawnMethod::Smart,
        false => SpawnMethod::Direct,
    });
    let spawn = match spawn {
        SpawnMethod::Smart => "smart",
        SpawnMethod::Direct => "direct",
    };
    let number = |name, value: Option<u32>| value.map(|value| (name, value.to_string()));
    [
        number("PassengerMaxPoolSize", Some(pool)),
        number("PassengerMinInstances", passenger.min_instances),
        number(
            "PassengerMaxInstancesPerApp",
            passenger.max_instances_per_app,
        ),
        number(
            "PassengerMaxRequestQueueSize",
            passenger.max_request_queue_size,
        ),
        number("PassengerMaxRequests", passenger.max_requests),
        Some(("PassengerSpawnMethod", spawn.to_owned())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Sets one directive; its notes are for a person.
fn set(text: &mut Text, parsed: &Parsed, name: &str, value: &str) -> Option<String> {
    let named = |d: &&Directive| d.name.eq_ignore_ascii_case(name);
    let all: Vec<&Directive> = parsed.directives.iter().filter(named).collect();
    let (everywhere, below): (Vec<&Directive>, Vec<&Directive>) =
        all.iter().partition(|d| d.everywhere);
    let place = match (everywhere.last(), below.as_slice()) {
        (Some(last), _) => Some(*last),
        (None, [one]) => Some(*one),
        (None, _) => None,
    };
    if let Some(odd) = place.filter(|there| !is_known(&there.value)) {
        // Whatever it is, it is not what this directive takes, and not to be shown.
        return Some(format!(
            "line {}: let it be `{name} {value}`.",
            odd.first + 1
        ));
    }
    match place {
        Some(there) if there.value == value => {}
        Some(there) => {
            let line = format!("{}{name} {value}", indent(&text.lines[there.first]));
            text.lines[there.first] = line;
            for _ in there.first..there.last {
                text.remove(there.first + 1);
            }
        }
        None if !below.is_empty() => {}
        None => add(text, parsed, &format!("{name} {value}")),
    }
    let others = below.iter().filter(|d| d.value != value);
    let others = others.filter(|d| place.is_none_or(|place| place.first != d.first));
    let lines: Vec<String> = others.map(|d| (d.first + 1).to_string()).collect();
    (!lines.is_empty()).then(|| {
        format!(
            "{name} {value} does not reach where it is set for a part of the server: line {}.",
            lines.join(", ")
        )
    })
}

/// Whether a value is one that such a directive takes.
fn is_known(value: &str) -> bool {
    let number = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit());
    number || ["smart", "direct", "smart-lv2", "conservative"].contains(&value)
}

/// At the end of the last block of Passenger's, or in a new one.
fn add(text: &mut Text, parsed: &Parsed, line: &str) {
    let Some((open, close)) = parsed.block else {
        if text
            .lines
            .last()
            .is_some_and(|line| !line.trim().is_empty())
        {
            text.lines.push(String::new());
        }
        for line in [
            "<IfModule mod_passenger.c>",
            &format!("  {line}"),
            "</IfModule>",
        ] {
            text.lines.push(line.to_owned());
        }
        return;
    };
    let inside = text.lines[open + 1..close]
        .iter()
        .find(|line| !line.trim().is_empty());
    let indent = match inside {
        Some(line) => indent(line).to_owned(),
        None => format!("{}  ", indent(&text.lines[open])),
    };
    text.insert(close, format!("{indent}{line}"));
}

struct Directive {
    first: usize,
    last: usize,
    name: String,
    value: String,
    /// Whether it holds for the whole server.
    everywhere: bool,
}

struct Parsed {
    directives: Vec<Directive>,
    /// The lines of the last `<IfModule>` of Passenger's that holds for the whole server, and of its end.
    block: Option<(usize, usize)>,
}

impl Parsed {
    /// `None` where a section is not closed or a line goes on behind the end.
    fn of(lines: &[String]) -> Option<Parsed> {
        let mut parsed = Parsed {
            directives: Vec::new(),
            block: None,
        };
        // Sections by name, whether they are Passenger's own, and where they begin.
        let mut open: Vec<(String, bool, usize)> = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let first = at;
            let mut whole = lines[at].clone();
            at += 1;
            while whole.ends_with('\\') {
                whole.pop();
                whole.push_str(lines.get(at)?);
                at += 1;
            }
            let whole = whole.trim();
            if whole.is_empty() || whole.starts_with('#') {
                continue;
            }
            if let Some(name) = whole.strip_prefix("</") {
                let name = name.trim_end_matches('>').trim().to_lowercase();
                let (opened, own, begin) = open.pop()?;
                if opened != name {
                    return None;
                }
                if own && open.iter().all(|(_, own, _)| *own) {
                    parsed.block = Some((begin, first));
                }
                continue;
            }
            if let Some(section) = whole.strip_prefix('<') {
                let section = section.strip_suffix('>')?;
                let (name, argument) = section
                    .split_once(char::is_whitespace)
                    .unwrap_or((section, ""));
                let module = argument.trim().trim_matches('"');
                let own = name.eq_ignore_ascii_case("IfModule")
                    && ["mod_passenger.c", "passenger_module"].contains(&module);
                open.push((name.to_lowercase(), own, at - 1));
                continue;
            }
            let (name, value) = whole.split_once(char::is_whitespace).unwrap_or((whole, ""));
            parsed.directives.push(Directive {
                first,
                last: at - 1,
                name: name.to_owned(),
                value: value.trim().trim_matches('"').to_lowercase(),
                everywhere: open.iter().all(|(_, own, _)| *own),
            });
        }
        open.is_empty().then_some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Passenger, Server};

    fn with(before: &str) -> (Change, Vec<Note>) {
        let mut recommended = Recommended::of(Server::Passenger, 6, 1, true);
        recommended.passenger = Passenger {
            min_instances: Some(6),
            max_request_queue_size: Some(200),
            ..Passenger::default()
        };
        let mut notes = Vec::new();
        let change = write("passenger.conf", before, &recommended, &mut notes);
        let again = write(
            "passenger.conf",
            &change.text,
            &recommended,
            &mut Vec::new(),
        );
        assert_eq!(again.diff, "");
        (change, notes)
    }

    const ALL: [&str; 4] = [
        "PassengerMaxPoolSize 6\n",
        "PassengerMinInstances 6\n",
        "PassengerMaxRequestQueueSize 200\n",
        "PassengerSpawnMethod smart\n",
    ];

    #[test]
    fn a_new_file_counts_only_where_there_is_passenger() {
        let (change, notes) = with("");
        let lines = ALL.map(|line| format!("  {line}")).concat();
        assert_eq!(
            change.text,
            format!("<IfModule mod_passenger.c>\n{lines}</IfModule>\n")
        );
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn directives_are_changed_where_they_stand_and_added_to_their_block() {
        let before = "<IfModule mod_passenger.c>\r\n\tPassengerRoot /x\r\n\tpassengermaxpoolsize \\\r\n\t  4\r\n</IfModule>\r\n<VirtualHost *:80>\r\n  SetEnv KEY hunter2\r\n  PassengerMinInstances 1\r\n</VirtualHost>\r\n";
        let (change, notes) = with(before);
        let wanted = before
            .replace("passengermaxpoolsize \\\r\n\t  4", "PassengerMaxPoolSize 6")
            .replace("Instances 1", "Instances 6")
            .replace(
                "</IfModule>",
                "\tPassengerMaxRequestQueueSize 200\r\n\tPassengerSpawnMethod smart\r\n</IfModule>",
            );
        assert_eq!(change.text, wanted);
        assert!(
            !change.diff.contains("hunter2") && notes.is_empty(),
            "{notes:?}"
        );
    }

    #[test]
    fn parts_of_the_server_that_have_their_own_are_told() {
        let before = format!(
            "{}<VirtualHost *:80>\nPassengerSpawnMethod direct\n</VirtualHost>\n",
            ALL.concat()
        );
        let (change, notes) = with(&before);
        assert_eq!((change.diff.as_str(), notes.len()), ("", 1));
        assert!(notes[0].text.contains("line 6"), "{notes:?}");
    }

    #[test]
    fn what_is_not_ended_is_left_alone() {
        for before in ["<VirtualHost *:80>\n", "</IfModule>\n", "A \\", "<If\n"] {
            let (change, notes) = with(before);
            assert_eq!((change.diff.as_str(), notes.len()), ("", 1), "{before}");
        }
    }
}
