//! What was asked for, as text with the place that it came from: flags over a shadow's own table over the file's first
//! lines. Nothing is understood here but which keys there are.

use crate::args::MirrorArgs;
use experiment::config::{Asked, Problem, scalar, short_name, tables};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// Keys that a shadow may have of its own.
pub const OF_SHADOWS: [&str; 16] = [
    "sample",
    "sample_by",
    "methods",
    "path",
    "not_path",
    "with_header",
    "amplify",
    "set_header",
    "remove_header",
    "cookie_jar",
    "token",
    "deadline",
    "queue",
    "shadow_connections",
    "shadow_keep_alive",
    "cacert",
];

/// The others.
const OF_ALL: [&str; 32] = [
    "listen",
    "listen_mode",
    "reuse_port",
    "primary",
    "twin",
    "max_held",
    "max_body",
    "max_compared",
    "connections",
    "max_head",
    "max_fields",
    "strictness",
    "connect_timeout",
    "answer_timeout",
    "idle_timeout",
    "drain",
    "lame_duck",
    "forwarded",
    "accept_proxy_protocol",
    "send_proxy_protocol",
    "tls_cert",
    "tls_key",
    "record",
    "rotate_size",
    "rotate_every",
    "record_limit",
    "redact",
    "keep",
    "filter_parameters",
    "shadow_log",
    "status",
    "status_host",
];

/// One place's values by key; a key may have several.
#[derive(Debug, Clone, Default)]
pub struct Layer(BTreeMap<&'static str, Vec<Asked>>);

impl Layer {
    fn put(&mut self, key: &str, text: impl Into<String>, origin: impl Into<String>) {
        let known = OF_SHADOWS
            .iter()
            .chain(&OF_ALL)
            .find(|known| **known == key);
        if let Some(known) = known {
            let asked = Asked::new(text, origin);
            self.0.entry(known).or_default().push(asked);
        }
    }
}

/// A shadow's name and address, and what its table says.
#[derive(Debug, Clone)]
pub struct ShadowLayer {
    /// Its name, and where it was given.
    pub name: Asked,
    /// Its address.
    pub url: Asked,
    own: Layer,
}

/// Everything that was asked for.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    flags: Layer,
    file: Layer,
    /// Flags' shadows after the file's; one of the same name replaces the file's address.
    pub shadows: Vec<ShadowLayer>,
}

impl Layers {
    /// All values of a key: those of the first place that has any.
    pub fn all<'a>(&'a self, key: &str, shadow: Option<&'a ShadowLayer>) -> &'a [Asked] {
        let own = shadow.map(|shadow| &shadow.own);
        let places = [Some(&self.flags), own, Some(&self.file)];
        let found = places
            .into_iter()
            .flatten()
            .find_map(|place| place.0.get(key));
        found.map_or(&[], Vec::as_slice)
    }

    /// The value of a key that has one.
    pub fn one<'a>(&'a self, key: &str, shadow: Option<&'a ShadowLayer>) -> Option<&'a Asked> {
        self.all(key, shadow).last()
    }

    /// Flags alone, or with a file's text read from `path`.
    pub fn read(
        args: &MirrorArgs,
        file: Option<(&str, &Path)>,
        problems: &mut Vec<Problem>,
    ) -> Layers {
        let mut layers = Layers {
            flags: flags(args),
            ..Layers::default()
        };
        if let Some((text, path)) = file {
            layers.read_file(text, path, problems);
        }
        for given in &args.shadow {
            let asked = Asked::new(given, "--shadow");
            let Some((name, url)) = given.split_once('=') else {
                let remedy = "write NAME=URL, such as new=http://127.0.0.1:3001";
                problems.push(Problem::of(&asked, "no name", remedy));
                continue;
            };
            let (name, url) = (
                Asked::new(name.trim(), "--shadow"),
                Asked::new(url.trim(), "--shadow"),
            );
            match layers
                .shadows
                .iter_mut()
                .find(|known| known.name.text == name.text)
            {
                Some(known) if known.name.origin == "--shadow" => {
                    problems.push(Problem::of(
                        &asked,
                        "its name is given twice",
                        "give every shadow a name of its own",
                    ));
                }
                Some(known) => known.url = url,
                None => layers.shadows.push(ShadowLayer {
                    name,
                    url,
                    own: Layer::default(),
                }),
            }
        }
        layers
    }

