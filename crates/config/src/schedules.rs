//! Scheduled work of the configuration.

use avocet_protocol::schedule::CatchUp;
use schemars::JsonSchema;
use serde::Deserialize;

/// A reminder or a task at regular times. The daemon adds it when it starts, and removes it when its
/// table is gone. `avocet schedule list` shows it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleTable {
    /// The chat that gets the answers, as `channel:account:chat`.
    pub chat: String,
    /// The person in whose name it runs, by the platform's id. Default: the id of the chat, which is
    /// the person's in a private chat of Telegram.
    pub person: Option<String>,
    /// `true` if the chat is a group.
    pub group: bool,
    /// The time between two runs, for example `30m`; at least `1m`. Either this key or `cron`.
    pub every: Option<String>,
    /// Five fields in local time: minute, hour, day, month, weekday.
    pub cron: Option<String>,
    /// The time zone, for example `Europe/Berlin`. Default: the zone of the machine.
    pub zone: Option<String>,
    /// A text that is sent as it is. Either this key or `task`.
    pub text: Option<String>,
    /// A task for the agent, whose answer is sent.
    pub task: Option<String>,
    /// The agent that does the task. Default: by the patterns of `sessions`.
    pub agent: Option<String>,
    /// The treatment of times that passed while the daemon was stopped. Default: `once`.
    pub catch_up: CatchUp,
    /// `false` to send an answer that says nothing new, too. Default: `true`.
    pub quiet: bool,
}

impl Default for ScheduleTable {
    fn default() -> Self {
        Self {
            chat: String::new(),
            person: None,
            group: false,
            every: None,
            cron: None,
            zone: None,
            text: None,
            task: None,
            agent: None,
            catch_up: CatchUp::default(),
            quiet: true,
        }
    }
}

/// A regular look at a checklist in the workspace. It is off without `every`. As long as the file is
/// missing, or has only headings and comments, no model is asked.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeartbeatConfig {
    /// The time between two looks, for example `30m`; at least `1m`. Without this key, no look.
    pub every: Option<String>,
    /// The chat that gets the answers, as `channel:account:chat`.
    pub chat: String,
    /// The person in whose name it runs, as in `[schedules.NAME]`.
    pub person: Option<String>,
    /// The checklist, relative to the workspace. Default: `HEARTBEAT.md`.
    pub file: String,
    /// The agent that works on the checklist, in its workspace. Default: the default agent.
    pub agent: Option<String>,
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        let file = "HEARTBEAT.md".to_owned();
        Self { every: None, chat: String::new(), person: None, file, agent: None }
    }
}
