//! What the split says about the number of threads: Amdahl's law, T*, and the rule of thumb next to them.

use crate::traffic::useful_threads;
use run::inspect::{Process, Split, StepDown, StepVerdict, ThreadRow, Threads, Traffic};

/// The mean GVL wait that people accept.
const ACCEPTED_WAIT_MS: f64 = 75.0;
/// Below so many requests the means are of whatever came first.
const FEW: u64 = 100;
/// Beyond this share of held time without a processor, what follows from held is not the application's.
const MUCH_OF_HELD: f64 = 0.2;
/// A shorter time is 0.0 ms on the page.
const LEAST_SHOWN_MS: f64 = 0.05;
/// Rows of the table at most.
const ROWS: u32 = 16;

/// The advice for those that serve requests (or, for `one` = `job`, that run jobs); `None` without a split, or when
/// these neither held the GVL nor waited for I/O.
pub fn threads(traffic: &Traffic, one: &str, processes: &[Process]) -> Option<Threads> {
    let split = traffic.split?;
    let p = split.io_share_of_work?;
    let present = present(processes.iter().filter(|process| serves(process, one)));
    let server_held = traffic.server.and_then(|s| s.held_ms);
    let start = amdahl_threads(p);
    let mut advice = Threads {
        present,
        io_share_of_work: p,
        useful_threads: split.useful_threads,
        useful_threads_with_locks: split
            .lock_wait_ms
            .and_then(|locks| useful_threads(split.held_ms, split.io_ms + locks)),
        useful_threads_with_server: server_held
            .and_then(|held| useful_threads(split.held_ms + held, split.io_ms)),
        amdahl_limit: capacity::amdahl_limit(p).ok().filter(|l| l.is_finite()),
        amdahl_threads: start,
        table: table(p, split.useful_threads, present),
        step_down: present.and_then(|threads| step_down(traffic, threads, start)),
        plain: Vec::new(),
        sentences: Vec::new(),
    };
    let remedy = remedy_for_cores(processes.iter().filter(|p| serves(p, one)).count());
    advice.plain = plain(&advice, traffic, one, remedy);
    advice.sentences = sentences(&advice, traffic, one, remedy);
    Some(advice)
}

/// Whether a process served what is called `one`: a request or a job.
pub fn serves(process: &Process, one: &str) -> bool {
    match one {
        "job" => process.jobs > 0,
        _ => process.requests > process.jobs,
    }
}

/// The thread count that they all have.
pub fn present<'a>(processes: impl Iterator<Item = &'a Process>) -> Option<u32> {
    let mut counts = processes.map(|p| p.threads);
    let first = counts.next()??;
    counts.all(|count| count == Some(first)).then_some(first)
}

/// What frees cores.
fn remedy_for_cores(processes: usize) -> &'static str {
    match processes > 1 {
        true => "more cores, or fewer processes",
        false => "more cores",
    }
}

/// The count from which one more thread adds less than 5 %.
fn amdahl_threads(p: f64) -> u32 {
    capacity::amdahl_enough(p, capacity::WORTH_ONE_MORE).unwrap_or(1)
}

fn table(p: f64, useful: Option<f64>, present: Option<u32>) -> Vec<ThreadRow> {
    let speed = |n: u32| capacity::amdahl(p, n).unwrap_or(1.0);
    let enough = [
        useful.map_or(ROWS, |t| (t.ceil() as u32).saturating_add(1)),
        amdahl_threads(p) + 1,
        present.unwrap_or(0),
        4,
    ];
    let rows = enough.into_iter().max().unwrap_or(ROWS).min(ROWS);
    (1..=rows)
        .map(|threads| {
            let bound = useful.map_or(f64::from(threads), |t| t.min(f64::from(threads)));
            ThreadRow {
                threads,
                amdahl: speed(threads),
                amdahl_gain: (threads > 1)
                    .then(|| capacity::amdahl_gain(p, threads - 1).unwrap_or(0.0)),
                bound,
                // At one thread the GVL is held for the share that is no I/O.
                gvl_busy: (bound * (1.0 - p)).min(1.0),
            }
        })
        .collect()
}

