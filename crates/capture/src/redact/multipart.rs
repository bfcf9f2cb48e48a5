//! `multipart/form-data`, read strictly: what a server might read in another
//! way is not vouched for.

use super::names::Names;
use super::{REDACTED, Unreadable, media_of, text};

/// Redacts the content of a part of this type; `None`: nothing to take out.
type PartRule<'a> = dyn Fn(&str, &[u8]) -> Result<Option<Vec<u8>>, Unreadable> + 'a;

/// `rule` is for the parts that are no text. `None`: nothing to take out.
pub(super) fn redacted(
    body: &[u8],
    content_type: &str,
    names: &Names,
    keep_others: bool,
    rule: &PartRule<'_>,
) -> Result<Option<Vec<u8>>, Unreadable> {
    let boundary = parameter(content_type, "boundary")?.ok_or(Unreadable)?;
    if boundary.is_empty() {
        return Err(Unreadable);
    }
    let delimiter = format!("--{boundary}");
    let between = format!("\r\n{delimiter}");
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = if body.starts_with(b"\r\n") { 2 } else { 0 };
    if !body[at..].starts_with(delimiter.as_bytes()) {
        return Err(Unreadable);
    }
    at += delimiter.len();
    loop {
        let rest = &body[at..];
        if let Some(after) = rest.strip_prefix(b"--") {
            if !after.trim_ascii().is_empty() {
                return Err(Unreadable);
            }
            break;
        }
        if !rest.starts_with(b"\r\n") {
            return Err(Unreadable);
        }
        let length = memchr::memmem::find(&rest[2..], between.as_bytes()).ok_or(Unreadable)?;
        let part = &rest[2..2 + length];
        let start = at + 2;
        let content = memchr::memmem::find(part, b"\r\n\r\n").ok_or(Unreadable)? + 4;
        if let Some(replaced) = replaced(
            &part[..content - 4],
            &part[content..],
            names,
            keep_others,
            rule,
        )? {
            out.extend_from_slice(&body[copied..start + content]);
            out.extend_from_slice(&replaced);
            copied = start + length;
        }
        at = start + length + between.len();
    }
    if copied == 0 {
        return Ok(None);
    }
    out.extend_from_slice(&body[copied..]);
    Ok(Some(out))
}

/// What stands in place of a part's content, if anything does.
fn replaced(
    head: &[u8],
    content: &[u8],
    names: &Names,
    keep_others: bool,
    rule: &PartRule<'_>,
) -> Result<Option<Vec<u8>>, Unreadable> {
    let head = std::str::from_utf8(head).map_err(|_| Unreadable)?;
    let mut disposition = None;
    let mut content_type = None;
    let mut encoding = None;
    let mut length = None;
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(':').ok_or(Unreadable)?;
        let known = match name.to_ascii_lowercase().as_str() {
            "content-disposition" => &mut disposition,
            "content-type" => &mut content_type,
            "content-transfer-encoding" => &mut encoding,
            "content-length" => &mut length,
            // A line that goes on begins with a space. A header that no browser sends may hold anything.
            _ => return Err(Unreadable),
        };
        if known.replace(value.trim()).is_some() {
            return Err(Unreadable);
        }
    }
    let disposition = disposition.ok_or(Unreadable)?;
    let name = parameter(disposition, "name")?.ok_or(Unreadable)?;
    if names.covers_encoded(&name) {
        return Ok(Some(REDACTED.into()));
    }
    let media = content_type.map(media_of).unwrap_or_default();
    let is_file = disposition.to_ascii_lowercase().contains("filename");
    let is_text = !is_file && matches!(media.as_str(), "" | "text/plain");
    let is_plain = encoding.is_none_or(|encoding: &str| {
        ["7bit", "8bit", "binary"]
            .iter()
            .any(|plain| encoding.eq_ignore_ascii_case(plain))
    });
    if content.is_empty() {
        return Ok(None);
    }
    if is_text && is_plain {
        let reveals = std::str::from_utf8(content).map_or(true, |text| text::reveals(text, names));
        return Ok(reveals.then(|| REDACTED.into()));
    }
    // A file without a type may be anything, a form last.
    let content_type = content_type.unwrap_or("application/octet-stream");
    if !is_plain {
        return Ok((!keep_others).then(|| REDACTED.into()));
    }
    // RFC 7578 has no form in a form. A client could nest thousands, and each would take a part of the stack.
    if media.starts_with("multipart/") {
        return Ok(Some(REDACTED.into()));
    }
    let redacted = rule(content_type, content);
    Ok(redacted.unwrap_or_else(|Unreadable| Some(REDACTED.into())))
}

