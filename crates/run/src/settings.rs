//! A configuration of a server, as every document has it.

use serde::{Deserialize, Serialize};

/// The knobs of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Worker processes; 0 is Puma's single mode (one process, no cluster).
    pub workers: u16,
    /// Threads in each process, minimum and maximum alike.
    pub threads: u16,
    /// Whether the application is loaded before the workers are forked.
    pub preload: bool,
}

impl Settings {
    /// What Puma does without any setting.
    pub const PUMA_DEFAULT: Settings = Settings {
        workers: 0,
        threads: 5,
        preload: false,
    };

    /// Processes that serve requests: single mode serves in one.
    pub fn processes(&self) -> u32 {
        u32::from(self.workers.max(1))
    }

    /// As `compare` takes it: `threads=3,workers=2,preload=true`.
    pub fn typed(&self) -> String {
        let preload = match self.workers {
            0 => String::new(),
            _ => format!(",preload={}", self.preload),
        };
        format!("threads={},workers={}{preload}", self.threads, self.workers)
    }

    /// Requests that can be in the application at once.
    pub fn concurrency(&self) -> u32 {
        self.processes() * u32::from(self.threads)
    }
}

/// `2 workers × 3 threads, preloaded`, as tables show it.
impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = if self.threads == 1 {
            "1 thread".to_owned()
        } else {
            format!("{} threads", self.threads)
        };
        match self.workers {
            0 => write!(f, "single × {threads}"),
            1 => write!(f, "1 worker × {threads}"),
            n => write!(f, "{n} workers × {threads}"),
        }?;
        if self.workers > 0 && self.preload {
            write!(f, ", preloaded")
        } else {
            Ok(())
        }
    }
}
