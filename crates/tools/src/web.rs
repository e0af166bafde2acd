//! Web access for tools: pages, which are fetched through the guard, made readable and cached; and
//! a search engine.

mod cache;
pub(crate) mod charset;
pub(crate) mod html;
pub(crate) mod json;
mod kind;
pub(crate) mod plain;
pub(crate) mod search;

use std::sync::Arc;
use std::time::Duration;

use avocet_net::{FetchError, FetchedPage, GuardedClient, Url, UrlRule};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::tool::ToolError;
use avocet_supervise::run_blocking;
use avocet_text::sanitise;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::leaks::site_of_host;
use cache::PageCache;
use kind::PageKind;
use search::SearchEngine;

/// The timeout for making a page readable.
const READING: Duration = Duration::from_secs(10);
/// Pages converted at the same time: a hostile page costs CPU time.
const READERS: usize = 2;
/// Bytes of a page that are kept.
const MAX_CONTENT: usize = 2 * 1024 * 1024;
/// Characters of a title that are shown.
const MAX_TITLE: usize = 300;
/// Bytes of a URL that are shown.
const MAX_URL: usize = 2000;
/// Characters of an error page that are quoted.
const MAX_COMPLAINT: usize = 200;
/// The `Accept` header of requests.
const ACCEPT: (&str, &str) = (
    "accept",
    "text/html,application/xhtml+xml,text/markdown,text/plain,application/json,application/xml;q=0.9,*/*;q=0.5",
);

/// Access to the web. One per process, so that all share the cache.
#[derive(Debug)]
pub struct WebAccess {
    client: GuardedClient,
    /// `None` without a provider in the configuration.
    pub(crate) search: Option<SearchEngine>,
    cache: PageCache,
    readers: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
}

/// The format in which a page is returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PageFormat {
    #[default]
    Markdown,
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FollowedRedirects {
    Anywhere,
    /// Only redirects within the site of the URL: the registry has not checked other hosts.
    SameSite,
}

fn is_same_site(one: &Url, other: &Url) -> bool {
    let site_of = |url: &Url| url.host_str().map(|host| site_of_host(host).to_owned());
    site_of(one) == site_of(other)
}

/// A page in the form that the model gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageView {
    /// The URL after all redirects.
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) title: Option<String>,
    pub(crate) content: String,
    /// A note for the model about the content.
    pub(crate) note: Option<&'static str>,
}

impl PageView {
    fn count_bytes(&self) -> usize {
        self.url.len() + self.content.len() + self.title.as_ref().map_or(0, String::len)
    }
}

#[derive(Default)]
struct PageContent {
    title: String,
    content: String,
    note: Option<&'static str>,
}

impl WebAccess {
    /// Web access with this client and an optional search engine.
    #[must_use]
    pub fn new(client: GuardedClient, search: Option<SearchEngine>, clock: Arc<dyn Clock>) -> Self {
        let (cache, readers) = (PageCache::default(), Arc::new(Semaphore::new(READERS)));
        Self { client, search, cache, readers, clock }
    }

    /// The page at a URL.
    ///
    /// # Errors
    /// [`ToolError`] if the guard refuses the URL, the page does not exist, or it is unreadable.
    pub(crate) async fn get_page(
        &self,
        url: &str,
        format: PageFormat,
        redirects: FollowedRedirects,
    ) -> Result<Arc<PageView>, ToolError> {
        if let Some(view) = self.cache.get(url, format, self.clock.elapsed()) {
            return Ok(view);
        }
        let first = Url::parse(url).ok();
        let follows = |next: &Url| match (redirects, &first) {
            (FollowedRedirects::SameSite, Some(first)) => is_same_site(first, next),
            (FollowedRedirects::SameSite, None) | (FollowedRedirects::Anywhere, _) => true,
        };
        let page = self
            .client
            .get_following(url, &[ACCEPT], &follows)
            .await
            .map_err(explain_fetch_error)?;
        let (status, bytes) = (page.status, page.body.len());
        tracing::debug!(host = page.url.host_str(), status, bytes, "fetched a page");
        let url_found = shorten_url(page.url.as_str());
        let may_be_kept = may_be_kept(page.cache_control.as_deref());
        let read = self.read(page, format).await?;
        let view = off_thread(move || {
            let PageContent { title, content, note } = read;
            let title = Some(on_a_line(&title, MAX_TITLE)).filter(|title| !title.is_empty());
            Ok(Arc::new(PageView {
                url: url_found,
                status,
                title,
                content: sanitise_content(&content),
                note,
            }))
        });
        let view = view.await?;
        if may_be_kept {
            self.cache.put_page(url, format, view.clone(), self.clock.elapsed());
        }
        Ok(view)
    }

