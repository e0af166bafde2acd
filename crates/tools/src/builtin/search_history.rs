//! `search_history`: looks up what was said in past conversations.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{Roles, Trust};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{History, HistoryAuthor, HistoryHit, HistoryQuery};
use avocet_protocol::tool::{
    Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput,
};
use avocet_text::{match_query, snippet};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::BuiltinParts;

const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 20;
/// Length of a snippet in characters.
const SNIPPET: usize = 300;

#[derive(Debug)]
pub(super) struct SearchHistory {
    history: Arc<dyn History>,
    roles: Arc<dyn Roles>,
    zone: TimeZone,
}

impl SearchHistory {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        let BuiltinParts { history, roles, zone, .. } = parts;
        Self { history: history.clone(), roles: roles.clone(), zone: zone.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SearchHistoryArguments {
    query: String,
    /// Up to 20. Default: 5.
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
    /// YYYY-MM-DD.
    before: Option<String>,
}

#[async_trait]
impl Tool for SearchHistory {
    type Arguments = SearchHistoryArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Search past conversations with this person or group.";
        Description::new("search_history", ToolClass::Pure, TEXT)
            .in_group("search")
            .parallel()
            .for_everyone()
    }

    async fn execute(
        &self,
        arguments: SearchHistoryArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let SearchHistoryArguments { query, limit, before } = arguments;
        if match_query(&query).is_none() {
            return Err(ToolError::InvalidArgs("query contains no word".to_owned()));
        }
        let wanted = HistoryQuery {
            turn: context.call.turn,
            words: query.clone(),
            before: before.map(|day| self.start_of(&day)).transpose()?,
            limit: limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
        };
        let found = self.history.search_history(&wanted).await;
        let found = found.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        if found.is_empty() {
            return Ok(json!("nothing was said about this").into());
        }
        let trust = found.iter().map(|hit| self.trust_of_hit(hit)).min();
        let shown = found.iter().map(|hit| self.hit_json(hit, &query, context)).collect();
        let output = ToolOutput::with_writes(Value::Array(shown), Vec::new());
        Ok(ToolOutcome::Finished(ToolOutput { trust, ..output }))
    }
}

impl SearchHistory {
    fn start_of(&self, day: &str) -> Result<Timestamp, ToolError> {
        let date: Result<Date, _> = day.parse();
        let start = date.and_then(|date| date.to_zoned(self.zone.clone()));
        start.map(|start| Timestamp(start.timestamp().as_millisecond())).map_err(|error| {
            ToolError::InvalidArgs(format!("before must be a day as YYYY-MM-DD: {error}"))
        })
    }

    /// Returns the trust of a text. That of a message depends on the present role of its sender;
    /// forwarded text is untrusted.
    fn trust_of_hit(&self, hit: &HistoryHit) -> Trust {
        match &hit.author {
            HistoryAuthor::Person(inbound) if inbound.content.forwarded_from.is_some() => {
                Trust::Low
            }
            HistoryAuthor::Person(inbound) => hit.trust.min(self.roles.role(inbound).into()),
            HistoryAuthor::Agent | HistoryAuthor::Notice => hit.trust,
        }
    }

    fn hit_json(&self, hit: &HistoryHit, query: &str, context: &ToolContext) -> Value {
        let who = match &hit.author {
            HistoryAuthor::Person(inbound) => {
                inbound.sender.name.as_deref().unwrap_or(inbound.sender.id.as_str())
            }
            HistoryAuthor::Agent => "you",
            HistoryAuthor::Notice => "notice",
        };
        let at = jiff::Timestamp::from_millisecond(hit.at.0).unwrap_or_default();
        let at = at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string();
        let text = snippet(&hit.text, query, SNIPPET);
        let mut shown = json!({ "at": at, "from": who, "text": text });
        if hit.session != context.session {
            shown["session"] = json!(hit.session);
        }
        shown
    }
}