fn step_down(traffic: &Traffic, threads: u32, start: u32) -> Option<StepDown> {
    let wait = traffic.gvl_wait?;
    Some(StepDown {
        limit_ms: ACCEPTED_WAIT_MS,
        mean_gvl_wait_ms: wait.mean_ms,
        p99_gvl_wait_ms: wait.p99_ms,
        verdict: verdict(wait.mean_ms, threads, start),
    })
}

fn verdict(mean_ms: f64, threads: u32, start: u32) -> StepVerdict {
    // A thread waits for the others: with one more of them about T / (T - 1) times as long.
    let others = f64::from(threads.saturating_sub(1));
    let with_one_more = match others {
        0.0 => 0.0,
        others => mean_ms * (others + 1.0) / others,
    };
    if threads > start || (mean_ms >= ACCEPTED_WAIT_MS && threads > 1) {
        StepVerdict::Lower
    } else if threads < start && with_one_more < ACCEPTED_WAIT_MS {
        StepVerdict::Room
    } else {
        StepVerdict::Keep
    }
}

/// One count, from where the time goes, and what to do about today's.
fn plain(advice: &Threads, traffic: &Traffic, one: &str, remedy: &str) -> Vec<String> {
    let Some(split) = traffic.split else {
        return Vec::new();
    };
    let mut said: Vec<String> = few(traffic, one).into_iter().collect();
    let Some(computed) = advice.useful_threads else {
        said.push(format!(
            "A {one} hardly runs Ruby, so that threads of a process do not wait for one another: memory and the database limit \
             their number."
        ));
        return said;
    };
    let useful = run::whole_threads(computed);
    let overloaded = much_starved(&split);
    said.push(format!(
        "A {one} runs Ruby for {:.1} ms and waits for the database or the network for {:.1} ms. A process runs Ruby in one thread \
         at a time, so that {} if no {one} waits for another (powerband calc threads counts these waits, too); more \
         threads wait for one another{}.",
        split.held_ms,
        split.io_ms,
        run::keep_busy(computed, "thread", "it"),
        match overloaded {
            Some(_) => "",
            None => ", and more processes serve more",
        }
    ));
    // A conclusion about a count that is too low would mislead.
    let present = advice
        .present
        .map(f64::from)
        .filter(|_| overloaded.is_none());
    said.extend(present.map(|present| match present {
        present if present > useful + 1.0 => format!(
            "Today each has {}, more than that: powerband tune measures whether fewer serve as much.",
            threads_of(present)
        ),
        present if present < useful => format!(
            "Today each has {}, fewer than that: powerband tune measures what more would bring.",
            threads_of(present)
        ),
        present => format!("Today each has {}, about that many.", threads_of(present)),
    }));
    if split.lock_wait_ms.is_none() {
        said.push(
"A part of the waiting may be for locks or pooled connections, which this recording does not tell apart; then fewer \
             threads are enough.".to_owned());
    }
    if let Some(starved_ms) = overloaded {
        let figures = match starved_ms >= LEAST_SHOWN_MS {
            true => format!(
                ": for {starved_ms:.1} of the {:.1} ms a thread had no core",
                split.held_ms
            ),
            false => String::new(),
        };
        said.push(format!(
            "The cores were overloaded{figures}. On free cores a {one} runs Ruby for less \
             time, so that more threads than these would be useful. Conclude nothing about threads here: give the server {remedy}, \
             and measure again."
        ));
    }
    said
}

/// Time that the GVL was held without a processor, where it matters.
fn much_starved(split: &Split) -> Option<f64> {
    split
        .starved_ms
        .filter(|ms| *ms > MUCH_OF_HELD * split.held_ms)
}

fn few(traffic: &Traffic, one: &str) -> Option<String> {
    (traffic.requests < FEW).then(|| {
        format!(
            "{} {} are too few: these figures need at least {FEW}, under the load that you care about.",
            traffic.requests,
            if traffic.requests == 1 { one.to_owned() } else { format!("{one}s") }
        )
    })
}

