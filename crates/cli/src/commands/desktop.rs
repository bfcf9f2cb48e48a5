//! The browser of the person at this machine.

use crate::output;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Whether a person who sits at a desktop of this machine reads what is printed.
pub fn is_there() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // X11 that SSH forwards would start a browser on this machine, to be drawn over the network.
    output::is_terminal() && (set("DISPLAY") || set("WAYLAND_DISPLAY")) && !set("SSH_CONNECTION")
}

/// Opens a page, where a browser starts; the caller has printed where it is.
pub fn open(page: &OsStr) {
    let mut browser = Command::new("xdg-open");
    browser.arg(page);
    for set in [Command::stdin, Command::stdout, Command::stderr] {
        set(&mut browser, Stdio::null());
    }
    if let Ok(mut started) = browser.spawn() {
        // A program that goes on leaves no dead child.
        std::thread::spawn(move || started.wait());
    }
}
