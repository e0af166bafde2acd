//! Work that outlives the answer to a message: tasks of sub-agents, jobs, reminders and scheduled
//! tasks. Counts its outcomes, outside of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// The kinds of work that planners ask for, in turn.
pub(crate) const WORK: [WorkKind; 8] = [
    WorkKind::Tasks,
    WorkKind::Reminder,
    WorkKind::Job,
    WorkKind::Background,
    WorkKind::ScheduledTask,
    WorkKind::JobWithTasks,
    WorkKind::CancelledJob,
    WorkKind::SubmittedJob,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// A turn that waits for two sub-agents.
    Tasks,
    /// A sub-agent whose answer comes later.
    Background,
    /// A text that is due after a second.
    Reminder,
    /// A task that is due after a second.
    ScheduledTask,
    /// A job that was asked for in the chat.
    Job,
    /// A job that waits for two sub-agents.
    JobWithTasks,
    /// A job that is cancelled as soon as its number is known.
    CancelledJob,
    /// A job that was submitted by a method of the socket, without an effect.
    SubmittedJob,
}

impl WorkKind {
    /// Returns the word behind the key in the request, which tells the model what to do.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tasks | Self::JobWithTasks => "tasks",
            Self::Background => "background",
            Self::Reminder => "remind",
            Self::ScheduledTask => "later",
            Self::Job | Self::CancelledJob => "effect",
            Self::SubmittedJob => "plain",
        }
    }

    pub(crate) fn is_job(self) -> bool {
        matches!(self, Self::Job | Self::JobWithTasks | Self::CancelledJob | Self::SubmittedJob)
    }

    /// Returns the keys of its effects.
    pub(crate) fn effects(self, key: &str) -> Vec<String> {
        let parts: &[&str] = match self {
            Self::Tasks | Self::JobWithTasks => &["a", "b"],
            Self::Background | Self::ScheduledTask => &["a"],
            Self::Job | Self::CancelledJob => &[""],
            Self::Reminder | Self::SubmittedJob => &[],
        };
        parts.iter().map(|part| format!("{key}{part}")).collect()
    }

    /// Returns `true` if its end is a separate message after the answer to the request.
    pub(crate) fn ends_later(self) -> bool {
        self != Self::Tasks
    }
}

/// One piece of work and what its planner has read.
#[derive(Debug, Clone)]
pub(crate) struct AskedWork {
    pub(crate) kind: WorkKind,
    /// Answers to the request, without and with the mark of a repetition.
    pub(crate) replies: (u32, u32),
    /// Messages at its end, likewise.
    pub(crate) ends: (u32, u32),
    /// Errors and notices that name it.
    pub(crate) failed: Vec<String>,
}

impl AskedWork {
    /// Returns `true` if nothing more has to come.
    pub(crate) fn is_over(&self) -> bool {
        let heard = |(plain, marked)| plain + marked > 0;
        let last = if self.kind.ends_later() { self.ends } else { self.replies };
        heard(last) || !self.failed.is_empty()
    }
}

/// Counts the outcomes of work. It survives all kills.
#[derive(Debug, Default)]
pub(crate) struct WorkOracle {
    asked: Mutex<BTreeMap<String, AskedWork>>,
    effects: Mutex<BTreeMap<String, u32>>,
    /// The effects about which a planner was asked after a crash.
    asked_about: Mutex<BTreeSet<String>>,
    /// Texts that name no work.
    others: Mutex<Vec<String>>,
    /// The recurring reminder: copies without and with the mark.
    ticks: Mutex<(u32, u32)>,
    over: AtomicBool,
}

impl WorkOracle {
    pub(crate) fn asked(&self, key: &str, kind: WorkKind) {
        let asked = AskedWork { kind, replies: (0, 0), ends: (0, 0), failed: Vec::new() };
        self.asked.lock().insert(key.to_owned(), asked);
    }

    pub(crate) fn with<T>(&self, key: &str, act: impl FnOnce(&mut AskedWork) -> T) -> Option<T> {
        self.asked.lock().get_mut(key).map(act)
    }

    pub(crate) fn all(&self) -> BTreeMap<String, AskedWork> {
        self.asked.lock().clone()
    }

    pub(crate) fn effect(&self, key: &str) {
        *self.effects.lock().entry(key.to_owned()).or_default() += 1;
    }

    pub(crate) fn effects(&self) -> BTreeMap<String, u32> {
        self.effects.lock().clone()
    }

    pub(crate) fn ask_about(&self, key: &str) {
        self.asked_about.lock().insert(key.to_owned());
    }

    pub(crate) fn was_asked_about(&self, key: &str) -> bool {
        self.asked_about.lock().contains(key)
    }

    pub(crate) fn other(&self, text: &str) {
        self.others.lock().push(text.to_owned());
    }

    pub(crate) fn others(&self) -> Vec<String> {
        self.others.lock().clone()
    }

    pub(crate) fn tick(&self, repeat: bool) {
        count(&mut self.ticks.lock(), repeat);
    }

    pub(crate) fn ticks(&self) -> (u32, u32) {
        *self.ticks.lock()
    }

    /// Ends the planners, who listen until nothing more can come.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

pub(crate) fn count((plain, marked): &mut (u32, u32), repeat: bool) {
    *if repeat { marked } else { plain } += 1;
}

/// Returns the key of a piece of work, which is its name everywhere.
pub(crate) fn work_key(planner: usize, number: u32) -> String {
    format!("w{planner}k{number:04}")
}

/// Splits a key of work, or of one of its parts, into the key of the work and the part.
pub(crate) fn parse_work(word: &str) -> Option<(&str, &str)> {
    let (planner, rest) = word.strip_prefix('w')?.split_once('k')?;
    let number = rest.get(..4)?;
    let part = rest.get(4..)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_key = is_number(planner) && is_number(number) && matches!(part, "" | "a" | "b");
    is_key.then(|| word.split_at(word.len() - part.len()))
}
