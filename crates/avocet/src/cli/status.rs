//! `avocet status`: the state of the daemon, its services and its log. Only the daemon is asked; no
//! requests to services are made.

use std::path::Path;
use std::time::Duration;

use avocet_gateway::{ClientError, ShowStatus};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::{
    ChannelStatus, DaemonStatus, DiskStatus, LastExchanges, LogCheck, LogStatus, ProviderStatus,
    RolledBack, TelemetryStatus, WaitingChat,
};
use avocet_protocol::store::{Consolidation, ConsolidationState, Query, StopAll};
use avocet_store::SqliteStore;
use avocet_text::PlainTable;
use clap::Args;
use jiff::tz::TimeZone;

use crate::cli::faulty_file::for_daemon;
use crate::cli::reach::open_log_read_only;
use crate::components::audit;
use crate::components::stop_text::{HOW_TO_RESUME, describe_stop};
use crate::configuration::Configuration;
use crate::connection::connect_quietly;
use crate::context::CommandContext;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::output::{
    format_age, format_moment, format_span, last_failure, print_json_line, print_page, print_result,
};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the state again every SECONDS, 2 by default, until Ctrl-C. With --json: a line each
    /// time.
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    watch: Option<u64>,
}

pub(crate) async fn run(context: &CommandContext, args: StatusArgs) -> Result<Exit, Failure> {
    let StatusArgs { json, watch } = args;
    let configuration = for_daemon(context)?;
    if let Some(seconds) = watch {
        return repeat(context, &configuration, json, Duration::from_secs(seconds)).await;
    }
    let status = look_at(context, &configuration).await?;
    print_result(json, &status, || status_text(&status, context.clock.now()))?;
    Ok(exit(&status))
}

/// Prints the state at this interval as long as somebody reads it.
async fn repeat(
    context: &CommandContext,
    configuration: &Configuration,
    json: bool,
    interval: Duration,
) -> Result<Exit, Failure> {
    loop {
        let status = look_at(context, configuration).await?;
        let is_read = if json {
            print_json_line(&status)?
        } else {
            print_page(&status_text(&status, context.clock.now()))?
        };
        if !is_read {
            return Ok(Exit::Done);
        }
        context.clock.sleep(interval).await;
    }
}

