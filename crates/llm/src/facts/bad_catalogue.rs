//! The reason why a text is not a catalogue.

/// The reason why a text is not a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadCatalogue(pub(crate) String);
