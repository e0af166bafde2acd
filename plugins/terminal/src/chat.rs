//! A conversation at a terminal: sends the typed lines, and shows events and answers.

mod calls;
mod conversations;
mod display;
mod editing;
mod leaving;
mod link;
mod own;
mod rewinding;
mod sending;
mod status;
mod typing;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::Outcome;
use avocet_protocol::clock::{Clock, or_pending};
use avocet_protocol::ids::{MessageId, SenderId};
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::{TurnEvent, TurnRecord};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::{self, FuturesUnordered, StreamExt};

use crate::receive::{Input, TypedLine};
use crate::screen::Screen;
use calls::{ReadCalls, ShownCalls};
use conversations::{Choosing, ConversationWish};
use display::ChatDisplay;
use editing::EditedText;
pub use editing::EditorAccess;
pub use link::{
    ChatFigures, ConversationEntry, DaemonNotice, EarlierMessage, LinkError, SaidChunk,
    TerminalLink,
};
use own::OwnMessages;
use sending::{LineInFlight, SentLine};

/// The result of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatEnd {
    /// Each message was answered.
    AllAnswered,
    /// A message was not sent, was dropped, or ended in an error.
    SomeFailed,
}

const TICK: Duration = Duration::from_millis(250);
/// The command that ends the running turn.
const STOP: &str = "/stop";
const HOW_TO_LEAVE: &str = "Ctrl-C again, Ctrl-D or /quit leaves.";
const HOW_TO_ANSWER: &str = "I am waiting for your answer: yes, no, or the number of a choice. /stop ends the turn, Ctrl-D leaves.";

/// The parts of a conversation at a terminal.
#[expect(missing_debug_implementations, reason = "its parts are handed in and unpacked at once")]
pub struct TerminalChatParts {
    /// The connection to the daemon.
    pub link: Arc<dyn TerminalLink>,
    /// The daemon's id of the person.
    pub me: SenderId,
    /// The source of keys or lines.
    pub input: Box<dyn Input>,
    /// The screen.
    pub screen: Screen,
    /// The model that answers when the chat opens, for the status line.
    pub model: String,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ctrl-C while the terminal is not in raw mode.
    pub interrupts: flume::Receiver<()>,
    /// The editor for long messages; `None` without a keyboard.
    pub editor: Option<EditorAccess>,
}

/// A conversation at a terminal. A person can type at any time. Lines of a pipe are read one after
/// another, each once all earlier lines are answered.
pub struct TerminalChat {
    input: Box<dyn Input>,
    /// Ctrl-C while the terminal is not in raw mode.
    interrupts: flume::Receiver<()>,
    talk: ChatLoop,
}

impl fmt::Debug for TerminalChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalChat").field("end", &self.talk.end).finish_non_exhaustive()
    }
}

type EndedMessage = (MessageId, Result<MessageStatus, LinkError>);

struct ChatLoop {
    link: Arc<dyn TerminalLink>,
    clock: Arc<dyn Clock>,
    display: ChatDisplay,
    own: OwnMessages,
    /// Lines waiting to be sent, one after another.
    to_send: VecDeque<String>,
    /// The line that is being sent.
    in_flight: Option<LineInFlight>,
    sending: Fuse<BoxFuture<'static, SentLine>>,
    outcomes: FuturesUnordered<BoxFuture<'static, EndedMessage>>,
    /// The request for the last exchange. Keys are read meanwhile, and nothing is sent.
    past: Fuse<BoxFuture<'static, Option<TurnRecord>>>,
    /// The request for the results of calls, with the event that follows them. Other events wait.
    calls: Fuse<BoxFuture<'static, ReadCalls>>,
    shown_calls: ShownCalls,
    /// The request for the figures of the status line.
    measuring: Fuse<BoxFuture<'static, ChatFigures>>,
    /// The request for the conversations, or for another one.
    choosing: Choosing,
    /// The conversation that the person wants, until the last answers of this one are shown.
    wanted: Option<ConversationWish>,
    editor: Option<EditorAccess>,
    /// The text of an open editor.
    editing: Fuse<BoxFuture<'static, EditedText>>,
    /// The number of choices of the last text, until the turn goes on.
    choices: Option<usize>,
    /// The last known model.
    model: String,
    /// `true` if the last key was Ctrl-C: the next one leaves.
    is_leaving: bool,
    /// `true` if the last key was Esc in an empty line: the next one lists earlier messages.
    is_rewinding: bool,
    end: ChatEnd,
}

