//! The progress of a task in the background: one message of its own, which is edited while the task
//! works. The answer of the task is a new message, because people are told of new messages only.

use std::time::Duration;

use avocet_protocol::bus::Destinations;
use avocet_protocol::chat::{ChatAddress, Content, Delivery};
use avocet_protocol::clock::{Clock, or_pending, within};
use avocet_protocol::ids::{DeliveryId, PlatformId, TurnId};
use avocet_protocol::store::task_name;
use avocet_protocol::tool::{ChildMode, WaitKind};
use avocet_protocol::turn::{Origin, TurnEvent, TurnRecord};
use avocet_supervise::catch_panic;
use dashmap::DashMap;
use tokio_util::sync::CancellationToken;

use super::screen::PreviewScreen;
use super::state::{PreviewState, ShowResult};
use super::words;
use crate::SessionParts;

/// Duration after which the progress of a task is first shown: a quick task needs no message.
const QUICK: Duration = Duration::from_secs(5);
/// Timeout of the last edit.
const LAST_LIMIT: Duration = Duration::from_secs(5);

/// The progress messages of the tasks that this process has shown.
#[derive(Debug, Default)]
pub(crate) struct ProgressMessages {
    shown: DashMap<TurnId, PlatformId>,
}

/// The state of a task, as its message shows it.
#[derive(Debug, PartialEq, Eq)]
struct TaskProgress {
    task: TurnId,
    name: String,
    /// The step, from 1.
    step: u32,
    tool: Option<String>,
}

impl TaskProgress {
    /// Returns the progress of a task in the background; `None` for other turns.
    fn from_turn(turn: &TurnRecord) -> Option<Self> {
        let Origin::Child { label, prompt, mode: ChildMode::Background, .. } = &turn.origin else {
            return None;
        };
        let step = turn.steps.last().map_or(1, |step| step.number + 1);
        let name = task_name(label.as_deref(), prompt);
        Some(Self { task: turn.id, name, step, tool: None })
    }

    /// Applies an event. Returns `true` if it changes the text.
    fn apply_event(&mut self, event: &TurnEvent) -> bool {
        match event {
            TurnEvent::Thinking { step } => (self.step, self.tool) = (step + 1, None),
            TurnEvent::ToolStarted { name, about, .. } => {
                self.tool = Some(words::describe_call(name, about.as_deref()));
            }
            _ => return false,
        }
        true
    }

    fn progress_text(&self) -> String {
        let tool = self.tool.as_ref().map(|tool| format!(" ({tool})")).unwrap_or_default();
        self.text_with_state(&format!("running, step {}{tool}", self.step))
    }

    fn text_with_state(&self, state: &str) -> String {
        format!("{} {}: {state}", self.task, self.name)
    }
}

/// Shows the progress of one run of a task.
pub(super) struct ProgressPreview<'l> {
    messages: &'l ProgressMessages,
    screen: PreviewScreen<'l>,
    interval: Duration,
    events: flume::Receiver<TurnEvent>,
    progress: TaskProgress,
    state: PreviewState,
    last: Option<Content>,
}

impl<'l> ProgressPreview<'l> {
    /// Returns `None` unless the turn is a task in the background.
    pub(super) fn new(
        messages: &'l ProgressMessages,
        screen: PreviewScreen<'l>,
        turn: &TurnRecord,
        interval: Duration,
        events: flume::Receiver<TurnEvent>,
    ) -> Option<Self> {
        let (progress, state) = (TaskProgress::from_turn(turn)?, PreviewState::Nowhere);
        Some(Self { messages, screen, interval, events, progress, state, last: None })
    }

    /// Follows the events and edits the message until the run is over.
    pub(super) async fn run(mut self, over: &CancellationToken) {
        let clock = self.screen.parts.clock.as_ref();
        let mut due = Some(clock.elapsed() + QUICK.max(self.interval));
        let mut not_before = Duration::ZERO;
        loop {
            let show = or_pending(due.map(|due| clock.sleep(due.saturating_sub(clock.elapsed()))));
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                event = self.events.recv_async() => {
                    let Ok(event) = event else { return };
                    if self.progress.apply_event(&event) {
                        due = due.or_else(|| Some(not_before.max(clock.elapsed())));
                    }
                }
                () = show => {
                    let again = self.show_progress(clock).await;
                    not_before = clock.elapsed() + self.interval;
                    due = again.map(|hold| not_before.max(clock.elapsed() + hold));
                }
            }
        }
    }

    /// Shows the current text. Returns a delay if that has to be repeated.
    async fn show_progress(&mut self, clock: &dyn Clock) -> Option<Duration> {
        let text = self.progress.progress_text();
        let content = words::first_message(|text| self.screen.plan_chunks(text), &text)?;
        if self.state == PreviewState::Over || self.last.as_ref() == Some(&content) {
            return None;
        }
        let began = clock.elapsed();
        let ShowResult { state, content, hold } =
            self.screen.show_content(self.state.clone(), content).await;
        if let PreviewState::In(_, message) | PreviewState::Unsure(_, message) = &state {
            self.messages.shown.insert(self.progress.task, message.clone());
        }
        self.state = state;
        let is_shown = content.is_some();
        self.last = content.or_else(|| self.last.take());
        let pause = hold.unwrap_or(self.interval).max(clock.elapsed().saturating_sub(began));
        (!is_shown && self.state != PreviewState::Over).then_some(pause)
    }
}

