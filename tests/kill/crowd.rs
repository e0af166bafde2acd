//! People on a platform: what they say is kept there, and what they make of what they read.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::Shared;
use crate::model::{END, KINDS, SLOW};
use crate::oracle::{key, parse};
use crate::person::pause;
use crate::platform::{Platform, Shown};

/// Messages that a person says without waiting for the answers.
const AHEAD: usize = 2;
/// How often people look at the platform.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Looks after which a person presses a button again that nothing came of: platforms lose that.
const PATIENT_LOOKS: u32 = 150;
/// Looks before a person presses a button at all: people think first, and a kill may come meanwhile.
const THOUGHT: u32 = 75;
/// What a question begins with that is asked again.
const AGAIN: &str = "Still to be decided:\n";

/// One of them.
pub(crate) struct Speaker {
    number: usize,
    said: u32,
    heard: Heard,
    /// Choices that are open, and for how many looks nothing was pressed.
    pressed: BTreeMap<u64, u32>,
}

/// What one person has read, in all.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Replies and their marked copies, by message.
    pub(crate) replies: BTreeMap<u32, (u32, u32)>,
    /// What the message tool said, likewise.
    pub(crate) notes: BTreeMap<String, (u32, u32)>,
    /// The order of the first replies.
    pub(crate) order: Vec<u32>,
    pub(crate) failed: BTreeMap<u32, String>,
    /// Answers that are not whole, and are not known to be given up.
    pub(crate) unfinished: Vec<String>,
    /// Those of which nothing more is known, by message.
    begun: BTreeMap<u32, Vec<String>>,
    pub(crate) surprises: BTreeSet<String>,
    /// Choices that are not settled: the message and what its last button says.
    choices: Vec<(u64, String)>,
    settled: usize,
}

/// Talks until there is nothing more to say and everything is answered.
pub(crate) async fn talk(platform: Arc<Platform>, people: Range<usize>, oracle: Shared) {
    let mut speakers: Vec<Speaker> = people.map(Speaker::new).collect();
    loop {
        let mut shown = platform.shown();
        for speaker in &mut speakers {
            let read = shown.remove(&speaker.number).unwrap_or_default();
            speaker.heard = hear(speaker.said, &read, platform.never_doubles());
            speaker.press(&platform);
            speaker.say_more(&platform, &oracle);
            oracle.hear(speaker.number, &speaker.heard);
        }
        if oracle.is_quiet() && speakers.iter().all(Speaker::is_content) {
            return;
        }
        pause(LOOK_AGAIN).await;
    }
}

impl Speaker {
    fn new(number: usize) -> Self {
        Self { number, said: 0, heard: Heard::default(), pressed: BTreeMap::new() }
    }

    fn is_content(&self) -> bool {
        self.open() == 0 && self.heard.unfinished.is_empty()
    }

    fn open(&self) -> usize {
        let is_open = |number: &u32| {
            !self.heard.replies.contains_key(number) && !self.heard.failed.contains_key(number)
        };
        (0..self.said).filter(is_open).count()
    }

    fn say_more(&mut self, platform: &Platform, oracle: &Shared) {
        while self.open() < AHEAD && !oracle.is_quiet() {
            let key = key(self.number, self.said);
            let kinds = KINDS.len() + 1;
            let kind = KINDS.get((self.said as usize + self.number) % kinds).unwrap_or(&SLOW);
            oracle.asked(&key);
            platform.say(self.number, &format!("{key} {kind}"));
            self.said += 1;
        }
    }

    /// Whether the effect took place is known to the oracle alone: it is never run again.
    fn press(&mut self, platform: &Platform) {
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

/// What a person who has said so many messages makes of what the chat shows.
fn hear(said: u32, shown: &[Shown], never_doubles: bool) -> Heard {
    let mut heard = Heard::default();
    for message in shown {
        heard.read(said, message);
    }
    heard.give_up(never_doubles);
    heard
}

impl Heard {
    fn read(&mut self, said: u32, message: &Shown) {
        let text = &message.text;
        let mut words = text.split_whitespace();
        match (words.next(), words.next().and_then(parse)) {
            (Some("done"), Some((_, number))) if text.ends_with(END) => {
                if !self.replies.contains_key(&number) {
                    self.order.push(number);
                }
                count(self.replies.entry(number).or_default(), message.marked);
            }
            (Some("done"), Some((_, number))) => {
                self.begun.entry(number).or_default().push(text.clone());
            }
            (Some("done"), None) => self.unfinished.push(text.clone()),
            (Some("note"), Some((person, number))) => {
                count(self.notes.entry(key(person, number)).or_default(), message.marked);
            }
            _ if text.trim_start_matches(AGAIN).starts_with("I was interrupted while running") => {
                let says = message.says.last().cloned().unwrap_or_default();
                // What is asked again is the same question.
                self.choices.retain(|(_, known)| *known != says);
                self.choices.push((message.id, says));
            }
            _ if text == "I go on without it." => self.settled += 1,
            _ if text.starts_with("There is nothing to decide") => {}
            _ => self.fail(said, text),
        }
    }

    /// A preview of unknown outcome stays as it is where its answer is said again, marked, and in no
    /// other way (F5); of anything else that was begun the rest is missing.
    fn give_up(&mut self, never_doubles: bool) {
        for (number, texts) in mem::take(&mut self.begun) {
            let is_said_again = !never_doubles && matches!(self.replies.get(&number), Some((0, 1)));
            if !is_said_again || texts.len() > 1 {
                self.unfinished.extend(texts);
            }
        }
    }

    /// An error, or the notice that a message was dropped: it names the message, or is about the
    /// oldest.
    fn fail(&mut self, said: u32, text: &str) {
        let named = text.split(|c: char| !c.is_alphanumeric()).find_map(parse);
        let oldest = || (0..said).find(|number| !self.replies.contains_key(number));
        match named.map(|(_, number)| number).or_else(oldest) {
            Some(number) => drop(self.failed.insert(number, text.to_owned())),
            None => drop(self.surprises.insert(text.to_owned())),
        }
    }
}

fn count((plain, marked): &mut (u32, u32), is_marked: bool) {
    if is_marked { *marked += 1 } else { *plain += 1 }
}
