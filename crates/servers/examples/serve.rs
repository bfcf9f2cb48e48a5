//! The smallest program that starts a Puma with this crate, and its own guard too.
//!
//! `serve APP_DIR WORK_DIR THREADS WORKERS` starts the server, prints `PORT GUARD_PID` and waits for
//! the end of its standard input; `serve guard` is the guard that it executes.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use servers::guard::GuardProgram;
use servers::{ServerCommand, ServerSpec, Settings};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let first = args
        .next()
        .ok_or("usage: serve APP_DIR WORK_DIR THREADS WORKERS")?;
    if first == "guard" {
        return Ok(servers::guard::main(args));
    }
    let rest: Vec<String> = args
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let [work_dir, threads, workers] = rest.as_slice() else {
        return Err("usage: serve APP_DIR WORK_DIR THREADS WORKERS".into());
    };
    let settings = Settings {
        threads: threads.parse()?,
        workers: workers.parse()?,
        preload: false,
    };
    let guard = GuardProgram {
        exe: std::env::current_exe()?,
        arg: "guard".into(),
    };
    let program = servers::default_puma_command(Path::new(&first));
    let mut spec = ServerSpec::new(first, settings, work_dir, guard);
    spec.command = ServerCommand::Puma {
        program,
        config: None,
    };
    let server = servers::start(&spec, &|| false)?;
    println!("{} {}", server.port(), server.guard_pid());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    server.stop();
    Ok(ExitCode::SUCCESS)
}
