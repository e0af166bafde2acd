//! A conversation at a terminal: lines go in, what happens and what is said comes out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{
    Choice, Clock, DeliveryId, MessageId, MessageStatus, Outcome, StartedMessage, TurnEvent, TurnId,
};
use futures_util::FutureExt;

use crate::convert::{printed, safe};
use crate::receive::{Input, Typed};
use crate::screen::Screen;

/// The daemon, as seen from the terminal.
#[async_trait]
pub trait Link: fmt::Debug + Send + Sync {
    /// Puts a message onto the bus.
    ///
    /// # Errors
    /// Why it was not taken.
    async fn say(&self, text: &str) -> Result<MessageId, LinkError>;

    /// Waits for the outcome of a message.
    ///
    /// # Errors
    /// Why nobody can tell.
    async fn outcome(&self, message: MessageId) -> Result<MessageStatus, LinkError>;

    /// What is heard next.
    async fn hear(&self) -> Heard;

    /// The chunk has been shown.
    async fn shown(&self, chunk: DeliveryId);
}

/// Why the daemon did not do something, in words for the person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError(pub String);

/// Something that is heard from the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Something happens in the chat.
    Event(TurnEvent),
    /// Something is said in the chat.
    Said(SaidChunk),
    /// About the connection itself: it was lost, it is back.
    Remark(String),
}

/// Something that is said in the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in avocet_protocol::Delivery")]
pub struct SaidChunk {
    pub id: DeliveryId,
    pub turn: Option<TurnId>,
    pub text: String,
    pub choices: Vec<Choice>,
    pub repeat: bool,
}

/// How a conversation looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A person at a terminal: prompt, streaming, what is going on.
    Interactive,
    /// A pipe: answers, and nothing else.
    Plain,
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Everything was answered.
    Content,
    /// Something ended in an error.
    Disappointed,
}

/// A conversation at a terminal.
pub struct Chat {
    input: Box<dyn Input>,
    display: Display,
    /// Ctrl-C while nobody is prompted.
    interrupts: flume::Receiver<()>,
    left: Left,
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").field("left", &self.left).finish_non_exhaustive()
    }
}

const PROMPT: &str = "> ";
const TICK: Duration = Duration::from_millis(250);
/// How long after the outcome of a message its reply may take to be heard.
const GRACE: Duration = Duration::from_secs(2);
/// Chunks that are recognised when they come again.
const SEEN: usize = 256;

impl Chat {
    /// A conversation over `link`.
    #[must_use]
    pub fn new(
        link: Arc<dyn Link>,
        input: Box<dyn Input>,
        screen: Screen,
        style: Style,
        clock: Arc<dyn Clock>,
        interrupts: flume::Receiver<()>,
    ) -> Self {
        let display = Display { link, screen, style, clock, seen: VecDeque::new() };
        Self { input, display, interrupts, left: Left::Content }
    }

    /// Talks until the input ends, or the person wants to leave.
    pub async fn run(mut self, greeting: &str) -> Left {
        if self.display.style == Style::Interactive {
            self.display.screen.remark(greeting);
        }
        loop {
            match self.read().await {
                Typed::End => return self.left,
                Typed::Interrupt => self.display.screen.remark("Ctrl-D or /quit leaves."),
                Typed::Unreadable(error) => self.not_sent(&error),
                Typed::Line(line) => match line.trim() {
                    "" => {}
                    "/quit" | "/exit" => return self.left,
                    text => self.ask(text).await,
                },
            }
        }
    }

    /// The next line. What is heard meanwhile is shown above it.
    async fn read(&mut self) -> Typed {
        let Self { input, display, interrupts, .. } = self;
        display.screen.set_prompting(display.style == Style::Interactive);
        let reading = input.next(PROMPT);
        tokio::pin!(reading);
        let typed = loop {
            tokio::select! {
                biased;
                typed = &mut reading => break typed.0,
                Ok(()) = interrupts.recv_async() => break Typed::End,
                heard = display.link.hear() => display.show_idle(heard).await,
            }
        };
        display.screen.set_prompting(false);
        typed
    }

    fn not_sent(&mut self, error: &str) {
        self.display.screen.remark(&format!("not sent: {error}"));
        self.left = Left::Disappointed;
    }

    /// Says something and shows what comes of it, until there is an answer or a question.
    async fn ask(&mut self, text: &str) {
        let Self { display, interrupts, left, .. } = self;
        let message = match display.link.say(text).await {
            Ok(message) => message,
            Err(LinkError(error)) => {
                self.not_sent(&error);
                return;
            }
        };
        let mut view = View::new(message, display.clock.elapsed());
        let link = display.link.clone();
        let clock = display.clock.clone();
        let mut outcome = link.outcome(message).boxed().fuse();
        let mut grace = futures_util::future::Fuse::terminated();
        while !view.is_over() {
            display.show_activity(&view);
            tokio::select! {
                biased;
                heard = link.hear() => display.show(&mut view, heard).await,
                ended = &mut outcome => {
                    match ended {
                        Ok(status) => view.end(&status),
                        Err(LinkError(error)) => display.screen.remark(&error),
                    }
                    if matches!(view.outcome, Some(Outcome::Error | Outcome::Dropped)) {
                        *left = Left::Disappointed;
                    }
                    grace = clock.sleep(GRACE).boxed().fuse();
                }
                () = &mut grace => break,
                Ok(()) = interrupts.recv_async() => {
                    // Whether it could be stopped is said in the chat.
                    drop(link.say("/stop").await);
                }
                () = clock.sleep(TICK), if display.style == Style::Interactive => {}
            }
        }
        display.screen.end_line();
    }
}

