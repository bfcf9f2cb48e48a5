//! A drop-in of a service's unit: `Environment=` lines.
//!
//! `systemd.exec(5)`: several assignments on a line, quoted as in `systemd.syntax(7)`, `%` begins a specifier, the last
//! assignment of a variable counts, an empty `Environment=` forgets all before it, and `EnvironmentFile=` overrides.

use crate::text::Text;
use crate::variable::Wanted;
use crate::{Change, Note};

/// Where the drop-in of a service goes, as `systemctl edit` would put it: in no folder that a package owns.
#[must_use]
pub fn drop_in(unit: &str) -> String {
    let name = unit.strip_suffix(".service").unwrap_or(unit);
    format!("/etc/systemd/system/{name}.service.d/powerband.conf")
}

/// These variables in a unit or a drop-in. A line that sets several is overridden by one below it and never shown.
pub fn write(path: &str, before: &str, wanted: &[Wanted], notes: &mut Vec<Note>) -> Change {
    let mut text = Text::of(before);
    if entries(&text.lines).iter().any(|entry| entry.unfinished) {
        notes.push(Note::new(
            path,
            "the last line continues on one that is not there; end it, then ask again.",
        ));
        return Change::private(path, before, text.whole());
    }
    let mut set = 0;
    for variable in wanted {
        let entries = entries(&text.lines);
        let (existing, alone) = effective(&entries, &variable.name);
        let known = existing.as_ref().map(|v| v.as_deref().unwrap_or_default());
        let Some(value) = variable.over(known) else {
            continue;
        };
        set += 1;
        if existing == Some(Some(value.clone())) {
            continue;
        }
        let line = format!("Environment={}", quoted(&variable.name, &value));
        match alone {
            Some(at) => text.lines[at] = line,
            None => append(&mut text, &entries, line),
        }
    }
    if set > 0
        && entries(&text.lines)
            .iter()
            .any(|entry| entry.key == "EnvironmentFile")
    {
        notes.push(Note::new(
            path,
            "variables in the file that EnvironmentFile= names override these: make sure that it sets none of them.",
        ));
    }
    Change::private(path, before, text.whole())
}

struct Entry {
    first: usize,
    last: usize,
    service: bool,
    /// Empty for the header of a section.
    key: String,
    value: String,
    /// Goes on behind the end, so that whatever is added becomes a part of it.
    unfinished: bool,
}

/// Lines that say something, those that are continued joined.
fn entries(lines: &[String]) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut service = false;
    let comment = |line: &str| line.trim_start().starts_with(['#', ';']);
    let mut at = 0;
    while at < lines.len() {
        let first = at;
        let mut whole = lines[at].trim_start().to_owned();
        at += 1;
        if whole.trim().is_empty() || comment(&whole) {
            continue;
        }
        while whole.ends_with('\\') && at < lines.len() {
            whole.pop();
            whole.push(' ');
            // Comments between continued lines are no part of them.
            if !comment(&lines[at]) {
                whole.push_str(lines[at].trim_start());
            } else {
                whole.push('\\');
            }
            at += 1;
        }
        let unfinished = whole.ends_with('\\');
        let whole = whole.trim();
        let header = whole.starts_with('[') && whole.ends_with(']');
        if header {
            service = whole == "[Service]";
        }
        let (key, value) = whole.split_once('=').unwrap_or((whole, ""));
        found.push(Entry {
            first,
            last: at - 1,
            service,
            key: if header { "" } else { key.trim_end() }.to_owned(),
            value: value.trim_start().to_owned(),
            unfinished,
        });
    }
    found
}

/// What a variable is set to, `None` within where that cannot be known, and the line that sets it and nothing else.
fn effective(entries: &[Entry], name: &str) -> (Option<Option<String>>, Option<usize>) {
    let mut found = (None, None);
    let ours = |entry: &&Entry| entry.service && entry.key == "Environment";
    for entry in entries.iter().filter(ours) {
        if entry.value.is_empty() {
            found = (None, None);
        }
        let Some(words) = words(&entry.value) else {
            // Some quote is not closed: systemd ignores what it cannot read, and so is whatever this one says.
            continue;
        };
        let single = words.len() == 1 && entry.first == entry.last;
        for word in &words {
            let assigned = word.split_once('=').filter(|(key, _)| *key == name);
            if let Some((_, value)) = assigned {
                found = (Some(without_percent(value)), single.then_some(entry.first));
            }
        }
    }
    found
}

