//! Text with `{{name}}` in it: parsed once, filled in for each sending, each
//! place with the encoding that keeps a value from being more than a value.

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Of the data file.
    Column(usize),
    /// From an earlier answer.
    Capture(usize),
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Value(Source),
}

/// Parsed text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern(Vec<Part>);

/// What fills a pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) row: &'a [String],
    pub(crate) captured: &'a [String],
}

/// Where a pattern stands, which decides the encoding of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Percent-encoded, `/` and `?` too; the text stays.
    Path,
    /// Control characters become spaces; the text stays.
    Header,
    /// As they are.
    Body,
    /// URL-encoded, the text too.
    Form,
}

/// Text, or the name between two pairs of braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

impl Pattern {
    /// `resolve` is asked once for each name; `None` leaves the name out,
    /// having said why elsewhere.
    pub(crate) fn parse(text: &str, mut resolve: impl FnMut(&str) -> Option<Source>) -> Self {
        Self(
            pieces(text)
                .into_iter()
                .filter_map(|piece| match piece {
                    Piece::Text(text) => Some(Part::Text(text.to_owned())),
                    Piece::Name(name) => resolve(name).map(Part::Value),
                })
                .collect(),
        )
    }

    /// Is it one value and nothing else?
    pub(crate) fn lone_value(&self) -> Option<Source> {
        match self.0[..] {
            [Part::Value(source)] => Some(source),
            _ => None,
        }
    }

    /// Does a value of it come from an earlier answer?
    pub(crate) fn takes_capture(&self) -> bool {
        let captured = |part: &Part| matches!(part, Part::Value(Source::Capture(_)));
        self.0.iter().any(captured)
    }

    /// The text with its values; `None` where they make it no text.
    pub(crate) fn filled(&self, values: Values<'_>, place: Place) -> Option<String> {
        let mut out = Vec::new();
        self.fill(values, place, &mut out);
        String::from_utf8(out).ok()
    }

    /// Appends the text with its values.
    pub(crate) fn fill(&self, values: Values<'_>, place: Place, out: &mut Vec<u8>) {
        // An address is the one path whose slashes are its own.
        let address = place == Place::Path && self.lone_value().is_some();
        for part in &self.0 {
            let (text, is_value) = match part {
                Part::Text(text) => (text.as_str(), false),
                Part::Value(Source::Column(index)) => (values.row[*index].as_str(), true),
                Part::Value(Source::Capture(index)) => (values.captured[*index].as_str(), true),
            };
            match place {
                Place::Form => form_encode(text, out),
                _ if !is_value => out.extend_from_slice(text.as_bytes()),
                Place::Path if address => {
                    let path = address_path(text).unwrap_or("/");
                    percent_encode(
                        path,
                        |byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte),
                        out,
                    );
                }
                Place::Path => percent_encode(
                    text,
                    |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
                    out,
                ),
                Place::Header => out.extend(text.bytes().map(|byte| match byte {
                    b'\t' => byte,
                    0..b' ' | 0x7f => b' ',
                    byte => byte,
                })),
                Place::Body => out.extend_from_slice(text.as_bytes()),
            }
        }
    }
}

/// The text without its names.
pub(crate) fn without_names(text: &str) -> String {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            Piece::Name(_) => None,
        })
        .collect()
}

/// The names in the text, as they stand there.
pub(crate) fn names(text: &str) -> Vec<&str> {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Name(name) => Some(name),
        })
        .collect()
}

/// May it stand between braces? Braces around anything else are plain text.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name == name.trim()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '))
}

/// Path and query of `https://host/path`, `//host/path` or `/path`, without a
/// fragment; `None` for anything else.
pub(crate) fn address_path(address: &str) -> Option<&str> {
    let address = address.split('#').next().unwrap_or(address);
    let rest = match address.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => rest,
        _ => match address.strip_prefix("//") {
            Some(rest) => rest,
            None => return address.starts_with('/').then_some(address),
        },
    };
    match rest.find('/') {
        Some(at) => Some(&rest[at..]),
        None => (!rest.is_empty() && !rest.contains('?')).then_some("/"),
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text_from = 0;
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|found| at + found) {
        let inside = open + 2;
        let name = text[inside..]
            .find("}}")
            .map(|length| (&text[inside..inside + length], inside + length + 2))
            .filter(|(name, _)| is_name(name.trim()));
        match name {
            Some((name, end)) => {
                if text_from < open {
                    pieces.push(Piece::Text(&text[text_from..open]));
                }
                pieces.push(Piece::Name(name.trim()));
                text_from = end;
                at = end;
            }
            // `{{{name}}`: the last two of the three count.
            None => at = open + 1,
        }
    }
    if text_from < text.len() {
        pieces.push(Piece::Text(&text[text_from..]));
    }
    pieces
}

