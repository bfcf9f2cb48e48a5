//! Names of endpoints: the method and the path without what differs from record
//! to record or says who a user is. `contract/endpoint-names.md` has the rule,
//! the agent follows the same, and `contract/endpoint-names.tsv` tests both.

/// What stands in place of a number, a token or an address.
const ID: &str = ":id";
/// A hexadecimal word with a digit is an identifier from this length on.
const HEX: usize = 8;
/// The same without a digit: `facade` is a word.
const HEX_LETTERS: usize = 16;
/// Letters and digits in one word, or in all such words of a segment together.
const MIXED: usize = 10;
/// The same where they alternate or letter case does.
const MIXED_ALTERNATING: usize = 6;
/// So often letters and digits take turns in a word that alternates.
const TURNS: usize = 3;
/// Letters alone, in both cases: `getCustomerOrders` is shorter.
const BOTH_CASES: usize = 20;
/// Letters alone.
const LETTERS: usize = 32;
const UUID: usize = 36;
/// The longest file extension that may hold a digit, such as `woff2`.
const EXTENSION: usize = 5;

/// `GET /orders/:id` for `GET /orders/17?page=2`: the method and the path without its query, in which numbers, UUIDs,
/// tokens and e-mail addresses stand as `:id`.
#[must_use]
pub fn name_of(method: &str, target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    let mut name = String::with_capacity(method.len() + 1 + path.len());
    name.push_str(method);
    name.push(' ');
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            name.push('/');
        }
        generalise(segment, &mut name);
    }
    name
}

/// A segment of a path, or another name, with `:id` in place of what identifies a record or a user.
#[must_use]
pub fn general(segment: &str) -> String {
    let mut name = String::with_capacity(segment.len());
    generalise(segment, &mut name);
    name
}

/// Kinds of words, which are runs of letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Number,
    /// Short, with letters and digits or with letters of both cases. How many letters and digits, if it has both.
    Mixed(usize),
    Opaque,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    start: usize,
    end: usize,
    kind: Kind,
}

fn generalise(segment: &str, name: &mut String) {
    let Some(words) = words(segment.as_bytes()) else {
        name.push_str(ID);
        return;
    };
    let mixed: usize = words.iter().map(|word| word.kind.mixed()).sum();
    let opaque = mixed >= MIXED || words.iter().any(|word| word.kind == Kind::Opaque);
    let mut copied = 0;
    let mut replace = |start: usize, end: usize| {
        // Words begin and end at ASCII bytes or at the segment's ends.
        name.push_str(segment.get(copied..start).unwrap_or_default());
        name.push_str(ID);
        copied = end;
    };
    if opaque {
        let varying = || words.iter().filter(|word| word.kind != Kind::Plain);
        if let (Some(first), Some(last)) = (varying().next(), varying().next_back()) {
            replace(first.start, last.end);
        }
    } else {
        for word in words.iter().filter(|word| word.kind == Kind::Number) {
            replace(word.start, word.end);
        }
    }
    name.push_str(segment.get(copied..).unwrap_or_default());
}

/// `None` for a segment with an `@`.
fn words(segment: &[u8]) -> Option<Vec<Word>> {
    let mut words: Vec<Word> = Vec::new();
    let mut at = 0;
    let mut start = 0;
    let mut shape = Shape::default();
    loop {
        if shape.is_empty() && is_uuid(&segment[at..]) {
            let end = at + UUID;
            let kind = Kind::Opaque;
            words.push(Word {
                start: at,
                end,
                kind,
            });
            (at, start) = (end, end);
        }
        let (byte, length) = decoded(&segment[at..]);
        match byte {
            Some(b'@') => return None,
            Some(byte) if byte.is_ascii_alphanumeric() || !byte.is_ascii() => shape.add(byte),
            _ => {
                if !shape.is_empty() {
                    let is_extension = byte.is_none()
                        && start > 0
                        && segment[start - 1] == b'.'
                        && shape.is_extension();
                    let kind = if is_extension {
                        Kind::Plain
                    } else {
                        shape.kind()
                    };
                    words.push(Word {
                        start,
                        end: at,
                        kind,
                    });
                }
                shape = Shape::default();
                start = at + length;
            }
        }
        if byte.is_none() {
            return Some(words);
        }
        at += length;
    }
}

/// The byte that comes first, percent-encoded or not, and how many bytes stand for it.
fn decoded(text: &[u8]) -> (Option<u8>, usize) {
    let Some(b'%') = text.first() else {
        return (text.first().copied(), 1);
    };
    // An encoded percent sign may begin another escape.
    let mut digits = 1;
    while text[digits..].starts_with(b"25") {
        digits += 2;
    }
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    match (digit(digits), digit(digits + 1)) {
        #[allow(clippy::cast_possible_truncation)]
        (Some(high), Some(low)) => (Some((high * 16 + low) as u8), digits + 2),
        _ => (Some(b'%'), digits),
    }
}

