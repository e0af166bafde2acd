//! The port of a channel's HTTP endpoint, to which its platform posts updates. The server knows only
//! this port.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::ids::{AccountName, ChannelName};

/// An HTTP endpoint of a channel. The server checks the header before it reads the body.
#[async_trait]
pub trait Webhook: fmt::Debug + Send + Sync {
    /// The host under which the platform reaches the endpoint, with its port unless that is the
    /// default one of HTTPS.
    fn public_host(&self) -> String;

    /// The header that proves the origin of a request, in lower case.
    fn header(&self) -> &'static str;

    /// Checks the value of the header. Takes the same time for every wrong value of one length.
    fn is_genuine(&self, value: &[u8]) -> bool;

    /// Takes the body of a genuine request. Returns after the commit.
    ///
    /// # Errors
    /// [`WebhookError`]: the platform has to send the request again.
    async fn receive(&self, body: &[u8]) -> Result<(), WebhookError>;
}

/// The endpoint of an account, at the path `/CHANNEL/ACCOUNT`.
#[derive(Debug, Clone)]
pub struct ChannelWebhook {
    /// The first part of the path.
    pub channel: ChannelName,
    /// The second part of the path.
    pub account: AccountName,
    /// Takes the bodies of the requests.
    pub endpoint: Arc<dyn Webhook>,
}

/// The reason why the body of a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The body has an unexpected form.
    #[error("{0}")]
    Malformed(String),
    /// The same request may succeed later.
    #[error("{0}")]
    Unavailable(String),
}
