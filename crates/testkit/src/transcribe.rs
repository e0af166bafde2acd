//! A fake transcriber with scripted answers.

use std::collections::VecDeque;

use async_trait::async_trait;
use avocet_protocol::model::{AudioError, Recording, Transcribe};
use parking_lot::Mutex;

/// Gives these answers in order. The last one repeats.
#[derive(Debug)]
pub struct FakeTranscriber {
    answers: Mutex<VecDeque<Result<String, AudioError>>>,
    heard: Mutex<Vec<Recording>>,
}

impl FakeTranscriber {
    /// Returns a transcriber with these answers. At least one is required.
    #[must_use]
    pub fn new(answers: impl IntoIterator<Item = Result<String, AudioError>>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self { answers, heard: Mutex::default() }
    }

    /// Returns the recordings that were transcribed so far.
    #[must_use]
    pub fn heard(&self) -> Vec<Recording> {
        self.heard.lock().clone()
    }
}

#[async_trait]
impl Transcribe for FakeTranscriber {
    async fn transcribe(&self, recording: Recording) -> Result<String, AudioError> {
        self.heard.lock().push(recording);
        let mut answers = self.answers.lock();
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        }
    }
}
