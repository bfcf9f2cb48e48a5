//! The pages that users ask for most, as requests of a workload.

use crate::{rails_log, routes};
use capture::{Rules, Traffic, name_of};
use small_sort::SmallSort;
use std::collections::BTreeMap;

/// More pages make a longer file and hardly another mix.
pub const MOST_PAGES: usize = 12;
/// Of routes, some of which need a login or fail.
const MOST_ROUTES: usize = 60;
/// What Rails and the redaction put in place of a secret.
const TAKEN_OUT: [&str; 2] = ["[FILTERED]", "REDACTED"];
/// Extensions that a web server or a CDN serves in production.
const FILES: [&str; 14] = [
    "avif", "css", "gif", "ico", "jpeg", "jpg", "js", "map", "mp4", "png", "svg", "webp", "woff",
    "woff2",
];
const NO_PAGES: [&str; 7] = [
    "/assets/",
    "/cable",
    "/packs/",
    "/rails/active_storage/",
    "/rails/info",
    "/up",
    "/vite/",
];

/// One request of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Without what differs from record to record, such as `GET /products/:id`.
    pub name: String,
    /// The target that was asked for most often, without secrets.
    pub path: String,
    /// Its share of the requests of these pages, in per cent, at least 1.
    pub weight: u64,
}

/// Where pages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A log of Rails.
    RailsLog,
    /// An access log, a capture file and the like.
    Recording,
    /// What `bin/rails routes` printed.
    Routes,
}

/// The most frequent pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// The most frequent first; never empty. At most [`MOST_PAGES`], but for routes: see [`Pages::shortened`].
    pub pages: Vec<Page>,
    pub source: Source,
    /// Requests of the pages above.
    pub requests: u64,
    /// GET requests for pages, those of pages that are left out included.
    pub of_requests: u64,
    /// Different pages, likewise.
    pub of_pages: usize,
    /// Requests that Powerband does not send by default, such as POST.
    pub other_methods: u64,
    /// Pages that were asked for once and measure nothing.
    pub left_out: Vec<LeftOut>,
}

/// A page that is no request of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub page: Page,
    /// Such as `it answers 404`.
    pub why: String,
}

#[derive(Debug, Default)]
struct Seen<'a> {
    requests: u64,
    targets: BTreeMap<&'a str, u64>,
}

impl Pages {
    /// Of the text of a log of Rails. `None` without a page.
    #[must_use]
    pub fn of_rails_log(text: &str) -> Option<Pages> {
        counted(rails_log::requests(text), Source::RailsLog)
    }

    /// Of recorded traffic.
    #[must_use]
    pub fn of_traffic(traffic: &Traffic) -> Option<Pages> {
        let requests = traffic.requests.iter();
        let requests = requests.map(|r| (r.method.as_str(), r.path.as_str()));
        counted(requests, Source::Recording)
    }

    /// Of what `bin/rails routes` printed: each page once, and more than a file has, because some measure nothing.
    #[must_use]
    pub fn of_routes(printed: &str) -> Option<Pages> {
        let paths = routes::paths(printed);
        counted(paths.iter().map(|path| ("GET", &**path)), Source::Routes)
    }

    /// The first [`MOST_PAGES`].
    #[must_use]
    pub fn shortened(mut self) -> Pages {
        self.pages.truncate(MOST_PAGES);
        self
    }
}

fn counted<'a>(
    requests: impl Iterator<Item = (&'a str, &'a str)>,
    source: Source,
) -> Option<Pages> {
    let mut seen: BTreeMap<String, Seen<'a>> = BTreeMap::new();
    let (mut of_requests, mut other_methods) = (0, 0);
    for (method, target) in requests {
        match method {
            "GET" if is_page(target) => {
                of_requests += 1;
                let page = seen.entry(name_of(method, target)).or_default();
                page.requests += 1;
                *page.targets.entry(target).or_default() += 1;
            }
            "GET" | "HEAD" | "OPTIONS" => {}
            _ => other_methods += 1,
        }
    }
    let of_pages = seen.len();
    let mut known: Vec<(String, u64, String)> = seen
        .into_iter()
        .filter_map(|(name, page)| Some((name, page.requests, usual(&page.targets)?)))
        .collect();
    // Pages with as many requests stay in the order of their names.
    known.small_sort_by_key(|(_, requests, _)| std::cmp::Reverse(*requests));
    known.truncate(match source {
        Source::Routes => MOST_ROUTES,
        Source::RailsLog | Source::Recording => MOST_PAGES,
    });
    let requests: u64 = known.iter().map(|(_, requests, _)| requests).sum();
    let pages = known.into_iter().map(|(name, count, path)| Page {
        name,
        path,
        weight: match source {
            Source::Routes => 1,
            _ => ((100 * count + requests / 2) / requests.max(1)).max(1),
        },
    });
    let pages: Vec<Page> = pages.collect();
    (!pages.is_empty()).then_some(Pages {
        pages,
        source,
        requests,
        of_requests,
        of_pages,
        other_methods,
        left_out: Vec::new(),
    })
}

