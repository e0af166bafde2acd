//! The client for URLs that models, pages and people have chosen. One walk: the URL is judged, its
//! name resolved once, every address judged, and only these are connected to; a redirect begins anew.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{Clock, within};
use bytes::Bytes;
use reqwest::Url;

use crate::guard::{Guard, Host, Refusal, Rule, Target};
use crate::{NetError, dial, seconds};

/// How many redirects are followed.
const REDIRECTS: usize = 5;
const CACHE_CONTROL: &str = "cache-control";

/// Says which addresses the host has at the moment.
pub trait OwnAddresses: std::fmt::Debug + Send + Sync {
    /// All of them. Asked before each request, because they change.
    fn addresses(&self) -> Vec<IpAddr>;
}

/// A host whose addresses do not change.
impl OwnAddresses for Vec<IpAddr> {
    fn addresses(&self) -> Vec<IpAddr> {
        self.clone()
    }
}

/// Finds the addresses of names.
#[async_trait]
pub trait Resolve: std::fmt::Debug + Send + Sync {
    /// All addresses of a name; none if it has none, or nobody answers.
    async fn resolve(&self, name: &str) -> Vec<IpAddr>;
}

/// Connects and asks.
#[async_trait]
pub trait Dial: std::fmt::Debug + Send + Sync {
    /// Asks one of these addresses for a URL, and no other whatever the URL says, with these headers,
    /// which no error and no log shows; posts a body of JSON if there is one. Returns when the answer
    /// begins; follows no redirect.
    ///
    /// # Errors
    /// [`NetError`] if no answer begins.
    async fn ask(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        to: &[SocketAddr],
    ) -> Result<Box<dyn Answer>, NetError>;
}

/// The beginning of an answer; the rest is read from it.
#[async_trait]
pub trait Answer: Send {
    /// The status code.
    fn status(&self) -> u16;

    /// The first value of a header, its name in lower case.
    fn header(&self, name: &str) -> Option<&str>;

    /// Every value of a header, one for each line.
    fn headers(&self, name: &str) -> Vec<String>;

    /// The next piece of the body; none at its end.
    ///
    /// # Errors
    /// [`NetError::Broken`] if the body ends before its end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, NetError>;
}

/// How long and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For everything, from the first lookup to the last byte.
    pub time: Duration,
    /// Bytes of the body.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), body: 5 * 1024 * 1024 }
    }
}

/// What was found at a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it was found, after all redirects.
    pub url: Url,
    /// The status code.
    pub status: u16,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    /// The values of `Cache-Control`, with commas between them: of every line, also of the redirects.
    pub cache_control: Option<String>,
    /// How long the server asks to be left alone, where it says so in seconds.
    pub retry_after: Option<Duration>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Whoever chose the URL: it may not be asked for. Asking again changes nothing.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server: no answer, or not all of it.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The limit of time ran out.
    #[error("the answer was not there within {} s", .0.as_secs())]
    Slow(Duration),
    /// The body has more bytes than this.
    #[error("the answer is longer than {0} bytes")]
    Long(usize),
    /// The server redirects to this URL, which the caller does not follow.
    #[error("the page redirects to {0}")]
    Elsewhere(Url),
    /// The body is compressed though this was not asked for, and may unfold to any size.
    #[error("the answer is compressed, which was not asked for")]
    Compressed,
}

/// A client for URLs that others than the operator have chosen.
#[derive(Debug, Clone)]
pub struct GuardedClient {
    own: Arc<dyn OwnAddresses>,
    #[cfg(any(test, feature = "testing"))]
    allowed: Option<SocketAddr>,
    resolver: Arc<dyn Resolve>,
    dialler: Arc<dyn Dial>,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

impl GuardedClient {
    /// A client on a host with these addresses, which asks the system's resolver.
    #[must_use]
    pub fn new(own: Arc<dyn OwnAddresses>, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        Self {
            own,
            #[cfg(any(test, feature = "testing"))]
            allowed: None,
            resolver: Arc::new(dial::System),
            dialler: Arc::new(dial::Pinned),
            clock,
            limits,
        }
    }

    /// As this one, and requests to this one address and port pass, so that a test can answer them.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn allowing(self, address: SocketAddr) -> Self {
        Self { allowed: Some(address), ..self }
    }

