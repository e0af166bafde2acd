//! The port of the long-term memory.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::{Timestamp, Trust};

/// Read access to the long-term memory. Tools write it through
/// [`LogWrite::Note`](crate::LogWrite::Note).
#[async_trait]
pub trait Notes: fmt::Debug + Send + Sync {
    /// Notes that match any word of `query`, best first; the newest if `query` is empty.
    async fn search(&self, query: &str, limit: u32) -> Result<Vec<Note>>;
}

/// A note in the agent's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its number.
    pub id: i64,
    /// The time of writing.
    pub written_at: Timestamp,
    /// The text.
    pub text: String,
    /// The trust of the request in which it was written.
    pub trust: Trust,
}
