//! The HTTP endpoint of an account with a webhook. It hands each update to the receive loop, and
//! waits for the commit.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use avocet_protocol::channel::{Webhook, WebhookError};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_protocol::model::decode_json;
use avocet_text::{Secret, plain_json};
use parking_lot::Mutex;
use reqwest::Url;
use serde::Serialize;
use serde_json::Value;
use teloxide::requests::Payload;
use tokio::sync::{mpsc, oneshot};

use crate::update::{self, ALLOWED_UPDATES};

/// The header with the secret (Bot API, `setWebhook`).
const HEADER: &str = "x-telegram-bot-api-secret-token";
/// The ports beside 443 to which Telegram posts (Bot API, `setWebhook`).
const PORTS: [u16; 3] = [80, 88, 8443];
/// Updates that wait for the receive loop. Telegram sends one at a time, so the others belong to
/// requests that it has abandoned.
const WAITING: usize = 16;

/// The endpoint of one account.
pub(crate) struct Endpoint {
    url: Url,
    /// Random for each start. The first request of a start makes it known to Telegram.
    secret: Secret,
    /// The queue of the running receive loop.
    queue: Mutex<Option<mpsc::Sender<PostedUpdate>>>,
    /// `true` if an update was taken since the last [`Self::has_taken`].
    taken: AtomicBool,
    /// The last body that could not be decoded.
    undecodable: Mutex<Option<Vec<u8>>>,
}

/// A posted update, whose sender waits for the result.
pub(crate) struct PostedUpdate {
    pub(crate) raw: Value,
    pub(crate) result: oneshot::Sender<Result<(), WebhookError>>,
}

/// `setWebhook` of the Bot API as JSON. The request of teloxide is a form with a certificate.
#[derive(Serialize)]
pub(crate) struct SetWebhook {
    url: String,
    secret_token: String,
    /// Always 1, because Telegram promises no order of the requests on several connections.
    max_connections: u8,
    allowed_updates: &'static [&'static str],
}

impl Payload for SetWebhook {
    type Output = bool;
    const NAME: &'static str = "SetWebhook";
}

/// Checks the public base URL of the HTTP interface.
///
/// # Errors
/// The fault and its correction.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let url = text.parse().ok().filter(Url::has_host);
    let url: Url = url.ok_or_else(|| {
        format!(
            "{text:?} is not a URL; write the public address of the server with TLS in front of \
             [http] listen, such as https://bus.example"
        )
    })?;
    if url.scheme() != "https" {
        return Err(format!(
            "{text:?} does not begin with https://, and Telegram posts only there"
        ));
    }
    if let Some(port) = url.port().filter(|port| !PORTS.contains(port)) {
        return Err(format!("port {port} gets no updates; Telegram posts to 443, 80, 88 and 8443"));
    }
    let is_plain = url.username().is_empty() && url.password().is_none();
    if !is_plain || url.query().is_some() || url.fragment().is_some() {
        return Err(
            "the URL has a user, a query or a fragment; write only the scheme, the host and a \
                    path"
                .to_owned(),
        );
    }
    Ok(url)
}

/// The host in a webhook's URL, whose path may be a secret.
pub(crate) fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