/// The target that was asked for most often of those without secrets: without its query where that has one.
fn usual(targets: &BTreeMap<&str, u64>) -> Option<String> {
    let redactor = Rules::new(&[], &[], &[]);
    let clean = |target: &str| {
        let mut redacted = target.to_owned();
        redactor.target(&mut redacted);
        let has_secret = |text: &str| TAKEN_OUT.iter().any(|mark| text.contains(mark));
        if !has_secret(&redacted) {
            return Some(redacted);
        }
        let path = redacted.split(['?', '#']).next().unwrap_or_default();
        (!has_secret(path)).then(|| path.to_owned())
    };
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for (target, count) in targets {
        if let Some(target) = clean(target) {
            *found.entry(target).or_default() += count;
        }
    }
    let most = found.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(most.0)
}

fn is_page(target: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    let extension = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    let is_file = extension.is_some_and(|(_, extension)| FILES.contains(&extension));
    let is_no_page = NO_PAGES.iter().any(|place| match place.ends_with('/') {
        true => path.starts_with(place),
        false => path == *place || path.starts_with(&format!("{place}/")),
    });
    path.starts_with('/') && !is_file && !is_no_page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(requests: &[(&str, &str, usize)]) -> String {
        let line = |(method, target, times): &(&str, &str, usize)| {
            format!("Started {method} \"{target}\" for ::1 at now\n").repeat(*times)
        };
        requests.iter().map(line).collect()
    }

    #[test]
    fn the_most_frequent_pages_come_with_their_shares() {
        let found = Pages::of_rails_log(&log(&[
            ("GET", "/", 50),
            ("GET", "/products/1", 10),
            ("GET", "/products/2", 20),
            ("GET", "/rare", 1),
            ("POST", "/cart", 7),
            ("GET", "/assets/app.css", 99),
            ("GET", "/logo.png?v=2", 99),
            ("GET", "/up", 99),
        ]))
        .unwrap();
        let shown: Vec<_> = found
            .pages
            .iter()
            .map(|page| (page.name.as_str(), page.path.as_str(), page.weight))
            .collect();
        assert_eq!(
            shown,
            [
                ("GET /", "/", 62),
                ("GET /products/:id", "/products/2", 37),
                ("GET /rare", "/rare", 1),
            ]
        );
        assert_eq!((found.of_requests, found.other_methods), (81, 7));
    }

    #[test]
    fn no_secret_is_written() {
        let found = Pages::of_rails_log(&log(&[
            ("GET", "/login?token=s3cret", 5),
            ("GET", "/search?q=lamp&page=2", 4),
            ("GET", "/reset?code=[FILTERED]", 3),
            ("GET", "/files;token=s3cret/a", 2),
        ]))
        .unwrap();
        let paths: Vec<_> = found.pages.iter().map(|page| page.path.as_str()).collect();
        assert_eq!(paths, ["/login", "/search?q=lamp&page=2", "/reset"]);
        assert!(Pages::of_rails_log("nothing").is_none());
    }

    #[test]
    fn so_many_pages_are_taken_and_the_rest_is_counted() {
        let requests: Vec<(&str, String)> = (0..20)
            .map(|n| ("GET", format!("/p{}", "x".repeat(n))))
            .collect();
        let requests = requests
            .iter()
            .map(|(method, path)| (*method, path.as_str()));
        let found = counted(requests, Source::Recording).unwrap();
        assert_eq!((found.pages.len(), found.of_pages), (MOST_PAGES, 20));
        assert_eq!((found.requests, found.of_requests), (12, 20));
    }

    #[test]
    fn routes_weigh_the_same() {
        let found =
            Pages::of_routes("root GET / home#index\n about GET /about(.:format) pages#about\n")
                .unwrap();
        let weights: Vec<_> = found.pages.iter().map(|page| page.weight).collect();
        assert_eq!(weights, [1, 1]);
        assert_eq!(found.source, Source::Routes);
    }
}
