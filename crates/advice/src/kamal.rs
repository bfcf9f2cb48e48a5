//! Kamal's `config/deploy.yml`: clear variables, the command and the limits of the role `web`.

use crate::command_words::{SHOWS_OTHERS, line_with, sets_others};
use crate::kubernetes::{Asked, finished, pair, values, variables_by_hand};
use crate::yaml::{Edit, Node, edited};
use crate::{Change, Note, Pod};

const ROLE: &str = "web";

/// As Kamal 1 and 2 read it.
pub fn write(path: &str, before: &str, asked: Asked<'_>, notes: &mut Vec<Note>) -> Change {
    let mut said = Vec::new();
    let after = edited(before, |text, documents| {
        said.clear();
        let root = documents.first().ok_or("it is empty")?;
        if root.is_flow(text) {
            return Err("it is all in braces".to_owned());
        }
        step(text, root, asked, &mut said)
    });
    finished(path, before, after, said, || by_hand(asked), notes)
}

fn step(
    text: &str,
    root: &Node,
    asked: Asked<'_>,
    said: &mut Vec<String>,
) -> Result<Option<Edit>, String> {
    let role = root.at(&["servers", ROLE]);
    let options = of_docker(asked.recommended.pod);
    for (option, value) in &options {
        let Some(role) = role.filter(|role| role.is_map()) else {
            said.push(format!(
                "servers.{ROLE} has no options: write its addresses as hosts, and {} below it.",
                shown(&options)
            ));
            break;
        };
        match role.get("options") {
            None => {
                let lines = format!("\n  {option}: {value}");
                return role.with(text, "options", &lines, &["cmd"]).map(Some);
            }
            Some(there) => match there.get(option) {
                None => return there.with(text, option, value, &[]).map(Some),
                Some(node) if node.word() == Some(value) => {}
                Some(node) => return node.replaced(text, value, false).map(Some),
            },
        }
    }
    if let Some(command) = role.and_then(|role| role.get("cmd"))
        && let Some(line) = command
            .word()
            .and_then(|line| line_with(line, asked.recommended, asked.wanted))
    {
        match sets_others(command.word().unwrap_or_default().split(' '), asked.wanted) {
            true => said.push(format!("servers.{ROLE}.cmd: {SHOWS_OTHERS}.")),
            false => return command.replaced(text, &line, false).map(Some),
        }
    }
    // They take precedence over the root's.
    let of_role = role.and_then(|role| role.get("env")).and_then(clear);
    if let Some(clear) = of_role {
        let edit = values(
            text,
            clear,
            Asked {
                adds: false,
                ..asked
            },
        )?;
        if edit.is_some() {
            return Ok(edit);
        }
    }
    let is_of_role = |name: &str| of_role.is_some_and(|clear| clear.get(name).is_some());
    let mut wanted = asked.wanted.to_vec();
    wanted.retain(|wanted| !is_of_role(&wanted.name));
    if wanted.is_empty() {
        return Ok(None);
    }
    let asked = Asked {
        wanted: &wanted,
        ..asked
    };
    let one = first(asked);
    match (root.get("env"), one) {
        (None, Some(one)) if asked.adds => {
            let lines = format!("\n  clear:\n    {one}");
            root.with(text, "env", &lines, &["image", "service"])
                .map(Some)
        }
        (None, _) => Ok(None),
        (Some(env), one) => match (clear(env), one) {
            (Some(clear), _) => values(text, clear, asked),
            (None, Some(one)) if asked.adds => env
                .with(text, "clear", &format!("\n  {one}"), &[])
                .map(Some),
            (None, _) => Ok(None),
        },
    }
}

/// The variables of an `env` that are no secrets: all of them, where it does not say which.
fn clear(env: &Node) -> Option<&Node> {
    match (env.get("clear"), env.get("secret")) {
        (None, None) => Some(env),
        (clear, _) => clear,
    }
}

/// One variable, below which the others are added.
fn first(asked: Asked<'_>) -> Option<String> {
    let (name, value) = asked.wanted.iter().find_map(pair)?;
    Some(format!("{name}: {value}"))
}

