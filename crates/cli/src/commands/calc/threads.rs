//! `calc threads`.

use super::counts::counts;
use super::given::{Given, number, part, some_time_s, time_s, whole};
use crate::args::ThreadsArgs;
use capacity::{Binding, Config, Demand, throughput_bounds};
use run::calc::{BoundBy, Document, Threads, ThreadsRow};

/// Where the search for the count that is enough ends.
const MOST: u16 = 256;

/// What was asked, checked.
struct Server {
    demand: Demand,
    cores: f64,
    processes: u16,
}

impl Server {
    fn with(&self, threads: u16) -> Config {
        Config {
            workers: self.processes,
            threads,
        }
    }

    fn throughput(&self, threads: u16) -> Option<f64> {
        let prediction = capacity::predict(&self.demand, self.cores, self.with(threads)).ok()?;
        Some(prediction.throughput)
    }

    fn one_more_adds(&self, threads: u16) -> Option<f64> {
        Some(self.throughput(threads + 1)? / self.throughput(threads)? - 1.0)
    }

    fn row(&self, threads: u16) -> Option<ThreadsRow> {
        let config = self.with(threads);
        let (binding, bound) = throughput_bounds(&self.demand, self.cores, config)
            .ok()?
            .binding();
        let prediction = capacity::predict(&self.demand, self.cores, config).ok()?;
        Some(ThreadsRow {
            threads: threads.into(),
            bound_per_s: bound,
            bound_by: bound_by(binding),
            throughput_per_s: prediction.throughput,
            // Rounding leaves 1e-16 of either sign where nothing is added.
            one_more_adds: self.one_more_adds(threads)?.max(0.0),
            response_ms: prediction.response_s * 1e3,
            gvl_wait_ms: prediction.gvl_wait_s.max(0.0) * 1e3,
            gvl_busy: prediction.utilisation_gvl,
            cores_busy: prediction.utilisation_cpu,
        })
    }
}

/// The bounds and the curve for what was asked.
pub fn threads(args: &ThreadsArgs, given: &mut Given) -> Option<Document> {
    let (server, worth, last) = server(args, given)?;
    let demand = &server.demand;
    let useful = capacity::useful_threads(demand.held_s(), demand.io_s()).ok()?;
    let enough = (1..MOST)
        .find(|n| server.one_more_adds(*n).is_some_and(|gain| gain < worth))
        .unwrap_or(MOST);
    let bounds = throughput_bounds(demand, server.cores, server.with(1)).ok()?;
    let finite = |value: f64| value.is_finite().then_some(value);
    let up_to = match useful.is_finite() {
        true => useful.min(f64::from(MOST)).ceil() as u32,
        false => 1,
    };
    let last = last.unwrap_or((up_to.max(enough.into()) + 2).clamp(4, MOST.into()));
    let rows = counts(last, &[enough.into(), up_to]);
    let threads = Threads {
        held_ms: demand.held_s() * 1e3,
        io_ms: demand.io_s() * 1e3,
        native_ms: demand.native_s() * 1e3,
        lock_ms: demand.lock_s() * 1e3,
        cores: server.cores,
        processes: server.processes.into(),
        useful_threads: finite(useful),
        gvl_bound_per_s: finite(bounds.gvl),
        lock_bound_per_s: finite(bounds.lock),
        cores_bound_per_s: finite(bounds.cores),
        worth,
        enough: enough.into(),
        rows: rows
            .into_iter()
            .filter_map(|n| server.row(n as u16))
            .collect(),
    };
    let at_enough = server.row(enough)?;
    Some(Document {
        sentence: sentence(&threads, &at_enough),
        assumptions: assumptions(),
        warnings: warnings(&threads, &at_enough),
        threads: Some(threads),
        ..super::blank()
    })
}