fn is_uuid(text: &[u8]) -> bool {
    text.len() >= UUID
        && !text.get(UUID).is_some_and(u8::is_ascii_alphanumeric)
        && text[..UUID].iter().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) {
                *byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// What a word is made of.
#[derive(Debug, Default)]
struct Shape {
    letters: usize,
    digits: usize,
    /// Bytes of characters other than ASCII.
    others: usize,
    /// A letter after a digit or a digit after a letter.
    turns: usize,
    lower: bool,
    /// Upper case after the first byte.
    upper: bool,
    not_hex: bool,
    begins_with_letter: bool,
    last: u8,
}

impl Shape {
    fn add(&mut self, byte: u8) {
        if self.is_empty() {
            self.begins_with_letter = byte.is_ascii_alphabetic();
        }
        let last = std::mem::replace(&mut self.last, byte);
        if byte.is_ascii_digit() {
            self.digits += 1;
            self.turns += usize::from(last.is_ascii_alphabetic());
        } else if byte.is_ascii_alphabetic() {
            self.letters += 1;
            self.turns += usize::from(last.is_ascii_digit());
            self.lower |= byte.is_ascii_lowercase();
            self.upper |= last != 0 && byte.is_ascii_uppercase();
        } else {
            self.others += 1;
        }
        self.not_hex |= !byte.is_ascii_hexdigit();
    }

    fn is_empty(&self) -> bool {
        self.length() + self.others == 0
    }

    fn length(&self) -> usize {
        self.letters + self.digits
    }

    fn is_extension(&self) -> bool {
        self.begins_with_letter && self.others == 0 && self.length() <= EXTENSION
    }

    fn kind(&self) -> Kind {
        let length = self.length();
        let both_cases = self.lower && self.upper;
        let alternates = self.turns >= TURNS || both_cases;
        let opaque = if self.digits == 0 {
            (!self.not_hex && length >= HEX_LETTERS)
                || length >= LETTERS
                || (both_cases && length >= BOTH_CASES)
        } else {
            (!self.not_hex && length >= HEX)
                || length >= MIXED
                || (alternates && length >= MIXED_ALTERNATING)
        };
        match (self.digits, self.letters + self.others) {
            (_, 0) => Kind::Number,
            _ if opaque => Kind::Opaque,
            (0, _) if both_cases => Kind::Mixed(0),
            (0, _) => Kind::Plain,
            _ => Kind::Mixed(length),
        }
    }
}

impl Kind {
    fn mixed(self) -> usize {
        match self {
            Self::Mixed(length) => length,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_that_the_agent_gives() {
        let table = include_str!("../../../contract/endpoint-names.tsv");
        let rows = || table.lines().filter(|line| !line.starts_with('#'));
        for row in rows() {
            let (path, name) = row.split_once('\t').unwrap();
            assert_eq!(name_of("GET", path), format!("GET {name}"), "{path}");
        }
        assert!(rows().count() > 50);
    }

    #[test]
    fn queries_and_fragments_are_no_part_of_names() {
        assert_eq!(name_of("GET", "/orders/17?page=2"), "GET /orders/:id");
        assert_eq!(name_of("GET", "/a#b@c"), "GET /a");
        assert_eq!(
            name_of("PUT", "/caf\u{e9}/\u{e9}1?"),
            "PUT /caf\u{e9}/\u{e9}1"
        );
    }

    fn pieces() -> impl Strategy<Value = String> {
        prop::collection::vec(
            "[A-Za-z0-9]{1,14}|[-._~@+;=/é]|%[0-9A-F]{2}|%2540|[a-z]{3,8}",
            0..12,
        )
        .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_name_holds_an_address_a_number_or_a_token(path in pieces()) {
            let name = general(&path);
            prop_assert!(!name.contains('@') && !name.contains("%40") && !name.contains("%2540"), "{}", name);
            let plain = name.replace("%25", "%").replace(ID, "");
            // Escapes of letters and digits are left out here: a reader of the name sees the escape.
            let escapes = regex::Regex::new("%[0-9A-Fa-f]{2}").unwrap();
            let plain = escapes.replace_all(&plain, ".");
            let words = plain.split(|c: char| !c.is_ascii_alphanumeric());
            for segment in plain.split('/') {
                let mixed = segment.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| {
                    word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic())
                });
                prop_assert!(mixed.map(str::len).sum::<usize>() < MIXED, "{}", name);
            }
            prop_assert!(words.filter(|word| word.len() >= LETTERS).count() == 0, "{}", name);
        }

        #[test]
        fn names_have_the_same_name(path in pieces()) {
            let name = general(&path);
            prop_assert_eq!(general(&name), name);
        }
    }
}
