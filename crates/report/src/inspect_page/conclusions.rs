//! What a request's user waits for, longest first, in plain words: queues before the application, then its parts.

use super::ms;
use super::part_of_time::Part;
use super::queue_cause::{self, Uneven};
use crate::figures::percent;
use crate::sheet::Sheet;
use run::inspect::{CalculatedQueue, Document, ProcessState, Traffic};
use std::collections::BTreeSet;

/// A queue that is less than this part of the whole is not worth a sentence.
const WORTH_A_SENTENCE: f64 = 0.1;
/// A shorter queue before free threads, ms, needs no cause but the server itself.
const SHORT_MS: f64 = 5.0;
const SHORT_WAIT: &str = "So short a wait arises while a server accepts and reads a request; a worker of Puma's cluster leaves a connection \
                          to a less busy one for up to 5 ms (wait_for_less_busy_worker).";
/// From this share of busy threads on, a request that arrives seldom finds a free one.
const MOST_BUSY: f64 = 0.8;
/// A queue that is longer than by formula this many times contradicts the formula.
const BEYOND_FORMULA: f64 = 3.0;

/// What served it, as far as all of its processes have it in common.
#[derive(Debug, Clone, Copy, Default)]
pub struct Served {
    /// Threads of each.
    pub threads: Option<u32>,
    /// Threads that keep one busy.
    pub useful_threads: Option<f64>,
    /// Processes that run, or where none does, all of them.
    pub processes: u32,
    pub jobs: bool,
    /// One of them that took most requests.
    pub uneven: Option<Uneven>,
    /// The queue by formula.
    pub calculated: Option<CalculatedQueue>,
}

impl Served {
    pub fn of(document: &Document, jobs: bool) -> Served {
        let all = document.processes.iter();
        let serving: Vec<_> = all
            .filter(|process| match jobs {
                true => process.jobs > 0,
                false => process.requests > process.jobs,
            })
            .collect();
        let live = serving.iter().filter(|p| p.state == ProcessState::Live);
        let processes = match live.count() {
            0 => serving.len(),
            live => live,
        };
        let threads: BTreeSet<Option<u32>> = serving.iter().map(|p| p.threads).collect();
        let threads = (threads.len() == 1).then(|| threads.first().copied().flatten());
        Served {
            threads: threads.flatten(),
            useful_threads: document
                .threads
                .as_ref()
                .and_then(|advice| advice.useful_threads),
            processes: u32::try_from(processes).unwrap_or(u32::MAX),
            jobs,
            uneven: Uneven::of(document).filter(|_| !jobs),
            calculated: document.calculated_queue.filter(|_| !jobs),
        }
    }
}

/// The sentences.
pub fn write(sheet: &mut Sheet, traffic: &Traffic, served: Served) {
    let wall = traffic.wall.mean_ms;
    let queue = traffic.queue.map_or(0.0, |queue| queue.mean_ms);
    let whole = wall + queue;
    let part = if whole > 0.0 { queue / whole } else { 0.0 };
    let inside = Part::largest(traffic);
    let queue_first = queue > inside.map_or(wall, |part| part.share * wall);
    let mut sentences = Vec::new();
    if part >= WORTH_A_SENTENCE {
        sentences.push(queue_words(traffic, queue, part, served));
    }
    if let Some(part) = inside {
        let at = if queue_first { sentences.len() } else { 0 };
        let place = match sentences.is_empty() {
            true => "of its time",
            false => "of its time in the application",
        };
        sentences.insert(at, largest(part, place));
    }
    sentences.iter().for_each(|sentence| sheet.prose(sentence));
    let share_of_work = traffic.split.and_then(|s| s.io_share_of_work);
    if let Some(p) = share_of_work.filter(|_| sheet.is_full()) {
        sheet.prose(&format!(
            "Waits for the GVL and for locks left out, I/O is {} of a request's time: I/O / (I/O + GVL held).",
            percent(p)
        ));
    }
}

/// The largest part in plain words, and what shortens it.
fn largest(part: Part, place: &str) -> String {
    format!(
        "{} {place}, {}, it {}{}",
        most(part.share),
        percent(part.share),
        part.words(),
        part.remedy()
    )
}

