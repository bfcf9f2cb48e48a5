//! Does the server want to be asked as if by https? An application behind a proxy that terminates TLS redirects
//! everything else to https (Rails: `config.force_ssl`), and such redirects say nothing of its pages.

use crate::endpoint::ToHttps;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::plan::{Mode, Plan, Stop};
use crate::session::pattern::{Place, Values, names};
use crate::workload::{Request, Workload};

/// Statuses that send a client elsewhere with the same request.
const MOVED: [u16; 4] = [301, 302, 307, 308];
/// Pages that are asked: some may be left out of the redirect, as health checks often are.
const PAGES: usize = 4;

/// How a server answers requests that do not come by https.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Https {
    /// It answers them.
    NotAsked,
    /// It redirects to the same URL with https, and no more where `X-Forwarded-Proto: https` says that the client asked so.
    Forwarded,
    /// It redirects to this, the same URL with https, whatever the header says, or was not asked with it.
    Asked {
        /// Without its query.
        location: String,
    },
}

/// Asks for the first pages of the plan's workload with a few requests of their own, and again with the header where they
/// ask for https and the server is on this machine. `None`: nothing can be said, because nothing could be asked or
/// nothing was answered.
///
/// # Errors
/// Those of `run`.
pub fn https<E>(
    plan: &Plan,
    mut run: impl FnMut(&Plan) -> Result<Outcome, E>,
) -> Result<Option<Https>, E> {
    if plan.target.is_tls() || plan.headers.iter().any(Header::tells_scheme) {
        return Ok(Some(Https::NotAsked));
    }
    let Some(first) = first_pages(plan) else {
        return Ok(None);
    };
    let outcome = run(&first)?;
    if outcome.counts.completed == 0 {
        return Ok(None);
    }
    let Some(location) = asked_for_https(&first, &outcome) else {
        return Ok(Some(Https::NotAsked));
    };
    Ok(Some(match takes_forwarded(plan, run)? {
        true => Https::Forwarded,
        false => Https::Asked { location },
    }))
}

/// Does the server, which redirects to https, redirect the first pages of the plan's workload no more where
/// `X-Forwarded-Proto: https` says that the client asked so? Each page is asked once. A page without an answer is not redirected
/// either: the measurement that follows finds out why.
///
/// # Errors
/// Those of `run`.
pub fn takes_forwarded<E>(
    plan: &Plan,
    run: impl FnOnce(&Plan) -> Result<Outcome, E>,
) -> Result<bool, E> {
    // Of another machine, whose proxy says itself how it was asked.
    let told = first_pages(plan).filter(|_| plan.may_be_forwarded());
    let Some(mut told) = told else {
        return Ok(false);
    };
    told.headers.push(Header::forwarded_https());
    let outcome = run(&told)?;
    Ok(asked_for_https(&told, &outcome).is_none())
}

/// Each of the first pages once; `None` where none can be asked as it stands.
fn first_pages(plan: &Plan) -> Option<Plan> {
    let workload = plan.workload.first_pages(PAGES)?;
    let pages = workload.requests().len() as u64;
    Some(Plan {
        workload,
        mode: Mode::closed(1),
        stop: Stop::requests(pages),
        keep_answers: false,
        ..plan.clone()
    })
}

/// Where an answer sends a client with the same request, if that is an `https://` URL.
pub(crate) fn to_https(status: u16, location: Option<&str>) -> Option<&str> {
    location.filter(|to| MOVED.contains(&status) && to.starts_with("https://"))
}

/// Where the first answer of an outcome led that sent the client to the same URL with https, without its query; `None`
/// where nothing asks for https.
#[must_use]
pub fn asked_for_https(plan: &Plan, outcome: &Outcome) -> Option<String> {
    outcome.endpoints.iter().find_map(|endpoint| {
        let ToHttps { location, path } = endpoint.to_https.as_ref()?;
        let mut requests = plan.workload.requests().iter();
        let same = requests.any(|request| {
            let host = request.host.as_deref().unwrap_or(plan.target.host());
            request.name == endpoint.name && is_same_with_https(location, host, path)
        });
        same.then(|| shown_location(location))
    })
}

/// Ports differ: https has one of its own, and behind a proxy none is named.
fn is_same_with_https(location: &str, host: &str, path: &str) -> bool {
    let Ok(to) = location.parse::<http::Uri>() else {
        return false;
    };
    let Ok(asked) = host.parse::<http::uri::Authority>() else {
        return false;
    };
    let path_of = to.path_and_query().map_or("/", |path| path.as_str());
    to.scheme_str() == Some("https")
        && to
            .host()
            .is_some_and(|host| host.eq_ignore_ascii_case(asked.host()))
        && path_of == path
}

/// A `Location` as it is shown: credentials and tokens often stand in user names and queries.
#[must_use]
pub fn shown_location(location: &str) -> String {
    const MOST: usize = 200;
    let cut = location.find(['?', '#']);
    let (mut shown, rest) = location.split_at(cut.unwrap_or(location.len()));
    let mut text = String::new();
    // With a scheme or without one: `https://a.test/` or `//a.test/`.
    if let Some((before, after)) = shown.split_once("//")
        && (before.is_empty() || before.ends_with(':'))
    {
        let authority = after.split(['/', '\\']).next().unwrap_or_default();
        if let Some(at) = authority.rfind('@') {
            text = format!("{before}//");
            shown = &after[at + 1..];
        }
    }
    text.extend(shown.chars().filter(|c| !c.is_control()).take(MOST));
    if !rest.is_empty() || shown.chars().count() > MOST {
        text.push_str(if rest.starts_with('?') { "?…" } else { "…" });
    }
    text
}

