//! The port that fetches files from addresses on the web, which programs and people name.

use std::fmt;

use async_trait::async_trait;

use crate::channel::FetchError;

/// A file from an address. It is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressFile {
    /// The name at the end of the address, which may be empty or odd.
    pub name: String,
    /// The media type that the server has named, without parameters.
    pub media_type: Option<String>,
    /// The whole file, within the limit of the fetch.
    pub bytes: Vec<u8>,
}

/// Fetches files from the web. It refuses addresses of this host and of private networks, also behind
/// redirects.
#[async_trait]
pub trait FetchAddress: fmt::Debug + Send + Sync {
    /// Fetches a file of at most `limit` bytes.
    ///
    /// # Errors
    /// [`FetchError`] if the address is refused, the server has no such file, or it is too large.
    async fn fetch_address(&self, url: &str, limit: u64) -> Result<AddressFile, FetchError>;
}
