//! The only maker of HTTP clients. Those for what the operator has configured are pooled and limited,
//! take no proxy from the environment, follow no redirect, and their errors name neither URLs nor
//! secrets. [`GuardedClient`] is for URLs that others have chosen, [`Proxy`] for programs.

mod detail;
mod dial;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod guard;
mod guarded;
mod hosts;
mod interfaces;
mod proxy;
mod public;

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_protocol::Secret;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::multipart::{Form, Part};
use reqwest::redirect::Policy;

pub use reqwest::Url;

pub use guard::{Guard, Host, Refusal, Rule, Target, is_public};
pub use guarded::{Answer, Dial, FetchError, GuardedClient, Limits, OwnAddresses, Page, Resolve};
pub use hosts::{BadHost, Hosts};
pub use interfaces::Interfaces;
pub use proxy::Proxy;
pub use public::check_public_url;

use detail::detail;
use public::Public;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(90);
/// Bytes of the shortest word of a header that can be a secret.
const SHORTEST_SECRET: usize = 8;

/// A client for endpoints that the operator has configured.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    /// The values of the headers that every request has.
    secrets: Vec<Secret>,
    /// Keeps requests on the public Internet.
    public: Option<Public>,
}

/// Why there is no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The operator: the URL, or the key, cannot be sent.
    #[error("{0}")]
    Invalid(String),
    /// Nothing was sent: there is no connection.
    #[error("no connection: {0}")]
    Connect(String),
    /// The connection broke, or what came over it is no HTTP.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The server sends more than is read.
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
}

/// The beginning of an answer; the rest is read from it.
#[derive(Debug)]
pub struct HttpResponse {
    response: reqwest::Response,
}

/// Whether requests can be sent below this URL.
///
/// # Errors
/// [`NetError::Invalid`] says what is wrong with it, without showing it.
pub fn check_url(url: &str) -> Result<(), NetError> {
    let parsed = Url::parse(url).ok();
    match parsed.as_ref().map(|url| (url.scheme(), url.host())) {
        Some(("http" | "https", Some(_))) => Ok(()),
        _ => Err(NetError::Invalid(
            "it is no URL of a server: it has to begin with http:// or https:// and a host"
                .to_owned(),
        )),
    }
}

/// Whether this header can be sent.
///
/// # Errors
/// [`NetError::Invalid`] says what is wrong with it, without showing the value.
pub fn check_header(name: &str, value: &Secret) -> Result<(), NetError> {
    header(name, value).map(|_| ())
}

fn header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), NetError> {
    let invalid = || NetError::Invalid(format!("the header {name} cannot be sent"));
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
    let mut value = HeaderValue::from_str(value.expose()).map_err(|_| invalid())?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl HttpClient {
    /// A client with its own pool of connections.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if the system's certificates cannot be used.
    pub fn new() -> Result<Self, NetError> {
        Self::with_headers(&BTreeMap::new())
    }

    /// A client whose every request has these headers.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if one of them cannot be sent, or as [`Self::new`].
    pub fn with_headers(headers: &BTreeMap<String, Secret>) -> Result<Self, NetError> {
        Self::built(builder(), headers, None)
    }

    /// As [`Self::with_headers`], for an endpoint whose operator is not trusted: requests go to public
    /// addresses and nowhere else, whatever the URL says and its name resolves to.
    ///
    /// # Errors
    /// As [`Self::with_headers`].
    pub fn untrusted(headers: &BTreeMap<String, Secret>) -> Result<Self, NetError> {
        let public = Public::of_this_host();
        Self::built(builder().dns_resolver(public.clone()), headers, Some(public))
    }

    fn built(
        builder: reqwest::ClientBuilder,
        headers: &BTreeMap<String, Secret>,
        public: Option<Public>,
    ) -> Result<Self, NetError> {
        let secrets = headers.values().cloned().collect();
        let headers = headers.iter().map(|(name, value)| header(name, value));
        let headers = headers.collect::<Result<HeaderMap, NetError>>()?;
        let client = builder.pool_idle_timeout(IDLE).default_headers(headers).build();
        let client = client.map_err(|error| NetError::Invalid(detail(error)))?;
        Ok(Self { client, secrets, public })
    }

    /// Refuses a URL that names what may not be reached. What a name resolves to is judged later.
    fn check(&self, url: &str) -> Result<(), NetError> {
        self.public.as_ref().map_or(Ok(()), |public| public.check(url))
    }

    /// A text that a server sent, without what the headers of every request say, which some repeat.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        let words = self.secrets.iter().flat_map(|secret| secret.expose().split_whitespace());
        words
            .filter(|word| word.len() >= SHORTEST_SECRET)
            .fold(text.to_owned(), |text, word| text.replace(word, "[secret]"))
    }

    /// Posts JSON with these headers, which no error and no log shows, and returns when the answer
    /// begins.
    ///
    /// # Errors
    /// [`NetError`] if no answer begins.
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpResponse, NetError> {
        self.check(url)?;
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        send(with_headers(request, headers)?).await
    }

    /// Asks with these headers, which no error and no log shows, and returns when the answer begins.
    ///
    /// # Errors
    /// [`NetError`] if no answer begins.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, NetError> {
        self.check(url)?;
        send(with_headers(self.client.get(url), headers)?).await
    }

    /// Posts a form with a file (RFC 7578) and returns when the answer begins.
    ///
    /// # Errors
    /// [`NetError`] if no answer begins.
    pub async fn post_form(
        &self,
        url: &str,
        bearer: Option<&Secret>,
        form: FormData<'_>,
    ) -> Result<HttpResponse, NetError> {
        self.check(url)?;
        let FormData { fields, part, file_name, bytes } = form;
        let file = Part::bytes(bytes).file_name(file_name.to_owned());
        let fields = fields.iter().fold(Form::new(), |form, (name, value)| {
            form.text((*name).to_owned(), (*value).to_owned())
        });
        let form = fields.part(part.to_owned(), file);
        let request = self.client.post(url).multipart(form);
        send(bearer.into_iter().fold(request, |request, key| request.bearer_auth(key.expose())))
            .await
    }
}

