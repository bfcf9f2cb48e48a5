//! Whether a workload's pages answer at all. A broken page would give the capacity of an error page, so that nothing is
//! measured with one.

use crate::error::Failure;
use load::{BrokenPage, HangingPage, Outcome, RecordedStatuses, Redirect};
use servers::Running;
use small_sort::SmallSort;
use std::fmt::Display;

/// Share of redirects beyond which a workload measures the wrong thing, whatever pages they are of.
const MOST_REDIRECTS: f64 = 0.5;
/// Pages that a message names: all of a file that `powerband init` wrote, so that one run shows what to take out of it.
const MOST_NAMED: usize = 12;

/// Fails when pages are broken, naming each with the line of the server's log that says why, where the server is ours.
pub fn answer(outcome: &Outcome, when: &str, server: Option<&Running>) -> Result<(), Failure> {
    answer_after(None, outcome, when, server)
}

/// The same of a server that stopped answering before: because of this page.
pub fn answer_after(
    hung: Option<&HangingPage>,
    outcome: &Outcome,
    when: &str,
    server: Option<&Running>,
) -> Result<(), Failure> {
    let hanging = match (outcome.counts.completed, hung, server) {
        (0, Some(hung), _) => Some(hung),
        // Another client's request may hang.
        (0, None, None) => None,
        _ => outcome.hanging.as_ref(),
    };
    let broken = outcome.broken_pages(hanging);
    let other_work = other_work(&outcome.recorded_statuses());
    if broken.is_empty() && hanging.is_none() {
        let why = other_work.or_else(|| redirects(outcome));
        return why.map_or(Ok(()), |why| Err(Failure::Trial(why)));
    }
    if let (None, 0, Some(why)) = (server, outcome.counts.sent, &outcome.first_error) {
        return Err(Failure::Trial(format!(
            "no request could be sent {when}: {why}; start the server, or correct the address"
        )));
    }
    let why = |request: &str| server?.why_failing(request);
    let mut said = format!("broken {when}: {}", named(hanging, &broken, why));
    if let Some(server) = server {
        said += &format!("; the server's log is {}", server.log_path().display());
    }
    if let Some(why) = other_work {
        said += &format!("\n  {why}");
    }
    Err(Failure::Trial(said))
}

/// `why` looks a request such as `GET /weather` up in the server's log.
fn named(
    hanging: Option<&HangingPage>,
    broken: &[BrokenPage],
    why: impl Fn(&str) -> Option<String>,
) -> String {
    let line = |page: &dyn Display, request: &str| match why(request) {
        Some(why) => format!("{page}: {why}"),
        None => page.to_string(),
    };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(hanging.map(|page| line(page, &page.request)));
    let pages = broken.iter().take(MOST_NAMED);
    lines.extend(pages.map(|page| line(page, &page.first.request)));
    // Which page holds the threads is not known.
    if broken.iter().any(|page| page.first.what == load::TIMED_OUT) {
        lines.push(
            "a page that never answers holds a thread, and others then time out behind it: ask each page alone (powerband load URL)"
                .to_owned(),
        );
    }
    let more = broken.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    if hanging.is_some() {
        lines.push(
            "a call that waits for ever holds a thread: give the page's calls to other services a timeout".to_owned(),
        );
    }
    lines.push("repair what fails, or take it out of the workload".to_owned());
    lines.join("\n  ")
}

/// A recording that is answered with other statuses than were recorded, such as a redirect to the login for each page.
fn other_work(statuses: &RecordedStatuses) -> Option<String> {
    let said = statuses.sentence().filter(|_| statuses.is_other_work())?;
    Some(format!(
        "{said}; what would be measured is other work than was recorded: {}",
        statuses.remedy()
    ))
}

/// Redirects are answered by middleware in no time: a page that always redirects, and a workload that mostly does, measure
/// nothing of the application.
fn redirects(outcome: &Outcome) -> Option<String> {
    let pages: Vec<(&str, &Redirect)> = outcome.redirected_pages().collect();
    if !pages.is_empty() {
        return Some(never_served(&pages));
    }
    let share = outcome.redirects() as f64 / outcome.counts.completed.max(1) as f64;
    let mut pages = outcome.endpoints.iter();
    let (page, first) = pages.find_map(|page| Some((page, page.unexpected_redirects().next()?)))?;
    let what = format!("{:.0} % of the answers are redirects", share * 100.0);
    (share > MOST_REDIRECTS).then(|| led_away(&what, &[(&page.name, first)]))
}

/// Pages with the first redirect of each.
fn never_served(pages: &[(&str, &Redirect)]) -> String {
    let what = match pages.len() {
        1 => "every answer of a page is a redirect".to_owned(),
        several => format!("every answer of {several} pages is a redirect"),
    };
    led_away(&what, pages)
}

