//! `avocet people erase`, `avocet sessions erase` and `avocet memory erase`: erase texts for good, in
//! the log of a stopped daemon and in the files beside it.

mod files;

use std::path::PathBuf;
use std::sync::Arc;

use avocet_gateway::Gateway;
use avocet_protocol::access::PersonId;
use avocet_protocol::memory::MemoryMirror as _;
use avocet_store::{
    DirectoryLock, EraseError, EraseSubject, ErasedCounts, LogHolder, OpenError, PreparedErasure,
    SqliteStore, near_people, prepare_erasure,
};
use avocet_supervise::run_blocking;
use avocet_text::append_line;
use clap::Args;
use serde_json::json;

use crate::components::memories::{has_files, make_mirror};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::daemon::running::open_options;
use crate::exit::{Exit, Failure};
use crate::output::{ask_confirmation, print_result, print_text, print_warning};
use crate::redaction;

pub(crate) use files::workspace_files;

#[derive(Debug, Args)]
pub(crate) struct EraseOptions {
    /// Erase without asking.
    #[arg(long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Files that an erasure leaves as they are.
struct UnreachedFiles {
    /// Files that the agent wrote in a workspace.
    written: Vec<PathBuf>,
    /// Copies of the log.
    copies: Vec<PathBuf>,
}

/// Shows what goes, asks, and erases it.
pub(crate) async fn erase(
    context: &CommandContext,
    subject: EraseSubject,
    options: EraseOptions,
) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let known = close_log(context, &configuration).await?;
    let directory = configuration.data_dir.clone();
    let lock =
        DirectoryLock::take_lock(&directory, LogHolder::Command, context.clock.as_ref()).await?;
    // A daemon whose lock file was deleted still has its socket.
    Gateway::check_unused(&configuration.socket)?;
    let (redactor, now) = (redaction::shared_redactor(), context.clock.now());
    let of = subject.clone();
    let prepared = run_blocking(move || {
        let prepared = prepare_erasure(&lock, &directory, &of, &redactor, now)?;
        Ok::<_, EraseError>((prepared, lock))
    });
    let (prepared, lock) = prepared.await?.map_err(|error| failure(&subject, &known, &error))?;
    let files = files::files_of(&configuration, &subject, prepared.ids());
    let unreached = UnreachedFiles {
        written: files::list_written_files(&configuration, prepared.ids()),
        copies: files::other_copies(&configuration),
    };
    if !options.yes {
        print_text(&format!(
            "{}{}",
            counts_text(&subject, prepared.counts(), files.len()),
            unreached_text(&subject, &unreached)
        ))?;
        if !ask_confirmation("Erase all of this for good?")? {
            print_text("Nothing was erased.\n")?;
            return Ok(Exit::Done);
        }
    }
    finish(prepared, lock, &subject, files, unreached, options.json).await
}

async fn finish(
    prepared: PreparedErasure,
    lock: DirectoryLock,
    subject: &EraseSubject,
    files: Vec<PathBuf>,
    unreached: UnreachedFiles,
    json: bool,
) -> Result<Exit, Failure> {
    let (counts, removed) = (*prepared.counts(), files.len());
    let committed = run_blocking(move || {
        let committed = prepared.commit(files);
        drop(lock);
        committed
    });
    committed.await?.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let UnreachedFiles { written, copies } = &unreached;
    let value =
        json!({ "erased": counts, "files": removed, "stays": written, "not_reached": copies });
    print_result(json, &value, || {
        let mut text = format!("Erased.\n{}", counts_text(subject, &counts, removed));
        text.push_str(
            "`avocet audit verify` proves that the audit table is otherwise unchanged.\n",
        );
        if matches!(subject, EraseSubject::Person(_)) {
            text.push_str(
                "The person is a stranger from now on, unless the configuration admits them. \
                 The configuration itself is unchanged.\n",
            );
        }
        text + &unreached_text(subject, &unreached)
    })
}

