//! A request as a shadow gets it: what the client sent end to end, with the
//! settings' rewrites, the shadow's own cookies and tokens, and a mark that
//! lets an application see that no client waits for its answer.

use bytes::{Bytes, BytesMut};
use capture::{SHADOW_MARK, reads_as};

use super::learned::cookies_sent;
use super::replaced::Replacing;
use super::sessions::Changes;
use crate::http1::{Version, end_head, field, request_line};
use crate::settings::{Rewrite, Shadow};
use crate::taken::Taken;

/// Of a body up to this size, head and body go out in one packet.
const ONE_WRITE_BYTES: usize = 16 << 10;

/// Ready to be written.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) head: Bytes,
    /// Empty where it has gone into the head.
    pub(super) body: Bytes,
}

/// Cookies and tokens that a request carries, for whom its shadow may have others.
pub(super) struct Carried {
    pub(super) cookies: Vec<(String, Vec<u8>)>,
    pub(super) tokens: Vec<Vec<u8>>,
}

/// Reads a request for [`Changes`] to be found.
pub(super) fn carried(request: &Taken, names: &[String]) -> Carried {
    let mut tokens = Vec::new();
    if !names.is_empty() {
        let mut collect = |value: &[u8]| {
            tokens.push(value.to_vec());
            None
        };
        let mut replacing = Replacing {
            names,
            with: &mut collect,
        };
        replaced_everywhere(request, &mut replacing);
    }
    Carried {
        cookies: cookies_sent(request.headers.iter()),
        tokens,
    }
}

struct Replaced {
    target: Option<String>,
    body: Option<Vec<u8>>,
    /// By index of the header.
    headers: Vec<(usize, Vec<u8>)>,
}

fn replaced_everywhere(request: &Taken, replacing: &mut Replacing<'_>) -> Replaced {
    let mut headers = Vec::new();
    let mut content_type = "";
    for (index, (name, value)) in request.headers.iter().enumerate() {
        if replacing.is_named(name.as_bytes())
            && let Some(value) = (replacing.with)(value)
            && is_field_value(&value)
        {
            headers.push((index, value));
        }
        if name.eq_ignore_ascii_case("content-type") {
            content_type = std::str::from_utf8(value).unwrap_or_default();
        }
    }
    let body = if request.body.is_empty() {
        None
    } else {
        replacing.in_body(content_type, &request.body)
    };
    Replaced {
        target: replacing.in_target(&request.target),
        body,
        headers,
    }
}

/// What was read from a page could end the line.
fn is_field_value(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
}

/// As `shadow` gets it.
pub(super) fn render(request: &Taken, shadow: &Shadow, changes: &Changes) -> Rendered {
    let replaced = if changes.tokens.is_empty() {
        Replaced {
            target: None,
            body: None,
            headers: Vec::new(),
        }
    } else {
        let mut with = |value: &[u8]| {
            let known = changes.tokens.iter().find(|(from, _)| from == value);
            known.map(|(_, to)| to.clone())
        };
        replaced_everywhere(
            request,
            &mut Replacing {
                names: &shadow.tokens,
                with: &mut with,
            },
        )
    };
    let body = replaced
        .body
        .map_or_else(|| request.body.clone(), Bytes::from);
    let mut head = BytesMut::with_capacity(1024);
    let target = replaced.target.as_deref().unwrap_or(&request.target);
    request_line(
        &mut head,
        &request.method,
        target.as_bytes(),
        Version::Http11,
    );
    let mut set: Vec<&str> = Vec::new();
    for (index, (each, sent)) in request.headers.iter().enumerate() {
        if is_framing(each) {
            continue;
        }
        match rewrite_of(shadow, each) {
            Some(Rewrite::Remove { .. }) => continue,
            Some(Rewrite::Set { name, value }) => {
                // In the place of the first, and once.
                if !set.contains(&name.as_str()) {
                    field(&mut head, name, value.as_bytes());
                    set.push(name);
                }
                continue;
            }
            None => {}
        }
        if let Some((_, value)) = replaced.headers.iter().find(|(at, _)| *at == index) {
            field(&mut head, each, value);
        } else if each.eq_ignore_ascii_case("cookie") && !changes.cookies.is_empty() {
            field(&mut head, each, &with_cookies(sent, changes));
        } else {
            field(&mut head, each, sent);
        }
    }
    for rewrite in &shadow.rewrite {
        if let Rewrite::Set { name, value } = rewrite
            && rewrite_of(shadow, name) == Some(rewrite)
            && !set.contains(&name.as_str())
            && !is_framing(name)
        {
            field(&mut head, name, value.as_bytes());
            set.push(name);
        }
    }
    field(&mut head, SHADOW_MARK, shadow.name.as_bytes());
    if !shadow.keep_alive {
        field(&mut head, "Connection", b"close");
    }
    if !body.is_empty() || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") {
        field(
            &mut head,
            "Content-Length",
            body.len().to_string().as_bytes(),
        );
    }
    end_head(&mut head);
    if body.len() <= ONE_WRITE_BYTES {
        head.extend_from_slice(&body);
        return Rendered {
            head: head.freeze(),
            body: Bytes::new(),
        };
    }
    Rendered {
        head: head.freeze(),
        body,
    }
}

/// The body goes out whole, whatever coding it came in.
fn is_framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"]
        .iter()
        .any(|framing| reads_as(name.as_bytes(), framing))
}

