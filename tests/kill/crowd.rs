//! People on a platform: their messages stay there, and they read the answers there.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::SharedOracle;
use crate::long_answers::LongAnswer;
use crate::model::{END, KINDS, LONG, SLOW};
use crate::oracle::{key, parse};
use crate::person::{Progress, named, pause};
use crate::platform::{ChatPlatform, ShownMessage};
use crate::script::{
    Script, ScriptLine, is_about_open_question, is_choice_reply, is_command_reply, is_outcome,
    is_stopped_answer, is_unconfirmed_command_reply,
};

/// The interval at which people look at the platform.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Looks after which a person repeats a press of a button without effect: platforms lose some
/// presses.
const PATIENT_LOOKS: u32 = 150;
/// Looks before a person presses a button. A kill may come during this pause.
const THOUGHT: u32 = 75;
/// The beginning of a question that is asked again.
const AGAIN: &str = "Still waiting for a decision:\n";

pub(crate) struct Speaker {
    number: usize,
    script: Script,
    progress: Progress,
    heard: ReadMessages,
    commands: u64,
    /// The platform's id of the last message.
    newest: Option<u64>,
    /// Open choices, and the looks since the last press.
    pressed: BTreeMap<u64, u32>,
}

/// All that one person has read.
#[derive(Debug, Default)]
pub(crate) struct ReadMessages {
    /// Replies and their marked copies, by message.
    pub(crate) replies: BTreeMap<u32, (u32, u32)>,
    /// Texts of the message tool and their marked copies, by message.
    pub(crate) notes: BTreeMap<String, (u32, u32)>,
    /// The order of the first replies.
    pub(crate) order: Vec<u32>,
    pub(crate) failed: BTreeMap<u32, String>,
    /// Incomplete answers that should be complete, by the first message that each answers.
    pub(crate) unfinished: Vec<(u32, String)>,
    /// Replies of commands, and marked copies of them.
    pub(crate) command_replies: (u64, u64),
    /// Answers that take several messages, by the first message that each answers.
    long: BTreeMap<u32, LongAnswer>,
    /// Incomplete answers seen so far, by message.
    begun: BTreeMap<u32, Vec<String>>,
    pub(crate) surprises: BTreeSet<String>,
    /// Open choices: the message and the command of its last button.
    choices: Vec<(u64, String)>,
    settled: usize,
}

/// Talks until all lines are sent and everything is answered.
pub(crate) async fn talk(platform: Arc<ChatPlatform>, people: Range<usize>, oracle: SharedOracle) {
    let seed = oracle.seed();
    let mut speakers: Vec<Speaker> = people.map(|number| Speaker::new(number, seed)).collect();
    loop {
        let mut shown = platform.shown();
        for speaker in &mut speakers {
            let read = shown.remove(&speaker.number).unwrap_or_default();
            speaker.heard = hear(speaker.script.said(), &read, platform.never_doubles());
            for number in speaker.heard.replies.keys().chain(speaker.heard.failed.keys()) {
                speaker.progress.answered(*number);
            }
            speaker.press(&platform);
            speaker.say_more(&platform, &oracle);
            oracle.hear(speaker.number, &speaker.heard);
        }
        if speakers.iter().all(Speaker::is_content) {
            return;
        }
        pause(LOOK_AGAIN).await;
    }
}

impl Speaker {
    fn new(number: usize, seed: u64) -> Self {
        let kinds = KINDS.into_iter().chain([SLOW, LONG]).collect();
        let script = Script::new(number, seed, kinds, true);
        let (progress, heard) = (Progress::default(), ReadMessages::default());
        let (commands, newest, pressed) = (0, None, BTreeMap::new());
        Self { number, script, progress, heard, commands, newest, pressed }
    }

    /// Returns `true` if everything is answered. An incomplete answer before the last one belongs
    /// to a stopped turn, which the log proves at the end.
    fn is_content(&self) -> bool {
        let is_last = |(number, _): &(u32, String)| number + 1 >= self.script.said();
        let (plain, marked) = self.heard.command_replies;
        let commands_are_over = plain + marked >= self.commands;
        self.progress.is_over() && commands_are_over && !self.heard.unfinished.iter().any(is_last)
    }

    fn say_more(&mut self, platform: &ChatPlatform, oracle: &SharedOracle) {
        while let Some(line) = self.progress.next(&mut self.script, self.number, oracle) {
            match (line, self.newest) {
                (ScriptLine::Edit { text, .. }, Some(newest)) => {
                    platform.edit(newest, &text);
                }
                (ScriptLine::Message { text, .. } | ScriptLine::Edit { text, .. }, _) => {
                    self.newest = Some(platform.say(self.number, &text));
                }
                (ScriptLine::Command(command), _) => {
                    self.commands += 1;
                    platform.say(self.number, command);
                }
            }
        }
    }

