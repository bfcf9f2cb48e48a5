//! A header that every request of a run has in addition, and what a server takes from it.

use std::fmt;

use http::{HeaderName, HeaderValue};

use crate::sendable::header_name_problem;

/// Sent with each request that has no header of this name of its own. Values are often credentials: neither `Debug` nor
/// a message shows one.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

/// Why a text is no header to send, without the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct HeaderProblem {
    /// The header's name, where there is one.
    pub name: Option<String>,
    /// What is wrong.
    pub what: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

impl Header {
    /// Reads `NAME: VALUE`.
    ///
    /// # Errors
    /// The text has no colon, or the name or the value cannot be sent.
    pub fn parse(text: &str) -> Result<Self, HeaderProblem> {
        let problem = |name: Option<&str>, what, remedy| HeaderProblem {
            name: name.map(str::to_owned),
            what,
            remedy,
        };
        let Some((name, value)) = text.split_once(':') else {
            return Err(problem(
                None,
                "no colon in it",
                "write it as \"NAME: VALUE\"",
            ));
        };
        let (name, value) = (name.trim(), value.trim());
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            // What stands there may be part of a credential.
            return Err(problem(
                None,
                "what stands before the colon is no header name",
                "a header name holds letters, digits and - only",
            ));
        }
        if let Some((what, remedy)) = header_name_problem(name) {
            let remedy = match name.eq_ignore_ascii_case("host") {
                true => "use --host NAME, which load has",
                false => remedy,
            };
            return Err(problem(Some(name), what, remedy));
        }
        if HeaderValue::from_bytes(value.as_bytes()).is_err() {
            return Err(problem(
                Some(name),
                "its value cannot be sent",
                "remove line breaks and control characters",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }

    /// What a proxy that terminates TLS sends to the application's server.
    #[must_use]
    pub fn forwarded_https() -> Self {
        Self {
            name: "X-Forwarded-Proto".to_owned(),
            value: "https".to_owned(),
        }
    }

    /// As given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// May be a credential.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Says with which scheme the client asked.
    pub(crate) fn tells_scheme(&self) -> bool {
        [
            "x-forwarded-proto",
            "x-forwarded-scheme",
            "x-forwarded-ssl",
            "forwarded",
        ]
        .iter()
        .any(|name| self.is(name))
    }

    /// Says that the client asked with https: an application sets `Secure` cookies then, and expects them back.
    pub(crate) fn tells_https(&self) -> bool {
        let value = self.value.to_ascii_lowercase();
        match self.name.to_ascii_lowercase().as_str() {
            "x-forwarded-proto" | "x-forwarded-scheme" => value == "https",
            "x-forwarded-ssl" => value == "on",
            "forwarded" => value.contains("proto=https"),
            _ => false,
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_its_value_shown_nowhere() {
        let header = Header::parse("Authorization:  Bearer s3cret ").unwrap();
        assert_eq!(
            (header.name(), header.value()),
            ("Authorization", "Bearer s3cret")
        );
        assert_eq!(format!("{header:?}"), "Authorization: …");
        for (text, said) in [
            ("x-token s3cret", "no colon"),
            ("s3cret x: y", "no header name"),
            (": s3cret", "no header name"),
            ("X-Key: s3cret\r\nX: y", "cannot be sent"),
            ("X-Key: s3cret\u{7f}", "cannot be sent"),
            ("Host: s3cret", "--host"),
            ("X_Request_Start: s3cret", "set by powerband"),
        ] {
            let problem = Header::parse(text).unwrap_err();
            assert!(problem.to_string().contains(said), "{text:?}: {problem}");
            assert!(!format!("{problem:?}").contains("s3cret"), "{problem:?}");
        }
    }

    #[test]
    fn what_says_https_is_known() {
        let tells = |text| Header::parse(text).unwrap().tells_https();
        assert!(Header::forwarded_https().tells_https());
        assert!(tells("x-forwarded-ssl: on") && tells("Forwarded: for=1.2.3.4;proto=https"));
        assert!(!tells("X-Forwarded-Proto: http") && !tells("X-Other: https"));
    }
}
