//! Which rule reads a body: by its type, and by how it begins where types are
//! often wrong.

use super::names::Names;
use super::{json, multipart, only, pairs};
use crate::Exchange;

/// What becomes of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rewritten {
    Same,
    To(Vec<u8>),
    /// Nobody can say that there is no secret in it.
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
    of_type(&content_type, &exchange.body, names, keep_others)
}

/// A whole body of this type.
pub(super) fn of_type(
    content_type: &str,
    body: &[u8],
    names: &Names,
    keep_others: bool,
) -> Rewritten {
    let media = content_type.split(';').next().unwrap_or_default();
    let media = media.trim().to_ascii_lowercase();
    let begins_as_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    let is_form = matches!(media.as_str(), "" | "application/x-www-form-urlencoded");
    let is_json = media == "application/json" || media == "text/json" || media.ends_with("+json");
    // curl says that it sends a form, and a beacon that it sends text, whatever they send.
    let redacted = if is_json || (begins_as_json && (is_form || media == "text/plain")) {
        json::redacted(body, names)
    } else if is_form {
        Ok(pairs::redacted(body, names))
    } else if media == "multipart/form-data" {
        multipart::redacted(body, content_type, names)
    } else if has_no_fields(&media) || (keep_others && !media.starts_with("multipart/")) {
        Ok(None)
    } else {
        return Rewritten::Dropped;
    };
    match redacted {
        Ok(None) => Rewritten::Same,
        Ok(Some(body)) => Rewritten::To(body),
        Err(_) => Rewritten::Dropped,
    }
}

/// Pictures, sound and files: bytes in which nothing has a name.
fn has_no_fields(media: &str) -> bool {
    let kind = media.split('/').next().unwrap_or_default();
    // An SVG is XML.
    (matches!(kind, "image" | "audio" | "video" | "font") && !media.contains("xml"))
        || matches!(
            media,
            "application/octet-stream" | "application/pdf" | "application/zip"
        )
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
            "",
        ] {
            assert_eq!(
                typed(json, " {\"pin\":1}"),
                to(" {\"pin\":\"REDACTED\"}"),
                "{json}"
            );
            assert_eq!(typed(json, "{\"pin\":1"), Rewritten::Dropped, "{json}");
        }
        assert_eq!(typed("image/png", "pin=1"), Rewritten::Same);
        for other in [
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
