//! `mirror`: what may be typed.

use super::KafkaArgs;
use clap::Args;
use std::path::PathBuf;

/// Live traffic to the primary, and copies of it to shadows.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband mirror --listen :8080 --primary http://127.0.0.1:3000 --shadow new=http://127.0.0.1:3001
  powerband mirror --listen :8080 --primary http://127.0.0.1:3000 --record monday.pbc
  powerband mirror --config mirror.toml --shadow-log monday.log.pbc --status 127.0.0.1:9400

The client gets the primary's answer, whatever the shadows do: they have a queue, a thread and limits of their own, and
what does not fit is dropped and counted. Only GET, HEAD, OPTIONS and TRACE go to shadows unless --methods says otherwise.
SIGHUP reads the configuration file again without dropping a connection; SIGTERM and Ctrl-C let requests under way end.

Exit codes: 0 done; 2 wrong usage or configuration; 3 with shadows, and a comparison is undecided, as of compare --shadow-log.")]
pub struct MirrorArgs {
    /// Where clients come in: :8080 is loopback, 0.0.0.0:8080 everybody; unix:/PATH, systemd [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "POWERBAND_LISTEN")]
    pub listen: Option<String>,
    /// Permissions of a Unix socket that --listen names, e.g. 660: who may write may connect [default: 600]
    #[arg(long, value_name = "MODE")]
    pub listen_mode: Option<String>,
    /// Other mirrors may listen on the same port, so that a new one starts before the old one ends (SO_REUSEPORT)
    #[arg(long)]
    pub reuse_port: bool,
    /// Who answers clients, http://HOST:PORT or unix:/PATH; several take turns by connection
    #[arg(long, value_name = "URL")]
    pub primary: Vec<String>,
    /// Who gets copies, e.g. new=http://127.0.0.1:3001
    #[arg(long, value_name = "NAME=URL")]
    pub shadow: Vec<String>,
    /// The shadow that is configured as the primary is: what differs between these two is noise
    #[arg(long, value_name = "NAME")]
    pub twin: Option<String>,
    /// Configuration file, read again on SIGHUP (docs/mirror.md)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// End after so long [default: at SIGINT or SIGTERM]
    #[arg(long = "for", value_name = "DURATION")]
    pub length: Option<String>,
    /// Which requests go to shadows.
    #[command(flatten, next_help_heading = "Copies")]
    pub copies: CopyArgs,
    /// What bounds shadows and clients.
    #[command(flatten, next_help_heading = "Limits")]
    pub limits: LimitArgs,
    /// How the primary learns a client's address.
    #[command(flatten, next_help_heading = "Clients' addresses")]
    pub origin: OriginArgs,
    /// TLS on either side.
    #[command(flatten, next_help_heading = "TLS")]
    pub tls: TlsArgs,
    /// What is written and shown.
    #[command(flatten, next_help_heading = "Output")]
    pub output: MirrorOutputArgs,
    /// Of a topic that is recorded into.
    #[command(flatten)]
    pub kafka: KafkaArgs,
}

/// Which requests go to shadows, and what is changed in them.
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// Share of the requests that shadows get, e.g. 10% [default: 100%]
    #[arg(long, value_name = "SHARE")]
    pub sample: Option<String>,
    /// What is sampled: request, or session:COOKIE for all requests of some users [default: request]
    #[arg(long, value_name = "WHAT")]
    pub sample_by: Option<String>,
    /// Methods that go to shadows, e.g. GET,POST [default: GET,HEAD,OPTIONS,TRACE]
    #[arg(long, value_name = "LIST")]
    pub methods: Option<String>,
    /// Only paths that match; may be repeated
    #[arg(long, value_name = "REGEX")]
    pub path: Vec<String>,
    /// No paths that match; may be repeated
    #[arg(long, value_name = "REGEX")]
    pub not_path: Vec<String>,
    /// Only requests with such a header, e.g. "X-Tenant=^acme$"; may be repeated
    #[arg(long, value_name = "NAME=REGEX")]
    pub with_header: Vec<String>,
    /// How often each request goes to each shadow [default: 1]
    #[arg(long, value_name = "N")]
    pub amplify: Option<String>,
    /// A header set on the way to shadows, e.g. "Host: candidate.test"; may be repeated
    #[arg(long, value_name = "HEADER")]
    pub set_header: Vec<String>,
    /// A header taken out on the way to shadows; may be repeated
    #[arg(long, value_name = "NAME")]
    pub remove_header: Vec<String>,
    /// Reuse connections to shadows [default: a new connection for each copy, since a thread of Puma waits on a kept one]
    #[arg(long)]
    pub shadow_keep_alive: bool,
    /// Each shadow sets cookies of its own, and is sent those in place of the primary's
    #[arg(long)]
    pub cookie_jar: bool,
    /// A form field or header whose value shadows hand out themselves, e.g. authenticity_token; may be repeated
    #[arg(long, value_name = "NAME")]
    pub token: Vec<String>,
}

