//! `web_fetch`: reads a page of the public web.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::Url;
use avocet_protocol::tool::{
    Description, Leaving, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::BuiltinParts;
use crate::web::{FollowedRedirects, PageFormat, PageView, WebAccess};

/// Bytes returned by default.
const DEFAULT_LENGTH: usize = 16 * 1024;
/// Bytes returned at most. JSON escapes can double this, which still stays below the size at which
/// a result is truncated.
const MAX_LENGTH: usize = 28 * 1024;

#[derive(Debug)]
pub(super) struct WebFetch {
    web: Arc<WebAccess>,
}

impl WebFetch {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { web: parts.web.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WebFetchArguments {
    #[schemars(length(min = 1, max = 2000))]
    url: String,
    /// markdown: the readable part; text: with its markup; json: a value a line. Default: markdown.
    #[schemars(extend("x-rare" = true))]
    format: Option<PageFormat>,
    offset: Option<usize>,
    /// Bytes, up to 28672. Default: 16384.
    #[schemars(range(min = 1, max = 28672), extend("x-rare" = true))]
    length: Option<usize>,
}

#[async_trait]
impl Tool for WebFetch {
    type Arguments = WebFetchArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Read a web page; offset continues.";
        Description::new("web_fetch", ToolClass::Pure, TEXT)
            .in_group("web")
            .parallel()
            .returns_untrusted_text()
    }

    async fn execute(
        &self,
        arguments: WebFetchArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let WebFetchArguments { url, format, offset, length } = arguments;
        let redirects = if context.trust.suffices_for(context.role) {
            FollowedRedirects::Anywhere
        } else {
            FollowedRedirects::SameSite
        };
        let view = self.web.get_page(url.trim(), format.unwrap_or_default(), redirects).await?;
        let length = length.unwrap_or(DEFAULT_LENGTH).min(MAX_LENGTH);
        Ok(part_of_page(&view, offset.unwrap_or(0), length)?.into())
    }

    fn leaving(&self, arguments: &WebFetchArguments) -> Vec<Leaving> {
        vec![Leaving::Url(arguments.url.trim().to_owned())]
    }

    async fn question(
        &self,
        arguments: &WebFetchArguments,
        _context: &ToolContext,
    ) -> Option<Question> {
        let url = Url::parse(arguments.url.trim()).ok()?;
        // Show the parsed URL: it has no invisible characters, and backquotes are percent-encoded.
        let shown = format!("Fetch `{}`", url.as_str().replace('`', "%60"));
        Some(Question { shown, scope: url.host_str()?.to_owned(), shape: None })
    }
}

/// A part of a page, with the offset of the next part.
fn part_of_page(view: &PageView, offset: usize, length: usize) -> Result<Value, ToolError> {
    let PageView { url, status, title, content, note } = view;
    let total = content.len();
    let start = content.floor_char_boundary(offset);
    if offset > 0 && start == total {
        let why = format!("offset {offset} is at the end: the page is {total} bytes long");
        return Err(ToolError::InvalidArgs(why));
    }
    let end = content.ceil_char_boundary(start.saturating_add(length));
    let mut result = json!({ "url": url, "status": status, "content": &content[start..end] });
    let whole = (start, end) == (0, total);
    let note = note.or(content.is_empty().then_some("the page has no text"));
    let more = [
        ("title", title.as_ref().map(|title| json!(title))),
        ("note", note.map(|note| json!(note))),
        ("total", (!whole).then(|| json!(total))),
        ("next", (end < total).then(|| json!(end))),
    ];
    for (key, value) in more {
        if let Some(value) = value {
            result[key] = value;
        }
    }
    Ok(result)
}

#[cfg(test)]
#[path = "web_fetch_tests.rs"]
mod tests;
