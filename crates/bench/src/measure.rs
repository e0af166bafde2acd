//! All measurements in order. Each load has its own daemon and home directory.

use anyhow::Result;

use crate::cli::{BenchOptions, DurabilitySetting, MeasuredPart};
use crate::disk::sync_latencies;
use crate::figures::{BenchResult, FigureLog};
use crate::homes::Bench;
use crate::machine::{MachineClass, OtherWork};
use crate::progress::progress;
use crate::rows::{SYNC, SYNC_P99};
use crate::units::millis;

pub(crate) async fn all(options: &BenchOptions) -> Result<BenchResult> {
    let bench = Bench::new(options)?;
    let (others, mut figures) = (OtherWork::begin()?, FigureLog::default());
    for run in 1..=options.runs {
        let syncs = sync_latencies(&bench.below)?;
        figures.add(SYNC, millis(syncs.percentile(50)) * 1e3);
        figures.add(SYNC_P99, millis(syncs.percentile(99)) * 1e3);
        for part in options.parts() {
            progress(&format!("run {run} of {}: {}", options.runs, name(part)));
            bench.measure(part, run, &mut figures).await?;
        }
        bench.peers(&mut figures).await?;
    }
    Ok(BenchResult {
        machine: MachineClass::read(&bench.below)?,
        runs: options.runs,
        quick: options.quick,
        others_percent: others.percent()?,
        figures: figures.summaries(),
    })
}

impl Bench<'_> {
    async fn measure(&self, part: MeasuredPart, run: u16, figures: &mut FigureLog) -> Result<()> {
        match part {
            MeasuredPart::AtOnce => self.at_once(figures).await,
            MeasuredPart::Text => {
                for durability in [DurabilitySetting::Synced, DurabilitySetting::Process] {
                    self.text(durability, 1, figures).await?;
                    self.text(durability, self.sizes.many, figures).await?;
                }
                Ok(())
            }
            MeasuredPart::Concurrency => self.concurrency(figures).await,
            MeasuredPart::Tool => self.tool(figures).await,
            MeasuredPart::Length => self.length(figures).await,
            MeasuredPart::Switch => self.switch(figures).await,
            MeasuredPart::Busy => self.busy(figures).await,
            MeasuredPart::Ledger => self.ledger(figures).await,
            MeasuredPart::Memories => self.memories(figures).await,
            MeasuredPart::LongAnswers => self.long_answers(figures).await,
            MeasuredPart::Log => self.log(figures).await,
            MeasuredPart::Idle => self.idle(figures).await,
            MeasuredPart::Memory => self.memory(figures).await,
            MeasuredPart::Ready => self.ready(figures).await,
            MeasuredPart::Program => self.program(figures),
            MeasuredPart::Events => self.events(figures).await,
            MeasuredPart::Publish => self.publish(figures).await,
            MeasuredPart::Request => self.request(figures).await,
            MeasuredPart::ColdBuild if run == 1 => self.cold_build(figures).await,
            MeasuredPart::ColdBuild => Ok(()),
        }
    }
}

fn name(part: MeasuredPart) -> String {
    let value = clap::ValueEnum::to_possible_value(&part);
    value.map(|value| value.get_name().to_owned()).unwrap_or_default()
}
