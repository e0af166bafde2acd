//! The measured figures, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::MachineClass;

/// All results. The JSON of the bench.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BenchResult {
    pub(crate) machine: MachineClass,
    pub(crate) runs: u16,
    /// `true` if the loads were too small for comparable figures.
    pub(crate) quick: bool,
    /// The share of the processors that other processes used meanwhile, in percent.
    pub(crate) others_percent: f64,
    pub(crate) figures: BTreeMap<String, RunFigures>,
}

impl BenchResult {
    /// Returns the figures whose names have a number between these parts, by the number.
    pub(crate) fn series(&self, before: &str, behind: &str) -> Vec<SeriesPoint<'_>> {
        let point = |(name, figures)| {
            let number = str::strip_prefix(name, before)?.strip_suffix(behind)?.parse().ok()?;
            Some(SeriesPoint { number, figures })
        };
        let named = self.figures.iter().map(|(name, figures)| (name.as_str(), figures));
        let mut series: Vec<_> = named.filter_map(point).collect();
        series.sort_by_key(|point| point.number);
        series
    }
}

/// A figure for a number of sessions or messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeriesPoint<'a> {
    pub(crate) number: usize,
    pub(crate) figures: &'a RunFigures,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFigures {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// In the order of the runs.
    pub(crate) runs: Vec<f64>,
}

impl RunFigures {
    fn new(runs: Vec<f64>) -> Self {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let (count, middle) = (sorted.len(), sorted.len() / 2);
        let median = match count % 2 {
            1 => at(middle),
            _ => f64::midpoint(at(middle.saturating_sub(1)), at(middle)),
        };
        Self { median, min: at(0), max: at(count.saturating_sub(1)), runs }
    }
}

#[derive(Debug, Default)]
pub(crate) struct FigureLog(BTreeMap<String, Vec<f64>>);

impl FigureLog {
    /// Adds a figure of this run.
    pub(crate) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.entry(name.into()).or_default().push(value);
    }

    pub(crate) fn summaries(self) -> BTreeMap<String, RunFigures> {
        self.0.into_iter().map(|(name, runs)| (name, RunFigures::new(runs))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_figures_have_median_and_spread() {
        for (runs, median, min, max) in [
            (vec![3.0], 3.0, 3.0, 3.0),
            (vec![4.0, 2.0], 3.0, 2.0, 4.0),
            (vec![9.0, 1.0, 2.0], 2.0, 1.0, 9.0),
        ] {
            let figures = RunFigures::new(runs.clone());
            assert_eq!(figures, RunFigures { median, min, max, runs });
        }
    }

    #[test]
    fn series_are_in_the_order_of_their_numbers() {
        let mut log = FigureLog::default();
        for name in ["memory.10.rss", "memory.2.rss", "memory.x.rss", "memory.2.pss"] {
            log.add(name, 1.0);
        }
        let machine = MachineClass::default();
        let figures = log.summaries();
        let result = BenchResult { machine, runs: 1, quick: false, others_percent: 0.0, figures };
        let numbers = result.series("memory.", ".rss").into_iter().map(|point| point.number);
        assert_eq!(numbers.collect::<Vec<_>>(), [2, 10]);
    }

    #[test]
    fn figure_log_collects_the_runs_of_a_name() {
        let mut log = FigureLog::default();
        for (name, value) in [("b", 1.0), ("a", 5.0), ("b", 3.0)] {
            log.add(name, value);
        }
        let summaries = log.summaries();
        assert_eq!(summaries.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(summaries["b"].runs, [1.0, 3.0]);
    }
}