/// The last one of that name counts.
fn rewrite_of<'a>(shadow: &'a Shadow, header: &str) -> Option<&'a Rewrite> {
    shadow.rewrite.iter().rev().find(|rewrite| match rewrite {
        Rewrite::Set { name, .. } | Rewrite::Remove { name } => name.eq_ignore_ascii_case(header),
    })
}

/// A `Cookie` field, byte for byte the same where nothing is replaced.
fn with_cookies(value: &[u8], changes: &Changes) -> Vec<u8> {
    let pairs = value.split(|byte| *byte == b';').map(|pair| {
        let change = changes.cookies.iter().find(|(name, from, _)| {
            let trimmed = pair.trim_ascii();
            let rest = trimmed
                .strip_prefix(name.as_bytes())
                .map(<[u8]>::trim_ascii_start);
            let sent = rest.and_then(|rest| rest.strip_prefix(b"="));
            sent.is_some_and(|sent| sent.trim_ascii() == from)
        });
        match change {
            None => pair.to_vec(),
            Some((name, _, to)) => {
                let space: &[u8] = if pair.starts_with(b" ") { b" " } else { b"" };
                [space, name.as_bytes(), b"=", to].concat()
            }
        }
    });
    pairs.collect::<Vec<_>>().join(&b';')
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::{shadow, taken};
    use super::*;

    fn sent(request: &Taken, shadow: &Shadow, changes: &Changes) -> String {
        let rendered = render(request, shadow, changes);
        String::from_utf8([rendered.head, rendered.body].concat()).unwrap()
    }

    #[test]
    fn headers_go_as_the_client_sent_them_with_the_mark() {
        let request = taken(
            1,
            "GET",
            "/a?b",
            &[("Host", "shop.example"), ("x-Odd", "é"), ("Accept", "*/*")],
            b"",
        );
        assert_eq!(
            sent(&request, &shadow("next", 1), &Changes::default()),
            "GET /a?b HTTP/1.1\r\nHost: shop.example\r\nx-Odd: é\r\nAccept: */*\r\nX-Powerband-Shadow: next\r\n\r\n"
        );
    }

    #[test]
    fn rewrites_set_in_place_once_or_at_the_end_and_remove() {
        let mut shadow = shadow("next", 1);
        shadow.rewrite = vec![
            Rewrite::Set {
                name: "host".into(),
                value: "next.example".into(),
            },
            Rewrite::Set {
                name: "X-New".into(),
                value: "1".into(),
            },
            Rewrite::Remove {
                name: "accept".into(),
            },
        ];
        let request = taken(
            1,
            "GET",
            "/",
            &[
                ("A", "1"),
                ("Host", "shop"),
                ("Accept", "x"),
                ("HOST", "again"),
            ],
            b"",
        );
        assert_eq!(
            sent(&request, &shadow, &Changes::default()),
            "GET / HTTP/1.1\r\nA: 1\r\nhost: next.example\r\nX-New: 1\r\nX-Powerband-Shadow: next\r\n\r\n"
        );
    }

    #[test]
    fn bodies_go_whole_with_their_length_and_replaced_tokens() {
        let mut shadow = shadow("next", 1);
        shadow.tokens = vec!["authenticity_token".into(), "X-CSRF-Token".into()];
        let mut request = taken(
            1,
            "POST",
            "/?authenticity_token=oldoldold",
            &[],
            b"a=1&authenticity_token=oldoldold",
        );
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", "32"),
            ("x-csrf-token", "oldoldold"),
            ("Cookie", "a=b; _s=clientvalue;c=d"),
        ];
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, value.as_bytes()));
        request.headers = headers.collect();
        let carried = carried(&request, &shadow.tokens);
        assert_eq!(carried.tokens.len(), 3);
        assert_eq!(carried.cookies.len(), 3);
        let changes = Changes {
            cookies: vec![("_s".into(), b"clientvalue".to_vec(), b"shadow=s".to_vec())],
            tokens: vec![(b"oldoldold".to_vec(), b"new new".to_vec())],
        };
        assert_eq!(
            sent(&request, &shadow, &changes),
            "POST /?authenticity_token=new+new HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             x-csrf-token: new new\r\nCookie: a=b; _s=shadow=s;c=d\r\nX-Powerband-Shadow: next\r\n\
             Content-Length: 30\r\n\r\na=1&authenticity_token=new+new"
        );
    }

    #[test]
    fn a_token_that_would_end_the_line_stays_out_of_headers() {
        let mut shadow = shadow("next", 1);
        shadow.tokens = vec!["X-CSRF-Token".into()];
        let request = taken(1, "GET", "/", &[("X-CSRF-Token", "oldoldold")], b"");
        let changes = Changes {
            cookies: Vec::new(),
            tokens: vec![(b"oldoldold".to_vec(), b"x\r\nEvil: 1".to_vec())],
        };
        assert!(!sent(&request, &shadow, &changes).contains("Evil"));
    }

    #[test]
    fn large_bodies_are_not_copied() {
        let body = vec![b'x'; ONE_WRITE_BYTES + 1];
        let request = taken(1, "PUT", "/", &[], &body);
        let rendered = render(&request, &shadow("next", 1), &Changes::default());
        assert_eq!(rendered.body.as_ptr(), request.body.as_ptr());
    }
}