    /// Reads a response; an error status or an unreadable type is an error.
    async fn read(&self, page: FetchedPage, format: PageFormat) -> Result<PageContent, ToolError> {
        let found = off_thread(move || {
            if !(200..300).contains(&page.status) {
                return Err(explain_error_page(&page));
            }
            match kind::kind(page.content_type.as_deref(), &page.body) {
                Ok(kind) => Ok((page, kind)),
                Err(media_type) => Err(unreadable_type(&media_type, page.body.len())),
            }
        });
        let (page, kind) = found.await?;
        if (format, kind) == (PageFormat::Markdown, PageKind::Html) {
            return self.page_as_markdown(page).await;
        }
        off_thread(move || {
            let text = charset::decode_page(&page.body, page.content_type.as_deref());
            let content = if format == PageFormat::Json { as_json(&text)? } else { text };
            Ok(PageContent { content, ..PageContent::default() })
        })
        .await
    }

    /// A page as Markdown, or only its words if it exceeds the time or size limits.
    async fn page_as_markdown(&self, page: FetchedPage) -> Result<PageContent, ToolError> {
        let html = off_thread(move || {
            let html = charset::decode_page(&page.body, page.content_type.as_deref());
            Ok((Arc::<str>::from(html), page.url))
        });
        let (html, url) = html.await?;
        let stop = CancellationToken::new();
        // The guard stops the conversion also if a timeout drops this future.
        let dropped = stop.clone().drop_guard();
        let (readers, source) = (self.readers.clone(), html.clone());
        let reading = async {
            // The permit is released when the work ends, even if the caller is gone by then.
            let place = readers.acquire_owned().await;
            run_blocking(move || {
                let readable = html::read_page(&source, &url, &|| stop.is_cancelled());
                drop(place);
                readable
            })
            .await
        };
        let readable = within(self.clock.as_ref(), READING, reading).await;
        drop(dropped);
        match readable {
            Ok(Ok(Some(readable))) => {
                let (title, content) = (readable.title, readable.markdown);
                Ok(PageContent { title, content, note: None })
            }
            Ok(Err(panicked)) => {
                tracing::warn!(error = %panicked, "the page reader panicked; the plain text is used");
                page_as_words(html).await
            }
            Ok(Ok(None)) | Err(_) => page_as_words(html).await,
        }
    }
}

async fn page_as_words(html: Arc<str>) -> Result<PageContent, ToolError> {
    const NOTE: &str = "the page is too large, too deeply nested or too slow to convert to \
        Markdown: this is its plain text, without links";
    off_thread(move || {
        let plain = plain::plain_page(&html);
        Ok(PageContent { title: plain.title, content: plain.text, note: Some(NOTE) })
    })
    .await
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = run_blocking(work).await;
    done.unwrap_or_else(|panicked| Err(ToolError::ExecutionFailed(panicked.to_string())))
}

fn as_json(text: &str) -> Result<String, ToolError> {
    json::pretty_json(text).map_err(|error| {
        let why = format!("the page is not JSON ({error}); fetch it with format \"markdown\"");
        ToolError::ExecutionFailed(why)
    })
}

