//! `{NAME}` in commands and templates of the configuration, which the knobs `value.NAME` fill.

use super::{Problem, Request};
use crate::request::Goal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A text with its placeholders filled. Unknown ones stay as they are: shells and Ruby use braces, too.
pub fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

/// Values that stand nowhere, templates that cannot be read, and values that only some configurations give.
pub fn unused(request: &Request, base: &Path, goal: &Goal) -> Vec<Problem> {
    let mut problems = Vec::new();
    // No server is started where a command runs instead.
    let command = request
        .workload_command
        .as_ref()
        .or(request.command.as_ref());
    let mut texts: Vec<String> = command.iter().map(|c| c.text.clone()).collect();
    for service in &request.services {
        texts.push(service.command.text.clone());
        if let Some(template) = &service.template {
            match std::fs::read_to_string(base.join(&template.text)) {
                Ok(text) => texts.push(text),
                Err(error) => problems.push(Problem::of(
                    template,
                    error,
                    "give a template that can be read, from the configuration's folder",
                )),
            }
            if !service.command.text.contains("{template}") {
                problems.push(Problem::of(
                    &service.command,
                    "nothing gives the service the path of its template",
                    "write {template} where the command takes it",
                ));
            }
        }
    }
    let Goal::Arms { arms, .. } = goal else {
        return problems;
    };
    let given: Vec<BTreeSet<String>> = arms
        .iter()
        .map(|arm| arm.overlay.placeholders().into_keys().collect())
        .collect();
    let names: BTreeSet<&String> = given.iter().flatten().collect();
    for name in names {
        if let Some(problem) = fills_nothing(name, &texts) {
            problems.push(problem);
        } else if let Some(lacks) = given.iter().position(|names| !names.contains(name)) {
            problems.push(Problem::with(
                format!(
                    "{} gives no value.{name}, which another configuration gives",
                    arms[lacks]
                ),
                "give it in [baseline], for all that do not name it",
            ));
        }
    }
    problems
}

/// That a value stands in none of these texts.
pub fn fills_nothing(name: &str, texts: &[impl AsRef<str>]) -> Option<Problem> {
    let placeholder = format!("{{{name}}}");
    let stands = texts
        .iter()
        .any(|text| text.as_ref().contains(&placeholder));
    (!stands).then(|| {
        Problem::with(
            format!("value.{name} fills nothing: {placeholder} stands in no command and no template"),
            "write it where the value goes, in server.command, workload.command, or a service's command or template",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Asked, ServiceRequest};
    use crate::request::Arm;
    use run::{Kind, Settings};

    fn arm(values: &[(&str, &str)]) -> Arm {
        let overlay = knobs::Overlay::of(values).unwrap();
        Arm::with(Settings::PUMA_DEFAULT, overlay)
    }

    #[test]
    fn only_what_is_named_is_filled() {
        let values = BTreeMap::from([("size".to_owned(), "5".to_owned())]);
        assert_eq!(
            filled("-s {size} ${HOME} {other}", &values),
            "-s 5 ${HOME} {other}"
        );
    }

    #[test]
    fn a_value_has_a_place_and_is_given_by_all() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("db.conf"), "buffers = {buffers}\n").unwrap();
        let text = |text: &str| Asked::new(text, "service in powerband.toml");
        let request = |command: &str| Request {
            services: vec![ServiceRequest {
                name: text("db"),
                command: text(command),
                port_env: None,
                template: Some(text("db.conf")),
                ready_path: None,
            }],
            ..Request::default()
        };
        let told = |command: &str, arms: Vec<Arm>| {
            let goal = Goal::Arms {
                kind: Kind::Compare,
                arms,
            };
            unused(&request(command), folder.path(), &goal).len()
        };
        let both = || {
            vec![
                arm(&[("value.buffers", "1")]),
                arm(&[("value.buffers", "2")]),
            ]
        };
        assert_eq!(told("db {port} {template}", both()), 0);
        assert_eq!(told("db {port}", both()), 1);
        assert_eq!(
            told(
                "db {template}",
                vec![arm(&[("value.buffers", "1")]), arm(&[])]
            ),
            1
        );
        assert_eq!(told("db {template}", vec![arm(&[("value.typo", "1")])]), 1);
    }
}