    /// As this one, with another resolver.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn resolving(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// As this one, with another way to connect.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn dialling(self, dialler: Arc<dyn Dial>) -> Self {
        Self { dialler, ..self }
    }

    /// Asks for a URL with these headers, follows redirects, and reads what is there. Once a
    /// redirect has left the origin of the URL, headers are sent no more.
    ///
    /// # Errors
    /// [`FetchError`] if it may not be asked for, there is no answer, or the answer is too much.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Page, FetchError> {
        self.get_following(url, headers, &|_| true).await
    }

    /// As [`Self::get`], following a redirect only if `follows` says so of its URL. A name that is not
    /// followed is not resolved.
    ///
    /// # Errors
    /// As [`Self::get`], and [`FetchError::Elsewhere`] with the URL that is not followed.
    pub async fn get_following(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        follows: &(dyn Fn(&Url) -> bool + Sync),
    ) -> Result<Page, FetchError> {
        self.in_time(self.walk(url, headers, follows)).await
    }

    /// Posts JSON with these headers and reads what is answered. A redirect is an answer like any
    /// other: what was meant for one server is posted to no second.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Page, FetchError> {
        let posted = async {
            let guard = self.guard();
            let target = guard.target(url)?;
            let answer = self.ask(&guard, &target, headers, Some(body)).await?;
            self.read(target, answer, Vec::new()).await
        };
        self.in_time(posted).await
    }

    async fn in_time(
        &self,
        page: impl Future<Output = Result<Page, FetchError>>,
    ) -> Result<Page, FetchError> {
        let limit = self.limits.time;
        within(&*self.clock, limit, page).await.unwrap_or(Err(FetchError::Slow(limit)))
    }

    async fn walk(
        &self,
        url: &str,
        mut headers: &[(&str, &str)],
        follows: &(dyn Fn(&Url) -> bool + Sync),
    ) -> Result<Page, FetchError> {
        let guard = self.guard();
        let mut target = guard.target(url)?;
        let mut cache_control = Vec::new();
        for _ in 0..=REDIRECTS {
            let answer = self.ask(&guard, &target, headers, None).await?;
            let Some(location) = location(&*answer) else {
                return self.read(target, answer, cache_control).await;
            };
            cache_control.extend(answer.headers(CACHE_CONTROL));
            let next = guard.redirected(&target, location)?;
            if !follows(next.url()) {
                return Err(FetchError::Elsewhere(next.into_url()));
            }
            if next.url().origin() != target.url().origin() {
                headers = &[];
            }
            target = next;
        }
        Err(target.refusal(Rule::Redirects).into())
    }

    /// The guard of one request.
    fn guard(&self) -> Guard {
        let guard = Guard::new(self.own.addresses());
        #[cfg(any(test, feature = "testing"))]
        if let Some(address) = self.allowed {
            return guard.allowing(address);
        }
        guard
    }

    async fn ask(
        &self,
        guard: &Guard,
        target: &Target,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Box<dyn Answer>, FetchError> {
        let found = match target.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.resolver.resolve(name).await,
        };
        let to = guard.addresses(target, &found)?;
        Ok(self.dialler.ask(target.url(), headers, body, &to).await?)
    }

    /// Reads the last answer, before which the others have said this of keeping it.
    async fn read(
        &self,
        target: Target,
        mut answer: Box<dyn Answer>,
        mut cache_control: Vec<String>,
    ) -> Result<Page, FetchError> {
        cache_control.extend(answer.headers(CACHE_CONTROL));
        let coding = answer.header("content-encoding").unwrap_or("identity");
        if !coding.eq_ignore_ascii_case("identity") {
            return Err(FetchError::Compressed);
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if body.len() + chunk.len() > self.limits.body {
                return Err(FetchError::Long(self.limits.body));
            }
            body.extend_from_slice(&chunk);
        }
        let header = |name: &str| answer.header(name).map(str::to_owned);
        Ok(Page {
            url: target.into_url(),
            status: answer.status(),
            content_type: header("content-type"),
            cache_control: (!cache_control.is_empty()).then(|| cache_control.join(", ")),
            retry_after: answer.header("retry-after").and_then(seconds),
            body,
        })
    }
}

/// Where an answer says that the page is (RFC 9110, 15.4).
fn location(answer: &dyn Answer) -> Option<&str> {
    let redirect = matches!(answer.status(), 301 | 302 | 303 | 307 | 308);
    answer.header("location").filter(|_| redirect)
}
