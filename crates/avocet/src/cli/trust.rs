//! `avocet trust`: shows and changes the trust of files and directories. It works on the files
//! themselves, with or without a running daemon. Changes by the daemon's programs meanwhile are not
//! seen.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use avocet_protocol::access::Trust;
use avocet_sandbox::{ExplainedTrust, Workspace};
use avocet_text::PlainTable;
use clap::Args;
use serde::Serialize;

use crate::components::workspaces::{guarded_workspace, open_roots};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::absolute_path;
use crate::exit::{Exit, Failure};
use crate::output::{print_error, print_json, print_text, print_warning};

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Files and directories of a workspace, or of a directory in tools.read or tools.write.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Trust the files as if you had written their current content, because you have read it.
    /// Directories include everything in them.
    #[arg(long, conflicts_with = "untrusted")]
    believe: bool,
    /// Mark the files as untrusted. Directories include everything that is or will be in them.
    /// After the agent has read such a file, it asks before it does more than read, and git runs
    /// nothing of such a repository.
    #[arg(long)]
    untrusted: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A file or directory, and its trust.
#[derive(Debug, Serialize)]
struct FileTrust {
    file: PathBuf,
    trust: Trust,
    why: Cow<'static, str>,
    /// The trust before this command changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<Trust>,
}

/// The change to the trust of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrustChange {
    Show,
    MarkTrusted,
    Distrust,
}

pub(crate) async fn run(context: &CommandContext, asked: &TrustArgs) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let workspaces = open(&configuration)?;
    let change = if asked.believe {
        TrustChange::MarkTrusted
    } else if asked.untrusted {
        TrustChange::Distrust
    } else {
        TrustChange::Show
    };
    let mut shown = Vec::new();
    let mut exit = Exit::Done;
    for file in &asked.files {
        match read_trust(&workspaces, file, change) {
            Ok(one) => shown.push(one),
            Err(failure) => {
                print_error(&format!("{:#}", failure.error));
                exit = Exit::Failed;
            }
        }
    }
    if asked.json {
        print_json(&shown)?;
    } else {
        let table: PlainTable = shown.iter().map(|shown| trust_row(shown, change)).collect();
        print_text(&table.to_string())?;
    }
    // Only the daemon knows its programs' changes, and marks them when the programs have ended.
    if !shown.is_empty() && connect_daemon(context, &configuration).await?.is_some() {
        print_warning(match change {
            TrustChange::MarkTrusted => {
                "the daemon runs: if one of its programs has such a file open or changes it, the \
                    file is marked again; check again when the programs have ended"
            }
            TrustChange::Show | TrustChange::Distrust => {
                "the daemon runs: this list shows the marks; files that its programs are changing \
                    have none yet"
            }
        });
    }
    Ok(exit)
}

/// Opens the existing workspaces, and the directories beside them.
fn open(configuration: &Configuration) -> Result<Vec<Workspace>, Failure> {
    let paths = configuration.agents.iter().map(|agent| &agent.workspace);
    let there = paths.filter(|path| path.exists());
    let mut opened =
        there.map(|path| guarded_workspace(configuration, path)).collect::<Result<Vec<_>, _>>()?;
    opened.extend(open_roots(configuration)?);
    Ok(opened)
}

fn read_trust(
    workspaces: &[Workspace],
    file: &Path,
    change: TrustChange,
) -> Result<FileTrust, Failure> {
    let place = resolve_place(file)?;
    let holds = |workspace: &&Workspace| place.starts_with(workspace.root());
    // Of nested workspaces, the inner one knows the files that came with its messages.
    let inner = workspaces.iter().filter(holds).max_by_key(|one| one.root().components().count());
    let workspace = inner.ok_or_else(|| outside_failure(workspaces, file, &place))?;
    let failed = |error: avocet_sandbox::FileError| Failure::new(Exit::Failed, error.to_string());
    let below = place.strip_prefix(workspace.root()).unwrap_or(Path::new(""));
    let below = below.to_str().ok_or_else(|| {
        let message = format!(
            "the name {} is not UTF-8, so file tools cannot read the file; rename it",
            place.display()
        );
        Failure::new(Exit::Failed, message)
    })?;
    let path = workspace.resolve_path("").map_err(failed)?.join_name(below);
    let was = match change {
        TrustChange::Show => None,
        TrustChange::MarkTrusted => Some(workspace.mark_trusted(&path).map_err(failed)?),
        TrustChange::Distrust => Some(workspace.mark_untrusted(&path).map_err(failed)?),
    };
    let ExplainedTrust { trust, why } = workspace.explain_trust(&path).map_err(failed)?;
    Ok(FileTrust { file: file.to_owned(), trust, why, was })
}

/// Returns the real path of a file. For a missing file, only its directory is resolved.
fn resolve_place(file: &Path) -> Result<PathBuf, Failure> {
    let given = absolute_path(file)?;
    let real = given.canonicalize().or_else(|error| match (given.parent(), given.file_name()) {
        (Some(parent), Some(name)) => parent.canonicalize().map(|parent| parent.join(name)),
        _ => Err(error),
    });
    real.map_err(|error| Failure::new(Exit::Failed, format!("{}: {error}", file.display())))
}

fn outside_failure(workspaces: &[Workspace], file: &Path, place: &Path) -> Failure {
    let known: Vec<String> =
        workspaces.iter().map(|workspace| workspace.root().display().to_string()).collect();
    let known = if known.is_empty() {
        "there is no workspace yet, because the daemon creates it".to_owned()
    } else {
        format!("the agent's files are below {}", known.join(", "))
    };
    let (file, place) = (file.display(), place.display());
    let message = format!("{file} is {place}, which the agent's file tools do not read; {known}");
    Failure::new(Exit::Failed, message)
}

fn trust_row(shown: &FileTrust, change: TrustChange) -> [String; 3] {
    let FileTrust { file, trust, why, was } = shown;
    let said = match (change, was) {
        (TrustChange::Show, _) | (_, None) => format!("it {why}"),
        (TrustChange::MarkTrusted, Some(Trust::Full)) => "it was trusted already".to_owned(),
        (TrustChange::MarkTrusted, Some(was)) => {
            format!("trusted from now on; it was {}", was.as_str())
        }
        (TrustChange::Distrust, Some(Trust::Low)) => "it was untrusted already".to_owned(),
        (TrustChange::Distrust, Some(was)) => {
            format!("untrusted from now on; it was {}", was.as_str())
        }
    };
    [file.display().to_string(), trust.as_str().to_owned(), said]
}
