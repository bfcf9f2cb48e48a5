//! Reads `.env` files as dotenv does when an application starts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// The value of a variable, with its file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) value: String,
    pub(super) place: String,
}

/// A name, and a value in single quotes, in double quotes or without quotes.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    let value = r#"'((?:\\'|[^'])*)'|"((?:\\"|[^"])*)"|([^#\r\n]*)"#;
    let name = r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.]*)(?:[ \t]*=[ \t]*|:[ \t]+)";
    Regex::new(&format!("(?m){name}(?:{value})")).expect("a constant")
});
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\\$|\$\{(\w+)\}|\$([A-Za-z_]\w*)").expect("a constant"));

/// The variables of an environment's files. `known` are the variables of the process, which win in expansions.
pub(super) fn read(
    app_dir: &Path,
    environment: &str,
    known: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<String, Written> {
    let mut found = BTreeMap::new();
    let local = (environment != "test").then(|| ".env.local".to_owned());
    let first = [format!(".env.{environment}.local")];
    let last = [format!(".env.{environment}"), ".env".to_owned()];
    for file in first.into_iter().chain(local).chain(last) {
        if let Ok(bytes) = std::fs::read(app_dir.join(&file)) {
            for (name, written) in parse(&String::from_utf8_lossy(&bytes), &file, known) {
                found.entry(name).or_insert(written);
            }
        }
    }
    found
}

/// The last of several lines for one name wins.
fn parse(
    text: &str,
    file: &str,
    known: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<String, Written> {
    let mut found: BTreeMap<String, Written> = BTreeMap::new();
    for line in ASSIGNMENT.captures_iter(text) {
        let at = line.get(1).map_or(0, |name| name.start());
        let expanded = |text: &str| {
            let of = |reference: &regex::Captures<'_>| {
                let name = reference.get(1).or_else(|| reference.get(2));
                let name = name.map_or("", |name| name.as_str());
                let own = || found.get(name).map(|written| written.value.clone());
                // An unknown variable stays as it is, so that the value counts as not understood.
                known(name)
                    .or_else(own)
                    .unwrap_or_else(|| reference[0].to_owned())
            };
            REFERENCE.replace_all(text, of).into_owned()
        };
        let value = match (line.get(2), line.get(3), line.get(4)) {
            (Some(literal), _, _) => literal.as_str().to_owned(),
            (_, Some(quoted), _) => expanded(quoted.as_str()),
            (_, _, bare) => expanded(bare.map_or("", |bare| bare.as_str()).trim()),
        };
        let number = text[..at].matches('\n').count() + 1;
        let name = &line[1];
        let place = format!("{file}:{number}, {name}");
        found.insert(name.to_owned(), Written { value, place });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_dotenv_reads_them() {
        let text = "# A=1\nexport A=one # first\nB: 'two # ${A}'\nC=\"${A}/$A/\\$A/$KNOWN/${NOWHERE}\"\nD=\n  E = x=y\nA=three\n\
                    F=\"1\n2\"\nG=last";
        let known = |name: &str| (name == "KNOWN").then(|| "k".to_owned());
        let found = parse(text, ".env", &known);
        let value = |name: &str| found[name].value.as_str();
        assert_eq!(value("A"), "three");
        assert_eq!(value("B"), "two # ${A}");
        assert_eq!(value("C"), "one/one/\\$A/k/${NOWHERE}");
        assert_eq!((value("D"), value("E"), value("F")), ("", "x=y", "1\n2"));
        assert_eq!(found["G"].place, ".env:10, G");
    }

    #[test]
    fn only_files_of_the_environment_are_read_and_the_nearest_counts() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write(".env", "A=1\nB=1\nC=1");
        write(".env.production", "B=2\nC=2");
        write(".env.production.local", "C=3");
        write(".env.development", "A=9");
        write(".env.local", "D=4");
        let of = |environment: &str| {
            let found = read(dir.path(), environment, &|_| None).into_iter();
            found.map(|(name, w)| name + &w.value).collect::<Vec<_>>()
        };
        assert_eq!(of("production"), ["A1", "B2", "C3", "D4"]);
        assert_eq!(of("test"), ["A1", "B1", "C1"]);
    }
}