    fn read_file(&mut self, text: &str, path: &Path, problems: &mut Vec<Problem>) {
        let file = short_name(path);
        let table = match tables(text, path) {
            Ok(table) => table,
            Err(problem) => return problems.push(problem),
        };
        for (key, value) in &table {
            let origin = format!("{key} in {file}");
            match (key.as_str(), value) {
                ("shadow", Value::Table(shadows)) => {
                    for (name, value) in shadows {
                        self.read_shadow(name, value, &file, problems);
                    }
                }
                _ => put(
                    &mut self.file,
                    key,
                    value,
                    &origin,
                    &[&OF_SHADOWS, &OF_ALL],
                    problems,
                ),
            }
        }
    }

    fn read_shadow(&mut self, name: &str, value: &Value, file: &str, problems: &mut Vec<Problem>) {
        let origin = format!("shadow.{name} in {file}");
        let Value::Table(table) = value else {
            let asked = Asked::new(scalar(value).unwrap_or_default(), origin);
            problems.push(Problem::of(
                &asked,
                "no table",
                format!("write [shadow.{name}] and url = \"http://…\" below it"),
            ));
            return;
        };
        let mut own = Layer::default();
        let mut url = None;
        for (key, value) in table {
            let origin = format!("shadow.{name}.{key} in {file}");
            match (key.as_str(), value) {
                ("url", Value::String(text)) => url = Some(Asked::new(text, origin)),
                _ => put(&mut own, key, value, &origin, &[&OF_SHADOWS], problems),
            }
        }
        match url {
            Some(url) => self.shadows.push(ShadowLayer {
                name: Asked::new(name, origin),
                url,
                own,
            }),
            None => problems.push(Problem::with(
                format!("{origin} has no url"),
                "write url = \"http://127.0.0.1:3001\" below it",
            )),
        }
    }
}

fn put(
    layer: &mut Layer,
    key: &str,
    value: &Value,
    origin: &str,
    known: &[&[&str]],
    problems: &mut Vec<Problem>,
) {
    if !known.iter().any(|keys| keys.contains(&key)) {
        let keys: Vec<&str> = known.iter().flat_map(|keys| keys.iter().copied()).collect();
        problems.push(Problem::with(
            format!("{origin}: unknown key"),
            format!("the keys are {}", keys.join(", ")),
        ));
        return;
    }
    let values = match value {
        Value::Array(values) => values.iter().map(scalar).collect(),
        other => scalar(other).map(|text| vec![text]),
    };
    match values {
        Some(texts) => texts
            .into_iter()
            .for_each(|text| layer.put(key, text, origin)),
        None => problems.push(Problem::with(
            format!("{origin} is no text, number or list of them"),
            "write a text in quotes, or several in brackets",
        )),
    }
}

