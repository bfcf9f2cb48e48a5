//! Passenger's own account of itself: what `passenger-status --show=xml` prints, from the socket that it asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roxmltree::{Document, Node};

use crate::control::StatusError;
use crate::http::{self, Target};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const USER: &str = "ro_admin";

/// What Passenger says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassengerStatus {
    /// Such as `6.0.26`.
    pub version: String,
    pub max_pool_size: u64,
    /// Those that serve; one that is being spawned is not among them.
    pub processes: Vec<PassengerProcess>,
    /// Requests that wait for a process.
    pub requests_in_queue: u64,
    /// As the application's group has it; `None` until it has one.
    pub spawn_method: Option<String>,
    pub min_instances: Option<u64>,
    /// 0 is no limit.
    pub max_instances: Option<u64>,
}

/// A process of the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassengerProcess {
    pub pid: u32,
    /// Requests answered since its start.
    pub processed: u64,
    /// Requests being answered.
    pub sessions: u64,
    /// As Passenger measures it, now and then; `None` before it first did.
    pub memory_bytes: Option<u64>,
}

/// Of the instance that keeps its sockets below `registry`.
pub(crate) fn read(registry: &Path) -> Result<PassengerStatus, StatusError> {
    let instance = newest_instance(registry).ok_or(StatusError::PassengerAbsent)?;
    let password = fs::read_to_string(instance.join("read_only_admin_password.txt"))
        .map_err(StatusError::PassengerSilent)?;
    let login = STANDARD.encode(format!("{USER}:{}", password.trim()));
    let target = Target::Unix(instance.join("agents.s/core_api"));
    let deadline = Instant::now() + ANSWER_WITHIN;
    let in_time = || {
        if Instant::now() < deadline {
            Ok(())
        } else {
            Err(std::io::Error::from(std::io::ErrorKind::TimedOut))
        }
    };
    let header = format!("Authorization: Basic {login}\r\n");
    let answer = http::get_with(&target, "/pool.xml", &header, in_time)
        .and_then(|answer| answer)
        .map_err(StatusError::PassengerSilent)?;
    if answer.status != 200 {
        return Err(StatusError::PassengerRefused(answer.status));
    }
    parse(&String::from_utf8_lossy(&answer.body))
}

/// Apache loads its modules twice as it starts, and Passenger then starts twice: the first one is about to end.
fn newest_instance(registry: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(registry).ok()?.flatten();
    let ready = entries.filter_map(|entry| {
        let made = fs::metadata(entry.path().join("creation_finalized")).ok()?;
        Some((made.modified().ok()?, entry.path()))
    });
    ready.max().map(|(_, path)| path)
}

fn parse(text: &str) -> Result<PassengerStatus, StatusError> {
    let document = Document::parse(text).map_err(|e| unreadable(&e.to_string()))?;
    let info = document.root_element();
    let options = info.descendants().find(|node| node.has_tag_name("options"));
    let queues = info
        .descendants()
        .filter(|node| node.has_tag_name("get_wait_list_size"));
    let processes = info
        .descendants()
        .filter(|node| node.has_tag_name("process"));
    Ok(PassengerStatus {
        version: required(child(info, "passenger_version"), "passenger_version")?,
        max_pool_size: required(child(info, "max"), "max")?,
        processes: processes.map(process).collect::<Result<_, _>>()?,
        requests_in_queue: queues
            .filter_map(|node| node.text()?.trim().parse::<u64>().ok())
            .sum(),
        spawn_method: options.and_then(|options| child(options, "spawn_method")),
        min_instances: options.and_then(|options| child(options, "min_processes")),
        max_instances: options.and_then(|options| child(options, "max_processes")),
    })
}

fn process(node: Node<'_, '_>) -> Result<PassengerProcess, StatusError> {
    Ok(PassengerProcess {
        pid: required(child(node, "pid"), "pid")?,
        processed: required(child(node, "processed"), "processed")?,
        sessions: required(child(node, "sessions"), "sessions")?,
        memory_bytes: child::<u64>(node, "real_memory").map(|kilobytes| kilobytes * 1024),
    })
}

fn child<T: std::str::FromStr>(node: Node<'_, '_>, name: &str) -> Option<T> {
    let found = node.children().find(|child| child.has_tag_name(name))?;
    found.text()?.trim().parse().ok()
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, StatusError> {
    value.ok_or_else(|| unreadable(&format!("it has no {name}")))
}

fn unreadable(why: &str) -> StatusError {
    StatusError::PassengerUnreadable(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_serves_and_requests_wait() {
        let text = r#"<?xml version="1.0" encoding="iso-8859-1" ?>
<info version="3"><passenger_version>6.0.26</passenger_version><process_count>1</process_count><max>3</max>
<get_wait_list_size>2</get_wait_list_size><supergroups><supergroup><get_wait_list_size>0</get_wait_list_size>
<group default="true"><name>/app &#40;production&#41;</name><get_wait_list_size>5</get_wait_list_size>
<options><spawn_method>smart</spawn_method><min_processes>2</min_processes><max_processes>0</max_processes></options>
<processes><process><pid>7</pid><sessions>1</sessions><processed>12</processed><has_metrics>true</has_metrics>
<real_memory>1000</real_memory></process><process><pid>8</pid><sessions>0</sessions><processed>0</processed></process>
</processes></group></supergroup></supergroups></info>"#;
        let status = parse(text).unwrap();
        assert_eq!(status.version, "6.0.26");
        assert_eq!((status.max_pool_size, status.requests_in_queue), (3, 7));
        assert_eq!(status.spawn_method.as_deref(), Some("smart"));
        assert_eq!(
            (status.min_instances, status.max_instances),
            (Some(2), Some(0))
        );
        let first = PassengerProcess {
            pid: 7,
            processed: 12,
            sessions: 1,
            memory_bytes: Some(1_024_000),
        };
        assert_eq!(status.processes[0], first);
        assert_eq!(status.processes[1].memory_bytes, None);
    }

    #[test]
    fn before_the_first_request_there_is_no_application() {
        let text = "<info><passenger_version>6</passenger_version><max>1</max></info>";
        let status = parse(text).unwrap();
        assert_eq!((status.processes, status.spawn_method), (vec![], None));
        for wrong in ["<info>", "<info/>", "not xml"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
