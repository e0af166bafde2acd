//! The command line.

use std::path::PathBuf;

use avocet_gateway::MOST_ROWS;
use avocet_protocol::{
    AuditKind, ChatAddress, DedupeKey, IdError, PersonId, SessionId, SessionRow, TurnId, UsageBy,
    WaitId,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::{exit, logging};

/// A chat agent on a durable message bus. Without a command: chat in the terminal.
#[derive(Debug, Parser)]
#[command(name = "avocet", version, after_help = exit::HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of all commands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Configuration file. Default: $AVOCET_CONFIG, then avocet/config.toml in $XDG_CONFIG_HOME or
    /// ~/.config, then none.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Log level, instead of the one in the configuration: error, warn, info, debug, trace.
    #[arg(long, global = true, value_name = "LEVEL", value_parser = logging::level)]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List calls that wait for your approval, and approve or deny them.
    Approvals(Approvals),
    /// Send a message to the agent; the reply goes to the conversation's chat.
    Ask(AskArgs),
    /// Show decisions and actions, and the people behind them.
    Audit(AuditArgs),
    /// Copy the database into a new file and check the copy; works with or without a running
    /// daemon.
    Backup(Backup),
    /// Chat in the terminal; connects to a running daemon, or runs one until you leave.
    Chat(ChatArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Name of the shell.
        shell: Shell,
    },
    /// Check the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check the disk, the providers, the channels and the sandbox, and suggest fixes. A running
    /// daemon checks itself.
    Doctor(Doctor),
    /// Let a private chat share the session of another chat. Without chats: list the links.
    Link(LinkArgs),
    /// List the configured models, the facts about each, and their sources.
    Models {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List, approve or deny the pairing codes of strangers.
    #[command(subcommand)]
    Pair(PairCommand),
    /// List or remove people who have access.
    #[command(subcommand)]
    People(PeopleCommand),
    /// Show the next request to the model in a conversation, and the tokens of its parts.
    Prompt(PromptArgs),
    /// Copy the readable rows of a damaged database into a new one, and report which rows were
    /// saved and which were lost. The damaged database is not changed.
    Recover(Recover),
    /// Replace the database with a copy that `avocet backup` made. The replaced database is kept
    /// under another name. Stop the daemon first.
    Restore(Restore),
    /// Run the daemon with all configured channels.
    Run(Run),
    /// Send a message to a chat; works while the daemon is down.
    Send(Send),
    /// List or show conversations.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Show the state of the daemon, its providers, its channels and its queues. Exits with 76 if
    /// something is down.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show or change the trust level of files.
    Trust(Trust),
    /// Show what models cost.
    Usage(Usage),
}

impl Default for Command {
    fn default() -> Self {
        Self::Chat(ChatArgs { chat: DEFAULT_CHAT.to_owned(), start_empty: false })
    }
}

const DEFAULT_CHAT: &str = "me";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Approve a call and let it run.
    Approve {
        /// Id of the call, as in the list.
        id: WaitId,
        /// Also approve similar calls in the same session.
        #[arg(long)]
        session: bool,
    },
    /// Deny a call; its turn continues without it.
    Deny {
        /// Id of the call, as in the list.
        id: WaitId,
        /// Reason, for the model.
        why: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// File for the copy; it must not exist yet.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Recover {
    /// Damaged database; its -wal file is read too. Default: the one that the last failed start
    /// moved aside.
    pub(crate) file: Option<PathBuf>,
    /// Write the recovered database to this new file. Default: replace the current database; stop
    /// the daemon first.
    #[arg(long, value_name = "NEW", requires = "file")]
    pub(crate) into: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Copy of the database; it stays in its place.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Do not contact providers and platforms.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Start with an empty database although the last one is damaged or missing. Nothing is
    /// deleted.
    #[arg(long)]
    pub(crate) start_empty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Name of the conversation.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_CHAT, value_parser = chat_name)]
    pub(crate) chat: String,
    /// Start with an empty database although the last one is damaged or missing. Nothing is
    /// deleted.
    #[arg(long)]
    pub(crate) start_empty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Chat, as channel:account:chat or channel:account:chat:topic. A bare name is a chat of the
    /// terminal.
    #[arg(value_parser = chat_address)]
    pub(crate) chat: ChatAddress,
    /// Text of the message. Default, or `-`: read it from stdin.
    pub(crate) text: Option<String>,
    /// Idempotency key: a second message with the same key is not sent.
    #[arg(long)]
    pub(crate) key: Option<DedupeKey>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Conversation, as channel:account:chat or channel:account:chat:topic. A bare name is a
    /// conversation of the terminal.
    #[arg(value_parser = session_id)]
    pub(crate) session: SessionId,
    /// Text of the message. Default, or `-`: read it from stdin.
    pub(crate) text: Option<String>,
    /// Idempotency key: a second message with the same key is ignored.
    #[arg(long)]
    pub(crate) key: Option<DedupeKey>,
    /// Wait for the reply and print it.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Stop waiting after this many seconds; the reply still goes to the chat.
    #[arg(long, value_name = "SECONDS", requires = "wait", value_parser = seconds)]
    pub(crate) timeout: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration and show the paths and the model in use.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List conversations, the last used first.
    List(SessionsList),
    /// Show the messages and tool calls of a conversation.
    Show(SessionsShow),
}

