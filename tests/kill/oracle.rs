//! Counts requests and outcomes outside of the program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::crowd::ReadMessages;
use crate::posts::Posts;
use crate::work::WorkOracle;

/// One message and its outcomes.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedMessage {
    /// Replies without the mark of a repetition.
    pub(crate) replies: u32,
    /// Replies with that mark.
    pub(crate) marked: u32,
    /// Texts of the message tool, likewise.
    pub(crate) notes: u32,
    pub(crate) marked_notes: u32,
    /// Effects of the tool `post`.
    pub(crate) posts: u32,
    /// The text of its error, or of the notice that it was dropped.
    pub(crate) failed: Option<String>,
    /// `true` if the message was open when its sender sent a line that may end turns: `/stop`,
    /// `/new`, an interrupting message.
    pub(crate) may_be_stopped: bool,
    /// The message that it corrects.
    pub(crate) edit_of: Option<u32>,
    /// The message that corrects it, and replaces it in the log if it came in time.
    pub(crate) edited_by: Option<u32>,
}

impl AskedMessage {
    pub(crate) fn is_answered(&self) -> bool {
        self.replies + self.marked > 0 || self.failed.is_some()
    }
}

/// Counts outcomes. It survives all kills.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// Requests to the model so far.
    pub(crate) requests: watch::Sender<u64>,
    messages: Mutex<BTreeMap<String, AskedMessage>>,
    /// Replies in the order in which they were first seen, by person.
    seen: Mutex<BTreeMap<usize, Vec<u32>>>,
    /// Incomplete answers on platforms, by person: the first message that each answers, and its
    /// text.
    unfinished: Mutex<BTreeMap<usize, Vec<(u32, String)>>>,
    surprises: Mutex<Vec<String>>,
    quiet: AtomicBool,
    pub(crate) posts: Posts,
    pub(crate) work: WorkOracle,
    /// The number of sent commands.
    commands: AtomicU64,
    /// Replies of commands, by person: those without and those with the mark of a repetition.
    command_replies: Mutex<BTreeMap<usize, (u64, u64)>>,
    seed: AtomicU64,
}

impl Oracle {
    pub(crate) fn stop_talking(&self) {
        self.quiet.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::SeqCst)
    }

    /// Sets the seed of all scripts.
    pub(crate) fn set_seed(&self, seed: u64) {
        self.seed.store(seed, Ordering::SeqCst);
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self, key: &str) {
        self.messages.lock().entry(key.to_owned()).or_default();
    }

    /// Records that a message corrects the one before it.
    pub(crate) fn edited(&self, person: usize, number: u32) {
        let before = number - 1;
        self.count(&key(person, number), |asked| asked.edit_of = Some(before));
        self.count(&key(person, before), |asked| asked.edited_by = Some(number));
    }

    /// Records a line that may end the turns of these messages.
    pub(crate) fn may_stop(&self, person: usize, open: Range<u32>) {
        for number in open {
            self.count(&key(person, number), |asked| asked.may_be_stopped = true);
        }
    }

    pub(crate) fn commanded(&self) {
        self.commands.fetch_add(1, Ordering::SeqCst);
    }

    /// Sets the number of answered commands of a person.
    pub(crate) fn commands_answered(&self, person: usize, replies: (u64, u64)) {
        self.command_replies.lock().insert(person, replies);
    }

    pub(crate) fn command_answered(&self, person: usize, repeat: bool) {
        let mut replies = self.command_replies.lock();
        let (plain, marked) = replies.entry(person).or_default();
        *if repeat { marked } else { plain } += 1;
    }

    /// Returns the number of commands, of their replies, and of their marked replies.
    pub(crate) fn commands(&self) -> (u64, u64, u64) {
        let replies = self.command_replies.lock();
        let plain = replies.values().map(|(plain, _)| plain).sum();
        let marked = replies.values().map(|(_, marked)| marked).sum();
        (self.commands.load(Ordering::SeqCst), plain, marked)
    }

    pub(crate) fn count(&self, key: &str, count: impl FnOnce(&mut AskedMessage)) {
        match self.messages.lock().get_mut(key) {
            Some(asked) => count(asked),
            None => self.surprise(format!("{key} was never asked")),
        }
    }

    pub(crate) fn reply(&self, person: usize, number: u32, repeat: bool) {
        let key = key(person, number);
        let first = !self.is_answered(&key);
        self.count(&key, |asked| if repeat { asked.marked += 1 } else { asked.replies += 1 });
        if first {
            self.seen.lock().entry(person).or_default().push(number);
        }
    }

    /// Records all that a person on a platform has read.
    pub(crate) fn hear(&self, person: usize, heard: &ReadMessages) {
        for (number, (replies, marked)) in &heard.replies {
            self.count(&key(person, *number), |asked| {
                (asked.replies, asked.marked) = (*replies, *marked);
            });
        }
        for (key, (notes, marked)) in &heard.notes {
            self.count(key, |asked| (asked.notes, asked.marked_notes) = (*notes, *marked));
        }
        for (number, error) in &heard.failed {
            self.count(&key(person, *number), |asked| asked.failed = Some(error.clone()));
        }
        self.seen.lock().insert(person, heard.order.clone());
        let mut surprises = self.surprises.lock();
        for surprise in &heard.surprises {
            if !surprises.contains(surprise) {
                surprises.push(surprise.clone());
            }
        }
        drop(surprises);
        self.commands_answered(person, heard.command_replies);
        self.unfinished.lock().insert(person, heard.unfinished.clone());
    }

    /// Returns the incomplete answers, by the first message that each answers.
    pub(crate) fn unfinished(&self) -> Vec<(String, String)> {
        let unfinished = self.unfinished.lock();
        let of = |(person, texts): (&usize, &Vec<(u32, String)>)| {
            let person = *person;
            texts
                .iter()
                .map(move |(number, text)| (key(person, *number), text.clone()))
                .collect::<Vec<_>>()
        };
        unfinished.iter().flat_map(of).collect()
    }

    pub(crate) fn is_answered(&self, key: &str) -> bool {
        self.messages.lock().get(key).is_some_and(AskedMessage::is_answered)
    }

    pub(crate) fn surprise(&self, what: String) {
        self.surprises.lock().push(what);
    }

    pub(crate) fn messages(&self) -> BTreeMap<String, AskedMessage> {
        self.messages.lock().clone()
    }

    pub(crate) fn surprises(&self) -> Vec<String> {
        self.surprises.lock().clone()
    }

    /// Returns the people whose replies are out of order.
    pub(crate) fn reordered(&self) -> Vec<(usize, String)> {
        let seen = self.seen.lock();
        let disordered = seen.iter().filter(|(_, numbers)| !numbers.is_sorted());
        disordered
            .map(|(person, numbers)| (*person, format!("person {person}: {numbers:?}")))
            .collect()
    }
}

/// Returns the key of a message, which is its name everywhere.
pub(crate) fn key(person: usize, number: u32) -> String {
    format!("p{person}m{number}")
}

/// Parses a key into its person and number.
pub(crate) fn parse(key: &str) -> Option<(usize, u32)> {
    let (person, number) = key.strip_prefix('p')?.split_once('m')?;
    Some((person.parse().ok()?, number.parse().ok()?))
}
