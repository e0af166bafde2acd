//! The results as tables, for a terminal and for the book.

use std::fmt::Write;

use avocet_text::PlainTable;

use crate::figures::BenchResult;
use crate::rows::ROWS;
use crate::units::{FigureUnit, count, plural};

/// Share of the processors in percent from which other work disturbs the figures.
const DISTURBING: f64 = 10.0;

/// A table with its title.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FigureTable {
    pub(crate) title: &'static str,
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A column of a table with a row for each number of sessions or messages.
struct SeriesColumn {
    head: &'static str,
    suffix: &'static str,
    unit: FigureUnit,
}

/// Formats all tables for a terminal.
pub(crate) fn text(result: &BenchResult, before: Option<&BenchResult>) -> String {
    let disturbed = result.others_percent > DISTURBING;
    let advice = if disturbed { " For steadier figures let it run alone." } else { "" };
    let mut text = format!("{}{advice}\n", conditions(result));
    for table in tables(result, before) {
        let mut plain = PlainTable::with_head(&table.head).align_right(1..table.head.len());
        table.rows.iter().for_each(|row| plain.row(row));
        let lines = plain.to_string();
        let title = table.title;
        write!(text, "\n{title}\n").expect("a String takes any text");
        lines.lines().for_each(|line| text += &format!("  {line}\n"));
    }
    text
}

/// Says how the figures were measured, in one paragraph.
pub(crate) fn conditions(result: &BenchResult) -> String {
    let others = result.others_percent;
    let quick = if result.quick { " The loads were small: nothing is comparable." } else { "" };
    let runs = plural(result.runs.into(), "run");
    format!(
        "Medians of {runs}. Machine: {}. Other programs took {others:.0} % of the processors \
         meanwhile.{quick}",
        result.machine
    )
}

