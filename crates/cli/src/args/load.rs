//! `load`: what may be typed. `target` and `requests` are for every verb that drives a URL.

use super::{KafkaArgs, KeptArgs, SpeechArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `load`.
#[derive(Debug, Args)]
#[command(
    override_usage = "powerband load [OPTIONS] URL\n       powerband load merge [OPTIONS] FILE…",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "With --rate requests start on schedule, whatever the server does, and latency counts from the instant at \
which a request was due: so the figures hold the waiting that users would feel. Without --rate each of -c \
clients waits for its answer before it asks again; a server that stalls then delays only them.

Exit codes: 0 done; 1 an assertion failed; 2 wrong usage; 3 no honest answer (nothing was answered, \
every request failed, the generator was too slow, an assertion is undecided); 130 interrupted by \
Ctrl-C, after the table of what was measured so far. Where several apply: 130; then 3 because nothing \
was answered or the generator was too slow; then 1; then 3 for the other reasons; then 2 for a file \
that cannot be written."
)]
pub struct LoadArgs {
    /// What to do with earlier runs, in place of sending load.
    #[command(subcommand)]
    pub verb: Option<LoadVerb>,
    /// What the load is sent to.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Requests to send [default: as many as fit the duration]
    #[arg(short = 'n', long, value_name = "N", help_heading = "How much")]
    pub requests: Option<String>,
    /// Clients, each of which asks again when it has its answer [default: 1]
    #[arg(short = 'c', long, value_name = "N", help_heading = "How much")]
    pub connections: Option<String>,
    /// Pause of a client between an answer and its next request, e.g. 1s [default: none]
    #[arg(
        long,
        value_name = "DURATION",
        env = "POWERBAND_THINK",
        help_heading = "How much"
    )]
    pub think: Option<String>,
    /// Poll instead of sleeping for up to this long before a request is due, e.g. 200us: nearer to the
    /// schedule, for a generator with a core of its own [default: none]
    #[arg(long, value_name = "DURATION", help_heading = "How much")]
    pub spin: Option<String>,
    /// Requests to start each second, whatever the server does: 100; a ramp, 10..200; steps, 50,100,200;
    /// with times, 50x30s,100x5min; bursts, 200x2s,20x28s,... (the dots repeat the parts until the end)
    #[arg(
        long,
        value_name = "PER_SECOND",
        env = "POWERBAND_RATE",
        help_heading = "How much"
    )]
    pub rate: Option<String>,
    /// How --rate spaces them: poisson (as independent users) or constant [default: poisson]
    #[arg(
        long,
        value_name = "KIND",
        env = "POWERBAND_ARRIVALS",
        help_heading = "How much"
    )]
    pub arrivals: Option<String>,
    /// How long, e.g. 30s [default: 10s, or until -n is reached]
    #[arg(
        long,
        value_name = "DURATION",
        env = "POWERBAND_DURATION",
        help_heading = "How much"
    )]
    pub duration: Option<String>,
    /// Load that is sent first and not counted, e.g. 5s
    #[arg(
        long,
        value_name = "DURATION",
        env = "POWERBAND_WARMUP",
        help_heading = "How much"
    )]
    pub warmup: Option<String>,
    /// Connections that --rate may open; requests beyond wait [default: 1024]
    #[arg(long, value_name = "N", help_heading = "How much")]
    pub max_connections: Option<String>,

    /// What is requested.
    #[command(flatten)]
    pub requested: RequestArgs,
    /// Generators that share a topic.
    #[command(flatten)]
    pub group: GroupArgs,

    /// Count the requests slower than this, e.g. p99=250ms
    #[arg(
        long,
        value_name = "OBJECTIVE",
        env = "POWERBAND_SLO",
        help_heading = "Judging"
    )]
    pub slo: Option<String>,
    /// Limits.
    #[command(flatten)]
    pub asserted: AssertedArgs,

    /// Write a row for each second as CSV; - is stdout
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Write the histograms of each second as an HdrHistogram log, for its tools and plotters
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hdr_log: Option<PathBuf>,
    /// How to speak.
    #[command(flatten)]
    pub speech: SpeechArgs,
}

/// Generators that share a topic of Kafka.
#[derive(Debug, Args)]
pub struct GroupArgs {
    /// Consumer group of the generators that share the topic of --replay kafka://…; a group replays each request once
    #[arg(long, value_name = "NAME", help_heading = "Kafka")]
    pub group: Option<String>,
    /// Generators that wait for each other and start together [default: 1]
    #[arg(long, value_name = "N", help_heading = "Kafka")]
    pub generators: Option<String>,
    /// How long the generators wait for each other [default: 5min]
    #[arg(long, value_name = "DURATION", help_heading = "Kafka")]
    pub gather: Option<String>,
    /// How Kafka is reached.
    #[command(flatten)]
    pub kafka: KafkaArgs,
}

/// Limits, and their report.
#[derive(Debug, Args)]
pub struct AssertedArgs {
    /// Limits not to be exceeded, else exit 1: p50, p99, p99.9, …, max, errors; and min-throughput.
    /// E.g. p99=250ms,errors=0.1%,min-throughput=90/s; of one page: "GET /cart:p99=250ms". May be repeated
    #[arg(
        long,
        value_name = "LIMITS",
        env = "POWERBAND_ASSERT",
        help_heading = "Judging"
    )]
    pub assert: Vec<String>,
    /// Write the assertions as JUnit XML, which CI systems show as tests: one that failed is a failure, an
    /// undecided one an error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
}

