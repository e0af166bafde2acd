//! Long-term memory.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::{Timestamp, Trust};

/// Long-term memory, reading side. Written through [`LogWrite::Note`](crate::LogWrite::Note).
#[async_trait]
pub trait Notes: fmt::Debug + Send + Sync {
    /// Notes that match any word of `query`, best first; the newest if `query` is empty.
    async fn search(&self, query: &str, limit: u32) -> Result<Vec<Note>>;
}

/// Something that was to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its number.
    pub id: i64,
    /// When it was written.
    pub written_at: Timestamp,
    /// The text.
    pub text: String,
    /// That of the request in which it was written.
    pub trust: Trust,
}
