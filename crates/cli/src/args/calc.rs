//! What `calc` takes. Every figure is text here, so that all errors are reported at once.

use clap::{Args, Subcommand};

/// `calc`.
#[derive(Debug, Args)]
pub struct CalcArgs {
    /// Which formula.
    #[command(subcommand)]
    pub what: Calculation,
    /// Print one JSON document instead of the page
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
}

/// The formulas.
#[derive(Debug, Subcommand)]
pub enum Calculation {
    /// Amdahl's law: how many times as fast with N threads, and from where one more adds little
    Amdahl(AmdahlArgs),
    /// How many threads a process can use: the count that is enough, the bounds, and throughput and GVL wait of each count
    Threads(ThreadsArgs),
    /// How long requests wait at a rate, and the rate at which an objective is just met
    Queue(QueueArgs),
    /// The Universal Scalability Law fitted to measured throughput, and where it peaks
    Usl(UslArgs),
    /// Database connections of web, jobs and deploys against the server's limit
    Pool(PoolArgs),
}

/// `calc amdahl`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband calc amdahl --parallel 37%          the part of a request that is I/O (powerband inspect shows it)
  powerband calc amdahl --parallel 0.9 --up-to 32")]
pub struct AmdahlArgs {
    /// The part of the work that can be shared out: 0.37 or 37%. Of a request: its I/O / (I/O + GVL held)
    #[arg(
        long,
        visible_alias = "io-share",
        value_name = "SHARE",
        allow_hyphen_values = true
    )]
    pub parallel: Option<String>,
    /// A gain that is not worth one more thread [default: 5%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub worth: Option<String>,
    /// Threads in the last row [default: a little beyond the count that is enough]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub up_to: Option<String>,
}

/// `calc threads`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband calc threads --held 20ms --io 30ms --cores 2
  powerband calc threads --held 20ms --io 30ms --cores 2 --processes 2 --lock 5ms

powerband inspect shows GVL held, I/O and lock wait of your own requests.")]
pub struct ThreadsArgs {
    /// Time of a request in which it holds the GVL
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub held: Option<String>,
    /// Time in which it waits without the GVL for a database, the network or a disk; waiting for locks left out
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub io: Option<String>,
    /// Processor time that it takes without the GVL: compression, password hashes [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub native: Option<String>,
    /// Part of the I/O that it does in possession of one lock of its process: a mutex, a single pooled
    /// connection [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub lock: Option<String>,
    /// Cores that the processes share; 1.5 is a quota
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub cores: Option<String>,
    /// Processes [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub processes: Option<String>,
    /// A gain that is not worth one more thread [default: 5%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub worth: Option<String>,
    /// Threads of each process in the last row [default: a little beyond what is enough]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub up_to: Option<String>,
}

/// `calc queue`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband calc queue --rate 80 --service 20ms --servers 4
  powerband calc queue --rate 80 --service 20ms --servers 4 --scv 2 --objective p99=250ms
  powerband calc queue --service 20ms --objective p99=250ms         the rate that just meets it

Exit codes: 0 done; 1 the objective is not met at --rate, or at no rate; 2 wrong usage, or more arrives than the
servers can do.")]
pub struct QueueArgs {
    /// Requests that arrive each second
    #[arg(long, value_name = "PER_SECOND", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Mean time for which a request keeps its server busy
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub service: Option<String>,
    /// Servers: what a request has to itself while it is served [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub servers: Option<String>,
    /// How much service times vary: variance / mean², 0 constant, 1 exponential [default: 1]
    #[arg(long, value_name = "SCV", allow_hyphen_values = true)]
    pub scv: Option<String>,
    /// The same of the times between arrivals: 1 is Poisson, as independent users come [default: 1]
    #[arg(long, value_name = "SCV", allow_hyphen_values = true)]
    pub arrival_scv: Option<String>,
    /// Response time that must be kept, e.g. p99=250ms
    #[arg(long, value_name = "OBJECTIVE", allow_hyphen_values = true)]
    pub objective: Option<String>,
    /// Percentiles to show [default: 50,95,99]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub percentiles: Option<String>,
}

/// `calc usl`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband calc usl --measured 1=100,2=190,4=340,8=560,16=800,32=900
  powerband calc usl rows.csv                  lines of N,THROUGHPUT; - is stdin

powerband load URL -c N, a closed loop, measures the throughput of N clients.")]
pub struct UslArgs {
    /// CSV file with a line N,THROUGHPUT for each measurement; - is stdin
    #[arg(value_name = "FILE", conflicts_with = "measured")]
    pub file: Option<std::path::PathBuf>,
    /// Measurements: N=THROUGHPUT, N being the threads, processes or clients. The same N may come again
    #[arg(long, value_name = "N=X,…", allow_hyphen_values = true)]
    pub measured: Vec<String>,
}

/// `calc pool`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  powerband calc pool --web-processes 4 --web-threads 5 --max-connections 100
  powerband calc pool --web-processes 4 --web-threads 5 --job-processes 2 --job-threads 10 --async-executor 4 \\
    --max-connections 100 --deploy-overlap 100% --rate 200 --transaction 12ms

Exit codes: 0 done; 1 more connections than the server allows; 2 wrong usage.")]
pub struct PoolArgs {
    /// Web processes on all hosts together: Puma's workers, or 1 for each Puma in single mode
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub web_processes: Option<String>,
    /// Threads of each web process
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub web_threads: Option<String>,
    /// Job processes on all hosts together [default: 0]
    #[arg(
        long,
        visible_alias = "jobs-processes",
        value_name = "N",
        allow_hyphen_values = true
    )]
    pub job_processes: Option<String>,
    /// Threads of each job process (Sidekiq's concurrency)
    #[arg(
        long,
        visible_alias = "jobs-threads",
        value_name = "N",
        allow_hyphen_values = true
    )]
    pub job_threads: Option<String>,
    /// Threads of each process's async-query executor (global_executor_concurrency); 0 without load_async [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub async_executor: Option<String>,
    /// Connections of consoles, migrations, cron jobs and monitoring [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub others: Option<String>,
    /// Part of the processes that are there twice while a deploy overlaps; 25% for a rolling restart of a quarter at
    /// a time, 0 when all stop first [default: 100%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub deploy_overlap: Option<String>,
    /// The database server's max_connections
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_connections: Option<String>,
    /// Of these, kept for administrators (PostgreSQL's superuser_reserved_connections and reserved_connections)
    /// [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub reserved: Option<String>,
    /// The pool that database.yml has today
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub pool: Option<String>,
    /// Transactions each second, all processes together
    #[arg(long, value_name = "PER_SECOND", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Mean time for which a transaction has its connection
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub transaction: Option<String>,
}