impl TerminalChat {
    /// Makes a conversation from its parts.
    #[must_use]
    pub fn new(parts: TerminalChatParts) -> Self {
        let TerminalChatParts { link, me, input, screen, model, clock, interrupts, editor } = parts;
        let talk = ChatLoop {
            display: ChatDisplay::new(link.clone(), screen, me),
            link,
            clock,
            own: OwnMessages::default(),
            to_send: VecDeque::new(),
            in_flight: None,
            sending: Fuse::terminated(),
            past: Fuse::terminated(),
            calls: Fuse::terminated(),
            shown_calls: ShownCalls::default(),
            outcomes: FuturesUnordered::new(),
            measuring: Fuse::terminated(),
            choosing: Fuse::terminated(),
            wanted: None,
            editor,
            editing: Fuse::terminated(),
            choices: None,
            model,
            is_leaving: false,
            is_rewinding: false,
            end: ChatEnd::AllAnswered,
        };
        Self { input, interrupts, talk }
    }

    /// Runs until the input ends or the person leaves.
    pub async fn run(self, greeting: &str) -> ChatEnd {
        let Self { input, interrupts, mut talk } = self;
        talk.begin_chat(greeting);
        talk.run(input, interrupts).await
    }
}

impl ChatLoop {
    /// Shows the greeting, and asks for the last exchange.
    fn begin_chat(&mut self, greeting: &str) {
        if !greeting.is_empty() {
            self.display.screen.show_remark(greeting);
        }
        if self.is_interactive() {
            self.load_past();
            self.show_figures(ChatFigures::default());
        }
    }

    fn load_past(&mut self) {
        let link = self.link.clone();
        self.past = async move { link.last_turn().await }.boxed().fuse();
    }

    async fn run(&mut self, input: Box<dyn Input>, interrupts: flume::Receiver<()>) -> ChatEnd {
        let next = |mut input: Box<dyn Input>| async {
            let TypedLine(typed) = input.next().await;
            Some((typed, input))
        };
        let typed = stream::unfold(input, next);
        tokio::pin!(typed);
        loop {
            self.send_next();
            self.open_wanted();
            self.paint_screen();
            let (link, clock) = (self.link.clone(), self.clock.clone());
            let deadline = self.next_check_at();
            let sleep = |until: Duration| clock.sleep(until.saturating_sub(clock.elapsed()));
            tokio::select! {
                biased;
                Some(typed) = typed.next(), if self.takes_input() => {
                    if self.take_typed(typed).is_break() {
                        return self.leave_chat().await;
                    }
                }
                text = &mut self.editing => {
                    // Ctrl-C in the editor was for the editor.
                    while interrupts.try_recv().is_ok() {}
                    self.end_editing(text);
                }
                Ok(()) = interrupts.recv_async(), if !self.is_editing() => {
                    if !self.is_busy() || link.is_lost() {
                        self.name_unsent();
                        return self.end;
                    }
                    self.stop();
                }
                text = link.remark() => self.show_remark(&text),
                past = &mut self.past => self.show_past(past.as_ref()),
                found = &mut self.choosing => self.note_choice(found),
                sent = &mut self.sending => self.note_sent(sent),
                (turn, event) = &mut self.calls => self.note_calls(turn.as_ref(), event),
                figures = &mut self.measuring => self.show_figures(figures),
                // The message's id is unknown during the send, so events wait: they may refer to
                // it. They also come after the last exchange.
                notice = link.hear(), if self.hears_notices() => self.handle_notice(notice).await,
                // After its outcome, the chat no longer follows a message. So the events that came
                // before it are shown first.
                Some(ended) = self.outcomes.next(), if !self.is_reading_calls() => {
                    self.end_message(ended);
                }
                () = or_pending(deadline.map(sleep)) => {}
            }
            self.own.forget_finished(self.clock.elapsed());
        }
    }

    fn is_interactive(&mut self) -> bool {
        self.display.live_screen().is_some()
    }

    /// Returns `true` until the last exchange is on the screen.
    fn is_loading(&self) -> bool {
        !self.past.is_terminated()
    }

    fn hears_notices(&self) -> bool {
        let is_reading = self.is_loading() || self.is_reading_calls();
        !self.is_sending() && !is_reading && !self.is_choosing()
    }