fn led_away(what: &str, pages: &[(&str, &Redirect)]) -> String {
    let named = pages.iter().take(MOST_NAMED).map(|(page, first)| {
        let location = first.location.as_deref().map(load::shown_location);
        let location = location.as_deref().unwrap_or("no Location");
        format!("{page}: {} to {location}", first.status)
    });
    let mut named: Vec<String> = named.collect();
    let more = pages.len().saturating_sub(MOST_NAMED);
    named.extend((more > 0).then(|| format!("and {more} more")));
    let mut statuses: Vec<String> = pages.iter().map(|(_, r)| r.status.to_string()).collect();
    statuses.small_sort();
    statuses.dedup();
    format!(
        "{what}, so that the application's page is not reached ({}): ask for the path that it leads to; where that is a login, send \
         what it gives (--header, or a session that logs in: docs/load.md, Sessions); or expect it with status = {} in the workload \
         file",
        named.join("; "),
        statuses.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::FirstFailure;

    #[test]
    fn redirects_are_shown_with_their_status_place_and_remedies() {
        let redirect = |location: Option<&str>| Redirect {
            status: 302,
            expected: false,
            answers: 40,
            location: location.map(str::to_owned),
        };
        let (away, nowhere) = (redirect(Some("/login?next=secret")), redirect(None));
        let said = never_served(&[("GET /account", &away), ("GET /cart", &nowhere)]);
        let begin = "every answer of 2 pages is a redirect, so that the application's page is not reached (GET /account: 302 to /login";
        assert!(said.starts_with(begin), "{said}");
        assert!(said.contains("; GET /cart: 302 to no Location)"), "{said}");
        assert!(!said.contains("secret"), "{said}");
        for remedy in [
            "where that is a login",
            "--header",
            "a session that logs in: docs/load.md, Sessions",
            "status = 302",
        ] {
            assert!(said.contains(remedy), "{remedy}: {said}");
        }
        let many: Vec<_> = (0..MOST_NAMED + 2).map(|_| ("GET /", &nowhere)).collect();
        assert!(never_served(&many).contains("; and 2 more)"));
    }

    #[test]
    fn a_recording_that_is_answered_otherwise_is_refused_beyond_one_per_cent() {
        let statuses = |answers| RecordedStatuses {
            compared: 300,
            revalidated: 0,
            changes: vec![load::StatusChange {
                page: "GET /account".to_owned(),
                recorded: 200,
                replayed: 302,
                answers,
            }],
        };
        assert_eq!(other_work(&statuses(3)), None);
        let said = other_work(&statuses(100)).unwrap();
        for part in ["33.3 %", "GET /account 200 -> 302 (100)", "--keep Cookie"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn each_broken_page_is_named_with_what_the_log_says_of_it() {
        let page = |path: String| {
            let request = format!("GET {path}");
            BrokenPage {
                name: request.clone(),
                first: FirstFailure {
                    request,
                    what: "answered 500".to_owned(),
                },
                failed: 94,
                of: 94,
            }
        };
        let mut hanging = page("/".to_owned());
        load::TIMED_OUT.clone_into(&mut hanging.first.what);
        let said = named(None, &[hanging], |_| None);
        assert!(said.contains("ask each page alone"), "{said}");
        let two = ["/weather", "/table"].map(|path| page(path.to_owned()));
        let why = |request: &str| (request == "GET /weather").then(|| "no weather".to_owned());
        assert_eq!(
            named(None, &two, why),
            "GET /weather: 94 of 94 requests failed; the first: answered 500: no weather
  GET /table: 94 of 94 requests failed; the first: answered 500
  repair what fails, or take it out of the workload"
        );
        let many: Vec<BrokenPage> = (0..MOST_NAMED + 2).map(|n| page(format!("/{n}"))).collect();
        let said = named(None, &many, |_| None);
        assert_eq!(said.lines().count(), MOST_NAMED + 2, "{said}");
        assert!(said.contains("\n  and 2 more\n"), "{said}");
    }

    #[test]
    fn a_hanging_page_comes_first_with_its_remedy() {
        let hanging = HangingPage {
            name: "report".to_owned(),
            request: "GET /report".to_owned(),
            hanging: 1,
            answered: 0,
            queued: 2,
        };
        assert_eq!(
            named(Some(&hanging), &[], |_| None),
            "GET /report (report) does not answer: 1 request to it hung when the server stopped answering, and it was never \
             answered; 2 requests sent later timed out in the queue behind
  a call that waits for ever holds a thread: give the page's calls to other services a timeout
  repair what fails, or take it out of the workload"
        );
    }
}
