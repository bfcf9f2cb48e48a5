//! A leak looked for in a server that is started for it: rounds of requests, one at a time, with full collections after each; then
//! a dump of the heap, in which `heap` finds what each round left.
//!
//! A dump holds what the application holds, secrets among it. It is written by the server into the run folder, with mode 0600, read
//! here and deleted at every end.

mod door;

use crate::bench::{Bench, Installation};
use crate::error::{Failure, Stopped};
use crate::peers::{self, Peers};
use crate::progress::{Event, Watcher};
use crate::request::{Arm, Experiment};
use crate::server_kind::ServerKind;
use crate::trial::{Begun, Driver, Ended, Serving, WarmupLength, pages, with_server};
use crate::{discard, flights, layout};
use door::Door;
use flight::is_of_application;
use heap::{Dump, HeapError, Log, ROUNDS};
use run::Settings;
use run::leak::{Answer, Asked, Class, Document, Retained, SCHEMA};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The agent's variable: the token of its questions (`contract/setup-v1.md`).
const VARIABLE: &str = "POWERBAND_SETUP_LEAK";
/// Longest warm-up: caches that the first requests fill are no leak, and others fill in the rounds.
const WARMUP: Duration = Duration::from_secs(5);
/// Longest round.
const LONGEST_ROUND: Duration = Duration::from_secs(1800);
/// Of an endpoint with fewer requests, rounds differ too much by chance for most leaks to be surely ones.
const SELDOM: u64 = 15 * ROUNDS as u64;
/// Requests of all rounds, at least: where all are of one endpoint, rounds are alike and five of each are enough.
pub const LEAST_REQUESTS: u64 = 5 * ROUNDS as u64;
/// And at most.
pub const MOST_REQUESTS: u64 = 1_000_000;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Requests of all rounds together.
    pub requests: u64,
    /// Whether the dump and its log stay in the run folder.
    pub keep: bool,
}

/// Looks for a leak.
///
/// # Errors
/// A server that cannot be started or searched, and an interruption.
pub fn search(
    experiment: &Experiment,
    installation: &Installation,
    folder: &Path,
    question: Question,
    started_at: &str,
    watcher: &dyn Watcher,
) -> Result<Document, Stopped> {
    let (document, refused) = peers::watched(experiment, watcher, |peers| {
        searched(
            experiment,
            installation,
            folder,
            question,
            started_at,
            peers,
        )
    });
    refused.map_or(document, Err)
}

fn searched(
    experiment: &Experiment,
    installation: &Installation,
    folder: &Path,
    question: Question,
    started_at: &str,
    peers: &Peers<'_>,
) -> Result<Document, Stopped> {
    let watcher: &dyn Watcher = peers;
    let mut bench = Bench::set_up(experiment, installation, folder, peers)?;
    let configured = experiment
        .baseline
        .or_else(|| bench.own.configured_settings());
    let settings = one_at_a_time(
        configured.unwrap_or(experiment.kind.defaults()),
        experiment.kind,
    );
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let arm = Arm::of(settings);
    let door = Door::new()?;
    bench
        .own
        .env
        .insert(VARIABLE.to_owned(), door.token().to_owned());
    let serving = Serving {
        arm: &arm,
        warmup: WarmupLength {
            longest: WARMUP,
            slice: WARMUP / 10,
        },
        connections: 1,
        limit: None,
        seed: experiment.seed,
        pinning: layout::shared("the server has every core"),
        folder: folder.clone(),
        bursts: false,
    };
    watcher.on(Event::Note(format!(
        "server: {settings}, one request at a time; {} in {ROUNDS} rounds",
        run::counted(question.requests, "request")
    )));
    let began = Instant::now();
    let mut begun = Begun::default();
    let result = with_server(&bench, &serving, watcher, &mut begun, |driver| {
        let search = Search {
            experiment,
            driver,
            door: &door,
            watcher,
        };
        search
            .rounds(question.requests)
            .and_then(|files| search.read(&files))
    });
    let flight_dir = folder.join(flights::FOLDER);
    let versions = flights::versions(&flights::counters(&flight_dir));
    put_away(&flight_dir, question.keep.then_some(&folder));
    discard::discard(&folder, experiment);
    let seen = result.and_then(Ended::with_its_hook)?;
    let requests: u64 = seen.requests_by_round.iter().sum();
    let answer = match (seen.leaks.is_empty(), seen.undecided.is_empty()) {
        _ if requests < LEAST_REQUESTS => Answer::Undecided,
        (false, _) => Answer::Leak,
        (true, true) => Answer::None,
        (true, false) => Answer::Undecided,
    };
    Ok(Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started_at.to_owned(),
        elapsed_s: began.elapsed().as_secs_f64(),
        seed: experiment.seed,
        versions,
        app_dir: experiment.app_dir.display().to_string(),
        settings,
        sentence: sentence(answer, seen.leaks.len(), requests, &seen.undecided),
        requests_by_round: seen.requests_by_round,
        objects: seen.objects,
        bytes: seen.bytes,
        answer,
        exit_code: match answer {
            Answer::None => 0,
            Answer::Leak => 1,
            Answer::Undecided => 3,
        },
        leaks: seen.leaks,
        others: seen.others,
        seldom: seen.seldom,
        alive: seen.alive,
        warnings: too_few(requests, question.requests)
            .into_iter()
            .chain(bench.sender.warnings())
            .collect(),
    })
}

