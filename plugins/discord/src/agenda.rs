//! What is to be asked of the platform, and when: each question by itself, so that one that is not
//! answered holds up no other. No I/O.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_supervise::Backoff;
use serenity::model::id::ChannelId;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Questions that are under way at a time.
const AT_ONCE: usize = 8;
/// Questions in [`A_WHILE`]: half of what the platform takes of a bot (Discord API, "Global Rate
/// Limit"), so that there is room for answers and previews.
const IN_A_WHILE: usize = 25;
const A_WHILE: Duration = Duration::from_secs(1);
/// How long a session's servers have to be described in. One with an outage is described when that is
/// over (Discord API, "Guild Create").
const LISTING: Duration = Duration::from_secs(15);

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// Somebody's direct message channel.
    Person(u64),
    /// What was said in a channel.
    Channel(ChannelId),
    /// The commands that are offered.
    Commands,
}

/// When something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Once so much time has passed.
    At(Duration),
    /// Once the servers have been described: that says whether there is anything to ask.
    Listed,
    /// Once everything else has been asked.
    Last,
    /// It is being asked.
    Asked,
}

#[derive(Debug)]
struct Entry {
    when: When,
    backoff: Backoff,
    /// It was asked, and has to be asked again.
    tried: bool,
    /// Somebody waits for it.
    urgent: bool,
    fault: Option<String>,
}

impl Entry {
    fn new(when: When) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { when, backoff, tried: false, urgent: false, fault: None }
    }
}

/// All that is to be asked.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BTreeMap<Subject, Entry>,
    listed: Duration,
    /// When the last questions were asked, at most [`IN_A_WHILE`].
    asked: VecDeque<Duration>,
}

impl Agenda {
    /// A session begins: what was being asked is asked anew.
    pub(crate) fn begin(&mut self, now: Duration) {
        self.listed = now + LISTING;
        for entry in self.entries.values_mut() {
            *entry = Entry { urgent: entry.urgent, ..Entry::new(When::At(now)) };
        }
    }

    /// All servers have been described.
    pub(crate) fn all_listed(&mut self, now: Duration) {
        self.listed = now;
    }

    /// Asks about something, instead of what was to be asked about it.
    pub(crate) fn add(&mut self, subject: Subject, when: When) {
        let urgent = self.entries.get(&subject).is_some_and(|entry| entry.urgent);
        self.entries.insert(subject, Entry { urgent, ..Entry::new(when) });
    }

    /// Somebody waits for it: of all that is due, it is asked first.
    pub(crate) fn urge(&mut self, subject: Subject) {
        if let Some(entry) = self.entries.get_mut(&subject) {
            entry.urgent = true;
        }
    }

    pub(crate) fn remove(&mut self, subject: Subject) {
        self.entries.remove(&subject);
    }

    pub(crate) fn when(&self, subject: Subject) -> Option<When> {
        self.entries.get(&subject).map(|entry| entry.when)
    }

    /// The next that is due, which is being asked from now on.
    pub(crate) fn next(&mut self, now: Duration) -> Option<Subject> {
        if self.is_full() || self.not_before() > now {
            return None;
        }
        let due = self.all_due().filter(|(due, ..)| *due <= now);
        let (_, subject, _) = due.min_by_key(|(due, subject, urgent)| (!urgent, *due, *subject))?;
        self.entries.get_mut(&subject)?.when = When::Asked;
        self.asked.drain(..(self.asked.len() + 1).saturating_sub(IN_A_WHILE));
        self.asked.push_back(now);
        Some(subject)
    }

    /// When the next is due; none if nothing is, or enough is under way.
    pub(crate) fn due(&self) -> Option<Duration> {
        let due = self.all_due().map(|(due, ..)| due).min().filter(|_| !self.is_full())?;
        Some(due.max(self.not_before()))
    }

    fn all_due(&self) -> impl Iterator<Item = (Duration, Subject, bool)> {
        let due = |(subject, entry): (&Subject, &Entry)| {
            Some((self.due_at(entry)?, *subject, entry.urgent))
        };
        self.entries.iter().filter_map(due)
    }

    /// Enough is under way.
    fn is_full(&self) -> bool {
        self.entries.values().filter(|entry| entry.when == When::Asked).count() >= AT_ONCE
    }

    /// The platform takes only so many in a while.
    fn not_before(&self) -> Duration {
        let first = self.asked.front().filter(|_| self.asked.len() >= IN_A_WHILE);
        first.map_or(Duration::ZERO, |first| *first + A_WHILE)
    }

    fn due_at(&self, entry: &Entry) -> Option<Duration> {
        let is_tried = |entry: &Entry| entry.tried || entry.when == When::Last;
        match entry.when {
            When::At(due) => Some(due),
            When::Listed => Some(self.listed),
            When::Last => self.entries.values().all(is_tried).then_some(self.listed),
            When::Asked => None,
        }
    }

    /// There was an answer, and there is more to ask.
    pub(crate) fn goes_on(&mut self, subject: Subject, now: Duration) {
        self.add(subject, When::At(now));
    }

    /// The platform asks to wait.
    pub(crate) fn waits(&mut self, subject: Subject, until: Duration) {
        if let Some(entry) = self.entries.get_mut(&subject) {
            entry.when = When::At(until);
            entry.tried = true;
        }
    }

    /// It could not be asked: it is asked again after the returned time.
    pub(crate) fn failed(&mut self, subject: Subject, why: String, now: Duration) -> Duration {
        let Some(entry) = self.entries.get_mut(&subject) else { return Duration::ZERO };
        let wait = entry.backoff.next_wait();
        entry.when = When::At(now + wait);
        entry.tried = true;
        entry.fault = Some(why);
        wait
    }

    /// What cannot be read at present, in a line. That commands are not offered is no trouble: typed
    /// they work.
    pub(crate) fn complaint(&self) -> Option<String> {
        let read = self.entries.iter().filter(|(subject, _)| **subject != Subject::Commands);
        let mut failing = read.filter_map(|(_, entry)| entry.fault.as_deref());
        let first = failing.next()?;
        Some(match failing.count() {
            0 => format!("what was said in a channel cannot be read yet: {first}"),
            more => format!("what was said in {} channels cannot be read yet: {first}", more + 1),
        })
    }
}

#[cfg(test)]
#[path = "agenda_tests.rs"]
mod tests;
