//! What may be typed after `powerband trace`.

use super::SpeechArgs;
use clap::Args;
use std::path::PathBuf;

/// `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Who holds Ruby's lock (the GVL), who waits for it, who waits for something else
    #[arg(long)]
    pub gvl: bool,
    /// Ruby's garbage collections one by one, from the log that the agent always keeps
    #[arg(long, conflicts_with_all = ["gvl", "duration", "output", "svg", "buffer", "keep"])]
    pub gc: bool,
    /// Sample objects: which lines make objects that become old, and which make the most that die young
    #[arg(long, conflicts_with_all = ["gvl", "gc", "output", "svg", "keep"])]
    pub survivors: bool,
    /// With --survivors: sample one object in N on average; a larger N costs less and is less precise
    #[arg(long, value_name = "N", default_value_t = 512, requires = "survivors", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub every: u32,
    /// With --survivors: write a flame graph for https://www.speedscope.app
    #[arg(long, value_name = "FILE", requires = "survivors")]
    pub speedscope: Option<PathBuf>,
    /// With --survivors: write folded stacks, which https://profiler.firefox.com opens
    #[arg(long, value_name = "FILE", requires = "survivors")]
    pub folded: Option<PathBuf>,
    /// With --gc: only collections of this last period, e.g. 10m
    #[arg(long, value_name = "DURATION", requires = "gc")]
    pub last: Option<String>,
    /// Folder that the agent records into, or an .events or .bursts file in it (with --gc a .flight file) [default: $XDG_RUNTIME_DIR/powerband or /tmp/powerband]
    #[arg(value_name = "DIR|FILE", env = "POWERBAND_DIR")]
    pub target: Option<PathBuf>,
    /// Only this process; may be repeated
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// How long, e.g. 5s
    #[arg(long = "for", value_name = "DURATION", default_value = "5s")]
    pub duration: String,
    /// Where to write
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    pub output: PathBuf,
    /// Draw the timeline as well
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Memory for events or call sites, of all processes together
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub buffer: String,
    /// Leave the .events files in the folder, for predict, which reads the cost of accepting a connection from them
    #[arg(long)]
    pub keep: bool,
    /// How to speak.
    #[command(flatten)]
    pub speech: SpeechArgs,
}
