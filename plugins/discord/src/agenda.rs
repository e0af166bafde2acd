//! The schedule of requests to the platform. Each request has its own times, so that the others go
//! on while one is unanswered. Does no I/O.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_supervise::Backoff;
use serenity::model::id::ChannelId;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Requests that may be in progress at the same time.
const AT_ONCE: usize = 8;
/// Requests per [`A_WHILE`]: half of the platform's limit for a bot (Discord API, "Global Rate
/// Limit"), so that there is room for answers and previews.
const IN_A_WHILE: usize = 25;
const A_WHILE: Duration = Duration::from_secs(1);
/// Time in which the servers of a session are expected to be described. A server with an outage is
/// described after the outage (Discord API, "Guild Create").
const LISTING: Duration = Duration::from_secs(15);

/// The subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The direct message channel of a user.
    Person(u64),
    /// The messages of a channel.
    Channel(ChannelId),
    /// The registration of the commands.
    Commands,
}

/// The time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At this time of the clock's `elapsed`.
    At(Duration),
    /// After the servers have been described: that shows whether the request is needed.
    Listed,
    /// After all other requests.
    Last,
    /// The request is in progress.
    Asked,
}

#[derive(Debug)]
struct AgendaEntry {
    when: When,
    backoff: Backoff,
    /// The request was made, and has to be repeated.
    tried: bool,
    /// Live events wait for the result.
    urgent: bool,
    fault: Option<String>,
}

impl AgendaEntry {
    fn new(when: When) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { when, backoff, tried: false, urgent: false, fault: None }
    }
}

/// All requests to make.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BTreeMap<Subject, AgendaEntry>,
    listed: Duration,
    /// The times of the last requests, at most [`IN_A_WHILE`].
    asked: VecDeque<Duration>,
}

impl Agenda {
    /// Begins a session: all requests are made anew.
    pub(crate) fn begin(&mut self, now: Duration) {
        self.listed = now + LISTING;
        for entry in self.entries.values_mut() {
            *entry = AgendaEntry { urgent: entry.urgent, ..AgendaEntry::new(When::At(now)) };
        }
    }

    /// Notes that all servers have been described.
    pub(crate) fn all_listed(&mut self, now: Duration) {
        self.listed = now;
    }

    /// Schedules a request, in place of the scheduled one with the same subject.
    pub(crate) fn add(&mut self, subject: Subject, when: When) {
        let urgent = self.entries.get(&subject).is_some_and(|entry| entry.urgent);
        self.entries.insert(subject, AgendaEntry { urgent, ..AgendaEntry::new(when) });
    }

    /// Makes a request urgent: of all due requests, it comes first.
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

    /// Returns the next due request, which is in progress from now on.
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

    /// Returns the time of the next request; `None` without requests, or while enough are in
    /// progress.
    pub(crate) fn due(&self) -> Option<Duration> {
        let due = self.all_due().map(|(due, ..)| due).min().filter(|_| !self.is_full())?;
        Some(due.max(self.not_before()))
    }

    fn all_due(&self) -> impl Iterator<Item = (Duration, Subject, bool)> {
        let due = |(subject, entry): (&Subject, &AgendaEntry)| {
            Some((self.due_at(entry)?, *subject, entry.urgent))
        };
        self.entries.iter().filter_map(due)
    }

    /// Returns `true` if enough requests are in progress.
    fn is_full(&self) -> bool {
        self.entries.values().filter(|entry| entry.when == When::Asked).count() >= AT_ONCE
    }

    /// Returns the earliest time of the next request: the platform limits requests per `A_WHILE`.
    fn not_before(&self) -> Duration {
        let first = self.asked.front().filter(|_| self.asked.len() >= IN_A_WHILE);
        first.map_or(Duration::ZERO, |first| *first + A_WHILE)
    }

    fn due_at(&self, entry: &AgendaEntry) -> Option<Duration> {
        let is_tried = |entry: &AgendaEntry| entry.tried || entry.when == When::Last;
        match entry.when {
            When::At(due) => Some(due),
            When::Listed => Some(self.listed),
            When::Last => self.entries.values().all(is_tried).then_some(self.listed),
            When::Asked => None,
        }
    }

    /// Schedules a further request for now, after an answer.
    pub(crate) fn goes_on(&mut self, subject: Subject, now: Duration) {
        self.add(subject, When::At(now));
    }

    /// Delays a request, because the platform asks to wait.
    pub(crate) fn waits(&mut self, subject: Subject, until: Duration) {
        if let Some(entry) = self.entries.get_mut(&subject) {
            entry.when = When::At(until);
            entry.tried = true;
        }
    }

    /// Notes a failed request. Returns the time after which it is repeated.
    pub(crate) fn failed(&mut self, subject: Subject, why: String, now: Duration) -> Duration {
        let Some(entry) = self.entries.get_mut(&subject) else { return Duration::ZERO };
        let wait = entry.backoff.next_wait();
        entry.when = When::At(now + wait);
        entry.tried = true;
        entry.fault = Some(why);
        wait
    }

    /// Returns a line about channels that cannot be read at present. Missing slash commands are
    /// left out: typed commands work.
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
