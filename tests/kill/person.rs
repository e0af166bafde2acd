//! A person: says one thing after the other, hears what is said, and does not give up when the
//! daemon is gone.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_testkit::socket::{CallError, SocketClient};
use serde_json::{Value, json};

use crate::Shared;
use crate::model::KINDS;
use crate::oracle::{key, parse};

/// Messages that a person says without waiting for the answers.
const AHEAD: usize = 2;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a person thinks about a choice.
const THINK: Duration = Duration::from_millis(250);

pub(crate) struct Person {
    number: usize,
    socket: PathBuf,
    oracle: Shared,
    said: u32,
    /// Said and not answered.
    open: VecDeque<u32>,
    /// Said and not known to be taken; commands too.
    untaken: VecDeque<(String, String)>,
}

impl Person {
    pub(crate) fn new(number: usize, socket: &Path, oracle: Shared) -> Self {
        let (open, untaken) = (VecDeque::new(), VecDeque::new());
        Self { number, socket: socket.to_owned(), oracle, said: 0, open, untaken }
    }

    fn chat(&self) -> String {
        format!("terminal:local:p{}", self.number)
    }

    /// Talks until there is nothing more to say and everything is answered.
    pub(crate) async fn talk(mut self) {
        while !self.is_content() {
            match SocketClient::connect(&self.socket).await {
                Ok(client) => drop(self.talk_over(&client).await),
                Err(_) => pause(LOOK_AGAIN).await,
            }
        }
    }

    fn is_content(&self) -> bool {
        self.oracle.is_quiet() && self.open.is_empty() && self.untaken.is_empty()
    }

    /// Talks until the connection breaks.
    async fn talk_over(&mut self, client: &SocketClient) -> Result<(), CallError> {
        client.call("attach", json!({ "chat": self.chat() })).await?;
        while !self.is_content() {
            while self.open.len() < AHEAD && !self.oracle.is_quiet() {
                self.say_next();
            }
            while let Some((key, text)) = self.untaken.front().cloned() {
                let ask = json!({ "session": self.chat(), "text": text, "key": key });
                let taken = client.call("ask", ask).await;
                match taken {
                    Err(CallError::Refused(error)) if error["code"] == -32003 => {
                        return Err(CallError::Lost);
                    }
                    Err(CallError::Refused(error)) => self.oracle.surprise(error.to_string()),
                    taken => drop(taken?),
                }
                self.untaken.pop_front();
            }
            let Ok(heard) = client.incoming.recv_async().await else { return Err(CallError::Lost) };
            if heard["method"] == "deliver" {
                // Heard is heard, whether or not the daemon learns of it.
                let decides = self.hear(&heard["params"]);
                client.respond(&heard["id"]).await?;
                if decides {
                    pause(THINK).await;
                }
            }
        }
        Ok(())
    }

    fn say_next(&mut self) {
        let key = key(self.number, self.said);
        let kind = KINDS[(self.said as usize + self.number) % KINDS.len()];
        self.oracle.asked(&key);
        self.untaken.push_back((key.clone(), format!("{key} {kind}")));
        self.open.push_back(self.said);
        self.said += 1;
    }

    /// Whether it is a choice.
    fn hear(&mut self, chunk: &Value) -> bool {
        let text = chunk["text"].as_str().unwrap();
        let repeat = chunk["repeat"].as_bool().unwrap();
        let mut words = text.split_whitespace();
        match (words.next(), words.next().and_then(parse)) {
            (Some("done"), Some((_, number))) => {
                self.oracle.reply(self.number, number, repeat);
                self.open.retain(|open| *open != number);
            }
            (Some("note"), Some((person, number))) => {
                self.oracle.count(&key(person, number), |asked| {
                    if repeat { asked.marked_notes += 1 } else { asked.notes += 1 }
                });
            }
            _ if text.starts_with("I was interrupted while running `post`") => {
                self.skip(chunk);
                return true;
            }
            _ if text == "I go on without it."
                || text.starts_with("There is nothing to decide") => {}
            _ => self.fail(text),
        }
        false
    }

    /// Whether the effect took place is known to the oracle alone: it is never run again.
    fn skip(&mut self, chunk: &Value) {
        let choices = chunk["choices"].as_array().unwrap();
        let says = choices.last().unwrap()["says"].as_str().unwrap();
        let key = format!("{}{}", says.replace(['/', ' '], "-"), self.number);
        self.untaken.push_back((key, says.to_owned()));
    }

    /// An error, or the notice that a message was dropped: it names the message, or is about the
    /// oldest.
    fn fail(&mut self, text: &str) {
        let named = text.split(|c: char| !c.is_alphanumeric()).find_map(parse);
        let number = named.map(|(_, number)| number).or(self.open.front().copied());
        let Some(number) = number else {
            self.oracle.surprise(format!("{}: {text}", self.chat()));
            return;
        };
        self.oracle.count(&key(self.number, number), |asked| asked.failed = Some(text.to_owned()));
        self.open.retain(|open| *open != number);
    }
}

#[expect(clippy::disallowed_methods, reason = "it is looked for, not waited for")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
