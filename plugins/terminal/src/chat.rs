//! A conversation at a terminal: sends the typed lines, and shows events and answers.

mod display;
mod own;

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{
    Choice, Clock, DeliveryId, MessageId, MessageStatus, Outcome, SenderId, TurnEvent, TurnId,
    or_pending,
};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::{self, FuturesUnordered, StreamExt};

use crate::receive::{Input, Typed};
use crate::screen::Screen;
use display::Display;
use own::OwnMessages;

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

    /// Confirms that the chunk has been shown.
    async fn shown(&self, chunk: DeliveryId);
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
    /// A change of the connection itself: it was lost, or it is back.
    Remark(String),
}

/// A text for the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in avocet_protocol::Delivery")]
pub struct SaidChunk {
    pub id: DeliveryId,
    pub turn: Option<TurnId>,
    pub text: String,
    pub choices: Vec<Choice>,
    pub repeat: bool,
}

/// The style of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatStyle {
    /// For a person at a terminal: prompt, streaming, activity.
    Interactive,
    /// For a pipe: only the answers.
    Plain,
}

/// The result of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Everything was answered.
    Content,
    /// Something ended in an error.
    Disappointed,
}

const PROMPT: &str = "> ";
const TICK: Duration = Duration::from_millis(250);
const HOW_TO_LEAVE: &str = "Ctrl-D or /quit leaves.";
const HOW_TO_ANSWER: &str = "I am waiting for your answer: yes, no, or the number of a choice. /stop ends the turn, Ctrl-D leaves.";

/// The parts of a conversation at a terminal.
#[expect(missing_debug_implementations, reason = "its parts are handed in and unpacked at once")]
pub struct TerminalChatParts {
    /// The connection to the daemon.
    pub link: Arc<dyn TerminalLink>,
    /// The daemon's id of the person.
    pub me: SenderId,
    /// The source of typed lines.
    pub input: Box<dyn Input>,
    /// The screen.
    pub screen: Screen,
    /// The style of the conversation.
    pub style: ChatStyle,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ctrl-C while the line editor does not control the terminal.
    pub interrupts: flume::Receiver<()>,
}

/// A conversation at a terminal. A person can type at any time. Lines of a pipe are read one after
/// another, each once all earlier lines are answered.
pub struct TerminalChat {
    input: Box<dyn Input>,
    /// Ctrl-C while the line editor does not control the terminal.
    interrupts: flume::Receiver<()>,
    talk: Talk,
}

impl fmt::Debug for TerminalChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalChat").field("left", &self.talk.left).finish_non_exhaustive()
    }
}

type SentLine = (String, Result<MessageId, LinkError>);
type EndedMessage = (MessageId, Result<MessageStatus, LinkError>);

struct Talk {
    link: Arc<dyn TerminalLink>,
    clock: Arc<dyn Clock>,
    display: Display,
    own: OwnMessages,
    /// Lines waiting to be sent, one after another.
    to_send: VecDeque<String>,
    sending: Fuse<BoxFuture<'static, SentLine>>,
    outcomes: FuturesUnordered<BoxFuture<'static, EndedMessage>>,
    left: Left,
}

impl TerminalChat {
    /// A conversation of these parts.
    #[must_use]
    pub fn new(parts: TerminalChatParts) -> Self {
        let TerminalChatParts { link, me, input, screen, style, clock, interrupts } = parts;
        let talk = Talk {
            display: Display::new(link.clone(), screen, style, me),
            link,
            clock,
            own: OwnMessages::default(),
            to_send: VecDeque::new(),
            sending: Fuse::terminated(),
            outcomes: FuturesUnordered::new(),
            left: Left::Content,
        };
        Self { input, interrupts, talk }
    }

