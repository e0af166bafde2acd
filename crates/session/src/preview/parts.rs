//! The messages of a preview. A text that exceeds one message goes on in the next one.

use avocet_protocol::chat::Content;

use super::state::{PreviewState, ShowResult};

/// The messages that this run of the turn has shown, and those that it is to show.
#[derive(Debug)]
pub(super) struct PreviewParts {
    shown: Vec<PreviewPart>,
    wanted: Vec<Content>,
    /// The content of a message for which the text is too short now.
    placeholder: Option<Content>,
}

/// One message of a preview.
#[derive(Debug)]
struct PreviewPart {
    state: PreviewState,
    /// The content that the message certainly shows.
    content: Option<Content>,
}

impl PreviewPart {
    /// Returns `true` if the next message may begin after this one.
    fn is_closed(&self) -> bool {
        matches!(self.state, PreviewState::Complete(..) | PreviewState::Unsure(..))
    }
}

/// A change of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartUpdate {
    /// Its number, from 0.
    pub(super) part: usize,
    pub(super) state: PreviewState,
    pub(super) content: Content,
    /// `true` if the text goes on in another message, so that this one does not change again.
    pub(super) is_complete: bool,
}

impl PartUpdate {
    /// Shows a draft with the same content again.
    pub(super) fn of_draft(content: &Content) -> Self {
        let (state, content) = (PreviewState::Draft, content.clone());
        Self { part: 0, state, content, is_complete: false }
    }
}

impl PreviewParts {
    /// Makes a preview without messages. `placeholder` is the content of messages without text.
    pub(super) fn new(placeholder: Option<Content>) -> Self {
        Self { shown: Vec::new(), wanted: Vec::new(), placeholder }
    }

    /// Sets the messages to show. An empty list leaves the chat as it is.
    pub(super) fn set_wanted(&mut self, wanted: Vec<Content>) {
        self.wanted = wanted;
    }

    /// Returns `true` if no message of the preview changes again.
    pub(super) fn is_over(&self) -> bool {
        self.shown.first().is_some_and(|first| first.state == PreviewState::Over)
    }

    /// Returns the content of the draft that stands for the first message.
    pub(super) fn in_draft(&self) -> Option<&Content> {
        let first = self.shown.first().filter(|first| first.state == PreviewState::Draft);
        first.and_then(|first| first.content.as_ref())
    }

    /// Returns the next change of the first message that differs, so that each message is complete
    /// before the next one begins.
    pub(super) fn next(&self) -> Option<PartUpdate> {
        let last = self.wanted.len().checked_sub(1)?;
        for part in 0..self.shown.len().max(last + 1) {
            let known = self.shown.get(part);
            let state = known.map_or(PreviewState::Nowhere, |known| known.state.clone());
            if state == PreviewState::Over {
                return None;
            }
            let content = self.wanted.get(part).or(self.placeholder.as_ref())?;
            let is_complete = part < last;
            let is_shown = known.is_some_and(|known| {
                known.content.as_ref() == Some(content) && (known.is_closed() || !is_complete)
            });
            if !is_shown {
                return Some(PartUpdate { part, state, content: content.clone(), is_complete });
            }
        }
        None
    }

    /// Notes the result of a change.
    pub(super) fn note_shown(&mut self, part: usize, showed: &ShowResult) {
        let ShowResult { state, content, .. } = showed;
        let shown = PreviewPart { state: state.clone(), content: content.clone() };
        match self.shown.get_mut(part) {
            Some(known) => *known = shown,
            None if shown.state != PreviewState::Nowhere => self.shown.push(shown),
            None => {}
        }
    }
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
