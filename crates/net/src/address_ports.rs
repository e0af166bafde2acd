//! The ports of a guarded client: the host's own addresses, the resolver, and the connections.

use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::Url;

use crate::error::NetError;

/// Provides the current addresses of the host.
pub trait OwnAddresses: std::fmt::Debug + Send + Sync {
    /// Returns all addresses. Called before each request, because they change.
    fn own_addresses(&self) -> Vec<IpAddr>;
}

/// A host whose addresses do not change.
impl OwnAddresses for Vec<IpAddr> {
    fn own_addresses(&self) -> Vec<IpAddr> {
        self.clone()
    }
}

/// Looks up the addresses of hosts before they are judged.
#[async_trait]
pub trait ResolveNames: std::fmt::Debug + Send + Sync {
    /// Returns all addresses of a name. Empty if the lookup fails.
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr>;
}

/// Opens a connection and sends a request.
#[async_trait]
pub trait DialAddress: std::fmt::Debug + Send + Sync {
    /// Sends a request to one of the addresses in `to` only, regardless of the URL. Posts `body` as
    /// JSON if it is present, else sends a `GET`. Errors and logs omit the headers. Returns when
    /// the answer begins. Redirects are returned as answers.
    ///
    /// # Errors
    /// [`NetError`] if the request fails before an answer begins.
    async fn send_request(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        to: &[SocketAddr],
    ) -> Result<Box<dyn DialResponse>, NetError>;
}

/// An answer whose status and headers have arrived. The body is read from it.
#[async_trait]
pub trait DialResponse: Send {
    /// The status code.
    fn status(&self) -> u16;

    /// Returns the first value of a header. The name is in lower case.
    fn first_header(&self, name: &str) -> Option<&str>;

    /// Returns every value of a header, one for each line.
    fn all_headers(&self, name: &str) -> Vec<String>;

    /// Returns the next piece of the body, or `None` at its end.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends too early.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, NetError>;
}
