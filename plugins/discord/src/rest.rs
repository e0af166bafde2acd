//! Requests to the REST API. serenity writes them; they are sent here.
//!
//! serenity's own sender either limits its rate, and then ignores where the API is to be found, or does
//! not, and then loses how long a 429 asks to wait where the answer has no `code`. Here the address
//! holds and every 429 says how long; the outbox waits, as it does for every channel.

use std::time::Duration;

use avocet_protocol::{LoadedFile, Secret};
use reqwest::RequestBuilder;
use reqwest::multipart::{Form, Part};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serenity::constants::USER_AGENT;
use serenity::http::{LightMethod, Request, Route};

use crate::DiscordError;
use crate::fault::Fault;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a request may take.
pub(crate) const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// How long a request with files may take.
const UPLOAD_LIMIT: Duration = Duration::from_mins(10);
/// What serenity's routes begin with.
const OFFICIAL: &str = "https://discord.com";

/// The REST API, as one bot sees it.
pub(crate) struct Rest {
    client: reqwest::Client,
    /// With its `Bot `.
    token: Secret,
    base: String,
}

/// A successful answer.
pub(crate) struct Answer {
    body: Vec<u8>,
    /// The bucket is empty: the next request of this kind is refused before this has passed.
    pub(crate) exhausted_for: Option<Duration>,
}

impl Rest {
    /// # Errors
    /// [`DiscordError`] says what to change.
    #[expect(
        clippy::disallowed_methods,
        reason = "serenity's requests go through a client of its version of reqwest, which net does not make"
    )]
    pub(crate) fn new(token: &Secret, api_url: &str) -> Result<Self, DiscordError> {
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
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_LIMIT)
            .timeout(REQUEST_LIMIT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| DiscordError::Client(error.without_url().to_string()))?;
        Ok(Self { client, token: Secret::new(format!("Bot {token}")), base })
    }

    /// Whether a URL is at the API's own place, as with a server that stands in for Discord.
    pub(crate) fn is_own(&self, url: &str) -> bool {
        let origin = |url| reqwest::Url::parse(url).ok().map(|url| url.origin());
        origin(url).is_some_and(|it| Some(it) == origin(&self.base))
    }

    /// The token as the gateway wants it.
    pub(crate) fn token(&self) -> &str {
        self.token.expose().trim_start_matches("Bot ")
    }

    /// Asks for something.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn get<T: DeserializeOwned>(&self, route: Route<'_>) -> Result<T, Fault> {
        self.ask(Request::new(route, LightMethod::Get)).await?.read()
    }

    /// Sends something.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn send(
        &self,
        method: LightMethod,
        route: Route<'_>,
        body: &impl Serialize,
    ) -> Result<Answer, Fault> {
        let body = serde_json::to_vec(body).map_err(|_| Fault::NotSent("it cannot be written"))?;
        self.ask(Request::new(route, method).body(Some(body))).await
    }

    /// Sends something with files (Discord API, "Uploading Files").
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn upload(
        &self,
        route: Route<'_>,
        body: &impl Serialize,
        files: &[LoadedFile],
    ) -> Result<Answer, Fault> {
        let body =
            serde_json::to_string(body).map_err(|_| Fault::NotSent("it cannot be written"))?;
        let mut form = Form::new().text("payload_json", body);
        for (place, file) in files.iter().enumerate() {
            let part = Part::bytes(file.bytes.to_vec()).file_name(file.name.clone());
            form = form.part(format!("files[{place}]"), part);
        }
        // serenity's requests take files only from its own builders, which do not give them away.
        let request = self
            .client
            .post(route.path().replace(OFFICIAL, &self.base))
            .timeout(UPLOAD_LIMIT)
            .header("authorization", self.token.expose())
            .header("user-agent", USER_AGENT)
            .multipart(form);
        self.answer(request).await
    }

    /// Makes a request.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        debug_assert!(request.route_ref().path().starts_with(OFFICIAL), "so that it is replaced");
        let request = request
            .build(&self.client, self.token.expose(), Some(&self.base))
            .map_err(|_| Fault::NotSent("no request can be made of it"))?;
        self.answer(request).await
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, Fault> {
        let response = request.send().await.map_err(|error| Fault::of(&error))?;
        let status = response.status();
        let number = |name| response.headers().get(name)?.to_str().ok()?.parse::<f64>().ok();
        let retry_after = number("retry-after");
        let exhausted = number("x-ratelimit-remaining").is_some_and(|left| left < 1.0);
        let reset = number("x-ratelimit-reset-after").filter(|_| exhausted);
        let body = response.bytes().await.map_err(|error| Fault::of(&error));
        if !status.is_success() {
            return Err(Fault::answered(status.as_u16(), retry_after, &body.unwrap_or_default()));
        }
        let reset = reset.filter(|seconds| seconds.is_finite());
        let exhausted_for =
            reset.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 3600.0)));
        Ok(Answer { body: body?.into(), exhausted_for })
    }

    /// Downloads a file of the platform, without showing it the token.
    ///
    /// # Errors
    /// [`Fault`]; `None` if it is larger than `limit` bytes.
    pub(crate) async fn download(&self, url: &str, limit: u64) -> Result<Option<Vec<u8>>, Fault> {
        let response = self.client.get(url).send().await.map_err(|error| Fault::of(&error))?;
        let status = response.status().as_u16();
        let mut response = match status {
            200 => response,
            _ => return Err(Fault::answered(status, None, b"")),
        };
        let mut bytes = Vec::new();
        while let Some(more) = response.chunk().await.map_err(|error| Fault::of(&error))? {
            bytes.extend_from_slice(&more);
            if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }
}

impl Answer {
    /// Reads what was answered.
    ///
    /// # Errors
    /// [`Fault::Broken`] if it is something else.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_slice(&self.body).map_err(|_| Fault::Broken("the answer cannot be read"))
    }
}
