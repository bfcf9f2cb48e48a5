//! What servers do around an application, by version, as `bench/server` measures it with a trivial application: for traces that do not
//! hold it.

use std::path::PathBuf;

use crate::PredictError;
use crate::front;
use crate::reading;
use crate::server::Server;
use crate::server_overhead::{LEAST_ADDRESS_NS, ServerOverhead};
use crate::steps::Piece;
use small_sort::SmallSort;

const TABLE: &str = include_str!("calibrated.tsv");

/// Of a server without a row: an accept, as traces of Puma 6.6 have it.
const USUAL_FRONT_NS: u64 = 60_000;
const US: u64 = 1_000;

/// What was measured of one version of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Calibrated {
    /// `puma 6.6.0 on Ruby 3.3.8`; `None` where no version of the server was measured, as in a row with 0 requests.
    pub measured_with: Option<String>,
    pub accept_ns: u64,
    pub reactor_ns: u64,
    /// The course around the application with nothing for the peer's address; `None` where each request's record has it.
    pub around: Option<ServerOverhead>,
}

/// The version that is nearest below this server's, else the oldest.
pub(crate) fn of(server: &Server) -> Calibrated {
    nearest(TABLE, server)
}

fn nearest(table: &str, server: &Server) -> Calibrated {
    let mut words = server.name.split_whitespace();
    let (name, version) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let mut rows: Vec<Row<'_>> = table.lines().filter_map(Row::of).collect();
    rows.retain(|row| row.server == name);
    rows.small_sort_by_key(|row| numbers(row.version));
    let below = |row: &&Row<'_>| numbers(row.version) <= numbers(version);
    let found = rows.iter().rev().find(below).or(rows.first());
    found.map_or(
        Calibrated {
            measured_with: None,
            accept_ns: USUAL_FRONT_NS,
            reactor_ns: USUAL_FRONT_NS,
            around: None,
        },
        Row::calibrated,
    )
}

/// Major, minor and the others, as numbers.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split('.');
    parts.map_while(|part| part.parse().ok()).collect()
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
struct Row<'t> {
    server: &'t str,
    version: &'t str,
    ruby: &'t str,
    front_us: (u64, u64),
    before: &'t str,
    after: &'t str,
    requests: u64,
}

impl<'t> Row<'t> {
    fn of(line: &'t str) -> Option<Row<'t>> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [
            server,
            version,
            ruby,
            accept,
            reactor,
            before,
            after,
            requests,
        ] = columns[..]
        else {
            return None;
        };
        let front_us = (accept.parse().ok()?, reactor.parse().ok()?);
        (!server.starts_with('#')).then_some(Row {
            server,
            version,
            ruby,
            front_us,
            before,
            after,
            requests: requests.parse().ok()?,
        })
    }

    fn calibrated(&self) -> Calibrated {
        let around = pieces(self.before).zip(pieces(self.after));
        Calibrated {
            measured_with: (self.requests > 0)
                .then(|| format!("{} {} on Ruby {}", self.server, self.version, self.ruby)),
            accept_ns: self.front_us.0 * US,
            // Where hardly any connection came by it, its CPU time says nothing of one that does.
            reactor_ns: match self.front_us.1 {
                0 => USUAL_FRONT_NS,
                us => us * US,
            },
            around: around.map(|(before, after)| ServerOverhead::of(before, after)),
        }
    }
}

/// `held 15, away 4, address`; `None` for what is no such list.
fn pieces(text: &str) -> Option<Vec<Piece>> {
    let piece = |words: &str| match words.split_once(' ') {
        None if words == "answer" => Some(Piece::Answer),
        None if words == "address" => Some(Piece::Away(0)),
        Some(("held", us)) => Some(Piece::Held(us.parse::<u64>().ok()? * US)),
        Some(("away", us)) => Some(Piece::Away(us.parse::<u64>().ok()? * US)),
        _ => None,
    };
    text.split(", ").map(piece).collect()
}

/// The other way. The last time away before the application is for the peer's address, unless it is too short for that.
fn written(pieces: &[Piece], with_address: bool) -> String {
    let is_address = |piece: &Piece| matches!(piece, Piece::Away(ns) if *ns >= LEAST_ADDRESS_NS);
    let address = pieces.iter().rposition(is_address).filter(|_| with_address);
    let words = pieces.iter().enumerate().map(|(at, piece)| match *piece {
        _ if Some(at) == address => "address".to_owned(),
        Piece::Held(ns) => format!("held {}", us(ns).max(1)),
        Piece::Away(ns) | Piece::Lock(ns) => format!("away {}", us(ns).max(1)),
        _ => "answer".to_owned(),
    });
    words.collect::<Vec<String>>().join(", ")
}

/// Rounded to whole microseconds.
fn us(ns: u64) -> u64 {
    (ns + US / 2) / US
}