/// Options of `docker run`.
fn of_docker(pod: Pod) -> Vec<(&'static str, String)> {
    let cpus = pod.cpus.map(|cpus| ("cpus", cpus.to_string()));
    let memory = pod.memory_bytes.map(|bytes| {
        let mib = bytes.div_ceil(1 << 20);
        ("memory", format!("{mib}m"))
    });
    cpus.into_iter().chain(memory).collect()
}

fn shown(options: &[(&str, String)]) -> String {
    let options: Vec<String> = options
        .iter()
        .map(|(option, value)| format!("{option}: {value}"))
        .collect();
    format!("options: {{{}}}", options.join(", "))
}

fn by_hand(asked: Asked<'_>) -> String {
    let options = of_docker(asked.recommended.pod);
    let variables = variables_by_hand(asked);
    match options.is_empty() {
        true => variables,
        false => format!("{} for servers.{ROLE}, and {variables}", shown(&options)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variable::Wanted;
    use crate::{Recommended, Server};

    fn changed(before: &str) -> (String, Vec<Note>) {
        let recommended = Recommended {
            pod: Pod {
                cpus: Some(1.5),
                memory_bytes: Some(1 << 30),
            },
            ..Recommended::of(Server::Puma, 2, 5, true)
        };
        let wanted = [
            Wanted::is("RAILS_MAX_THREADS", 5),
            Wanted::is("WEB_CONCURRENCY", 2),
        ];
        let asked = Asked {
            recommended: &recommended,
            wanted: &wanted,
            adds: true,
        };
        let mut notes = Vec::new();
        let change = write("config/deploy.yml", before, asked, &mut notes);
        let again = write("config/deploy.yml", &change.text, asked, &mut Vec::new());
        assert_eq!(again.diff, "", "its own output changes: {}", change.text);
        (change.text, notes)
    }

    #[test]
    fn a_role_with_options_has_limits_command_and_variables() {
        let before = "service: shop\nservers:\n  web:\n    hosts: [10.0.0.1]\n    cmd: bundle exec puma -w 4 # all\n    options:\n      memory: 500m\nenv:\n  clear:\n    WEB_CONCURRENCY: 4\n  secret:\n    - RAILS_MASTER_KEY\n";
        let (after, notes) = changed(before);
        let expected = before
            .replace("-w 4 # all", "-w 2 # all")
            .replace("memory: 500m\n", "memory: 1024m\n      cpus: 1.5\n")
            .replace(
                "WEB_CONCURRENCY: 4\n",
                "WEB_CONCURRENCY: \"2\"\n    RAILS_MAX_THREADS: \"5\"\n",
            );
        assert_eq!(after, expected);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn variables_of_the_role_take_precedence_over_the_root_s() {
        let before = "service: shop\nservers:\n  web:\n    hosts: [10.0.0.1]\n    options: {cpus: 1.5, memory: 1024m}\n    env:\n      clear:\n        WEB_CONCURRENCY: 4\nenv:\n  clear:\n    WEB_CONCURRENCY: 7\n    RAILS_MAX_THREADS: 3\n";
        let (after, notes) = changed(before);
        let expected = before
            .replace("CONCURRENCY: 4", "CONCURRENCY: \"2\"")
            .replace("THREADS: 3", "THREADS: \"5\"");
        assert_eq!(after, expected, "the root's is another role's");
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn braces_take_no_lines() {
        let before = "service: shop\nservers: {web: {cmd: puma}}\n";
        let (after, notes) = changed(before);
        assert_eq!(after, before);
        assert!(
            notes[0]
                .text
                .starts_with("line 2 holds its mapping in braces"),
            "{notes:?}"
        );
    }

    #[test]
    fn a_list_of_servers_has_no_place_for_limits() {
        let before = "service: shop\nservers:\n  - 10.0.0.1\nenv:\n  secret:\n    - KEY\n";
        let (after, notes) = changed(before);
        assert!(after.contains("env:\n  clear:\n    "), "{after}");
        assert!(
            after.contains("RAILS_MAX_THREADS: \"5\"") && after.contains("WEB_CONCURRENCY: \"2\""),
            "{after}"
        );
        assert!(
            notes[0]
                .text
                .contains("options: {cpus: 1.5, memory: 1024m}"),
            "{notes:?}"
        );
        let (after, _) = changed("service: shop\nservers: [10.0.0.1]\n");
        assert!(
            after.starts_with("service: shop\nenv:\n  clear:\n    "),
            "{after}"
        );
    }
}