async fn look_at(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<DaemonStatus, Failure> {
    match connect_quietly(context, configuration).await? {
        // A daemon that stops meanwhile leaves its log.
        Some(client) => match client.call::<ShowStatus>(&ShowStatus::default()).await {
            Err(ClientError::Lost) => without_daemon(context, configuration).await,
            answer => Ok(with_file_fault(answer?, configuration)),
        },
        None => without_daemon(context, configuration).await,
    }
}

fn with_file_fault(mut status: DaemonStatus, configuration: &Configuration) -> DaemonStatus {
    if let Some(fault) = &configuration.fault {
        status.warnings = with_warning(status.warnings, fault.text());
    }
    status
}

/// Adds the fault of the configuration file, unless the daemon has noticed it.
fn with_warning(mut warnings: Vec<String>, fault: &str) -> Vec<String> {
    if !warnings.iter().any(|warning| warning.contains(fault)) {
        warnings.insert(0, format!("the configuration file has a fault: {fault}"));
    }
    warnings
}

/// Chooses the exit code.
fn exit(status: &DaemonStatus) -> Exit {
    match status.pid {
        None => Exit::NoDaemon,
        Some(_) if status.is_something_down() => Exit::Down,
        Some(_) => Exit::Done,
    }
}

/// Reads the state of a stopped daemon from its log.
async fn without_daemon(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<DaemonStatus, Failure> {
    let log = open_log_read_only(context, configuration)?;
    let data_dir = &configuration.data_dir;
    Ok(DaemonStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: None,
        uptime_seconds: 0,
        data_dir: data_dir.display().to_string(),
        model: configuration.settings.agents.defaults.answering_model().to_owned(),
        log: match &log {
            Some(log) => log.log_status().await?,
            None => LogStatus::default(),
        },
        audit_fault: match &log {
            Some(log) => audit::check_audit(log, &configuration.head_file).await?.fault,
            None => None,
        },
        log_check: LogCheck::AtStart,
        disk: disk::disk_status(Path::new(data_dir), LastExchanges::default()),
        providers: Vec::new(),
        channels: Vec::new(),
        telemetry: None,
        warnings: log.iter().flat_map(stop_warning).collect(),
    })
}

fn stop_warning(log: &SqliteStore) -> Option<String> {
    let stop = log.current_stop();
    stop.as_ref().as_ref().map(|stop| format!("{}; {HOW_TO_RESUME}", describe_stop(stop)))
}

type StatusRow = [String; 2];

fn status_row(name: impl Into<String>, value: impl Into<String>) -> StatusRow {
    [name.into(), value.into()]
}

/// Formats the page, from the daemon outwards: itself, its log, its disk, its providers, its
/// channels.
fn status_text(status: &DaemonStatus, now: Timestamp) -> String {
    let mut rows = vec![daemon_rows(status)];
    rows.extend(log_rows(status, now));
    rows.push(disk_row(&status.disk, now));
    rows.extend(status.providers.iter().map(|one| provider_row(one, now)));
    rows.extend(status.channels.iter().map(|one| channel_row(one, now)));
    rows.extend(status.telemetry.iter().map(|one| telemetry_row(one, now)));
    let ignored = status.log.ignored.iter();
    rows.extend(
        ignored
            .map(|one| status_row(&one.account, format!("{} ignored: {}", one.count, one.reason))),
    );
    rows.extend(status.warnings.iter().map(|warning| status_row("warning", warning)));
    rows.into_iter().collect::<PlainTable>().to_string()
}

fn daemon_rows(DaemonStatus { version, pid, uptime_seconds, .. }: &DaemonStatus) -> StatusRow {
    status_row(
        "daemon",
        match pid {
            Some(pid) => {
                format!("process {pid}, version {version}, up {}", format_span(*uptime_seconds))
            }
            None => "not running".to_owned(),
        },
    )
}

fn log_rows(status: &DaemonStatus, now: Timestamp) -> Vec<StatusRow> {
    let DaemonStatus { data_dir, model, log, audit_fault, log_check, .. } = status;
    let LogStatus { epoch, sessions, messages, queued, running, waiting, .. } = log;
    let LogStatus { pending, unconfirmed, dead, rolled_back, schedules, next_due, .. } = log;
    let mut rows = vec![
        status_row("data", format!("{data_dir} (start {epoch})")),
        status_row("model", model),
        status_row(
            "messages",
            format!("{messages} in {}, {queued} queued", count_sessions(*sessions)),
        ),
        status_row("turns", turns_text(status.pid, *running, *waiting)),
        status_row("outbox", format!("{pending} pending, {unconfirmed} unconfirmed, {dead} dead")),
    ];
    rows.extend(waiting_chats(log, now));
    if unconfirmed + dead > 0 {
        rows.push(status_row("failed", "avocet dead list"));
    }
    if let Some(next) = next_due {
        let next = format_moment(*next, &TimeZone::UTC);
        rows.push(status_row("schedules", format!("{schedules} active, next {next} UTC")));
    }
    rows.extend(
        log.consolidation.as_ref().map(|run| status_row("memories", consolidation_text(run))),
    );
    if let Some(RolledBack { at, why }) = rolled_back {
        let at = format_moment(*at, &TimeZone::UTC);
        rows.push(status_row("older state", format!("since {at} UTC: {why}")));
    }
    rows.extend(check_text(*log_check).map(|check| status_row("check", check)));
    if let Some(fault) = audit_fault {
        rows.push(status_row("audit", format!("{fault}; see `avocet audit verify`")));
    }
    rows
}

/// Names the chats that wait for deliveries.
fn waiting_chats(log: &LogStatus, now: Timestamp) -> Vec<StatusRow> {
    let mut rows: Vec<_> = log.waiting_chats.iter().map(|one| waiting_chat(one, now)).collect();
    match log.more_waiting_chats {
        0 => {}
        1 => rows.push("1 more chat".to_owned()),
        more => rows.push(format!("{more} more chats")),
    }
    rows.into_iter().map(|text| status_row("undelivered", text)).collect()
}

fn waiting_chat(waiting: &WaitingChat, now: Timestamp) -> String {
    let WaitingChat { chat, count, next, since, attempts, error } = waiting;
    let attempts = match attempts {
        0 => String::new(),
        1 => ", 1 attempt".to_owned(),
        attempts => format!(", {attempts} attempts"),
    };
    let error = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("{count} for {chat} since {}, first {next}{attempts}{error}", format_age(*since, now))
}

/// Describes the open turns. Without a daemon, none of them runs.
fn turns_text(pid: Option<u32>, running: u64, waiting: u64) -> String {
    match pid {
        None if running > 0 => {
            format!("{running} interrupted, which continue at the next start; {waiting} waiting")
        }
        _ => format!("{running} running, {waiting} waiting"),
    }
}

fn count_sessions(sessions: u64) -> String {
    if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") }
}

/// Describes a check of the log that runs or ran beside the daemon's work.
fn check_text(check: LogCheck) -> Option<&'static str> {
    Some(match check {
        LogCheck::AtStart => return None,
        LogCheck::Running => "running, because the last daemon did not stop in order",
        LogCheck::Whole => "no fault found after the last daemon did not stop in order",
        LogCheck::Skipped => "none: the log is too large, or could not be read",
        LogCheck::Damaged => {
            "THE LOG IS DAMAGED; the daemon stops, and its next start moves it aside"
        }
    })
}

