//! Fake search engines on loopback. Each refuses the requests that the real one refuses, and
//! answers in its format.

mod brave;
mod duckduckgo;
mod searxng;
mod tavily;

use std::fmt;
use std::net::SocketAddr;

use crate::http::{HttpFake, HttpRequest, Piece, whole};
use crate::request_log::{FakeRefusal, RequestLog};

/// The key of engines that require one.
pub const KEY: &str = "key-of-the-engine";

/// The engine whose API the fake has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the engine of its name")]
pub enum Engine {
    Brave,
    DuckDuckGo,
    SearXng,
    Tavily,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what it is called")]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

impl Hit {
    /// Returns a result with this number in its texts.
    #[must_use]
    pub fn numbered(number: usize) -> Self {
        Self {
            title: format!("Page <{number}> & \"more\""),
            url: format!("https://site.dev/{number}?a=b&c=d#e"),
            snippet: format!("What page {number} says, if 1 < 2."),
        }
    }
}

/// A received search request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// The search words.
    pub query: String,
    /// The requested number of results, if the API supports it.
    pub count: Option<usize>,
}

/// A refusal in the words of the real engine.
#[derive(Debug)]
struct SearchRefusal {
    status: u16,
    body: String,
}

impl From<SearchRefusal> for FakeRefusal {
    fn from(SearchRefusal { status, body }: SearchRefusal) -> Self {
        Self::new(status, "application/json", &body.clone(), body)
    }
}

fn refused<T>(status: u16, body: impl Into<String>) -> Result<T, SearchRefusal> {
    Err(SearchRefusal { status, body: body.into() })
}

/// A fake search engine.
pub struct SearchFake {
    engine: Engine,
    server: HttpFake,
    log: RequestLog<Searched>,
}

impl fmt::Debug for SearchFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchFake").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl SearchFake {
    /// Starts an engine that returns these results for every query.
    pub async fn finding(engine: Engine, hits: Vec<Hit>) -> Self {
        let answer = move |searched: &Searched| {
            let shown = hits.len().min(searched.count.unwrap_or(usize::MAX));
            let (media_type, body) = engine.page(&hits[..shown]);
            whole(200, &[("content-type", media_type)], &body)
        };
        Self::start(engine, answer).await
    }

    /// Starts an engine whose results depend on the query.
    pub async fn finding_by(
        engine: Engine,
        hits: impl Fn(&Searched) -> Vec<Hit> + Send + Sync + 'static,
    ) -> Self {
        let answer = move |searched: &Searched| {
            let (media_type, body) = engine.page(&hits(searched));
            whole(200, &[("content-type", media_type)], &body)
        };
        Self::start(engine, answer).await
    }

    /// Starts an engine that gives this answer to every valid request.
    pub async fn answering(engine: Engine, pieces: Vec<Piece>) -> Self {
        Self::start(engine, move |_| pieces.clone()).await
    }

    async fn start(
        engine: Engine,
        answer: impl Fn(&Searched) -> Vec<Piece> + Send + Sync + 'static,
    ) -> Self {
        let log = RequestLog::default();
        let kept = log.clone();
        let server = HttpFake::start(move |request| {
            kept.answer(engine.check(&request).map_err(Into::into), &answer)
        })
        .await;
        Self { engine, server, log }
    }

    /// The loopback address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the value for `base_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        let path = if self.engine == Engine::Brave { "/res/v1" } else { "" };
        format!("http://{}{path}", self.server.address())
    }

    /// Returns the accepted requests.
    #[must_use]
    pub fn searched(&self) -> Vec<Searched> {
        self.log.accepted()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.log.refusals()
    }
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::Brave, Self::DuckDuckGo, Self::SearXng, Self::Tavily];

    /// Returns the engine's name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::DuckDuckGo => "duckduckgo",
            Self::SearXng => "searxng",
            Self::Tavily => "tavily",
        }
    }

    fn check(self, request: &HttpRequest) -> Result<Searched, SearchRefusal> {
        match self {
            Self::Brave => brave::check(request),
            Self::DuckDuckGo => duckduckgo::check(request),
            Self::SearXng => searxng::check(request),
            Self::Tavily => tavily::check(request),
        }
    }

    /// Returns the media type and the body of an answer.
    fn page(self, hits: &[Hit]) -> (&'static str, String) {
        const JSON: &str = "application/json";
        match self {
            Self::Brave => (JSON, brave::answer(hits)),
            Self::DuckDuckGo => ("text/html; charset=UTF-8", duckduckgo::answer(hits)),
            Self::SearXng => (JSON, searxng::answer(hits)),
            Self::Tavily => (JSON, tavily::answer(hits)),
        }
    }
}

/// Returns the parameters of a GET of this path. Other requests are refused.
fn parameters(request: &HttpRequest, path: &str) -> Result<Vec<(String, String)>, SearchRefusal> {
    let (found, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    if request.method != "GET" || found != path {
        return refused(404, format!("no {} {found}", request.method));
    }
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Ok(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
}

fn parameter<'p>(parameters: &'p [(String, String)], name: &str) -> Option<&'p str> {
    parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

/// Decodes a value of a form (URL standard, 5.1).
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let escaped =
            hex.filter(|_| *first == b'%').map(|hex| u8::from_str_radix(hex, 16).unwrap());
        bytes.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).unwrap()
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