fn server(args: &ThreadsArgs, given: &mut Given) -> Option<(Server, f64, Option<u32>)> {
    let held = given.required(
        &args.held,
        "--held",
        "give the time in which a request holds the GVL, such as --held 20ms; powerband inspect measures it",
        time_s,
    );
    let io = given.required(
        &args.io,
        "--io",
        "give the time in which it waits without the GVL, such as --io 30ms; powerband inspect measures it",
        time_s,
    );
    let cores = given.required(
        &args.cores,
        "--cores",
        "give the cores that the server's processes share, such as --cores 2",
        |a| number(a, 0.01, 4096.0, "of cores from 0.01 to 4096"),
    );
    let native = given.optional(&args.native, "--native", time_s);
    let lock = given.optional(&args.lock, "--lock", some_time_s);
    let processes = given.optional(&args.processes, "--processes", |a| {
        whole(a, 1, 1024, "processes")
    });
    let worth = given.optional(&args.worth, "--worth", part);
    let last = given.optional(&args.up_to, "--up-to", |a| {
        whole(a, 1, MOST.into(), "threads")
    });
    let demand = given.formula(
        "--held, --io",
        "give a time that is over 0",
        Demand::new(held?, io?, native.unwrap_or(0.0)),
    )?;
    let demand = match lock {
        None => demand,
        Some(lock) => given.formula(
            "--lock",
            "give the time in which a request has the lock, not the time for which it waits",
            demand.with_lock(lock),
        )?,
    };
    let server = Server {
        demand,
        cores: cores?,
        processes: processes.unwrap_or(1) as u16,
    };
    Some((server, worth.unwrap_or(capacity::WORTH_ONE_MORE), last))
}

fn bound_by(binding: Binding) -> BoundBy {
    match binding {
        Binding::Threads => BoundBy::Threads,
        Binding::Gvl => BoundBy::Gvl,
        Binding::Lock => BoundBy::Lock,
        Binding::Cores => BoundBy::Cores,
    }
}

/// One count and one reason; the formulas are in docs/calc.md.
fn sentence(threads: &Threads, at: &ThreadsRow) -> String {
    let most = [
        (
            threads.gvl_bound_per_s,
            "the GVL allows",
            "requests then wait for one another to run Ruby (the GVL lets one thread of a process at a time)",
        ),
        (
            threads.lock_bound_per_s,
            "the lock allows",
            "requests then wait for one another's lock",
        ),
        (
            threads.cores_bound_per_s,
            "the cores allow",
            "the cores are then nearly always busy",
        ),
    ];
    let least = most
        .into_iter()
        .filter_map(|(bound, who, why)| Some((bound?, who, why)))
        .reduce(|a, b| if b.0 < a.0 { b } else { a });
    let (reached, because) = match least {
        Some((bound, who, why)) => (
            format!(
                "{:.1} requests a second, {:.0} % of the {bound:.1} that {who}",
                at.throughput_per_s,
                at.throughput_per_s / bound * 100.0
            ),
            why,
        ),
        None => (
            format!("{:.1} requests a second", at.throughput_per_s),
            "it adds its own share alone: the GVL is never held, and no thread waits for another",
        ),
    };
    let waits = match threads.gvl_bound_per_s {
        Some(_) => format!("; a request waits {:.1} ms for the GVL", at.gvl_wait_ms),
        None => String::new(),
    };
    let threads_each = match at.threads {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    };
    let who = match threads.processes {
        1 => format!("1 process needs {threads_each}: it reaches"),
        n => format!("{n} processes need {threads_each} each: they reach"),
    };
    format!(
        "{who} {reached}. One more thread adds {:.1} %, less than {:.0} %, because {because}{waits}.",
        at.one_more_adds * 100.0,
        threads.worth * 100.0,
    )
}