/// What is known of the answer that is being waited for.
struct View {
    message: MessageId,
    turn: Option<TurnId>,
    /// What is being written is heard from its beginning on.
    streams: bool,
    streamed: String,
    activity: String,
    since: Duration,
    outcome: Option<Outcome>,
    /// Something was said that may be the answer.
    said: bool,
    /// The turn waits for the person.
    waits: bool,
}

impl View {
    fn new(message: MessageId, since: Duration) -> Self {
        Self {
            message,
            turn: None,
            streams: false,
            streamed: String::new(),
            activity: "waiting".to_owned(),
            since,
            outcome: None,
            said: false,
            waits: false,
        }
    }

    fn end(&mut self, status: &MessageStatus) {
        self.outcome = status.outcome;
        self.turn = self.turn.or(status.turn);
    }

    /// The answer, or the question, has been shown.
    fn is_over(&self) -> bool {
        self.said && (self.outcome.is_some() || self.waits)
    }
}

/// What is shown, and how.
struct Display {
    link: Arc<dyn Link>,
    screen: Screen,
    style: Style,
    clock: Arc<dyn Clock>,
    seen: VecDeque<DeliveryId>,
}

impl Display {
    /// Shows what is heard while nothing is waited for.
    async fn show_idle(&mut self, heard: Heard) {
        match heard {
            Heard::Said(chunk) => self.say(None, chunk).await,
            Heard::Remark(text) => self.screen.remark(&text),
            Heard::Event(TurnEvent::Started { messages, .. }) => {
                for other in messages {
                    self.show_other(&other);
                }
            }
            Heard::Event(_) => {}
        }
    }

    /// Shows what is heard while an answer is waited for.
    async fn show(&mut self, view: &mut View, heard: Heard) {
        match heard {
            Heard::Said(chunk) => self.say(Some(view), chunk).await,
            Heard::Remark(text) => {
                // What is written may be missed from here on: it is shown when it is whole.
                view.streams = false;
                view.streamed.clear();
                self.screen.remark(&text);
            }
            Heard::Event(event) => self.show_event(view, event),
        }
    }

    fn show_event(&mut self, view: &mut View, event: TurnEvent) {
        match event {
            TurnEvent::Started { turn, messages } => {
                if messages.iter().any(|one| one.id == view.message) {
                    view.turn = Some(turn);
                }
                for other in messages.iter().filter(|one| one.id != view.message) {
                    self.show_other(other);
                }
            }
            TurnEvent::Condensing => {
                view.activity = "condensing what was said before".to_owned();
            }
            TurnEvent::Thinking { .. } => {
                view.activity = "thinking".to_owned();
                view.streamed.clear();
                view.streams = true;
            }
            TurnEvent::Text { delta } if view.streams => {
                view.streamed.push_str(&delta);
                self.stream(&delta);
            }
            TurnEvent::Text { .. } => {}
            TurnEvent::Restarted => {
                if !view.streamed.is_empty() {
                    self.remark("(starting over)");
                    view.streamed.clear();
                }
            }
            TurnEvent::ToolStarted { name } => {
                view.streamed.clear();
                view.activity = format!("running {}", safe(&name));
            }
            TurnEvent::ToolFinished { name, ok } => {
                let mark = if ok { "✓" } else { "✗" };
                self.remark(&format!("{mark} {}", safe(&name)));
            }
            TurnEvent::Waiting { .. } => view.waits = true,
            TurnEvent::Ended { .. } => {}
        }
    }

    fn stream(&mut self, delta: &str) {
        if self.style == Style::Interactive {
            self.screen.stream(&safe(delta));
        }
    }

    fn remark(&mut self, text: &str) {
        if self.style == Style::Interactive {
            self.screen.remark(text);
        }
    }

    /// What somebody else says in the same chat.
    fn show_other(&mut self, other: &StartedMessage) {
        self.remark(&format!("{} says: {}", safe(&other.sender), safe(&other.text)));
    }

    /// The line that does not stay: what is going on, and for how long.
    fn show_activity(&mut self, view: &View) {
        if self.style == Style::Interactive && !view.said {
            let seconds = self.clock.elapsed().saturating_sub(view.since).as_secs();
            self.screen.status(&format!("{} … {seconds} s (Ctrl-C stops)", view.activity));
        }
    }

    async fn say(&mut self, view: Option<&mut View>, chunk: SaidChunk) {
        if !self.seen.contains(&chunk.id) {
            self.seen.push_back(chunk.id);
            if self.seen.len() > SEEN {
                self.seen.pop_front();
            }
            let text = printed(&chunk.text, &chunk.choices, chunk.repeat);
            match view {
                None => self.screen.line(&text),
                Some(view) => {
                    self.say_answer(view, &text);
                    view.said |= chunk.turn.is_none() || chunk.turn == view.turn;
                }
            }
        }
        self.link.shown(chunk.id).await;
    }

    /// What has been streamed is not printed again.
    fn say_answer(&mut self, view: &mut View, text: &str) {
        let streamed = std::mem::take(&mut view.streamed);
        let streamed = safe(&streamed);
        match text.trim_start().strip_prefix(streamed.trim()) {
            Some(rest) if self.style == Style::Interactive && !streamed.trim().is_empty() => {
                self.screen.stream(rest);
                self.screen.end_line();
            }
            _ => self.screen.line(text),
        }
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
