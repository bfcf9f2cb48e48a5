//! What `init` takes.

use clap::Args;
use std::path::PathBuf;

/// `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --from, the first of these that has requests is used: log/production.log, log/development.log, the routes. For the \
                  routes, the application boots in the environment production (or app.environment): bin/rails routes lists them, and up to 60 \
                  pages are requested once each, until 12 answer with a page. Those that answer 404, redirect or fail are comments. The file also \
                  has an objective (p99=250ms) and a budget: change them to yours. Secrets in queries are left out. If \
                  there is a powerband.toml, its [app.env] and app.environment are used, and [app.env] is kept. A file with anything \
                  but [app.env], even a comment, is replaced only with --force.\n\n\
                  Examples:\n  powerband init\n  powerband init --from /var/log/nginx/access.log\n  powerband init --print\n\n\
                  Exit codes: 0 done; 2 wrong usage, a file that cannot be read, or a powerband.toml that only --force replaces; 3 the application does not boot, \
                  so that its routes are not known: nothing is written."
)]
pub struct InitArgs {
    /// Folder of the application
    #[arg(
        long,
        value_name = "DIR",
        env = "POWERBAND_APP",
        default_value = ".",
        hide_env = true
    )]
    pub app: PathBuf,
    /// Where the requests come from: a log of Rails, an access log, a HAR file, a capture file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// A variable that the application needs to boot, where its routes are asked for; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// Replace all of powerband.toml but its [app.env]
    #[arg(long)]
    pub force: bool,
    /// Print the file and write nothing
    #[arg(long)]
    pub print: bool,
}
