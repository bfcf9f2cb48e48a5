//! Text in which secrets may be written down in any notation: URLs, forms, JSON,
//! XML, GraphQL, one inside the other. Nothing is cut out of it: a value in
//! which a name of a secret has a value is a secret as a whole.

use super::names::Names;
use super::percent::percent_decoded;

/// So often text may be escaped; text that still is then counts as a secret.
const MOST_ESCAPED: usize = 6;
/// Their values are names: `{"name":"password","value":"…"}`, `<field name="password">`.
const NAMERS: [&str; 9] = [
    "attribute",
    "field",
    "header",
    "id",
    "key",
    "label",
    "name",
    "param",
    "property",
];

/// Whether a secret is in the text by its name, or a URL with a user in it.
pub(super) fn reveals(text: &str, names: &Names) -> bool {
    if !text
        .bytes()
        .any(|byte| matches!(byte, b'=' | b':' | b'<' | b'%' | b'@' | b'&' | b'\\' | b'"'))
    {
        return false;
    }
    let mut unescaped = None;
    for _ in 0..MOST_ESCAPED {
        let text = unescaped.as_deref().unwrap_or(text);
        if names_a_value(text, names) || has_user(text) {
            return true;
        }
        match self::unescaped(text) {
            Some(next) => unescaped = Some(next),
            None => return false,
        }
    }
    true
}

/// Whether the member that says what another member is called says that it is a secret.
pub(super) fn is_namer(name: &str) -> bool {
    NAMERS.iter().any(|namer| namer.eq_ignore_ascii_case(name))
}

/// `name=value`, `name: value`, `"name": value`, `["name", value]` or `<name>`.
fn names_a_value(text: &str, names: &Names) -> bool {
    let bytes = text.as_bytes();
    let is_operator = |byte: &u8| matches!(byte, b'=' | b':' | b'<' | b',');
    let operators = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| is_operator(byte));
    for (at, operator) in operators {
        let after = text[at + 1..].trim_start();
        if after.is_empty() {
            continue;
        }
        if *operator == b'<' {
            let tag = after.trim_start_matches(['/', '?', '!']);
            let end = tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '<' | '='));
            if names.covers(&tag[..end.unwrap_or(tag.len())]) {
                return true;
            }
            continue;
        }
        if *operator == b',' && !is_first_item(&text[..at]) {
            continue;
        }
        let name = name_before(&text[..at]);
        if names.covers(name) {
            return true;
        }
        if is_namer(name) && names.covers(value_of_namer(after)) {
            return true;
        }
    }
    false
}

/// The value at the beginning, as a name: `"password"`, `user[password]`. Two values never share a byte, so that the
/// work is linear in the text: no operator stands in one without quotes, no quote in one between quotes.
fn value_of_namer(text: &str) -> &str {
    let value = text.trim_start_matches(['\\', '"', '\'']);
    let is_quoted = text[..text.len() - value.len()].contains(['"', '\'']);
    let ends = |c: char| {
        matches!(c, '"' | '\'' | '\\' | '<' | '>' | '&' | ',' | ';' | '=')
            || (!is_quoted && (c.is_whitespace() || matches!(c, ':' | '(' | ')' | '{' | '}')))
    };
    &value[..value.find(ends).unwrap_or(value.len())]
}

/// `["name"`.
fn is_first_item(text: &str) -> bool {
    let text = text.trim_end();
    let Some(quote) = text.chars().next_back().filter(|c| matches!(c, '"' | '\'')) else {
        return false;
    };
    let inner = text[..text.len() - 1].rsplit_once(quote);
    inner.is_some_and(|(before, _)| before.trim_end().ends_with('['))
}

/// The word that ends here, or what is between the quotes that end here.
fn name_before(text: &str) -> &str {
    let text = text.trim_end();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_suffix(quote) {
            let inner = inner.trim_end_matches('\\');
            return inner.rsplit(quote).next().unwrap_or_default();
        }
    }
    let ends = |c: char| c.is_whitespace() || "&;,?#{}()<>\"'\\|!^`=:".contains(c);
    text.rsplit(ends).next().unwrap_or_default()
}

/// `//user:password@host`, also where the password holds what should be encoded.
fn has_user(text: &str) -> bool {
    next_user(text, 0).is_some()
}

/// The user of a URL: where it begins and ends, and where the search for the next one goes on.
struct User {
    start: usize,
    /// Before its `@`, or at the end of the word where the text leaves it open.
    end: usize,
    after: usize,
}

/// The first user of a URL from `start` on.
fn next_user(text: &str, mut start: usize) -> Option<User> {
    while let Some(slashes) = memchr::memmem::find(&text.as_bytes()[start..], b"//") {
        start += slashes + 2;
        let rest = &text[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '<' | '>');
        let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let user = |length: usize, searched: usize| User {
            start,
            end: start + length,
            after: start + searched,
        };
        if let Some(at) = authority.rfind('@') {
            if &authority[..at] != super::REDACTED {
                return Some(user(at, authority.len()));
            }
        } else if !is_host(authority) {
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>');
            let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
            if word.contains('@') {
                return Some(user(word.len(), word.len()));
            }
            start += word.len();
            continue;
        }
        start += authority.len();
    }
    None
}

