//! What of the kernel's settings and tables limits a server: connections, ports, file descriptors, huge pages.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::check::Known;
use crate::roots::Roots;

/// Each with the reason where it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingFacts {
    /// Of the process that was asked about, or of this one.
    pub pid: Option<u32>,
    /// Connections that the firewall tracks.
    pub conntrack: Known<Filled>,
    /// File descriptors that the process may have, and has.
    pub open_files: Known<OpenFiles>,
    /// Open files of the whole system.
    pub system_files: Known<Filled>,
    /// First and last of the ports for connections to elsewhere.
    pub port_range: Known<(u16, u16)>,
    /// Closed connections that keep one of these ports for a minute, to the address that has most of them: a port is free for any
    /// other address.
    pub time_wait: Known<u64>,
    pub somaxconn: Known<u64>,
    pub syn_backlog: Known<u64>,
    /// The kernel answers with cookies when its list of half-open connections is full.
    pub syn_cookies: Known<bool>,
    /// The word in force: `always`, `madvise` or `never`.
    pub huge_pages: Known<String>,
    /// Whether the server's processes take part in it: a process can opt out, and CRuby does.
    pub process_takes_huge_pages: Known<bool>,
}

/// How full a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    pub used: u64,
    pub most: u64,
}

impl Filled {
    /// 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.used as f64 / self.most.max(1) as f64
    }
}

/// File descriptors of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFiles {
    /// The limit in force; `None` is none.
    pub soft: Option<u64>,
    /// How far the process may raise it by itself.
    pub hard: Option<u64>,
    /// In use now.
    pub used: Known<u64>,
}

impl ServingFacts {
    /// Reads them now. `pid`: the server; `None` stands for this process and what it would start.
    #[must_use]
    pub fn collect(roots: &Roots, pid: Option<u32>) -> Self {
        let network = own_network(roots, pid);
        // /proc/sys/net shows the network namespace of the process that reads it.
        let of_network = |name: &str| {
            network.clone()?;
            Ok::<_, String>(roots.proc.join("sys/net").join(name))
        };
        let sysctl = |name: &str| fact(&of_network(name)?, parse_number);
        let conntrack = sysctl("netfilter/nf_conntrack_count").and_then(|used| {
            let most = sysctl("netfilter/nf_conntrack_max")?;
            Ok(Filled { used, most })
        });
        let process = roots.of(pid);
        let port_range =
            of_network("ipv4/ip_local_port_range").and_then(|path| fact(&path, parse_port_range));
        Self {
            pid,
            conntrack: conntrack.map_err(|why| match why.starts_with(MISSING) {
                true => {
                    format!("{why}: no connection is tracked here, or a container does not see it")
                }
                false => why,
            }),
            open_files: fact(&process.join("limits"), parse_open_files).map(|(soft, hard)| {
                OpenFiles {
                    soft,
                    hard,
                    used: entries(&process.join("fd")),
                }
            }),
            system_files: fact(&roots.proc.join("sys/fs/file-nr"), parse_file_nr),
            // By way of the process: its network may be another one.
            time_wait: port_range
                .clone()
                .and_then(|range| held_ports(&process, range)),
            port_range,
            somaxconn: sysctl("core/somaxconn"),
            syn_backlog: sysctl("ipv4/tcp_max_syn_backlog"),
            syn_cookies: sysctl("ipv4/tcp_syncookies").map(|cookies| cookies > 0),
            huge_pages: fact(
                &roots.sys.join("kernel/mm/transparent_hugepage/enabled"),
                parse_chosen,
            ),
            process_takes_huge_pages: match pid {
                Some(_) => fact(&process.join("status"), parse_takes_huge_pages),
                None => Err("no server was named with --pid".to_owned()),
            },
        }
    }
}

/// That the process is in the network that this process sees, or why its settings cannot be seen from here.
fn own_network(roots: &Roots, pid: Option<u32>) -> Known<()> {
    let Some(pid) = pid else {
        return Ok(());
    };
    let link = |of| {
        let path = roots.of(of).join("ns/net");
        fs::read_link(&path).map_err(|e| unreadable(&path, &e))
    };
    match link(Some(pid))? == link(None)? {
        true => Ok(()),
        false => Err(format!(
            "process {pid} has a network of its own, as in a container, whose settings are not seen from here; ask inside of it"
        )),
    }
}

/// What `parse` finds in a file, or why there is nothing.
pub(crate) fn fact<T>(path: &Path, parse: impl Fn(&str) -> Option<T>) -> Known<T> {
    let text = fs::read_to_string(path).map_err(|e| unreadable(path, &e))?;
    parse(&text).ok_or_else(|| format!("{} holds nothing of the kind", path.display()))
}

/// How the reason begins where a file is not there.
const MISSING: &str = "there is no";

/// In words that say what to do where rights are lacking.
#[must_use]
pub fn unreadable(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{MISSING} {path}"),
        io::ErrorKind::PermissionDenied => {
            format!("{path} may not be read; ask as the user that the server runs as, or as root")
        }
        _ => format!("{path} cannot be read: {error}"),
    }
}

