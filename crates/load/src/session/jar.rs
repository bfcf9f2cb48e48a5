//! A virtual user's cookies, for the one server that it talks to (RFC 6265):
//! path, expiry and `Secure` count; `Domain` is not looked at, since there is
//! no other host.

use cookie::{Cookie, Expiration};
use small_sort::SmallSort;

#[derive(Debug, Clone)]
struct Kept {
    name: String,
    value: String,
    path: String,
    secure: bool,
    /// Unix time in seconds; none: as long as the session.
    expires_s: Option<i64>,
}

/// Most cookies of one user; browsers keep some 50 to 180 of a host.
const LIMIT: usize = 200;

/// Most bytes of a name and its value together, as in browsers.
const BYTES_LIMIT: usize = 4096;

/// Cookies, in the order in which they were first set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jar(Vec<Kept>);

impl Jar {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes one `Set-Cookie` of an answer to a request for this path; what is
    /// no cookie is passed over, as browsers do.
    pub(crate) fn set(&mut self, header: &str, request_path: &str, now_s: i64) {
        let Ok(cookie) = Cookie::parse(header) else {
            return;
        };
        if cookie.name().len() + cookie.value().len() > BYTES_LIMIT {
            return;
        }
        let path = match cookie.path() {
            Some(path) if path.starts_with('/') => path,
            _ => default_path(request_path),
        };
        let expires_s = match (cookie.max_age(), cookie.expires()) {
            (Some(age), _) => Some(now_s.saturating_add(age.whole_seconds())),
            (None, Some(Expiration::DateTime(at))) => Some(at.unix_timestamp()),
            _ => None,
        };
        let same = self
            .0
            .iter()
            .position(|kept| kept.name == cookie.name() && kept.path == path);
        if expires_s.is_some_and(|at| at <= now_s) {
            if let Some(index) = same {
                self.0.remove(index);
            }
            return;
        }
        let kept = Kept {
            name: cookie.name().to_owned(),
            value: cookie.value().to_owned(),
            path: path.to_owned(),
            secure: cookie.secure().unwrap_or(false),
            expires_s,
        };
        match same {
            Some(index) => self.0[index] = kept,
            None if self.0.len() < LIMIT => self.0.push(kept),
            None => {}
        }
    }

    /// The value of a cookie, whatever its path.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|kept| kept.name == name)
            .map(|kept| kept.value.as_str())
    }

    /// Appends `a=1; b=2`, longer paths first; returns whether there was any.
    pub(crate) fn write(&self, path: &str, secure: bool, now_s: i64, out: &mut Vec<u8>) -> bool {
        let mut sent: Vec<&Kept> = self
            .0
            .iter()
            .filter(|kept| secure || !kept.secure)
            .filter(|kept| kept.expires_s.is_none_or(|at| at > now_s))
            .filter(|kept| covers(&kept.path, path))
            .collect();
        sent.small_sort_by_key(|kept| std::cmp::Reverse(kept.path.len()));
        for (index, kept) in sent.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(kept.name.as_bytes());
            out.push(b'=');
            out.extend_from_slice(kept.value.as_bytes());
        }
        !sent.is_empty()
    }
}

/// RFC 6265 §5.1.4: the folder of the request's path.
fn default_path(request_path: &str) -> &str {
    let path = without_query(request_path);
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

fn covers(cookie_path: &str, request_path: &str) -> bool {
    without_query(request_path)
        .strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || cookie_path.ends_with('/'))
}

fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000;

    fn sent(jar: &Jar, path: &str, secure: bool, now: i64) -> String {
        let mut out = Vec::new();
        jar.write(path, secure, now, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn paths_order_and_secure_are_kept() {
        let mut jar = Jar::default();
        jar.set("sid=1; Path=/; HttpOnly; SameSite=Lax", "/login", NOW);
        jar.set("cart=\"x y\"; path=/shop", "/login", NOW);
        jar.set("deep=d", "/shop/items/1?x=/y/z", NOW);
        jar.set("safe=s; Secure; Path=/", "/", NOW);
        jar.set("nonsense", "/", NOW);
        assert_eq!(sent(&jar, "/", false, NOW), "sid=1");
        assert_eq!(sent(&jar, "/shopping", false, NOW), "sid=1");
        assert_eq!(sent(&jar, "/shop?a=b", false, NOW), "cart=\"x y\"; sid=1");
        assert_eq!(
            sent(&jar, "/shop/items/2", true, NOW),
            "deep=d; cart=\"x y\"; sid=1; safe=s"
        );
        jar.set("sid=2; Path=/", "/", NOW);
        assert_eq!(jar.get("sid"), Some("2"));
    }

    #[test]
    fn a_cookie_that_browsers_find_too_large_is_passed_over() {
        let mut jar = Jar::default();
        let largest = "x".repeat(4096 - "sid".len());
        jar.set(&format!("sid={largest}; Path=/"), "/", NOW);
        jar.set(&format!("sid={largest}y; Path=/"), "/", NOW);
        assert_eq!(jar.get("sid"), Some(largest.as_str()));
    }

    #[test]
    fn cookies_expire_and_are_deleted() {
        let mut jar = Jar::default();
        for name in ["a", "b", "c", "d"] {
            jar.set(&format!("{name}=1"), "/", NOW);
        }
        jar.set("a=; Max-Age=0", "/", NOW);
        jar.set("b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "/", NOW);
        // Max-Age counts where both are given.
        jar.set(
            "c=2; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "/",
            NOW,
        );
        assert_eq!(sent(&jar, "/", false, NOW), "c=2; d=1");
        assert_eq!(sent(&jar, "/", false, NOW + 60), "d=1");
        // Another path is another cookie.
        jar.set("d=; Path=/x; Max-Age=0", "/", NOW);
        assert_eq!(sent(&jar, "/", false, NOW + 60), "d=1");
        jar.clear();
        assert_eq!(sent(&jar, "/", false, NOW), "");
    }
}
