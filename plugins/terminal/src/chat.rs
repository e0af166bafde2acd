//! A conversation at a terminal: sends the typed lines, and shows events and answers.

mod calls;
mod display;
mod leaving;
mod own;
mod sending;
mod status;
mod typing;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::chat::{Choice, Outcome};
use avocet_protocol::clock::{Clock, or_pending};
use avocet_protocol::ids::{DeliveryId, MessageId, SenderId, TurnId};
use avocet_protocol::store::{MessageStatus, Total};
use avocet_protocol::turn::{TurnEvent, TurnRecord};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::{self, FuturesUnordered, StreamExt};

use crate::receive::{Input, TypedLine};
use crate::screen::Screen;
use calls::{ReadCalls, ShownCalls};
use display::ChatDisplay;
use own::OwnMessages;
use sending::{LineInFlight, SentLine};

/// The connection from the terminal to the daemon.
#[async_trait]
pub trait TerminalLink: fmt::Debug + Send + Sync {
    /// Publishes a message on the bus.
    ///
    /// # Errors
    /// If the message was rejected: the reason.
    async fn say(&self, text: &str) -> Result<MessageId, LinkError>;

    /// Waits for the outcome of a message.
    ///
    /// # Errors
    /// If the outcome is unknown: the reason.
    async fn outcome(&self, message: MessageId) -> Result<MessageStatus, LinkError>;

    /// Returns the next event or text of the chat.
    async fn hear(&self) -> DaemonNotice;

    /// Returns the next remark about the connection, or the next line of this program's own log.
    async fn remark(&self) -> String;

    /// Returns `true` while the connection is lost. Messages then wait in [`Self::say`].
    fn is_lost(&self) -> bool;

    /// Confirms that the chunk has been shown.
    async fn shown(&self, chunk: DeliveryId);

    /// Reads the last turn of the chat from the log; `None` if the chat has no turn yet, or if the
    /// daemon does not answer in time.
    async fn last_turn(&self) -> Option<TurnRecord>;

    /// Reads the model, and the tokens and the cost since the chat was opened.
    async fn figures(&self) -> ChatFigures;
}

/// The figures of the status line. Each is `None` if the daemon does not answer in time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatFigures {
    /// The model that answers in this conversation, as `provider/model`.
    pub model: Option<String>,
    /// Tokens and cost since the chat was opened; also `None` if there are none.
    pub used: Option<Total>,
}

/// The reason why a request to the daemon failed, for the person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError(pub String);

/// A notice from the daemon or about the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonNotice {
    /// An event in the chat.
    Event(TurnEvent),
    /// A text for the chat.
    Said(SaidChunk),
    /// A remark that [`TerminalLink::remark`] has not returned yet, because what follows comes from
    /// the next connection.
    Remark(String),
}

/// A text for the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in avocet_protocol::chat::Delivery")]
pub struct SaidChunk {
    pub id: DeliveryId,
    pub turn: Option<TurnId>,
    pub text: String,
    pub choices: Vec<Choice>,
    pub repeat: bool,
}

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
    /// The last known model.
    model: String,
    /// `true` if the last key was Ctrl-C: the next one leaves.
    is_leaving: bool,
    end: ChatEnd,
}

impl TerminalChat {
    /// Makes a conversation from its parts.
    #[must_use]
    pub fn new(parts: TerminalChatParts) -> Self {
        let TerminalChatParts { link, me, input, screen, model, clock, interrupts } = parts;
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
            model,
            is_leaving: false,
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
            let link = self.link.clone();
            self.past = async move { link.last_turn().await }.boxed().fuse();
            self.show_figures(ChatFigures::default());
        }
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
                Ok(()) = interrupts.recv_async() => {
                    if !self.is_busy() || link.is_lost() {
                        self.name_unsent();
                        return self.end;
                    }
                    self.stop();
                }
                text = link.remark() => self.show_remark(&text),
                past = &mut self.past => self.show_past(past.as_ref()),
                sent = &mut self.sending => self.note_sent(sent),
                (turn, event) = &mut self.calls => self.note_calls(turn.as_ref(), event),
                figures = &mut self.measuring => self.show_figures(figures),
                // The message's id is unknown during the send, so events wait: they may refer to
                // it. They also come after the last exchange.
                notice = link.hear(), if self.hears_notices() => self.handle_notice(notice).await,
                Some(ended) = self.outcomes.next() => self.end_message(ended),
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
        !self.is_sending() && !self.is_loading() && !self.is_reading_calls()
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
                self.display.show_chunk(chunk).await;
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

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