fn sentences(advice: &Threads, traffic: &Traffic, one: &str, remedy: &str) -> Vec<String> {
    let mut said = Vec::new();
    let Some(split) = traffic.split else {
        return said;
    };
    said.extend(few(traffic, one));
    said.push(match advice.useful_threads {
        Some(t) => format!(
            "A {one} runs Ruby for {:.1} ms and does I/O for {:.1} ms, so that T* = 1 + I/O / held = {t:.1}: {} would keep one \
             process's GVL busy if {one}s never waited for one another; more threads only wait for it, and more processes help instead.",
            split.held_ms,
            split.io_ms,
            threads_of(run::whole_threads(t))
        ),
        None => format!("A {one} holds the GVL for no measurable time: T* sets no limit."),
    });
    if let Some(starved) = much_starved(&split).filter(|ms| *ms >= LEAST_SHOWN_MS) {
        said.push(format!(
            "For {starved:.1} ms of each {one} its thread held the GVL and had no core. If the cores are overloaded, that is \
             not work: the time held is then too long and T* too low; give the server {remedy} first."
        ));
    }
    if split.lock_wait_ms.is_none() {
        said.push("Lock wait was not measured apart and is a part of I/O, so that T* is an upper limit: waits for a mutex or a \
                   connection make it too high.".to_owned());
    } else if let (Some(with), Some(t), Some(locks_ms)) = (
        advice.useful_threads_with_locks,
        advice.useful_threads,
        split.lock_wait_ms,
    ) && with >= t + 0.1
    {
        said.push(format!(
            "Lock wait, {locks_ms:.1} ms a {one}, is not counted as I/O: with it T* would be {with:.1}, and would grow with the \
             number of threads. More threads queue for the same lock: look at the pool and at mutexes before you add threads."
        ));
    }
    said.push(match advice.amdahl_limit {
        Some(limit) => format!(
            "Amdahl's law with p = {:.2} (I/O / (I/O + held)): at most {limit:.2} times one thread; beyond {}, one more adds less than 5 %.",
            advice.io_share_of_work,
            threads_of(advice.amdahl_threads.into())
        ),
        None => "Amdahl's law sets no limit: all of the work is I/O.".to_owned(),
    });
    if let (Some(step), Some(present)) = (advice.step_down, advice.present) {
        let exact = traffic.gvl_wait.is_some_and(|wait| wait.exact);
        said.push(rule_of_thumb(step, present, advice.amdahl_threads, exact));
        if let Some(busy) = traffic
            .busy_threads
            .filter(|b| *b < f64::from(present) / 2.0)
        {
            said.push(format!(
                "That wait was measured under light load: with {present} threads, {busy:.1} {one}s were in progress when one \
                 began, itself included. Under more load each waits longer."
            ));
        }
    }
    said.push("All of this assumes that I/O takes as long with more threads, which is wrong for a database that slows down \
               under them: powerband tune measures the few counts that are worth it.".to_owned());
    said
}

fn rule_of_thumb(step: StepDown, present: u32, start: u32, exact: bool) -> String {
    let says = match step.verdict {
        StepVerdict::Lower if present > start => format!("lower: begin with {start}"),
        StepVerdict::Lower => format!("lower: try {} and measure again", present - 1),
        StepVerdict::Keep => "keep".to_owned(),
        StepVerdict::Room => format!("there is room: try {}", present + 1),
    };
    let tail = step.p99_gvl_wait_ms.map_or(String::new(), |ms| {
        let bound = if exact { "" } else { "≤" };
        format!(", p99 {bound}{ms:.1} ms")
    });
    format!(
        "Rule of thumb (begin with Amdahl's {start}, lower it until the mean GVL wait is under {:.0} ms): with {} today the mean wait is {:.1} ms{tail}; {says}.",
        step.limit_ms,
        threads_of(present.into()),
        step.mean_gvl_wait_ms
    )
}

