//! A person in a chat, who sends messages and reads the replies.

use std::sync::Arc;
use std::time::Duration;

use avocet_testkit::telegram::{SentMessage, TelegramFake, UserMessage};

use crate::gullible::FINISHED;
use crate::matrix::is_review;

/// The time after which a wait fails its test.
const PATIENCE: Duration = Duration::from_secs(90);

/// Waits for a future, with a timeout.
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
pub(crate) async fn with_timeout<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("timed out waiting for {what}"),
    }
}

/// The next event in a chat.
#[derive(Debug)]
pub(crate) enum AgentReply {
    /// A call needs approval.
    Question(Box<SentMessage>),
    /// The turn has ended with this answer.
    Answer(String),
}

/// A chat and the person who writes in it.
pub(crate) struct ChatPerson {
    pub(crate) platform: Arc<TelegramFake>,
    pub(crate) who: i64,
    pub(crate) chat: i64,
    read: usize,
}

impl ChatPerson {
    pub(crate) fn new(platform: &Arc<TelegramFake>, who: i64, chat: i64) -> Self {
        Self { platform: platform.clone(), who, chat, read: 0 }
    }

    pub(crate) fn say(&self, text: &str) {
        self.platform.say(UserMessage::group(self.who, self.chat, text));
    }

    /// Waits for the next message.
    pub(crate) async fn hear(&mut self, what: &str) -> SentMessage {
        let (chat, read) = (self.chat, self.read);
        let here = move |sent: &[SentMessage]| {
            sent.iter().filter(|one| one.chat == chat).nth(read).cloned()
        };
        let sent = self.platform.wait_for(|sent| here(sent).is_some());
        let sent = with_timeout(&format!("{what} in {chat}, message {read}"), sent).await;
        self.read += 1;
        here(&sent).unwrap()
    }

    /// Waits for the next question or answer.
    pub(crate) async fn next(&mut self, what: &str) -> AgentReply {
        let heard = self.hear(what).await;
        let is_question = heard.buttons().iter().any(|button| {
            button["callback_data"].as_str().is_some_and(|says| says.starts_with("/approve"))
        });
        if is_question {
            AgentReply::Question(Box::new(heard))
        } else {
            AgentReply::Answer(heard.text)
        }
    }

    /// Sends a command, and returns the reply.
    pub(crate) async fn command(&mut self, command: &str) -> String {
        self.say(command);
        self.hear(command).await.text
    }

    /// Presses a button that allows or denies, and waits for the outcome.
    pub(crate) async fn decide(&mut self, question: &SentMessage, label: &str) {
        let says = pressed(question, label);
        self.platform.press(self.who, question, &says);
        let outcome = if says.starts_with("/approve") { "Allowed " } else { "Refused " };
        self.sees_outcome(question, outcome).await;
    }

    /// Waits until a question has become its outcome.
    pub(crate) async fn sees_outcome(&self, question: &SentMessage, outcome: &str) {
        let (chat, id) = (question.chat, question.id);
        let is_it =
            |one: &SentMessage| (one.chat, one.id) == (chat, id) && shows_outcome(one, outcome);
        let shown = self.platform.wait_for(|sent| sent.iter().any(is_it));
        with_timeout(outcome, shown).await;
    }

    /// Sends a message that is answered without a question. Returns the answer.
    pub(crate) async fn ask(&mut self, text: &str) -> String {
        self.say(text);
        match self.next(text).await {
            AgentReply::Answer(answer) => answer,
            AgentReply::Question(question) => panic!("{text:?} is asked about: {}", question.text),
        }
    }

    /// Sends a message with one question, and approves it.
    pub(crate) async fn ask_and_allow(&mut self, text: &str) {
        self.say(text);
        let AgentReply::Question(question) = self.next(text).await else {
            panic!("{text:?} is not asked about")
        };
        let label = if is_review(&question.text) { "Keep" } else { "Allow once" };
        self.decide(&question, label).await;
        let AgentReply::Answer(answer) = self.next(text).await else {
            panic!("{text:?} is asked about twice")
        };
        assert_eq!(answer, FINISHED, "{text:?}");
    }
}

/// Returns `true` if a message shows an outcome with this beginning: in its only line, or under the
/// call that was decided.
pub(crate) fn shows_outcome(sent: &SentMessage, outcome: &str) -> bool {
    let lines = [sent.text.lines().next(), sent.text.lines().last()];
    lines.into_iter().flatten().any(|line| line.starts_with(outcome))
}

/// Returns the command of a button.
pub(crate) fn pressed(question: &SentMessage, label: &str) -> String {
    let buttons = question.buttons();
    let button = buttons.iter().find(|button| button["text"] == label);
    let button = button.unwrap_or_else(|| panic!("no {label:?} below {question:?}"));
    button["callback_data"].as_str().unwrap().to_owned()
}

/// Polls until a condition holds.
#[expect(clippy::disallowed_methods, reason = "between two looks")]
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let looking = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    with_timeout(what, looking).await;
}
