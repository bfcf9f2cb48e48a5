//! A configuration as it is typed, taken apart: `threads=5,gc.malloc_limit=32MiB,env.GREETING="a,b"`.

use crate::secret::{REDACTED, is_secret};
use crate::{SETTINGS, catalogue, names};

/// One setting of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The knob's name.
    pub name: String,
    /// Its value, without quotes; `None` where there is no `=`.
    pub value: Option<String>,
}

/// The settings. A comma ends one unless it stands in double quotes, or what follows it is no setting but more of a
/// value that may hold commas.
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for piece in pieces(text) {
        match (piece.split_once('='), parts.last_mut()) {
            (
                None,
                Some(Part {
                    name,
                    value: Some(value),
                }),
            ) if holds_commas(name) => {
                value.push(',');
                value.push_str(&unquoted(piece));
            }
            (None, _) => parts.push(Part {
                name: piece.to_owned(),
                value: None,
            }),
            (Some((name, value)), _) => parts.push(Part {
                name: name.trim().to_owned(),
                value: Some(unquoted(value)),
            }),
        }
    }
    parts
}

/// The values of a sweep, which commas keep apart except in double quotes.
pub fn values(text: &str) -> Vec<String> {
    pieces(text).map(unquoted).collect()
}

/// A value as it is typed so that it comes back to the letter, in double quotes where it needs them.
pub fn quoted(value: &str) -> String {
    if value.contains([',', '"']) || value.trim() != value {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}

/// The same configuration fit to be shown: without the values of secret variables.
pub fn masked(text: &str) -> String {
    let secret = |part: &Part| {
        let value = part.value.as_deref()?;
        // A misspelt `env.` names a secret all the same.
        let name = part.name.as_str();
        let variable = [names::ENV, names::VALUE]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name);
        (catalogue::is_free(name) && is_secret(variable, value))
            .then(|| format!("{}={REDACTED}", part.name))
    };
    let parts = parts(text);
    if parts.iter().all(|part| secret(part).is_none()) {
        return text.to_owned();
    }
    let shown = |part: &Part| {
        secret(part).unwrap_or_else(|| match &part.value {
            Some(value) => format!("{}={value}", part.name),
            None => part.name.clone(),
        })
    };
    parts.iter().map(shown).collect::<Vec<_>>().join(",")
}

/// An unknown name may be a misspelt variable, whose value must not be split at commas and shown in part.
fn holds_commas(name: &str) -> bool {
    !SETTINGS.contains(&name) && (catalogue::is_free(name) || catalogue::is_list(name))
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
    .map(str::trim)
    .filter(|piece| !piece.is_empty())
}

/// Two double quotes within double quotes are one.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner.map_or_else(|| value.to_owned(), |inner| inner.replace("\"\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let told = |part: Part| format!("{}={}", part.name, part.value.unwrap_or("?".to_owned()));
        parts(text).into_iter().map(told).collect()
    }

    #[test]
    fn commas_part_settings_except_where_a_value_holds_them() {
        assert_eq!(told("threads=5, workers=2,"), ["threads=5", "workers=2"]);
        assert_eq!(
            told("malloc_conf=narenas:2,tcache:false,threads=5"),
            ["malloc_conf=narenas:2,tcache:false", "threads=5"]
        );
        assert_eq!(
            told("env.A=\"a,b=c\",env.B=x=y,threads=1"),
            ["env.A=a,b=c", "env.B=x=y", "threads=1"]
        );
        assert_eq!(told("threads,workers=2"), ["threads=?", "workers=2"]);
        assert_eq!(told("threads=5,turbo"), ["threads=5", "turbo=?"]);
        assert_eq!(told("gc.malloc_limit=1MiB,2MiB")[1], "2MiB=?");
        assert_eq!(values("\"a:1,b:2\",c:3"), ["a:1,b:2", "c:3"]);
    }

    #[test]
    fn secrets_are_taken_out_of_what_is_shown() {
        let shown = masked("threads=5,env.API_TOKEN=abc,def,turbo=1");
        assert_eq!(shown, "threads=5,env.API_TOKEN=REDACTED,turbo=1");
        assert_eq!(masked("threads = 5"), "threads = 5");
        assert_eq!(masked("API_KEY=abc"), "API_KEY=REDACTED");
        assert_eq!(masked("API_KEY=abc,def"), "API_KEY=REDACTED");
    }

    proptest::proptest! {
        #[test]
        fn what_is_quoted_comes_back(value in "[ -~\té]{0,20}") {
            let text = format!("env.X={},threads=3", quoted(&value));
            proptest::prop_assert_eq!(told(&text), [format!("env.X={value}"), "threads=3".to_owned()]);
        }
    }
}