/// What bounds shadows and clients.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Time from a request until a shadow's answer is whole [default: 10s]
    #[arg(long, value_name = "DURATION")]
    pub deadline: Option<String>,
    /// Requests that may wait for a shadow [default: 256]
    #[arg(long, value_name = "N")]
    pub queue: Option<String>,
    /// Requests that may be under way to a shadow [default: 64]
    #[arg(long, value_name = "N")]
    pub shadow_connections: Option<String>,
    /// Bytes of requests and answers held for all shadows together [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub max_held: Option<String>,
    /// Requests with a larger body go to the primary alone [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    pub max_body: Option<String>,
    /// Of each answer, so much is compared; the digest is of all of it [default: 256KiB]
    #[arg(long, value_name = "SIZE")]
    pub max_compared: Option<String>,
    /// Connections of clients at once, where open files allow it; idle ones are closed for new ones [default: 4096]
    #[arg(long, value_name = "N")]
    pub connections: Option<String>,
    /// Requests with a larger head are refused with 431 [default: 64KiB]
    #[arg(long, value_name = "SIZE")]
    pub max_head: Option<String>,
    /// Requests with more header fields are refused with 431, 16 to 4096 [default: 128]
    #[arg(long, value_name = "N")]
    pub max_fields: Option<String>,
    /// Requests that are refused only for strictness: enforce, or report to pass and count them [default: enforce]
    #[arg(long, value_name = "MODE")]
    pub strictness: Option<String>,
    /// Longest connecting to the primary; then 502 [default: 5s]
    #[arg(long, value_name = "DURATION")]
    pub connect_timeout: Option<String>,
    /// Longest silence of the primary before and within an answer; then 504 [default: as long as it likes]
    #[arg(long, value_name = "DURATION")]
    pub answer_timeout: Option<String>,
    /// Longest idleness of a client's connection [default: 75s]
    #[arg(long, value_name = "DURATION")]
    pub idle_timeout: Option<String>,
    /// After SIGTERM and --lame-duck, longest time for requests under way [default: 15s]
    #[arg(long, value_name = "DURATION")]
    pub drain: Option<String>,
    /// After SIGTERM, serve so long as before, while /readyz answers 503 and balancers look elsewhere [default: 0s]
    #[arg(long, value_name = "DURATION")]
    pub lame_duck: Option<String>,
}

/// How the primary learns a client's address.
#[derive(Debug, Args)]
pub struct OriginArgs {
    /// X-Forwarded-* and Forwarded: append behind another proxy, replace where clients connect, off [default: off]
    #[arg(long, value_name = "MODE")]
    pub forwarded: Option<String>,
    /// Take clients' addresses from a PROXY protocol header, v1 or v2, which every connection must begin with
    #[arg(long)]
    pub accept_proxy_protocol: bool,
    /// Begin each connection to a primary with a PROXY protocol header: v1 or v2
    #[arg(long, value_name = "VERSION")]
    pub send_proxy_protocol: Option<String>,
}

/// TLS on either side.
#[derive(Debug, Args)]
pub struct TlsArgs {
    /// Certificate chain for clients, PEM
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// A further authority for https primaries and shadows, PEM
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
}

/// What is written and shown.
#[derive(Debug, Args)]
pub struct MirrorOutputArgs {
    /// Record the traffic, redacted, into this file or topic of Kafka (kafka://HOST:PORT/TOPIC), to replay it later
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Begin a new file at this size
    #[arg(long, value_name = "SIZE")]
    pub rotate_size: Option<String>,
    /// Begin a new file after so long
    #[arg(long, value_name = "DURATION")]
    pub rotate_every: Option<String>,
    /// End the recording at this size of all its files together, and the shadow log likewise; 8GiB unless given
    #[arg(long, value_name = "SIZE")]
    pub record_limit: Option<String>,
    /// A header or field that is redacted as well; may be repeated
    #[arg(long, value_name = "NAME")]
    pub redact: Vec<String>,
    /// A header whose value is recorded unredacted, e.g. Cookie, against a private staging: the file then lets its reader act
    /// as the users in it; may be repeated
    #[arg(long, value_name = "NAME")]
    pub keep: Vec<String>,
    /// A Rails application's file that sets filter_parameters: those names are redacted as well; may be repeated
    #[arg(long, value_name = "FILE")]
    pub filter_parameters: Vec<String>,
    /// Keep every pair of answers, for powerband compare --shadow-log
    #[arg(long, value_name = "FILE")]
    pub shadow_log: Option<PathBuf>,
    /// Serve counts and comparison here: /metrics and /status.json; loopback unless an address says otherwise
    #[arg(long, value_name = "ADDRESS")]
    pub status: Option<String>,
    /// A name that the status page accepts as Host, besides localhost and its addresses; may be repeated
    #[arg(long, value_name = "HOST")]
    pub status_host: Vec<String>,
    /// Print the comparison as JSON at the end
    #[arg(long)]
    pub json: bool,
    /// No progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
}
