//! Answers that take several messages. Each part must be there, and none twice without a mark.

use std::collections::BTreeMap;

use crate::model::{END, LONG_PARTS, parse_long_part};
use crate::oracle::parse;
use crate::platform::ShownMessage;

/// The end of a message that still grows.
const GOES_ON: char = '…';

/// All that a person has read of one answer.
#[derive(Debug, Default)]
pub(crate) struct LongAnswer {
    /// The messages that it answers.
    numbers: Vec<u32>,
    /// The parts, and the end as part 0: copies without and with a mark.
    parts: BTreeMap<u32, (u32, u32)>,
    /// Texts of messages that still grow.
    growing: Vec<String>,
}

impl LongAnswer {
    /// Returns the first message that a long answer is about, from the first word and the text of
    /// one of its messages; `None` for another text.
    pub(crate) fn find_number(first: &str, text: &str) -> Option<u32> {
        let is_one = first == "done" || parse_long_part(first).is_some();
        let part = text.split_whitespace().find_map(parse_long_part);
        part.filter(|_| is_one).map(|(_, number, _)| number)
    }

    /// Reads a message of the answer. Returns the messages that have their whole answer with it.
    pub(crate) fn read(&mut self, message: &ShownMessage) -> Vec<u32> {
        let text = &message.text;
        if text.ends_with(GOES_ON) {
            self.growing.push(text.clone());
            return Vec::new();
        }
        let mut words = text.split_whitespace().peekable();
        if words.next_if_eq(&"done").is_some() {
            let keys = words.clone().map_while(parse);
            self.numbers = keys.map(|(_, number)| number).collect();
        }
        for (_, _, part) in words.filter_map(parse_long_part) {
            self.count(part, message.marked);
        }
        if !text.ends_with(END) {
            return Vec::new();
        }
        self.count(0, message.marked);
        self.numbers.clone()
    }

    fn count(&mut self, part: u32, is_marked: bool) {
        let (plain, marked) = self.parts.entry(part).or_default();
        *if is_marked { marked } else { plain } += 1;
    }

    fn is_complete(&self) -> bool {
        !self.numbers.is_empty() && (0..=LONG_PARTS).all(|part| self.parts.contains_key(&part))
    }

    /// Returns the answered messages, with the copies of the answer without and with a mark.
    pub(crate) fn replies(&self) -> Vec<(u32, (u32, u32))> {
        if !self.is_complete() {
            return Vec::new();
        }
        let most = |of: fn(&(u32, u32)) -> u32| self.parts.values().map(of).max().unwrap_or(0);
        let copies = (most(|copies| copies.0), most(|copies| copies.1));
        self.numbers.iter().map(|number| (*number, copies)).collect()
    }

    /// Returns texts that should be complete. A message of unknown outcome may stay incomplete if
    /// its part of the answer is sent again, marked (F5).
    pub(crate) fn unfinished(&self, never_doubles: bool) -> Vec<String> {
        let is_said_again = !never_doubles && self.parts.values().any(|(_, marked)| *marked > 0);
        match (self.is_complete(), &self.growing[..]) {
            (true, []) => Vec::new(),
            (true, [_]) if is_said_again => Vec::new(),
            (true, growing) => growing.to_vec(),
            (false, _) => vec![format!("a long answer to {:?}: {:?}", self.numbers, self.parts)],
        }
    }
}
