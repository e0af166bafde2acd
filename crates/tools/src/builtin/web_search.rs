//! `web_search`: searches the web.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::tool::{
    Description, Leaving, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::BuiltinParts;
use crate::web::WebAccess;
use crate::web::search::SearchResult;

/// Results returned by default.
const DEFAULT_COUNT: usize = 8;

/// The instructions for the operator.
const NOT_CONFIGURED: &str = "no search engine is configured; the operator has to add these lines to the \
    configuration:\n[tools.web_search]\nprovider = \"brave\"\napi_key = \"${BRAVE_API_KEY}\"\n(Or \"tavily\" with \
    its key, \"searxng\" with base_url, or \"duckduckgo\", which needs neither.) Without it, web_fetch reads pages \
    whose URL is known";

#[derive(Debug)]
pub(super) struct WebSearch {
    web: Arc<WebAccess>,
}

impl WebSearch {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self::from_web(parts.web.clone())
    }

    pub(super) fn from_web(web: Arc<WebAccess>) -> Self {
        Self { web }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WebSearchArguments {
    #[schemars(length(min = 1, max = 400))]
    query: String,
    /// Default: 8.
    #[schemars(range(min = 1, max = 20))]
    count: Option<usize>,
}

#[async_trait]
impl Tool for WebSearch {
    type Arguments = WebSearchArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Search the web. Returns titles, URLs and snippets.";
        Description::new("web_search", ToolClass::Pure, TEXT)
            .in_group("web")
            .parallel()
            .returns_untrusted_text()
            .at_most(16 * 1024)
    }

    async fn execute(
        &self,
        arguments: WebSearchArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let Some(search) = &self.web.search else {
            return Err(ToolError::ExecutionFailed(NOT_CONFIGURED.to_owned()));
        };
        let found =
            search.find_results(&arguments.query, arguments.count.unwrap_or(DEFAULT_COUNT)).await?;
        let result = |found: SearchResult| {
            let SearchResult { title, url, snippet } = found;
            json!({ "title": title, "url": url, "snippet": snippet })
        };
        let results: Vec<Value> = found.into_iter().map(result).collect();
        Ok(if results.is_empty() {
            json!({ "results": [], "note": "no results; try other or fewer words" })
        } else {
            json!({ "results": results })
        }
        .into())
    }

    fn leaving(&self, arguments: &WebSearchArguments) -> Vec<Leaving> {
        vec![Leaving::Query(arguments.query.clone())]
    }

    fn found(&self, result: &Value) -> Vec<String> {
        let results = result["results"].as_array().into_iter().flatten();
        results.filter_map(|found| found["url"].as_str().map(str::to_owned)).collect()
    }

    async fn question(
        &self,
        arguments: &WebSearchArguments,
        _context: &ToolContext,
    ) -> Option<Question> {
        let name = self.web.search.as_ref()?.name();
        let query = arguments.query.replace('`', "'").replace(['\r', '\n'], " ");
        let shown = format!("Search the web ({name}) for `{query}`");
        Some(Question { shown, scope: name.to_owned(), shape: None })
    }
}
