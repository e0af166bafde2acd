//! A person in a chat: says something, and reads what comes.

use std::sync::Arc;
use std::time::Duration;

use avocet_testkit::telegram::{Said, SentMessage, TelegramFake};

use crate::gullible::FINISHED;

/// How long anything may take before its test has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// What comes of some work.
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
pub(crate) async fn patiently<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("waited in vain: {what}"),
    }
}

/// What comes next in a chat.
#[derive(Debug)]
pub(crate) enum Next {
    /// Something has to be allowed.
    Question(Box<SentMessage>),
    /// The turn has ended with this.
    Answer(String),
}

/// A chat, and who writes there.
pub(crate) struct Person {
    pub(crate) platform: Arc<TelegramFake>,
    pub(crate) who: i64,
    pub(crate) chat: i64,
    read: usize,
}

impl Person {
    pub(crate) fn new(platform: &Arc<TelegramFake>, who: i64, chat: i64) -> Self {
        Self { platform: platform.clone(), who, chat, read: 0 }
    }

    pub(crate) fn say(&self, text: &str) {
        self.platform.say(Said::group(self.who, self.chat, text));
    }

    /// The next message.
    pub(crate) async fn hear(&mut self, what: &str) -> SentMessage {
        let (chat, read) = (self.chat, self.read);
        let here = move |sent: &[SentMessage]| {
            sent.iter().filter(|one| one.chat == chat).nth(read).cloned()
        };
        let sent = self.platform.wait_for(|sent| here(sent).is_some());
        let sent = patiently(&format!("{what} in {chat}, message {read}"), sent).await;
        self.read += 1;
        here(&sent).unwrap()
    }

    /// The next question or answer.
    pub(crate) async fn next(&mut self, what: &str) -> Next {
        let heard = self.hear(what).await;
        let is_question = heard.buttons().iter().any(|button| {
            button["callback_data"].as_str().is_some_and(|says| says.starts_with("/approve"))
        });
        if is_question { Next::Question(Box::new(heard)) } else { Next::Answer(heard.text) }
    }

    /// A command, and what is said to it.
    pub(crate) async fn command(&mut self, command: &str) -> String {
        self.say(command);
        self.hear(command).await.text
    }

    /// A button, and what is said to it.
    pub(crate) async fn press(&mut self, question: &SentMessage, label: &str) -> String {
        let says = pressed(question, label);
        self.platform.press(self.who, question, &says);
        self.hear(label).await.text
    }

    /// A message that is answered without a question.
    pub(crate) async fn ask(&mut self, text: &str) -> String {
        self.say(text);
        match self.next(text).await {
            Next::Answer(answer) => answer,
            Next::Question(question) => panic!("{text:?} is asked about: {}", question.text),
        }
    }

    /// A message about which there is one question, which is allowed.
    pub(crate) async fn ask_and_allow(&mut self, text: &str) {
        self.say(text);
        let Next::Question(question) = self.next(text).await else {
            panic!("{text:?} is not asked about")
        };
        self.press(&question, "Allow once").await;
        let Next::Answer(answer) = self.next(text).await else {
            panic!("{text:?} is asked about twice")
        };
        assert_eq!(answer, FINISHED, "{text:?}");
    }
}

/// What a button says.
pub(crate) fn pressed(question: &SentMessage, label: &str) -> String {
    let buttons = question.buttons();
    let button = buttons.iter().find(|button| button["text"] == label);
    let button = button.unwrap_or_else(|| panic!("no {label:?} below {question:?}"));
    button["callback_data"].as_str().unwrap().to_owned()
}

/// Waits for what can only be looked at.
#[expect(clippy::disallowed_methods, reason = "between two looks")]
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let looking = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    patiently(what, looking).await;
}