    /// Runs until the input ends or the person leaves.
    pub async fn run(self, greeting: &str) -> Left {
        let Self { input, interrupts, mut talk } = self;
        talk.display.remark(greeting);
        let next = |mut input: Box<dyn Input>| async {
            let typed = input.next(PROMPT).await.0;
            Some((typed, input))
        };
        let typed = stream::unfold(input, next);
        tokio::pin!(typed);
        loop {
            talk.send_next();
            talk.show_activity();
            let (link, clock) = (talk.link.clone(), talk.clock.clone());
            let deadline = talk.deadline();
            let sleep = |until: Duration| clock.sleep(until.saturating_sub(clock.elapsed()));
            tokio::select! {
                biased;
                Some(line) = typed.next(), if talk.takes_input() => {
                    if talk.take(line).is_break() {
                        return talk.left;
                    }
                }
                Ok(()) = interrupts.recv_async() => {
                    if !talk.is_busy() {
                        return talk.left;
                    }
                    talk.to_send.push_back("/stop".to_owned());
                }
                sent = &mut talk.sending => talk.sent(sent),
                // The message's id is unknown during the send, so events wait: they may refer to
                // it.
                notice = link.hear(), if !talk.is_sending() => talk.handle(notice).await,
                Some(ended) = talk.outcomes.next() => talk.ended(ended),
                () = or_pending(deadline.map(sleep)) => {}
            }
            talk.own.forget_finished(talk.clock.elapsed());
        }
    }
}

impl Talk {
    fn is_interactive(&self) -> bool {
        self.display.style == ChatStyle::Interactive
    }

    fn is_sending(&self) -> bool {
        !self.sending.is_terminated()
    }

    /// Returns `true` until each sent message has its answer, or a question has come instead.
    fn is_busy(&self) -> bool {
        self.is_sending() || !self.to_send.is_empty() || self.own.is_busy(self.clock.elapsed())
    }

    fn takes_input(&self) -> bool {
        self.is_interactive() || !self.is_busy()
    }

    /// The time at which to check the state even without an event.
    fn deadline(&self) -> Option<Duration> {
        let now = self.clock.elapsed();
        let tick = (self.is_interactive() && self.own.is_working()).then(|| now + TICK);
        self.own.deadline(now).into_iter().chain(tick).min()
    }

    fn take(&mut self, typed: Typed) -> ControlFlow<()> {
        self.display.screen.line_was_typed();
        match typed {
            Typed::End => return ControlFlow::Break(()),
            // Ctrl-C must not discard a turn that waits for an answer.
            Typed::Interrupt if self.own.is_asked() => self.display.remark(HOW_TO_ANSWER),
            Typed::Interrupt if self.is_busy() => self.to_send.push_back("/stop".to_owned()),
            Typed::Interrupt => self.display.remark(HOW_TO_LEAVE),
            Typed::Unreadable(error) => self.not_sent(&error),
            Typed::Line(line) => match line.trim() {
                "" => {}
                "/quit" | "/exit" => return ControlFlow::Break(()),
                text => self.to_send.push_back(text.to_owned()),
            },
        }
        ControlFlow::Continue(())
    }

    fn send_next(&mut self) {
        if !self.is_sending()
            && let Some(text) = self.to_send.pop_front()
        {
            let link = self.link.clone();
            let send = async move {
                let sent = link.say(&text).await;
                (text, sent)
            };
            self.sending = send.boxed().fuse();
        }
    }

    fn sent(&mut self, (text, sent): SentLine) {
        let message = match sent {
            Ok(message) => message,
            Err(LinkError(error)) => return self.not_sent(&error),
        };
        self.display.mark_shown(message);
        self.own.add(message, text.starts_with('/'), self.clock.elapsed());
        let link = self.link.clone();
        self.outcomes.push(async move { (message, link.outcome(message).await) }.boxed());
    }

    fn not_sent(&mut self, error: &str) {
        self.display.screen.remark(&format!("not sent: {error}"));
        self.left = Left::Disappointed;
    }

    fn ended(&mut self, (message, ended): EndedMessage) {
        let (turn, outcome) = match ended {
            Ok(status) => (status.turn, status.outcome),
            Err(LinkError(error)) => {
                self.display.screen.remark(&error);
                (None, None)
            }
        };
        if matches!(outcome, Some(Outcome::Error | Outcome::Dropped)) {
            self.left = Left::Disappointed;
        }
        self.own.end(message, turn, self.clock.elapsed());
    }

    async fn handle(&mut self, notice: DaemonNotice) {
        match notice {
            DaemonNotice::Said(chunk) => {
                self.own.note_text(chunk.turn);
                self.display.say(chunk).await;
            }
            DaemonNotice::Remark(text) => self.display.remark_of_link(&text),
            DaemonNotice::Event(event) => {
                self.own.note_event(&event);
                let follows = self.own.is_open();
                self.display.show_event(event, follows);
            }
        }
    }

    fn show_activity(&mut self) {
        if self.own.is_working()
            && let Some(since) = self.own.since()
        {
            self.display.show_activity(self.clock.elapsed().saturating_sub(since));
        }
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