/// A parameter of a header's value: `form-data; name="a"`. `Err` when it is there twice, or in RFC 5987's notation.
fn parameter(value: &str, wanted: &str) -> Result<Option<String>, Unreadable> {
    let mut found = None;
    let Some((_, mut rest)) = value.split_once(';') else {
        return Ok(None);
    };
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        if rest.is_empty() {
            return Ok(found);
        }
        let (name, after) = rest.split_once('=').ok_or(Unreadable)?;
        let name = name.trim().to_ascii_lowercase();
        let value;
        (value, rest) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let (token, rest) = after.split_once(';').unwrap_or((after, ""));
                (token.trim().to_owned(), rest)
            }
        };
        let extended = name.strip_suffix('*') == Some(wanted);
        if extended || (name == wanted && found.replace(value).is_some()) {
            return Err(Unreadable);
        }
    }
}

/// The text up to the closing quote, and what follows.
fn unquoted(text: &str) -> Result<(String, &str), Unreadable> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    Err(Unreadable)
}

#[cfg(test)]
mod tests {
    use super::super::body;
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"xyz\"";

    fn of(body: &str) -> Result<Option<String>, Unreadable> {
        let names = Names::default();
        let rule = |media: &str, content: &[u8]| body::of_type(media, content, &names, false);
        let redacted = redacted(body.as_bytes(), TYPE, &names, false, &rule)?;
        Ok(redacted.map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    fn part(head: &str, content: &str) -> String {
        format!("--xyz\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    }

    #[test]
    fn parts_are_replaced_by_name() {
        let plain = part("name=\"title\"", "a\r\n--xy");
        let body = format!(
            "{plain}{}{}--xyz--\r\n",
            part("name=\"user[password]\"", "s3cret\r\n\r\nmore"),
            part("name=pin; filename=\"a;b\"", "")
        );
        let redacted = of(&body).unwrap().unwrap();
        assert!(
            redacted.starts_with(&plain) && redacted.ends_with("\r\n--xyz--\r\n"),
            "{redacted}"
        );
        assert!(
            !redacted.contains("s3cret") && !redacted.contains("more"),
            "{redacted}"
        );
        assert_eq!(
            redacted.matches("\r\n\r\nREDACTED\r\n--xyz").count(),
            2,
            "{redacted}"
        );
        assert_eq!(of(&format!("{plain}--xyz--")), Ok(None));
        let json = "name=meta\r\nContent-Type: application/json";
        let body = format!("{}--xyz--", part(json, "{\"token\":\"s3cret\"}"));
        assert!(
            of(&body)
                .unwrap()
                .unwrap()
                .contains("{\"token\":\"REDACTED\"}")
        );
    }

    #[test]
    fn content_that_no_parser_understands_is_replaced() {
        for (head, content, expected) in [
            ("name=a; filename=b", "s3cret", "REDACTED"),
            (
                "name=a; filename=b\r\nContent-Type: image/png",
                "s3cret",
                "REDACTED",
            ),
            ("name=a\r\nContent-Type: application/json", "{", "REDACTED"),
            (
                "name=a\r\nContent-Transfer-Encoding: base64",
                "czNjcmV0",
                "REDACTED",
            ),
            ("name=a; filename=b", "[1]", "[1]"),
            ("name=a", "{\"token\":\"s3cret\"}", "REDACTED"),
            ("name=a", "<token>s3cret</token>", "REDACTED"),
            (
                "name=a\r\nContent-Type: text/plain; charset=utf-8",
                "plain",
                "plain",
            ),
        ] {
            let body = part(head, content) + "--xyz--";
            let redacted = of(&body).unwrap().unwrap_or(body);
            assert_eq!(redacted, part(head, expected) + "--xyz--", "{head}");
        }
    }

    #[test]
    fn forms_in_forms_are_replaced_however_deep() {
        let head = |boundary: usize| {
            format!("name=a\r\nContent-Type: multipart/form-data; boundary={boundary}-")
        };
        let mut nested = String::new();
        for depth in 0..10_000 {
            let head = head(depth + 1);
            nested += &format!("--{depth}-\r\nContent-Disposition: form-data; {head}\r\n\r\n");
        }
        for depth in (0..10_000).rev() {
            nested += &format!("\r\n--{depth}---");
        }
        let body = part(&head(0), &nested) + "--xyz--";
        let expected = part(&head(0), "REDACTED") + "--xyz--";
        assert_eq!(of(&body), Ok(Some(expected)));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_vouched_for() {
        let plain = part("name=\"title\"", "a");
        for body in [
            String::new(),
            plain.clone(),
            format!("before{plain}--xyz--"),
            format!("{plain}--xyz--after"),
            plain.replace("\r\n", "\n") + "--xyz--",
            format!("{}--xyz--", part("filename=a", "x")),
            format!("{}--xyz--", part("name=a; name=password", "x")),
            format!("{}--xyz--", part("name*=utf-8''password", "x")),
            format!("{}--xyz--", part("name=\"a", "x")),
            format!("{}--xyz--", part("filename=b;\r\n name=password", "x")),
            format!("{}--xyz--", part("name=a\r\nAuthorization: s3cret", "x")),
            "--xyz\r\n\r\nx\r\n--xyz--".to_owned(),
        ] {
            assert_eq!(of(&body), Err(Unreadable), "{body:?}");
        }
    }
}
