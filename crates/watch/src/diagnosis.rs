//! Where request time goes, in one sentence with its figures.

use crate::window::{CALLS, Window, call_ms, pool_ms};
use inspect::{Sum, Sums};

/// Below so many requests the sentence says how few they are.
const FEW: u64 = 20;
/// A share of held time without a core that is worth words.
const STARVED: f64 = 0.2;
/// Share of a queue from which on the wait for a core explains it, as on the page of `inspect`.
const OF_THE_QUEUE: f64 = 1.0 / 3.0;
/// Below this share of busy threads more of them do not shorten a queue.
const MOSTLY_FREE: f64 = 0.5;
/// As the agent counts failures.
pub const FAILED: &str = "failed (5xx or an exception)";
/// From this share on failed requests matter more than the time that requests take.
const FAILING: f64 = 0.05;

/// What matters most, first: no request ends, many fail, the largest part of the time and the verb that tests what
/// helps. It claims nothing beyond the figures.
#[must_use]
pub fn diagnosis(window: &Window) -> String {
    let seconds = window.length.as_secs_f64();
    let sums = &window.all;
    if sums.requests == 0 && window.of_endpoint().is_some() {
        return format!("No request of it ended within {seconds:.1} s.");
    }
    let in_flight = window.in_flight();
    if sums.requests == 0 && in_flight == 0 {
        return format!("No request ended within {seconds:.1} s, and none is in progress.");
    }
    if sums.requests == 0 {
        let of = window.threads().map_or_else(String::new, |threads| {
            format!(" on {}", run::counted(threads, "thread"))
        });
        return format!(
            "No request ended within {seconds:.1} s, and {in_flight} in progress{of}; `powerband trace --gvl --for 5s` records what \
             the threads wait for."
        );
    }
    let few = match sums.requests {
        n if n < FEW => format!("Only {} ended: ", run::counted(n, "request")),
        _ => String::new(),
    };
    if sums.errors == 0 {
        return few + &largest(window);
    }
    let failed = failed(window);
    match sums.errors as f64 >= FAILING * sums.requests as f64 {
        true => format!(
            "{failed}; the application's log says why. {}",
            run::sentence_case(&largest(window))
        ),
        false => format!("{few}{} {failed}.", largest(window)),
    }
}

/// How many requests failed, and of which endpoint most of them are.
fn failed(window: &Window) -> String {
    let sums = &window.all;
    let (errors, requests) = (sums.errors, run::counted(sums.requests, "request"));
    let how = FAILED;
    let words = match errors == sums.requests {
        true if errors == 1 => format!("the only request {how}"),
        true => format!("all {requests} {how}"),
        false => format!("{errors} of {requests} {how}"),
    };
    let most = window.endpoints.iter().max_by_key(|row| row.sums.errors);
    let most = most.filter(|row| window.endpoints.len() > 1 && row.sums.errors > 0);
    words
        + &most.map_or_else(String::new, |row| match row.sums.errors == errors {
            true if errors == 1 => format!(", in {}", row.name),
            true => format!(", all in {}", row.name),
            false => format!(", {} of them in {}", row.sums.errors, row.name),
        })
}