/// The columns of the table from `accept` on, from what processes left that served a trivial application: flight files with kept traces of
/// all threads, or the CPU time of all the server's processes. `kept`: the former with connections that clients kept, for the reactor.
///
/// # Errors
/// Files that cannot be read; neither a kept trace nor the CPU time.
pub fn columns(
    paths: &[PathBuf],
    kept: &[PathBuf],
    process_cpu_ns: Option<u64>,
) -> Result<String, PredictError> {
    let (processes, kept) = (reading::read(paths)?, reading::read(kept)?);
    let with_kept = front::from_traces(kept.iter().filter_map(|process| process.trace.as_ref()));
    let traces = || {
        processes
            .iter()
            .filter_map(|process| process.trace.as_ref())
    };
    let records = || processes.iter().flat_map(|process| &process.flight.records);
    let requests = records().count() as u64;
    match (
        front::from_traces(traces()),
        ServerOverhead::learnt(traces()),
        process_cpu_ns,
    ) {
        (Some(front), Some(learnt), _) => {
            let (before, after) = learnt.parts();
            Ok(format!(
                "{}\t{}\t{}\t{}\t{requests}",
                us(front.accept_ns),
                us(with_kept.map_or(front.reactor_ns, |front| front.reactor_ns)),
                written(before, true),
                written(after, false)
            ))
        }
        (_, _, Some(cpu_ns)) => {
            let own_ns: u64 = records().map(|record| record.cpu_ns).sum();
            let accept_ns = cpu_ns.saturating_sub(own_ns) / requests.max(1);
            Ok(format!("{}\t0\t-\t-\t{requests}", us(accept_ns)))
        }
        _ => Err(PredictError::NotRead {
            path: paths.first().cloned().unwrap_or_default(),
            reason: "no trace of all threads was kept, and no CPU time was given".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Calibrated {
        super::of(&Server::named(name).unwrap())
    }

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
        for line in rows {
            let row = Row::of(line).unwrap_or_else(|| panic!("{line}"));
            let found = row.calibrated();
            assert!((1_000..1_000_000).contains(&found.accept_ns), "{line}");
            // Of one request per process each record has the course.
            assert_eq!(found.around.is_some(), row.server == "puma", "{line}");
            if let Some(around) = &found.around {
                let (before, after) = around.parts();
                assert!(pieces(row.before).as_deref() == Some(before), "{line}");
                assert!(after.contains(&Piece::Answer), "{line}");
            }
        }
    }

    #[test]
    fn the_nearest_version_below_is_taken() {
        let row = |version, accept| {
            format!("puma\t{version}\t3.3.8\t{accept}\t40\theld 9\tanswer\t5000\n")
        };
        let table = [
            "# puma\t1\n".to_owned(),
            row("10.0.0", 30),
            row("6.6.0", 20),
            row("6.10.1", 25),
        ];
        let of_three = |name| {
            let found = nearest(&table.concat(), &Server::named(name).unwrap());
            (found.measured_with.unwrap(), found.accept_ns)
        };
        let expected = [
            ("puma 5.0.0", "6.6.0", 20_000),
            ("puma 6.6.0", "6.6.0", 20_000),
            ("puma 6.9.9", "6.6.0", 20_000),
            ("puma 6.10.2", "6.10.1", 25_000),
            ("puma 7.0.0", "6.10.1", 25_000),
            ("puma 11.0.0", "10.0.0", 30_000),
        ];
        for (name, version, accept_ns) in expected {
            let with = format!("puma {version} on Ruby 3.3.8");
            assert_eq!(of_three(name), (with, accept_ns), "{name}");
        }
        let unknown = of("passenger");
        assert_eq!((unknown.measured_with, unknown.accept_ns), (None, 60_000));
    }

    /// What was in use before the table is no measurement.
    #[test]
    fn a_row_without_requests_names_no_measurement() {
        let row = |requests| {
            let line = format!("puma\t6.6.0\t3.3.8\t30\t40\theld 9\tanswer\t{requests}\n");
            nearest(&line, &Server::named("puma 6.6.0").unwrap())
        };
        let (before, measured) = (row(0), row(1));
        assert_eq!((before.measured_with, before.accept_ns), (None, 30_000));
        assert!(measured.measured_with.is_some());
        assert_eq!(before.around, measured.around);
    }

    #[test]
    fn a_course_is_written_as_it_is_read() {
        let text = "held 15, away 4, held 110, address, held 25";
        let found = pieces(text).unwrap();
        let with_address = ServerOverhead::of(found, Vec::new()).with_address(40_000);
        assert_eq!(written(with_address.parts().0, true), text);
        let after = "held 160, answer, away 20, held 10";
        assert_eq!(written(&pieces(after).unwrap(), false), after);
        assert_eq!(pieces("-"), None);
    }
}
