//! `Procfile`: one process a line, `web: bundle exec puma -t 5:5`. Words of its command that set what is recommended are changed; a
//! command that sets nothing stays.

use crate::command_words::{SHOWS_OTHERS, line_with, runs, sets_others};
use crate::text::Text;
use crate::variable::Wanted;
use crate::{Change, Note, Recommended};

/// The lines whose commands run the server.
pub fn write(
    path: &str,
    before: &str,
    recommended: &Recommended,
    wanted: &[Wanted],
    notes: &mut Vec<Note>,
) -> Change {
    let mut text = Text::of(before);
    let mut found = false;
    for line in &mut text.lines {
        if line.starts_with('#') || !line.contains(':') {
            continue;
        }
        let mut words = line.split_whitespace();
        if !words.any(|word| runs(word, recommended.server)) {
            continue;
        }
        found = true;
        match line_with(line, recommended, wanted) {
            Some(_) if sets_others(line.split_whitespace(), wanted) => {
                notes.push(Note::new(path, format!("{SHOWS_OTHERS}.")));
            }
            Some(changed) => *line = changed,
            None => {}
        }
    }
    if !found {
        notes.push(Note::new(
            path,
            "no line of it runs the server by its name, so it stays as it is; set the variables where the server is started.",
        ));
    }
    Change::private(path, before, text.whole())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Server;

    #[test]
    fn the_server_s_line_alone_changes() {
        let before = "# web: puma -t 1:1\nweb:  bundle exec puma -t 3:3  -w 4\nworker: bundle exec sidekiq -t 9\n";
        let recommended = Recommended::of(Server::Puma, 2, 5, true);
        let mut notes = Vec::new();
        let change = write("Procfile", before, &recommended, &[], &mut notes);
        let expected = before.replace("-t 3:3  -w 4", "-t 5:5  -w 2");
        assert_eq!(change.text, expected);
        assert!(notes.is_empty());
        let again = write("Procfile", &change.text, &recommended, &[], &mut notes);
        assert_eq!(again.diff, "");
        let secret = "web: KEY=hunter2 puma -w 9\n";
        let change = write("Procfile", secret, &recommended, &[], &mut notes);
        assert_eq!(change.diff, "");
        assert!(notes.remove(0).text.contains("other variables"));
        write(
            "Procfile",
            "web: bin/start\n",
            &recommended,
            &[],
            &mut notes,
        );
        assert!(notes[0].text.contains("by its name"), "{notes:?}");
    }
}