/// Brings the log up to date, empties its `-wal`, and takes in the edits of the memory's files.
/// Returns the known people.
async fn close_log(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Vec<String>, Failure> {
    let options = open_options(configuration, LogHolder::Command);
    let opened = SqliteStore::open(options, context.clock.clone(), &context.root).await;
    let log = match opened {
        Ok(log) => Arc::new(log),
        Err(error @ OpenError::Locked { .. }) => {
            return Err(Failure::new(Exit::TryLater, error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    if has_files(configuration)
        && let Some(mirror) = make_mirror(configuration, &log)
        && let Err(error) = mirror.sync_all().await
    {
        print_warning(&format!("edits of the memory's files are not taken in: {error}"));
    }
    let known = log.known_people().await?;
    Arc::unwrap_or_clone(log).close().await;
    Ok(known)
}

fn failure(subject: &EraseSubject, known: &[String], error: &EraseError) -> Failure {
    let message = match (error, subject) {
        (EraseError::Unknown, EraseSubject::Person(person)) => unknown_person(known, person),
        (EraseError::Unknown, EraseSubject::Session(session)) => {
            format!("there is no conversation {session}; see `avocet sessions list`")
        }
        (EraseError::Unknown, EraseSubject::Memory(memory)) => {
            format!("there is no memory {memory}; see `avocet memory list`")
        }
        (EraseError::OfTask, EraseSubject::Session(session)) => format!("{session}: {error}"),
        _ => error.to_string(),
    };
    Failure::new(Exit::Failed, message)
}

/// Describes an unknown person, with the known ones that are near.
pub(crate) fn unknown_person(known: &[String], person: &PersonId) -> String {
    match near_people(known, person).as_slice() {
        [] => format!("the log has nothing of {person}; see `avocet people list`"),
        near => format!("the log has nothing of {person}; near are {}", near.join(", ")),
    }
}

/// Lists what goes, with the counts that are not zero.
fn counts_text(subject: &EraseSubject, counts: &ErasedCounts, files: usize) -> String {
    let what = match subject {
        EraseSubject::Memory(memory) => memory.to_string(),
        EraseSubject::Session(session) => session.to_string(),
        EraseSubject::Person(person) => person.to_string(),
    };
    let rows = [
        (counts.sessions, "conversations, as a whole"),
        (counts.messages, "messages in them"),
        (counts.turns, "turns in them, with answers and tool calls"),
        (
            counts.replaced,
            "messages in shared conversations, with their answers; a note replaces them",
        ),
        (counts.memories, "memories, with all changes"),
        (counts.schedules, "schedules, which end"),
        (counts.rules, "rules for this person or conversation"),
        (counts.access, "entries of access: pairings, links and chats"),
        (counts.repeated, "other places that repeat an erased text"),
        (counts.audit, "audit rows, which lose their text and keep its digest"),
        (files as u64, "files"),
    ];
    let mut text = format!("{what}:\n");
    for (count, what) in rows.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("  {what}: {count}\n"));
    }
    text
}

/// Lists what the command leaves as it is: files of the agent in the workspaces, and copies of the log.
fn unreached_text(subject: &EraseSubject, unreached: &UnreachedFiles) -> String {
    let UnreachedFiles { written, copies } = unreached;
    let mut text = String::new();
    if !written.is_empty() {
        text.push_str(
            "These files of the agent stay, because other work may be in them; look at them yourself:\n",
        );
        append_paths(&mut text, written);
    }
    if !matches!(subject, EraseSubject::Memory(_)) {
        text.push_str(
            "Files that its programs wrote in a workspace outside of inbox/ and answers/ stay, and so do commits.\n",
        );
    }
    text.push_str("Copies of the log elsewhere and the platforms themselves cannot be reached.\n");
    if !copies.is_empty() {
        text.push_str("These copies are unchanged and may hold the texts; remove them yourself:\n");
        append_paths(&mut text, copies);
    }
    text
}

fn append_paths(text: &mut String, paths: &[PathBuf]) {
    for path in paths {
        append_line(text, format_args!("  {}", path.display()));
    }
}
