//! Whether a run folder in the application would get into its container image. Docker reads one `.dockerignore` alone, next to
//! the Dockerfile, and that one is the user's: it is never written here.

use std::path::{Component, Path};

/// Which line is missing, where one is.
pub fn note(app: &Path, runs: &Path) -> Option<String> {
    let real = |path: &Path| path.canonicalize().ok();
    let (app, runs) = (real(app)?, real(runs)?);
    let within = runs.strip_prefix(&app).ok()?;
    let components: Option<Vec<&str>> = within
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let components = components.filter(|components| !components.is_empty())?;
    let path = app.join(".dockerignore");
    let ignored = std::fs::read_to_string(&path).ok();
    if ignored.is_none() && !app.join("Dockerfile").exists() {
        return None;
    }
    let named = ignored.is_some_and(|text| names(&text, &components));
    (!named).then(|| {
        format!(
            "no line of {} keeps run folders out of the image; add: /{}",
            path.display(),
            components.join("/")
        )
    })
}

/// Whether a line excludes the folder or one above it.
fn names(ignored: &str, components: &[&str]) -> bool {
    let mut lines = ignored.lines().map(str::trim);
    lines.any(|line| {
        if line.starts_with(['#', '!']) {
            return false;
        }
        let line = line.trim_start_matches("./").trim_matches('/');
        let line = line.strip_suffix("/**").unwrap_or(line);
        let line = line.strip_suffix("/*").unwrap_or(line);
        (1..=components.len()).any(|depth| match line.strip_prefix("**/") {
            Some(anywhere) => matches(anywhere, components[depth - 1]),
            None => matches(line, &components[..depth].join("/")),
        })
    })
}

/// One star at most stands for something, as these lines are written.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, "" | "*")) => path.starts_with(before),
        Some((before, after)) => {
            path.len() >= before.len() + after.len()
                && path.starts_with(before)
                && path.ends_with(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_the_folder_or_one_above_it_is_enough() {
        let runs = |line: &str| {
            names(
                &format!("# powerband-runs\n/log/*\n{line}\n"),
                &["powerband-runs"],
            )
        };
        for line in [
            "powerband-runs",
            "/powerband-runs/",
            "./powerband-runs/*",
            "powerband-runs/**",
            "**/powerband-runs",
            "powerband*",
            "/*-runs",
            "*",
            "**",
        ] {
            assert!(runs(line), "{line}");
        }
        for line in [
            "",
            "!powerband-runs",
            "powerband",
            "runs",
            "tmp/powerband-runs",
            "*.log",
        ] {
            assert!(!runs(line), "{line}");
        }
        assert!(names("/tmp/*", &["tmp", "runs"]) && !names("/runs", &["tmp", "runs"]));
    }

    #[test]
    fn the_line_is_named_where_an_image_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let app = dir.path();
        let runs = app.join("powerband-runs");
        std::fs::create_dir(&runs).unwrap();
        assert_eq!(note(app, &runs), None, "no image is made of it");
        std::fs::write(app.join("Dockerfile"), "").unwrap();
        assert!(note(app, &runs).unwrap().ends_with("add: /powerband-runs"));
        assert_eq!(note(app, app), None);
        std::fs::write(app.join(".dockerignore"), "/powerband-runs\n").unwrap();
        assert_eq!(note(app, &runs), None);
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(app.join(".dockerignore"), "").unwrap();
        assert_eq!(note(app, elsewhere.path()), None);
        assert!(note(app, &runs).is_some());
    }
}