fn most(share: f64) -> &'static str {
    if share > 0.5 {
        "Most"
    } else {
        "The largest part"
    }
}

fn queue_words(traffic: &Traffic, queue: f64, part: f64, served: Served) -> String {
    let enough_threads = served.threads.zip(served.useful_threads);
    let enough_threads = enough_threads
        .is_some_and(|(threads, useful)| f64::from(threads) >= run::whole_threads(useful));
    let (one, who) = match (served.jobs, enough_threads) {
        (true, _) => ("job", "threads that run jobs"),
        (false, true) => ("request", "processes on free cores"),
        (false, false) => ("request", "threads or processes"),
    };
    let mut text = format!(
        "A {one} waits {} ms before the application and {} ms in it: {} of the whole is queue time. ",
        ms(queue),
        ms(traffic.wall.mean_ms),
        percent(part)
    );
    let more = match traffic.split {
        _ if queue_cause::waits_for_core(traffic).is_some() => {
            "Its threads wait for a core already: faster code or more cores shorten the queue, more processes or threads do not."
        }
        Some(split) if split.io_share + split.lock_wait_share.unwrap_or(0.0) < 0.5 => {
            "More processes on free cores shorten the queue; more threads of a process wait for its GVL."
        }
        Some(_) if enough_threads => {
            "More processes on free cores shorten the queue; each has as many threads as keep it busy."
        }
        Some(_) => "More threads or more processes shorten the queue.",
        None => "More processes shorten the queue.",
    };
    let busy = traffic.busy_threads.zip(served.threads);
    text.push_str(&match busy {
        Some((busy, threads)) if busy >= MOST_BUSY * f64::from(threads) => format!(
            "When one began, {busy:.1} of the {threads} threads of its process were busy: there are too few {who} for the rate \
             at which {one}s arrive. {more}"
        ),
        Some((busy, threads)) if served.jobs => format!(
            "When one began, {busy:.1} of the {threads} threads of its process were busy: the jobs waited for something else, such \
             as queues that these processes do not serve first, or a start that was planned for later."
        ),
        Some((busy, threads)) => {
            let free = format!(
                "When one began, {busy:.1} of the {threads} threads of its process were busy, so that on average a thread was free. "
            );
            if queue < SHORT_MS {
                // The formula has no such wait and would deny it.
                return text + &free + SHORT_WAIT;
            }
            let cause = queue_cause::likely(traffic, served.uneven, served.processes)
                .unwrap_or_else(|| queue_cause::by_distribution(traffic, one, who));
            if contradicts(queue, served.calculated) {
                // Its sentence would be a second explanation.
                return text + &free + &cause;
            }
            free + &cause
        }
        None => format!(
            "Too few {who} for the rate at which {one}s arrive make such a queue, and so does a proxy that holds {one}s back. {more}"
        ),
    });
    text.push_str(&by_formula(queue, served.calculated));
    text
}

/// Whether the formula gives a much shorter queue than was measured.
fn contradicts(queue: f64, calculated: Option<CalculatedQueue>) -> bool {
    let wait_ms = calculated.and_then(|c| c.wait_ms);
    wait_ms.is_some_and(|wait_ms| queue > BEYOND_FORMULA * wait_ms)
}

/// The command for other numbers, where its formula agrees with what was measured.
fn by_formula(queue: f64, calculated: Option<CalculatedQueue>) -> String {
    let Some((calculated, wait_ms)) = calculated.and_then(|c| Some((c, c.wait_ms?))) else {
        return String::new();
    };
    let rate = number(calculated.rate_per_s);
    if contradicts(queue, Some(calculated)) {
        return format!(
            " {rate} requests a second were answered. Requests that arrive at random at that rate wait {} ms by formula (powerband calc \
             queue): for a time more arrived than were answered, or they waited before the server.",
            ms(wait_ms)
        );
    }
    format!(
        " For other numbers: powerband calc queue --rate {rate} --service {}ms --servers {}; {rate} a second is what was answered.",
        number(calculated.service_ms),
        calculated.servers
    )
}

/// As `calc` takes it: no grouping.
fn number(number: f64) -> String {
    match number {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 1.0 => format!("{n:.1}"),
        n => format!("{n:.3}"),
    }
}
