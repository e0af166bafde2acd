//! Web search: code shared by all search engines. Each engine has a file in `search/` and a line in
//! [`PROVIDERS`].

mod brave;
mod duckduckgo;
mod searxng;
mod tavily;

use std::sync::Arc;
use std::time::Duration;

use avocet_net::{FetchError, GuardedClient, HttpClient, NetError, Url, check_header, check_url};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::decode_json;
use avocet_protocol::tool::ToolError;
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::plain::plain_page;
use super::{explain_fetch_error, off_thread, on_a_line};
use crate::schema::ALIKE;

const PROVIDERS: [SearchProvider; 4] =
    [brave::PROVIDER, duckduckgo::PROVIDER, searxng::PROVIDER, tavily::PROVIDER];

/// The timeout of an operator's own engine.
const TIME: Duration = Duration::from_secs(30);
/// Bytes of a response that are read.
const MAX_BODY: usize = 2 * 1024 * 1024;
/// Characters of a title that are returned.
const MAX_TITLE: usize = 200;
/// Characters of a snippet that are returned.
const MAX_SNIPPET: usize = 500;
/// Bytes of the longest URL that is returned.
const MAX_URL: usize = 1000;
/// Characters of an engine's error message that are quoted.
const MAX_DETAIL: usize = 200;

/// The search engine of the tool `web_search`. Without this table, the agent cannot search the web.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchConfig {
    /// The engine: `brave`, `duckduckgo`, `searxng` or `tavily`.
    pub provider: String,
    /// The base URL of the engine. `searxng` needs it. A URL that is set here is trusted: requests
    /// go to it without further checks, also in a private network. Default: the provider's own URL.
    pub base_url: Option<String>,
    /// The API key; `brave` and `tavily` need one.
    pub api_key: Option<Secret>,
}

impl SearchConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// If a key is wrong or missing: the key and the reason. Shows no value.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        let names = || PROVIDERS.iter().map(|known| known.name);
        let Some(provider) = self.known_provider() else {
            let alike = |name: &&str| strsim::jaro_winkler(name, &self.provider) > ALIKE;
            let meant =
                names().find(|name| alike(name)).map(|name| format!("did you mean `{name}`? "));
            let listed = names().collect::<Vec<_>>().join(", ");
            let meant = meant.unwrap_or_default();
            return Err((
                "provider",
                format!("there is no such provider; {meant}the providers are {listed}"),
            ));
        };
        let name = provider.name;
        match &self.base_url {
            Some(url) => check_url(url).map_err(|error| ("base_url", error.to_string()))?,
            None if provider.place.is_none() => {
                return Err((
                    "base_url",
                    format!("{name} is a server of your own: give its address"),
                ));
            }
            None => {}
        }
        match &self.api_key {
            Some(key) => check_header("api_key", key)
                .map_err(|_| ("api_key", "it cannot be sent: it must be visible ASCII".to_owned())),
            None if provider.wants_key => Err(("api_key", format!("{name} needs a key"))),
            None => Ok(()),
        }
    }

    /// The base URL of the engine.
    #[must_use]
    pub fn engine_url(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.known_provider()?.place)
    }

    fn known_provider(&self) -> Option<&'static SearchProvider> {
        PROVIDERS.iter().find(|known| known.name == self.provider)
    }
}

/// A search engine: its requests and the format of its responses.
#[derive(Debug)]
struct SearchProvider {
    name: &'static str,
    /// The base URL; `None` if every operator runs their own.
    place: Option<&'static str>,
    wants_key: bool,
    /// Advice for a response of 401 or 403.
    if_refused: &'static str,
    request: fn(&SearchParameters<'_>) -> Option<SearchRequest>,
    /// Parses a response of status 2xx. The error describes the fault.
    parse: fn(&str) -> Result<Vec<SearchResult>, String>,
}

struct SearchParameters<'a> {
    /// Without a slash at its end.
    base: &'a str,
    key: &'a str,
    query: &'a str,
    count: usize,
}

