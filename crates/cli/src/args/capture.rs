//! What may be typed after `powerband capture`.

use super::KafkaArgs;
use crate::Failure;
use crate::filter_parameters::filter_parameters;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `capture`.
#[derive(Debug, Args)]
#[command(
    after_help = "Files are read in every format of docs/traffic.md; - is standard input; kafka://HOST:PORT/TOPIC is a topic of Kafka.

Examples:
  powerband capture info traffic.pbc
  powerband capture convert access.log --to pbc -o traffic.pbc
  powerband capture filter traffic.pbc --method GET --sample 10% -o tenth.pbc
  powerband capture merge web-1.pbc web-2.pbc -o site.pbc
  powerband capture convert traffic.pbc --to pbc -o kafka://127.0.0.1:9092/traffic

Exit codes: 0 done; 2 wrong usage, or the output cannot be written; 3 a file that cannot be read,
nothing to write, or a topic that cannot be read or written."
)]
pub struct CaptureArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: Captured,
}

/// What is done with recorded traffic.
#[derive(Debug, Subcommand)]
pub enum Captured {
    /// Show what a file holds: when, how often, which requests, how fast, what is damaged
    Info(CaptureInfoArgs),
    /// Write the requests in another format
    Convert(ConvertArgs),
    /// Write some of the requests
    Filter(FilterArgs),
    /// Write the requests without secrets
    Redact(RedactArgs),
    /// Write the requests of several files, as of several machines, into one in the order of their clocks
    Merge(MergeArgs),
}

/// `capture info`.
#[derive(Debug, Args)]
pub struct CaptureInfoArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Endpoints shown, the most frequent [default: 20]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// How a topic is reached.
    #[command(flatten)]
    pub kafka: KafkaArgs,
}

/// Where the result is written.
#[derive(Debug, Args)]
pub struct OutArgs {
    /// Where to write; - is standard output; to a topic, kafka://HOST:PORT/TOPIC, the requests are appended (with --to pbc)
    #[arg(
        long,
        short,
        value_name = "OUT",
        default_value = "-",
        help_heading = "Output"
    )]
    pub output: PathBuf,
    /// Replace a file that is there
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// Say nothing about what was written
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// How topics are reached.
    #[command(flatten)]
    pub kafka: KafkaArgs,
}

/// A format that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// Powerband's own
    Pbc,
    /// GoReplay
    Gor,
    /// HTTP Archive
    Har,
    /// Vegeta's JSON targets
    Vegeta,
    /// h2load's timing script
    H2load,
}

/// `capture convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: To,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}

/// `capture filter`.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only these methods, e.g. GET,HEAD
    #[arg(long, value_name = "METHODS", value_delimiter = ',')]
    pub method: Vec<String>,
    /// Only targets (path and query) in which this regular expression is found, e.g. '^/products/'
    #[arg(long, value_name = "REGEX")]
    pub path: Option<String>,
    /// Only requests answered with these, e.g. 200,404 or 5xx or 300-399
    #[arg(long, value_name = "STATUSES", value_delimiter = ',')]
    pub status: Vec<String>,
    /// Only from so long after the file's first request on, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub from: Option<String>,
    /// Only until so long after the file's first request, e.g. 15m
    #[arg(long, value_name = "DURATION")]
    pub to: Option<String>,
    /// Only so many of the connections, each with all its requests, e.g. 10%
    #[arg(long, value_name = "SHARE")]
    pub sample: Option<String>,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}

/// `capture redact`.
#[derive(Debug, Args)]
pub struct RedactArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What is taken out.
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}

/// What is taken out of recorded requests.
#[derive(Debug, Default, Args)]
pub struct RuleArgs {
    /// Further headers whose values are taken out; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Redaction")]
    pub redact_header: Vec<String>,
    /// Further fields of queries, forms and JSON whose values are taken out; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Redaction")]
    pub redact_field: Vec<String>,
    /// A Rails application's file that sets filter_parameters: those names are redacted as well; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Redaction")]
    pub filter_parameters: Vec<PathBuf>,
    /// A header or field that is kept although the usual rules cover it; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Redaction")]
    pub keep: Vec<String>,
    /// Keep bodies that no parser here understands, such as XML and pictures
    #[arg(long, help_heading = "Redaction")]
    pub keep_other_bodies: bool,
}

impl RuleArgs {
    /// For the writer.
    ///
    /// # Errors
    /// When a file with filter_parameters cannot be used.
    pub fn rules(&self) -> Result<::capture::Rules, Failure> {
        let mut rules = ::capture::Rules::new(&self.redact_header, &self.redact_field, &self.keep);
        for file in &self.filter_parameters {
            let names = filter_parameters(file).map_err(|why| {
                let file = file.display();
                Failure::usage(format!(
                    "--filter-parameters {file}: {why}; name its fields with --redact-field"
                ))
            })?;
            rules = rules.filtering(&names);
        }
        Ok(if self.keep_other_bodies {
            rules.keeping_other_bodies()
        } else {
            rules
        })
    }
}

/// `capture merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The files
    #[arg(required = true, num_args = 1.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}
