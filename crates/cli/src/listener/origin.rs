//! Which pages a browser asks for. It sends `Origin` with what a page of another origin sends or wants to read, and
//! `Sec-Fetch-Site` with everything; programs that are no browser send neither.

use super::question::Question;

/// Whether the request comes from the listener's own page, from a user who opens the address or follows a link, or from a program
/// that is not a browser.
pub fn is_own(question: &Question<'_>) -> bool {
    let field = |name| question.field(name).map(<[u8]>::to_ascii_lowercase);
    let host = field("host").unwrap_or_default();
    let own = [b"http://".as_slice(), &host].concat();
    let sent = field("origin").is_none_or(|origin| origin == own);
    let from = field("sec-fetch-site");
    let opened = field("sec-fetch-mode").as_deref() == Some(b"navigate")
        && field("sec-fetch-dest").as_deref() == Some(b"document");
    sent && (opened || from.is_none_or(|from| from == b"same-origin" || from == b"none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::asked;

    fn allowed(fields: &[&str]) -> bool {
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        let head = format!("GET / HTTP/1.1\r\nHost: LocalHost:9400\r\n{fields}\r\n");
        asked(&head, is_own)
    }

    #[test]
    fn programs_and_the_own_page_are_answered() {
        assert!(allowed(&[]));
        assert!(allowed(&["Sec-Fetch-Site: same-origin"]));
        assert!(allowed(&[
            "Sec-Fetch-Site: same-origin",
            "Origin: http://localhost:9400"
        ]));
        assert!(allowed(&["Sec-Fetch-Site: none"]));
    }

    #[test]
    fn a_link_of_another_page_is_followed_and_no_more() {
        let navigate = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
        let to = |dest| allowed(&[navigate[0], navigate[1], dest]);
        assert!(to("Sec-Fetch-Dest: document"));
        assert!(!to("Sec-Fetch-Dest: iframe"));
        assert!(!allowed(&navigate));
    }

    #[test]
    fn other_origins_are_not_answered() {
        for fields in [
            &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"][..],
            // Another port of the same host.
            &["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"],
            &["Origin: http://evil.example"],
            &["Origin: http://localhost:9401"],
            &["Origin: https://localhost:9400"],
            &["Origin: null"],
        ] {
            assert!(!allowed(fields), "{fields:?}");
        }
    }
}
