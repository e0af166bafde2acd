//! The client for URLs that models, pages and people have chosen. It judges the URL, resolves its
//! name once, judges every address, and connects only to these addresses. A redirect repeats all of
//! these steps.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use reqwest::Url;

use crate::address_ports::{DialAddress, DialResponse, OwnAddresses, ResolveNames};
use crate::dial;
use crate::error::NetError;
use crate::guard::{UrlGuard, UrlHost, UrlRefusal, UrlRule, UrlTarget};
use crate::response::parse_seconds;

/// Maximum number of redirects.
const REDIRECTS: usize = 5;
const CACHE_CONTROL: &str = "cache-control";

/// Limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Timeout from the first lookup to the last byte. Default: 30 s.
    pub time: Duration,
    /// Maximum size of the body in bytes. Default: 5 MiB.
    pub body: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), body: 5 * 1024 * 1024 }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// The URL after all redirects.
    pub url: Url,
    /// The status code.
    pub status: u16,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// The values of `Cache-Control`, joined with commas: from every line, also of the redirects.
    pub cache_control: Option<String>,
    /// The delay that `Retry-After` requests. `None` if it is a date or absent.
    pub retry_after: Option<Duration>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// The reason why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The URL is forbidden. A retry changes nothing.
    #[error(transparent)]
    Refused(#[from] UrlRefusal),
    /// The answer is missing or incomplete.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The request timed out after this time.
    #[error("no answer within {} s", .0.as_secs())]
    Slow(Duration),
    /// The body is longer than this limit, in bytes.
    #[error("the answer is longer than {0} bytes")]
    Long(usize),
    /// The server redirects to this URL, which the caller does not follow.
    #[error("the page redirects to {0}")]
    Elsewhere(Url),
    /// The body is compressed without being asked for, and could expand to any size.
    #[error("the answer is compressed, although the request did not allow it")]
    Compressed,
}

/// A client for untrusted URLs.
#[derive(Debug, Clone)]
pub struct GuardedClient {
    own: Arc<dyn OwnAddresses>,
    #[cfg(any(test, feature = "testing"))]
    allowed: Option<std::net::SocketAddr>,
    resolver: Arc<dyn ResolveNames>,
    dialler: Arc<dyn DialAddress>,
    clock: Arc<dyn Clock>,
    limits: FetchLimits,
}

impl GuardedClient {
    /// Returns a client for a host with these addresses. It uses the system's resolver.
    #[must_use]
    pub fn new(own: Arc<dyn OwnAddresses>, clock: Arc<dyn Clock>, limits: FetchLimits) -> Self {
        Self {
            own,
            #[cfg(any(test, feature = "testing"))]
            allowed: None,
            resolver: Arc::new(dial::SystemResolver),
            dialler: Arc::new(dial::PinnedDialler),
            clock,
            limits,
        }
    }

