//! How requests were sent: part of every document of a verb that sends load.

use serde::{Deserialize, Serialize};

/// How requests were sent: what the workload does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sending {
    /// Whether connections were kept for further requests; otherwise each request had a connection of its own.
    pub keep_alive: bool,
    /// Names of the headers that were sent with each request; values are never written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Whether `X-Forwarded-Proto: https` was sent because the first answers redirected to the same URL with https, as they
    /// do behind a proxy that terminates TLS (Rails: `config.force_ssl`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forwarded_https: bool,
}

impl Sending {
    /// `one per request`, or `kept (64)`, of so many at most.
    pub fn connections(&self, most: u64) -> String {
        match self.keep_alive {
            true => format!("kept ({most})"),
            false => "one per request".to_owned(),
        }
    }

    /// All of it: `Connections: one per request`.
    pub fn sentence(&self, most: u64) -> String {
        let connections = format!("Connections: {}", self.connections(most));
        match self.additions() {
            Some(additions) => format!("{connections}. {additions}"),
            None => connections,
        }
    }

    /// What was sent in addition to the workload's headers; `None` where that is nothing.
    pub fn additions(&self) -> Option<String> {
        let mut said = Vec::new();
        if self.forwarded_https {
            said.push(FORWARDED.to_owned());
        }
        if !self.headers.is_empty() {
            said.push(format!("Headers: {}", self.headers.join(", ")));
        }
        (!said.is_empty()).then(|| said.join(". "))
    }
}

/// What is said where the proxy's header was sent unasked.
pub const FORWARDED: &str = "X-Forwarded-Proto: https is sent, as a proxy that terminates TLS does, because the server \
                             redirects to https (Rails: config.force_ssl)";

/// Good answers of one page that sent the client elsewhere with one status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// From 300 to 399, 304 excepted.
    pub status: u16,
    /// Where the first of them led, without query and credentials; absent where it did not say.
    pub location: Option<String>,
    /// How many.
    pub answers: u64,
    /// Whether the workload names this status for the request, or it is the recorded one.
    pub expected: bool,
}

/// A page's share of redirects beyond which a reader is warned.
const WORTH_A_WARNING: f64 = 0.01;

/// Redirects of each page over several windows.
#[derive(Debug, Default)]
pub struct Redirects(Vec<PageRedirects>);

/// A page of which some good answers sent the client elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PageRedirects {
    /// Name in the workload.
    pub name: String,
    /// Good answers, redirects among them.
    pub good: u64,
    /// By status.
    pub redirects: Vec<Redirect>,
}

impl Redirects {
    /// Adds a page's good answers of one window.
    pub fn add(&mut self, name: &str, good: u64, redirects: &[Redirect]) {
        let index = self.0.iter().position(|page| page.name == name);
        let index = index.unwrap_or_else(|| {
            self.0.push(PageRedirects {
                name: name.to_owned(),
                good: 0,
                redirects: Vec::new(),
            });
            self.0.len() - 1
        });
        let page = &mut self.0[index];
        page.good += good;
        for redirect in redirects {
            let same =
                |r: &&mut Redirect| (r.status, r.expected) == (redirect.status, redirect.expected);
            match page.redirects.iter_mut().find(same) {
                Some(known) => known.answers += redirect.answers,
                None => page.redirects.push(redirect.clone()),
            }
        }
    }

    /// A sentence of each page that more than 1 % of the answers lead away from though the workload does not say so.
    pub fn warnings(&self) -> Vec<String> {
        self.0.iter().filter_map(PageRedirects::warning).collect()
    }

    /// Names of those pages.
    pub fn unserved(&self) -> impl Iterator<Item = &str> {
        let pages = self.0.iter().filter(|page| page.leads_away());
        pages.map(|page| page.name.as_str())
    }

    /// The pages that had any.
    pub fn pages(self) -> Vec<PageRedirects> {
        let pages = self.0.into_iter();
        pages.filter(|page| !page.redirects.is_empty()).collect()
    }
}

impl PageRedirects {
    fn unexpected(&self) -> impl Iterator<Item = &Redirect> {
        self.redirects.iter().filter(|r| !r.expected)
    }

    /// Share of the good answers.
    fn share(&self) -> f64 {
        let answers: u64 = self.unexpected().map(|r| r.answers).sum();
        answers as f64 / self.good.max(1) as f64
    }

    fn leads_away(&self) -> bool {
        self.share() > WORTH_A_WARNING
    }

    fn warning(&self) -> Option<String> {
        if !self.leads_away() {
            return None;
        }
        let led = |r: &Redirect| match &r.location {
            Some(location) => format!("{} to {location}", r.status),
            None => format!("{} without a Location", r.status),
        };
        let led: Vec<String> = self.unexpected().map(led).collect();
        let most = self.unexpected().max_by_key(|r| r.answers)?;
        Some(format!(
            "{:.1} % of the successful answers of {} are redirects ({}), which are not followed: the page itself was not served. Ask \
             for the page that is meant, send what it needs (--header, a session that logs in), or expect it with status = {} in \
             the workload file",
            self.share() * 100.0,
            self.name,
            led.join(", "),
            most.status
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirect(status: u16, answers: u64, expected: bool) -> Redirect {
        Redirect {
            status,
            location: Some("/login".to_owned()),
            answers,
            expected,
        }
    }

    #[test]
    fn pages_that_lead_away_unasked_are_named_beyond_one_per_cent() {
        let mut all = Redirects::default();
        all.add("GET /", 100, &[redirect(302, 1, false)]);
        all.add(
            "GET /cart",
            100,
            &[redirect(302, 20, false), redirect(303, 80, true)],
        );
        all.add("GET /out", 50, &[redirect(303, 50, true)]);
        all.add("GET /cart", 100, &[redirect(302, 60, false)]);
        let said = all.warnings();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(all.unserved().collect::<Vec<_>>(), ["GET /cart"]);
        for part in ["40.0 %", "GET /cart", "302 to /login", "status = 302"] {
            assert!(said[0].contains(part), "{part}: {}", said[0]);
        }
        all.add("GET /", 0, &[redirect(302, 1, false)]);
        assert_eq!(all.warnings().len(), 2);
    }
}
