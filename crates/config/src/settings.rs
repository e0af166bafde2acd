//! The daemon's own configuration. The doc comments are the reference that users read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use avocet_protocol::{PROTECTED_PATHS, QueueMode, Role, ToolList, ToolPolicy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Backup, Budgets};

/// The whole file. The tables of components are opaque here.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Where the log and everything else that lasts is kept. Default: `avocet` in the platform's
    /// state directory (`$XDG_STATE_HOME`, `~/.local/state`).
    pub data_dir: Option<PathBuf>,
    /// When a promise counts as kept.
    pub durability: Durability,
    /// What is logged.
    pub log: Log,
    /// The agents.
    pub agents: Agents,
    /// What models may cost.
    pub budgets: Budgets,
    /// Conversations.
    pub sessions: Sessions,
    /// What comes with messages beside their text.
    pub attachments: Attachments,
    /// Who listens to recordings; nobody by default.
    pub transcription: Option<Map<String, Value>>,
    /// The table of decisions and effects.
    pub audit: Audit,
    /// Copies of the database.
    pub backup: Backup,
    /// Starting and stopping.
    pub daemon: Daemon,
    /// The door for other processes.
    pub gateway: Gateway,
    /// What the agent can do.
    pub tools: Tools,
    /// What programs that it runs can do.
    pub sandbox: Sandbox,
    /// What you know of models, by `provider/model`, in which `*` stands for any characters.
    pub models: Map<String, Value>,
    /// Model providers, by the names that you give them.
    pub providers: Map<String, Value>,
    /// Channels, by the names of their platforms.
    pub channels: Map<String, Value>,
}

impl Settings {
    /// Checks that no limit stops the daemon from working at all.
    ///
    /// # Errors
    /// The path of the first key whose value is too small, and the least value that works.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { sessions, tools, sandbox, .. } = self;
        let max_running = u64::try_from(sessions.max_running).unwrap_or(u64::MAX);
        let limits = [
            ("sessions.max_running", max_running, "answer"),
            ("tools.approval_minutes", tools.approval_minutes, "minute"),
            ("sandbox.timeout_seconds", sandbox.timeout_seconds, "second"),
            ("sandbox.background_seconds", sandbox.background_seconds, "second"),
            ("sandbox.max_processes", sandbox.max_processes, "process"),
            ("sandbox.max_memory_megabytes", sandbox.max_memory_megabytes, "megabyte"),
        ];
        match limits.into_iter().find(|(_, value, _)| *value == 0) {
            Some((key, _, unit)) => Err((key, format!("0 is too small; at least 1 {unit}"))),
            None => Ok(()),
        }
    }
}

/// The point at which a write counts as durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// When the disk has it: it survives a power failure.
    #[default]
    Synced,
    /// When the system has it: it survives a crash of the daemon, and may go with the power. Faster.
    Process,
}

/// The program's log.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// `error`, `warn`, `info`, `debug` or `trace`, also by part: `info,avocet_agent=debug`.
    pub level: String,
    /// `text` for people, `json` for programs.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::default() }
    }
}

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// The agents.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Agents {
    /// What every agent has.
    pub defaults: AgentDefaults,
    /// Agents for some sessions, by name: see [`profiles`](crate::profiles).
    #[serde(flatten)]
    pub profiles: Map<String, Value>,
}

/// The settings that all agents inherit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentDefaults {
    /// Who answers, as `provider/model`. Without a provider: the embedded `offline/commands`.
    pub model: String,
    /// Who is asked in the same turn where it gives no answer, in this order: other models, also of
    /// `provider/model` form. One that failed is left alone for a while.
    pub fallbacks: Vec<String>,
    /// Who does what nobody reads as it is: summaries of a long conversation. Default: `model`.
    pub cheap_model: Option<String>,
    /// The directory that file tools work in. Default: `workspace` in the data directory.
    pub workspace: Option<PathBuf>,
    /// Rounds of tool calls in one answer; at least 1.
    pub max_tool_iterations: u32,
    /// Tool calls in one answer.
    pub max_tool_calls: u32,
    /// Seconds that one answer may take, waiting for people not counted; at least 1.
    pub max_turn_seconds: u64,
    /// Tokens that one answer may cost, read and written; at least 2,000.
    pub max_turn_tokens: u64,
    /// Tokens that a request may have, as far as the model's window is not smaller: at least 2,000. A
    /// conversation that has become longer is condensed.
    pub context_tokens: u64,
    /// Which tools it has.
    pub tools: ToolList,
}

impl Default for AgentDefaults {
    fn default() -> Self {
        Self {
            model: "offline/commands".to_owned(),
            fallbacks: Vec::new(),
            cheap_model: None,
            workspace: None,
            max_tool_iterations: 20,
            max_tool_calls: 100,
            max_turn_seconds: 30 * 60,
            max_turn_tokens: 1_000_000,
            context_tokens: 64_000,
            tools: ToolList::default(),
        }
    }
}

/// Conversations.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sessions {
    /// Answers that are worked on at the same time, over all conversations; at least 1.
    pub max_running: usize,
    /// What happens to messages that arrive while an answer is worked on: `queue` (one by one
    /// afterwards), `collect` (together afterwards), `steer` (read at the next step) or `interrupt`
    /// (they end the work). `/queue` changes it for one conversation.
    pub queue_mode: QueueMode,
    /// Milliseconds without another message before messages are answered together (`collect`), so
    /// that a thought that comes in several messages is read as one.
    pub burst_milliseconds: u64,
    /// Whether a message that is edited after it was answered is answered anew. One that still
    /// waits says what its edit says in any case; one that is being answered is corrected.
    pub answer_edits: bool,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            max_running: 64,
            queue_mode: QueueMode::default(),
            burst_milliseconds: 500,
            answer_edits: false,
        }
    }
}

