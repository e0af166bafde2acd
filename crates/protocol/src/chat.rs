//! Messages between people and the agent: their addresses, their contents, both directions.

mod address;
mod content;
mod draft;
mod inbound;
pub mod notices;
mod outbound;
mod poll;
mod recording;

pub use address::{ChatAddress, SessionId};
pub use content::{
    Attachment, AttachmentKind, AttachmentSource, Choice, Content, Quote, Style, StyleRange,
    Transcript, WAIT,
};
pub use draft::DraftError;
pub use inbound::{
    ChatKind, Cursor, Inbound, InboundKind, LATE, LoggedInbound, NewInbound, Outcome, Sender,
};
pub use outbound::{
    Delivery, LoadedFile, MAX_SENT_FILE_BYTES, Outbound, Planned, REPEAT_MARK, Receipt,
};
pub use poll::Poll;
pub use recording::ANSWER_FILES;
