//! What is to be asked of the platform, and when: each question by itself, so that one that is not
//! answered holds up no other. No I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_supervise::Backoff;
use serenity::model::id::ChannelId;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Questions that are under way at a time.
const AT_ONCE: usize = 8;
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
    fault: Option<String>,
}

impl Entry {
    fn new(when: When) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { when, backoff, tried: false, fault: None }
    }
}

/// All that is to be asked.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BTreeMap<Subject, Entry>,
    listed: Duration,
}

impl Agenda {
    /// A session begins: what was being asked is asked anew.
    pub(crate) fn begin(&mut self, now: Duration) {
        self.listed = now + LISTING;
        for entry in self.entries.values_mut() {
            *entry = Entry::new(When::At(now));
        }
    }

    /// All servers have been described.
    pub(crate) fn all_listed(&mut self, now: Duration) {
        self.listed = now;
    }

    /// Asks about something, instead of what was to be asked about it.
    pub(crate) fn add(&mut self, subject: Subject, when: When) {
        self.entries.insert(subject, Entry::new(when));
    }

    pub(crate) fn remove(&mut self, subject: Subject) {
        self.entries.remove(&subject);
    }

    pub(crate) fn when(&self, subject: Subject) -> Option<When> {
        self.entries.get(&subject).map(|entry| entry.when)
    }

    /// The next that is due, which is being asked from now on.
    pub(crate) fn next(&mut self, now: Duration) -> Option<Subject> {
        let (due, subject) = self.first()?;
        let entry = self.entries.get_mut(&subject).filter(|_| due <= now)?;
        entry.when = When::Asked;
        Some(subject)
    }

    /// When the next is due; none if nothing is, or enough is under way.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.first().map(|(due, _)| due)
    }

    fn first(&self) -> Option<(Duration, Subject)> {
        let asked = self.entries.values().filter(|entry| entry.when == When::Asked).count();
        let due = |(subject, entry): (&Subject, &Entry)| Some((self.due_at(entry)?, *subject));
        self.entries.iter().filter(|_| asked < AT_ONCE).filter_map(due).min()
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

    /// What cannot be asked at present, in a line.
    pub(crate) fn complaint(&self) -> Option<String> {
        let mut failing = self.entries.values().filter_map(|entry| entry.fault.as_deref());
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