fn largest(window: &Window) -> String {
    let sums = &window.all;
    let queue = sums.queue.mean_ms().unwrap_or(0.0);
    let (Some(wall), Some(held), Some(gvl), Some(io)) = (
        sums.split_wall.mean_ms(),
        sums.held.mean_ms(),
        sums.gvl_wait.mean_ms(),
        sums.io.mean_ms(),
    ) else {
        let wall = sums.wall.mean_ms().unwrap_or(0.0);
        return format!(
            "a request takes {wall:.1} ms in the application; these processes do not measure the parts of that time."
        );
    };
    let shows = match window.of_endpoint() {
        Some(_) => "shows its percentiles",
        None => "shows it by endpoint",
    };
    let lock = sums.lock_wait.mean_ms().unwrap_or(0.0);
    let most = queue.max(held).max(gvl).max(lock).max(io);
    let starved = sums.starved.mean_ms().filter(|ms| *ms >= STARVED * held);
    let by_cores = |starved: &f64| most == queue && *starved >= OF_THE_QUEUE * queue;
    if let Some(starved) = starved.filter(by_cores) {
        return format!(
            "requests wait {queue:.1} ms in the queue before they take {wall:.1} ms in the application, and threads wait {starved:.1} ms a \
             request for a core to run Ruby: more cores shorten both; `powerband doctor` shows what limits CPU here."
        );
    }
    if most == queue {
        // Requests that go on count as well: those that ended say nothing of them.
        let busy_now = window.busy().max(window.in_flight() as f64);
        let threads = window.threads().map(f64::from);
        let what_next = match threads.is_some_and(|threads| busy_now < MOSTLY_FREE * threads) {
            true => {
                "most threads are free on average, so that more of them do not shorten this wait; `powerband inspect` has its likely cause."
            }
            false => "`powerband tune` tests whether more threads or processes do better.",
        };
        return format!(
            "requests wait {queue:.1} ms in the queue before they take {wall:.1} ms in the application, where {} busy on average; \
             {what_next}",
            busy(window)
        );
    }
    if most == gvl {
        return format!(
            "threads wait {gvl:.1} ms a request for the GVL, of {wall:.1} ms in all; `powerband tune` tests whether fewer threads \
             or more processes do better."
        );
    }
    if most == lock {
        let pool = pool_ms(sums).filter(|pool| *pool >= lock / 2.0);
        let pool = pool.map_or_else(String::new, |pool| {
            format!(" ({pool:.1} ms in checkouts from a connection pool)")
        });
        return format!(
            "requests wait {lock:.1} ms of their {wall:.1} ms for locks{}{pool}; `powerband inspect` shows locks and pools.",
            mostly_in(window, |sums| sums.lock_wait)
        );
    }
    if most == io {
        return format!(
            "requests wait {io:.1} ms of their {wall:.1} ms for I/O{}{}; `powerband inspect` {shows}.",
            mostly_in(window, |sums| sums.io),
            by_kind(sums)
        );
    }
    let gc = sums.gc.mean_ms();
    let gc = gc.map_or_else(String::new, |gc| {
        format!(", {gc:.1} ms of the whole in garbage collection")
    });
    match starved {
        Some(ms) => format!(
            "requests hold the GVL for {held:.1} ms of their {wall:.1} ms, and have no CPU core for {ms:.1} ms of that; \
             `powerband doctor` shows what limits CPU here."
        ),
        None => format!(
            "requests run Ruby for {held:.1} ms of their {wall:.1} ms{gc}{}; `powerband inspect` {shows}.",
            mostly_in(window, |sums| sums.held)
        ),
    }
}

fn busy(window: &Window) -> String {
    let busy = window.busy();
    match window.threads() {
        Some(threads) => format!("{busy:.1} of {} are", run::counted(threads, "thread")),
        None => format!("{busy:.1} threads are"),
    }
}

/// The kind of calls that takes longest. Its time is no part of I/O alone: a call also runs Ruby.
fn by_kind(sums: &Sums) -> String {
    let known = CALLS.map(|(kind, name)| (call_ms(sums, kind).unwrap_or(0.0), name));
    let most = known.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    match most {
        Some((ms, name)) if ms >= 0.05 => {
            format!("; {name} calls take {ms:.1} ms, the Ruby in them included")
        }
        _ => String::new(),
    }
}