fn consolidation_text(run: &Consolidation) -> String {
    let Consolidation { scope, began_at, state, applied, error, .. } = run;
    let end = match (state, error) {
        (ConsolidationState::Begun, _) => "without an end".to_owned(),
        (ConsolidationState::Done, _) => format!("{applied} edits"),
        (ConsolidationState::Shown, _) => "a dry run".to_owned(),
        (ConsolidationState::Failed, why) => {
            format!("failed: {}", why.as_deref().unwrap_or("unknown reason"))
        }
    };
    let at = format_moment(*began_at, &TimeZone::UTC);
    format!("last consolidation {at} UTC ({scope}): {end}")
}

fn disk_row(DiskStatus { free_bytes, fault, writes }: &DiskStatus, now: Timestamp) -> StatusRow {
    let free = free_bytes.map_or("free space unknown".to_owned(), |free| {
        format!("{} free", disk::format_bytes(free))
    });
    status_row(
        "disk",
        match fault {
            None => format!("up: {free}{}", last_failure(writes, now)),
            Some(fault) => format!("down: {fault}{}; {free}", failing_text(writes, now)),
        },
    )
}

fn provider_row(
    ProviderStatus { provider, fault, requests }: &ProviderStatus,
    now: Timestamp,
) -> StatusRow {
    let name = format!("provider {provider}");
    status_row(
        name,
        match (fault, requests.success) {
            (Some(fault), _) => format!("down: {fault}{}", failing_text(requests, now)),
            (None, Some(at)) => {
                format!("up: last answer {}{}", format_age(at, now), last_failure(requests, now))
            }
            (None, None) => format!("not asked yet{}", last_failure(requests, now)),
        },
    )
}

fn channel_row(
    ChannelStatus { account, fault, exchanges }: &ChannelStatus,
    now: Timestamp,
) -> StatusRow {
    status_row(
        account,
        match (fault, exchanges.success) {
            (Some(fault), _) => format!("down: {fault}"),
            (None, Some(at)) => {
                format!("up: last exchange {}{}", format_age(at, now), last_failure(exchanges, now))
            }
            (None, None) => "up".to_owned(),
        },
    )
}

fn telemetry_row(
    TelemetryStatus { exchanges, behind }: &TelemetryStatus,
    now: Timestamp,
) -> StatusRow {
    let state = match (exchanges.failures_in_a_row(), exchanges.success) {
        (0, Some(at)) => format!("last export {}", format_age(at, now)),
        (0, None) => "no export since the start".to_owned(),
        _ => {
            let reason = exchanges.failure.as_ref().map_or("", |failure| &failure.reason);
            format!("failing: {reason}{}", failing_text(exchanges, now))
        }
    };
    status_row("telemetry", format!("{state}; {behind} events behind"))
}

/// Describes the failures since the last success.
fn failing_text(last: &LastExchanges, now: Timestamp) -> String {
    let Some(failure) = &last.failure else { return String::new() };
    let count = match failure.in_a_row {
        0 | 1 => String::new(),
        count => format!("{count} times in a row, "),
    };
    let success = match last.success {
        Some(at) => format!("last success {}", format_age(at, now)),
        None => "no success since the start".to_owned(),
    };
    format!(" ({count}last {}; {success})", format_age(failure.at, now))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
