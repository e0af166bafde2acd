//! `avocet memory`: shows, searches, exports and corrects the long-term memory. Reading uses the
//! log; a change goes through a running daemon.

use std::collections::BTreeMap;

use avocet_gateway::{
    AddMemory, ClientMethod, ForgetMemory, MemoryPorts, NoParams, RunMethod, SyncMemories,
    UndoMemoryChange, run_method,
};
use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::memory::MemoryMirror;
use avocet_protocol::store::{
    Memories, Memory, MemoryAuthor, MemoryChange, MemoryChangeKind, MemoryScope, MemorySource,
    ScopeFilter, WrittenMemory,
};
use avocet_store::{EraseSubject, SqliteStore};
use avocet_text::{PlainTable, append_line};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::cli::consolidate::{self, ConsolidateArgs};
use crate::cli::erase::{EraseOptions, erase};
use crate::cli::reach::{call_daemon_or_log, open_log_read_only};
use crate::cli::values::parse_rows;
use crate::components::checkup::mirror_problems;
use crate::components::memories::{has_files, make_mirror};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::output::{format_moment, print_result, print_text, print_warning};
use crate::redaction;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Remember a text. A text that is known in its scope is not stored again.
    Add {
        /// Text. Default or -: stdin.
        text: Option<String>,
        /// Scope: everyone, 'person CHANNEL:ACCOUNT:SENDER' or 'chat SESSION'.
        #[arg(long, default_value = "everyone")]
        scope: MemoryScope,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let a model tidy new memories, and show the changes.
    Consolidate {
        #[command(flatten)]
        consolidate: ConsolidateArgs,
    },
    /// Erase a memory for good, with its changes and where its text is repeated; audit rows keep
    /// digests only. Stop the daemon first.
    Erase {
        /// Memory, like m12.
        memory: MemoryId,
        #[command(flatten)]
        options: EraseOptions,
    },
    /// Print all memories as Markdown, one section for each scope.
    Export {
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Forget a memory. `avocet memory undo` restores it.
    Forget {
        /// Memory, like m12.
        memory: MemoryId,
    },
    /// List memories, the newest first.
    List {
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show changes of memories with the texts before and after, the newest first.
    Log {
        /// Memory, like m12. Default: all memories.
        memory: Option<MemoryId>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Search memories, the best match first.
    Search {
        /// Words; memories with any of them are found.
        query: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show a memory with its source and its changes.
    Show {
        /// Memory, like m12.
        memory: MemoryId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Undo the last change of a memory.
    Undo {
        /// Change, like c31 in `avocet memory log`.
        change: MemoryChangeId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Scope: everyone, 'person CHANNEL:ACCOUNT:SENDER' or 'chat SESSION'. Default: all.
    #[arg(long)]
    scope: Option<MemoryScope>,
}

impl ScopeArgs {
    fn filter(self) -> ScopeFilter {
        self.scope.map_or(ScopeFilter::All, |scope| ScopeFilter::Only(vec![scope]))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Maximum number of rows.
    #[arg(long, default_value_t = 50, value_parser = parse_rows)]
    limit: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A memory with its changes, newest first.
#[derive(Debug, Serialize)]
struct MemoryDetails {
    #[serde(flatten)]
    memory: Memory,
    changes: Vec<MemoryChange>,
}

pub(crate) async fn run(context: &CommandContext, command: MemoryCommand) -> Result<Exit, Failure> {
    let zone = system_zone();
    take_in_edits(context).await;
    match command {
        MemoryCommand::Add { text, scope, json } => {
            let params = AddMemory { text: text_or_stdin(text)?, scope };
            let written: WrittenMemory = change_memory::<AddMemory>(context, &params).await?;
            let WrittenMemory { memory: Memory { id, scope, .. }, is_new } = &written;
            let state = if *is_new { "remembered as" } else { "already known as" };
            print_result(json, &written, || format!("{state} {id} ({scope})\n"))
        }
        MemoryCommand::Consolidate { consolidate: args } => consolidate::run(context, args).await,
        MemoryCommand::Export { scope } => {
            let memories = search_memories(context, scope.filter(), "", u32::MAX).await?;
            print_text(&memories_markdown(&memories, &zone))?;
            Ok(Exit::Done)
        }
        MemoryCommand::Erase { memory, options } => {
            erase(context, EraseSubject::Memory(memory), options).await
        }
        MemoryCommand::Forget { memory } => {
            let () = change_memory::<ForgetMemory>(context, &ForgetMemory { memory }).await?;
            print_text(&format!(
                "{memory} is forgotten; see `avocet memory log {memory}` to undo it\n"
            ))?;
            Ok(Exit::Done)
        }
        MemoryCommand::List { list } => list_found(context, list, "").await,
        MemoryCommand::Search { query, list } => list_found(context, list, &query).await,
        MemoryCommand::Log { memory, list } => {
            let ListArgs { scope, limit, json } = list;
            let changes = match open_log(context)? {
                Some(log) => log.memory_changes(&scope.filter(), memory, limit).await?,
                None => Vec::new(),
            };
            print_result(json, &changes, || changes_text(&changes, &zone))
        }
        MemoryCommand::Show { memory, json } => {
            let details = fetch_details(context, memory).await?;
            print_result(json, &details, || details_text(&details, &zone))
        }
        MemoryCommand::Undo { change: number, json } => {
            let params = UndoMemoryChange { change: number };
            let memory: Memory = change_memory::<UndoMemoryChange>(context, &params).await?;
            let Memory { id, text, forgotten, .. } = &memory;
            let state = if *forgotten { "is forgotten again" } else { "is as before" };
            print_result(json, &memory, || format!("{id} {state}: {text}\n"))
        }
    }
}

async fn list_found(
    context: &CommandContext,
    list: ListArgs,
    query: &str,
) -> Result<Exit, Failure> {
    let ListArgs { scope, limit, json } = list;
    let memories = search_memories(context, scope.filter(), query, limit).await?;
    print_result(json, &memories, || list_text(&memories, &system_zone()))
}

async fn search_memories(
    context: &CommandContext,
    scopes: ScopeFilter,
    query: &str,
    limit: u32,
) -> Result<Vec<Memory>, Failure> {
    let Some(log) = open_log(context)? else { return Ok(Vec::new()) };
    let found = log.search_memories(&scopes, query, limit).await?;
    Ok(found.into_iter().map(|found| found.memory).collect())
}

async fn fetch_details(context: &CommandContext, id: MemoryId) -> Result<MemoryDetails, Failure> {
    let unknown = || Failure::new(Exit::Failed, format!("there is no memory {id}"));
    let log = open_log(context)?.ok_or_else(unknown)?;
    let memory = log.memory(id).await?.ok_or_else(unknown)?;
    let changes = log.memory_changes(&ScopeFilter::All, Some(id), u32::MAX).await?;
    Ok(MemoryDetails { memory, changes })
}

fn open_log(context: &CommandContext) -> Result<Option<SqliteStore>, Failure> {
    open_log_read_only(context, &Configuration::load(context, ConfigurationUse::Daemon)?)
}

/// Changes the memory. A daemon then brings the files up to date by itself.
async fn change_memory<M>(
    context: &CommandContext,
    params: &M::Params,
) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = MemoryPorts<'a>>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let mirror = make_mirror(&log.configuration, &log.store);
        let ports = MemoryPorts {
            memories: log.store.as_ref(),
            mirror: mirror.as_deref().map(|mirror| mirror as &dyn MemoryMirror),
            redactor: &redaction::shared_redactor(),
        };
        let answer = run_method::<M>(ports, params).await;
        if let Some(mirror) = mirror {
            mirror.sync_all().await?;
        }
        Ok(answer)
    })
    .await
}

/// Takes the edits of the memory's files into the log, so that the command sees them. A fault is a
/// warning only.
async fn take_in_edits(context: &CommandContext) {
    let Ok(configuration) = Configuration::load(context, ConfigurationUse::Daemon) else { return };
    if !has_files(&configuration) {
        return;
    }
    match change_memory::<SyncMemories>(context, &NoParams {}).await {
        Ok(report) => mirror_problems(&report).iter().for_each(|problem| print_warning(problem)),
        Err(Failure { error, .. }) => {
            print_warning(&format!("edits of the memory's files are not taken in: {error:#}"));
        }
    }
}

fn list_text(memories: &[Memory], zone: &TimeZone) -> String {
    if memories.is_empty() {
        return "There are no memories.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["id", "scope", "trust", "written", "text"]);
    for Memory { id, scope, text, trust, source, .. } in memories {
        let (written, trust) = (format_moment(source.written_at, zone), trust.as_str().to_owned());
        table.row([id.to_string(), scope.to_string(), trust, written, in_line(text)]);
    }
    table.to_string()
}

fn changes_text(changes: &[MemoryChange], zone: &TimeZone) -> String {
    if changes.is_empty() {
        return "There are no changes.\n".to_owned();
    }
    let mut text = String::new();
    for MemoryChange { id, memory, at, author, kind, before, after, .. } in changes {
        let at = format_moment(*at, zone);
        let kind = match (kind, before) {
            (MemoryChangeKind::Written, Some(_)) => "edited",
            _ => kind.as_str(),
        };
        let author = match author {
            MemoryAuthor::File(_) => "a person, in the memory file".to_owned(),
            author => author.to_string(),
        };
        append_line(&mut text, format_args!("{id}  {at}  {memory} {kind} by {author}"));
        for (sign, version) in [("-", before), ("+", after)] {
            for line in version.iter().flat_map(|version| version.text.lines()) {
                append_line(&mut text, format_args!("  {sign} {line}"));
            }
        }
    }
    text
}

fn details_text(details: &MemoryDetails, zone: &TimeZone) -> String {
    let MemoryDetails { memory, changes } = details;
    let Memory { id, scope, text, trust, source, revision, forgotten } = memory;
    let state = if *forgotten { ", forgotten" } else { "" };
    let MemorySource { session, turn, message, said_by, written_at } = source;
    let mut parts = vec![format_moment(*written_at, zone)];
    parts.extend(said_by.iter().map(|person| format!("asked by {person}")));
    parts.extend(session.iter().map(|session| format!("in {session}")));
    parts.extend(message.iter().map(|message| format!("message {message}")));
    parts.extend(turn.iter().map(|turn| format!("turn {turn}")));
    format!(
        "{id} ({scope}, trust {}, revision {revision}{state})\n{text}\nWritten: {}\n\n{}",
        trust.as_str(),
        parts.join(", "),
        changes_text(changes, zone)
    )
}

/// Returns the memories as Markdown, oldest first, one section for each scope.
fn memories_markdown(memories: &[Memory], zone: &TimeZone) -> String {
    let mut sections: BTreeMap<&MemoryScope, Vec<&Memory>> = BTreeMap::new();
    for memory in memories.iter().rev() {
        sections.entry(&memory.scope).or_default().push(memory);
    }
    let mut text = String::from("# Memory\n");
    for (scope, memories) in sections {
        append_line(&mut text, format_args!("\n## {scope}\n"));
        for Memory { id, text: said, trust, source, .. } in memories {
            let (trust, written) = (trust.as_str(), format_moment(source.written_at, zone));
            let said = said.lines().collect::<Vec<_>>().join("\n  ");
            append_line(&mut text, format_args!("- {said} ({id}, {written}, trust {trust})"));
        }
    }
    text
}

fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
