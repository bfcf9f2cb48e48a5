//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second ends at once. Either way the guards end the
//! servers.

use crate::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How long work may go on before it looks whether a signal was received.
pub const LOOK: Duration = Duration::from_millis(100);

/// The signal that asked for the end, if any.
#[derive(Debug, Clone)]
pub struct Signals {
    received: Arc<AtomicUsize>,
}

impl Signals {
    /// Takes over the signals for a command.
    pub fn taken() -> Result<Signals, Failure> {
        Signals::listen()
            .map_err(|e| Failure::usage(format!("signals cannot be handled here: {e}")))
    }

    /// Takes over the signals.
    pub fn listen() -> std::io::Result<Signals> {
        let received = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Armed by the first signal, so that a second one of the same kind has its default effect.
            let armed = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&armed))?;
            signal_hook::flag::register(signal, armed)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&received), signal as usize)?;
        }
        Ok(Signals { received })
    }

    /// The signal received, if any.
    pub fn received(&self) -> Option<u8> {
        match self.received.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as u8),
        }
    }
}