fn threads_of(count: f64) -> String {
    match count {
        1.0 => "1 thread".to_owned(),
        _ => format!("{count} threads"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amdahls_count_at_five_per_cent() {
        assert_eq!(amdahl_threads(0.37), 3);
        assert_eq!(amdahl_threads(0.0), 1);
        assert_eq!(amdahl_threads(1.0), 21);
    }

    #[test]
    fn overloaded_cores_leave_no_conclusion_about_threads() {
        let sample = include_str!("../../../contract/samples/inspect/wide.json");
        let document: run::inspect::Document = serde_json::from_str(sample).unwrap();
        let (advice, mut traffic) = (document.threads.unwrap(), document.requests.unwrap());
        let split = traffic.split.as_mut().unwrap();
        (split.held_ms, split.starved_ms) = (10.0, Some(1.0));
        let said =
            |traffic: &Traffic| plain(&advice, traffic, "request", remedy_for_cores(2)).join(" ");
        let free = said(&traffic);
        assert!(free.contains("Today each has"), "{free}");
        let bound = "it busy if no request waits for another (powerband calc threads counts these waits, too)";
        assert!(free.contains(bound), "{free}");
        traffic.split.as_mut().unwrap().starved_ms = Some(8.0);
        let short = said(&traffic);
        assert!(
            !short.contains("Today each has") && !short.contains("more processes"),
            "{short}"
        );
        assert!(
            short.contains("for 8.0 of the 10.0 ms a thread had no core"),
            "{short}"
        );
        assert!(short.contains("more cores, or fewer processes"), "{short}");
        let split = traffic.split.as_mut().unwrap();
        (split.held_ms, split.starved_ms) = (0.04, Some(0.03));
        let tiny = said(&traffic);
        assert!(
            !tiny.contains("0.0 of the 0.0 ms")
                && tiny.contains("The cores were overloaded. On free cores"),
            "{tiny}"
        );
        let split = traffic.split.as_mut().unwrap();
        (split.held_ms, split.starved_ms) = (10.0, Some(8.0));
        let single = plain(&advice, &traffic, "request", remedy_for_cores(1)).join(" ");
        assert!(!single.contains("fewer processes"), "{single}");
    }

    /// p = 3/4: T* = 4, one thread holds the GVL a quarter of its time.
    #[test]
    fn the_table_grows_to_what_is_asked_of_it() {
        let rows = table(0.75, Some(4.0), Some(2));
        let two = rows[1];
        assert!((two.amdahl - 1.6).abs() < 1e-12 && (two.bound - 2.0).abs() < 1e-12);
        assert!((two.gvl_busy - 0.5).abs() < 1e-12);
        assert!((two.amdahl_gain.unwrap() - 0.6).abs() < 1e-12);
        assert_eq!((rows[7].bound, rows[7].gvl_busy), (4.0, 1.0));
        assert_eq!(table(0.0, Some(1.0), Some(99)).len(), 16);
        assert_eq!(table(1.0, None, None).len(), 16);
    }

    fn step(mean_gvl_wait_ms: f64, threads: u32, start: u32) -> StepDown {
        StepDown {
            limit_ms: ACCEPTED_WAIT_MS,
            mean_gvl_wait_ms,
            p99_gvl_wait_ms: None,
            verdict: verdict(mean_gvl_wait_ms, threads, start),
        }
    }

    #[test]
    fn the_rule_of_thumb() {
        // The article's: 110 ms at 4, 79 at 3.
        assert_eq!(verdict(110.0, 4, 4), StepVerdict::Lower);
        assert_eq!(verdict(79.0, 3, 4), StepVerdict::Lower);
        assert_eq!(verdict(60.0, 3, 4), StepVerdict::Keep);
        assert_eq!(verdict(20.0, 3, 4), StepVerdict::Room);
        assert_eq!(verdict(20.0, 4, 4), StepVerdict::Keep);
        // More than it begins with, whatever the wait of this hour.
        assert_eq!(verdict(20.0, 5, 4), StepVerdict::Lower);
        assert!(rule_of_thumb(step(20.0, 5, 2), 5, 2, true).ends_with("begin with 2."));
        assert!(rule_of_thumb(step(79.0, 3, 4), 3, 4, true).contains("try 2 and"));
        assert_eq!(verdict(0.0, 1, 2), StepVerdict::Room);
        assert_eq!(verdict(200.0, 1, 1), StepVerdict::Keep);
    }
}
