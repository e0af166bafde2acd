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

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The configuration file. Default: $AVOCET_CONFIG, then avocet/config.toml in
    /// $XDG_CONFIG_HOME, then none.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What is logged, instead of what the configuration says: error, warn, info, debug, trace.
    #[arg(long, global = true, value_name = "LEVEL", value_parser = logging::level)]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the calls that wait for you to allow them, and decide about them.
    Approvals(Approvals),
    /// Let the agent answer a message; the reply goes to the conversation's chat.
    Ask(AskArgs),
    /// Show what was decided and done, and by whom.
    Audit(AuditArgs),
    /// Copy the database into a new file and check the copy, whether or not the daemon runs.
    Backup(Backup),
    /// Chat in the terminal: joins a running daemon, or runs one as long as you stay.
    Chat(ChatArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// The configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check the disk, the providers, the channels and the sandbox, and say what to do about what is wrong.
    /// A daemon that runs checks itself.
    Doctor(Doctor),
    /// Let a private chat speak in the session of another one. Without chats: list the links.
    Link(LinkArgs),
    /// List the models of the configuration, what is known of each, and from whom.
    Models {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Strangers who ask to be let in.
    #[command(subcommand)]
    Pair(PairCommand),
    /// Who may speak.
    #[command(subcommand)]
    People(PeopleCommand),
    /// Show what a model would be sent next in a conversation, and what its parts cost in tokens.
    Prompt(PromptArgs),
    /// Save the rows that a damaged database still holds into a new one; says what was saved and what was not. The
    /// damaged database stays as it is.
    Recover(Recover),
    /// Put a copy that `avocet backup` made in the place of the database, which is kept under another name. Stop the
    /// daemon first.
    Restore(Restore),
    /// Run the daemon with all configured channels.
    Run(Run),
    /// Deliver a message to a chat; works while the daemon is down.
    Send(Send),
    /// The conversations.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Show the state of the daemon, its providers, its channels and its queues. Exits with 76 if something
    /// is down.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show or change the trust level of files
    Trust(Trust),
    /// Show what models have cost.
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
    /// Let a call run.
    Approve {
        /// Which, as the list shows it.
        id: WaitId,
        /// And those that are like it, in its session.
        #[arg(long)]
        session: bool,
    },
    /// Do not let a call run; its turn goes on without it.
    Deny {
        /// Which, as the list shows it.
        id: WaitId,
        /// Why, for the model.
        why: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The copy, which must not exist yet.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Recover {
    /// The damaged database; its -wal is read too. Default: the one that the last failed start moved aside.
    pub(crate) file: Option<PathBuf>,
    /// Write the recovered database to this new file. Default: put it in the place of the database; stop the daemon
    /// first.
    #[arg(long, value_name = "NEW", requires = "file")]
    pub(crate) into: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The copy, which stays where it is.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Ask no provider and no platform.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Begin with an empty database although the last one is damaged or gone. Nothing is deleted.
    #[arg(long)]
    pub(crate) start_empty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The name of the conversation.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_CHAT, value_parser = chat_name)]
    pub(crate) chat: String,
    /// Begin with an empty database although the last one is damaged or gone. Nothing is deleted.
    #[arg(long)]
    pub(crate) start_empty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Where: channel:account:chat or channel:account:chat:topic. A bare name is a chat of the
    /// terminal.
    #[arg(value_parser = chat_address)]
    pub(crate) chat: ChatAddress,
    /// What to say. Default, or `-`: what comes in on stdin.
    pub(crate) text: Option<String>,
    /// Makes a repetition of this command harmless: a second message with the same key is not sent.
    #[arg(long)]
    pub(crate) key: Option<DedupeKey>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Which conversation: channel:account:chat or channel:account:chat:topic. A bare name is one of
    /// the terminal.
    #[arg(value_parser = session_id)]
    pub(crate) session: SessionId,
    /// What to ask. Default, or `-`: what comes in on stdin.
    pub(crate) text: Option<String>,
    /// Makes a repetition of this command harmless: a second message with the same key is absorbed.
    #[arg(long)]
    pub(crate) key: Option<DedupeKey>,
    /// Wait for the reply and print it.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Stop waiting after so many seconds; the reply comes to the chat all the same.
    #[arg(long, value_name = "SECONDS", requires = "wait", value_parser = seconds)]
    pub(crate) timeout: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration and say what holds.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the conversations, the last used first.
    List(SessionsList),
    /// Print what was said and done in one.
    Show(SessionsShow),
}

#[derive(Debug, Args)]
pub(crate) struct SessionsList {
    /// How many at most.
    #[arg(long, default_value_t = 50, value_parser = rows)]
    pub(crate) limit: u32,
    /// Go on behind this row: its used_at and session, as USED_AT/SESSION.
    #[arg(long, value_name = "ROW")]
    pub(crate) after: Option<SessionRow>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsShow {
    /// Which conversation; a bare name is one of the terminal.
    #[arg(value_parser = session_id)]
    pub(crate) session: SessionId,
    /// How many turns at most, the last ones.
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
    /// Which session: channel:account:chat, or the name of a terminal's.
    #[arg(value_parser = session_id)]
    pub(crate) session: SessionId,
    /// What is said next, where nothing waits for an answer.
    #[arg(long, default_value = "(the next message)")]
    pub(crate) message: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Files and directories of a workspace, or of a directory beside it.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Mark them as yours, because you have read them: what stands in them now is believed as if you had written it. A
    /// directory with everything in it.
    #[arg(long, conflicts_with = "untrusted")]
    pub(crate) believe: bool,
    /// Mark them as untrusted, a directory with everything that is or will be in it: once the agent has read such a file
    /// it asks before it does more than read, and git runs nothing of such a repository.
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Usage {
    /// What it is summed by. What sub-agents cost is that of the conversation that they work for.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) by: By,
    /// Of how many days, today included. Days begin at 00:00 UTC.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = days)]
    pub(crate) days: u32,
    /// How many rows at most; the others are added up in one.
    #[arg(long, default_value_t = 50, value_parser = rows)]
    pub(crate) limit: u32,
    /// Leave out so many rows at the beginning.
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    pub(crate) skip: u32,
    /// Print JSON; cost_usd is null where no price is known.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What usage is summed by.
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
    /// Of this conversation only; a bare name is one of the terminal.
    #[arg(long, value_parser = session_id)]
    pub(crate) session: Option<SessionId>,
    /// Since a day (2026-11-22), a moment (2026-11-22T10:30), or for so long (2h, 3d).
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Of this kind only.
    #[arg(long, value_parser = audit_kind)]
    pub(crate) kind: Option<AuditKind>,
    /// How many at most, the last ones.
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
    /// Check every row, and the head that was noted outside of the database. Exits with 65 where
    /// something was done to them.
    Verify {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Whose session: channel:account:chat. A bare name is a chat of the terminal.
    #[arg(value_parser = chat_address, requires = "chat")]
    pub(crate) into: Option<ChatAddress>,
    /// Who speaks in it from now on; replies go to the chat that asked.
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
    /// Let a stranger speak, who is told so.
    Approve {
        /// The code that the stranger was given; dashes and case do not matter.
        code: String,
        /// As an owner, with every tool and the right to let others in.
        #[arg(long)]
        owner: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a code back. Nobody is told.
    Deny {
        /// The code that the stranger was given; dashes and case do not matter.
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
    /// List who may speak, by the configuration and let in since.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Strike off somebody who was let in.
    Remove {
        /// Who: channel:account:sender, as the list shows it.
        person: PersonId,
    },
}

/// Parses the limit on a list's rows.
fn rows(text: &str) -> Result<u32, String> {
    let rows = text.parse().ok().filter(|rows| (1..=MOST_ROWS).contains(rows));
    rows.ok_or_else(|| format!("it is not a whole number from 1 to {MOST_ROWS}"))
}

fn days(text: &str) -> Result<u32, String> {
    const MOST: u32 = 36_500;
    let days = text.parse().ok().filter(|days| (1..=MOST).contains(days));
    days.ok_or_else(|| format!("it is not a whole number from 1 to {MOST}"))
}

fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it is not a whole number of seconds, 0 or more".to_owned())
}

fn audit_kind(text: &str) -> Result<AuditKind, String> {
    let known = || AuditKind::ALL.map(AuditKind::word).join(", ");
    let found = AuditKind::ALL.into_iter().find(|kind| kind.word() == text);
    found.ok_or_else(|| format!("there is no such kind; there are {}", known()))
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
