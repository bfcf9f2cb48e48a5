//! Files in addition to the application's own that the answer is written down for.

use super::{Asked, Problem};
use crate::request::ServersFiles;
use crate::server_kind::ServerKind;
use std::path::{Path, PathBuf};

/// `[files]` as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// The unit that starts the server, whose drop-in is written down.
    pub systemd_unit: Option<Asked>,
    pub nginx: Option<Asked>,
    pub apache: Option<Asked>,
    pub deployment: Option<Asked>,
    pub configmap: Option<Asked>,
    pub kamal: Option<Asked>,
    pub procfile: Option<Asked>,
}

impl NamedFiles {
    /// The keys of the section.
    pub const KEYS: [&str; 7] = [
        "systemd_unit",
        "nginx",
        "apache",
        "deployment",
        "configmap",
        "kamal",
        "procfile",
    ];

    /// Each key's value by what `value` makes of it.
    pub fn of(mut value: impl FnMut(&str) -> Option<Asked>) -> NamedFiles {
        let [
            systemd_unit,
            nginx,
            apache,
            deployment,
            configmap,
            kamal,
            procfile,
        ] = NamedFiles::KEYS.map(&mut value);
        NamedFiles {
            systemd_unit,
            nginx,
            apache,
            deployment,
            configmap,
            kamal,
            procfile,
        }
    }

    /// In the order of the keys.
    pub fn each(&self) -> [&Option<Asked>; 7] {
        [
            &self.systemd_unit,
            &self.nginx,
            &self.apache,
            &self.deployment,
            &self.configmap,
            &self.kamal,
            &self.procfile,
        ]
    }

    /// These, and those of `there` in the place of the missing ones.
    #[must_use]
    pub fn or(self, there: NamedFiles) -> NamedFiles {
        let mut both = self.each().into_iter().zip(there.each());
        NamedFiles::of(|_| {
            let (here, there) = both.next()?;
            here.clone().or_else(|| there.clone())
        })
    }

    /// The files as paths.
    pub fn resolved(
        &self,
        kind: ServerKind,
        base: &Path,
        problems: &mut Vec<Problem>,
    ) -> ServersFiles {
        let mut existing = |asked: &Option<Asked>| -> Option<PathBuf> {
            let asked = asked.as_ref()?;
            let path = base.join(&asked.text);
            if let Err(error) = std::fs::read_to_string(&path) {
                problems.push(Problem::of(
                    asked,
                    format_args!("{} cannot be read: {error}", path.display()),
                    "give the path of a text file that is there and may be read, or leave it out",
                ));
            }
            Some(path)
        };
        let of_passenger = kind == ServerKind::Passenger;
        let files = ServersFiles {
            systemd_unit: self.systemd_unit.as_ref().map(|unit| unit.text.clone()),
            nginx: existing(&self.nginx),
            apache: of_passenger.then(|| existing(&self.apache)).flatten(),
            deployment: existing(&self.deployment),
            configmap: existing(&self.configmap),
            kamal: existing(&self.kamal),
            procfile: existing(&self.procfile),
        };
        if let Some(asked) = self.apache.as_ref().filter(|_| !of_passenger) {
            problems.push(Problem::of(
                asked,
                "no Apache is started that it would be for",
                "leave it out, or set server.kind = \"passenger\"",
            ));
        }
        // A unit's name is part of a path.
        let unit = self.systemd_unit.as_ref();
        if let Some(asked) = unit.filter(|unit| unit.text.is_empty() || unit.text.contains('/')) {
            problems.push(Problem::of(
                asked,
                "no name of a unit",
                "give it as systemctl lists it, such as shop.service",
            ));
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Option<Asked> {
        Some(Asked::new(text, "files in powerband.toml"))
    }

    #[test]
    fn files_that_are_not_there_are_problems() {
        let files = NamedFiles {
            nginx: asked("no-such.conf"),
            kamal: asked("no-such.yml"),
            apache: asked("server.rs"),
            systemd_unit: asked("a/b"),
            procfile: asked("server.rs"),
            ..NamedFiles::default()
        };
        let mut problems = Vec::new();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
        let found = files.resolved(ServerKind::Puma, &here, &mut problems);
        assert_eq!(found.procfile, Some(here.join("server.rs")));
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let words = [
            "no-such.conf cannot be read",
            "no-such.yml cannot be read",
            "no Apache",
            "no name of a unit",
        ];
        for (said, words) in said.iter().zip(words) {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(said.len(), words.len(), "{said:?}");
    }

    #[test]
    fn each_key_is_a_file_and_what_was_given_wins() {
        let all = NamedFiles::of(asked);
        for (key, file) in NamedFiles::KEYS.into_iter().zip(all.each()) {
            assert_eq!(file.as_ref().map(|f| f.text.as_str()), Some(key));
        }
        let one = NamedFiles {
            kamal: asked("deploy.yml"),
            ..NamedFiles::default()
        };
        let both = one.or(all.clone());
        assert_eq!(
            (both.kamal, both.procfile),
            (asked("deploy.yml"), all.procfile)
        );
    }
}
