//! `avocet db`: the size of the database, and its reduction.

use avocet_protocol::model::thousands;
use avocet_store::{
    DirectoryLock, LogHolder, LogSize, OpenError, RowSpace, SqliteStore, vacuum_log,
};
use avocet_supervise::run_blocking;
use avocet_text::PlainTable;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::reach::open_log_read_only;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::daemon::running::open_options;
use crate::disk::format_bytes;
use crate::exit::{Exit, Failure};
use crate::output::print_result;

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Show the size of the database, and the space of each kind of content.
    Size {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Rewrite the database without the space of removed rows. Stop the daemon first. From then on,
    /// the daemon gives the space of removed rows back by itself.
    Vacuum {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) async fn run(context: &CommandContext, command: DbCommand) -> Result<Exit, Failure> {
    match command {
        DbCommand::Size { json } => show_size(context, json).await,
        DbCommand::Vacuum { json } => rewrite_log(context, json).await,
    }
}

async fn show_size(context: &CommandContext, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let missing = || {
        let data_dir = configuration.data_dir.display();
        Failure::new(Exit::Failed, format!("there is no database in {data_dir} yet"))
    };
    let log = open_log_read_only(context, &configuration)?.ok_or_else(missing)?;
    let size = log.measure_size().await?;
    print_result(json, &as_json(&size), || size_text(&size))?;
    Ok(Exit::Done)
}

fn as_json(size: &LogSize) -> Value {
    let rows = |RowSpace { rows, bytes }: RowSpace| json!({ "rows": rows, "bytes": bytes });
    json!({
        "file_bytes": size.file,
        "wal_bytes": size.wal,
        "free_bytes": size.free,
        "shrinks": size.shrinks,
        "messages": rows(size.messages),
        "results": rows(size.results),
        "audit": rows(size.audit),
        "memories": rows(size.memories),
    })
}

fn size_text(size: &LogSize) -> String {
    let free = if size.shrinks { "given back after a removal" } else { "used again by new rows" };
    let row = |name: &str, size: u64, rows: String| [name.to_owned(), format_bytes(size), rows];
    let kind = |name: &str, kind: RowSpace, what: &str| {
        row(name, kind.bytes, format!("{} {what}", thousands(kind.rows)))
    };
    [
        row("avocet.db", size.file, String::new()),
        row("avocet.db-wal", size.wal, String::new()),
        row("free", size.free, free.to_owned()),
        kind("messages", size.messages, "messages, with replies"),
        kind("results", size.results, "calls of tools"),
        kind("audit", size.audit, "rows"),
        kind("memories", size.memories, "memories"),
    ]
    .into_iter()
    .collect::<PlainTable>()
    .to_string()
}

async fn rewrite_log(context: &CommandContext, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let options = open_options(&configuration, LogHolder::Command);
    let directory = options.directory.clone();
    // A clean start and stop empties the `-wal`.
    match SqliteStore::open(options, context.clock.clone(), &context.root).await {
        Ok(log) => log.close().await,
        Err(error @ OpenError::Locked { .. }) => {
            return Err(Failure::new(Exit::TryLater, error.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    let lock =
        DirectoryLock::take_lock(&directory, LogHolder::Command, context.clock.as_ref()).await?;
    let (before, after) = run_blocking(move || vacuum_log(&lock, &directory)).await??;
    print_result(json, &json!({ "bytes_before": before, "bytes": after }), || {
        format!("The database had {} and has {}.\n", format_bytes(before), format_bytes(after))
    })?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_shown_by_kind() {
        let rows = |rows, bytes| RowSpace { rows, bytes };
        let size = LogSize {
            file: 12_000_000,
            wal: 4096,
            free: 0,
            shrinks: true,
            messages: rows(12_345, 5_000_000),
            results: rows(100, 4_000_000),
            audit: rows(7, 700),
            memories: rows(1, 10),
        };
        let text = size_text(&size);
        assert!(text.contains("12,345 messages, with replies"), "{text}");
        assert!(text.contains("given back after a removal"), "{text}");
        assert_eq!(as_json(&size)["results"], json!({ "rows": 100, "bytes": 4_000_000 }));
    }
}
