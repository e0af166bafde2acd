//! The progress of the children for which a root turn waits: one line each, in the preview message
//! of the root turn. The children run in parallel and edit the message in turn.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::Content;
use avocet_protocol::clock::{Clock, or_pending};
use avocet_protocol::ids::TurnId;
use avocet_protocol::turn::TurnEvent;
use dashmap::DashMap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::screen::PreviewScreen;
use super::state::{PreviewState, ShowResult};
use super::words;

/// The boards of all root turns that wait for children.
#[derive(Debug, Default)]
pub(crate) struct TaskBoards {
    boards: DashMap<TurnId, Arc<TaskBoard>>,
}

/// The lines of one root turn's children, and the state of its preview message.
#[derive(Debug, Default)]
struct TaskBoard {
    lines: Mutex<Vec<BoardLine>>,
    shown: tokio::sync::Mutex<BoardShown>,
}

#[derive(Debug)]
struct BoardLine {
    child: TurnId,
    name: String,
    state: LineState,
}

/// The state of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LineState {
    Thinking,
    Using(String),
    Over,
}

#[derive(Debug)]
struct BoardShown {
    state: PreviewState,
    last: Option<Content>,
    not_before: Duration,
}

impl Default for BoardShown {
    fn default() -> Self {
        Self { state: PreviewState::Nowhere, last: None, not_before: Duration::ZERO }
    }
}

impl TaskBoards {
    /// Adds a line for a child that begins to run.
    pub(super) fn add_child<'l>(
        &'l self,
        screen: PreviewScreen<'l>,
        child: TurnId,
        name: String,
        interval: Duration,
        events: flume::Receiver<TurnEvent>,
    ) -> BoardPreview<'l> {
        let board = self.boards.entry(screen.turn).or_default().clone();
        board.with_lines(|lines| {
            lines.retain(|line| line.child != child);
            lines.push(BoardLine { child, name, state: LineState::Thinking });
            lines.sort_by_key(|line| line.child);
        });
        BoardPreview { boards: self, board, screen, child, interval, events }
    }
}

impl TaskBoard {
    fn with_lines<T>(&self, change: impl FnOnce(&mut Vec<BoardLine>) -> T) -> T {
        change(&mut self.lines.lock())
    }

    /// Returns `true` if the state of the child is new.
    fn set_state(&self, child: TurnId, state: LineState) -> bool {
        self.with_lines(|lines| match lines.iter_mut().find(|line| line.child == child) {
            Some(line) if line.state != state => {
                line.state = state;
                true
            }
            _ => false,
        })
    }

    fn text(&self) -> String {
        self.with_lines(|lines| board_text(lines))
    }
}

fn board_text(lines: &[BoardLine]) -> String {
    let line = |BoardLine { name, state, .. }: &BoardLine| match state {
        LineState::Thinking => format!("- {name}: thinking"),
        LineState::Using(tool) => format!("- {name}: {tool}"),
        LineState::Over => format!("- {name}: ended"),
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    format!("Working on tasks:\n\n{}", lines.join("\n"))
}

/// The line of one running child.
pub(super) struct BoardPreview<'l> {
    boards: &'l TaskBoards,
    board: Arc<TaskBoard>,
    screen: PreviewScreen<'l>,
    child: TurnId,
    interval: Duration,
    events: flume::Receiver<TurnEvent>,
}

impl BoardPreview<'_> {
    /// Follows the events of the child and updates the message until the child is over.
    pub(super) async fn run(self, over: &CancellationToken) {
        let clock = self.screen.parts.clock.as_ref();
        // Wait for one interval first, so that a quick child is not shown.
        let mut due = Some(clock.elapsed() + self.interval);
        loop {
            let show = or_pending(due.map(|due| clock.sleep(due.saturating_sub(clock.elapsed()))));
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                event = self.events.recv_async() => {
                    let Ok(event) = event else { break };
                    if let Some(state) = state_after(&event)
                        && self.board.set_state(self.child, state)
                    {
                        due = due.or_else(|| Some(clock.elapsed()));
                    }
                }
                () = show => due = self.show_board(clock).await,
            }
        }
    }

    /// Shows the board, unless another child has shown it just now. Returns the time to try again.
    async fn show_board(&self, clock: &dyn Clock) -> Option<Duration> {
        let now = clock.elapsed();
        let Ok(mut shown) = self.board.shown.try_lock() else { return Some(now + self.interval) };
        if now < shown.not_before {
            return Some(shown.not_before);
        }
        let text = self.board.text();
        let content = words::first_message(|text| self.screen.plan_chunks(text), &text)?;
        if shown.state == PreviewState::Over || shown.last.as_ref() == Some(&content) {
            return None;
        }
        let ShowResult { state, content, hold } =
            self.screen.show_content(shown.state.clone(), content).await;
        let is_shown = content.is_some();
        shown.state = state;
        shown.last = content.or_else(|| shown.last.take());
        shown.not_before = clock.elapsed() + hold.unwrap_or(self.interval);
        (!is_shown && shown.state != PreviewState::Over).then_some(shown.not_before)
    }
}

impl Drop for BoardPreview<'_> {
    /// Marks the child as ended. The last child removes the board.
    fn drop(&mut self) {
        self.board.set_state(self.child, LineState::Over);
        let is_over = |board: &Arc<TaskBoard>| {
            board.with_lines(|lines| lines.iter().all(|line| line.state == LineState::Over))
        };
        self.boards.boards.remove_if(&self.screen.turn, |_, board| is_over(board));
    }
}

/// Returns the state of a child after an event; `None` if the event does not change it.
fn state_after(event: &TurnEvent) -> Option<LineState> {
    match event {
        TurnEvent::Thinking { .. } | TurnEvent::ToolFinished { .. } => Some(LineState::Thinking),
        TurnEvent::ToolStarted { name, about, .. } => {
            Some(LineState::Using(words::describe_call(name, about.as_deref())))
        }
        TurnEvent::Started { .. }
        | TurnEvent::Text { .. }
        | TurnEvent::Thought { .. }
        | TurnEvent::Restarted
        | TurnEvent::Compacting
        | TurnEvent::ToolProgress { .. }
        | TurnEvent::Waiting { .. }
        | TurnEvent::Resumed
        | TurnEvent::Ended { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_one_line_for_each_child() {
        let line =
            |child, name: &str, state| BoardLine { child: TurnId(child), name: name.into(), state };
        let lines = [
            line(2, "survey", LineState::Using("read_file".to_owned())),
            line(3, "tests", LineState::Thinking),
            line(4, "docs", LineState::Over),
        ];
        let expected = "Working on tasks:\n\n- survey: read_file\n- tests: thinking\n- docs: ended";
        assert_eq!(board_text(&lines), expected);
    }
}
