//! `avocet usage`: the costs of models, by model, conversation or day.

use std::io::{self, IsTerminal};
use std::time::Duration;

use avocet_protocol::{Query, Timestamp, Total, UsageBy, UsageRow, thousands};
use serde_json::{Value, json};

use crate::CommandContext;
use crate::cli::Usage;
use crate::commands::look;
use crate::exit::{Exit, Failure};
use crate::output::{columns, print, print_json};
use crate::places::{Configuration, Uses};

const DAY: Duration = Duration::from_hours(24);
/// The length of the longest bar, in characters.
const BAR: usize = 20;

pub(crate) async fn run(context: &CommandContext, usage: Usage) -> Result<Exit, Failure> {
    let Usage { by, days, limit, skip, json } = usage;
    let configuration = Configuration::load(context, Uses::Daemon)?;
    let since = context.clock.now().day_start().before((days - 1) * DAY);
    let rows = match look(context, &configuration)? {
        Some(log) => log.usage(by.into(), since).await?,
        None => Vec::new(),
    };
    let listed = Listed::of(&rows, limit, skip);
    if json {
        print_json(&to_json(by.into(), since, &listed))?;
    } else if rows.is_empty() {
        print(&format!("Nothing was spent {}.\n", period(days)))?;
    } else {
        print(&table(by.into(), &listed, io::stdout().is_terminal()))?;
    }
    Ok(Exit::Done)
}

/// The rows to show.
struct Listed<'r> {
    rows: &'r [UsageRow],
    /// The sum of the rows that are not shown, if there are any.
    others: Option<UsageRow>,
    all: UsageRow,
}

impl<'r> Listed<'r> {
    fn of(all: &'r [UsageRow], limit: u32, skip: u32) -> Self {
        let (before, rest) = all.split_at(all.len().min(skip as usize));
        let (rows, behind) = rest.split_at(rest.len().min(limit as usize));
        let count = before.len() + behind.len();
        let others = UsageRow { of: format!("{count} others"), ..sum(before.iter().chain(behind)) };
        Self { rows, others: (count > 0).then_some(others), all: sum(all) }
    }
}

fn period(days: u32) -> String {
    if days == 1 { "today (UTC)".to_owned() } else { format!("in the last {days} days") }
}

fn sum<'r>(rows: impl IntoIterator<Item = &'r UsageRow>) -> UsageRow {
    let none = UsageRow { of: "all".to_owned(), answers: 0, total: Total::default() };
    rows.into_iter().fold(none, |sum, row| UsageRow {
        answers: sum.answers + row.answers,
        total: sum.total + row.total,
        ..sum
    })
}

/// Formats the table. Figures are aligned to the right, so that they can be compared.
fn table(by: UsageBy, listed: &Listed<'_>, bars: bool) -> String {
    let Listed { rows, others, all } = listed;
    let head = [by.word(), "answers", "tokens in", "cached", "tokens out", "cost"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().chain(others).map(cells_of));
    if cells.len() > 2 {
        cells.push(cells_of(all));
    }
    align(&mut cells);
    if bars {
        for (row, cells) in rows.iter().zip(cells.iter_mut().skip(1)) {
            cells.push(bar(share(&row.total, &all.total)));
        }
    }
    columns(&cells)
}

fn cells_of(row: &UsageRow) -> Vec<String> {
    let usage = row.total.usage;
    vec![
        row.of.clone(),
        thousands(row.answers),
        thousands(usage.input),
        format!("{}%", usage.cached_percent()),
        thousands(usage.output),
        row.total.price(),
    ]
}

/// Aligns columns 1 to 4 to the right. The first and the last column may be words.
fn align(rows: &mut [Vec<String>]) {
    for column in 1..5 {
        let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        for row in rows.iter_mut() {
            row[column] = format!("{:>width$}", row[column]);
        }
    }
}

/// Returns a part's share of the cost, or of the tokens if nothing has a price.
#[expect(clippy::cast_precision_loss, reason = "it becomes a bar")]
fn share(part: &Total, all: &Total) -> f64 {
    let (part, all) = match all.cost.0 {
        0 => (part.usage.total(), all.usage.total()),
        cost => (part.cost.0, cost),
    };
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// Draws a bar in eighths of a character. Only a share of zero has an empty bar.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share is from 0 to 1"
    )]
    let eighths = (share * (BAR * 8) as f64).ceil() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn to_json(by: UsageBy, since: Timestamp, listed: &Listed<'_>) -> Value {
    let rows_of = |row: &UsageRow| {
        let mut value = figures(row);
        value[by.word()] = json!(row.of);
        value
    };
    json!({
        "since": since.0,
        "rows": listed.rows.iter().map(rows_of).collect::<Vec<_>>(),
        "others": listed.others.as_ref().map(figures),
        "total": figures(&listed.all),
    })
}

/// Returns the figures as JSON. `cost_usd` is null if the price is unknown.
fn figures(row: &UsageRow) -> Value {
    let UsageRow { answers, total: Total { usage, cost, unpriced }, .. } = row;
    let unknown = row.total.has_no_price();
    json!({
        "answers": answers,
        "input": usage.input,
        "cached": usage.cached,
        "cache_written": usage.cache_written,
        "output": usage.output,
        "cost_usd": (!unknown).then(|| cost.in_dollars()),
        "unpriced_tokens": unpriced,
    })
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
