//! `avocet usage`: the costs of models, by model, conversation or day.

use std::io::{self, IsTerminal};
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::model::thousands;
use avocet_protocol::store::{Query, Total, UsageBy, UsageRow};
use avocet_text::{PlainTable, bar};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::reach::open_log_read_only;
use crate::cli::values::parse_rows;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_text};

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Group usage by model, session, day, purpose or schedule. The cost of a sub-agent counts towards the
    /// conversation that it works for.
    #[arg(long, value_enum, default_value_t)]
    by: UsageGrouping,
    /// Number of days, including today. Days begin at 00:00 UTC.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = parse_days)]
    days: u32,
    /// Maximum number of rows; the rest is added up in one row.
    #[arg(long, default_value_t = 50, value_parser = parse_rows)]
    limit: u32,
    /// Skip this many rows at the beginning.
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    skip: u32,
    /// Print JSON; cost_usd is null if no price is known.
    #[arg(long)]
    json: bool,
}

/// The grouping of usage sums.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum UsageGrouping {
    #[default]
    Model,
    Session,
    Day,
    Purpose,
    Schedule,
}

impl From<UsageGrouping> for UsageBy {
    fn from(by: UsageGrouping) -> Self {
        match by {
            UsageGrouping::Model => Self::Model,
            UsageGrouping::Session => Self::Session,
            UsageGrouping::Day => Self::Day,
            UsageGrouping::Purpose => Self::Purpose,
            UsageGrouping::Schedule => Self::Schedule,
        }
    }
}

const DAY: Duration = Duration::from_hours(24);
/// The length of the longest bar, in characters.
const LONGEST_BAR: usize = 20;

pub(crate) async fn run(context: &CommandContext, usage: UsageArgs) -> Result<Exit, Failure> {
    let UsageArgs { by, days, limit, skip, json } = usage;
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let since = context.clock.now().day_start().before((days - 1) * DAY);
    let (rows, schedules) = match open_log_read_only(context, &configuration)? {
        Some(log) => (log.usage(by.into(), since).await?, schedule_rows(&log, by, since).await?),
        None => (Vec::new(), Vec::new()),
    };
    let listed = Listed::of(&rows, limit, skip);
    if json {
        let mut value = to_json(by.into(), since, &listed);
        if matches!(by, UsageGrouping::Model) {
            value["schedules"] =
                schedules.iter().map(|row| name_json(row, UsageBy::Schedule)).collect();
        }
        print_json(&value)?;
    } else if rows.is_empty() {
        print_text(&format!("No costs {}.\n", period_text(days)))?;
    } else {
        let bars = if io::stdout().is_terminal() { Bars::Shown } else { Bars::LeftOut };
        print_text(&usage_table(by.into(), &listed, bars))?;
        if !schedules.is_empty() {
            let listed = Listed::of(&schedules, limit, 0);
            let table = usage_table(UsageBy::Schedule, &listed, Bars::LeftOut);
            print_text(&format!("\nOf this, for schedules:\n{table}"))?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the usage of each schedule, which is shown beside that of all models.
async fn schedule_rows(
    log: &impl Query,
    by: UsageGrouping,
    since: Timestamp,
) -> Result<Vec<UsageRow>, Failure> {
    if !matches!(by, UsageGrouping::Model) {
        return Ok(Vec::new());
    }
    let mut rows = log.usage(UsageBy::Schedule, since).await?;
    rows.retain(|row| row.of != UsageBy::OTHER_WORK);
    Ok(rows)
}

/// A bar behind each row, for people at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bars {
    Shown,
    LeftOut,
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
        let others =
            UsageRow { of: format!("{count} others"), ..sum_rows(before.iter().chain(behind)) };
        Self { rows, others: (count > 0).then_some(others), all: sum_rows(all) }
    }
}

fn period_text(days: u32) -> String {
    if days == 1 { "today (UTC)".to_owned() } else { format!("in the last {days} days") }
}

fn sum_rows<'r>(rows: impl IntoIterator<Item = &'r UsageRow>) -> UsageRow {
    let none = UsageRow { of: "all".to_owned(), answers: 0, total: Total::default() };
    rows.into_iter().fold(none, |sum, row| UsageRow {
        answers: sum.answers + row.answers,
        total: sum.total + row.total,
        ..sum
    })
}

/// Formats the table. Figures are aligned to the right, so that they can be compared.
fn usage_table(by: UsageBy, listed: &Listed<'_>, bars: Bars) -> String {
    let Listed { rows, others, all } = listed;
    let head = [by.as_str(), "answers", "tokens in", "cached", "tokens out", "cost"];
    let mut table = PlainTable::with_head(&head).align_right(1..5);
    for row in *rows {
        let bar = (bars == Bars::Shown).then(|| share_bar(cost_share(&row.total, &all.total)));
        table.row(cells_of(row).into_iter().chain(bar));
    }
    if let Some(row) = others {
        table.row(cells_of(row));
    }
    if rows.len() + usize::from(others.is_some()) > 1 {
        table.row(cells_of(all));
    }
    table.to_string()
}

fn cells_of(row: &UsageRow) -> [String; 6] {
    let usage = row.total.usage;
    [
        row.of.clone(),
        thousands(row.answers),
        thousands(usage.input),
        format!("{}%", usage.cached_percent()),
        thousands(usage.output),
        row.total.price(),
    ]
}

/// Returns a part's share of the cost, or of the tokens if nothing has a price.
#[expect(clippy::cast_precision_loss, reason = "it becomes a bar")]
fn cost_share(part: &Total, all: &Total) -> f64 {
    let (part, all) = match all.cost.0 {
        0 => (part.usage.total(), all.usage.total()),
        cost => (part.cost.0, cost),
    };
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// Draws a share as a bar. Only a share of zero has an empty bar.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is from 0 to 1"
)]
fn share_bar(share: f64) -> String {
    bar((share * (LONGEST_BAR * 8) as f64).ceil() as usize)
}

fn to_json(by: UsageBy, since: Timestamp, listed: &Listed<'_>) -> Value {
    json!({
        "since": since.0,
        "rows": listed.rows.iter().map(|row| name_json(row, by)).collect::<Vec<_>>(),
        "others": listed.others.as_ref().map(figures_json),
        "total": figures_json(&listed.all),
    })
}

fn name_json(row: &UsageRow, by: UsageBy) -> Value {
    let mut value = figures_json(row);
    value[by.as_str()] = json!(row.of);
    value
}

fn figures_json(row: &UsageRow) -> Value {
    figures_of(row.answers, &row.total)
}

/// Returns a sum over `answers` answers as JSON. `cost_usd` is null if the price is unknown.
pub(super) fn figures_of(answers: u64, total: &Total) -> Value {
    let Total { usage, cost, unpriced } = total;
    json!({
        "answers": answers,
        "input": usage.input,
        "cached": usage.cached,
        "cache_written": usage.cache_written,
        "output": usage.output,
        "cost_usd": (!total.has_no_price()).then(|| cost.in_dollars()),
        "unpriced_tokens": unpriced,
    })
}

fn parse_days(text: &str) -> Result<u32, String> {
    const MOST: u32 = 36_500;
    let days = text.parse().ok().filter(|days| (1..=MOST).contains(days));
    days.ok_or_else(|| format!("must be a whole number from 1 to {MOST}"))
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
