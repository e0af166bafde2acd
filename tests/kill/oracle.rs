//! What was asked and what came of it, counted outside of the program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;

use crate::crowd::Heard;
use crate::posts::Posts;

/// One message and what came of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Replies that were not marked as sent again.
    pub(crate) replies: u32,
    /// Replies that were.
    pub(crate) marked: u32,
    /// Messages of the message tool, likewise.
    pub(crate) notes: u32,
    pub(crate) marked_notes: u32,
    /// Effects of the tool `post`.
    pub(crate) posts: u32,
    /// It ended in an error, or was dropped.
    pub(crate) failed: Option<String>,
    /// It was open when its sender said something that may end turns: `/stop`, `/new`, an interrupting message.
    pub(crate) may_be_stopped: bool,
    /// The message that it corrects.
    pub(crate) edit_of: Option<u32>,
    /// The message that corrects it: the log has that one in its place, if it came in time.
    pub(crate) edited_by: Option<u32>,
}

impl Asked {
    pub(crate) fn is_answered(&self) -> bool {
        self.replies + self.marked > 0 || self.failed.is_some()
    }
}

/// The one who is never killed.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// Requests to the model so far.
    pub(crate) requests: watch::Sender<u64>,
    messages: Mutex<BTreeMap<String, Asked>>,
    /// In the order in which replies were first seen, by person.
    seen: Mutex<BTreeMap<usize, Vec<u32>>>,
    /// Answers on platforms that are not whole, by person: the first message that each answers, and its text.
    unfinished: Mutex<BTreeMap<usize, Vec<(u32, String)>>>,
    surprises: Mutex<Vec<String>>,
    quiet: AtomicBool,
    pub(crate) posts: Posts,
    /// Commands that were said.
    commands: AtomicU64,
    /// Their replies, by person: those that were not marked as sent again, and those that were.
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

    /// What people say follows from this.
    pub(crate) fn set_seed(&self, seed: u64) {
        self.seed.store(seed, Ordering::SeqCst);
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self, key: &str) {
        self.messages.lock().unwrap().entry(key.to_owned()).or_default();
    }

    /// A message corrects the one before it.
    pub(crate) fn edited(&self, person: usize, number: u32) {
        let before = number - 1;
        self.count(&key(person, number), |asked| asked.edit_of = Some(before));
        self.count(&key(person, before), |asked| asked.edited_by = Some(number));
    }

    /// Something was said that may end the turns of these messages.
    pub(crate) fn may_stop(&self, person: usize, open: Range<u32>) {
        for number in open {
            self.count(&key(person, number), |asked| asked.may_be_stopped = true);
        }
    }

    pub(crate) fn commanded(&self) {
        self.commands.fetch_add(1, Ordering::SeqCst);
    }

    /// The daemon has answered so many commands of a person.
    pub(crate) fn commands_answered(&self, person: usize, replies: (u64, u64)) {
        self.command_replies.lock().unwrap().insert(person, replies);
    }

    pub(crate) fn command_answered(&self, person: usize, repeat: bool) {
        let mut replies = self.command_replies.lock().unwrap();
        let (plain, marked) = replies.entry(person).or_default();
        *if repeat { marked } else { plain } += 1;
    }

    /// Commands that were said, and their replies: unmarked, and marked as sent again.
    pub(crate) fn commands(&self) -> (u64, u64, u64) {
        let replies = self.command_replies.lock().unwrap();
        let plain = replies.values().map(|(plain, _)| plain).sum();
        let marked = replies.values().map(|(_, marked)| marked).sum();
        (self.commands.load(Ordering::SeqCst), plain, marked)
    }

    pub(crate) fn count(&self, key: &str, count: impl FnOnce(&mut Asked)) {
        match self.messages.lock().unwrap().get_mut(key) {
            Some(asked) => count(asked),
            None => self.surprise(format!("{key} was never asked")),
        }
    }

    pub(crate) fn reply(&self, person: usize, number: u32, repeat: bool) {
        let key = key(person, number);
        let first = !self.is_answered(&key);
        self.count(&key, |asked| if repeat { asked.marked += 1 } else { asked.replies += 1 });
        if first {
            self.seen.lock().unwrap().entry(person).or_default().push(number);
        }
    }

    /// All that a person on a platform has read.
    pub(crate) fn hear(&self, person: usize, heard: &Heard) {
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
        self.seen.lock().unwrap().insert(person, heard.order.clone());
        let mut surprises = self.surprises.lock().unwrap();
        for surprise in &heard.surprises {
            if !surprises.contains(surprise) {
                surprises.push(surprise.clone());
            }
        }
        drop(surprises);
        self.commands_answered(person, heard.command_replies);
        self.unfinished.lock().unwrap().insert(person, heard.unfinished.clone());
    }

    /// Answers that are not whole, by the first message that each answers.
    pub(crate) fn unfinished(&self) -> Vec<(String, String)> {
        let unfinished = self.unfinished.lock().unwrap();
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
        self.messages.lock().unwrap().get(key).is_some_and(Asked::is_answered)
    }

    pub(crate) fn surprise(&self, what: String) {
        self.surprises.lock().unwrap().push(what);
    }

    pub(crate) fn messages(&self) -> BTreeMap<String, Asked> {
        self.messages.lock().unwrap().clone()
    }

    pub(crate) fn surprises(&self) -> Vec<String> {
        self.surprises.lock().unwrap().clone()
    }

    /// People whose replies did not come in the order of their messages.
    pub(crate) fn reordered(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let disordered = seen.iter().filter(|(_, numbers)| !numbers.is_sorted());
        disordered.map(|(person, numbers)| format!("person {person}: {numbers:?}")).collect()
    }
}

/// How a message is called everywhere.
pub(crate) fn key(person: usize, number: u32) -> String {
    format!("p{person}m{number}")
}

/// The person and number of a key.
pub(crate) fn parse(key: &str) -> Option<(usize, u32)> {
    let (person, number) = key.strip_prefix('p')?.split_once('m')?;
    Some((person.parse().ok()?, number.parse().ok()?))
}