/// A form with a file.
#[derive(Debug)]
pub struct FormData<'f> {
    /// Fields and their values.
    pub fields: &'f [(&'f str, &'f str)],
    /// The field that is the file.
    pub part: &'f str,
    /// What the file is called.
    pub file_name: &'f str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What holds for every client.
#[expect(clippy::disallowed_methods, reason = "this is the place that makes HTTP clients")]
fn builder() -> reqwest::ClientBuilder {
    // A second installation is refused, and as good as the first.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .user_agent(concat!("avocet/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        .redirect(Policy::none())
        .no_proxy()
}

fn with_headers(
    request: reqwest::RequestBuilder,
    headers: &[(&str, &str)],
) -> Result<reqwest::RequestBuilder, NetError> {
    headers.iter().try_fold(request, |request, (name, value)| {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| NetError::Invalid(format!("the header {name} cannot be sent")))?;
        value.set_sensitive(true);
        Ok(request.header(*name, value))
    })
}

async fn send(request: reqwest::RequestBuilder) -> Result<HttpResponse, NetError> {
    match request.send().await {
        Ok(response) => Ok(HttpResponse { response }),
        Err(error) if error.is_builder() => Err(NetError::Invalid(detail(error))),
        Err(error) if error.is_connect() => Err(NetError::Connect(detail(error))),
        Err(error) => Err(NetError::Broken(detail(error))),
    }
}

impl HttpResponse {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// How long the server asks to be left alone, where it says so in seconds.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        seconds(self.header(RETRY_AFTER.as_str())?)
    }

    /// Whether the body is of this media type.
    #[must_use]
    pub fn is(&self, media_type: &str) -> bool {
        self.header(CONTENT_TYPE.as_str()).is_some_and(|found| found.starts_with(media_type))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let headers: &HeaderMap = self.response.headers();
        headers.get(name)?.to_str().ok()
    }

    fn headers(&self, name: &str) -> Vec<String> {
        let values = self.response.headers().get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// The next piece of the body; none at its end.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends before its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        self.response.chunk().await.map_err(|error| NetError::Broken(detail(error)))
    }

    /// The whole body, up to `limit` bytes; what is beyond them is left out.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends before its end.
    pub async fn text(self, limit: usize) -> Result<String, NetError> {
        self.beginning(limit).await.map(|(text, _)| text)
    }

    /// As [`Self::text`], with whether anything was left out.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends before its end.
    pub async fn beginning(mut self, limit: usize) -> Result<(String, bool), NetError> {
        let mut body = Vec::new();
        while body.len() <= limit
            && let Some(chunk) = self.chunk().await?
        {
            let room = limit.saturating_add(1) - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        let is_cut = body.len() > limit;
        body.truncate(limit);
        Ok((String::from_utf8_lossy(&body).into_owned(), is_cut))
    }
}

/// What `Retry-After` says, unless it is a date.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