/// Returns `true` if a page may be cached for other conversations (RFC 9111, 5.2.2).
fn may_be_kept(cache_control: Option<&str>) -> bool {
    const NOT: [&str; 3] = ["no-store", "no-cache", "private"];
    !cache_control.unwrap_or_default().split(',').any(|directive| {
        let name = directive.split('=').next().unwrap_or_default().trim();
        NOT.iter().any(|not| name.eq_ignore_ascii_case(not))
    })
}

/// Explains an error of the guard or the network to the model.
fn explain_fetch_error(error: FetchError) -> ToolError {
    match error {
        FetchError::Refused(refusal) => {
            let hint = match refusal.rule {
                UrlRule::NoAddress => "the name cannot be resolved; check the spelling",
                UrlRule::NoUrl => "give a whole URL, such as https://example.org/page",
                UrlRule::UserInfo => "leave out the part before @",
                UrlRule::Redirects | UrlRule::Downgrade => "the page cannot be fetched from here",
                _ => "only pages of the public web can be fetched, by http and https",
            };
            ToolError::PermissionDenied(format!("{refusal}; {hint}"))
        }
        error @ FetchError::Compressed => ToolError::ExecutionFailed(format!(
            "{error}: this server cannot be read; look for the same content elsewhere"
        )),
        FetchError::Elsewhere(url) => ToolError::ExecutionFailed(format!(
            "the page redirects to another site, which is not followed after untrusted text was read; \
             if you need it, fetch {}",
            shorten_url(url.as_str())
        )),
        error => ToolError::ExecutionFailed(error.to_string()),
    }
}

/// Explains an error response to the model.
fn explain_error_page(page: &FetchedPage) -> ToolError {
    let status = page.status;
    let text = charset::decode_page(&page.body, page.content_type.as_deref());
    let text = match kind::kind(page.content_type.as_deref(), &page.body) {
        Ok(PageKind::Html) => plain::plain_page(&text).text,
        Ok(PageKind::Json | PageKind::Text) => text,
        Err(_) => String::new(),
    };
    let said = match on_a_line(&text, MAX_COMPLAINT) {
        said if said.is_empty() => String::new(),
        said => format!(": {said}"),
    };
    let wait = match page.retry_after {
        Some(wait) => format!("; it asks for a pause of {} s", wait.as_secs()),
        None => String::new(),
    };
    ToolError::ExecutionFailed(format!("the server answers {status}{wait}{said}"))
}

fn unreadable_type(media_type: &str, bytes: usize) -> ToolError {
    let instead = match media_type {
        "application/pdf" => "look for the same content as HTML, such as its abstract",
        _ => "look for a page about it, or give its URL to the user",
    };
    ToolError::ExecutionFailed(format!(
        "it is {} ({bytes} bytes); only HTML, text, JSON and XML can be read, and it was not \
            saved: {instead}",
        on_a_line(media_type, 100)
    ))
}

/// The part of a text that is kept.
fn sanitise_content(text: &str) -> String {
    let mut content = sanitise(text).text;
    if content.len() > MAX_CONTENT {
        let total = content.len();
        content.truncate(content.floor_char_boundary(MAX_CONTENT));
        content
            .push_str(&format!("\n[the page is longer: {MAX_CONTENT} of {total} bytes are kept]"));
    }
    content
}

fn shorten_url(url: &str) -> String {
    let shown = &url[..url.floor_char_boundary(MAX_URL)];
    if shown.len() < url.len() { format!("{shown}…") } else { url.to_owned() }
}

/// Foreign text on one line of at most `characters` characters.
pub(crate) fn on_a_line(text: &str, characters: usize) -> String {
    // Cut long texts early, with ample room for wide characters and for spaces.
    let start = &text[..text.floor_char_boundary(characters.saturating_mul(64))];
    let words = sanitise(start).text;
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    }
}

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
