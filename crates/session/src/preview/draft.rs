//! Decides what a preview shows, and when. Without clock and I/O: the time is an argument.

use std::time::Duration;

use avocet_protocol::turn::TurnEvent;

use super::words::{are_few, close_fence, complete_words, mark_unfinished, running_text};

/// Time for which a tool has run when its line is shown, in seconds; after the last one each minute.
const REPORTS: [u64; 4] = [5, 15, 30, 60];
/// The same for the first line if the chat shows a part of the answer already.
const SOON: Duration = Duration::from_secs(2);
const MINUTE: u64 = 60;
/// A report that would follow another one within this number of seconds is left out.
const CLOSE: u64 = 3;
/// Bytes of text to keep. They fill more messages of Discord than one answer may have.
const KEPT: usize = 48 * 1024;

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
    /// Time for which the oldest tool had run when it was last shown.
    reported: Duration,
    not_before: Duration,
}

#[derive(Debug)]
struct RunningTool {
    name: String,
    /// Its main argument.
    about: Option<String>,
    since: Duration,
    /// The last progress report of the program behind the tool.
    report: Option<String>,
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
            reported: Duration::ZERO,
            not_before: Duration::ZERO,
        }
    }

    /// Applies an event of the turn.
    pub(super) fn apply_event(&mut self, event: &TurnEvent, now: Duration) {
        match event {
            TurnEvent::Text { delta } => self.write(delta, now),
            TurnEvent::Restarted => self.text.clear(),
            TurnEvent::Thinking { .. } => {
                self.text.clear();
                self.tools.clear();
                self.reported = Duration::ZERO;
            }
            TurnEvent::ToolStarted { name, about, .. } => {
                let (name, about) = (name.clone(), about.clone());
                self.tools.push(RunningTool { name, about, since: now, report: None });
            }
            TurnEvent::ToolProgress { name, text } => {
                let mut tools = self.tools.iter_mut();
                if let Some(tool) = tools.find(|tool| tool.name == *name) {
                    tool.report = Some(text.replace('`', "'"));
                }
            }
            TurnEvent::ToolFinished { name, .. } => self.finish_tool(name),
            TurnEvent::Started { .. }
            | TurnEvent::Compacting
            | TurnEvent::Thought { .. }
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

    fn finish_tool(&mut self, name: &str) {
        let Some(place) = self.tools.iter().position(|tool| tool.name == name) else { return };
        self.tools.remove(place);
        if place == 0 {
            self.reported = Duration::ZERO;
        }
    }

    /// Returns the time of the next update; `None` if the chat is up to date.
    pub(super) fn next_update_at(&self) -> Option<Duration> {
        let due = [self.line_due(), self.text_due()].into_iter().flatten().min()?;
        Some(due.max(self.not_before))
    }

    fn line_due(&self) -> Option<Duration> {
        self.tools.first().map(|tool| tool.since + self.next_report())
    }

    /// Returns the time for which the oldest tool has to run until its line is shown again.
    fn next_report(&self) -> Duration {
        if self.reported.is_zero() && self.has_begun {
            return SOON;
        }
        let seconds = self.reported.as_secs();
        let next = REPORTS.into_iter().find(|report| *report > seconds + CLOSE);
        Duration::from_secs(next.unwrap_or((seconds / MINUTE + 1) * MINUTE))
    }

    fn text_due(&self) -> Option<Duration> {
        let words = complete_words(&self.text);
        let is_new = !words.is_empty() && words != self.shown;
        (is_new && (self.has_begun || !are_few(words))).then_some(self.since + self.interval)
    }

    /// Returns the text to show now, and marks it as shown. The line of a running tool stands below
    /// the text of its step.
    pub(super) fn next_text(&mut self, now: Duration) -> Option<String> {
        let is_due = |due: Option<Duration>| due.is_some_and(|due| due <= now);
        if now < self.not_before {
            return None;
        }
        let (line_due, text_due) = (is_due(self.line_due()), is_due(self.text_due()));
        if !line_due && !text_due {
            return None;
        }
        let words = complete_words(&self.text);
        words.clone_into(&mut self.shown);
        let line = if line_due { self.next_tool_line(now) } else { None };
        let text = match line {
            None => mark_unfinished(&self.shown),
            Some(line) if self.shown.is_empty() => line,
            Some(line) => format!("{}\n\n{line}", close_fence(&self.shown)),
        };
        self.has_begun = true;
        self.not_before = now + self.interval;
        Some(text)
    }

    /// Returns the line of the oldest tool, and notes that it is shown.
    fn next_tool_line(&mut self, now: Duration) -> Option<String> {
        let RunningTool { name, about, since, report } = self.tools.first()?;
        let time = now.saturating_sub(*since);
        self.reported = time;
        Some(running_text(name, about.as_deref(), time, report.as_deref()))
    }

    /// Makes the last text due again after a skipped update.
    pub(super) fn mark_missed(&mut self) {
        self.shown.clear();
        self.reported = Duration::ZERO;
        self.has_begun = false;
    }

    /// Returns the time from which another update may be shown.
    pub(super) fn not_before(&self) -> Duration {
        self.not_before
    }

    /// Notes an update at this time that continues the last text.
    pub(super) fn goes_on(&mut self, now: Duration) {
        self.not_before = now + self.interval;
    }

    /// Delays further updates until this time.
    pub(super) fn delay_until(&mut self, until: Duration) {
        self.not_before = self.not_before.max(until);
    }
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
