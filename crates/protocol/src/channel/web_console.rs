//! The ports of the web console: links that open it, and files that people upload there.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chat::ChatAddress;
use crate::clock::Timestamp;
use crate::ids::SenderId;

/// The channel of the console's chats.
pub const WEB_CHANNEL: &str = "web";
/// The only account of the channel.
pub const WEB_ACCOUNT: &str = "console";

/// A link that opens the console once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebLink {
    /// The address, with a one-time code behind `#`. A browser sends that part to no server.
    pub url: String,
    /// The time at which the code ends.
    pub expires_at: Timestamp,
}

/// A browser that is signed in to the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebBrowser {
    /// Its id: eight hexadecimal digits.
    pub id: String,
    /// The person who made its link.
    pub sender: SenderId,
    /// The name that it gave itself at its sign-in, such as `Firefox on Linux`.
    pub name: String,
    /// The time of its sign-in.
    pub signed_in_at: Timestamp,
    /// The end of its token.
    pub expires_at: Timestamp,
    /// Its last request since the start of the daemon.
    #[serde(default)]
    pub seen_at: Option<Timestamp>,
}

/// The reason why the console does not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The request has to change.
    #[error("{0}")]
    Refused(String),
    /// The same request may succeed later.
    #[error("{0}")]
    Failed(String),
}

/// Opens the web console to browsers.
#[async_trait]
pub trait WebConsole: fmt::Debug + Send + Sync {
    /// Makes a link for a person. Without `[http]`, it first opens a port of the loopback address,
    /// which later starts open again: `port`; if `None`, that of an earlier link, 8470, or any free
    /// port.
    ///
    /// # Errors
    /// [`WebError`] names the fault and its correction.
    async fn open(&self, sender: &SenderId, port: Option<u16>) -> Result<WebLink, WebError>;

    /// The browsers that are signed in, the last sign-in first.
    fn browsers(&self) -> Vec<WebBrowser>;

    /// Signs out a browser. Without an id, it signs out all of them and ends all codes.
    ///
    /// # Errors
    /// [`WebError::Refused`] if there is no such browser. [`WebError::Failed`]: the tokens are still
    /// valid.
    async fn sign_out(&self, browser: Option<&str>) -> Result<(), WebError>;
}

/// A file of the built console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebAsset {
    /// Its path below the root of the console: `index.html`, `assets/app-0123.js`.
    pub path: &'static str,
    /// Its media type (RFC 6838).
    pub media_type: &'static str,
    /// A part of the program.
    pub bytes: &'static [u8],
    /// `true` if the bytes are compressed with gzip (RFC 1952), with the shortest header.
    pub is_gzipped: bool,
}

/// The reason why a file is not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The file is larger than the limit.
    #[error(
        "the file is larger than {} MB; raise [attachments] max_megabytes, or send a smaller file",
        limit / (1024 * 1024)
    )]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// The disk is full.
    #[error("the disk is full: {0}; free some space and send the file again")]
    Full(String),
    /// The file cannot be written for another reason.
    #[error("cannot store the file: {0}")]
    Failed(String),
    /// Stored files cannot be listed, read or removed.
    #[error("cannot read the stored files: {0}")]
    Unreadable(String),
}

/// Keeps the files that people upload in the console, until a week after their last use.
#[async_trait]
pub trait Uploads: fmt::Debug + Send + Sync {
    /// Begins a file.
    ///
    /// # Errors
    /// [`UploadError`] if the file cannot be created.
    async fn begin(&self) -> Result<Box<dyn UploadSink>, UploadError>;

    /// Returns `true` if messages of this chat refer to these files.
    fn serves(&self, chat: &ChatAddress) -> bool;

    /// Returns `true` if there is a file with this reference.
    async fn has(&self, reference: &str) -> bool;
}

/// A file that is being uploaded. It is removed if it is dropped before its end.
#[async_trait]
pub trait UploadSink: fmt::Debug + Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// [`UploadError`]: the file is useless from then on.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), UploadError>;

    /// Ends the file, and returns its reference.
    ///
    /// # Errors
    /// [`UploadError`]: the file is removed.
    async fn finish(self: Box<Self>) -> Result<UploadedFile, UploadError>;
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// The name by which messages refer to it.
    pub reference: String,
    /// Its size in bytes.
    pub bytes: u64,
}