    /// Chooses the button that skips. Only the oracle knows if the effect took place, so it is
    /// never run again.
    fn press(&mut self, platform: &ChatPlatform) {
        let open = self.heard.choices.len().saturating_sub(self.heard.settled);
        let Some((message, says)) = self.heard.choices.last().filter(|_| open > 0) else { return };
        let looks = self.pressed.entry(*message).or_insert(PATIENT_LOOKS - THOUGHT);
        *looks += 1;
        if *looks > PATIENT_LOOKS {
            *looks = 0;
            platform.press(self.number, *message, says);
        }
    }
}

/// Interprets the messages of a chat whose person has sent `said` messages.
fn hear(said: u32, shown: &[ShownMessage], never_doubles: bool) -> ReadMessages {
    let mut heard = ReadMessages::default();
    for message in shown {
        heard.read(said, message);
    }
    heard.give_up(never_doubles);
    heard
}

impl ReadMessages {
    fn read(&mut self, said: u32, message: &ShownMessage) {
        let text = &message.text;
        let mut words = text.split_whitespace();
        match words.next() {
            _ if is_stopped_answer(text) => {}
            Some(first) if let Some(number) = LongAnswer::find_number(first, text) => {
                let answer = self.long.entry(number).or_default();
                let ended = answer.read(message);
                let new = ended.iter().filter(|number| !self.order.contains(number));
                self.order.extend(new.copied().collect::<Vec<_>>());
            }
            Some("done") => {
                self.read_answer(message, words.map_while(parse).map(|(_, number)| number));
            }
            Some("note") if let Some((person, number)) = words.next().and_then(parse) => {
                count(self.notes.entry(key(person, number)).or_default(), message.marked);
            }
            _ if text.trim_start_matches(AGAIN).starts_with("I was interrupted while running") => {
                let says = message.says.last().cloned().unwrap_or_default();
                // A repeated question replaces the first one.
                self.choices.retain(|(_, known)| *known != says);
                self.choices.push((message.id, says));
            }
            _ if text.contains("I continue without it.") => self.settled += 1,
            _ if is_choice_reply(text) || is_about_open_question(text) || is_outcome(text) => {}
            _ if is_command_reply(text) => {
                let (plain, marked) = &mut self.command_replies;
                *if message.marked { marked } else { plain } += 1;
            }
            _ if is_unconfirmed_command_reply(text) => self.command_replies.1 += 1,
            _ => self.fail(said, text),
        }
    }

    fn read_answer(&mut self, message: &ShownMessage, numbers: impl Iterator<Item = u32>) {
        let numbers: Vec<u32> = numbers.collect();
        let text = message.text.clone();
        if !text.ends_with(END) {
            match numbers.first() {
                Some(first) => self.begun.entry(*first).or_default().push(text),
                None => self.unfinished.push((u32::MAX, text)),
            }
            return;
        }
        for number in numbers {
            if !self.replies.contains_key(&number) {
                self.order.push(number);
            }
            count(self.replies.entry(number).or_default(), message.marked);
        }
    }

    /// Reports incomplete answers. A preview of unknown outcome may stay incomplete only if its
    /// answer is sent again, marked (F5).
    fn give_up(&mut self, never_doubles: bool) {
        for (number, texts) in mem::take(&mut self.begun) {
            let is_said_again = !never_doubles && matches!(self.replies.get(&number), Some((0, 1)));
            if !is_said_again || texts.len() > 1 {
                self.unfinished.extend(texts.into_iter().map(|text| (number, text)));
            }
        }
        for (number, answer) in mem::take(&mut self.long) {
            let unfinished = answer.unfinished(never_doubles);
            self.unfinished.extend(unfinished.into_iter().map(|text| (number, text)));
            for (number, copies) in answer.replies() {
                self.replies.insert(number, copies);
            }
        }
    }

    fn fail(&mut self, said: u32, text: &str) {
        let newest = self.replies.keys().chain(self.failed.keys()).max();
        let oldest = newest.map_or(0, |newest| newest + 1);
        for number in named(text, oldest) {
            if number < said {
                self.failed.insert(number, text.to_owned());
            } else {
                self.surprises.insert(text.to_owned());
            }
        }
    }
}

fn count((plain, marked): &mut (u32, u32), is_marked: bool) {
    if is_marked { *marked += 1 } else { *plain += 1 }
}