/// The endpoint that has most of a sum, where there are several.
fn mostly_in(window: &Window, of: impl Fn(&Sums) -> Sum) -> String {
    let whole = of(&window.all).total() as f64;
    let most = window
        .endpoints
        .iter()
        .max_by_key(|row| of(&row.sums).total());
    match most {
        Some(row) if window.endpoints.len() > 1 && whole > 0.0 => format!(
            ", {:.0} % of it in {}",
            100.0 * of(&row.sums).total() as f64 / whole,
            row.name
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};
    use flight::Totals;

    fn said(endpoints: &[(&str, Totals)], in_flight: u64) -> String {
        let before = reading(0, vec![process(1, 0, &[])]);
        let mut process = process(1, 0, endpoints);
        process.in_flight = in_flight;
        diagnosis(&Window::between(&before, &reading(5, vec![process])))
    }

    #[test]
    fn the_largest_part_is_named_with_its_figures() {
        let gvl = "threads wait 62.0 ms a request for the GVL, of 77.0 ms in all; `powerband tune` tests whether fewer threads or more processes do better.";
        assert_eq!(said(&[("a", served(100, 10, 62))], 0), gvl);
        let ruby = "requests run Ruby for 18.0 ms of their 24.0 ms, 0.0 ms of the whole in garbage collection, 83 % of it in b; `powerband inspect` shows it by endpoint.";
        let two = [("a", served(50, 6, 1)), ("b", served(50, 30, 1))];
        assert_eq!(said(&two, 0), ruby);
        let io = said(&[("a", served(100, 1, 1))], 0);
        assert!(
            io.starts_with("requests wait 5.0 ms of their 7.0 ms for I/O;"),
            "{io}"
        );
    }

    #[test]
    fn locks_queue_and_a_missing_core() {
        let mut locked = served(100, 1, 1);
        locked.lock_wait_ns = 100 * 9_000_000;
        locked.wall_ns += locked.lock_wait_ns;
        let lock = said(&[("a", locked)], 0);
        assert!(
            lock.starts_with("requests wait 9.0 ms of their 16.0 ms for locks;"),
            "{lock}"
        );
        let two = said(&[("a", locked), ("b", served(20, 1, 1))], 0);
        let words = "requests wait 7.5 ms of their 14.5 ms for locks, 100 % of it in a;";
        assert!(two.starts_with(words), "{two}");
        let mut starved = served(100, 20, 1);
        starved.cpu_ns /= 2;
        let starved = said(&[("a", starved)], 0);
        assert!(
            starved.contains("no CPU core for 10.0 ms of that"),
            "{starved}"
        );
        let mut queued = served(100, 1, 1);
        (queued.queue_ns, queued.queue_known) = (100 * 40_000_000, 100);
        let of_cores = "more cores shorten both; `powerband doctor` shows what limits CPU here.";
        for (held_ms, is_said) in [(20, true), (10, false)] {
            let mut without_core = served(100, held_ms, 1);
            (without_core.queue_ns, without_core.queue_known) = (100 * 40_000_000, 100);
            without_core.cpu_ns = 0;
            let without_core = said(&[("a", without_core)], 0);
            assert_eq!(without_core.ends_with(of_cores), is_said, "{without_core}");
        }
        let queued = said(&[("a", queued)], 0);
        let words = "requests wait 40.0 ms in the queue before they take 7.0 ms in the application, where 0.1 of 5 threads are busy on average";
        assert!(queued.starts_with(words), "{queued}");
        assert!(
            queued.contains("most threads are free on average")
                && !queued.contains("`powerband tune`")
        );
    }

    /// The page has one total, which is the application's.
    #[test]
    fn the_queue_is_no_part_of_the_total() {
        let mut queued = served(100, 10, 62);
        (queued.queue_ns, queued.queue_known) = (100 * 4_000_000, 100);
        let said = said(&[("a", queued)], 0);
        assert!(
            said.contains("62.0 ms a request for the GVL, of 77.0 ms in all"),
            "{said}"
        );
    }

    #[test]
    fn many_failed_requests_come_before_the_time_and_few_after_it() {
        let failing = |errors| Totals {
            server_errors: errors,
            ..served(50, 10, 62)
        };
        let of = |a, b| said(&[("a", failing(a)), ("b", failing(b))], 0);
        let time = "hreads wait 62.0 ms a request for the GVL";
        let begins = |a, b, words: &str| {
            let said = of(a, b);
            assert!(said.starts_with(words) && said.contains(time), "{said}");
        };
        let why = "; the application's log says why. T";
        let failed = "failed (5xx or an exception)";
        begins(
            9,
            1,
            &format!("10 of 100 requests {failed}, 9 of them in a{why}"),
        );
        begins(0, 5, &format!("5 of 100 requests {failed}, all in b{why}"));
        begins(
            50,
            50,
            &format!("all 100 requests {failed}, 50 of them in b{why}"),
        );
        let ends = |b, words: &str| {
            let said = of(0, b);
            assert!(said.starts_with(&format!("t{time}")), "{said}");
            assert!(said.ends_with(words), "{said}");
        };
        ends(4, &format!(" 4 of 100 requests {failed}, all in b."));
        ends(1, &format!(" 1 of 100 requests {failed}, in b."));
        ends(0, "more processes do better.");
        let one = Totals {
            server_errors: 1,
            ..served(1, 1, 1)
        };
        let said = said(&[("a", one)], 0);
        let words = "the only request failed (5xx or an exception); the application's log says why. Requests wait 5.0 ms";
        assert!(said.starts_with(words), "{said}");
    }

    #[test]
    fn few_requests_and_none() {
        assert!(
            said(&[("a", served(3, 1, 1))], 0).starts_with("Only 3 requests ended: requests wait")
        );
        assert_eq!(
            said(&[], 0),
            "No request ended within 5.0 s, and none is in progress."
        );
        assert!(
            said(&[], 5)
                .starts_with("No request ended within 5.0 s, and 5 in progress on 5 threads;")
        );
    }
}
