//! Tokens in a request: found and replaced in forms (URL-encoded and
//! multipart), in JSON and in the query, byte for byte the same elsewhere.

use std::borrow::Cow;

use memchr::memmem;

/// Which fields hold tokens, and what is put in place of a value: `None` leaves it.
pub(super) struct Replacing<'a> {
    pub(super) names: &'a [String],
    pub(super) with: &'a mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
}

impl Replacing<'_> {
    pub(super) fn is_named(&self, name: &[u8]) -> bool {
        self.names
            .iter()
            .any(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name))
    }

    /// In a body of this content type; `None` where nothing changes.
    pub(super) fn in_body(&mut self, content_type: &str, body: &[u8]) -> Option<Vec<u8>> {
        let kind = content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match kind.as_str() {
            "application/x-www-form-urlencoded" => self.in_form(body),
            "multipart/form-data" => self.in_parts(&boundary(content_type)?, body),
            _ if kind == "application/json" || kind.ends_with("+json") => self.in_json(body),
            _ => None,
        }
    }

    /// In the query of a target.
    pub(super) fn in_target(&mut self, target: &str) -> Option<String> {
        let (path, query) = target.split_once('?')?;
        let query = self.in_form(query.as_bytes())?;
        Some(format!("{path}?{}", String::from_utf8(query).ok()?))
    }

    fn in_form(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut pieces: Vec<Cow<'_, [u8]>> = Vec::new();
        let mut changed = false;
        for pair in body.split(|byte| *byte == b'&') {
            let mut decoded = form_urlencoded::parse(pair);
            let new = decoded
                .next()
                .filter(|(name, _)| self.is_named(name.as_bytes()));
            let new = new.and_then(|(_, value)| (self.with)(value.as_bytes()));
            pieces.push(match new {
                None => Cow::Borrowed(pair),
                Some(new) => {
                    changed = true;
                    let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
                    let mut piece = name.to_vec();
                    piece.push(b'=');
                    piece.extend(form_urlencoded::byte_serialize(&new).flat_map(str::bytes));
                    Cow::Owned(piece)
                }
            });
        }
        changed.then(|| pieces.join(&b'&'))
    }

    fn in_parts(&mut self, boundary: &[u8], body: &[u8]) -> Option<Vec<u8>> {
        let delimiter = [b"--", boundary].concat();
        let starts: Vec<usize> = memmem::find_iter(body, &delimiter).collect();
        let mut new = Vec::with_capacity(body.len());
        let mut copied = 0;
        for pair in starts.windows(2) {
            let part = pair[0] + delimiter.len()..pair[1];
            let Some(head) = memmem::find(&body[part.clone()], b"\r\n\r\n") else {
                continue;
            };
            let value_at = part.start + head + 4;
            let Some(value) = body
                .get(value_at..part.end)
                .and_then(|value| value.strip_suffix(b"\r\n"))
            else {
                continue;
            };
            let named =
                part_name(&body[part.start..value_at]).is_some_and(|name| self.is_named(name));
            if let Some(replaced) = named.then(|| (self.with)(value)).flatten() {
                new.extend_from_slice(&body[copied..value_at]);
                new.extend_from_slice(&replaced);
                copied = value_at + value.len();
            }
        }
        self::end(body, new, copied)
    }

    /// `"name": "value"` wherever it stands: values with neither that name nor a known content are not
    /// touched.
    fn in_json(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut new = Vec::new();
        let (mut copied, mut at) = (0, 0);
        while let Some(found) = memchr::memchr(b'"', &body[at..]) {
            let name = string(body, at + found)?;
            at = name.end;
            if !self.is_named(&body[name.start + 1..name.end - 1]) {
                continue;
            }
            let Some(colon) = next(body, at).filter(|at| body[*at] == b':') else {
                continue;
            };
            let Some(quote) = next(body, colon + 1).filter(|at| body[*at] == b'"') else {
                continue;
            };
            let value = string(body, quote)?;
            at = value.end;
            let text: Option<String> = serde_json::from_slice(&body[value.clone()]).ok();
            let replaced = text.and_then(|text| (self.with)(text.as_bytes()));
            if let Some(text) = replaced.and_then(|new| String::from_utf8(new).ok()) {
                new.extend_from_slice(&body[copied..value.start]);
                new.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
                copied = value.end;
            }
        }
        self::end(body, new, copied)
    }
}

