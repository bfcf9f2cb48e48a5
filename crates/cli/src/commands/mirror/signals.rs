//! Signals of a mirror: SIGHUP reads its configuration again; Ctrl-C and SIGTERM end it in order, the second one at once. SIGUSR1,
//! with which log rotation asks other servers to open their files again, changes nothing: recordings rotate by themselves.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    End,
    Reload,
}

/// What was signalled.
#[derive(Debug)]
pub struct Signals {
    end: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

impl Signals {
    /// Takes them over.
    pub fn listen() -> std::io::Result<Signals> {
        let (end, reload) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        for signal in [SIGINT, SIGTERM] {
            // Armed by the first, so that the second has its default effect.
            signal_hook::flag::register_conditional_default(signal, end.clone())?;
            signal_hook::flag::register(signal, end.clone())?;
        }
        signal_hook::flag::register(SIGHUP, reload.clone())?;
        // Without a handler it would end the process.
        signal_hook::flag::register(SIGUSR1, Arc::default())?;
        Ok(Signals { end, reload })
    }

    /// What is wanted now.
    pub fn wish(&self) -> Option<Wish> {
        match self.end.load(Ordering::Relaxed) {
            true => Some(Wish::End),
            false => self
                .reload
                .swap(false, Ordering::Relaxed)
                .then_some(Wish::Reload),
        }
    }
}