#[derive(Debug, Args)]
pub(crate) struct SessionsList {
    /// Maximum number of conversations.
    #[arg(long, default_value_t = 50, value_parser = rows)]
    pub(crate) limit: u32,
    /// Continue after this row: its used_at and session, as USED_AT/SESSION.
    #[arg(long, value_name = "ROW")]
    pub(crate) after: Option<SessionRow>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsShow {
    /// Conversation; a bare name is a conversation of the terminal.
    #[arg(value_parser = session_id)]
    pub(crate) session: SessionId,
    /// Maximum number of turns; the last ones are shown.
    #[arg(long, default_value_t = 50, value_parser = rows)]
    pub(crate) turns: u32,
    /// Show the turns before this one.
    #[arg(long, value_name = "TURN")]
    pub(crate) before: Option<TurnId>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Conversation, as channel:account:chat; a bare name is a conversation of the terminal.
    #[arg(value_parser = session_id)]
    pub(crate) session: SessionId,
    /// Next message, if no message waits for an answer.
    #[arg(long, default_value = "(the next message)")]
    pub(crate) message: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Files and directories of a workspace, or of a directory in tools.read or tools.write.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Trust the files as if you had written their current content, because you have read it.
    /// Directories include everything in them.
    #[arg(long, conflicts_with = "untrusted")]
    pub(crate) believe: bool,
    /// Mark the files as untrusted. Directories include everything that is or will be in them.
    /// After the agent has read such a file, it asks before it does more than read, and git runs
    /// nothing of such a repository.
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Usage {
    /// Group usage by model, session or day. The cost of a sub-agent counts towards the
    /// conversation that it works for.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) by: By,
    /// Number of days, including today. Days begin at 00:00 UTC.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = days)]
    pub(crate) days: u32,
    /// Maximum number of rows; the rest is added up in one row.
    #[arg(long, default_value_t = 50, value_parser = rows)]
    pub(crate) limit: u32,
    /// Skip this many rows at the beginning.
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    pub(crate) skip: u32,
    /// Print JSON; cost_usd is null if no price is known.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The grouping of usage sums.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum By {
    #[default]
    Model,
    Session,
    Day,
}

impl From<By> for UsageBy {
    fn from(by: By) -> Self {
        match by {
            By::Model => Self::Model,
            By::Session => Self::Session,
            By::Day => Self::Day,
        }
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
    /// Show rows of this conversation only; a bare name is a conversation of the terminal.
    #[arg(long, value_parser = session_id)]
    pub(crate) session: Option<SessionId>,
    /// Show rows since a day (2026-11-22), a time (2026-11-22T10:30) or a duration ago (2h, 3d).
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Show rows of this kind only.
    #[arg(long, value_parser = audit_kind)]
    pub(crate) kind: Option<AuditKind>,
    /// Maximum number of rows; the last ones are shown.
    #[arg(long, default_value_t = 50, value_parser = rows)]
    pub(crate) limit: u32,
    /// Show the rows before this one.
    #[arg(long, value_name = "ROW")]
    pub(crate) before: Option<i64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Chat whose session is shared, as channel:account:chat. A bare name is a chat of the
    /// terminal.
    #[arg(value_parser = chat_address, requires = "chat")]
    pub(crate) into: Option<ChatAddress>,
    /// Private chat that joins the session; replies go to the chat that asked.
    #[arg(value_parser = chat_address)]
    pub(crate) chat: Option<ChatAddress>,
    /// Give the second chat its own session back.
    #[arg(long, requires = "chat")]
    pub(crate) remove: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// Admit the stranger who got a code, and notify them.
    Approve {
        /// Code that the stranger got; dashes and case do not matter.
        code: String,
        /// Admit the stranger as an owner, with every tool and the right to admit others.
        #[arg(long)]
        owner: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a code; the stranger is not notified.
    Deny {
        /// Code that the stranger got; dashes and case do not matter.
        code: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the codes that can be approved.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeopleCommand {
    /// List people who have access, by the configuration or by pairing.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a person who was admitted by pairing.
    Remove {
        /// Person, as channel:account:sender in the list.
        person: PersonId,
    },
}

/// Parses the limit on a list's rows.
fn rows(text: &str) -> Result<u32, String> {
    let rows = text.parse().ok().filter(|rows| (1..=MOST_ROWS).contains(rows));
    rows.ok_or_else(|| format!("must be a whole number from 1 to {MOST_ROWS}"))
}

fn days(text: &str) -> Result<u32, String> {
    const MOST: u32 = 36_500;
    let days = text.parse().ok().filter(|days| (1..=MOST).contains(days));
    days.ok_or_else(|| format!("must be a whole number from 1 to {MOST}"))
}

fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "must be a whole number of seconds, 0 or more".to_owned())
}

fn audit_kind(text: &str) -> Result<AuditKind, String> {
    let known = || AuditKind::ALL.map(AuditKind::word).join(", ");
    let found = AuditKind::ALL.into_iter().find(|kind| kind.word() == text);
    found.ok_or_else(|| format!("unknown kind; the kinds are {}", known()))
}

/// Parses a session id, or the bare name of a conversation of the terminal.
pub(crate) fn session_id(text: &str) -> Result<SessionId, IdError> {
    if text.contains(':') { text.parse() } else { format!("terminal:local:{text}").parse() }
}

fn chat_name(text: &str) -> Result<String, IdError> {
    session_id(text).map(|_| text.to_owned())
}

fn chat_address(text: &str) -> Result<ChatAddress, IdError> {
    session_id(text).map(|session| session.address())
}