    /// Also allows requests to this address and port, so that a test can answer them.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn with_allowed(self, address: std::net::SocketAddr) -> Self {
        Self { allowed: Some(address), ..self }
    }

    /// Replaces the resolver.
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn ResolveNames>) -> Self {
        Self { resolver, ..self }
    }

    /// Replaces the part that connects.
    #[must_use]
    pub fn with_dialler(self, dialler: Arc<dyn DialAddress>) -> Self {
        Self { dialler, ..self }
    }

    /// Sends a `GET` with these headers, follows redirects and reads the page. After a redirect to
    /// another origin, the headers are left out.
    ///
    /// # Errors
    /// [`FetchError`] if the URL is forbidden, the answer is missing, or its body is too long.
    pub async fn get(
        &self,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<FetchedPage, FetchError> {
        self.get_following(url, headers, &|_| true).await
    }

    /// Does the same as [`Self::get`], but follows a redirect only if `follows` returns `true` for
    /// its URL. Names of ignored redirects stay unresolved.
    ///
    /// # Errors
    /// The same as [`Self::get`], and [`FetchError::Elsewhere`] with the URL of an ignored
    /// redirect.
    pub async fn get_following(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        follows: &(dyn Fn(&Url) -> bool + Sync),
    ) -> Result<FetchedPage, FetchError> {
        self.in_time(self.follow_redirects(url, headers, follows)).await
    }

    /// Posts JSON with these headers and reads the answer. A redirect is returned like any other
    /// answer, because the body is meant for one server only.
    ///
    /// # Errors
    /// The same as [`Self::get`].
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<FetchedPage, FetchError> {
        let posted = async {
            let guard = self.current_guard();
            let target = guard.judge_url(url)?;
            let answer = self.send_judged(&guard, &target, headers, Some(body)).await?;
            self.read(target, answer, Vec::new()).await
        };
        self.in_time(posted).await
    }

    async fn in_time(
        &self,
        page: impl Future<Output = Result<FetchedPage, FetchError>>,
    ) -> Result<FetchedPage, FetchError> {
        let limit = self.limits.time;
        within(&*self.clock, limit, page).await.unwrap_or(Err(FetchError::Slow(limit)))
    }

    async fn follow_redirects(
        &self,
        url: &str,
        mut headers: &[(&str, &str)],
        follows: &(dyn Fn(&Url) -> bool + Sync),
    ) -> Result<FetchedPage, FetchError> {
        let guard = self.current_guard();
        let mut target = guard.judge_url(url)?;
        let mut cache_control = Vec::new();
        for _ in 0..=REDIRECTS {
            let answer = self.send_judged(&guard, &target, headers, None).await?;
            let Some(location) = redirect_location(&*answer) else {
                return self.read(target, answer, cache_control).await;
            };
            cache_control.extend(answer.all_headers(CACHE_CONTROL));
            let next = guard.judge_redirect(&target, location)?;
            if !follows(next.url()) {
                return Err(FetchError::Elsewhere(next.into_url()));
            }
            if next.url().origin() != target.url().origin() {
                headers = &[];
            }
            target = next;
        }
        Err(target.refuse_by(UrlRule::Redirects).into())
    }

    /// Returns a guard for the current addresses of the host.
    fn current_guard(&self) -> UrlGuard {
        let guard = UrlGuard::new(self.own.own_addresses());
        #[cfg(any(test, feature = "testing"))]
        if let Some(address) = self.allowed {
            return guard.with_allowed(address);
        }
        guard
    }

    async fn send_judged(
        &self,
        guard: &UrlGuard,
        target: &UrlTarget,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Box<dyn DialResponse>, FetchError> {
        let found = match target.host() {
            UrlHost::Address(address) => vec![*address],
            UrlHost::Name(name) => self.resolver.resolve_name(name).await,
        };
        let to = guard.judge_addresses(target, &found)?;
        Ok(self.dialler.send_request(target.url(), headers, body, &to).await?)
    }

    /// Reads the last answer. `cache_control` holds the values from the redirects before it.
    async fn read(
        &self,
        target: UrlTarget,
        mut answer: Box<dyn DialResponse>,
        mut cache_control: Vec<String>,
    ) -> Result<FetchedPage, FetchError> {
        cache_control.extend(answer.all_headers(CACHE_CONTROL));
        let coding = answer.first_header("content-encoding").unwrap_or("identity");
        if !coding.eq_ignore_ascii_case("identity") {
            return Err(FetchError::Compressed);
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.next_chunk().await? {
            if body.len() + chunk.len() > self.limits.body {
                return Err(FetchError::Long(self.limits.body));
            }
            body.extend_from_slice(&chunk);
        }
        let header = |name: &str| answer.first_header(name).map(str::to_owned);
        Ok(FetchedPage {
            url: target.into_url(),
            status: answer.status(),
            content_type: header("content-type"),
            cache_control: (!cache_control.is_empty()).then(|| cache_control.join(", ")),
            retry_after: answer.first_header("retry-after").and_then(parse_seconds),
            body,
        })
    }
}

/// Returns the target of a redirect (RFC 9110, 15.4).
fn redirect_location(answer: &dyn DialResponse) -> Option<&str> {
    let redirect = matches!(answer.status(), 301 | 302 | 303 | 307 | 308);
    answer.first_header("location").filter(|_| redirect)
}
