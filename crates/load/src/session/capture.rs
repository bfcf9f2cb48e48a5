//! Values taken from an answer for later requests of the same session.

use std::fmt::Write as _;

use super::data::scalar;
use super::html;
use super::jar::Jar;
use super::pattern::address_path;
use crate::parser::Kept;

/// Most bytes of one value; each user keeps its own.
const VALUE_LIMIT: usize = 64 * 1024;

/// Where a value is found.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// An `<input>`, by name.
    Form(String),
    /// A `<meta>`, by name.
    Meta(String),
    /// The first header of this name.
    Header(String),
    /// A cookie, from this answer or before.
    Cookie(String),
    /// A JSON pointer into the body (RFC 6901).
    Json(String),
    /// The first group, or the whole match where there is none.
    Regex(regex::bytes::Regex),
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Form(name) => write!(f, "form {name:?}"),
            Self::Meta(name) => write!(f, "meta {name:?}"),
            Self::Header(name) => write!(f, "header {name:?}"),
            Self::Cookie(name) => write!(f, "cookie {name:?}"),
            Self::Json(pointer) => write!(f, "json {pointer:?}"),
            Self::Regex(regex) => write!(f, "regex {:?}", regex.as_str()),
        }
    }
}

/// One value to take.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Capture {
    pub(crate) name: String,
    /// Among the session's captured values.
    pub(crate) slot: usize,
    pub(crate) place: Place,
    /// A later path is this value and nothing else.
    pub(crate) address: bool,
}

impl Capture {
    pub(crate) fn needs_body(&self) -> bool {
        !matches!(self.place, Place::Header(_) | Place::Cookie(_))
    }

    /// The value, or in words why there is none.
    pub(crate) fn take(&self, answer: Kept<'_>, jar: &Jar) -> Result<String, String> {
        let value = self.find(answer, jar)?;
        if value.len() > VALUE_LIMIT {
            return Err(self.failed(&format!(
                "{} bytes: more than {VALUE_LIMIT} are not kept",
                value.len()
            )));
        }
        if self.address && address_path(&value).is_none() {
            return Err(self.failed(&format!(
                "{value:?} is a path's only part and neither begins with / nor is a URL"
            )));
        }
        Ok(value)
    }

    fn failed(&self, why: &str) -> String {
        format!("capture {:?} ({}): {why}", self.name, self.place)
    }

    fn find(&self, answer: Kept<'_>, jar: &Jar) -> Result<String, String> {
        let found = match &self.place {
            Place::Header(name) => header(answer.head, name),
            Place::Cookie(name) => jar.get(name).map(str::to_owned),
            in_body => {
                if let Some(coding) = header(answer.head, "content-encoding")
                    && !coding.eq_ignore_ascii_case("identity")
                {
                    return Err(self.failed(&format!(
                        "the answer is compressed ({coding:?}), and compressed answers are not searched: send no Accept-Encoding"
                    )));
                }
                let found = in_body.find_in(answer.body);
                if found.is_none() && answer.cut {
                    return Err(self.failed("not in the first MiB of the answer"));
                }
                found
            }
        };
        found.ok_or_else(|| {
            let mut why = "not in the answer".to_owned();
            // A redirect to the login page is the usual reason.
            if let Some(location) = header(answer.head, "location") {
                let _ = write!(why, ", which sends the client to {location:?}");
            }
            self.failed(&why)
        })
    }
}

impl Place {
    fn find_in(&self, body: &[u8]) -> Option<String> {
        match self {
            Self::Form(name) => html::input_value(&String::from_utf8_lossy(body), name),
            Self::Meta(name) => html::meta_content(&String::from_utf8_lossy(body), name),
            Self::Json(pointer) => {
                let document: serde_json::Value = serde_json::from_slice(body).ok()?;
                scalar(document.pointer(pointer).filter(|value| !value.is_null())?)
            }
            Self::Regex(regex) => {
                let groups = regex.captures(body)?;
                let group = groups.get(usize::from(groups.len() > 1))?;
                Some(String::from_utf8_lossy(group.as_bytes()).into_owned())
            }
            Self::Header(_) | Self::Cookie(_) => None,
        }
    }
}

fn header(head: &[u8], wanted: &str) -> Option<String> {
    headers(head)
        .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
        .map(|(_, value)| value.into_owned())
}

/// The headers of a head that the parser has taken, so one a line.
pub(crate) fn headers(head: &[u8]) -> impl Iterator<Item = (&str, std::borrow::Cow<'_, str>)> {
    head.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = std::str::from_utf8(&line[..colon]).ok()?;
        let value = String::from_utf8_lossy(line[colon + 1..].trim_ascii());
        // The status line may hold a colon too, but not before a space.
        (!name.contains(' ')).then_some((name, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(place: Place, head: &str, body: &[u8], address: bool) -> Result<String, String> {
        let mut jar = Jar::default();
        for (_, value) in headers(head.as_bytes()).filter(|(name, _)| *name == "Set-Cookie") {
            jar.set(&value, "/", 0);
        }
        let capture = Capture {
            name: "it".into(),
            slot: 0,
            place,
            address,
        };
        let answer = Kept {
            head: head.as_bytes(),
            body,
            cut: false,
        };
        capture.take(answer, &jar)
    }

    #[test]
    fn each_place_is_searched() {
        let head = "HTTP/1.1 200 OK: fine\r\nLocation: http://x/next?a=b:c\r\nSet-Cookie: sid=7; Path=/\r\n\r\n";
        let page = b"<input name=t value=1><meta name=t content=2>{ id=\"42\" \xff";
        let find = |place| taken(place, head, page, false).unwrap();
        assert_eq!(find(Place::Form("t".into())), "1");
        assert_eq!(find(Place::Meta("t".into())), "2");
        assert_eq!(
            find(Place::Header("location".into())),
            "http://x/next?a=b:c"
        );
        assert_eq!(find(Place::Cookie("sid".into())), "7");
        let regex = |text| Place::Regex(regex::bytes::Regex::new(text).unwrap());
        assert_eq!(find(regex(r#"id="(\d+)""#)), "42");
        assert_eq!(find(regex("id=.{4}")), "id=\"42\"");
        let json = br#"{"items":[{"id":5,"a/b":null,"on":true}]}"#;
        let find = |pointer: &str| taken(Place::Json(pointer.into()), "", json, false);
        assert_eq!(find("/items/0/id").unwrap(), "5");
        assert_eq!(find("/items/0/on").unwrap(), "true");
        assert!(find("/items/0/a~1b").is_err() && find("/items/0").is_err());
    }

    #[test]
    fn what_is_not_there_says_so() {
        let error = |place, head: &str, address| taken(place, head, b"", address).unwrap_err();
        let redirect = "HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n";
        let why = error(Place::Form("token".into()), redirect, false);
        assert!(why.contains("\"it\"") && why.contains("\"token\"") && why.contains("/login"));
        let packed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
        assert!(error(Place::Form("t".into()), packed, false).contains("compressed"));
        let long = format!(
            "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
            "x".repeat(VALUE_LIMIT + 1)
        );
        assert!(error(Place::Header("X".into()), &long, false).contains("not kept"));
        let why = error(
            Place::Header("X".into()),
            "HTTP/1.1 200 OK\r\nX: mailto:a\r\n\r\n",
            true,
        );
        assert!(why.contains("mailto:a"), "{why}");
    }
}