    /// Returns `true` until each sent message has its answer, or a question has come instead.
    fn is_busy(&self) -> bool {
        self.is_sending() || !self.to_send.is_empty() || self.own.is_busy(self.clock.elapsed())
    }

    fn takes_input(&mut self) -> bool {
        self.is_interactive() || !self.is_busy()
    }

    /// The time at which to check the state even without an event.
    fn next_check_at(&mut self) -> Option<Duration> {
        let now = self.clock.elapsed();
        let tick = (self.is_interactive() && self.own.is_working()).then(|| now + TICK);
        self.own.next_change_at(now).into_iter().chain(tick).min()
    }

    /// Shows the last exchange, and below it the lines that were typed meanwhile.
    fn show_past(&mut self, past: Option<&TurnRecord>) {
        past.into_iter().for_each(|turn| self.display.show_past(turn));
        if let Some(live) = self.display.live_screen() {
            live.release_waiting();
        }
    }

    fn end_message(&mut self, (message, ended): EndedMessage) {
        let (turn, outcome) = match ended {
            Ok(status) => (status.turn, status.outcome),
            Err(LinkError(error)) => {
                self.display.screen.show_remark(&error);
                (None, None)
            }
        };
        if matches!(outcome, Some(Outcome::Error | Outcome::Dropped)) {
            self.end = ChatEnd::SomeFailed;
        }
        self.own.end_message(message, turn, self.clock.elapsed());
    }

    async fn handle_notice(&mut self, notice: DaemonNotice) {
        match notice {
            DaemonNotice::Said(chunk) => {
                self.own.note_text(chunk.turn);
                let count = chunk.choices.len();
                self.choices = Some(count).filter(|count| *count > 0 && chunk.turn.is_some());
                self.display.show_chunk(chunk).await;
                self.explain_choices();
            }
            DaemonNotice::Remark(text) => self.show_remark(&text),
            DaemonNotice::Event(event) => self.take_event(event),
        }
    }

    fn show_event(&mut self, event: TurnEvent) {
        self.own.note_event(&event);
        let follows = self.own.is_open();
        self.measure_after(&event);
        self.display.show_event(event, follows);
        self.explain_choices();
    }

    /// Says which keys answer a question with choices, once the turn waits for the answer.
    fn explain_choices(&mut self) {
        if self.own.is_asked()
            && let Some(count) = self.choices.take()
        {
            self.display.show_remark(&choice_help(count));
        }
    }

    /// A daemon that is back may have another configuration, so this asks for the figures, too.
    fn show_remark(&mut self, text: &str) {
        self.display.remark_of_link(text);
        self.read_figures();
    }

    /// Asks for the figures at the end of a turn or a command.
    fn measure_after(&mut self, event: &TurnEvent) {
        if matches!(event, TurnEvent::Ended { .. }) {
            self.read_figures();
        }
    }

    fn read_figures(&mut self) {
        if self.is_interactive() {
            let link = self.link.clone();
            self.measuring = async move { link.figures().await }.boxed().fuse();
        }
    }

    /// Shows the model, the tokens and the cost.
    fn show_figures(&mut self, figures: ChatFigures) {
        let ChatFigures { model, used } = figures;
        self.model = model.unwrap_or_else(|| std::mem::take(&mut self.model));
        let status = status::status_line(&self.model, used.as_ref());
        if let Some(live) = self.display.live_screen() {
            live.set_status(&status);
        }
    }

    fn paint_screen(&mut self) {
        let now = self.clock.elapsed();
        let is_working = self.own.is_working() && !self.link.is_lost();
        let working = self.own.oldest_sent_at().filter(|_| is_working);
        self.display.show_activity(working.map(|since| now.saturating_sub(since)));
        let is_over = !self.is_busy();
        if let Some(live) = self.display.live_screen() {
            if is_over {
                live.release_waiting();
            }
            live.set_time(now);
            live.paint_changes();
        }
    }
}

/// Says which short answers the daemon takes for so many choices.
fn choice_help(count: usize) -> String {
    match count {
        1 => "  y or 1 takes it.".to_owned(),
        2 => "  y or 1 takes the first, n or 2 the second.".to_owned(),
        _ => format!("  y or 1 takes the first, n or {count} the last, a number any of them."),
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
