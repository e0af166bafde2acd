//! The daemon's own configuration. The doc comments are the reference that users read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use avocet_protocol::access::{PROTECTED_PATHS, Role, ToolList, ToolPolicy};
use avocet_protocol::bus::QueueMode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    AgentsConfig, BackupConfig, BudgetsConfig, GatewayConfig, HeartbeatConfig, MemorySettings,
    RetentionConfig, RulesConfig, SkillsConfig,
};

/// The whole configuration file. The tables of components are opaque here.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigSettings {
    /// The directory for the database and all other persistent data. Default: `$STATE_DIRECTORY`
    /// under systemd, else `avocet` in the user's state directory (`$XDG_STATE_HOME`, else
    /// `~/.local/state`).
    pub data_dir: Option<PathBuf>,
    /// The point at which a write counts as durable. Default: `synced`.
    pub durability: LogDurability,
    /// The program's log.
    pub log: LogConfig,
    /// The agents.
    pub agents: AgentsConfig,
    /// Limits on the cost of models.
    pub budgets: BudgetsConfig,
    /// Conversations.
    pub sessions: SessionsConfig,
    /// Files that come with messages.
    pub attachments: AttachmentsConfig,
    /// The server that transcribes voice messages and other recordings. Without this table,
    /// recordings are not transcribed.
    pub transcription: Option<Map<String, Value>>,
    /// The server that speaks answers. Without this table, answers are text.
    pub speech: Option<Map<String, Value>>,
    /// The long-term memory.
    pub memory: MemorySettings,
    /// The model that turns memories into vectors, so that a search finds related words and other
    /// languages too. Without this table, a search compares words alone.
    pub embeddings: Option<Map<String, Value>>,
    /// The audit table of decisions and effects.
    pub audit: AuditConfig,
    /// Copies of the database.
    pub backup: BackupConfig,
    /// The time for which the log keeps content.
    pub retention: RetentionConfig,
    /// Reminders and tasks at regular times, by names of your choice.
    pub schedules: Map<String, Value>,
    /// A regular look at a checklist.
    pub heartbeat: HeartbeatConfig,
    /// Shutdown of the daemon.
    pub daemon: DaemonConfig,
    /// The socket for other processes.
    pub gateway: GatewayConfig,
    /// The HTTP interface for other programs. Without this table, the daemon listens on no TCP
    /// port.
    pub http: Option<Map<String, Value>>,
    /// The web console.
    pub web: WebConfig,
    /// Incoming webhooks of the HTTP interface, by names of your choice.
    pub hooks: Map<String, Value>,
    /// The export of turns to a collector of OpenTelemetry. Without this table, nothing is
    /// exported.
    pub telemetry: Option<Map<String, Value>>,
    /// Rules of the owners, which the model gets with every request.
    pub rules: RulesConfig,
    /// The agent's tools, and the rules for them.
    pub tools: ToolsConfig,
    /// The sandbox of the programs that the agent runs.
    pub sandbox: SandboxConfig,
    /// The skills of the system and of the program.
    pub skills: SkillsConfig,
    /// Facts about models that you know, by `provider/model`; `*` matches any characters.
    pub models: Map<String, Value>,
    /// Model providers, by names of your choice.
    pub providers: Map<String, Value>,
    /// Channels, by the names of their platforms.
    pub channels: Map<String, Value>,
}

impl ConfigSettings {
    /// Checks that no limit stops the daemon from working at all.
    ///
    /// # Errors
    /// The path of the first key whose value is too small, and the least value that works.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { sessions, tools, sandbox, memory, web, .. } = self;
        let max_running = u64::try_from(sessions.max_running).unwrap_or(u64::MAX);
        let limits = [
            ("sessions.max_running", max_running, "answer"),
            ("tools.approval_minutes", tools.approval_minutes, "minute"),
            ("web.sign_in_days", u64::from(web.sign_in_days), "day"),
            ("sandbox.timeout_seconds", sandbox.timeout_seconds, "second"),
            ("sandbox.background_seconds", sandbox.background_seconds, "second"),
            ("sandbox.max_processes", sandbox.max_processes, "process"),
            ("sandbox.max_memory_megabytes", sandbox.max_memory_megabytes, "megabyte"),
        ];
        match limits.into_iter().find(|(_, value, _)| *value == 0) {
            Some((key, _, unit)) => Err((key, format!("0 is too small; at least 1 {unit}"))),
            None => memory.consolidation.check(),
        }
    }
}

