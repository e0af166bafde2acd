//! A fake speaker with scripted answers.

use std::collections::VecDeque;

use async_trait::async_trait;
use avocet_protocol::model::{AudioError, Money, Speak, Spent, Usage, estimated_tokens};
use parking_lot::Mutex;

use crate::speech::opus;

/// Gives these answers in order. The last one repeats.
#[derive(Debug)]
pub struct FakeSpeaker {
    answers: Mutex<VecDeque<Result<Vec<u8>, AudioError>>>,
    spoken: Mutex<Vec<String>>,
}

impl Default for FakeSpeaker {
    /// Speaks every text.
    fn default() -> Self {
        Self::new([Ok(opus())])
    }
}

impl FakeSpeaker {
    /// The most characters of a text.
    pub const MAX_CHARACTERS: usize = 60;
    /// The cost of a text.
    pub const COST: Money = Money(1000);

    /// Returns a speaker with these answers. At least one is required.
    #[must_use]
    pub fn new(answers: impl IntoIterator<Item = Result<Vec<u8>, AudioError>>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self { answers, spoken: Mutex::default() }
    }

    /// Returns the texts so far.
    #[must_use]
    pub fn spoken(&self) -> Vec<String> {
        self.spoken.lock().clone()
    }
}

#[async_trait]
impl Speak for FakeSpeaker {
    fn max_characters(&self) -> usize {
        Self::MAX_CHARACTERS
    }

    fn cost(&self, text: &str) -> Spent {
        let (model, usage) = ("speech/fake".to_owned(), Usage::new(estimated_tokens(text), 0));
        Spent { model, usage, cost: Some(Self::COST) }
    }

    async fn speak(&self, text: &str) -> Result<Vec<u8>, AudioError> {
        assert!(text.chars().count() <= Self::MAX_CHARACTERS, "too long: {text}");
        self.spoken.lock().push(text.to_owned());
        let mut answers = self.answers.lock();
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        }
    }
}
