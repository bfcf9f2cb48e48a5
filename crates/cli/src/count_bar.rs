//! The progress of work with a known number of steps.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A progress line on stderr; nothing without a terminal. Dropping it clears it.
#[derive(Debug)]
pub struct CountBar(Option<ProgressBar>);

impl CountBar {
    /// `of`: what the steps are, in words.
    pub fn new(steps: usize, of: &str, quiet: bool) -> CountBar {
        let drawn = !quiet && std::io::stderr().is_terminal();
        CountBar(drawn.then(|| {
            let bar = ProgressBar::new(steps as u64);
            let template = format!(
                "{{spinner}} {{bar:24}} {{pos}}/{{len}} {of}  {{elapsed}} elapsed, {{eta}} left"
            );
            let style = ProgressStyle::with_template(&template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }

    pub fn is_drawn(&self) -> bool {
        self.0.is_some()
    }

    /// One step is done.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for CountBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