/// What `load` does in place of sending load.
#[derive(Debug, Subcommand)]
pub enum LoadVerb {
    /// Add up what several machines measured of one server, exactly: documents of --json, or logs of --hdr-log
    Merge(LoadMergeArgs),
}

/// `load merge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband load merge machine-*.json --assert p99=250ms,errors=0.1% --junit report.xml
  powerband load merge machine-*.json --json > all.json
  powerband load merge machine-*.hlog --hdr-log all.hlog
  powerband load merge kafka://127.0.0.1:9092/traffic --group monday --json > all.json

Counts and histograms are added, and percentiles are those of the sum. Of documents, the runs must have been asked the \
same; URL, rate, connections, -n, duration, warm-up and seed may differ. A log does not say what was asked, whether the \
generator was punctual, or whether the run was interrupted; merge documents to have that judged.

Exit codes: as of powerband load; 2 files that cannot be merged.")]
pub struct LoadMergeArgs {
    /// Documents of powerband load --json, or logs of powerband load --hdr-log; or, with --group, a topic of Kafka:
    /// kafka://HOST:PORT/TOPIC
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Merge the latest run of this consumer group; needs a topic
    #[arg(long, value_name = "NAME", help_heading = "Kafka")]
    pub group: Option<String>,
    /// How Kafka is reached.
    #[command(flatten)]
    pub kafka: KafkaArgs,
    /// Limits.
    #[command(flatten)]
    pub asserted: AssertedArgs,
    /// Write the merged histograms as an HdrHistogram log: from logs one interval per second in which intervals began; from documents a single interval
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hdr_log: Option<PathBuf>,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// What the load is sent to.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// What to ask, e.g. http://127.0.0.1:3000/products?page=2
    #[arg(value_name = "URL", required = true)]
    url: Option<String>,
    /// Host header, if it is not the URL's
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    pub host: Option<String>,
    /// Connect to this Unix socket; the URL gives the path and the Host header
    #[arg(long, value_name = "PATH", help_heading = "Connection")]
    pub unix_socket: Option<PathBuf>,
    /// PEM file of authorities to trust in addition to the system's
    #[arg(
        long,
        value_name = "FILE",
        env = "POWERBAND_CACERT",
        help_heading = "Connection"
    )]
    pub cacert: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, help_heading = "Connection")]
    pub insecure: bool,
    /// Whether connections are kept.
    #[command(flatten)]
    pub kept: KeptArgs,
    /// Longest wait for an answer before it counts as failed [default: 30s]
    #[arg(
        long,
        value_name = "DURATION",
        env = "POWERBAND_TIMEOUT",
        help_heading = "Connection"
    )]
    pub timeout: Option<String>,
    /// Allow a target that is not on this machine
    #[arg(long, help_heading = "Connection")]
    pub allow_remote: bool,
}

impl TargetArgs {
    /// Only `merge` is without one.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }
}

/// What is requested.
#[derive(Debug, Default, Args)]
pub struct RequestArgs {
    /// File of weighted requests (TOML) or of recorded traffic, instead of the URL's path
    #[arg(
        long,
        value_name = "FILE",
        env = "POWERBAND_WORKLOAD",
        help_heading = "Requests"
    )]
    pub workload: Option<PathBuf>,
    /// Recorded traffic, sent at its recorded times: an access log, HAR, GoReplay, vegeta or h2load file, or, with --group, a
    /// topic of Kafka: kafka://HOST:PORT/TOPIC
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    pub replay: Option<PathBuf>,
    /// Send each request of a recording with the Host that it was recorded with, in place of the URL's
    #[arg(long, help_heading = "Requests")]
    pub replay_host: bool,
    /// How much faster than recorded, e.g. 2x [default: 1x]
    #[arg(long, value_name = "FACTOR", help_heading = "Requests")]
    pub speed: Option<String>,
    /// Send each request of --replay N times, each time on another connection [default: 1]
    #[arg(long, value_name = "N", help_heading = "Requests")]
    pub amplify: Option<String>,
    /// Method [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = "Requests")]
    pub method: Option<String>,
    /// Header to add to each request that has no header of this name, e.g. "Accept: application/json"; may be repeated
    #[arg(short = 'H', long, value_name = "HEADER", help_heading = "Requests")]
    pub header: Vec<String>,
    /// Body to send
    #[arg(long, value_name = "TEXT", help_heading = "Requests")]
    pub body: Option<String>,
    /// File whose bytes are the body
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    pub body_file: Option<String>,
    /// Allow methods other than GET and HEAD: they may change the application's data
    #[arg(long, help_heading = "Requests")]
    pub allow_unsafe: bool,
    /// Do not send X-Request-Start, the instant at which a request was due
    #[arg(long, help_heading = "Requests")]
    pub no_request_start: bool,
    /// Seed of the arrival times and of the order of requests [default: of the clock]
    #[arg(
        long,
        value_name = "N",
        env = "POWERBAND_SEED",
        help_heading = "Requests"
    )]
    pub seed: Option<String>,
}
