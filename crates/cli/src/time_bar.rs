//! The progress of work that takes a known time, or goes on until it is stopped.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A progress line on stderr; nothing without a terminal. Dropping it clears it.
#[derive(Debug)]
pub struct TimeBar(Option<ProgressBar>);

impl TimeBar {
    /// Without a length: a spinner.
    pub fn new(length: Option<Duration>, quiet: bool) -> TimeBar {
        let drawn = !quiet && std::io::stderr().is_terminal();
        TimeBar(drawn.then(|| match length {
            Some(length) => {
                let bar = ProgressBar::new(length.as_millis() as u64);
                bar.with_style(style(
                    "{spinner} {bar:24} {elapsed} elapsed, {eta} left  {wide_msg}",
                    ProgressStyle::default_bar,
                ))
            }
            None => ProgressBar::new_spinner().with_style(style(
                "{spinner} {elapsed} elapsed, Ctrl-C ends it  {wide_msg}",
                ProgressStyle::default_spinner,
            )),
        }))
    }

    pub fn is_drawn(&self) -> bool {
        self.0.is_some()
    }

    /// Draws it as of now.
    pub fn show(&self, elapsed: Duration, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.0 {
            bar.set_position(elapsed.as_millis() as u64);
            bar.set_message(message());
            bar.tick();
        }
    }
}

impl Drop for TimeBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str, otherwise: fn() -> ProgressStyle) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| otherwise())
}
