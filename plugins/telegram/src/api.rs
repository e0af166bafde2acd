//! Requests to the Bot API. teloxide describes them, but they are sent here: its own sender drops
//! the status of an answer and sleeps for 10 s after each 5xx.

use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use avocet_text::Secret;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::multipart::Form;
use reqwest::{ClientBuilder, Proxy, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use teloxide::net::default_reqwest_settings;
use teloxide::requests::Payload;
use teloxide::types::MessageId;

use crate::TelegramError;
use crate::envelope::ApiEnvelope;
use crate::fault::BotApiError;
use crate::numbers::read_integer;
use crate::update::{self, GetUpdates, PolledUpdates};

/// The timeout of a request, in addition to the time that a poll stays open.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// The timeout of a short request of the receive loop.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The pauses before the repeats of a lost request that does no harm.
const REPEATS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// The timeout of the largest upload. The outbox has its own, by the file's size.
const UPLOAD_LIMIT: Duration = Duration::from_mins(10);

/// The Bot API of one bot.
pub(crate) struct Api {
    bot: teloxide::Bot,
}

/// The result of a method that sends or edits a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageReceipt {
    /// `None` if the platform describes the message in an unreadable way, or shows it to one person
    /// only. The message exists.
    pub(crate) id: Option<MessageId>,
}

impl MessageReceipt {
    pub(crate) fn read(message: &Value) -> Self {
        // A message that only one person sees has the number 0.
        let id = read_integer(&message["message_id"]).filter(|id| *id != 0);
        Self { id: id.and_then(|id| id.try_into().ok()).map(MessageId) }
    }
}

/// A whole answer of the server.
struct WholeAnswer {
    status: StatusCode,
    /// The header `Retry-After`.
    retry_after: Option<Duration>,
    body: reqwest::Result<Bytes>,
}

impl Api {
    /// # Errors
    /// [`TelegramError`] if `api_url` is invalid or the HTTP client cannot be created.
    pub(crate) fn new(
        token: &Secret,
        api_url: &str,
        poll_seconds: u32,
        proxy: Option<Proxy>,
    ) -> Result<Self, TelegramError> {
        let client = default_reqwest_settings()
            .timeout(Duration::from_secs(u64::from(poll_seconds)) + REQUEST_LIMIT)
            .no_proxy();
        let client = proxy
            .into_iter()
            .fold(client, ClientBuilder::proxy)
            .build()
            .map_err(|error| TelegramError::Client(error.without_url().to_string()))?;
        let url: reqwest::Url = api_url.parse().map_err(|_| TelegramError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(TelegramError::Url);
        }
        let bot = teloxide::Bot::with_client(token.expose(), client).set_api_url(url);
        Ok(Self { bot })
    }

    /// teloxide's client, which downloads files.
    pub(crate) fn bot(&self) -> &teloxide::Bot {
        &self.bot
    }

    pub(crate) fn host(&self) -> Option<String> {
        self.bot.api_url().host_str().map(str::to_owned)
    }

    /// Returns `true` for Telegram's own server, which the configuration need not name.
    pub(crate) fn is_official(&self) -> bool {
        self.bot.api_url().host_str() == Some("api.telegram.org")
    }

    /// Calls a method. `T` is the type of its result.
    ///
    /// # Errors
    /// [`BotApiError`] if the request fails or the platform refuses it.
    pub(crate) async fn call<T, P>(&self, payload: P) -> Result<T, BotApiError>
    where
        T: DeserializeOwned,
        P: Payload + Serialize,
    {
        let answer = WholeAnswer::receive(self.request(&payload)?).await?;
        let result = answer.result(P::NAME)?.unwrap_or_default();
        update::read(&result).ok_or_else(|| unreadable(P::NAME))
    }

    /// Works as [`Self::call`], with a timeout of the given clock.
    ///
    /// # Errors
    /// [`BotApiError`] if the request fails or times out, or the platform refuses it.
    pub(crate) async fn call_within<T, P>(
        &self,
        clock: &dyn Clock,
        limit: Duration,
        payload: P,
    ) -> Result<T, BotApiError>
    where
        T: DeserializeOwned,
        P: Payload + Serialize,
    {
        let answered = within(clock, limit, self.call(payload)).await;
        answered.unwrap_or_else(|_| Err(BotApiError::timed_out()))
    }

    /// Works as [`Self::call_within`], for a method that does no harm if it is carried out twice. A
    /// request that a connection or a proxy has lost is repeated after a moment.
    ///
    /// # Errors
    /// The [`BotApiError`] of the last request.
    pub(crate) async fn call_with_repeats<T, P>(
        &self,
        clock: &dyn Clock,
        limit: Duration,
        payload: P,
    ) -> Result<T, BotApiError>
    where
        T: DeserializeOwned,
        P: Payload + Serialize + Clone,
    {
        for pause in REPEATS {
            match self.call_within(clock, limit, payload.clone()).await {
                Err(fault) if fault.may_pass_soon() => clock.sleep(pause).await,
                answered => return answered,
            }
        }
        self.call_within(clock, limit, payload).await
    }