/// The last state of a task that its progress message shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastProgress {
    Done,
    Failed,
    Cancelled,
    Waiting(WaitKind),
}

/// The progress message of a task that works no longer.
#[derive(Debug)]
pub(crate) struct EndingProgress {
    progress: TaskProgress,
    chat: ChatAddress,
    message: PlatformId,
}

/// Returns the progress message of a task in the background; `None` if there is none. Must run
/// before the transaction that ends the task, which gives up the row of the message.
pub(super) async fn find_progress(
    parts: &SessionParts,
    messages: &ProgressMessages,
    turn: &TurnRecord,
    chat: &ChatAddress,
) -> Option<EndingProgress> {
    let progress = TaskProgress::from_turn(turn)?;
    let known = messages.shown.get(&turn.id).map(|message| message.clone());
    let message = match known {
        Some(message) => message,
        None => parts.outbox.preview(turn.id).await.ok().flatten()?,
    };
    Some(EndingProgress { progress, chat: chat.clone(), message })
}

/// Lets the progress message of a task show why the task works no longer. If that fails, the
/// message keeps its text; the end of the task is a separate message.
pub(super) async fn end_progress(
    parts: &SessionParts,
    messages: &ProgressMessages,
    ending: EndingProgress,
    last: LastProgress,
) {
    let EndingProgress { progress, chat, message } = ending;
    let task = progress.task;
    messages.shown.remove(&task);
    let Some(channel) = parts.channels.channel_of(&chat) else { return };
    let text = progress.text_with_state(&match last {
        LastProgress::Done => "done".to_owned(),
        LastProgress::Failed => "failed".to_owned(),
        LastProgress::Cancelled => "cancelled".to_owned(),
        LastProgress::Waiting(kind) => format!("waiting for {}", words::awaited_event(kind)),
    });
    let planned = parts.channels.plan(&chat, &Content::text(text)).ok();
    let Some(content) = planned.and_then(|planned| planned.chunks.into_iter().next()) else {
        return;
    };
    let edit = Delivery {
        shown_as: Some(message),
        turn: Some(task),
        ..Delivery::new(DeliveryId(0), chat, content)
    };
    if channel.spare_turn(&edit).is_err() {
        tracing::debug!(turn = %task, "the chat has no room for the last progress");
        return;
    }
    let editing = catch_panic(channel.deliver(&edit));
    let done = within(parts.clock.as_ref(), LAST_LIMIT, editing).await;
    let is_shown = matches!(done, Ok(Ok(Ok(_))));
    tracing::debug!(turn = %task, is_shown, "the progress of the task has ended");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_progress_text_names_the_task_the_step_and_the_tool() {
        let name = "survey".to_owned();
        let mut progress = TaskProgress { task: TurnId(12), name, step: 1, tool: None };
        let tool =
            |name: &str| TurnEvent::ToolStarted { name: name.to_owned(), about: None, call: None };
        let table = [
            (TurnEvent::Resumed, false, "t12 survey: running, step 1"),
            (TurnEvent::Thinking { step: 0 }, true, "t12 survey: running, step 1"),
            (tool("git_log"), true, "t12 survey: running, step 1 (git_log)"),
            (TurnEvent::Thinking { step: 2 }, true, "t12 survey: running, step 3"),
            (tool("read_file"), true, "t12 survey: running, step 3 (read_file)"),
        ];
        for (event, changes, text) in table {
            assert_eq!(progress.apply_event(&event), changes, "{event:?}");
            assert_eq!(progress.progress_text(), text, "{event:?}");
        }
        assert_eq!(progress.text_with_state("done"), "t12 survey: done");
    }
}