/// The agent's tools.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tools {
    /// Tools that users have beside those that are for everybody: names, in which `*` stands for any
    /// characters. Without it they are for owners.
    pub users: Vec<String>,
    /// What is done with calls of tools, by their names, in which `*` stands for any characters; the name
    /// that says most counts. Without it, owners have done what they ask for, and are asked first where
    /// the agent has read what others wrote and is about to do more than read.
    pub policy: BTreeMap<String, ToolPolicy>,
    /// Which tools there are for `owner` and `user`.
    pub roles: BTreeMap<Role, ToolList>,
    /// Which tools there are on a channel, by its name.
    pub channels: BTreeMap<String, ToolList>,
    /// Minutes after which a call that nobody has allowed counts as denied; at least 1.
    pub approval_minutes: u64,
    /// Secrets that file tools may open all the same, by patterns of their names, or of their paths from
    /// the root of a workspace, absolute beside it, in which `*` stands for any characters. Without it no tool opens
    /// files that hold passwords or keys by their names (`.env`, `id_rsa`, `*.pem`, ...), this file or the
    /// data directory, and programs do not see them.
    pub secret_files: Vec<String>,
    /// Directories beside the workspaces that file tools read. `~/` stands for your home.
    pub read: Vec<PathBuf>,
    /// Directories that they change, too.
    pub write: Vec<PathBuf>,
    /// Who searches the web; nobody by default.
    pub web_search: Option<Map<String, Value>>,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            policy: BTreeMap::new(),
            roles: BTreeMap::new(),
            channels: BTreeMap::new(),
            approval_minutes: 60,
            secret_files: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            web_search: None,
        }
    }
}

/// The sandbox of programs that the agent runs. They see the workspace and the system's programs,
/// and have no network but the hosts that are opened here. Unless they run in the background, they
/// end with their call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// The programs that `exec_shell` may call: names, in which `*` stands for any characters. Empty: all
    /// that the system has, but for a few that never help, like sudo and mkfs.
    pub commands: Vec<String>,
    /// Directories that programs see beside the workspace and the system's own, as those of compilers
    /// in your home. `~/` stands for it. Files that hold keys or tokens by their names stay hidden there.
    pub read: Vec<PathBuf>,
    /// Directories that they may change, too.
    pub write: Vec<PathBuf>,
    /// Hosts that programs may reach, by `http` and `https` through a proxy of the daemon: names, names with `*.`
    /// before them for all below, and addresses, with `:PORT` or without for 80 and 443. Empty: no network.
    pub hosts: Vec<String>,
    /// Seconds that one command may take at most; one that does not say how long it needs has 30.
    pub timeout_seconds: u64,
    /// Seconds that a command in the background may live.
    pub background_seconds: u64,
    /// Processes and threads at the same time.
    pub max_processes: u64,
    /// Megabytes of memory. With a control group: of all processes of one command together. Without one: what one
    /// process has for itself and all of them share (shared mappings, segments, `/tmp` and `/dev/shm`).
    pub max_memory_megabytes: u64,
    /// Megabytes that one command may write to disk, with all of its processes, and by which the directories that it
    /// may change may grow. A command that exceeds it is killed.
    pub max_disk_megabytes: u64,
    /// Paths that programs may read and not change, wherever they are below a directory that programs may change: git, a
    /// shell or an editor runs what they hold, outside of the sandbox. A name, or several from one directory to the
    /// next, in which `*` stands for any characters. File tools ask an owner before they change one.
    pub protected: Vec<String>,
    /// Run programs also where this system gives no walls: with limits, but with all that the daemon's user
    /// may do. `avocet doctor` says which walls there are.
    pub allow_unsandboxed_shell: bool,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            hosts: Vec::new(),
            timeout_seconds: 600,
            background_seconds: 3600,
            max_processes: 512,
            max_memory_megabytes: 4096,
            max_disk_megabytes: 10_240,
            protected: PROTECTED_PATHS.map(str::to_owned).to_vec(),
            allow_unsandboxed_shell: false,
        }
    }
}

/// Attachments of messages.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Attachments {
    /// The largest file that is fetched, in megabytes; of a larger one the agent knows that it was
    /// sent. Telegram gives out 20 at most.
    pub max_megabytes: u64,
}

impl Default for Attachments {
    fn default() -> Self {
        Self { max_megabytes: 20 }
    }
}

/// The audit table of decisions and effects: a hash binds every row to the one before it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// Where the number and the hash of the last row are noted, outside of the database, so that who
    /// writes all of it anew is found out. Default: `audit-head` in the logs directory that systemd
    /// gives, else beside the data directory, under its name with `.audit-head`.
    pub head_file: Option<PathBuf>,
}

/// Starting and stopping.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Daemon {
    /// Seconds that running answers have to finish when the daemon is told to stop; what is not
    /// finished goes on at the next start. Keep systemd's `TimeoutStopSec` 15 seconds above it.
    pub drain_seconds: u64,
}

impl Default for Daemon {
    fn default() -> Self {
        Self { drain_seconds: 30 }
    }
}

/// The socket for other processes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gateway {
    /// The Unix socket. Its directory is readable by its owner alone. Default: `run/avocet.sock` in
    /// the data directory.
    pub socket: Option<PathBuf>,
}
