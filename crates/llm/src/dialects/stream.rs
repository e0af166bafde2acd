//! A reply while it streams: only what is said is shown, and of that only what cannot become a call any
//! more.

use avocet_protocol::Delta;

use super::read::{Read, Reader, State};

/// A reply while it streams.
#[derive(Debug)]
pub(crate) struct Streamed<'t> {
    reader: Reader<'t>,
    whole: String,
    state: State,
    /// Bytes of the whole that are read.
    at: usize,
    /// Bytes that have to be there before it is tried again to read on.
    patience: usize,
    /// What is shown of the text.
    shown: String,
}

impl<'t> Streamed<'t> {
    /// Nothing has come yet.
    pub(crate) fn new(reader: Reader<'t>) -> Self {
        let state = State::default();
        Self { reader, whole: String::new(), state, at: 0, patience: 0, shown: String::new() }
    }

    /// Takes the next piece, and shows what of the text is certain.
    pub(crate) fn push(&mut self, piece: &str, show: impl Fn(Delta<'_>)) {
        self.whole.push_str(piece);
        // After a call, nothing is certain before the end.
        if !self.state.read.calls.is_empty() || self.whole.len() < self.patience {
            return;
        }
        self.at += self.state.advance(&self.reader, &self.whole[self.at..], false);
        // What is held back is read again and again: ever more rarely, so that this costs a multiple
        // of its length at most.
        self.patience = self.whole.len() + (self.whole.len() - self.at) / 8;
        if !self.state.read.calls.is_empty() {
            return;
        }
        // Blanks count once something is said; until then they are not copied with every piece.
        if self.shown.is_empty() && self.state.read.text.is_empty() {
            return;
        }
        let text = self.state.so_far(self.shown.len());
        if !text.is_empty() {
            show(Delta::Text(&text));
            self.shown.push_str(&text);
        }
    }

    /// What was shown does not count: the request is made again.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.reader);
    }

    /// Everything has come. `text` is the reply, `is_cut` if it was cut off.
    pub(crate) fn read(&self, text: &str, is_cut: bool) -> Read {
        self.reader.read(text, is_cut)
    }

    /// Shows what is not shown yet of the text that the reply comes to.
    pub(crate) fn finish(self, text: &str, show: impl Fn(Delta<'_>)) {
        match text.strip_prefix(&self.shown) {
            Some("") => {}
            Some(rest) => show(Delta::Text(rest)),
            // Blanks before a call are not part of the text, but nobody sees them.
            None if self.shown.trim_end() == text => {}
            None => {
                show(Delta::Restart);
                show(Delta::Text(text));
            }
        }
    }
}
