//! Requests to the Bot API. teloxide describes them, but they are sent here: its own sender drops
//! the status of an answer and sleeps for 10 s after each 5xx.

use std::time::Duration;

use avocet_protocol::{Clock, Secret, plain_json, within};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::multipart::Form;
use reqwest::{ClientBuilder, Proxy, RequestBuilder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teloxide::net::default_reqwest_settings;
use teloxide::requests::Payload;
use teloxide::types::MessageId;

use crate::TelegramError;
use crate::fault::{BotApiError, Parameters};

/// The timeout of a request, in addition to the time that a poll stays open.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// The timeout of a short request of the receive loop.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The timeout of the largest upload. The outbox has its own, by the file's size.
const UPLOAD_LIMIT: Duration = Duration::from_mins(10);

/// The Bot API of one bot.
pub(crate) struct Api {
    bot: teloxide::Bot,
}

/// A message that was sent or edited.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct MessageReceipt {
    message_id: i32,
}

impl MessageReceipt {
    pub(crate) fn id(self) -> MessageId {
        MessageId(self.message_id)
    }
}

/// The envelope of an answer (Bot API, "Making requests").
#[derive(Deserialize)]
struct ApiEnvelope<T> {
    ok: bool,
    result: Option<T>,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<Parameters>,
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
        let body = serde_json::to_vec(&payload)
            .map_err(|_| BotApiError::NotSent("it cannot be written"))?;
        let request = self.post(P::NAME)?.header(CONTENT_TYPE, "application/json").body(body);
        answer(P::NAME, request).await
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

    /// Calls a method that takes files. `T` is the type of its result.
    ///
    /// # Errors
    /// [`BotApiError`] if the request fails or the platform refuses it.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        form: Form,
    ) -> Result<T, BotApiError> {
        answer(method, self.post(method)?.timeout(UPLOAD_LIMIT).multipart(form)).await
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

async fn answer<T: DeserializeOwned>(
    method: &str,
    request: RequestBuilder,
) -> Result<T, BotApiError> {
    let response = request.send().await.map_err(|error| BotApiError::of(&error))?;
    let status = response.status();
    let header = response.headers().get(RETRY_AFTER);
    let retry_after = header.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
    let retry_after = retry_after.map(Duration::from_secs);
    let body = response.bytes().await;
    if !status.is_success() {
        // If the body is cut off, the status is enough.
        let reply = serde_json::from_slice(&body.unwrap_or_default()).ok();
        return Err(refused(status.as_u16(), reply, retry_after));
    }
    let body = body.map_err(|error| BotApiError::of(&error))?;
    match serde_json::from_slice(&body) {
        Ok(ApiEnvelope { ok: true, result: Some(result), .. }) => Ok(result),
        Ok(ApiEnvelope { ok: true, .. }) => Err(unreadable(method, "`result` is missing")),
        Err(error) => Err(unreadable(method, &plain_json(&error))),
        Ok(reply) => Err(refused(status.as_u16(), Some(without_result(reply)), retry_after)),
    }
}

/// Logs the fault of an answer. Its status was good, so that another server may have sent it.
fn unreadable(method: &str, fault: &str) -> BotApiError {
    tracing::warn!(
        method,
        fault,
        "cannot read an answer of Telegram; check that `api_url` is a Bot API server"
    );
    BotApiError::Broken("the answer cannot be read")
}

fn without_result<T>(reply: ApiEnvelope<T>) -> ApiEnvelope<()> {
    let ApiEnvelope { ok, error_code, description, parameters, .. } = reply;
    ApiEnvelope { ok, result: None, error_code, description, parameters }
}

/// The fault of an error response. `reply` is `None` if another server wrote the body.
fn refused(
    status: u16,
    reply: Option<ApiEnvelope<()>>,
    retry_after: Option<Duration>,
) -> BotApiError {
    let Some(reply) = reply.filter(|reply| !reply.ok) else {
        return BotApiError::answered(status, None, None, retry_after);
    };
    let code = reply.error_code.unwrap_or(status);
    BotApiError::answered(code, reply.description, reply.parameters, retry_after)
}