/// The point at which a write counts as durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogDurability {
    /// The write is on the disk and survives a power failure.
    #[default]
    Synced,
    /// The operating system has the write: it survives a crash of the daemon, but a power failure
    /// may lose it. Faster.
    Process,
}

/// The program's log.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// The level `error`, `warn`, `info`, `debug` or `trace`, also for parts of the program:
    /// `info,avocet_agent=debug`. Default: `info`.
    pub level: String,
    /// `text` for people, `json` for programs. Default: `text`.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::default() }
    }
}

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Conversations.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsConfig {
    /// Maximum number of turns that run at the same time, over all conversations. At least 1.
    /// Default: 64.
    pub max_running: usize,
    /// The handling of messages that arrive while a turn runs. `/queue` changes it for one
    /// conversation. Default: `queue`.
    ///
    /// - `queue`: each gets its own turn afterwards, in order.
    /// - `collect`: they are answered together afterwards.
    /// - `steer`: the running turn reads them at its next step.
    /// - `interrupt`: they cancel the running turn.
    pub queue_mode: QueueMode,
    /// Milliseconds without a new message before waiting messages are answered together (queue mode
    /// `collect`). A thought that is split over several messages is then read as one. Default: 500.
    pub burst_milliseconds: u64,
    /// `true` to answer a message again if it is edited after its turn has ended. This key has no
    /// effect on earlier edits: a waiting message gets the new text, and the edit of a message
    /// whose turn is running is passed on as a correction. Default: `false`.
    pub answer_edits: bool,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self {
            max_running: 64,
            queue_mode: QueueMode::default(),
            burst_milliseconds: 500,
            answer_edits: false,
        }
    }
}

/// The agent's tools, and the rules for them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsConfig {
    /// Tools of owners that users may have too: names, in which `*` matches any characters. Users
    /// are all people who are not owners, and everyone in a group without `owner_tools`. Default:
    /// `[]`, so that users have only the tools for everyone.
    pub users: Vec<String>,
    /// The rules for calls of tools, by tool name. In a name, `*` matches any characters, and the
    /// most specific name applies. Without a rule, calls for an owner run, except those that always
    /// need an approval, such as `git_push`. After the agent has read untrusted content, an owner
    /// is asked before a call that does more than read. Default: no rules.
    pub policy: BTreeMap<String, ToolPolicy>,
    /// The tools that are available to `owner` and to `user`. Default: all.
    pub roles: BTreeMap<Role, ToolList>,
    /// The tools that are available on a channel, by the channel's name. Default: all.
    pub channels: BTreeMap<String, ToolList>,
    /// Minutes until a call that waits for approval counts as denied. At least 1. Default: 60.
    pub approval_minutes: u64,
    /// `true`: after untrusted content, a call that changes only files in the sandbox runs at once.
    /// One question at the end of the turn shows all changes, and undo restores every file. `false`:
    /// the agent asks before each such call. Default: true.
    pub ask_last: bool,
    /// Bits that the choices of one turn may tell after untrusted content, before the agent asks. The
    /// choice of one link of a page with 16 links tells 4 bits. 0: it asks about each such choice.
    /// Default: 24.
    pub choice_bits: u32,
    /// Exceptions from the protection of secrets: files that file tools may open although their
    /// names mean that they hold passwords or keys (`.env`, `id_rsa`, `*.pem`, ...). An entry is a
    /// name, a path from the root of a workspace, or, outside of the workspaces, an absolute path;
    /// `*` matches any characters. All other secrets, the configuration file and the data directory
    /// are closed to tools and hidden from programs. Default: `[]`.
    pub secret_files: Vec<String>,
    /// Directories outside of the workspaces that file tools may read. `~/` is your home directory.
    /// Default: `[]`.
    pub read: Vec<PathBuf>,
    /// Directories outside of the workspaces that file tools may read and change. Default: `[]`.
    pub write: Vec<PathBuf>,
    /// The search engine of the tool `web_search`. Without this table, the agent cannot search the
    /// web.
    pub web_search: Option<Map<String, Value>>,
    /// MCP servers, whose tools the agent uses, by names of your choice.
    pub mcp_servers: Map<String, Value>,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            policy: BTreeMap::new(),
            roles: BTreeMap::new(),
            channels: BTreeMap::new(),
            approval_minutes: 60,
            ask_last: true,
            choice_bits: 24,
            secret_files: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            web_search: None,
            mcp_servers: Map::new(),
        }
    }
}

