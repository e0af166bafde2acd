//! Filters a streamed reply: shows text as soon as it can no longer become a call.

use avocet_protocol::model::Delta;

use super::TextEnd;
use super::read::{ParsedReply, ReaderState, ReplyReader};

/// A reply while it streams.
#[derive(Debug)]
pub(crate) struct StreamedReply<'t> {
    reader: ReplyReader<'t>,
    whole: String,
    state: ReaderState,
    /// Bytes of `whole` that were read.
    at: usize,
    /// The length of `whole` at which reading is tried again.
    patience: usize,
    /// The text that was shown.
    shown: String,
}

impl<'t> StreamedReply<'t> {
    /// Starts an empty reply.
    pub(crate) fn new(reader: ReplyReader<'t>) -> Self {
        let state = ReaderState::default();
        Self { reader, whole: String::new(), state, at: 0, patience: 0, shown: String::new() }
    }

    /// Adds the next piece, and shows the text that is certain.
    pub(crate) fn push(&mut self, piece: &str, show: impl Fn(Delta<'_>)) {
        self.whole.push_str(piece);
        // After a call, the text is certain only at the end.
        if !self.state.read.calls.is_empty() || self.whole.len() < self.patience {
            return;
        }
        self.at += self.state.advance_text(&self.reader, &self.whole[self.at..], false);
        // Withheld text is read again and again, at growing intervals, so that the cost stays a
        // multiple of its length.
        self.patience = self.whole.len() + (self.whole.len() - self.at) / 8;
        if !self.state.read.calls.is_empty() {
            return;
        }
        // Blanks count only if text follows. Until then, copying them with every piece is avoided.
        if self.shown.is_empty() && self.state.read.text.is_empty() {
            return;
        }
        let text = self.state.so_far(self.shown.len());
        if !text.is_empty() {
            show(Delta::Text(&text));
            self.shown.push_str(&text);
        }
    }

    /// Discards everything: the request is retried.
    pub(crate) fn discard_shown(&mut self) {
        *self = Self::new(self.reader);
    }

    /// Parses the complete reply `text`.
    pub(crate) fn read(&self, text: &str, end: TextEnd) -> ParsedReply {
        self.reader.read(text, end)
    }

    /// Shows the rest of the final text.
    pub(crate) fn finish_text(self, text: &str, show: impl Fn(Delta<'_>)) {
        match text.strip_prefix(&self.shown) {
            Some("") => {}
            Some(rest) => show(Delta::Text(rest)),
            // The text lacks the blanks before a call, but they are invisible.
            None if self.shown.trim_end() == text => {}
            None => {
                show(Delta::Restart);
                show(Delta::Text(text));
            }
        }
    }
}
