//! Which requests a shadow gets: a share by hash, so that the same key always
//! decides the same, and a filter over method, path and headers.

use capture::number_hash;
use xxhash_rust::xxh3::xxh3_64;

use crate::headers::Offered;
use crate::settings::{Filter, Sample};
use crate::taken::Head;

/// A [`Sample`] made ready: comparing integers takes a nanosecond.
#[derive(Debug)]
pub(crate) struct Share {
    /// Hashes below pass; `None`: all do.
    below: Option<u64>,
    /// Where clients and not requests are sampled.
    cookie: Option<String>,
}

impl Share {
    pub(crate) fn new(sample: &Sample) -> Self {
        let (share, cookie) = match sample {
            Sample::Requests(share) => (*share, None),
            Sample::Sessions { share, cookie } => (*share, Some(cookie.clone())),
        };
        // 2^64 as f64; the cast saturates, and a NaN is 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let below = (share < 1.0).then_some((share * 18_446_744_073_709_551_616.0) as u64);
        Self { below, cookie }
    }

    /// The shadow's name is no part of the key: shadows with the same share get
    /// the same requests, and with a smaller share some of them.
    pub(crate) fn takes(&self, head: &Head<'_>) -> bool {
        let Some(below) = self.below else {
            return true;
        };
        let hash = match &self.cookie {
            None => number_hash(head.id),
            Some(name) => match cookie(head.headers, name) {
                Some(value) => xxh3_64(value),
                None => number_hash(head.connection),
            },
        };
        hash < below
    }
}

fn cookie<'a>(headers: Offered<'a>, name: &str) -> Option<&'a [u8]> {
    let fields = headers
        .iter()
        .filter(|(field, _)| field.eq_ignore_ascii_case("cookie"));
    fields
        .flat_map(|(_, value)| value.split(|byte| *byte == b';'))
        .find_map(|pair| {
            let rest = pair.trim_ascii().strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })
}

impl Filter {
    /// Whether all of what is given holds.
    #[must_use]
    pub fn passes(&self, head: &Head<'_>) -> bool {
        let method = if self.methods.is_empty() {
            is_safe(head.method)
        } else {
            self.methods.iter().any(|method| method == head.method)
        };
        if !method {
            return false;
        }
        // Most filters look no further, and this is on every client's path.
        let anywhere = self.paths.is_empty() && self.not_paths.is_empty();
        (anywhere || self.lets_through(head.target))
            && self.headers.iter().all(|(name, regex)| {
                let mut values = head
                    .headers
                    .iter()
                    .filter(|(field, _)| field.eq_ignore_ascii_case(name));
                values.any(|(_, value)| regex.is_match(value))
            })
    }
}

impl Filter {
    fn lets_through(&self, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or_default().as_bytes();
        (self.paths.is_empty() || self.paths.iter().any(|regex| regex.is_match(path)))
            && !self.not_paths.iter().any(|regex| regex.is_match(path))
    }
}

/// Methods that change nothing, by definition.
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

#[cfg(test)]
mod tests {
    use regex::bytes::Regex;

    use super::*;

    fn head<'a>(
        id: u64,
        method: &'a str,
        target: &'a str,
        headers: &'a [(&'a str, &'a [u8])],
    ) -> Head<'a> {
        Head {
            id,
            connection: id / 7,
            method,
            target,
            headers: Offered::Listed(headers),
            body_bytes: None,
        }
    }

    fn taken(sample: &Sample, ids: std::ops::Range<u64>) -> Vec<u64> {
        let share = Share::new(sample);
        ids.filter(|id| share.takes(&head(*id, "GET", "/", &[])))
            .collect()
    }

    #[test]
    fn shares_are_kept_within_the_bounds_of_chance() {
        for share in [0.001, 0.01, 0.1, 0.25, 0.5, 0.9] {
            let n = 200_000_f64;
            let got = taken(&Sample::Requests(share), 1..200_001).len() as f64;
            let sd = (n * share * (1.0 - share)).sqrt();
            assert!((got - n * share).abs() < 5.0 * sd, "{share}: {got}");
        }
        assert_eq!(taken(&Sample::Requests(1.0), 0..1000).len(), 1000);
        assert_eq!(taken(&Sample::Requests(0.0), 0..1000).len(), 0);
    }

    #[test]
    fn the_same_key_decides_the_same_and_smaller_shares_are_parts_of_larger_ones() {
        let half = taken(&Sample::Requests(0.5), 0..10_000);
        assert_eq!(half, taken(&Sample::Requests(0.5), 0..10_000));
        let tenth = taken(&Sample::Requests(0.1), 0..10_000);
        assert!(tenth.iter().all(|id| half.contains(id)));
    }

    #[test]
    fn sessions_go_together_by_cookie_or_by_connection() {
        let share = Share::new(&Sample::Sessions {
            share: 0.5,
            cookie: "_shop".into(),
        });
        let mut passed = 0;
        for session in 0..1000 {
            let value = format!("a=1; _shop=s{session}; b=2");
            let headers: [(&str, &[u8]); 1] = [("cookie", value.as_bytes())];
            let first = share.takes(&head(session, "GET", "/", &headers));
            for other in 0..5 {
                let head = head(session * 31 + other, "GET", "/other", &headers);
                assert_eq!(share.takes(&head), first);
            }
            passed += u32::from(first);
        }
        assert!((400..600).contains(&passed), "{passed}");
        // Without the cookie: all requests of one connection.
        for connection in 0..100 {
            let all: Vec<bool> = (0..7)
                .map(|n| {
                    share.takes(&head(
                        connection * 7 + n,
                        "GET",
                        "/",
                        &[("Cookie", b"x_shop=1")],
                    ))
                })
                .collect();
            assert!(all.iter().all(|one| *one == all[0]));
        }
    }

    #[test]
    fn filters_hold_all_at_once() {
        let safe = Filter::default();
        assert!(safe.passes(&head(1, "GET", "/x", &[])));
        assert!(!safe.passes(&head(1, "POST", "/x", &[])));
        let filter = Filter {
            methods: vec!["GET".into(), "POST".into()],
            paths: vec![Regex::new("^/a").unwrap(), Regex::new("^/b$").unwrap()],
            not_paths: vec![Regex::new("secret").unwrap()],
            headers: vec![("X-Kind".into(), Regex::new("^good$").unwrap())],
        };
        let good: [(&str, &[u8]); 1] = [("x-kind", b"good")];
        assert!(filter.passes(&head(1, "POST", "/b?c=secret", &good)));
        assert!(filter.passes(&head(1, "GET", "/abc", &good)));
        assert!(!filter.passes(&head(1, "PUT", "/abc", &good)));
        assert!(!filter.passes(&head(1, "GET", "/a/secret", &good)));
        assert!(!filter.passes(&head(1, "GET", "/c", &good)));
        assert!(!filter.passes(&head(1, "GET", "/abc", &[("x-kind", b"bad")])));
        assert!(!filter.passes(&head(1, "GET", "/abc", &[])));
    }
}