fn sentence(answer: Answer, leaks: usize, requests: u64, undecided: &[u64]) -> String {
    let of = run::counted(requests, "request");
    match answer {
        Answer::Leak => format!(
            "{} found: each of {ROUNDS} rounds, {of} in all, left objects that nothing frees.",
            run::counted(leaks, "leak")
        ),
        Answer::None => {
            format!("No leak found: of {of} in {ROUNDS} rounds nothing grows in every round.")
        }
        Answer::Undecided if requests < LEAST_REQUESTS => {
            format!("{of} in {ROUNDS} rounds are too few to find a leak.")
        }
        Answer::Undecided => format!(
            "Not decided: {of} in {ROUNDS} rounds left objects in {}, but too few to tell a leak from a cache. Send more: --requests {}.",
            run::counted(undecided.len(), "place"),
            enough(requests, undecided)
        ),
    }
}

/// Requests to send instead, in whole thousands: at least twice as many, and so many that about [`SELDOM`] of them leave something in each
/// undecided place.
fn enough(requests: u64, undecided: &[u64]) -> u64 {
    let fewest = undecided.iter().min().copied().unwrap_or(1).max(1);
    requests
        .saturating_mul(SELDOM)
        .div_ceil(fewest)
        .max(2 * requests)
        .div_ceil(1_000)
        .saturating_mul(1_000)
        .min(MOST_REQUESTS)
}

/// A warning where the application was asked less often than was wanted.
fn too_few(requests: u64, wanted: u64) -> Option<String> {
    (requests < wanted).then(|| {
        format!(
            "{} of {wanted} reached the application: each round ends after {} min, and requests that the server answers by itself are not counted.",
            run::counted(requests, "request"),
            LONGEST_ROUND.as_secs() / 60
        )
    })
}

/// The settings with one process and one thread: what is made while one request runs is then its own.
fn one_at_a_time(settings: Settings, kind: ServerKind) -> Settings {
    Settings {
        workers: u16::from(kind != ServerKind::Puma),
        threads: 1,
        preload: settings.preload && kind != ServerKind::Puma,
    }
}

/// A search under way.
struct Search<'a> {
    experiment: &'a Experiment,
    driver: &'a Driver<'a>,
    door: &'a Door,
    watcher: &'a dyn Watcher,
}

/// What the dump shows.
struct Seen {
    requests_by_round: Vec<u64>,
    objects: u64,
    bytes: u64,
    leaks: Vec<Retained>,
    others: Vec<Retained>,
    undecided: Vec<u64>,
    seldom: Vec<Asked>,
    alive: Vec<Class>,
}

/// What the server wrote.
struct Files {
    log: PathBuf,
    dump: PathBuf,
}

impl Search<'_> {
    fn rounds(&self, requests: u64) -> Result<Files, Failure> {
        let begun = Instant::now();
        let log = self.file("/begin")?;
        for round in 0..ROUNDS as u64 {
            self.step(round, begun);
            // Rounds differ by a request at most.
            let count = requests * (round + 1) / ROUNDS as u64 - requests * round / ROUNDS as u64;
            let outcome = self.driver.round(round, count, LONGEST_ROUND)?;
            pages::answer(&outcome, "in the rounds", Some(self.driver.server()))?;
            if round + 1 < ROUNDS as u64 {
                self.ask("/boundary")?;
            }
        }
        self.watcher.on(Event::Phase("dumping the heap"));
        let dump = self.file("/end")?;
        Ok(Files { log, dump })
    }

    fn step(&self, round: u64, begun: Instant) {
        let left = ROUNDS as f64 - round as f64;
        // Before the first has ended, nothing is known. The dump takes about as long as a round.
        let a_round = (round > 0).then(|| begun.elapsed().as_secs_f64() / round as f64);
        self.watcher.on(Event::Step {
            what: "rounds of requests",
            number: round as u32 + 1,
            of: ROUNDS as u32 + 1,
            left_s: a_round.map(|a_round| a_round * (left + 1.0)),
        });
    }

    fn ask(&self, path: &str) -> Result<door::Answer, Failure> {
        self.door.ask(self.driver.server(), path, self.watcher)
    }

    fn file(&self, path: &str) -> Result<PathBuf, Failure> {
        self.door.file(self.driver.server(), path, self.watcher)
    }

    fn read(&self, files: &Files) -> Result<Seen, Failure> {
        self.watcher.on(Event::Phase("reading the dump"));
        let log = Log::read(opened(&files.log)?).map_err(|e| unread(&files.log, &e))?;
        let dump = Dump::read(opened(&files.dump)?).map_err(|e| unread(&files.dump, &e))?;
        let own = roots(&self.experiment.app_dir);
        let is_own = |file: &str| own.iter().any(|root| is_of_application(file, root));
        let found = heap::search(&dump, &log, &is_own);
        // Two questions: Puma refuses a query of more than 10 KB, and all paths together may be longer.
        let mut names = self
            .ask(&format!("/names?{}", heap::unnamed(&found.leaks)))?
            .names;
        let others = self.ask(&format!("/names?{}", heap::unnamed(&found.others)))?;
        names.extend(others.names);
        let seldom = log
            .endpoints()
            .into_iter()
            .filter(|(_, count)| *count < SELDOM);
        Ok(Seen {
            requests_by_round: log.requests_by_round(),
            objects: dump.len() as u64,
            bytes: dump.bytes(),
            alive: heap::alive(&dump),
            leaks: heap::name(found.leaks, &names),
            others: heap::name(found.others, &names),
            undecided: found.undecided,
            seldom: seldom
                .map(|(name, requests)| Asked {
                    name: name.to_owned(),
                    requests,
                })
                .collect(),
        })
    }
}

