//! The only crate that makes HTTP clients. `HttpClient` is for endpoints that the operator has
//! configured. It pools and limits its connections, and ignores redirects and the proxies of the
//! environment. Its errors omit URLs and secrets. [`GuardedClient`] is for untrusted URLs,
//! [`HostsProxy`] for programs.

pub mod bot_proxy;
mod date;
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
use std::sync::Arc;
use std::time::Duration;

use avocet_text::Secret;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::multipart::{Form, Part};
use reqwest::redirect::Policy;

pub use reqwest::Url;

pub use guard::{UrlGuard, UrlHost, UrlRefusal, UrlRule, UrlTarget, is_public};
pub use guarded::{
    DialAddress, DialResponse, FetchError, FetchLimits, FetchedPage, GuardedClient, OwnAddresses,
    ResolveNames,
};
pub use hosts::{BadHost, OpenedHosts};
pub use interfaces::InterfaceAddresses;
pub use proxy::HostsProxy;
pub use public::check_public_url;

use date::http_date;
pub use detail::describe_error;
use public::PublicOnly;

/// Timeout for opening a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time.
const IDLE: Duration = Duration::from_secs(90);
/// Minimum length in bytes of a word of a header value that is redacted.
const SHORTEST_SECRET: usize = 8;

/// A client for endpoints that the operator has configured.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    /// Values of the headers that every request has. `redact_headers` removes them from texts.
    secrets: Vec<Secret>,
    /// Restricts requests to the public Internet, if present.
    public: Option<PublicOnly>,
}

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