/// The sandbox of programs that the agent runs. They see the workspace and the system's programs.
/// Their network is limited to the hosts that are listed here. They end with their call, unless
/// they run in the background.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxConfig {
    /// The programs that `exec_shell` may call: names, in which `*` matches any characters.
    /// Default: `[]`, which means all programs of the system except a few that never help, such as
    /// sudo and mkfs.
    pub commands: Vec<String>,
    /// Directories that programs may read in addition to the workspace and the system's
    /// directories, such as those of compilers in your home directory (`~/`). Files whose names
    /// mean that they hold keys or tokens stay hidden there. Default: `[]`.
    pub read: Vec<PathBuf>,
    /// Directories that programs may read and change. Default: `[]`.
    pub write: Vec<PathBuf>,
    /// Hosts that programs may reach by `http` and `https`, through a proxy of the daemon. An entry
    /// is a host name, `*.NAME` for all names below it, or an IP address. `:PORT` may follow;
    /// without it, ports 80 and 443 are open. Default: `[]`, which means no network.
    pub hosts: Vec<String>,
    /// Maximum seconds of one command. A command that states no time gets 30. At least 1. Default:
    /// 600.
    pub timeout_seconds: u64,
    /// Maximum seconds of a command in the background. At least 1. Default: 3600.
    pub background_seconds: u64,
    /// Maximum number of processes and threads at the same time. At least 1. Default: 512.
    pub max_processes: u64,
    /// Maximum memory in megabytes. With a control group, the limit applies to all processes of one
    /// command together. Otherwise it applies to the private memory of each process, and to the
    /// memory that the processes share (shared mappings, segments, `/tmp` and `/dev/shm`). At least
    /// 1. Default: 4096.
    pub max_memory_megabytes: u64,
    /// Maximum megabytes that all processes of one command together may write to disk. The
    /// directories that the command may change may also grow by this much at most. A command that
    /// exceeds the limit is killed. Default: 10240.
    pub max_disk_megabytes: u64,
    /// Paths that programs may read but not change, in the workspace and in the directories of
    /// `write`: git, a shell or an editor executes their contents outside of the sandbox. An entry
    /// is a name, or several names from one directory to the next (`.git/hooks`); `*` matches any
    /// characters. File tools ask an owner before they change such a path. Default: files of git,
    /// shells, editors and the desktop.
    pub protected: Vec<String>,
    /// `true` to run programs even if this system has no sandbox layers. The limits still apply,
    /// but programs can then do everything that the daemon's user can do. `avocet doctor` lists the
    /// layers. Default: `false`.
    pub allow_unsandboxed_shell: bool,
}

impl Default for SandboxConfig {
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

/// Files that come with messages.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AttachmentsConfig {
    /// Maximum size in megabytes of a file that is downloaded. The agent only learns that a larger
    /// file was sent. Telegram's own limit is 20. Default: 20.
    pub max_megabytes: u64,
}

impl Default for AttachmentsConfig {
    fn default() -> Self {
        Self { max_megabytes: 20 }
    }
}

/// The web console, which `avocet web` opens.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// Days after which a browser is signed out. A shorter time also ends earlier sign-ins.
    /// Default: 30.
    pub sign_in_days: u32,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self { sign_in_days: 30 }
    }
}

/// The audit table of decisions and effects: a hash binds every row to the one before it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditConfig {
    /// The file for the number and the hash of the last row. It is outside of the database, so that
    /// a rewrite of the whole table is detected. Default: `audit-head` in systemd's logs directory
    /// (`$LOGS_DIRECTORY`), else a file beside the data directory: its name with `.audit-head`.
    pub head_file: Option<PathBuf>,
}

/// Shutdown of the daemon.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DaemonConfig {
    /// Seconds that running turns have to finish when the daemon is told to stop. Unfinished turns
    /// continue at the next start. Keep systemd's `TimeoutStopSec` 15 seconds above this value.
    /// Default: 30.
    pub drain_seconds: u64,
}

impl Default for DaemonConfig {
    fn default() -> Self {
        Self { drain_seconds: 30 }
    }
}
