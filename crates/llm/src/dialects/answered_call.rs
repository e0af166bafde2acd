//! A call of a tool, together with its result.

use avocet_protocol::model::SentCall;

/// A call and its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnsweredCall<'m> {
    pub(crate) call: &'m SentCall,
    /// `true` if the call succeeded.
    pub(crate) ok: bool,
    /// JSON or plain text; `{"error": ...}` if the call failed.
    pub(crate) result: &'m str,
}
