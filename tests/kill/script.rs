//! What a person says next, and how they change what the daemon does with it: queue modes, `/stop`, `/new`, edits.
//! It follows from the seed of the run and the number of the person.

use crate::oracle::key;
use crate::random::Random;

/// How many in a hundred of what is said is each of these.
const STOPS: u64 = 5;
const FORGETS: u64 = 3;
const MODES: u64 = 8;
const EDITS: u64 = 10;

const QUEUE_MODES: [&str; 4] = ["queue", "collect", "steer", "interrupt"];
const INTERRUPT: &str = "interrupt";

/// The next thing that a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A message that wants an answer.
    Message {
        number: u32,
        text: String,
    },
    /// A correction of the last message, which has the key of a message of its own.
    Edit {
        number: u32,
        text: String,
    },
    Command(&'static str),
}

/// What one person says.
pub(crate) struct Script {
    person: usize,
    random: Random,
    kinds: Vec<&'static str>,
    /// Whether the person can change what was said.
    edits: bool,
    said: u32,
    /// The queue mode, and those before: a message may be accepted before the commands have acted.
    modes: [&'static str; 4],
    last_was_message: bool,
}

impl Script {
    pub(crate) fn new(person: usize, seed: u64, kinds: Vec<&'static str>, edits: bool) -> Self {
        let random = Random::new(seed.wrapping_add(person as u64).wrapping_mul(0x9E37_79B9));
        let modes = [QUEUE_MODES[0]; 4];
        Self { person, random, kinds, edits, said: 0, modes, last_was_message: false }
    }

    /// How many messages were said so far: the number of the next one.
    pub(crate) fn said(&self) -> u32 {
        self.said
    }

    pub(crate) fn next(&mut self) -> Line {
        let roll = self.random.below(100);
        let line = match roll {
            _ if roll < STOPS => Line::Command("/stop"),
            _ if roll < STOPS + FORGETS => Line::Command("/new"),
            _ if roll < STOPS + FORGETS + MODES => self.switch(),
            _ if roll < STOPS + FORGETS + MODES + EDITS && self.edits && self.last_was_message => {
                let (number, text) = self.text();
                Line::Edit { number, text }
            }
            _ => {
                let (number, text) = self.text();
                Line::Message { number, text }
            }
        };
        self.last_was_message = matches!(line, Line::Message { .. });
        line
    }

    /// The last message of a run. No command and no edit follows it, so it is answered, or dropped with a notice.
    pub(crate) fn last(&mut self) -> Line {
        let (number, text) = self.text();
        Line::Message { number, text }
    }

    /// Whether a line may end turns that were begun for earlier messages.
    pub(crate) fn stops_others(&self, line: &Line) -> bool {
        match line {
            Line::Command(command) => matches!(*command, "/stop" | "/new"),
            Line::Message { .. } | Line::Edit { .. } => self.modes.contains(&INTERRUPT),
        }
    }

    fn switch(&mut self) -> Line {
        let place = usize::try_from(self.random.below(QUEUE_MODES.len() as u64)).unwrap();
        self.modes.rotate_right(1);
        self.modes[0] = QUEUE_MODES[place];
        Line::Command(["/queue queue", "/queue collect", "/queue steer", "/queue interrupt"][place])
    }

    fn text(&mut self) -> (u32, String) {
        let number = self.said;
        self.said += 1;
        let kind = self.kinds[(number as usize + self.person) % self.kinds.len()];
        (number, format!("{} {kind}", key(self.person, number)))
    }
}

/// How replies of commands begin.
const REPLIES: [&str; 4] =
    ["Stopped.", "I was not doing anything.", "I start afresh:", "The queue mode is "];

pub(crate) fn is_command_reply(text: &str) -> bool {
    REPLIES.iter().any(|reply| text.starts_with(reply))
}

/// Whether this is the report that a command's reply may not have arrived.
pub(crate) fn is_unconfirmed_command_reply(text: &str) -> bool {
    text.starts_with("I could not confirm")
        && REPLIES.iter().any(|reply| text.contains(&format!("“{reply}")))
}

/// Whether this tells a chat that its message waits behind a question, or reports that this may not have arrived.
pub(crate) fn is_about_open_question(text: &str) -> bool {
    ["I am waiting for an answer to my question", "I am waiting until my owner has decided"]
        .iter()
        .any(|words| text.contains(words))
}
