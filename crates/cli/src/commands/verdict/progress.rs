//! How many of the queries are answered: those of a large fleet take minutes.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A line on stderr; nothing without a terminal. Dropping it clears it.
#[derive(Debug)]
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(super) fn of(queries: usize) -> Progress {
        Progress(std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(queries as u64);
            let template =
                "{spinner} {bar:24} {pos}/{len} queries answered  {elapsed} elapsed, {eta} left";
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }

    pub(super) fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
