//! The long-term memory.

use schemars::JsonSchema;
use serde::Deserialize;

/// The long-term memory.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemorySettings {
    /// Consolidation of memories by a model.
    pub consolidation: ConsolidationSettings,
}

/// Consolidation of memories: a model merges those that say the same, drops those that newer ones
/// contradict, and writes dates instead of words like "tomorrow". Older texts are kept, and
/// `avocet memory undo` restores them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsolidationSettings {
    /// The times of regular runs: `off`, `idle`, or five fields of cron in local time, such as
    /// `30 4 * * *`. With `off`, only `avocet memory consolidate` asks the model. Default: `off`.
    pub when: String,
    /// The model, as `provider/model`. Default: `cheap_model` of `[agents.defaults]`, else its
    /// `model`.
    pub model: Option<String>,
    /// With `idle`: hours since the last message of a person; at least 1. Default: 3.
    pub idle_hours: u32,
    /// With `idle`: the least number of new memories of a person, of a chat or for everyone; at least
    /// 1. Default: 5.
    pub least_new: u32,
    /// Maximum memories of a run, which are those of one person, of one chat or for everyone; at
    /// least 2. Default: 60.
    pub max_memories: u32,
    /// Maximum tokens of the memories of a run; at least 100. Default: 4,000.
    pub max_tokens: u64,
    /// Maximum regular runs in one day, which begins at 00:00 UTC; at least 1. Default: 4.
    pub max_runs_per_day: u32,
}

impl ConsolidationSettings {
    /// Checks the values of single keys, except `when` and `model`.
    ///
    /// # Errors
    /// The key with an unusable value, and the least value that works.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let limits = [
            ("memory.consolidation.idle_hours", u64::from(self.idle_hours), 1),
            ("memory.consolidation.least_new", u64::from(self.least_new), 1),
            ("memory.consolidation.max_memories", u64::from(self.max_memories), 2),
            ("memory.consolidation.max_tokens", self.max_tokens, 100),
            ("memory.consolidation.max_runs_per_day", u64::from(self.max_runs_per_day), 1),
        ];
        match limits.into_iter().find(|(_, value, least)| value < least) {
            Some((key, value, least)) => {
                Err((key, format!("{value} is too small; at least {least}")))
            }
            None => Ok(()),
        }
    }
}

impl Default for ConsolidationSettings {
    fn default() -> Self {
        Self {
            when: "off".to_owned(),
            model: None,
            idle_hours: 3,
            least_new: 5,
            max_memories: 60,
            max_tokens: 4000,
            max_runs_per_day: 4,
        }
    }
}