pub(crate) fn tables(result: &BenchResult, before: Option<&BenchResult>) -> Vec<FigureTable> {
    let concurrency = [
        SeriesColumn { head: "speed", suffix: ".speed", unit: FigureUnit::PerSecond },
        SeriesColumn { head: "p50", suffix: ".p50_ms", unit: FigureUnit::Milliseconds },
        SeriesColumn { head: "p95", suffix: ".p95_ms", unit: FigureUnit::Milliseconds },
        SeriesColumn { head: "CPU", suffix: ".cpu_ms", unit: FigureUnit::Milliseconds },
        SeriesColumn { head: "switches", suffix: ".switches", unit: FigureUnit::Number },
    ];
    let length = [
        SeriesColumn { head: "CPU", suffix: ".cpu_ms", unit: FigureUnit::Milliseconds },
        SeriesColumn { head: "p50", suffix: ".p50_ms", unit: FigureUnit::Milliseconds },
    ];
    let memory = [
        SeriesColumn { head: "RSS", suffix: ".rss_mib", unit: FigureUnit::Mebibytes },
        SeriesColumn { head: "anonymous", suffix: ".anonymous_mib", unit: FigureUnit::Mebibytes },
    ];
    let all = [
        goals(result, before),
        series(result, "Text turns by number of sessions, synced", "text.synced.", &concurrency),
        series(result, "Text turns by number of sessions, process", "text.process.", &concurrency),
        series(result, "Text turns by messages in front of them", "length.", &length),
        series(result, "Memory by number of sessions that were used", "memory.", &memory),
        peers(result),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn goals(result: &BenchResult, before: Option<&BenchResult>) -> FigureTable {
    let mut head = vec!["figure", "median", "min..max", "goal", "met"];
    if before.is_some() {
        head.push("before");
    }
    let mut rows = Vec::new();
    for row in &ROWS {
        let Some(found) = result.figures.get(row.figure) else { continue };
        let (unit, median) = (row.unit, found.median);
        let met = row.goal.map_or("", |goal| if goal.is_met(median) { "yes" } else { "no" });
        let mut cells = vec![
            row.title.to_owned(),
            unit.show(median),
            unit.spread(found.min, found.max),
            row.goal.map(|goal| goal.show(unit)).unwrap_or_default(),
            met.to_owned(),
        ];
        if let Some(before) = before {
            let was = before.figures.get(row.figure);
            cells.push(was.map(|was| unit.show(was.median)).unwrap_or_default());
        }
        rows.push(cells);
    }
    FigureTable { title: "Figures and goals", head, rows }
}

/// Returns a row for the program and for each peer, if peers were measured.
fn peers(result: &BenchResult) -> FigureTable {
    const COLUMNS: [(&str, FigureUnit); 5] = [
        ("first_answer_ms", FigureUnit::Milliseconds),
        ("p50_ms", FigureUnit::Milliseconds),
        ("cpu_ms", FigureUnit::Milliseconds),
        ("rss_mib", FigureUnit::Mebibytes),
        ("request_bytes", FigureUnit::Bytes),
    ];
    let name =
        |figure: &String| figure.strip_prefix("peers.")?.strip_suffix(".p50_ms").map(str::to_owned);
    let rows = result.figures.keys().filter_map(name).map(|name| {
        let cells = COLUMNS.iter().map(|(figure, unit)| {
            let found = result.figures.get(&format!("peers.{name}.{figure}"));
            found.map(|figures| unit.show(figures.median)).unwrap_or_default()
        });
        std::iter::once(name.clone()).chain(cells).collect()
    });
    let head =
        vec!["", "first answer", "a turn, p50", "CPU of a turn", "memory (RSS)", "first request"];
    FigureTable { title: "Beside other agents, one session", head, rows: rows.collect() }
}

fn series(
    result: &BenchResult,
    title: &'static str,
    prefix: &str,
    columns: &[SeriesColumn],
) -> FigureTable {
    let figures = |number: usize| {
        columns.iter().map(move |column| {
            let found = result.figures.get(&format!("{prefix}{number}{}", column.suffix));
            found.map(|figures| column.unit.show(figures.median)).unwrap_or_default()
        })
    };
    let numbers = columns.first().map(|first| result.series(prefix, first.suffix));
    let rows = numbers
        .unwrap_or_default()
        .into_iter()
        .map(|point| std::iter::once(count(point.number)).chain(figures(point.number)).collect());
    let head = std::iter::once("").chain(columns.iter().map(|column| column.head)).collect();
    FigureTable { title, head, rows: rows.collect() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::figures::FigureLog;
    use crate::machine::MachineClass;

    /// Returns a result of two runs with these figures.
    pub(crate) fn result(figures: &[(&str, f64)]) -> BenchResult {
        let mut log = FigureLog::default();
        for &(name, value) in figures {
            log.add(name, value);
            log.add(name, value + 0.5);
        }
        let machine = MachineClass { processors: 2, ..MachineClass::default() };
        let figures = log.summaries();
        BenchResult { machine, runs: 2, quick: false, others_percent: 3.0, figures }
    }

    #[test]
    fn text_shows_each_figure_beside_its_goal() {
        let result = result(&[
            ("text.synced.1.cpu_ms", 2.0),
            ("text.synced.1.speed", 700.0),
            ("request.tools", 11.0),
            ("memory.0.rss_mib", 10.0),
            ("memory.0.anonymous_mib", 2.0),
        ]);
        let expected = "\
Medians of 2 runs. Machine: 2 processors (), 0 GiB of memory, Linux , . Other programs took 3 % of the processors meanwhile.

Figures and goals
  figure                           median    min..max        goal  met
  Text turns, 1 session, synced     700/s    700..701    >= 800/s   no
  CPU of a text turn, 1 session   2.25 ms  2.00..2.50   <= 0.8 ms   no
  Memory, idle (RSS)             10.2 MiB  10.0..10.5   <= 14 MiB  yes
  Memory, idle, anonymous        2.25 MiB  2.00..2.50  <= 3.5 MiB  yes
  Tools in that request              11.2    11..11.5

Text turns by number of sessions, synced
     speed  p50  p95      CPU  switches
  1  700/s            2.25 ms

Memory by number of sessions that were used
          RSS  anonymous
  0  10.2 MiB   2.25 MiB
";
        assert_eq!(text(&result, None), expected);
    }

    #[test]
    fn tables_show_the_figures_before() {
        let (after, before) = (result(&[("request.bytes", 3000.0)]), result(&[]));
        let row = |before| tables(&after, Some(before))[0].rows[0].clone();
        assert_eq!(row(&after).last().unwrap(), "3,000 B");
        assert_eq!(row(&before).last().unwrap(), "");
    }
}