/// The folder as it is named, and as Ruby names it where a link leads to it: `require` resolves links, and `load` does not.
fn roots(app_dir: &Path) -> Vec<String> {
    let canonical = app_dir.canonicalize().ok();
    let named = [Some(app_dir.to_owned()), canonical].into_iter().flatten();
    named.map(|folder| folder.display().to_string()).collect()
}

fn opened(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|e| unread(path, &HeapError::Io(e)))?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

fn unread(path: &Path, why: &HeapError) -> Failure {
    Failure::Trial(format!("{} cannot be read: {why}", path.display()))
}

/// Deletes the dump and its log, or moves them to where the user looks for them.
fn put_away(flight_dir: &Path, keep_in: Option<&PathBuf>) {
    let below = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = below(flight_dir).flat_map(|user| below(&user.path()));
    for file in files {
        let name = file.file_name();
        if !name.to_string_lossy().starts_with("leak-") {
            continue;
        }
        // Where it cannot be moved it is deleted: it holds secrets.
        let moved =
            keep_in.is_some_and(|folder| std::fs::rename(file.path(), folder.join(&name)).is_ok());
        if !moved {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_below_a_link_has_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let release = folder.path().canonicalize().unwrap().join("release");
        let current = folder.path().join("current");
        std::fs::create_dir(&release).unwrap();
        std::os::unix::fs::symlink(&release, &current).unwrap();
        let roots = roots(&current);
        for root in [&current, &release] {
            let file = root.join("app.rb").display().to_string();
            let is_own = roots.iter().any(|root| is_of_application(&file, root));
            assert!(is_own, "{file} of {roots:?}");
        }
    }

    #[test]
    fn dumps_are_deleted_or_kept_where_asked() {
        for keep in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let user = folder.path().join("flight/1000");
            std::fs::create_dir_all(&user).unwrap();
            for name in ["leak-7.dump", "leak-7.jsonl", "7.flight"] {
                std::fs::write(user.join(name), "x").unwrap();
            }
            let here = folder.path().to_owned();
            put_away(&folder.path().join("flight"), keep.then_some(&here));
            assert!(!user.join("leak-7.dump").exists() && !user.join("leak-7.jsonl").exists());
            assert!(user.join("7.flight").exists());
            assert_eq!(here.join("leak-7.dump").exists(), keep);
        }
    }

    #[test]
    fn fewer_requests_than_were_wanted_are_a_warning() {
        assert_eq!(too_few(600, 600), None);
        let said = too_few(120, 600).unwrap();
        assert!(said.starts_with("120 requests of 600 reached"), "{said}");
    }

    #[test]
    fn what_is_not_decided_names_the_requests_that_decide() {
        let said = |undecided: &[u64]| sentence(Answer::Undecided, 0, 600, undecided);
        assert_eq!(
            said(&[9, 40]),
            "Not decided: 600 requests in 6 rounds left objects in 2 places, but too few to tell a leak from a cache. Send more: --requests 6000."
        );
        assert!(said(&[80]).contains("in 1 place, ") && said(&[80]).ends_with(" --requests 2000."));
        assert_eq!(enough(900_000, &[1]), MOST_REQUESTS);
        assert!(sentence(Answer::Undecided, 0, 12, &[]).contains("too few to find a leak"));
    }

    #[test]
    fn one_process_with_one_thread_serves() {
        let asked = Settings {
            workers: 4,
            threads: 5,
            preload: true,
        };
        let puma = one_at_a_time(asked, ServerKind::Puma);
        assert_eq!((puma.workers, puma.threads, puma.preload), (0, 1, false));
        let pitchfork = one_at_a_time(asked, ServerKind::Pitchfork);
        assert_eq!(
            (pitchfork.workers, pitchfork.threads, pitchfork.preload),
            (1, 1, true)
        );
    }
}