fn flags(args: &MirrorArgs) -> Layer {
    let mut layer = Layer::default();
    let (copies, limits, output) = (&args.copies, &args.limits, &args.output);
    let one = [
        ("listen", &args.listen),
        ("listen_mode", &args.listen_mode),
        ("twin", &args.twin),
        ("sample", &copies.sample),
        ("sample_by", &copies.sample_by),
        ("methods", &copies.methods),
        ("amplify", &copies.amplify),
        ("deadline", &limits.deadline),
        ("queue", &limits.queue),
        ("shadow_connections", &limits.shadow_connections),
        ("max_held", &limits.max_held),
        ("max_body", &limits.max_body),
        ("max_compared", &limits.max_compared),
        ("connections", &limits.connections),
        ("max_head", &limits.max_head),
        ("max_fields", &limits.max_fields),
        ("strictness", &limits.strictness),
        ("connect_timeout", &limits.connect_timeout),
        ("answer_timeout", &limits.answer_timeout),
        ("idle_timeout", &limits.idle_timeout),
        ("drain", &limits.drain),
        ("lame_duck", &limits.lame_duck),
        ("forwarded", &args.origin.forwarded),
        ("send_proxy_protocol", &args.origin.send_proxy_protocol),
        ("rotate_size", &output.rotate_size),
        ("rotate_every", &output.rotate_every),
        ("record_limit", &output.record_limit),
        ("status", &output.status),
    ];
    let several = [
        ("primary", &args.primary),
        ("path", &copies.path),
        ("not_path", &copies.not_path),
        ("with_header", &copies.with_header),
        ("set_header", &copies.set_header),
        ("remove_header", &copies.remove_header),
        ("token", &copies.token),
        ("redact", &output.redact),
        ("keep", &output.keep),
        ("status_host", &output.status_host),
        ("filter_parameters", &output.filter_parameters),
    ];
    let files = [
        ("tls_cert", &args.tls.tls_cert),
        ("tls_key", &args.tls.tls_key),
        ("cacert", &args.tls.cacert),
        ("record", &output.record),
        ("shadow_log", &output.shadow_log),
    ];
    let flag = |key: &str| format!("--{}", key.replace('_', "-"));
    for (key, value) in one {
        if let Some(text) = value {
            layer.put(key, text, flag(key));
        }
    }
    for (key, values) in several {
        values
            .iter()
            .for_each(|text| layer.put(key, text, flag(key)));
    }
    for (key, value) in files {
        if let Some(path) = value {
            layer.put(key, path.display().to_string(), flag(key));
        }
    }
    let set = [
        ("cookie_jar", copies.cookie_jar),
        ("shadow_keep_alive", copies.shadow_keep_alive),
        ("reuse_port", args.reuse_port),
        ("accept_proxy_protocol", args.origin.accept_proxy_protocol),
    ];
    for (key, given) in set {
        if given {
            layer.put(key, "true", flag(key));
        }
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        mirror: MirrorArgs,
    }

    fn read(flags: &[&str], file: &str) -> (Layers, Vec<String>) {
        let line = Line::parse_from(std::iter::once(&"mirror").chain(flags));
        let mut problems = Vec::new();
        let file = (!file.is_empty()).then_some((file, Path::new("mirror.toml")));
        let layers = Layers::read(&line.mirror, file, &mut problems);
        (layers, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_flag_goes_before_a_shadows_own_table_and_that_before_the_files_first_lines() {
        let file = "sample = \"50%\"\ndeadline = \"3s\"\n[shadow.a]\nurl = \"http://127.0.0.1:1\"\ndeadline = \"2s\"\nqueue = 9\n";
        let (layers, problems) = read(&["--queue", "7", "--shadow", "b=http://127.0.0.1:2"], file);
        assert_eq!(problems, [""; 0]);
        let of = |key: &str, shadow: usize| {
            layers
                .one(key, Some(&layers.shadows[shadow]))
                .map(|asked| asked.text.clone())
        };
        assert_eq!(of("queue", 0).as_deref(), Some("7"));
        assert_eq!(of("deadline", 0).as_deref(), Some("2s"));
        assert_eq!(of("deadline", 1).as_deref(), Some("3s"));
        assert_eq!(of("sample", 0).as_deref(), Some("50%"));
        assert_eq!(of("methods", 0), None);
    }

    #[test]
    fn every_problem_of_flags_and_file_is_reported_at_once() {
        let file = "sampel = 1\n[shadow.a]\nqueue = 3\n[shadow.b]\nurl = \"http://127.0.0.1:1\"\nlisten = \":1\"\n";
        let (_, problems) = read(&["--shadow", "http://127.0.0.1:2"], file);
        let said = problems.join("\n");
        assert_eq!(problems.len(), 4, "{said}");
        for part in [
            "sampel in mirror.toml",
            "shadow.a in mirror.toml has no url",
            "shadow.b.listen",
            "--shadow = ",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
