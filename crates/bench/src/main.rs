//! The load generator: measures the real program from outside and prints figures for people. It
//! asserts nothing.

mod cli;
mod clock;
mod cold_build;
mod cost;
mod daemon;
mod disk;
mod events;
mod fake;
mod figures;
mod growth;
mod homes;
mod latencies;
mod load;
mod machine;
mod measure;
mod model;
mod page;
mod peer;
mod peers;
mod plot;
mod process;
mod progress;
mod publish;
mod quiet;
mod report;
mod rows;
mod seed;
mod statements;
mod turns;
mod units;
mod wal;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use cli::{BenchCommand, BenchOptions, CommandLine, STDOUT};
use figures::BenchResult;

/// One thread is enough for the load, and leaves the other processors to the daemon and its model.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(CommandLine::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("avocet-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(line: CommandLine) -> Result<()> {
    match line.command {
        None => bench(&line.options).await,
        Some(BenchCommand::Table { json, before }) => {
            let (result, before) = (read(&json)?, before.as_deref().map(read).transpose()?);
            print!("{}", report::text(&result, before.as_ref()));
            Ok(())
        }
        Some(BenchCommand::Page { json, page }) => page::write(&read(&json)?, &page),
        Some(BenchCommand::Model(options)) => fake::serve(options).await,
    }
}

/// A signal drops the measurement, which kills the daemon and removes its home directory.
async fn bench(options: &BenchOptions) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let result = tokio::select! {
        result = measure::all(options) => result?,
        _ = terminate.recv() => bail!("terminated; nothing is left behind"),
        _ = interrupt.recv() => bail!("interrupted; nothing is left behind"),
    };
    let Some(file) = &options.json else {
        print!("{}", report::text(&result, None));
        return Ok(());
    };
    let json = serde_json::to_string_pretty(&result)? + "\n";
    if file == Path::new(STDOUT) {
        print!("{json}");
        return Ok(());
    }
    fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    print!("{}", report::text(&result, None));
    Ok(())
}

fn read(json: &Path) -> Result<BenchResult> {
    let text =
        fs::read_to_string(json).with_context(|| format!("cannot read {}", json.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is no result of avocet-bench", json.display()))
}