    /// Calls a method that sends or edits a message. A result that cannot be read is no error,
    /// because the platform has acted.
    ///
    /// # Errors
    /// [`BotApiError`] if the request fails or the platform refuses it.
    pub(crate) async fn send<P>(&self, payload: P) -> Result<MessageReceipt, BotApiError>
    where
        P: Payload + Serialize,
    {
        let answer = WholeAnswer::receive(self.request(&payload)?).await?;
        let result = answer.result(P::NAME)?.unwrap_or_default();
        Ok(MessageReceipt::read(&result))
    }

    /// Calls `getUpdates`. A list that cannot be decoded is no error, because the next request would
    /// get the same bytes.
    ///
    /// # Errors
    /// [`BotApiError`] if the request fails or times out, or the platform refuses it.
    pub(crate) async fn get_updates(
        &self,
        clock: &dyn Clock,
        limit: Duration,
        payload: GetUpdates,
    ) -> Result<PolledUpdates, BotApiError> {
        let polling = async {
            let answer = WholeAnswer::receive(self.request(&payload)?).await?;
            match answer.result(GetUpdates::NAME) {
                Ok(Some(Value::Array(updates))) => Ok(PolledUpdates::Decoded(updates)),
                Ok(_) => Ok(PolledUpdates::Undecodable { first: answer.first_update_id() }),
                Err(fault) => match answer.first_update_id() {
                    Some(first) if answer.status.is_success() => {
                        Ok(PolledUpdates::Undecodable { first: Some(first) })
                    }
                    _ => Err(fault),
                },
            }
        };
        within(clock, limit, polling).await.unwrap_or_else(|_| Err(BotApiError::timed_out()))
    }

    /// Calls a method that sends files. Returns its result, `null` if it cannot be read.
    ///
    /// # Errors
    /// [`BotApiError`] if the request fails or the platform refuses it.
    pub(crate) async fn upload(&self, method: &str, form: Form) -> Result<Value, BotApiError> {
        let request = self.post(method)?.timeout(UPLOAD_LIMIT).multipart(form);
        Ok(WholeAnswer::receive(request).await?.result(method)?.unwrap_or_default())
    }

    fn request<P: Payload + Serialize>(&self, payload: &P) -> Result<RequestBuilder, BotApiError> {
        let body = serde_json::to_vec(payload)
            .map_err(|_| BotApiError::NotSent("it cannot be written"))?;
        Ok(self.post(P::NAME)?.header(CONTENT_TYPE, "application/json").body(body))
    }

    fn post(&self, method: &str) -> Result<RequestBuilder, BotApiError> {
        let mut url = self.bot.api_url();
        let token = self.bot.token();
        url.path_segments_mut()
            .map_err(|()| BotApiError::NotSent("api_url can have no path"))?
            .pop_if_empty()
            .extend([&format!("bot{token}"), method]);
        Ok(self.bot.client().post(url))
    }
}

impl WholeAnswer {
    /// Sends a request and reads the answer to its end.
    async fn receive(request: RequestBuilder) -> Result<Self, BotApiError> {
        let response = request.send().await.map_err(|error| BotApiError::from_reqwest(&error))?;
        let status = response.status();
        let header = response.headers().get(RETRY_AFTER);
        let retry_after = header.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        Ok(Self { status, retry_after, body: response.bytes().await })
    }

    /// The result of the method. `None` if the method was carried out and its result is missing or
    /// cannot be decoded.
    fn result(&self, method: &str) -> Result<Option<Value>, BotApiError> {
        let body = match &self.body {
            Ok(body) => body,
            Err(error) if self.status.is_success() => return Err(BotApiError::from_reqwest(error)),
            // If the body is cut off, the status is enough.
            Err(_) => return Err(self.refused(None)),
        };
        match ApiEnvelope::read(body) {
            Some(envelope) if envelope.is_ok && self.status.is_success() => Ok(envelope.result),
            None if self.status.is_success() => Err(unreadable(method)),
            envelope => Err(self.refused(envelope)),
        }
    }

    /// The fault of an error response. `envelope` is `None` if another server wrote the body.
    fn refused(&self, envelope: Option<ApiEnvelope>) -> BotApiError {
        let status = self.status.as_u16();
        let Some(envelope) = envelope.filter(|envelope| !envelope.is_ok) else {
            return BotApiError::answered(status, None, None, self.retry_after);
        };
        let ApiEnvelope { error_code, description, parameters, .. } = envelope;
        let code = error_code.unwrap_or(status);
        BotApiError::answered(code, description, parameters, self.retry_after)
    }

    fn first_update_id(&self) -> Option<i64> {
        update::find_update_id(self.body.as_ref().ok()?)
    }
}

/// Logs an answer that cannot be read. Its status was good, so that another server may have sent it.
fn unreadable(method: &str) -> BotApiError {
    tracing::warn!(
        method,
        "cannot read an answer of Telegram; check that `api_url` is a Bot API server"
    );
    BotApiError::Broken("the answer cannot be read")
}