/// An answer whose status and headers have arrived. The body is read from it.
#[derive(Debug)]
pub struct HttpResponse {
    response: reqwest::Response,
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

/// Checks that this header can be sent.
///
/// # Errors
/// [`NetError::Invalid`] names the header, without its value.
pub fn check_header(name: &str, value: &Secret) -> Result<(), NetError> {
    parse_header(name, value).map(|_| ())
}

fn parse_header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), NetError> {
    let invalid = || NetError::Invalid(format!("the header {name} cannot be sent"));
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
    let mut value = HeaderValue::from_str(value.expose()).map_err(|_| invalid())?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl HttpClient {
    /// Returns a client with its own pool of connections.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if the system's certificates cannot be used.
    pub fn new() -> Result<Self, NetError> {
        Self::with_headers(&BTreeMap::new())
    }

    /// Returns a client that adds these headers to every request.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if a header cannot be sent, or if the system's certificates cannot be
    /// used.
    pub fn with_headers(headers: &BTreeMap<String, Secret>) -> Result<Self, NetError> {
        Self::build_client(client_builder(), headers, None)
    }

    /// Returns a client like [`Self::with_headers`], for an endpoint whose operator is untrusted.
    /// Requests go only to public addresses, even if the URL or its name leads elsewhere.
    ///
    /// # Errors
    /// The same as [`Self::with_headers`].
    pub fn with_public_only(headers: &BTreeMap<String, Secret>) -> Result<Self, NetError> {
        let public = PublicOnly::of_this_host();
        Self::build_client(
            client_builder().dns_resolver(Arc::new(public.clone())),
            headers,
            Some(public),
        )
    }

    fn build_client(
        builder: reqwest::ClientBuilder,
        headers: &BTreeMap<String, Secret>,
        public: Option<PublicOnly>,
    ) -> Result<Self, NetError> {
        let secrets = headers.values().cloned().collect();
        let headers = headers.iter().map(|(name, value)| parse_header(name, value));
        let headers = headers.collect::<Result<HeaderMap, NetError>>()?;
        let client = builder.pool_idle_timeout(IDLE).default_headers(headers).build();
        let client = client.map_err(|error| NetError::Invalid(describe_error(error)))?;
        Ok(Self { client, secrets, public })
    }

    /// Refuses a URL whose host is a forbidden address or name. Resolved addresses are checked
    /// later.
    fn check_url(&self, url: &str) -> Result<(), NetError> {
        self.public.as_ref().map_or(Ok(()), |public| public.check_url(url))
    }

    /// Replaces the header values of this client in a text from a server, because some servers
    /// repeat them.
    #[must_use]
    pub fn redact_headers(&self, text: &str) -> String {
        let words = self.secrets.iter().flat_map(|secret| secret.expose().split_whitespace());
        words
            .filter(|word| word.len() >= SHORTEST_SECRET)
            .fold(text.to_owned(), |text, word| text.replace(word, "[secret]"))
    }

    /// Posts JSON with these headers and returns when the answer begins. Errors and logs omit the
    /// headers.
    ///
    /// # Errors
    /// [`NetError`] if the request fails before an answer begins.
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpResponse, NetError> {
        self.check_url(url)?;
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        send(with_headers(request, headers)?).await
    }

    /// Posts the fields of a form (`application/x-www-form-urlencoded`) with these headers and
    /// returns when the answer begins. Errors and logs omit the headers and the fields.
    ///
    /// # Errors
    /// [`NetError`] if the request fails before an answer begins.
    pub async fn post_fields(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> Result<HttpResponse, NetError> {
        self.check_url(url)?;
        send(with_headers(self.client.post(url).form(fields), headers)?).await
    }

    /// Sends a `GET` with these headers and returns when the answer begins. Errors and logs omit
    /// the headers.
    ///
    /// # Errors
    /// [`NetError`] if the request fails before an answer begins.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, NetError> {
        self.check_url(url)?;
        send(with_headers(self.client.get(url), headers)?).await
    }

    /// Sends a `DELETE` with these headers and returns when the answer begins. Errors and logs omit
    /// the headers.
    ///
    /// # Errors
    /// [`NetError`] if the request fails before an answer begins.
    pub async fn send_delete(
        &self,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<HttpResponse, NetError> {
        self.check_url(url)?;
        send(with_headers(self.client.delete(url), headers)?).await
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
        self.check_url(url)?;
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
    /// Text fields: name and value.
    pub fields: &'f [(&'f str, &'f str)],
    /// The name of the field that holds the file.
    pub part: &'f str,
    /// The file name that the server sees.
    pub file_name: &'f str,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Returns the settings that all clients share.
#[expect(clippy::disallowed_methods, reason = "this is the place that makes HTTP clients")]
fn client_builder() -> reqwest::ClientBuilder {
    // A second installation fails, which is harmless: the first one is the same.
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
        Err(error) if error.is_builder() => Err(NetError::Invalid(describe_error(error))),
        Err(error) if error.is_connect() => Err(NetError::Connect(describe_error(error))),
        Err(error) => Err(NetError::Broken(describe_error(error))),
    }
}

impl HttpResponse {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns the delay that `retry-after-ms` or `Retry-After` requests (RFC 9110, section
    /// 10.2.3). A date is compared with the `Date` of the answer. `None` if both are absent or
    /// unreadable.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let milliseconds = self.header_value("retry-after-ms").and_then(parse_seconds);
        milliseconds.map(|time| time / 1000).or_else(|| {
            let asked = self.header_value(RETRY_AFTER.as_str())?;
            parse_seconds(asked).or_else(|| {
                let until = http_date(asked)?;
                Some(Duration::from_secs(
                    until.saturating_sub(http_date(self.header_value("date")?)?),
                ))
            })
        })
    }

    /// Returns `true` if the body has this media type, with any parameters.
    #[must_use]
    pub fn has_media_type(&self, media_type: &str) -> bool {
        let found =
            self.header_value(CONTENT_TYPE.as_str()).and_then(|found| found.split(';').next());
        found.is_some_and(|found| found.trim().eq_ignore_ascii_case(media_type))
    }

    /// Returns the value of a header; `None` if it is missing or not visible ASCII.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        let headers: &HeaderMap = self.response.headers();
        headers.get(name)?.to_str().ok()
    }

    /// Returns all values of a header, with replacement characters for bytes that are not UTF-8.
    #[must_use]
    pub fn header_values(&self, name: &str) -> Vec<String> {
        let values = self.response.headers().get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// Returns the next piece of the body, or `None` at its end.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends too early.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        self.response.chunk().await.map_err(|error| NetError::Broken(describe_error(error)))
    }

    /// Returns the body, cut after `limit` bytes.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends too early.
    pub async fn read_text(self, limit: usize) -> Result<String, NetError> {
        self.read_beginning(limit).await.map(|(text, _)| text)
    }

    /// Returns the same as [`Self::read_text`], and `true` if the text was cut.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends too early.
    pub async fn read_beginning(mut self, limit: usize) -> Result<(String, bool), NetError> {
        let mut body = Vec::new();
        while body.len() <= limit
            && let Some(chunk) = self.next_chunk().await?
        {
            let room = limit.saturating_add(1) - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        let is_cut = body.len() > limit;
        body.truncate(limit);
        Ok((String::from_utf8_lossy(&body).into_owned(), is_cut))
    }
}

/// Parses a number of seconds. `None` for a date.
fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