/// The first requests of a workload that need no earlier answer: each page once.
impl Workload {
    fn first_pages(&self, most: usize) -> Option<Self> {
        let mut pages: Vec<Request> = Vec::new();
        for (index, request) in self.requests().iter().enumerate() {
            // A recording may have many requests, and large ones.
            if pages.len() == most {
                break;
            }
            let moves = self
                .recipe(index)
                .is_some_and(|recipe| recipe.expected.iter().any(|status| *status >= 300));
            let is_new = |path: &str| pages.iter().all(|page| page.path != path);
            if moves || !request.is_safe() || !is_new(&request.path) {
                continue;
            }
            let page = self.filled(index);
            pages.extend(page.filter(|page| page.path.starts_with('/') && is_new(&page.path)));
        }
        let order: Vec<u32> = (0..).take(pages.len()).collect();
        (!pages.is_empty()).then(|| Self::in_order(pages, order.into()))
    }

    /// A request with the first row of its data. `None` where it takes a value from an earlier answer, and where its query has one: it
    /// may be a token, and messages name these requests as they are sent.
    fn filled(&self, index: usize) -> Option<Request> {
        let mut request = self.requests()[index].clone();
        let headers = request.headers.iter().map(|(_, value)| value);
        let mut texts = std::iter::once(&request.path).chain(headers);
        if texts.all(|text| names(text).is_empty()) {
            return Some(request);
        }
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        let recipe = self.recipe(index).filter(|_| names(query).is_empty())?;
        let of_session = || self.sessions()[recipe.session?].data.as_ref();
        let data = recipe.data.as_ref().or_else(of_session)?;
        let headers = recipe.headers.iter().map(|(_, value)| value);
        let mut patterns = std::iter::once(&recipe.path).chain(headers);
        if patterns.any(|pattern| pattern.takes_capture()) {
            return None;
        }
        let values = Values {
            row: data.row(0),
            captured: &[],
        };
        request.path = recipe.path.filled(values, Place::Path)?;
        for ((_, value), (_, pattern)) in request.headers.iter_mut().zip(&recipe.headers) {
            *value = pattern.filled(values, Place::Header)?;
        }
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_url_with_https_is_distinguished_from_others() {
        let same = |location| is_same_with_https(location, "shop.test:3000", "/cart?a=b");
        for location in [
            "https://shop.test/cart?a=b",
            "https://SHOP.test:3000/cart?a=b",
        ] {
            assert!(same(location), "{location}");
        }
        for location in [
            "http://shop.test/cart?a=b",
            "https://login.test/cart?a=b",
            "https://shop.test/login",
            "https://shop.test/cart",
            "/cart?a=b",
            "",
        ] {
            assert!(!same(location), "{location}");
        }
        assert!(is_same_with_https("https://127.0.0.1", "127.0.0.1:80", "/"));
        assert!(is_same_with_https("https://[::1]/", "[::1]:80", "/"));
    }

    #[test]
    fn a_location_is_shown_without_what_may_be_secret() {
        for (location, shown) in [
            ("/login", "/login"),
            ("https://a.test/x?token=s3cret#y", "https://a.test/x?…"),
            ("https://me:s3cret@a.test/x", "https://a.test/x"),
            ("//me:s3cret@a.test/x", "//a.test/x"),
            ("/a//b@c", "/a//b@c"),
            ("/a\r\nb", "/ab"),
        ] {
            assert_eq!(shown_location(location), shown);
        }
        let long = "/".repeat(300);
        assert_eq!(shown_location(&long).chars().count(), 201);
    }

    #[test]
    fn a_page_of_many_records_is_asked_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ids.csv"), "id,of\n7,a b\n8,c\n").unwrap();
        let text = "[[request]]\npath = '/products/{{of}}/{{id}}'\ndata = 'ids.csv'\n\
                    headers = { X-Of = '{{of}}' }\n";
        let workload = Workload::from_toml_in(text, folder.path()).unwrap();
        let pages = workload.first_pages(4).unwrap();
        assert_eq!(pages.requests()[0].path, "/products/a%20b/7");
        let headers = &pages.requests()[0].headers;
        assert!(
            headers.contains(&("X-Of".to_owned(), "a b".to_owned())),
            "{headers:?}"
        );
        let with_token = "[[request]]\npath = '/reset?token={{id}}'\ndata = 'ids.csv'\n";
        let workload = Workload::from_toml_in(with_token, folder.path()).unwrap();
        assert_eq!(workload.first_pages(4), None);
    }

    #[test]
    fn pages_are_those_that_can_be_asked_as_they_stand() {
        let text = "[[request]]\npath = '/a'\n[[request]]\npath = '/a'\nweight = 2\n[[request]]\nmethod = 'POST'\npath = '/b'\n\
                    [[request]]\npath = '/moved'\nstatus = 301\n[[session]]\n[[session.request]]\npath = '/c'\n\
                    capture = { id = { cookie = 'x' } }\n[[session.request]]\npath = '/d/{{id}}'\n";
        let workload = Workload::from_toml(text).unwrap();
        let pages = workload.first_pages(4).unwrap();
        let paths: Vec<&str> = pages.requests().iter().map(|r| r.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/c"]);
        let post = "[[request]]\nmethod = 'POST'\npath = '/b'\n";
        assert_eq!(Workload::from_toml(post).unwrap().first_pages(4), None);
    }
}
