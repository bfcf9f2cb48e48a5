//! What the pages answer when each is asked for once: those that measure nothing are left out, with the reason.

use crate::{LeftOut, Pages};
use std::collections::BTreeMap;

/// A script for `bin/rails runner`, which reads the paths in the file `POWERBAND_PATHS`, a line each, and writes the answers to the
/// file `POWERBAND_ANSWERS`, until `POWERBAND_MOST` paths have succeeded.
pub const SCRIPT: &str = include_str!("answered.rb");

/// What stands before an exception.
const RAISES: &str = "it raises ";

/// The answer of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer<'a> {
    status: u16,
    /// Where it redirects to; of a page that raises the exception's class and the first line of its message.
    location: &'a str,
    path: &'a str,
}

impl Answer<'_> {
    /// Why the page is no request of a workload.
    fn why_not(&self) -> Option<String> {
        match self.status {
            200..=299 => None,
            300..=399 => Some(format!(
                "it redirects to {}; a page that needs a login needs a session (docs/load.md)",
                self.location
            )),
            404 => Some("it answers 404".to_owned()),
            500.. if !self.location.is_empty() => Some(format!("{RAISES}{}", self.location)),
            status => Some(format!("it answers {status}")),
        }
    }
}

impl Pages {
    /// The most frequent exception of the pages that are left out, and how many pages raise it; `None` if no two raise the same.
    pub fn raised_by_several(&self) -> Option<(&str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for raised in self
            .left_out
            .iter()
            .filter_map(|left| left.why.strip_prefix(RAISES))
        {
            *counts.entry(raised).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.filter(|(_, count)| *count > 1)
    }

    /// Without those of which the written answers say that they measure nothing. Where no page answers, the application lacks
    /// something, and nothing is known of its pages: the error is the reason of the first.
    pub fn answered(mut self, written: &str) -> Result<Pages, (Pages, String)> {
        let answers: Vec<Answer<'_>> = written.lines().filter_map(read).collect();
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for page in self.pages.iter().cloned() {
            let answer = answers.iter().find(|answer| answer.path == page.path);
            match answer.and_then(Answer::why_not) {
                None => kept.push(page),
                Some(why) => left_out.push(LeftOut { page, why }),
            }
        }
        match left_out.first() {
            Some(first) if kept.is_empty() => {
                let why = format!("{}: {}", first.page.name, first.why);
                Err((self, why))
            }
            _ => {
                (self.pages, self.left_out) = (kept, left_out);
                Ok(self)
            }
        }
    }
}

fn read(line: &str) -> Option<Answer<'_>> {
    let mut fields = line.splitn(3, '\t');
    Some(Answer {
        status: fields.next()?.parse().ok()?,
        location: fields.next()?,
        path: fields.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "  root GET /(.:format) home#index\n\
                          admin GET /admin(.:format) admin#index\n\
                          broken GET /broken(.:format) broken#show\n\
                          gone GET /gone(.:format) gone#show\n";

    #[test]
    fn what_measures_nothing_is_left_out_with_the_reason() {
        let pages = Pages::of_routes(ROUTES).unwrap();
        let all = pages.pages.len();
        let written = "200\t\t/\n302\thttp://localhost/login\t/admin\n500\tKeyError: key not found: \"no\"\t/broken\n404\t\t/gone\n";
        let found = pages.answered(written).unwrap();
        assert_eq!(found.pages.len() + found.left_out.len(), all);
        let left = found.left_out.iter();
        let left: Vec<(&str, &str)> = left
            .map(|l| (l.page.path.as_str(), l.why.as_str()))
            .collect();
        assert_eq!(
            left,
            [
                (
                    "/admin",
                    "it redirects to http://localhost/login; a page that needs a login needs a session (docs/load.md)"
                ),
                ("/broken", "it raises KeyError: key not found: \"no\""),
                ("/gone", "it answers 404"),
            ]
        );
        assert_eq!(found.raised_by_several(), None);
        // A page of which nothing is known stays.
        let few = Pages::of_routes(ROUTES).unwrap().answered("404\t\t/gone\n");
        assert_eq!(few.unwrap().left_out.len(), 1);
    }

    #[test]
    fn an_exception_that_several_pages_raise_is_their_reason() {
        let down = "ActiveRecord::ConnectionNotEstablished: connection to server failed";
        let of = |last: &str| {
            let written = format!(
                "200\t\t/\n500\t{down}\t/admin\n500\t{down}\t/broken\n500\t{last}\t/gone\n"
            );
            Pages::of_routes(ROUTES)
                .unwrap()
                .answered(&written)
                .unwrap()
        };
        assert_eq!(of(down).raised_by_several(), Some((down, 3)));
        assert_eq!(of("KeyError: no").raised_by_several(), Some((down, 2)));
    }

    #[test]
    fn pages_after_many_that_need_a_login_are_found() {
        let names = (10..90).map(|n| format!("/p{n}"));
        let line = |path: &String| format!("name GET {path}(.:format) pages#show\n");
        let printed: String = names.clone().map(|path| line(&path)).collect();
        let login: String = names
            .take(20)
            .map(|path| format!("302\t/login\t{path}\n"))
            .collect();
        let pages = Pages::of_routes(&printed).unwrap();
        assert_eq!(pages.pages.len(), 60);
        let found = pages.answered(&login).unwrap().shortened();
        assert_eq!(
            (found.pages[0].path.as_str(), found.pages.len()),
            ("/p30", 12)
        );
        assert_eq!((found.left_out.len(), found.of_pages), (20, 80));
    }

    #[test]
    fn where_no_page_answers_all_stay() {
        let pages = Pages::of_routes(ROUTES).unwrap();
        let written: String = pages
            .pages
            .iter()
            .map(|p| format!("500\t\t{}\n", p.path))
            .collect();
        let (same, why) = pages.clone().answered(&written).unwrap_err();
        assert_eq!(same, pages);
        assert_eq!(why, "GET /: it answers 500");
    }
}