fn percent_encode(text: &str, keep: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if keep(byte) {
            out.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
        }
    }
}

/// `application/x-www-form-urlencoded`, as browsers write it.
pub(crate) fn form_encode(text: &str, out: &mut Vec<u8>) {
    for piece in form_urlencoded::byte_serialize(text.as_bytes()) {
        out.extend_from_slice(piece.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(text: &str, value: &str, place: Place) -> String {
        let pattern = Pattern::parse(text, |_| Some(Source::Column(0)));
        let mut out = Vec::new();
        let row = [value.to_owned()];
        let values = Values {
            row: &row,
            captured: &[],
        };
        pattern.fill(values, place, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_place_encodes_its_values() {
        assert_eq!(
            filled("/a/{{x}}?q={{ x }}", "1/2 ü", Place::Path),
            "/a/1%2F2%20%C3%BC?q=1%2F2%20%C3%BC"
        );
        assert_eq!(filled("a b={{x}}", "1&2 3", Place::Form), "a+b%3D1%262+3");
        assert_eq!(filled("t {{x}}", "a\r\nB: c", Place::Header), "t a  B: c");
        assert_eq!(filled("{\"a\":{{x}}}", "[1]", Place::Body), "{\"a\":[1]}");
    }

    #[test]
    fn braces_around_anything_but_a_name_are_text() {
        for text in ["{{\"a\":1}}", "{{}}", "{{a", "a}}", "{{a:b}}", "{ {a} }"] {
            assert_eq!(names(text), Vec::<&str>::new(), "{text}");
            assert_eq!(filled(text, "x", Place::Body), text);
        }
        assert_eq!(filled("{{{x}}}", "1", Place::Body), "{1}");
        assert_eq!(names("{{First name}}{{b-c.d}}"), ["First name", "b-c.d"]);
    }

    #[test]
    fn a_path_that_is_one_value_is_an_address() {
        for (address, path) in [
            ("https://shop.test:3000/cart?a=b#top", "/cart?a=b"),
            ("//shop.test/x", "/x"),
            ("/my/page", "/my/page"),
            ("/a b", "/a%20b"),
            ("http://shop.test", "/"),
        ] {
            assert_eq!(filled("{{x}}", address, Place::Path), path);
        }
        for no_address in ["", "page", "?a=b", "http://", "mailto:x"] {
            assert_eq!(address_path(no_address), None, "{no_address}");
        }
    }

    proptest! {
        /// What a server decodes is the value, whatever it holds.
        #[test]
        fn values_survive_their_encoding(value in "\\PC*", other in "[a-z/?&=]{0,8}") {
            let path = filled(&format!("/{other}/{{{{x}}}}"), &value, Place::Path);
            let encoded = &path[other.len() + 2..];
            prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            // `+` is never written in a path, so that a form's reader gives the value back.
            let read: Vec<_> = form_urlencoded::parse(format!("v={encoded}").as_bytes()).into_owned().collect();
            prop_assert_eq!(&read, &[("v".to_owned(), value.clone())]);
            let form = filled("{{x}}", &value, Place::Form);
            let read: Vec<_> = form_urlencoded::parse(format!("v={form}").as_bytes()).into_owned().collect();
            prop_assert_eq!(&read, &[("v".to_owned(), value)]);
        }

        /// A naive reading: replace the names as one would by hand.
        #[test]
        fn filling_is_replacing(parts in prop::collection::vec("[^{}]{0,6}", 1..6), value in "\\PC{0,8}") {
            let text = parts.join("{{x}}");
            prop_assert_eq!(filled(&text, &value, Place::Body), parts.join(&value));
        }

        #[test]
        fn any_text_is_taken_apart_without_loss(text in "[{}a :]{0,24}") {
            let again: String = pieces(&text).iter().map(|piece| match piece {
                Piece::Text(text) => (*text).to_owned(),
                Piece::Name(name) => format!("{{{{{name}}}}}"),
            }).collect();
            prop_assert_eq!(again.replace(' ', ""), text.replace(' ', ""));
        }
    }
}
