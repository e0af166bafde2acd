//! The script of one person: messages, and lines that change their handling (queue modes, `/stop`,
//! `/new`, edits). It depends on the seed of the run and the number of the person.

use crate::oracle::key;
use crate::random::Random;

/// Percent of the lines that are of each type.
const STOPS: u64 = 5;
const FORGETS: u64 = 3;
const MODES: u64 = 8;
const EDITS: u64 = 10;

const QUEUE_MODES: [&str; 4] = ["queue", "collect", "steer", "interrupt"];
const INTERRUPT: &str = "interrupt";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScriptLine {
    /// A message that expects an answer.
    Message {
        number: u32,
        text: String,
    },
    /// A correction of the last message, with a new key.
    Edit {
        number: u32,
        text: String,
    },
    Command(&'static str),
}

/// The lines of one person.
pub(crate) struct Script {
    person: usize,
    random: Random,
    kinds: Vec<&'static str>,
    /// `true` if the person's chat supports edits.
    edits: bool,
    said: u32,
    /// The queue mode and the three before it: a message may be accepted before the commands have
    /// acted.
    modes: [&'static str; 4],
    last_was_message: bool,
}

impl Script {
    pub(crate) fn new(person: usize, seed: u64, kinds: Vec<&'static str>, edits: bool) -> Self {
        let random = Random::new(seed.wrapping_add(person as u64).wrapping_mul(0x9E37_79B9));
        let modes = [QUEUE_MODES[0]; 4];
        Self { person, random, kinds, edits, said: 0, modes, last_was_message: false }
    }

    /// Returns the number of messages so far, which is the number of the next one.
    pub(crate) fn said(&self) -> u32 {
        self.said
    }

    pub(crate) fn next(&mut self) -> ScriptLine {
        let roll = self.random.below(100);
        let line = match roll {
            _ if roll < STOPS => ScriptLine::Command("/stop"),
            _ if roll < STOPS + FORGETS => ScriptLine::Command("/new"),
            _ if roll < STOPS + FORGETS + MODES => self.switch(),
            _ if roll < STOPS + FORGETS + MODES + EDITS && self.edits && self.last_was_message => {
                let (number, text) = self.text();
                ScriptLine::Edit { number, text }
            }
            _ => {
                let (number, text) = self.text();
                ScriptLine::Message { number, text }
            }
        };
        self.last_was_message = matches!(line, ScriptLine::Message { .. });
        line
    }

    /// Returns the last message of a run. It is answered, or dropped with a notice, because no
    /// command or edit follows it.
    pub(crate) fn last(&mut self) -> ScriptLine {
        let (number, text) = self.text();
        ScriptLine::Message { number, text }
    }

    /// Returns `true` if a line may end turns of earlier messages.
    pub(crate) fn stops_others(&self, line: &ScriptLine) -> bool {
        match line {
            ScriptLine::Command(command) => matches!(*command, "/stop" | "/new"),
            ScriptLine::Message { .. } | ScriptLine::Edit { .. } => self.modes.contains(&INTERRUPT),
        }
    }

    fn switch(&mut self) -> ScriptLine {
        let place = usize::try_from(self.random.below(QUEUE_MODES.len() as u64)).unwrap();
        self.modes.rotate_right(1);
        self.modes[0] = QUEUE_MODES[place];
        ScriptLine::Command(
            ["/queue queue", "/queue collect", "/queue steer", "/queue interrupt"][place],
        )
    }

    fn text(&mut self) -> (u32, String) {
        let number = self.said;
        self.said += 1;
        let kind = self.kinds[(number as usize + self.person) % self.kinds.len()];
        (number, format!("{} {kind}", key(self.person, number)))
    }
}

/// The beginnings of the replies to commands.
const REPLIES: [&str; 4] =
    ["Stopped.", "There was nothing to stop.", "This is a new conversation:", "The queue mode is "];

pub(crate) fn is_command_reply(text: &str) -> bool {
    REPLIES.iter().any(|reply| text.starts_with(reply))
}

/// Returns `true` for a report that a command's reply may be lost.
pub(crate) fn is_unconfirmed_command_reply(text: &str) -> bool {
    text.starts_with("I could not confirm")
        && REPLIES.iter().any(|reply| text.contains(&format!("“{reply}")))
}

/// Returns `true` for the reply to a choice that skips, and for a report that this reply may be
/// lost.
pub(crate) fn is_choice_reply(text: &str) -> bool {
    ["I continue without it.", "There is nothing to decide"].iter().any(|reply| {
        text.starts_with(reply)
            || text.starts_with("I could not confirm") && text.contains(&format!("“{reply}"))
    })
}

/// Returns `true` for an answer that a person has stopped, as far as it was written.
pub(crate) fn is_stopped_answer(text: &str) -> bool {
    text.ends_with("… (stopped)")
}

/// Returns `true` for a question that has become its outcome.
pub(crate) fn is_outcome(text: &str) -> bool {
    ["Skipped by ", "Run again by ", "Ended, "].iter().any(|start| text.starts_with(start))
}

/// Returns `true` for a notice that a message waits behind a question, and for a report that this
/// notice may be lost.
pub(crate) fn is_about_open_question(text: &str) -> bool {
    ["I am waiting for an answer to my question", "I am waiting for a decision of my owner"]
        .iter()
        .any(|words| text.contains(words))
}
