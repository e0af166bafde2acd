//! The errors of requests, and the check of the URLs that they need.

use reqwest::Url;

/// An error before the answer begins, or while its body is read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// An unusable URL, key or header. The operator has to correct it.
    #[error("{0}")]
    Invalid(String),
    /// The connection failed before the request was sent.
    #[error("no connection: {0}")]
    Connect(String),
    /// The connection broke, or the server does not speak HTTP.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The server sends more than the limit, in bytes.
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
}

/// Checks that requests can be sent to this URL.
///
/// # Errors
/// [`NetError::Invalid`] names the fault, without the URL.
pub fn check_url(url: &str) -> Result<(), NetError> {
    let parsed = Url::parse(url).ok();
    match parsed.as_ref().map(|url| (url.scheme(), url.host())) {
        Some(("http" | "https", Some(_))) => Ok(()),
        _ => Err(NetError::Invalid(
            "it is not the URL of a server: it must begin with http:// or https:// and a host"
                .to_owned(),
        )),
    }
}
