//! A person on the socket: sends one line after the other, reads the answers, and reconnects when
//! the daemon is gone.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_testkit::socket::{CallError, SocketClient};
use serde_json::{Value, json};

use crate::SharedOracle;
use crate::model::KINDS;
use crate::oracle::{AskedMessage, key, parse};
use crate::script::{
    Script, ScriptLine, is_about_open_question, is_choice_reply, is_command_reply,
    is_stopped_answer, is_unconfirmed_command_reply,
};

/// Messages that a person sends without waiting for the answers.
pub(crate) const AHEAD: u32 = 3;
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The pause of a person before a choice.
pub(crate) const THINK: Duration = Duration::from_millis(250);

pub(crate) struct SimulatedPerson {
    number: usize,
    socket: PathBuf,
    oracle: SharedOracle,
    script: Script,
    progress: Progress,
    /// Lines, commands too, that are sent but not confirmed.
    untaken: VecDeque<(String, String)>,
    /// Sent commands, and replies read.
    commands: u32,
    command_replies: u32,
}

/// The progress of the answers, which come in the order of the messages. A skipped message was
/// stopped, or replaced by an edit; the log proves this at the end.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// All messages before this one are over.
    over: u32,
    /// Messages from this one on were sent after the last command that ends turns.
    counted_from: u32,
    /// The last message of the run, once it is sent.
    last: Option<u32>,
}

impl Progress {
    pub(crate) fn answered(&mut self, number: u32) {
        self.over = self.over.max(number + 1);
    }

    /// Returns the oldest message that may still be answered.
    pub(crate) fn oldest(&self) -> u32 {
        self.over
    }

    /// Returns the number of open messages that no later command has stopped.
    fn open(&self, said: u32) -> u32 {
        said.saturating_sub(self.over.max(self.counted_from))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.last.is_some_and(|last| self.over > last)
    }

    /// Returns the next line, if any, and records it in the oracle.
    pub(crate) fn next(
        &mut self,
        script: &mut Script,
        person: usize,
        oracle: &SharedOracle,
    ) -> Option<ScriptLine> {
        if self.last.is_some() {
            return None;
        }
        let line = if oracle.is_quiet() {
            self.last = Some(script.said());
            script.last()
        } else if self.open(script.said()) < AHEAD {
            script.next()
        } else {
            return None;
        };
        let before = match &line {
            ScriptLine::Message { number, .. } | ScriptLine::Edit { number, .. } => {
                oracle.asked(&key(person, *number));
                *number
            }
            ScriptLine::Command(_) => {
                oracle.commanded();
                script.said()
            }
        };
        if let ScriptLine::Edit { number, .. } = line {
            oracle.edited(person, number);
        }
        if script.stops_others(&line) {
            oracle.may_stop(person, self.over..before);
            // Of messages that interrupt each other, the last one is answered.
            if matches!(line, ScriptLine::Command(_)) {
                self.counted_from = before;
            }
        }
        Some(line)
    }
}

impl SimulatedPerson {
    pub(crate) fn new(number: usize, socket: &Path, oracle: SharedOracle) -> Self {
        let script = Script::new(number, oracle.seed(), KINDS.to_vec(), false);
        let (progress, untaken) = (Progress::default(), VecDeque::new());
        let (socket, commands, command_replies) = (socket.to_owned(), 0, 0);
        Self { number, socket, oracle, script, progress, untaken, commands, command_replies }
    }

    fn chat(&self) -> String {
        format!("terminal:local:p{}", self.number)
    }

    /// Talks until all lines are sent and everything is answered.
    pub(crate) async fn talk(mut self) {
        while !self.is_content() {
            match SocketClient::connect(&self.socket).await {
                Ok(client) => drop(self.talk_over(&client).await),
                Err(_) => pause(LOOK_AGAIN).await,
            }
        }
    }

    fn is_content(&self) -> bool {
        let commands_are_over = self.command_replies >= self.commands;
        self.progress.is_over() && commands_are_over && self.untaken.is_empty()
    }

    /// Talks until the connection breaks.
    async fn talk_over(&mut self, client: &SocketClient) -> Result<(), CallError> {
        client.call("attach", json!({ "chat": self.chat() })).await?;
        while !self.is_content() {
            self.say_more();
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
                // The person has read it, even if the daemon never gets the confirmation.
                let decides = self.hear(&heard["params"]);
                client.respond(&heard["id"]).await?;
                if decides {
                    pause(THINK).await;
                }
            }
        }
        Ok(())
    }

    fn say_more(&mut self) {
        while let Some(line) = self.progress.next(&mut self.script, self.number, &self.oracle) {
            match line {
                ScriptLine::Message { number, text } | ScriptLine::Edit { number, text } => {
                    self.untaken.push_back((key(self.number, number), text));
                }
                ScriptLine::Command(command) => self.command(command),
            }
        }
    }

    fn command(&mut self, text: &str) {
        let key = format!("command-{}-{}", self.number, self.commands);
        self.commands += 1;
        self.untaken.push_back((key, text.to_owned()));
    }

    /// Reads a chunk. Returns `true` if it is a choice.
    fn hear(&mut self, chunk: &Value) -> bool {
        let text = chunk["text"].as_str().unwrap();
        let repeat = chunk["repeat"].as_bool().unwrap();
        let mut words = text.split_whitespace();
        match words.next() {
            _ if is_stopped_answer(text) => {}
            Some("done") => {
                for (_, number) in words.map_while(parse) {
                    self.oracle.reply(self.number, number, repeat);
                    self.progress.answered(number);
                }
            }
            Some("note") if let Some((person, number)) = words.next().and_then(parse) => {
                self.oracle.count(&key(person, number), |asked| {
                    if repeat { asked.marked_notes += 1 } else { asked.notes += 1 }
                });
            }
            _ if text.starts_with("I was interrupted while running `post`") => {
                self.skip(chunk);
                return true;
            }
            _ if is_choice_reply(text) || is_about_open_question(text) => {}
            _ if is_command_reply(text) => self.hear_command_reply(repeat),
            _ if is_unconfirmed_command_reply(text) => self.hear_command_reply(true),
            _ => self.fail(text),
        }
        false
    }

    fn hear_command_reply(&mut self, repeat: bool) {
        self.command_replies += 1;
        self.oracle.command_answered(self.number, repeat);
    }

    /// Chooses to skip. Only the oracle knows if the effect took place, so it is never run again.
    fn skip(&mut self, chunk: &Value) {
        let choices = chunk["choices"].as_array().unwrap();
        let says = choices.last().unwrap()["says"].as_str().unwrap();
        let key = format!("{}{}", says.replace(['/', ' '], "-"), self.number);
        self.untaken.push_back((key, says.to_owned()));
    }

    fn fail(&mut self, text: &str) {
        let numbers = named(text, self.progress.oldest());
        if numbers.iter().any(|number| *number >= self.script.said()) {
            self.oracle.surprise(format!("{}: {text}", self.chat()));
            return;
        }
        for number in numbers {
            let failed = |asked: &mut AskedMessage| asked.failed = Some(text.to_owned());
            self.oracle.count(&key(self.number, number), failed);
            self.progress.answered(number);
        }
    }
}

/// Returns the messages that an error or a drop notice concerns: those that it names, else the
/// oldest open one.
pub(crate) fn named(text: &str, oldest: u32) -> Vec<u32> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let named: Vec<u32> = words.filter_map(parse).map(|(_, number)| number).collect();
    if named.is_empty() { vec![oldest] } else { named }
}

#[expect(clippy::disallowed_methods, reason = "it is looked for, not waited for")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
