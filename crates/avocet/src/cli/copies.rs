//! `avocet backup`, `avocet restore` and `avocet recover`.

use std::path::{Path, PathBuf};

use avocet_gateway::Gateway;
use avocet_protocol::model::thousands;
use avocet_store::{
    CancelCopy, CopyDone, CopyError, DirectoryLock, EndedWork, LogHolder, LogReplacement,
    RecoveredLog, RestoredLog, SalvageReport, back_up, recover_into,
};
use avocet_supervise::run_blocking;
use avocet_text::{PlainTable, sanitise};
use clap::Args;
use serde_json::json;

use crate::components::audit;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::environment::absolute_path;
use crate::exit::{Exit, Failure};
use crate::output::print_result;
use crate::redaction;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// File for the copy; it must not exist yet.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Damaged database; its -wal file is read too. Default: the one that the last failed start
    /// moved aside.
    file: Option<PathBuf>,
    /// Write the recovered database to this new file. Default: replace the current database; stop
    /// the daemon first.
    #[arg(long, value_name = "NEW", requires = "file")]
    into: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Copy of the database; it stays in its place.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn back_up_log(
    context: &CommandContext,
    backup: BackupArgs,
) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let (directory, to) = (configuration.data_dir, absolute_path(&backup.file)?);
    let (now, file) = (context.clock.now(), to.clone());
    let copy = move || back_up(&directory, &file, now, &CancelCopy::default());
    let CopyDone { bytes, messages } = run_blocking(copy).await??;
    print_result(backup.json, &json!({ "file": to, "bytes": bytes, "messages": messages }), || {
        let (messages, kilobytes) = (thousands(messages), thousands(bytes.div_ceil(1000)));
        format!("{}: {messages} messages in {kilobytes} kB, checked.\n", to.display())
    })
}

pub(crate) async fn restore_log(
    context: &CommandContext,
    restore: RestoreArgs,
) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let from = absolute_path(&restore.file)?;
    let restored = replace_log(context, &configuration, move |log| log.restore_copy(&from)).await?;
    print_result(restore.json, &restored, || {
        let RestoredLog { from, moved, messages, ended, .. } = &restored;
        let (messages, from) = (thousands(*messages), from.display());
        let follows = what_follows(moved.as_deref(), ended, &configuration);
        format!("Restored {messages} messages from {from}.\n{follows}")
    })
}

pub(crate) async fn recover_log(
    context: &CommandContext,
    recover: RecoverArgs,
) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let from = recover.file.as_deref().map(absolute_path).transpose()?;
    let into = recover.into.as_deref().map(absolute_path).transpose()?;
    let recovered = match (from, into) {
        (Some(from), Some(into)) => {
            let (redactor, now) = (redaction::shared_redactor(), context.clock.now());
            run_blocking(move || recover_into(&from, &into, &redactor, now)).await??
        }
        (from, _) => {
            replace_log(context, &configuration, move |log| log.recover_damaged(from.as_deref()))
                .await?
        }
    };
    print_result(recover.json, &recovered, || {
        let RecoveredLog { from, into, moved, saved } = &recovered;
        let (rows, from, into) = (thousands(saved.count_rows()), from.display(), into.display());
        let follows = what_follows(moved.as_deref(), &saved.ended, &configuration);
        format!("Recovered {rows} rows of {from} into {into}.\n{}{follows}", salvage_text(saved))
    })
}

/// Takes the lock of the data directory and replaces the database in it.
async fn replace_log<T: Send + 'static>(
    context: &CommandContext,
    configuration: &Configuration,
    work: impl FnOnce(&LogReplacement<'_>) -> Result<T, CopyError> + Send + 'static,
) -> Result<T, Failure> {
    let directory = configuration.data_dir.clone();
    let lock =
        DirectoryLock::take_lock(&directory, LogHolder::Command, context.clock.as_ref()).await?;
    // A daemon whose lock file was deleted still has its socket.
    Gateway::check_unused(&configuration.socket)?;
    let audit_head = audit::noted_sequence(&configuration.head_file);
    let (redactor, now) = (redaction::shared_redactor(), context.clock.now());
    let replaced = run_blocking(move || {
        work(&LogReplacement {
            directory: &directory,
            lock: &lock,
            audit_head,
            redactor: &redactor,
            now,
        })
    });
    Ok(replaced.await??)
}

/// Lists the saved and the lost rows of each table, with the reasons.
fn salvage_text(saved: &SalvageReport) -> String {
    let mut table = PlainTable::with_head(&["table", "saved", "left out", "why"]);
    for one in &saved.tables {
        let why = sanitise(one.why.as_deref().unwrap_or_default()).text;
        table.row([&one.name, &thousands(one.rows), &thousands(one.left_out), &why]);
    }
    let mut text = table.to_string();
    let SalvageReport { pages, unreadable_pages, unreadable_rows, wal, repairs, .. } = saved;
    text.push_str(&format!(
        "Not readable: {unreadable_pages} of {pages} pages, and {unreadable_rows} rows in other pages. The -wal: {wal}.\n"
    ));
    for repair in repairs {
        text.push_str(&format!("Repaired: {repair}.\n"));
    }
    text
}

/// Describes the consequences of replacing the database.
fn what_follows(moved: Option<&Path>, ended: &EndedWork, configuration: &Configuration) -> String {
    let EndedWork { messages, turns, deliveries, chats } = ended;
    let mut text = String::new();
    if messages + turns + deliveries > 0 {
        text.push_str(&format!(
            "Ended, because they may have been completed since: {messages} messages, {turns} \
                turns, {deliveries} deliveries. At the next start {chats} chats get a notice; \
                /retry and /resend in the chat repeat them.\n"
        ));
    }
    if let Some(moved) = moved {
        let head_file = configuration.head_file.display();
        text.push_str(&format!(
            "The previous database is now {}.\nIts newer audit rows are not in the new one: \
                `avocet audit verify` reports that until you remove {head_file}.\n",
            moved.display()
        ));
    }
    text
}
