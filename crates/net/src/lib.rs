//! The only crate that makes HTTP clients. `HttpClient` is for endpoints that the operator has
//! configured. It pools and limits its connections, and ignores redirects and the proxies of the
//! environment. Its errors omit URLs and secrets. [`GuardedClient`] is for untrusted URLs,
//! [`HostsProxy`] for programs.

mod address_ports;
pub mod bot_proxy;
mod date;
mod detail;
mod dial;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod guard;
mod guarded;
mod hosts;
mod interfaces;
mod pools;
mod proxy;
mod public;
mod response;

use std::collections::BTreeMap;

use avocet_text::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::multipart::{Form, Part};

pub use reqwest::Url;

pub use address_ports::{DialAddress, DialResponse, OwnAddresses, ResolveNames};
pub use error::{NetError, check_url};
pub use guard::{UrlGuard, UrlHost, UrlRefusal, UrlRule, UrlTarget, is_public};
pub use guarded::{FetchError, FetchLimits, FetchedPage, GuardedClient};
pub use hosts::{BadHost, OpenedHosts};
pub use interfaces::InterfaceAddresses;
pub use proxy::HostsProxy;
pub use public::check_public_url;
pub use response::HttpResponse;

pub use detail::describe_error;
use pools::ConnectionPools;
use public::PublicOnly;
use response::{send, with_headers};

/// Minimum length in bytes of a word of a header value that is redacted.
const SHORTEST_SECRET: usize = 8;

/// A client for endpoints that the operator has configured.
#[derive(Debug, Clone)]
pub struct HttpClient {
    pools: ConnectionPools,
    /// Values of the headers that every request has. `redact_headers` removes them from texts.
    secrets: Vec<Secret>,
    /// Restricts requests to the public Internet, if present.
    public: Option<PublicOnly>,
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

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient {
    /// Returns a client with its own pools of connections.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pools: ConnectionPools::new(HeaderMap::new(), None),
            secrets: Vec::new(),
            public: None,
        }
    }

    /// Returns a client that adds these headers to every request.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if a header cannot be sent.
    pub fn with_headers(headers: &BTreeMap<String, Secret>) -> Result<Self, NetError> {
        Self::with_pools(headers, None)
    }

    /// Returns a client like [`Self::with_headers`], for an endpoint whose operator is untrusted.
    /// Requests go only to public addresses, even if the URL or its name leads elsewhere.
    ///
    /// # Errors
    /// The same as [`Self::with_headers`].
    pub fn with_public_only(headers: &BTreeMap<String, Secret>) -> Result<Self, NetError> {
        Self::with_pools(headers, Some(PublicOnly::of_this_host()))
    }

    fn with_pools(
        headers: &BTreeMap<String, Secret>,
        public: Option<PublicOnly>,
    ) -> Result<Self, NetError> {
        let secrets = headers.values().cloned().collect();
        let headers = headers.iter().map(|(name, value)| parse_header(name, value));
        let headers = headers.collect::<Result<HeaderMap, NetError>>()?;
        let pools = ConnectionPools::new(headers, public.clone());
        Ok(Self { pools, secrets, public })
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
        let request =
            self.pools.pool_for(url)?.post(url).header(CONTENT_TYPE, "application/json").body(body);
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
        send(with_headers(self.pools.pool_for(url)?.post(url).form(fields), headers)?).await
    }

    /// Sends a `GET` with these headers and returns when the answer begins. Errors and logs omit
    /// the headers.
    ///
    /// # Errors
    /// [`NetError`] if the request fails before an answer begins.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, NetError> {
        self.check_url(url)?;
        send(with_headers(self.pools.pool_for(url)?.get(url), headers)?).await
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
        send(with_headers(self.pools.pool_for(url)?.delete(url), headers)?).await
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
        let request = self.pools.pool_for(url)?.post(url).multipart(form);
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

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
