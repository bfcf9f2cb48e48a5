//! From texts to settings of a mirror: every value checked, every problem reported at once.

use crate::commands::topic;
use crate::filter_parameters::filter_parameters;
use crate::listener::address;

use super::ending::{DEADLINE, DRAIN, LAME_DUCK};
use super::layers::{Layers, ShadowLayer};
use super::status::StatusPage;
use super::values::{
    flag, forwarding, header_name, host, listen_at, method, mode, name, pattern, proxy_version,
    sampled_by, set_header, share, strictness, upstream, with_header,
};
use experiment::config::{Asked, Problem, parse_duration, parse_size, parse_whole};
use mirror::{
    Client, Filter, Limits, Listen, ListenAt, Primary, Rewrite, Sample, Settings, Shadow, Upstream,
};
use regex::bytes::Regex;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a mirror does, and what is kept of it.
#[derive(Debug)]
pub struct Resolved {
    pub settings: Settings,
    pub files: Files,
    pub status: Option<StatusPage>,
    /// From SIGTERM until the drain: clients are served as before, and `/readyz` says that it ends.
    pub lame_duck: Duration,
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub record: Option<PathBuf>,
    /// Where `record` names a topic.
    pub topic: Option<(kafka::Address, kafka::Access)>,
    pub shadow_log: Option<PathBuf>,
    pub rotate_size: Option<u64>,
    pub rotate_every: Option<Duration>,
    /// Bytes of all files of the recording, and as many of the log.
    pub record_limit: u64,
    pub redact: Vec<String>,
    /// Headers that are recorded as they are.
    pub keep: Vec<String>,
    /// What the application filters out of its log.
    pub filters: Vec<String>,
}

impl Files {
    /// What is taken out of all that is written, but for the recording.
    pub fn rules(&self) -> capture::Rules {
        capture::Rules::new(&self.redact, &self.redact, &[]).filtering(&self.filters)
    }

    /// What is taken out of the recording.
    pub fn rules_of_recording(&self) -> capture::Rules {
        self.rules().keeping_headers(&self.keep)
    }
}

const MIB: u64 = 1 << 20;
/// Of a recording: more than a day of most sites, and no disk that is full after a holiday.
const RECORD_LIMIT: u64 = 8 << 30;

/// Checks everything.
///
/// # Errors
/// Every problem, those that were found on the way here first.
pub fn resolve(layers: &Layers, problems: Vec<Problem>) -> Result<Resolved, Vec<Problem>> {
    let mut reading = Reading { layers, problems };
    let resolved = reading.all();
    match (reading.problems.is_empty(), resolved) {
        (true, Some(resolved)) => Ok(resolved),
        _ => Err(reading.problems),
    }
}

