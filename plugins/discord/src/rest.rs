//! Sends requests to the REST API. serenity's builders write the bodies.
//!
//! serenity's own sender either limits the rate but ignores `api_url`, or does not limit it but
//! loses `retry_after` if a 429 lacks its `code`. Here `api_url` applies, and every 429 reports its
//! wait; the outbox waits, as for every channel. While the platform limits the whole bot, no
//! request is made.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::LoadedFile;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::decode_json;
use avocet_text::Secret;
use reqwest::multipart::{Form, Part};
use reqwest::{ClientBuilder, Method, Proxy, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serenity::constants::USER_AGENT;

use crate::error::DiscordError;
use crate::fault::{Limited, RestError};
use crate::limits::RateLimits;
use crate::routes::Route;
use crate::sent_message::SentMessage;

/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a request with files.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// The REST API, as one bot sees it.
pub(crate) struct RestClient {
    client: reqwest::Client,
    /// Opens the connections of the gateway.
    pub(crate) gateway: reqwest::Client,
    /// `true` if all connections go through a proxy.
    pub(crate) has_proxy: bool,
    /// With its prefix `Bot `.
    token: Secret,
    base: String,
    pub(crate) limits: RateLimits,
    clock: Arc<dyn Clock>,
}

/// A successful answer.
pub(crate) struct RestResponse {
    body: Vec<u8>,
    /// Time for which the bucket is empty: until then, requests of this kind are refused.
    pub(crate) exhausted_for: Option<Duration>,
}

impl RestClient {
    /// Makes a client for the API at `api_url`. All its connections go through the proxy, if there
    /// is one.
    ///
    /// # Errors
    /// [`DiscordError`] with the required change.
    pub(crate) fn new(
        token: &Secret,
        api_url: &str,
        proxy: Option<&Proxy>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DiscordError> {
        let token = token.expose().trim();
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        if token.is_empty() {
            return Err(DiscordError::NoToken);
        }
        if !token.chars().all(|c| c.is_ascii_graphic()) {
            return Err(DiscordError::Token);
        }
        let url = reqwest::Url::parse(api_url).map_err(|_| DiscordError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(DiscordError::Url);
        }
        let base = url.as_str().trim_end_matches('/').to_owned();
        let build = |builder: ClientBuilder| {
            let built = builder.build();
            built.map_err(|error| DiscordError::Client(error.without_url().to_string()))
        };
        Ok(Self {
            client: build(client_builder(proxy).timeout(REQUEST_TIMEOUT))?,
            // A websocket begins as HTTP 1.1, and has no timeout as a whole.
            gateway: build(client_builder(proxy).http1_only())?,
            has_proxy: proxy.is_some(),
            token: Secret::new(format!("Bot {token}")),
            base,
            limits: RateLimits::default(),
            clock,
        })
    }

    /// The host of the API.
    pub(crate) fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.base).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Returns `true` for Discord's own server, which the configuration need not name.
    pub(crate) fn is_official(&self) -> bool {
        self.host() == "discord.com"
    }

    /// Returns `true` if a URL has the same origin as the API, as on a server that imitates
    /// Discord.
    pub(crate) fn is_own(&self, url: &str) -> bool {
        let origin = |url| reqwest::Url::parse(url).ok().map(|url| url.origin());
        origin(url).is_some_and(|it| Some(it) == origin(&self.base))
    }

    /// Returns the token in the form for the gateway.
    pub(crate) fn token(&self) -> &str {
        self.token.expose().trim_start_matches("Bot ")
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn get<T: DeserializeOwned>(&self, route: Route<'_>) -> Result<T, RestError> {
        self.get_with(route, &[]).await
    }

    /// Sends a GET request with these parameters in the query.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn get_with<T: DeserializeOwned>(
        &self,
        route: Route<'_>,
        parameters: &[(&str, String)],
    ) -> Result<T, RestError> {
        let request = self.request(Method::GET, route).query(parameters);
        self.answer(route, request).await?.read()
    }

    /// Sends a request with a body of JSON.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn send(
        &self,
        method: Method,
        route: Route<'_>,
        body: &impl Serialize,
    ) -> Result<RestResponse, RestError> {
        let body =
            serde_json::to_vec(body).map_err(|_| RestError::NotSent("it cannot be written"))?;
        let request = self.request(method, route).header("content-type", "application/json");
        self.answer(route, request.body(body)).await
    }

    /// Sends a request with files (Discord API, "Uploading Files").
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn upload(
        &self,
        route: Route<'_>,
        body: &impl Serialize,
        files: &[LoadedFile],
    ) -> Result<RestResponse, RestError> {
        let body =
            serde_json::to_string(body).map_err(|_| RestError::NotSent("it cannot be written"))?;
        let mut form = Form::new().text("payload_json", body);
        for (place, file) in files.iter().enumerate() {
            let part = Part::bytes(file.bytes.to_vec()).file_name(file.name.clone());
            form = form.part(format!("files[{place}]"), part);
        }
        let request = self.request(Method::POST, route).timeout(UPLOAD_TIMEOUT).multipart(form);
        self.answer(route, request).await
    }

    /// Makes a request with the token. An invalid URL or header is reported when the request is
    /// sent.
    fn request(&self, method: Method, route: Route<'_>) -> RequestBuilder {
        self.client
            .request(method, format!("{}{route}", self.base))
            .header("authorization", self.token.expose())
            .header("user-agent", USER_AGENT)
    }

    async fn answer(
        &self,
        route: Route<'_>,
        request: RequestBuilder,
    ) -> Result<RestResponse, RestError> {
        let pause = self.limits.pause_of_bot(route.is_of_interaction(), self.clock.elapsed());
        if !pause.is_zero() {
            return Err(RestError::Wait(pause));
        }
        let response = request.send().await.map_err(|error| RestError::from_reqwest(&error))?;
        let status = response.status();
        let headers = response.headers().clone();
        let number = |name| headers.get(name)?.to_str().ok()?.parse::<f64>().ok();
        let exhausted = number("x-ratelimit-remaining").is_some_and(|left| left < 1.0);
        let reset = number("x-ratelimit-reset-after").filter(|_| exhausted);
        let body = response.bytes().await.map_err(|error| RestError::from_reqwest(&error));
        if !status.is_success() {
            let body = body.unwrap_or_default();
            if status == StatusCode::TOO_MANY_REQUESTS {
                let limited = Limited::read(&headers, &body);
                self.limits.block(&limited, self.clock.elapsed());
            }
            return Err(RestError::answered(status.as_u16(), &headers, &body));
        }
        let reset = reset.filter(|seconds| seconds.is_finite());
        let exhausted_for =
            reset.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 3600.0)));
        Ok(RestResponse { body: body?.into(), exhausted_for })
    }

    /// Downloads a file of the platform without the token. Returns `None` if it is larger than
    /// `limit` bytes.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn download(
        &self,
        url: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, RestError> {
        let response =
            self.client.get(url).send().await.map_err(|error| RestError::from_reqwest(&error))?;
        let status = response.status().as_u16();
        let mut response = match status {
            200 => response,
            _ => return Err(RestError::answered(status, response.headers(), b"")),
        };
        let mut bytes = Vec::new();
        while let Some(more) =
            response.chunk().await.map_err(|error| RestError::from_reqwest(&error))?
        {
            bytes.extend_from_slice(&more);
            if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "net's clients make no PATCH, no PUT, no form of several files and no websocket"
)]
fn client_builder(proxy: Option<&Proxy>) -> ClientBuilder {
    let builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    proxy.cloned().into_iter().fold(builder, ClientBuilder::proxy)
}

impl RestResponse {
    /// Parses the answer.
    ///
    /// # Errors
    /// [`RestError::Broken`] if it has another format.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, RestError> {
        decode_json(&self.body).map_err(|_| RestError::Broken("the answer cannot be read"))
    }

    /// Parses the description of a message that was sent.
    ///
    /// # Errors
    /// [`RestError::Broken`] if the body is no JSON: another server may have written it.
    pub(crate) fn read_sent(&self) -> Result<SentMessage, RestError> {
        self.read::<Value>().map(|message| SentMessage::read(&message))
    }
}
