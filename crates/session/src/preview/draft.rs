//! Decides what a preview shows, and when. Without clock and I/O: the time is an argument.

use std::time::Duration;

use avocet_protocol::TurnEvent;

use super::words::{are_few, complete_words, unfinished};

/// Duration after which a tool is reported as slow, and interval of further reports.
const LONG: Duration = Duration::from_mins(1);
/// Bytes of text to keep; every platform's messages are shorter.
const KEPT: usize = 16 * 1024;

/// The state of a preview. Times are those of `Clock::elapsed`.
#[derive(Debug)]
pub(super) struct PreviewDraft {
    interval: Duration,
    /// Text of the model in this step.
    text: String,
    /// Time of its first word.
    since: Duration,
    /// The part of it that is shown.
    shown: String,
    /// `true` once a part was shown; from then on every new word counts.
    has_begun: bool,
    /// The running tools, oldest first.
    tools: Vec<RunningTool>,
    /// Last reported minutes of the oldest tool.
    minutes: u32,
    not_before: Duration,
}

#[derive(Debug)]
struct RunningTool {
    name: String,
    since: Duration,
}

impl PreviewDraft {
    /// Makes an empty draft with this minimum interval between updates.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            text: String::new(),
            since: Duration::ZERO,
            shown: String::new(),
            has_begun: false,
            tools: Vec::new(),
            minutes: 0,
            not_before: Duration::ZERO,
        }
    }

    /// Applies an event of the turn.
    pub(super) fn take(&mut self, event: &TurnEvent, now: Duration) {
        match event {
            TurnEvent::Text { delta } => self.write(delta, now),
            TurnEvent::Restarted => self.text.clear(),
            TurnEvent::Thinking { .. } => {
                self.text.clear();
                self.tools.clear();
                self.minutes = 0;
            }
            TurnEvent::ToolStarted { name } => {
                self.tools.push(RunningTool { name: name.clone(), since: now });
            }
            TurnEvent::ToolFinished { name, .. } => self.finish(name),
            TurnEvent::Started { .. }
            | TurnEvent::Compacting
            | TurnEvent::Waiting { .. }
            | TurnEvent::Resumed
            | TurnEvent::Ended { .. } => {}
        }
    }

    fn write(&mut self, delta: &str, now: Duration) {
        if self.text.is_empty() {
            self.since = now;
        }
        if self.text.len() < KEPT {
            self.text.push_str(delta);
        }
    }

    fn finish(&mut self, name: &str) {
        let Some(place) = self.tools.iter().position(|tool| tool.name == name) else { return };
        self.tools.remove(place);
        if place == 0 {
            self.minutes = 0;
        }
    }

    /// Returns the time of the next update; `None` if the chat is up to date.
    pub(super) fn due(&self) -> Option<Duration> {
        let due = [self.line_due(), self.text_due()].into_iter().flatten().min()?;
        Some(due.max(self.not_before))
    }

    fn line_due(&self) -> Option<Duration> {
        self.tools.first().map(|tool| tool.since + LONG * (self.minutes + 1))
    }

    fn text_due(&self) -> Option<Duration> {
        let words = complete_words(&self.text);
        let is_new = !words.is_empty() && words != self.shown;
        (is_new && (self.has_begun || !are_few(words))).then_some(self.since + self.interval)
    }

    /// Returns the text to show now, and marks it as shown. The report of a slow tool comes before
    /// the model's text and discards it.
    pub(super) fn compose(&mut self, now: Duration) -> Option<String> {
        let is_due = |due: Option<Duration>| due.is_some_and(|due| due <= now);
        if now < self.not_before {
            return None;
        }
        let text = if is_due(self.line_due()) {
            self.text.clear();
            self.line(now)?
        } else if is_due(self.text_due()) {
            complete_words(&self.text).clone_into(&mut self.shown);
            unfinished(&self.shown)
        } else {
            return None;
        };
        self.has_begun = true;
        self.not_before = now + self.interval;
        Some(text)
    }

    fn line(&mut self, now: Duration) -> Option<String> {
        let RunningTool { name, since } = self.tools.first()?;
        let minutes = now.saturating_sub(*since).as_secs() / LONG.as_secs();
        self.minutes = u32::try_from(minutes).unwrap_or(u32::MAX);
        Some(format!("Still working: {name} ({minutes} min)"))
    }

    /// Makes the last text due again after a skipped update.
    pub(super) fn missed(&mut self) {
        self.shown.clear();
        self.minutes = 0;
        self.has_begun = false;
    }

    /// Delays further updates until this time.
    pub(super) fn hold(&mut self, until: Duration) {
        self.not_before = self.not_before.max(until);
    }
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
