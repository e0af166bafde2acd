//! The command line: the list of commands. The arguments of a command stand beside it.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::cli::agents::AgentsCommand;
use crate::cli::approvals::ApprovalsArgs;
use crate::cli::ask::AskArgs;
use crate::cli::audit::AuditArgs;
use crate::cli::chat::ChatArgs;
use crate::cli::copies::{BackupArgs, RecoverArgs, RestoreArgs};
use crate::cli::db::DbCommand;
use crate::cli::dead::DeadCommand;
use crate::cli::doctor::DoctorArgs;
use crate::cli::events::{EventsArgs, SubscribersCommand};
use crate::cli::jobs::JobCommand;
use crate::cli::mcp::McpCommand;
use crate::cli::memory::MemoryCommand;
use crate::cli::models::ModelsArgs;
use crate::cli::people::{LinkArgs, PairCommand, PeopleCommand};
use crate::cli::prompt::PromptArgs;
#[cfg(feature = "prove")]
use crate::cli::prove::ProveArgs;
use crate::cli::replay::ReplayArgs;
use crate::cli::rules::RulesArgs;
use crate::cli::run::RunArgs;
use crate::cli::schedule::SchedulesCommand;
use crate::cli::send::SendArgs;
use crate::cli::sessions::SessionsCommand;
use crate::cli::skills::SkillsCommand;
use crate::cli::status::StatusArgs;
use crate::cli::stop_all::EverythingArgs;
use crate::cli::tasks::TasksCommand;
use crate::cli::trace::TraceArgs;
use crate::cli::trust::TrustArgs;
use crate::cli::usage::UsageArgs;
use crate::cli::web::WebArgs;
use crate::context::Global;
use crate::exit;
#[cfg(not(feature = "prove"))]
use crate::parts::LeftOutArgs as ProveArgs;
use crate::setup::config::ConfigCommand;
use crate::setup::init::InitArgs;
use crate::setup::service::ServiceCommand;
use crate::setup::update::UpdateArgs;

/// A chat agent on a durable message bus. Without a command: chat in the terminal.
#[derive(Debug, Parser)]
#[command(name = "avocet", version, after_help = exit::HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve an editor with the Agent Client Protocol on stdin and stdout; connects to a running
    /// daemon, or runs one until the editor leaves.
    Acp,
    /// List or show the profiles of agents.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List calls that wait for your approval, and approve or deny them.
    Approvals(ApprovalsArgs),
    /// Send a message to the agent; the reply goes to the conversation's chat.
    Ask(AskArgs),
    /// Show decisions and actions, and the people behind them.
    Audit(AuditArgs),
    /// Copy the database into a new file and check the copy; works with or without a running
    /// daemon.
    Backup(BackupArgs),
    /// Chat in the terminal; connects to a running daemon, or runs one until you leave.
    Chat(ChatArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Name of the shell.
        shell: Shell,
    },
    /// Check, show or change the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the size of the database, or reduce it.
    #[command(subcommand)]
    Db(DbCommand),
    /// List failed messages, show one, or retry or drop them.
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Check the disk, the providers, the channels and the sandbox, and suggest fixes. A running
    /// daemon checks itself.
    Doctor(DoctorArgs),
    /// Print everything that happens as lines of JSON: messages, turns, calls, deliveries.
    Events(EventsArgs),
    /// Print the help of a command.
    Help {
        /// Command, such as `mcp add`. Without one: the list of commands.
        command: Vec<String>,
    },
    /// Set up a provider, a bot and its owner: asks, tests the answers, and writes the configuration.
    Init(Box<InitArgs>),
    /// Submit, list, show, follow or cancel jobs: tasks for an agent in the background.
    #[command(subcommand)]
    Job(JobCommand),
    /// Let a private chat share the session of another chat. Without chats: list the links.
    Link(LinkArgs),
    /// Use tools of MCP servers, or serve the daemon to MCP clients.
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Show, search, export or correct what the agent remembers.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// List the configured models, the facts about each, and their sources; or the models that a
    /// provider offers.
    Models(ModelsArgs),
    /// List, approve or deny the pairing codes of strangers.
    #[command(subcommand)]
    Pair(PairCommand),
    /// List or remove people who have access.
    #[command(subcommand)]
    People(PeopleCommand),
    /// Show the next request to the model in a conversation, and the tokens of its parts.
    Prompt(PromptArgs),
    /// Play orders of strangers to a model that obeys them all, with your configuration in a throw-away
    /// home, and show what was asked, refused or done. Exits with 1 if something was done unasked.
    Prove(ProveArgs),
    /// Copy the readable rows of a damaged database into a new one, and report which rows were
    /// saved and which were lost. The damaged database is not changed.
    Recover(RecoverArgs),
    /// Run an ended turn again from the log, without effects, and show the difference. Exits with 70
    /// if there is one.
    Replay(ReplayArgs),
    /// Replace the database with a copy that `avocet backup` made. The replaced database is kept
    /// under another name. Stop the daemon first.
    Restore(RestoreArgs),
    /// Let everything go on that `avocet stop --all` or `/stop all` has stopped.
    Resume(EverythingArgs),
    /// List, add or remove the owners' rules, which hold in every conversation.
    Rules(RulesArgs),
    /// Run the daemon with all configured channels.
    Run(RunArgs),
    /// List, add or change reminders and scheduled tasks.
    #[command(subcommand)]
    Schedule(SchedulesCommand),
    /// Send a message to a chat; works while the daemon is down.
    Send(SendArgs),
    /// Install, watch or remove the daemon as a service of systemd.
    #[command(subcommand)]
    Service(ServiceCommand),
    /// List, show, export or delete conversations.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// List, check, add or remove skills: instructions for kinds of tasks.
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Show the state of the daemon, its providers, its channels and its queues. Exits with 76 if
    /// something is down.
    Status(StatusArgs),
    /// Stop all work at once, also after a restart, until `avocet resume --all`. Messages are kept and wait.
    Stop(EverythingArgs),
    /// List or remove the programs that follow the events under a name.
    #[command(subcommand)]
    Subscribers(SubscribersCommand),
    /// List, show or cancel the tasks that agents have given to sub-agents.
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// Show conversations, queues, channels and spend of a running daemon, live on the whole terminal.
    Top,
    /// Show the way of a message as a timeline: waits, models, tools, deliveries.
    Trace(TraceArgs),
    /// Show or change the trust level of files.
    Trust(TrustArgs),
    /// Show the versions and the way to update this program; asks no server.
    Update(UpdateArgs),
    /// Show what models cost.
    Usage(UsageArgs),
    /// Open the web console in a browser, or sign out all browsers.
    Web(WebArgs),
}

impl Default for Command {
    fn default() -> Self {
        Self::Chat(ChatArgs::default())
    }
}
