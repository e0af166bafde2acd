//! The schedule of requests to the platform. Each request has its own times, so that one without an
//! answer does not delay the others. Does no I/O.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_supervise::Backoff;
use serenity::model::id::{ChannelId, MessageId};

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Requests that may be in progress at the same time.
const MAX_IN_FLIGHT: usize = 8;
/// Requests per [`RATE_WINDOW`]: half of the platform's limit for a bot (Discord API, "Global Rate
/// Limit"), so that there is room for answers and previews.
const MAX_IN_WINDOW: usize = 25;
const RATE_WINDOW: Duration = Duration::from_secs(1);
/// Time in which the servers of a session are expected to be described. A server with an outage is
/// described after the outage (Discord API, "Guild Create").
const LISTING_TIMEOUT: Duration = Duration::from_secs(15);

/// The subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// The direct message channel of a user.
    Person(u64),
    /// The messages of a channel.
    Channel(ChannelId),
    /// A message that may have been deleted.
    Message(ChannelId, MessageId),
    /// The registration of the commands.
    Commands,
}

/// The time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At this time of the clock's `elapsed`.
    At(Duration),
    /// After the servers have been described: that shows whether the request is needed.
    Listed,
    /// After all other requests.
    Last,
    /// The request is in progress.
    InFlight,
}

#[derive(Debug)]
struct ScheduledRequest {
    when: When,
    backoff: Backoff,
    /// The request was made, and has to be repeated.
    retried: bool,
    /// Live events wait for the result.
    urgent: bool,
    fault: Option<String>,
}

impl ScheduledRequest {
    fn new(when: When) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { when, backoff, retried: false, urgent: false, fault: None }
    }
}

/// All requests to make.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    entries: BTreeMap<Subject, ScheduledRequest>,
    listed_at: Duration,
    /// The times of the last requests, at most [`MAX_IN_WINDOW`].
    made: VecDeque<Duration>,
}

impl Schedule {
    /// Starts a session: all requests are made again.
    pub(super) fn restart(&mut self, now: Duration) {
        self.listed_at = now + LISTING_TIMEOUT;
        for entry in self.entries.values_mut() {
            *entry =
                ScheduledRequest { urgent: entry.urgent, ..ScheduledRequest::new(When::At(now)) };
        }
    }

    /// Notes that all servers have been described.
    pub(super) fn all_listed(&mut self, now: Duration) {
        self.listed_at = now;
    }

    /// Schedules a request, in place of the scheduled one with the same subject.
    pub(super) fn add(&mut self, subject: Subject, when: When) {
        let urgent = self.entries.get(&subject).is_some_and(|entry| entry.urgent);
        self.entries.insert(subject, ScheduledRequest { urgent, ..ScheduledRequest::new(when) });
    }

    /// Makes a request urgent: of all due requests, it comes first.
    pub(super) fn mark_urgent(&mut self, subject: Subject) {
        if let Some(entry) = self.entries.get_mut(&subject) {
            entry.urgent = true;
        }
    }

    pub(super) fn remove(&mut self, subject: Subject) {
        self.entries.remove(&subject);
    }

    pub(super) fn when(&self, subject: Subject) -> Option<When> {
        self.entries.get(&subject).map(|entry| entry.when)
    }

    /// Returns the next due request, which is in progress from now on.
    pub(super) fn next(&mut self, now: Duration) -> Option<Subject> {
        if self.is_full() || self.not_before() > now {
            return None;
        }
        let due = self.all_due().filter(|(due, ..)| *due <= now);
        let (_, subject, _) = due.min_by_key(|(due, subject, urgent)| (!urgent, *due, *subject))?;
        self.entries.get_mut(&subject)?.when = When::InFlight;
        self.made.drain(..(self.made.len() + 1).saturating_sub(MAX_IN_WINDOW));
        self.made.push_back(now);
        Some(subject)
    }

    /// Returns the time of the next request; `None` without requests, or while enough are in
    /// progress.
    pub(super) fn due(&self) -> Option<Duration> {
        let due = self.all_due().map(|(due, ..)| due).min().filter(|_| !self.is_full())?;
        Some(due.max(self.not_before()))
    }

    fn all_due(&self) -> impl Iterator<Item = (Duration, Subject, bool)> {
        let due = |(subject, entry): (&Subject, &ScheduledRequest)| {
            Some((self.due_at(entry)?, *subject, entry.urgent))
        };
        self.entries.iter().filter_map(due)
    }

    /// Returns `true` if enough requests are in progress.
    fn is_full(&self) -> bool {
        self.entries.values().filter(|entry| entry.when == When::InFlight).count() >= MAX_IN_FLIGHT
    }

    /// Returns the earliest time of the next request: the platform limits requests per
    /// `RATE_WINDOW`.
    fn not_before(&self) -> Duration {
        let first = self.made.front().filter(|_| self.made.len() >= MAX_IN_WINDOW);
        first.map_or(Duration::ZERO, |first| *first + RATE_WINDOW)
    }

    fn due_at(&self, entry: &ScheduledRequest) -> Option<Duration> {
        let is_retried = |entry: &ScheduledRequest| entry.retried || entry.when == When::Last;
        match entry.when {
            When::At(due) => Some(due),
            When::Listed => Some(self.listed_at),
            When::Last => self.entries.values().all(is_retried).then_some(self.listed_at),
            When::InFlight => None,
        }
    }

    /// Schedules the next request of a subject for now, after an answer.
    pub(super) fn add_next(&mut self, subject: Subject, now: Duration) {
        self.add(subject, When::At(now));
    }

    /// Delays a request, because the platform asks to wait.
    pub(super) fn delay(&mut self, subject: Subject, until: Duration) {
        if let Some(entry) = self.entries.get_mut(&subject) {
            entry.when = When::At(until);
            entry.retried = true;
        }
    }

    /// Notes a failed request. Returns the time after which it is repeated.
    pub(super) fn note_failure(
        &mut self,
        subject: Subject,
        why: String,
        now: Duration,
    ) -> Duration {
        let Some(entry) = self.entries.get_mut(&subject) else { return Duration::ZERO };
        let wait = entry.backoff.next_wait();
        entry.when = When::At(now + wait);
        entry.retried = true;
        entry.fault = Some(why);
        wait
    }

    /// Returns a text about channels that cannot be read at present. Missing slash commands are
    /// left out, because typed commands work, and so are messages that may have been deleted.
    pub(super) fn unread_channels(&self) -> Option<String> {
        let is_unread = |subject: &Subject| match subject {
            Subject::Person(_) | Subject::Channel(_) => true,
            Subject::Message(..) | Subject::Commands => false,
        };
        let read = self.entries.iter().filter(|(subject, _)| is_unread(subject));
        let mut failing = read.filter_map(|(_, entry)| entry.fault.as_deref());
        let first = failing.next()?;
        Some(match failing.count() {
            0 => format!("cannot read the messages of a channel yet: {first}"),
            more => format!("cannot read the messages of {} channels yet: {first}", more + 1),
        })
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