fn assumptions() -> Vec<String> {
    [
        "Every thread always has a request (saturation). At a lower rate requests wait less for the GVL and do not queue.",
        "I/O takes as long with many threads as with few. Once the database or an upstream slows down, more threads are worth \
         less than this, or harm: measure again with more.",
        "The stretches in which a request runs Ruby have exponential lengths, and are served in their order. With more regular \
         ones requests wait less and fewer threads are enough. Waits for a lock or a pooled connection that were counted as I/O \
         make the count too high.",
        "Left out are garbage collection, the GVL's time slice of 100 ms, and the server's own work.",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn warnings(threads: &Threads, at: &ThreadsRow) -> Vec<String> {
    let mut warnings = Vec::new();
    if threads.enough >= MOST.into() {
        warnings.push(format!(
            "Even thread {MOST} adds more than {:.0} %: with so little GVL time the limit is memory, the database or the \
             connection pool, which are not in this model.",
            threads.worth * 100.0
        ));
    }
    let full = threads.cores.floor().max(1.0);
    if at.bound_by == BoundBy::Cores && f64::from(threads.processes) > full {
        warnings.push(format!(
            "{} processes share {} cores: the cores are the limit, so that fewer processes may do about as much in less memory; \
             --processes {full:.0} shows how much.",
            threads.processes, threads.cores
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(held: &str, io: &str, cores: &str) -> ThreadsArgs {
        let text = |t: &str| Some(t.to_owned());
        ThreadsArgs {
            held: text(held),
            io: text(io),
            cores: text(cores),
            native: None,
            lock: None,
            processes: None,
            worth: None,
            up_to: None,
        }
    }

    /// Held 5, I/O 15, by hand in fractions: 1/20, 8/85, 17/130 a millisecond.
    #[test]
    fn one_process_is_the_machine_repairman() {
        let document = threads(&asked("5ms", "15ms", "2"), &mut Given::default()).unwrap();
        let found = document.threads.unwrap();
        assert_eq!(found.useful_threads, Some(4.0));
        assert_eq!(found.gvl_bound_per_s, Some(200.0));
        assert_eq!(found.lock_bound_per_s, None);
        for (row, per_s) in found
            .rows
            .iter()
            .zip([50.0, 8000.0 / 85.0, 17000.0 / 130.0])
        {
            assert!((row.throughput_per_s / per_s - 1.0).abs() < 1e-9, "{row:?}");
        }
        assert!(
            document.sentence.starts_with(&format!(
                "1 process needs {} threads: it reaches",
                found.enough
            )),
            "{}",
            document.sentence
        );
        assert_eq!(document.sentence.matches(" threads").count(), 1);
        assert!(document.sentence.contains("to run Ruby (the GVL"));
        for said in [
            &document.sentence,
            &document.assumptions.join(" "),
            &document.warnings.join(" "),
        ] {
            assert!(!said.contains("T*"), "{said}");
        }
    }

    /// Each thread's gain is above the threshold before the count that is enough, and below it there.
    #[test]
    fn the_count_that_is_enough_is_the_first() {
        let mut args = asked("20ms", "30ms", "2");
        args.processes = Some("2".to_owned());
        let found = threads(&args, &mut Given::default())
            .unwrap()
            .threads
            .unwrap();
        for row in &found.rows {
            assert_eq!(
                row.one_more_adds < 0.05,
                row.threads >= found.enough,
                "{row:?}"
            );
            assert!(row.throughput_per_s <= row.bound_per_s * (1.0 + 1e-9));
        }
    }

    #[test]
    fn everything_wrong_is_reported_at_once() {
        let mut args = asked("-5ms", "soon", "0");
        (args.lock, args.processes) = (Some("0s".to_owned()), Some("0".to_owned()));
        let mut given = Given::default();
        assert!(threads(&args, &mut given).is_none());
        assert_eq!(given.problems.len(), 5, "{:?}", given.problems);
        let mut given = Given::default();
        assert!(threads(&asked("0s", "0s", "1"), &mut given).is_none());
        assert_eq!(given.problems.len(), 1);
    }

    #[test]
    fn fewer_processes_are_not_promised_to_do_as_much() {
        let mut args = asked("16.22ms", "2.48ms", "2");
        args.processes = Some("3".to_owned());
        let said = threads(&args, &mut Given::default()).unwrap().warnings;
        assert_eq!(
            said,
            [
                "3 processes share 2 cores: the cores are the limit, so that fewer processes may do about as much in less memory; \
                 --processes 2 shows how much."
            ]
        );
    }

    #[test]
    fn pure_waiting_has_no_limit_but_its_threads() {
        let document = threads(&asked("0s", "10ms", "1"), &mut Given::default()).unwrap();
        let found = document.threads.unwrap();
        assert_eq!((found.useful_threads, found.gvl_bound_per_s), (None, None));
        assert!(document.sentence.contains("never held"));
        // 1/20 is 5 %, which is not less.
        assert_eq!(found.enough, 21);
    }
}
