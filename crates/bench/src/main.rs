//! The load generator: measures the real program from outside and prints figures for people. It
//! asserts nothing.

mod cli;
mod clock;
mod daemon;
mod disk;
mod latencies;
mod load;
mod loads;
mod measure;
mod model;
mod process;
mod report;
mod rest;
mod units;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use cli::BenchOptions;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&BenchOptions::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("avocet-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A signal drops the measurement, which kills the daemon and removes its home directory.
async fn run(options: &BenchOptions) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let report = tokio::select! {
        report = measure::all(options) => report?,
        _ = terminate.recv() => bail!("terminated; nothing is left behind"),
        _ = interrupt.recv() => bail!("interrupted; nothing is left behind"),
    };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}