fn end(body: &[u8], mut new: Vec<u8>, copied: usize) -> Option<Vec<u8>> {
    if copied == 0 {
        return None;
    }
    new.extend_from_slice(&body[copied..]);
    Some(new)
}

/// A JSON string with its quotes, of which the first is at `at`.
fn string(body: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let mut end = at + 1;
    loop {
        match body.get(end)? {
            b'"' => return Some(at..end + 1),
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
}

fn next(body: &[u8], from: usize) -> Option<usize> {
    let found = body
        .get(from..)?
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())?;
    Some(from + found)
}

fn boundary(content_type: &str) -> Option<Vec<u8>> {
    let mut parameters = content_type.split(';').skip(1);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary")
            .then(|| value.trim_matches('"'))
    })?;
    (!value.is_empty()).then(|| value.as_bytes().to_vec())
}

/// Of a form's part: the `name` of its `Content-Disposition`.
fn part_name(head: &[u8]) -> Option<&[u8]> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines.find(|line| {
        line.get(..20)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"content-disposition:"))
    })?;
    let at = memmem::find(line, b" name=\"")? + 7;
    let end = memchr::memchr(b'"', &line[at..])?;
    Some(&line[at..at + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(content_type: &str, body: &str) -> Option<String> {
        let names = ["authenticity_token".to_owned()];
        let mut with = |value: &[u8]| (value == b"old+/==").then(|| b"new&=\"+".to_vec());
        let mut replacing = Replacing {
            names: &names,
            with: &mut with,
        };
        replacing
            .in_body(content_type, body.as_bytes())
            .map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn forms_keep_every_other_byte() {
        let form = "application/x-www-form-urlencoded; charset=UTF-8";
        assert_eq!(
            replaced(
                form,
                "utf8=%E2%9c%93&authenticity%5Ftoken=old%2B%2F%3D%3D&x=%20+&&y"
            )
            .unwrap(),
            "utf8=%E2%9c%93&authenticity%5Ftoken=new%26%3D%22%2B&x=%20+&&y"
        );
        assert_eq!(
            replaced(form, "authenticity_token=other&token=old%2B%2F%3D%3D"),
            None
        );
    }

    #[test]
    fn parts_are_replaced_by_name() {
        let body = "--xX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nold+/==\r\n--xX\r\n\
                    content-disposition: form-data; name=\"authenticity_token\"\r\n\r\nold+/==\r\n--xX--\r\n";
        let new = replaced("multipart/form-data; boundary=\"xX\"", body).unwrap();
        let expected = body
            .replacen("old+/==", "?", 1)
            .replace("old+/==", "new&=\"+")
            .replace('?', "old+/==");
        assert_eq!(new, expected);
        assert_eq!(replaced("multipart/form-data", body), None);
    }

    #[test]
    fn json_strings_are_replaced_in_place() {
        let body = r#"{"a": "\"authenticity_token", "n": [{"authenticity_token" : "old+\/=="}], "x": "old+/=="}"#;
        let new = replaced("application/vnd.api+json", body).unwrap();
        assert_eq!(new, body.replace(r#""old+\/==""#, r#""new&=\"+""#));
        assert_eq!(
            replaced("application/json", r#"{"authenticity_token": 7, "#),
            None
        );
        assert_eq!(replaced("text/plain", body), None);
    }

    #[test]
    fn queries_are_forms() {
        let names = ["authenticity_token".to_owned()];
        let mut with = |_: &[u8]| Some(b"b".to_vec());
        let mut replacing = Replacing {
            names: &names,
            with: &mut with,
        };
        assert_eq!(
            replacing.in_target("/x?authenticity_token=a&c").unwrap(),
            "/x?authenticity_token=b&c"
        );
        assert_eq!(replacing.in_target("/x"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(body in proptest::collection::vec(proptest::sample::select(b"{}\":\\ -x\r\n&=%a".to_vec()), 0..120)) {
            let names = ["a".to_owned(), "x".to_owned()];
            for kind in ["application/json", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"] {
                let mut with = |value: &[u8]| Some(value.to_vec());
                let _ = Replacing { names: &names, with: &mut with }.in_body(kind, &body);
            }
        }
    }
}
