//! Sends requests, and reads the answers.

use std::time::Duration;

use avocet_protocol::ignore_result;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;

use crate::date::http_date;
use crate::detail::describe_error;
use crate::error::NetError;

/// An answer whose status and headers have arrived. The body is read from it.
#[derive(Debug)]
pub struct HttpResponse {
    response: reqwest::Response,
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

/// Returns the settings that all clients share.
#[expect(clippy::disallowed_methods, reason = "this is the place that makes HTTP clients")]
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    ignore_result(
        rustls::crypto::ring::default_provider().install_default(),
        "a second installation fails, and the first one is the same",
    );
    reqwest::Client::builder()
        .user_agent(concat!("avocet/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        .redirect(Policy::none())
        .no_proxy()
}

pub(crate) fn with_headers(
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

pub(crate) async fn send(request: reqwest::RequestBuilder) -> Result<HttpResponse, NetError> {
    match request.send().await {
        Ok(response) => Ok(HttpResponse { response }),
        Err(error) if error.is_builder() => Err(NetError::Invalid(describe_error(error))),
        Err(error) if error.is_connect() => Err(NetError::Connect(describe_error(error))),
        Err(error) => Err(NetError::Broken(describe_error(error))),
    }
}

/// Parses a number of seconds. `None` for a date.
pub(crate) fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// Timeout for opening a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
