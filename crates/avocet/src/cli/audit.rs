//! `avocet audit`: shows decisions and effects with their authors, and verifies the audit table.

use std::path::Path;

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{Audit as _, AuditFilter, AuditKind, AuditRow};
use avocet_text::{PlainTable, printable};
use clap::{Args, Subcommand};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde_json::json;

use crate::cli::reach::open_log_read_only;
use crate::cli::values::{parse_rows, session_id};
use crate::components::audit::{Checked, check_audit};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_text};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    /// Show rows of this conversation only; a bare name is a conversation of the terminal.
    #[arg(long, value_parser = session_id)]
    session: Option<SessionId>,
    /// Show rows since a day (2026-11-22), a time (2026-11-22T10:30) or a duration ago (2h, 3d).
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Show rows of this kind only.
    #[arg(long, value_parser = audit_kind)]
    kind: Option<AuditKind>,
    /// Maximum number of rows; the last ones are shown.
    #[arg(long, default_value_t = 50, value_parser = parse_rows)]
    limit: u32,
    /// Show the rows before this one.
    #[arg(long, value_name = "ROW")]
    before: Option<i64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify every row, and the head that is stored outside of the database. Exits with 65 if they
    /// have been tampered with.
    Verify {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) async fn run(context: &CommandContext, audit: AuditArgs) -> Result<Exit, Failure> {
    let AuditArgs { command, session, since, kind, limit, before, json } = audit;
    if let Some(AuditCommand::Verify { json }) = command {
        return verify_audit(context, json).await;
    }
    let zone = system_zone();
    let since = since.map(|since| moment_of(&since, context.clock.now(), &zone)).transpose()?;
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let rows = match open_log_read_only(context, &configuration)? {
        Some(log) => log.audit_rows(&AuditFilter { session, since, kind, before, limit }).await?,
        None => Vec::new(),
    };
    if json {
        print_json(&rows)?;
    } else if rows.is_empty() {
        print_text("The audit table has no such rows.\n")?;
    } else {
        let mut text = String::new();
        if let Some(first) = rows.first().filter(|_| rows.len() == limit as usize) {
            text = format!("There may be more: avocet audit --before {}\n", first.sequence);
        }
        print_text(&(text + &audit_table(&rows, &zone)))?;
    }
    Ok(Exit::Done)
}

async fn verify_audit(context: &CommandContext, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let file = &configuration.head_file;
    let checked = match open_log_read_only(context, &configuration)? {
        Some(log) => check_audit(&log, file).await?,
        None => Checked { rows: 0, erased: 0, head: None, noted: None, fault: None },
    };
    let exit = if checked.fault.is_some() { Exit::Data } else { Exit::Done };
    let Checked { rows, erased, head, noted, fault } = &checked;
    if json {
        let file = file.display().to_string();
        print_json(&json!({
            "rows": rows, "erased": erased, "head": head, "noted": noted, "head_file": file, "fault": fault,
        }))?;
        return Ok(exit);
    }
    match fault {
        Some(fault) => Err(Failure::new(
            Exit::Data,
            format!(
                "{fault} ({rows} rows checked). The table was changed, or replaced by an older \
                    one. Once you know why, remove {} so that a new head is noted",
                file.display()
            ),
        )),
        None => {
            print_text(&verified_text(&checked, file))?;
            Ok(exit)
        }
    }
}

/// Describes a table without a fault.
fn verified_text(checked: &Checked, file: &Path) -> String {
    let Checked { rows, erased, noted, .. } = checked;
    let file = file.display();
    let text = match noted {
        Some(noted) => {
            let row = noted.sequence;
            format!("{rows} rows, all unchanged; row {row} is the one noted in {file}\n")
        }
        None if *rows == 0 => {
            format!("0 rows, all unchanged; no head was noted in {file}\n")
        }
        None => format!(
            "{rows} rows, all unchanged; no head was noted in {file}\nWithout a head, a table that \
                was replaced as a whole is not detected. A service notes the head in its logs \
                directory: set [audit] head_file to that file, for example \
                /var/log/avocet/audit-head, and repeat the command.\n"
        ),
    };
    match erased {
        0 => text,
        _ => format!("{text}{erased} of them have no text any more: it was erased.\n"),
    }
}

/// Parses a day, a moment, or a time before now.
fn moment_of(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, Failure> {
    let wrong = || {
        let help = "give a day (2026-11-22), a moment (2026-11-22T10:30), or how long (2h, 3d)";
        Failure::new(Exit::Failed, format!("`--since`: {text:?} is not a time; {help}"))
    };
    if let Ok(span) = text.parse::<Span>() {
        let days = SpanRelativeTo::days_are_24_hours();
        let length: SignedDuration = span.to_duration(days).map_err(|_| wrong())?;
        return Ok(now.before(length.unsigned_abs()));
    }
    let civil = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from));
    let zoned = civil.and_then(|civil| civil.to_zoned(zone.clone()));
    Ok(Timestamp(zoned.map_err(|_| wrong())?.timestamp().as_millisecond()))
}

fn audit_table(rows: &[AuditRow], zone: &TimeZone) -> String {
    let head = ["row", "when", "what", "by", "session", "call", "about"];
    let mut table = PlainTable::with_head(&head);
    for row in rows {
        let AuditRow { sequence, at, kind, session, call, actor, tool, summary, outcome, .. } = row;
        let what = match outcome {
            Some(outcome) => format!("{kind}: {outcome}"),
            None => kind.clone(),
        };
        let about = match tool {
            Some(tool) => format!("{tool} {summary}"),
            None => summary.clone(),
        };
        let cells = [
            &sequence.to_string(),
            &format_second(*at, zone),
            &what,
            actor,
            session.as_deref().unwrap_or("-"),
            call.as_deref().unwrap_or("-"),
            &about,
        ];
        table.row(cells.map(printable_text));
    }
    table.to_string()
}

/// Formats a moment to the second, in the reader's time zone.
fn format_second(at: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => at.0.to_string(),
    }
}

/// Shortens a text to one line of at most 100 characters.
fn printable_text(text: &str) -> String {
    const LENGTH: usize = 100;
    let line = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() {
        0..=LENGTH => line,
        _ => line.chars().take(LENGTH - 1).chain(['…']).collect(),
    }
}

fn audit_kind(text: &str) -> Result<AuditKind, String> {
    let known = || AuditKind::ALL.map(AuditKind::as_str).join(", ");
    let found = AuditKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| format!("unknown kind; the kinds are {}", known()))
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
