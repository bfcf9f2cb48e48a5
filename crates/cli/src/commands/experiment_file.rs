//! The inputs of an experiment in production: its file, the file of halted arms, and environment variables.

use crate::{Failure, output};
use fleet::Experiment;
use run::production::Halted;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Reads the experiment; every problem of the file at once.
pub(super) fn read(file: &Path) -> Result<Experiment, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| {
        Failure::usage(format!(
            "{shown}: {e}; name an experiment file that can be read (docs/experiment.md)"
        ))
    })?;
    fleet::read(&text).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{shown}: {problem}"));
        Failure::usage(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// `FILE.halted`.
pub(super) fn halted_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".halted");
    path.into()
}

/// The halted arms; an error says what is wrong with their file.
pub(super) fn halted_or_wrong(file: &Path, experiment: &Experiment) -> Result<Vec<Halted>, String> {
    let path = halted_path(file);
    match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
        Ok(text) => {
            fleet::halted(&text, experiment).map_err(|e| format!("{}: {e}", path.display()))
        }
    }
}

/// The halted arms for a start. A wrong file must not stop a server from starting, so every arm is then halted: one of them may be the
/// arm that the file was to halt.
pub(super) fn halted(file: &Path, experiment: &Experiment) -> Vec<Halted> {
    halted_or_wrong(file, experiment).unwrap_or_else(|wrong| {
        output::error(&format!(
            "{wrong}; until it is corrected, only the first arm is run"
        ));
        let arms = experiment.arms.iter().skip(1);
        arms.map(|arm| Halted {
            arm: arm.name.clone(),
            at: String::new(),
            reason: wrong.clone(),
        })
        .collect()
    })
}

/// The value of a variable; `None` if it is empty or not set.
pub(super) fn variable(name: &str) -> Result<Option<String>, Failure> {
    text(name, std::env::var_os(name))
}

fn text(name: &str, value: Option<OsString>) -> Result<Option<String>, Failure> {
    let text = value.map(OsString::into_string).transpose();
    let text = text.map_err(|_| {
        Failure::usage(format!(
            "the variable {name} is not UTF-8; set it to text in UTF-8"
        ))
    })?;
    Ok(text.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn a_variable_that_is_not_utf_8_is_refused_by_its_name() {
        let of = |bytes: &[u8]| text("POWERBAND_UNIT", Some(OsString::from_vec(bytes.to_vec())));
        assert_eq!(of(b"web-1").unwrap().as_deref(), Some("web-1"));
        assert_eq!(of(b"").unwrap(), None);
        assert_eq!(text("POWERBAND_UNIT", None).unwrap(), None);
        let said = of(b"web-\xff").unwrap_err().message;
        assert!(
            said.starts_with("the variable POWERBAND_UNIT is not UTF-8"),
            "{said}"
        );
    }

    #[test]
    fn a_file_of_halted_arms_that_is_wrong_halts_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("experiment.toml");
        let text = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\n[[arm]]\nname = 'x'\n[[arm]]\nname = 'y'\nshare = '20%'\n\
                    environment = { A = 1 }\n[[arm]]\nname = 'z'\nshare = '20%'\nenvironment = { A = 2 }\n";
        std::fs::write(&file, text).unwrap();
        let experiment = read(&file).unwrap();
        let names = |halted_text: &str| {
            std::fs::write(halted_path(&file), halted_text).unwrap();
            let all = halted(&file, &experiment).into_iter();
            all.map(|one| one.arm).collect::<Vec<_>>()
        };
        assert_eq!(names("[[halted]]\narm = 'z'\n"), ["z"]);
        for wrong in [
            "[[halted",
            "[[halted]]\narm = 'zz'\n",
            "[[halted]]\narm = 'x'\n",
        ] {
            assert_eq!(names(wrong), ["y", "z"], "{wrong}");
        }
    }
}