fn entries(folder: &Path) -> Known<u64> {
    let entries = fs::read_dir(folder).map_err(|e| unreadable(folder, &e))?;
    Ok(entries.count() as u64)
}

fn parse_number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Soft and hard limit from `/proc/<pid>/limits`; an inner `None` is `unlimited`.
fn parse_open_files(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    let mut words = line.split_ascii_whitespace();
    let mut limit = || match words.next()? {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some((limit()?, limit()?))
}

/// Allocated, free and most.
fn parse_file_nr(text: &str) -> Option<Filled> {
    let mut words = text.split_ascii_whitespace();
    let (allocated, free, most) = (words.next()?, words.next()?, words.next()?);
    let allocated: u64 = allocated.parse().ok()?;
    Some(Filled {
        used: allocated.saturating_sub(free.parse().ok()?),
        most: most.parse().ok()?,
    })
}

fn parse_port_range(text: &str) -> Option<(u16, u16)> {
    let mut words = text.split_ascii_whitespace();
    let (first, last) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (first <= last).then_some((first, last))
}

/// Closed connections of a process's network to one address that hold a port of the range, by either version of IP.
fn held_ports(process: &Path, range: (u16, u16)) -> Known<u64> {
    let old = process.join("net/tcp");
    let mut text = fs::read_to_string(&old).map_err(|e| unreadable(&old, &e))?;
    let new = process.join("net/tcp6");
    match fs::read_to_string(&new) {
        Ok(more) => text.push_str(&more),
        // A kernel without IPv6.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(unreadable(&new, &e)),
    }
    Ok(count_time_wait(&text, range))
}

/// In `/proc/net/tcp` and `tcp6`: local address and port, the other end's, the state, in hexadecimal figures. A port is free for
/// every other address: those towards the address that has most of them count. A server's own closed connections, whether it still
/// listens or not, are towards clients' ports, which all differ.
fn count_time_wait(text: &str, (first, last): (u16, u16)) -> u64 {
    const TIME_WAIT: &str = "06";
    let mut held: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (Some(local), Some(remote), Some(TIME_WAIT)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let port = local.rsplit_once(':').map(|(_, port)| port);
        let port = port.and_then(|port| u16::from_str_radix(port, 16).ok());
        if port.is_some_and(|port| (first..=last).contains(&port)) {
            *held.entry(remote).or_default() += 1;
        }
    }
    held.into_values().max().unwrap_or(0)
}

/// The word in brackets: `always [madvise] never`.
fn parse_chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (chosen, _) = rest.split_once(']')?;
    Some(chosen.to_owned())
}

/// `THP_enabled` of `/proc/<pid>/status`, which Linux has since 5.0.
#[must_use]
pub fn parse_takes_huge_pages(text: &str) -> Option<bool> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("THP_enabled:"))?;
    Some(value.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max open files            1024                 unlimited            files     \n";
        assert_eq!(parse_open_files(limits), Some((Some(1024), None)));
        let filled = Filled {
            used: 400,
            most: 1000,
        };
        assert_eq!(parse_file_nr("476\t76\t1000\n"), Some(filled));
        assert_eq!(parse_port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(parse_chosen("always [madvise] never\n").unwrap(), "madvise");
        assert_eq!(
            parse_takes_huge_pages("Name:\ta\nTHP_enabled:\t0\n"),
            Some(false)
        );
    }

    #[test]
    fn other_text_is_not_read_as_a_number() {
        assert_eq!(parse_open_files("Max processes 1 2 processes\n"), None);
        assert_eq!(parse_open_files("Max open files some many files\n"), None);
        assert_eq!(parse_file_nr("1 2\n"), None);
        assert_eq!(parse_port_range("60999 32768\n"), None);
        assert_eq!(parse_chosen("always madvise never\n"), None);
        assert_eq!(parse_takes_huge_pages("Name:\ta\n"), None);
    }

    #[test]
    fn ports_towards_one_address_count() {
        let line = |port: u16, remote: u16, state: &str| {
            format!("   0: 0100007F:{port:04X} 0200007F:{remote:04X} {state} 00000000:00000000\n")
        };
        let mut sockets = vec![
            "  sl  local_address rem_address   st tx_queue rx_queue\n".to_owned(),
            line(40_000, 8080, "06"),
            line(32_768, 8080, "06"),
            line(60_999, 8080, "06"),
            // Still open; a port outside of the range; another address.
            line(40_001, 8080, "01"),
            line(3000, 8080, "06"),
            line(40_002, 5432, "06"),
            "   1: 00000000000000000000000001000000:9C42 00000000000000000000000001000000:1F90 06 0\n"
                .to_owned(),
            "no socket\n".to_owned(),
        ];
        // A server on a port of the range, which has ended: its clients' connections.
        sockets.extend((33_000..33_100).map(|client| line(50_000, client, "06")));
        assert_eq!(count_time_wait(&sockets.concat(), (32_768, 60_999)), 3);
        assert_eq!(count_time_wait("", (1, 2)), 0);
    }
}
