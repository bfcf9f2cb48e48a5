//! The screen that is drawn again after every reading, every key and every change of size.

use super::readings::Readings;
use crate::signals::{LOOK, Signals};
use crate::{Failure, output};
use ::watch::{Action, Reading, Seen, Subject, View};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::thread;
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
    end_with_the_terminal().map_err(failed)?;
    let mut terminal = ratatui::try_init().map_err(failed)?;
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
    let ended = screen.until_end(&mut terminal, &signals, interval);
    // Where the cursor is still hidden, dropping the terminal shows it, and panics if the write fails.
    if terminal.show_cursor().is_err() {
        std::mem::forget(terminal);
    }
    let restored = ratatui::try_restore();
    let code = match ended {
        // Drawing fails where the terminal closes, at times before the thread has ended the program.
        Err(_) if is_closed_within(Some(&Timespec::default())) => SIGHUP,
        ended => ended.map_err(failed)?,
    };
    // A closed terminal needs no restoring.
    if code != SIGHUP {
        restored.map_err(failed)?;
    }
    Ok(code)
}

/// Ends the program as soon as the terminal closes, from a thread: crossterm reads the end of a closed terminal in a loop
/// without an end, and SIGHUP reaches only the processes that the terminal controls.
fn end_with_the_terminal() -> io::Result<()> {
    #[expect(
        clippy::exit,
        reason = "the thread that reads the terminal may never return; it only reads files, so that nothing is lost"
    )]
    let ending = || {
        if is_closed_within(None) {
            std::process::exit(SIGHUP.into());
        }
    };
    thread::Builder::new()
        .name("terminal".into())
        .spawn(ending)?;
    Ok(())
}

/// Waits for the close of the terminal, for ever without a time; false where it did not close, and where it cannot be waited for.
fn is_closed_within(wait: Option<&Timespec>) -> bool {
    let stdin = io::stdin();
    // POLLHUP is reported without being asked for.
    let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
    let polling = rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, wait));
    polling.is_ok() && polled[0].revents().contains(PollFlags::HUP)
}

struct Screen {
    view: View,
    readings: Readings,
    seen: Seen,
}

impl Screen {
    fn until_end(
        &mut self,
        terminal: &mut DefaultTerminal,
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
                if !event::poll(wait)? {
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