/// The words of a value, unquoted; `None` where that cannot be done.
fn words(value: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => {
                let escaped = chars.next().filter(|c| "\\\"' ".contains(*c))?;
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// With `%%` as `%`; `None` where a specifier decides.
fn without_percent(value: &str) -> Option<String> {
    let plain = value.replace("%%", "");
    (!plain.contains('%')).then(|| value.replace("%%", "%"))
}

/// `"NAME=value"` as systemd reads it back.
fn quoted(name: &str, value: &str) -> String {
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    format!("\"{name}={value}\"")
}

/// Behind the last line of the last `[Service]`, where it overrides what stands before it.
fn append(text: &mut Text, entries: &[Entry], line: String) {
    match entries.iter().rfind(|entry| entry.service) {
        Some(entry) => text.insert(entry.last + 1, line),
        None => {
            if text
                .lines
                .last()
                .is_some_and(|line| !line.trim().is_empty())
            {
                text.lines.push(String::new());
            }
            text.lines.push("[Service]".to_owned());
            text.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop_in_of(before: &str, wanted: &[(&str, &str)]) -> (Change, Vec<Note>) {
        let mut notes = Vec::new();
        let wanted: Vec<Wanted> = wanted.iter().map(|(n, v)| Wanted::is(n, v)).collect();
        (write("d", before, &wanted, &mut notes), notes)
    }

    #[test]
    fn a_new_drop_in() {
        let wanted = [
            ("WEB_CONCURRENCY", "4"),
            ("MALLOC_CONF", "a:1,b:\"x\" 5% \\"),
        ];
        let (change, notes) = drop_in_of("", &wanted);
        assert_eq!(
            change.text,
            "[Service]\nEnvironment=\"WEB_CONCURRENCY=4\"\nEnvironment=\"MALLOC_CONF=a:1,b:\\\"x\\\" 5%% \\\\\"\n"
        );
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(drop_in_of(&change.text, &wanted).0.diff, "");
    }

    #[test]
    fn a_line_of_its_own_is_changed_and_one_with_neighbours_overridden_unseen() {
        let before = "[Unit]\nDescription=Shop\n\n[Service]\nEnvironment=WEB_CONCURRENCY=2\nEnvironment=\"KEY=secret\" RAILS_MAX_THREADS=3 \\\n  A=1\nExecStart=puma\n\n[Install]\nWantedBy=x\n";
        let (change, _) = drop_in_of(
            before,
            &[("WEB_CONCURRENCY", "4"), ("RAILS_MAX_THREADS", "5")],
        );
        assert_eq!(
            change.text,
            before
                .replace("Y=2", "Y=4")
                .replace(
                    "Environment=WEB_CONCURRENCY=4",
                    "Environment=\"WEB_CONCURRENCY=4\""
                )
                .replace("puma\n", "puma\nEnvironment=\"RAILS_MAX_THREADS=5\"\n")
        );
        assert!(!change.diff.contains("secret"), "{}", change.diff);
    }

    #[test]
    fn what_holds_already_stays_as_it_is_written() {
        for before in [
            "[Service]\nEnvironment=X=1 Y='a b'\n",
            "[Service]\r\nEnvironment=X=2\r\nEnvironment=\r\nEnvironment=\"X=1\" \"Y=a b\"\r\n",
            "[Service]\nEnvironment=X=1 \\\n# why\n  \"Y=a b\"\n",
        ] {
            assert_eq!(
                drop_in_of(before, &[("X", "1"), ("Y", "a b")]).0.diff,
                "",
                "{before}"
            );
        }
        let (change, _) = drop_in_of("[Service]\nEnvironment=X=%i\n", &[("X", "%i")]);
        assert_eq!(change.text, "[Service]\nEnvironment=\"X=%%i\"\n");
    }

    #[test]
    fn a_file_that_overrides_is_reported() {
        let before = "[Service]\nEnvironmentFile=/etc/shop\n";
        let (change, notes) = drop_in_of(before, &[("X", "1")]);
        assert_eq!(change.text, format!("{before}Environment=\"X=1\"\n"));
        assert_eq!(notes.len(), 1);
        let (change, notes) = drop_in_of("[Service]\nA=1\\", &[("X", "1")]);
        assert_eq!((change.diff.as_str(), notes.len()), ("", 1));
    }

    #[test]
    fn units_have_their_drop_ins_in_a_folder_beside_them() {
        let path = "/etc/systemd/system/shop@.service.d/powerband.conf";
        assert_eq!(drop_in("shop@.service"), path);
        assert_eq!(drop_in("shop@"), path);
    }
}