struct SearchRequest {
    url: Url,
    headers: Vec<(&'static str, String)>,
    /// Sent with POST; `None` means GET.
    body: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchResult {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

struct SearchAnswer {
    status: u16,
    retry_after: Option<Duration>,
    body: String,
}

/// The search engine of a configuration.
#[derive(Debug)]
pub struct SearchEngine {
    provider: &'static SearchProvider,
    /// A secret, because the URL may contain a password.
    base: Secret,
    key: Option<Secret>,
    way: EngineClient,
}

/// The network path to the engine.
#[derive(Debug)]
enum EngineClient {
    /// The provider's default URL, reached through the guard.
    Guarded(GuardedClient),
    /// A URL from the configuration, which is trusted. Redirects are not followed.
    Written(HttpClient, Arc<dyn Clock>),
}

impl SearchEngine {
    /// Creates the engine of a checked configuration.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if the configuration is invalid or the HTTP client cannot be created.
    pub fn new(
        config: &SearchConfig,
        guarded: &GuardedClient,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NetError> {
        config
            .check_values()
            .map_err(|(key, error)| NetError::Invalid(format!("{key}: {error}")))?;
        let SearchConfig { provider, base_url, api_key } = config;
        let unknown = || NetError::Invalid(format!("there is no provider {provider}"));
        let provider = config.known_provider().ok_or_else(unknown)?;
        let way = match base_url {
            Some(_) => EngineClient::Written(HttpClient::new(), clock),
            None => EngineClient::Guarded(guarded.clone()),
        };
        let base = base_url.as_deref().or(provider.place).unwrap_or_default();
        let base = Secret::new(base.trim_end_matches('/').to_owned());
        Ok(Self { provider, base, key: api_key.clone(), way })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.provider.name
    }

    /// Searches, with at most `count` results.
    ///
    /// # Errors
    /// [`ToolError`] if the engine does not answer, or its answer is unreadable.
    pub(crate) async fn find_results(
        &self,
        query: &str,
        count: usize,
    ) -> Result<Vec<SearchResult>, ToolError> {
        let key = self.key.as_ref().map_or("", Secret::expose);
        let asked = SearchParameters { base: self.base.expose(), key, query, count };
        let request = (self.provider.request)(&asked)
            .ok_or_else(|| self.failed_search("base_url is not a URL"))?;
        let answered = self.send_request(&request).await?;
        if !(200..300).contains(&answered.status) {
            return Err(self.error_from_status(&answered));
        }
        let (parse, body) = (self.provider.parse, answered.body);
        let found = off_thread(move || Ok(parse(&body))).await?;
        let found = found.map_err(|error| self.failed_search(&error))?;
        Ok(found.iter().filter_map(limit_result).take(count).collect())
    }

    async fn send_request(&self, request: &SearchRequest) -> Result<SearchAnswer, ToolError> {
        let url = request.url.as_str();
        let headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = request.body.as_ref().map(|body| body.to_string().into_bytes());
        match &self.way {
            EngineClient::Guarded(client) => {
                let page = match body {
                    Some(body) => client.post_json(url, &headers, &body).await,
                    None => client.get(url, &headers).await,
                };
                let page = page.map_err(|error| match error {
                    FetchError::Refused(_) => explain_fetch_error(error),
                    error => self.failed_search(&error.to_string()),
                })?;
                let body = String::from_utf8_lossy(&page.body).into_owned();
                Ok(SearchAnswer { status: page.status, retry_after: page.retry_after, body })
            }
            EngineClient::Written(client, clock) => {
                let answered = async {
                    let answer = match body {
                        Some(body) => client.post_json(url, &headers, body).await?,
                        None => client.get(url, &headers).await?,
                    };
                    let (status, retry_after) = (answer.status(), answer.retry_after());
                    Ok(SearchAnswer {
                        status,
                        retry_after,
                        body: answer.read_text(MAX_BODY).await?,
                    })
                };
                let answered: Result<_, NetError> = within(clock.as_ref(), TIME, answered)
                    .await
                    .map_err(|_| self.failed_search(&FetchError::Slow(TIME).to_string()))?;
                answered.map_err(|error| self.failed_search(&error.to_string()))
            }
        }
    }

    fn error_from_status(&self, answered: &SearchAnswer) -> ToolError {
        let SearchAnswer { status, retry_after, body } = answered;
        let then = match (status, retry_after) {
            (429, Some(wait)) => format!("; ask again in {} s", wait.as_secs()),
            (429, None) => "; ask again later".to_owned(),
            (401 | 403, _) => format!("; {}", self.provider.if_refused),
            // Brave reports an unknown key as a wrong parameter.
            (422, _) if body.contains("SUBSCRIPTION_TOKEN") => {
                format!("; {}", self.provider.if_refused)
            }
            (300..=399, _) => {
                "; redirects are not followed: the operator has to correct base_url in \
                [tools.web_search]"
                    .to_owned()
            }
            (_, Some(wait)) => format!("; ask again in {} s", wait.as_secs()),
            _ => String::new(),
        };
        let detail = match on_a_line(&error_text(body), MAX_DETAIL) {
            said if said.is_empty() => said,
            said => format!(": {said}"),
        };
        self.failed_search(&format!("it answers {status}{then}{detail}"))
    }

    /// An error that names the engine. Our key is removed, because some engines repeat it.
    fn failed_search(&self, why: &str) -> ToolError {
        let key = self.key.as_ref().map(Secret::expose).filter(|key| !key.is_empty());
        let why = key.map_or_else(|| why.to_owned(), |key| why.replace(key, "[secret]"));
        ToolError::ExecutionFailed(format!(
            "the search engine {} failed: {why}",
            self.provider.name
        ))
    }
}

/// A result cut to the limits; `None` if its URL is not of the web.
fn limit_result(found: &SearchResult) -> Option<SearchResult> {
    let url = Url::parse(&found.url).ok()?;
    let fits = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_URL;
    fits.then(|| SearchResult {
        title: on_a_line(&found.title, MAX_TITLE),
        url: url.into(),
        snippet: on_a_line(&found.snippet, MAX_SNIPPET),
    })
}

/// Reads results from JSON: `path` leads to the list, `snippet` is the key of the snippet.
fn results_in_json(body: &str, path: &str, snippet: &str) -> Result<Vec<SearchResult>, String> {
    let answer: Value = decode_json(body.as_bytes())
        .map_err(|error| format!("its answer is not JSON ({error})"))?;
    let Some(results) = answer.pointer(path) else { return Ok(Vec::new()) };
    let results = results.as_array().ok_or("its answer has no list of results")?;
    let text = |result: &Value, key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let found = results.iter().map(|result| SearchResult {
        title: text(result, "title"),
        url: text(result, "url"),
        snippet: text(result, snippet),
    });
    Ok(found.collect())
}

/// The error message in a response, in any of the engines' formats.
fn error_text(body: &str) -> String {
    let Ok(answer) = serde_json::from_str::<Value>(body) else { return plain_page(body).text };
    let shapes =
        ["/error/detail", "/detail/error", "/error/message", "/error", "/detail", "/message"];
    let said = shapes.iter().find_map(|shape| answer.pointer(shape)?.as_str());
    said.unwrap_or(body).to_owned()
}

/// Advice for a refused key.
const CHECK_KEY: &str = "the operator has to check api_key in [tools.web_search]";
