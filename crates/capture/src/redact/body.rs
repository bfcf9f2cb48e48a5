//! Which rule reads a body: by its type, and by how it begins where types are
//! often wrong.

use super::names::Names;
use super::{Unreadable, json, media_of, multipart, only, pairs};
use crate::Exchange;

/// What becomes of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rewritten {
    Same,
    To(Vec<u8>),
    /// It cannot be shown to be free of secrets.
    Dropped,
}

pub(super) fn rewritten(exchange: &Exchange, names: &Names, keep_others: bool) -> Rewritten {
    let headers = &exchange.headers;
    let (Ok(content_type), Ok(coding)) = (
        only(headers, "content-type"),
        only(headers, "content-encoding"),
    ) else {
        return Rewritten::Dropped;
    };
    let packed = coding.is_some_and(|coding| !coding.trim().eq_ignore_ascii_case("identity"));
    let cut = (exchange.body.len() as u64) < exchange.body_bytes;
    if packed || cut {
        return Rewritten::Dropped;
    }
    let content_type = content_type.unwrap_or_default();
    match of_type(&content_type, &exchange.body, names, keep_others) {
        Ok(None) => Rewritten::Same,
        Ok(Some(body)) => Rewritten::To(body),
        Err(Unreadable) => Rewritten::Dropped,
    }
}

/// A whole body that is said to be of this type. What it is shows in how it begins, because clients get types wrong,
/// and a body that no parser here understands is unreadable. `None`: nothing to take out.
pub(super) fn of_type(
    content_type: &str,
    body: &[u8],
    names: &Names,
    keep_others: bool,
) -> Result<Option<Vec<u8>>, Unreadable> {
    let media = media_of(content_type);
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let begins_as_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'));
    let is_form = matches!(media.as_str(), "" | "application/x-www-form-urlencoded");
    let is_json = media == "application/json" || media == "text/json" || media.ends_with("+json");
    if !has_plain_charset(content_type) {
        return Err(Unreadable);
    }
    if media == "multipart/form-data" {
        let part =
            |content_type: &str, content: &[u8]| of_type(content_type, content, names, keep_others);
        multipart::redacted(body, content_type, names, keep_others, &part)
    } else if is_json {
        json::redacted(body, names)
    } else if begins_as_json {
        match json::redacted(body, names) {
            Err(_) if keep_others && !is_form => Ok(None),
            redacted => redacted,
        }
    } else if is_form && pairs::is_form(body) {
        Ok(pairs::redacted(body, names))
    } else if keep_others && !is_form && !media.starts_with("multipart/") {
        Ok(None)
    } else {
        Err(Unreadable)
    }
}

/// Whether ASCII characters are the bytes that they are in ASCII.
fn has_plain_charset(content_type: &str) -> bool {
    let lower = content_type.to_ascii_lowercase();
    lower.split("charset").skip(1).all(|rest| {
        let name = rest.trim_start_matches([' ', '\t', '=', '"', '\'']);
        [
            "utf-8",
            "utf8",
            "us-ascii",
            "ascii",
            "iso-8859-",
            "windows-125",
        ]
        .iter()
        .any(|plain| name.starts_with(plain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn of(headers: &[(&str, &str)], body: &str, whole: u64) -> Rewritten {
        let field = |(name, value): &(&str, &str)| Field {
            name: (*name).into(),
            value: (*value).into(),
        };
        let exchange = Exchange {
            id: 1,
            at_ns: 0,
            connection: 1,
            sequence: 1,
            method: "POST".into(),
            target: "/".into(),
            headers: headers.iter().map(field).collect(),
            body: body.into(),
            body_bytes: whole,
            answer: None,
        };
        rewritten(&exchange, &Names::default(), false)
    }

    fn typed(content_type: &str, body: &str) -> Rewritten {
        of(&[("Content-Type", content_type)], body, body.len() as u64)
    }

    #[test]
    fn by_type_and_by_beginning() {
        let to = |text: &str| Rewritten::To(text.into());
        let form = "application/x-www-form-urlencoded; charset=UTF-8";
        assert_eq!(typed(form, "a=b"), Rewritten::Same);
        assert_eq!(typed(form, "pin=1"), to("pin=REDACTED"));
        assert_eq!(of(&[], "pin=1", 5), to("pin=REDACTED"));
        for json in [
            "application/json",
            "application/vnd.api+JSON",
            form,
            "text/plain",
            "application/octet-stream",
            "image/png",
            "",
        ] {
            assert_eq!(
                typed(json, " {\"pin\":1}"),
                to(" {\"pin\":\"REDACTED\"}"),
                "{json}"
            );
            assert_eq!(typed(json, "{\"pin\":1"), Rewritten::Dropped, "{json}");
        }
        for other in [
            "image/png",
            "application/octet-stream",
            "application/pdf",
            "text/xml",
            "image/svg+xml",
            "text/plain",
            "application/msgpack",
            "multipart/mixed",
        ] {
            assert_eq!(typed(other, "<pin>1</pin>"), Rewritten::Dropped, "{other}");
        }
    }

    #[test]
    fn graphql_is_read_as_text_in_json() {
        let json = "application/json";
        for query in [
            "{ user(id: 5) { name email } }",
            "{user(id:5){name,email}}",
            "query Orders { orders(first: 10) { id customer(id: 7) { email token } } }",
            "mutation { rename(id: 5, name: \\\"Alice\\\") { user { email } } }",
        ] {
            let body = format!("{{\"query\":\"{query}\",\"variables\":{{\"id\":5}}}}");
            assert_eq!(typed(json, &body), Rewritten::Same, "{query}");
        }
        for query in [
            "mutation { login(name: \\\"a\\\", password: \\\"S3CRET\\\") { id } }",
            "{user(id:5){login(password:\\\"S3CRET\\\"){id}}}",
        ] {
            let body = format!("{{\"query\":\"{query}\",\"a\":1}}");
            let expected = Rewritten::To("{\"query\":\"REDACTED\",\"a\":1}".into());
            assert_eq!(typed(json, &body), expected, "{query}");
        }
    }

    #[test]
    fn the_type_is_not_trusted() {
        for body in [
            "<password>S3CRET</password>",
            "<a b=\"c\"><password>S3&amp;CRET</password></a>",
            "password: S3CRET",
            "S3CRET",
            "a=b\r\npassword=S3CRET",
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nS3CRET\r\n--b--",
            "{password:'S3CRET'}",
            "\u{89}PNG",
        ] {
            for other in [
                "application/x-www-form-urlencoded",
                "",
                "application/octet-stream",
                "image/png",
                "text/plain",
            ] {
                assert_eq!(typed(other, body), Rewritten::Dropped, "{other}: {body}");
            }
        }
        let utf16 = "application/x-www-form-urlencoded; charset=utf-16le";
        assert_eq!(typed(utf16, "a=b"), Rewritten::Dropped);
    }

    #[test]
    fn what_cannot_be_read_whole_is_dropped() {
        let json = ("Content-Type", "application/json");
        assert_eq!(of(&[json], "{}", 2), Rewritten::Same);
        assert_eq!(of(&[json], "{}", 3), Rewritten::Dropped);
        assert_eq!(
            of(&[json, ("content-encoding", "gzip")], "{}", 2),
            Rewritten::Dropped
        );
        assert_eq!(
            of(&[json, ("content-encoding", "identity")], "{}", 2),
            Rewritten::Same
        );
        assert_eq!(
            of(&[json, ("content-type", "image/png")], "{}", 2),
            Rewritten::Dropped
        );
    }
}