struct Reading<'a> {
    layers: &'a Layers,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn all(&mut self) -> Option<Resolved> {
        let listen = self.listen();
        let connect_timeout = self.duration("connect_timeout", None, Duration::from_secs(5));
        let answer_timeout = self.given("answer_timeout", None, parse_duration);
        let proxy_protocol = self.given("send_proxy_protocol", None, proxy_version);
        let primaries: Vec<Primary> = self
            .layers
            .all("primary", None)
            .to_vec()
            .iter()
            .filter_map(|asked| {
                Some(Primary {
                    upstream: self.upstream(asked, None)?,
                    connect_timeout,
                    answer_timeout,
                    proxy_protocol,
                })
            })
            .collect();
        if self.layers.all("primary", None).is_empty() {
            self.problems.push(Problem::with(
                "no primary is named",
                "give --primary http://127.0.0.1:3000",
            ));
        }
        let twin = self.layers.one("twin", None).cloned();
        let shadows: Vec<Shadow> = self
            .layers
            .shadows
            .iter()
            .filter_map(|layer| self.shadow(layer, twin.as_ref()))
            .collect();
        let count = self.layers.shadows.len();
        if count > duplex::MOST_SHADOWS {
            self.problems.push(Problem::with(
                format!("{count} shadows are named"),
                format!(
                    "name at most {}: each two are compared",
                    duplex::MOST_SHADOWS
                ),
            ));
        }
        if let Some(twin) = &twin
            && !self
                .layers
                .shadows
                .iter()
                .any(|shadow| shadow.name.text == twin.text)
        {
            let remedy = "name one of the shadows";
            self.problems
                .push(Problem::of(twin, "no such shadow", remedy));
        }
        let client = Client {
            forwarded: self
                .given("forwarded", None, forwarding)
                .unwrap_or_default(),
            head_timeout: Duration::from_secs(30),
            idle_timeout: self.duration("idle_timeout", None, Duration::from_secs(75)),
            head_bytes: self.size("max_head", 64 << 10),
            head_fields: self.whole("max_fields", None, 16, 4096, 128) as usize,
            strictness: self
                .given("strictness", None, strictness)
                .unwrap_or_default(),
            connections: self.whole("connections", None, 1, 65_536, 4096) as usize,
            drain: self.duration("drain", None, DRAIN),
        };
        let lame_duck = self.given("lame_duck", None, |asked| match asked.text.trim() {
            "0" | "0s" => Ok(Duration::ZERO),
            _ => parse_duration(asked),
        });
        let lame_duck = lame_duck.unwrap_or(LAME_DUCK);
        let limits = Limits {
            bytes: self.size("max_held", 64 * MIB),
            body_bytes: self.size("max_body", MIB),
            compared_bytes: self.size("max_compared", 256 << 10),
        };
        let files = self.files();
        let status = self.status();
        if shadows.is_empty() && self.layers.shadows.is_empty() && files.shadow_log.is_some() {
            self.problems.push(Problem::with(
                "--shadow-log is given, and no shadow",
                "name a shadow, or record the traffic with --record",
            ));
        }
        Some(Resolved {
            settings: Settings {
                listen: listen?,
                primaries,
                shadows,
                client,
                limits,
            },
            files,
            lame_duck,
            status,
        })
    }

    fn taken<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn given<T>(
        &mut self,
        key: &str,
        shadow: Option<&ShadowLayer>,
        parse: impl Fn(&Asked) -> Result<T, Problem>,
    ) -> Option<T> {
        let asked = self.layers.one(key, shadow)?.clone();
        self.taken(parse(&asked))
    }

    fn duration(
        &mut self,
        key: &str,
        shadow: Option<&ShadowLayer>,
        otherwise: Duration,
    ) -> Duration {
        self.given(key, shadow, parse_duration).unwrap_or(otherwise)
    }

    fn size(&mut self, key: &str, otherwise: u64) -> usize {
        let size = self.given(key, None, parse_size).unwrap_or(otherwise);
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    fn whole(
        &mut self,
        key: &str,
        shadow: Option<&ShadowLayer>,
        least: u64,
        most: u64,
        otherwise: u64,
    ) -> u64 {
        self.given(key, shadow, |asked| {
            parse_whole(asked, least, most, "number")
        })
        .unwrap_or(otherwise)
    }

    fn listen(&mut self) -> Option<Listen> {
        let at = self.listen_at();
        let file = |key| {
            self.layers
                .one(key, None)
                .map(|asked| PathBuf::from(&asked.text))
        };
        let tls = match (file("tls_cert"), file("tls_key")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (one, _) => {
                let (has, lacks) = if one.is_some() {
                    ("--tls-cert", "--tls-key")
                } else {
                    ("--tls-key", "--tls-cert")
                };
                self.problems.push(Problem::with(
                    format!("{has} is given without {lacks}"),
                    "TLS needs both",
                ));
                None
            }
        };
        let proxy_protocol = self.given("accept_proxy_protocol", None, flag);
        Some(Listen {
            at: at?,
            tls,
            proxy_protocol: proxy_protocol.unwrap_or(false),
        })
    }

    fn listen_at(&mut self) -> Option<ListenAt> {
        let mut at = match self.layers.one("listen", None).cloned() {
            Some(asked) => self.taken(listen_at(&asked))?,
            None => ListenAt::Tcp {
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
                reuse_port: false,
            },
        };
        let wanted_mode = self.given("listen_mode", None, mode);
        let shared = self.given("reuse_port", None, flag).unwrap_or(false);
        let is_unix = matches!(at, ListenAt::Unix { .. });
        let is_tcp = matches!(at, ListenAt::Tcp { .. });
        if wanted_mode.is_some() && !is_unix {
            self.problems.push(Problem::with(
                "--listen-mode is given, and --listen names no Unix socket",
                "give --listen unix:/PATH, or leave --listen-mode out",
            ));
        }
        if shared && !is_tcp {
            self.problems.push(Problem::with(
                "--reuse-port is given, and --listen names no port",
                "leave it out: several processes share a port or a socket that systemd passes to them",
            ));
        }
        match &mut at {
            ListenAt::Tcp { reuse_port, .. } => *reuse_port = shared,
            ListenAt::Unix { mode, .. } => *mode = wanted_mode.unwrap_or(*mode),
            ListenAt::Passed { .. } => {}
        }
        Some(at)
    }

    fn upstream(&mut self, asked: &Asked, shadow: Option<&ShadowLayer>) -> Option<Upstream> {
        let ca = self
            .layers
            .one("cacert", shadow)
            .map(|asked| PathBuf::from(&asked.text));
        self.taken(upstream(asked, ca))
    }

    fn shadow(&mut self, layer: &ShadowLayer, twin: Option<&Asked>) -> Option<Shadow> {
        let name = self.taken(name(&layer.name));
        let upstream = self.upstream(&layer.url, Some(layer));
        let own = Some(layer);
        let share = self.given("sample", own, share).unwrap_or(1.0);
        let sample = match self.layers.one("sample_by", own).cloned() {
            None => Sample::Requests(share),
            Some(asked) => self.taken(sampled_by(&asked, share))?,
        };
        let filter = self.filter(own);
        let rewrite = self.rewrites(own);
        let text = |key: &str| {
            self.layers
                .all(key, own)
                .iter()
                .map(|asked| asked.text.clone())
                .collect::<Vec<_>>()
        };
        Some(Shadow {
            twin: twin.is_some_and(|twin| twin.text == layer.name.text),
            tokens: text("token"),
            name: name?,
            upstream: upstream?,
            sample,
            filter,
            copies: self.whole("amplify", own, 1, 100, 1) as u16,
            deadline: self.duration("deadline", own, DEADLINE),
            queue: self.whole("queue", own, 1, 65_536, 256) as usize,
            connections: self.whole("shadow_connections", own, 1, 4096, 64) as usize,
            rewrite,
            keep_alive: self.given("shadow_keep_alive", own, flag).unwrap_or(false),
            cookie_jar: self.given("cookie_jar", own, flag).unwrap_or(false),
        })
    }

    fn filter(&mut self, own: Option<&ShadowLayer>) -> Filter {
        let methods = self.layers.all("methods", own).to_vec();
        let methods = methods.iter().flat_map(|asked| {
            asked
                .text
                .split(',')
                .map(move |method| (asked, method.trim()))
        });
        let methods = methods.filter(|(_, method)| !method.is_empty());
        let methods: Vec<String> = methods
            .filter_map(|(asked, name)| self.taken(method(asked, name)))
            .collect();
        let patterns = |reading: &mut Self, key: &str| {
            let asked = reading.layers.all(key, own).to_vec();
            asked
                .iter()
                .filter_map(|asked| reading.taken(pattern(asked, &asked.text)))
                .collect::<Vec<Regex>>()
        };
        let paths = patterns(self, "path");
        let not_paths = patterns(self, "not_path");
        let headers = self.layers.all("with_header", own).to_vec();
        let headers = headers
            .iter()
            .filter_map(|asked| self.taken(with_header(asked)))
            .collect();
        Filter {
            methods,
            paths,
            not_paths,
            headers,
        }
    }

    fn rewrites(&mut self, own: Option<&ShadowLayer>) -> Vec<Rewrite> {
        let set = self.layers.all("set_header", own).to_vec();
        let mut rewrites: Vec<Rewrite> = set
            .iter()
            .filter_map(|asked| self.taken(set_header(asked)))
            .collect();
        let removed = self.layers.all("remove_header", own).to_vec();
        rewrites.extend(removed.iter().filter_map(|asked| {
            let name = self.taken(header_name(asked, asked.text.trim()))?;
            Some(Rewrite::Remove { name })
        }));
        rewrites
    }

    fn status(&mut self) -> Option<StatusPage> {
        let named = self.layers.all("status_host", None).to_vec();
        let hosts = named.iter().filter_map(|asked| self.taken(host(asked)));
        let hosts: Vec<String> = hosts.collect();
        match self.given("status", None, address) {
            Some(address) => Some(StatusPage { address, hosts }),
            None => {
                if !named.is_empty() && self.layers.one("status", None).is_none() {
                    self.problems.push(Problem::with(
                        "--status-host is given, and no --status",
                        "give the address of the status page with --status",
                    ));
                }
                None
            }
        }
    }

    fn files(&mut self) -> Files {
        let file = |key| {
            self.layers
                .one(key, None)
                .map(|asked: &Asked| PathBuf::from(&asked.text))
        };
        let (record, shadow_log) = (file("record"), file("shadow_log"));
        if record.is_some() && record == shadow_log {
            self.problems.push(Problem::with(
                "--record and --shadow-log name the same file",
                "give each a file of its own",
            ));
        }
        let rotate_size = self.given("rotate_size", None, parse_size);
        let rotate_every = self.given("rotate_every", None, parse_duration);
        let rotates = rotate_size.is_some() || rotate_every.is_some();
        let in_topic = record.as_deref().is_some_and(|r| topic::named(r).is_some());
        if record.is_none() && rotates {
            self.problems.push(Problem::with(
                "rotation is asked for, and no recording",
                "name a file with --record",
            ));
        }
        if in_topic && rotates {
            self.problems.push(Problem::with(
                "rotation is asked for, and a topic has no files",
                "leave --rotate-size and --rotate-every out, or record into a file",
            ));
        }
        let record_limit = self.given("record_limit", None, record_limit);
        let limited = self.layers.one("record_limit", None).is_some();
        if (record.is_none() || in_topic) && shadow_log.is_none() && limited {
            self.problems.push(Problem::with(
                "--record-limit is given, and no file is recorded",
                "name a file with --record or --shadow-log",
            ));
        }
        let keep = self.kept(record.is_some());
        let filters = self.layers.all("filter_parameters", None).to_vec();
        let filters = filters.iter().filter_map(|asked| {
            let names = filter_parameters(Path::new(&asked.text));
            self.taken(
                names.map_err(|why| Problem::of(asked, why, "name its fields with --redact")),
            )
        });
        let filters = filters.flatten().collect();
        Files {
            filters,
            topic: None,
            record,
            shadow_log,
            rotate_size,
            rotate_every,
            record_limit: record_limit.unwrap_or(RECORD_LIMIT),
            keep,
            redact: self
                .layers
                .all("redact", None)
                .iter()
                .map(|asked| asked.text.clone())
                .collect(),
        }
    }

    /// Headers that are recorded as they are.
    fn kept(&mut self, recorded: bool) -> Vec<String> {
        let asked = self.layers.all("keep", None).to_vec();
        let redacted = self.layers.all("redact", None).to_vec();
        for name in &asked {
            let is_same = |other: &&Asked| other.text.eq_ignore_ascii_case(&name.text);
            let (what, remedy) = if !recorded {
                ("nothing is recorded", "name a file with --record")
            } else if load::Header::parse(&format!("{}: x", name.text)).is_err() {
                (
                    "not a header that a recording holds",
                    "give a name such as Cookie",
                )
            } else if redacted.iter().any(|other| is_same(&other)) {
                (
                    "it is to be redacted as well",
                    "leave out --keep or --redact",
                )
            } else {
                continue;
            };
            self.problems.push(Problem::of(name, what, remedy));
        }
        asked.into_iter().map(|name| name.text).collect()
    }
}

fn record_limit(asked: &Asked) -> Result<u64, Problem> {
    let size = parse_size(asked)?;
    match size < MIB {
        true => Err(Problem::of(
            asked,
            "too small for a recording",
            "give at least 1MiB",
        )),
        false => Ok(size),
    }
}