/// What stands after the last colon is a port, or the colon is in an IPv6 address.
fn is_host(authority: &str) -> bool {
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    port.bytes().all(|byte| byte.is_ascii_digit()) || authority.ends_with(']')
}

/// Users of URLs replaced.
pub(super) fn without_users(text: &str) -> Option<String> {
    let mut user = next_user(text, 0)?;
    let mut out = String::with_capacity(text.len() + super::REDACTED.len());
    let mut copied = 0;
    loop {
        out.push_str(&text[copied..user.start]);
        out.push_str(super::REDACTED);
        copied = user.end;
        match next_user(text, user.after) {
            Some(next) => user = next,
            None => break,
        }
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Escapes of URLs, of JSON and of XML undone once; `None` where there are none.
fn unescaped(text: &str) -> Option<String> {
    let decoded = percent_decoded(text);
    let text = decoded.as_deref().unwrap_or(text);
    if !text.contains(['\\', '&']) {
        return decoded;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '&']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, length) = escape(rest).unwrap_or((rest.as_bytes()[0].into(), 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    (out != text).then_some(out).or(decoded)
}

/// The character that an escape at the beginning stands for, and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let code = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    if let Some(rest) = text.strip_prefix('\\') {
        let first = rest.chars().next()?;
        let digits = match first {
            'u' => 4,
            'x' => 2,
            '"' | '\'' | '\\' | '/' => return Some((first, 2)),
            'n' | 'r' | 't' => return Some((' ', 2)),
            _ => return None,
        };
        return Some((code(rest.get(1..=digits)?, 16)?, 2 + digits));
    }
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let entity = text.get(1..end)?;
    let c = match entity {
        "quot" => '"',
        "apos" => '\'',
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        _ => match entity.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => code(&hex[1..], 16)?,
            decimal => code(decimal, 10)?,
        },
    };
    Some((c, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_in_every_notation() {
        let names = Names::default();
        for text in [
            "password=x",
            "a=b&user[password]=x",
            "a;token=x",
            "token : x",
            "{\"password\":\"x\"}",
            "{\\\"password\\\":\\\"x\\\"}",
            "{\\\\\\\"api key\\\\\\\":1}",
            "{\"pass\\u0077ord\":\"x\"}",
            "%7B%22password%22%3A%22x%22%7D",
            "%257B%2522password%2522%253A%2522x%2522%257D",
            "mutation { login(name: \"a\", password: \"x\") }",
            "<password>x</password>",
            "<wsse:Password Type=\"a\">x",
            "x</password>",
            "&lt;password&gt;x&lt;/password&gt;",
            "&#112;assword=x",
            "<field name=\"password\">x</field>",
            "{\"name\":\"password\",\"value\":\"x\"}",
            "[{\"key\": 'api_key', value: 1}]",
            "https://me:x@shop.test/",
            "see https://me@shop.test",
            "//me:x@shop.test",
            "https://me:x/y@shop.test",
            "https%3A%2F%2Fme%3Ax%40shop.test",
            "/a?redirect=%2Fb%3Ftoken%3Dx",
            "a%2525252525252525252541",
            "[\"password\", \"x\"]",
            "[\\\"password\\\",1]",
            "{\\\"name\\\":\\\"user password\\\",\\\"value\\\":\\\"x\\\"}",
            "name=user[password]&value=x",
            "<input name=user[password] value=x>",
            "{ user(id: 5) { login(password: \"x\") { id } } }",
            "{user(id:5){login(password:\"x\"){id}}}",
        ] {
            assert!(reveals(text, &names), "{text}");
        }
        for text in [
            "",
            "page=2",
            "https://shop.test:8080/@alice?page=2",
            "http://[::1]:3000/a@b",
            "12:30",
            "a token",
            "token=",
            "50% off & more: \"yes\"",
            "{\"name\":\"Alice\"}",
            "<b>x</b>",
            "C:\\users\\new",
            "https://REDACTED@shop.test/",
            "{ user(id: 5) { name email } }",
            "{user(id:5){name,email}}",
            "{user(id:5){email}}",
            "query Orders { orders(first: 10) { id customer(id: 7) { email token } } }",
            "mutation { rename(id: 5, name: \"Alice\") { user { email } } }",
        ] {
            assert!(!reveals(text, &names), "{text}");
        }
    }

    #[test]
    fn users_of_urls_are_replaced() {
        for (text, expected) in [
            (
                "https://me:x@shop.test/a",
                Some("https://REDACTED@shop.test/a"),
            ),
            (
                "https://x@a.test https://y@b.test",
                Some("https://REDACTED@a.test https://REDACTED@b.test"),
            ),
            ("https://me:p@ss@a.test/", Some("https://REDACTED@a.test/")),
            ("https://me:x/y@a.test/", Some("https://REDACTED")),
            ("https://REDACTED@a.test/", None),
            ("https://a.test/", None),
        ] {
            assert_eq!(without_users(text).as_deref(), expected, "{text}");
        }
    }
}