impl Endpoint {
    /// Creates the endpoint below a base URL.
    ///
    /// # Errors
    /// The fault of the URL.
    pub(crate) fn new(
        base: &str,
        channel: &ChannelName,
        account: &AccountName,
    ) -> Result<Self, String> {
        let mut url = base_url(base)?;
        let names = [channel.as_str(), account.as_str()];
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(names);
        }
        let random = [(); 2].map(|()| uuid::Uuid::new_v4().simple().to_string());
        let (queue, taken) = (Mutex::default(), AtomicBool::default());
        let undecodable = Mutex::default();
        Ok(Self { url, secret: Secret::new(random.concat()), queue, taken, undecodable })
    }

    /// Returns the request that makes Telegram post here. Pending updates stay.
    pub(crate) fn set_webhook(&self) -> SetWebhook {
        SetWebhook {
            url: self.url.to_string(),
            secret_token: self.secret.expose().to_owned(),
            max_connections: 1,
            allowed_updates: ALLOWED_UPDATES,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Opens the queue of a new receive loop. Updates are refused after that loop has dropped it.
    pub(crate) fn open(&self) -> mpsc::Receiver<PostedUpdate> {
        let (sender, receiver) = mpsc::channel(WAITING);
        *self.queue.lock() = Some(sender);
        receiver
    }

    /// Records that an update was committed.
    pub(crate) fn took(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if an update was committed since the last call.
    pub(crate) fn has_taken(&self) -> bool {
        self.taken.swap(false, Ordering::Relaxed)
    }

    /// Returns an update to skip if this body, which cannot be decoded, has come before. A proxy may
    /// have damaged the first one, so that one is refused: Telegram then sends the update again, and
    /// no later update until this one is accepted.
    fn skip_repeated(&self, body: &[u8], error: &serde_json::Error) -> Result<Value, WebhookError> {
        let mut last = self.undecodable.lock();
        if last.as_deref() != Some(body) {
            *last = Some(body.to_owned());
            return Err(WebhookError::Malformed(plain_json(error)));
        }
        *last = None;
        let id = update::find_update_id(body);
        tracing::warn!(update = id, "an update of Telegram is no JSON; skipping it");
        Ok(id.map(update::raw_undecodable).unwrap_or_default())
    }

    fn enqueue(&self, posted: PostedUpdate) -> Option<()> {
        let queue = self.queue.lock();
        queue.as_ref()?.try_send(posted).ok()
    }
}

/// Omits the secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Webhook for Endpoint {
    fn public_host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    fn header(&self) -> &'static str {
        HEADER
    }

    fn is_genuine(&self, value: &[u8]) -> bool {
        self.secret.equals(value)
    }

    async fn receive(&self, body: &[u8]) -> Result<(), WebhookError> {
        let raw = match decode_json(body) {
            Ok(raw) => raw,
            Err(error) => self.skip_repeated(body, &error)?,
        };
        let stopped = || WebhookError::Unavailable("the account is not receiving".to_owned());
        let (result, received) = oneshot::channel();
        self.enqueue(PostedUpdate { raw, result }).ok_or_else(stopped)?;
        received.await.unwrap_or_else(|_| Err(stopped()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base: &str) -> Endpoint {
        Endpoint::new(base, &"telegram".parse().unwrap(), &"my bot".parse().unwrap()).unwrap()
    }

    #[test]
    fn endpoint_url_is_below_the_base_url() {
        let table = [
            ("https://bus.example", "https://bus.example/telegram/my%20bot", "bus.example"),
            ("https://bus.example/", "https://bus.example/telegram/my%20bot", "bus.example"),
            (
                "https://Bus.example:8443/a/b/",
                "https://bus.example:8443/a/b/telegram/my%20bot",
                "bus.example:8443",
            ),
            ("https://bus.example:443", "https://bus.example/telegram/my%20bot", "bus.example"),
        ];
        for (base, url, host) in table {
            let endpoint = endpoint(base);
            assert_eq!((endpoint.url(), endpoint.public_host().as_str()), (url, host));
        }
    }

    #[test]
    fn base_url_error_names_the_fault() {
        let table = [
            ("", "is not a URL"),
            ("bus.example", "is not a URL"),
            ("https://", "is not a URL"),
            ("mailto:a@b", "is not a URL"),
            ("http://bus.example", "does not begin with https://"),
            ("https://bus.example:8470", "port 8470"),
            ("https://ann@bus.example", "has a user"),
            ("https://:x@bus.example", "has a user"),
            ("https://bus.example/?a=1", "a query"),
            ("https://bus.example/#a", "a fragment"),
        ];
        for (text, says) in table {
            let error = base_url(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn endpoint_secret_is_valid_random_and_hidden() {
        let endpoints = [(); 2].map(|()| endpoint("https://bus.example"));
        let [one, other] = endpoints.each_ref().map(|one| one.secret.expose());
        assert_ne!(one, other);
        assert!(one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{one}");
        assert!(!format!("{:?}", endpoints[0]).contains(one));
        assert!(endpoints[0].is_genuine(one.as_bytes()));
        assert!(!endpoints[0].is_genuine(other.as_bytes()) && !endpoints[0].is_genuine(b""));
    }
}
