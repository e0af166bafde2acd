//! The presence text of the bot, which all its servers see: ready, working, or in trouble. It is
//! off by default, because it shows everywhere that somebody uses the bot.

use std::time::Duration;

use avocet_protocol::chat::Outcome;
use serde_json::{Value, json};
use serenity::constants::Opcode;
use tokio::sync::watch;

/// Time after the last typing sign for which the bot counts as working. The sign is repeated every
/// four seconds.
const WORKING_FOR: Duration = Duration::from_secs(10);
/// Time between two updates. The platform accepts five in 20 seconds (Discord API, "Update
/// Presence").
const BETWEEN_UPDATES: Duration = Duration::from_secs(5);
/// The type of an activity that shows only a text (Discord API, "Activity Types").
const CUSTOM: u8 = 4;

/// The presence of the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Ready,
    Working,
    /// The last answer failed.
    InTrouble,
}

impl Presence {
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Ready => ("online", "Ready"),
            Self::Working => ("online", "Working…"),
            Self::InTrouble => ("dnd", "The last answer failed"),
        }
    }

    /// Returns the payload for the gateway.
    fn update(self) -> Value {
        let (status, text) = self.text();
        json!({
            "op": u8::from(Opcode::PresenceUpdate),
            "d": {
                "since": null, "status": status, "afk": false,
                "activities": [{ "name": "Custom Status", "type": CUSTOM, "state": text }],
            },
        })
    }
}

/// The signs of the bot's work. Times are those of the clock's `elapsed`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WorkSigns {
    typed: Option<Duration>,
    has_failed: bool,
}

/// The last signs, for the connection.
#[derive(Debug, Default)]
pub(crate) struct BotActivity(watch::Sender<WorkSigns>);

impl BotActivity {
    /// Notes that the bot works on an answer.
    pub(crate) fn note_typing(&self, now: Duration) {
        self.0.send_modify(|signs| signs.typed = Some(now));
    }

    /// Notes the end of an answer.
    pub(crate) fn note_outcome(&self, outcome: Outcome) {
        self.0.send_modify(|signs| {
            signs.typed = None;
            signs.has_failed = matches!(outcome, Outcome::Error | Outcome::Dropped);
        });
    }

    pub(crate) fn follow(&self) -> watch::Receiver<WorkSigns> {
        self.0.subscribe()
    }
}

/// The presence that a connection shows.
#[derive(Debug)]
pub(crate) struct ShownPresence {
    is_on: bool,
    shown: Option<Presence>,
    next_at: Duration,
}

impl ShownPresence {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, shown: None, next_at: Duration::ZERO }
    }

    /// Returns the update to send now, which counts as sent.
    pub(crate) fn update(&mut self, signs: WorkSigns, now: Duration) -> Option<Value> {
        let wanted = wanted(signs, now);
        if !self.is_on || self.shown == Some(wanted) || now < self.next_at {
            return None;
        }
        self.shown = Some(wanted);
        self.next_at = now + BETWEEN_UPDATES;
        Some(wanted.update())
    }

    /// Returns the time until the presence may change by itself; `None` if it stays.
    pub(crate) fn due(&self, signs: WorkSigns, now: Duration) -> Option<Duration> {
        let is_new = self.shown != Some(wanted(signs, now));
        let at = if is_new { Some(self.next_at) } else { signs.typed.map(|at| at + WORKING_FOR) };
        at.map(|at| at.saturating_sub(now)).filter(|wait| self.is_on && !wait.is_zero())
    }
}

fn wanted(signs: WorkSigns, now: Duration) -> Presence {
    let is_working = signs.typed.is_some_and(|at| now < at + WORKING_FOR);
    match signs {
        _ if is_working => Presence::Working,
        WorkSigns { has_failed: true, .. } => Presence::InTrouble,
        WorkSigns { .. } => Presence::Ready,
    }
}

#[cfg(test)]
#[path = "presence_tests.rs"]
mod tests;
