//! The screen that is drawn again after every reading, every key and every change of size.

use super::readings::Readings;
use crate::signals::{LOOK, Signals};
use crate::{Failure, output};
use ::watch::{Action, Reading, Seen, Subject, View};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};

/// The exit code where the terminal was closed, as after its signal.
const SIGHUP: u8 = 128 + 1;

/// Shows windows until a key or a signal ends it. The terminal is restored then, and when the program panics.
pub fn show(
    readings: Readings,
    first: Reading,
    subject: Option<Subject>,
    length: Duration,
    interval: Duration,
) -> Result<u8, Failure> {
    let failed = |e: io::Error| {
        Failure::usage(format!(
            "the terminal cannot be used: {e}; powerband watch --once prints text"
        ))
    };
    let signals = Signals::taken()?;
    let terminal = ratatui::try_init().map_err(failed)?;
    let mut view = View::default();
    view.colour = output::style().colour;
    view.source = readings.shown();
    if let Some(subject) = subject {
        view.open(subject);
    }
    let mut seen = Seen::new(length);
    seen.push(first);
    let mut screen = Screen {
        view,
        readings,
        seen,
    };
    let ended = screen.until_end(terminal, &signals, interval);
    // A closed terminal needs no restoring.
    let restored = ratatui::try_restore();
    let code = ended.map_err(failed)?;
    if code != SIGHUP {
        restored.map_err(failed)?;
    }
    Ok(code)
}

/// Waits for input, and says whether the terminal was closed instead. SIGHUP reaches only the processes that a terminal
/// controls, and crossterm reads the end of a closed one again and again, for ever.
fn is_closed_within(wait: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match rustix::event::poll(&mut polled, Some(&wait)) {
        Ok(_) => Ok(polled[0].revents().contains(PollFlags::HUP)),
        Err(Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

struct Screen {
    view: View,
    readings: Readings,
    seen: Seen,
}

impl Screen {
    fn until_end(
        &mut self,
        mut terminal: DefaultTerminal,
        signals: &Signals,
        interval: Duration,
    ) -> io::Result<u8> {
        let mut due = Instant::now() + interval;
        loop {
            self.seen.look_at(self.view.subject());
            terminal.draw(|frame| {
                self.view.draw(&self.seen, frame.area(), frame.buffer_mut());
            })?;
            loop {
                if let Some(signal) = signals.received() {
                    return Ok(128 + signal);
                }
                if Instant::now() >= due {
                    self.read();
                    due = Instant::now() + interval;
                    break;
                }
                let wait = due.saturating_duration_since(Instant::now()).min(LOOK);
                if is_closed_within(wait)? {
                    // Its end writes to the terminal, and panics where that fails.
                    std::mem::forget(terminal);
                    return Ok(SIGHUP);
                }
                if !event::poll(Duration::ZERO)? {
                    continue;
                }
                match event::read()? {
                    Event::Key(key) => match self.view.key(key, &self.seen) {
                        Action::End => return Ok(0),
                        Action::Draw => break,
                        Action::Nothing => {}
                    },
                    Event::Resize(..) => break,
                    _ => {}
                }
            }
        }
    }

    /// Goes on where no process runs, as while a server restarts: the screen says why there is no new window.
    fn read(&mut self) {
        match self.readings.read() {
            Ok(reading) => {
                self.view.problem = None;
                self.seen.push(reading);
            }
            Err(failure) => {
                self.view.problem = Some(failure.message);
                self.seen.clear();
            }
        }
    }
}
