//! The command line: arguments in, calls to the crates that do the work, words and exit codes out.
//!
//! The only crate that prints or exits. Exit codes: 0 done; 1 done, with a negative result; 2 wrong usage or
//! configuration; 3 the measurements are not enough for an answer; 128 + n ended by signal n.

mod args;
mod asked;
mod client;
mod commands;
mod count_bar;
mod examples;
mod filter_parameters;
mod listener;
mod output;
mod progress;
mod resumed;
mod signals;
mod time_bar;
mod usage;
mod verbs;

use args::Command;
use std::process::ExitCode;

// musl's allocator costs a mirror to a shadow a sixth of its CPU time (bench/libc).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    // The guard is this binary under another name; it must not parse anything else or write to the terminal.
    if let Some(code) = commands::guard_if_asked() {
        return code;
    }
    if std::env::args_os().len() == 1 {
        return ended(commands::welcome());
    }
    let result = resumed::whole(usage::parsed()).and_then(|cli| done(cli.command));
    ended(result)
}

fn ended(result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::error(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn done(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Init(init) => commands::init(&init),
        Command::Tune(tune) => commands::tune(tune),
        Command::Compare(compare) => commands::compare(compare),
        Command::Check(check) => commands::check(*check),
        Command::Sweep(sweep) => commands::sweep(sweep),
        Command::Load(load) => commands::load(load),
        Command::Capacity(capacity) => commands::capacity(capacity),
        Command::Mirror(mirror) => commands::mirror(*mirror),
        Command::Run(run) => commands::run(run),
        Command::Inspect(inspect) => commands::inspect(inspect),
        Command::Watch(watch) => commands::watch(&watch),
        Command::Memory(memory) => commands::memory(&memory),
        Command::Leak(leak) => commands::leak(*leak),
        Command::Advise(advise) => commands::advise(*advise),
        Command::Calc(calc) => commands::calc(calc),
        Command::Predict(predict) => commands::predict(*predict),
        Command::Export(export) => commands::export(&export),
        Command::Verdict(verdict) => commands::verdict(&verdict),
        Command::Drift(drift) => commands::drift(&drift),
        Command::Trace(trace) => commands::trace(trace),
        Command::Capture(capture) => commands::capture(capture.command),
        Command::Doctor(doctor) => commands::doctor(doctor),
        Command::Report(report) => commands::report(report),
        Command::Runs(runs) => commands::runs(runs),
        Command::Completions { shell } => commands::completions(shell),
        Command::Man { dir } => commands::man(dir.as_deref()),
    }
}

/// Why a command ended without doing what it is for.
#[derive(Debug)]
pub struct Failure {
    /// What is said on stderr.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// Wrong usage or configuration.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            code: 2,
        }
    }

    /// A part of the program ended by itself, which a service manager answers with a restart.
    pub fn broken(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            code: 70,
        }
    }

    /// No honest answer.
    pub fn no_answer(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            code: 3,
        }
    }
}
