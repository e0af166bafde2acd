//! Options of all requests to a model, for both APIs.

use std::collections::BTreeMap;

use avocet_protocol::model::Effort;
use serde_json::{Map, Value};

use super::OpenAiConfig;
use super::compatibility::{MaxTokensField, SystemRole};
use super::thinking::{EffortFields, ThinkingWire};
use crate::deferred::ToolDeferral;
use crate::facts::{BuiltIn, host_of};
use crate::gemini::signatures;
use crate::repair::{RequestAdjustment, RequestAdjustments};

/// See [`OpenAiConfig`].
#[derive(Debug)]
pub(super) struct OpenAiOptions {
    /// The endpoint's name for the model.
    pub(super) model: String,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) max_tokens_field: MaxTokensField,
    pub(super) reasoning_effort: Option<String>,
    pub(super) thinking: ThinkingWire,
    /// The model's own output limit; `None` if unknown.
    most_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) system_role: SystemRole,
    pub(super) stream: bool,
    pub(super) stream_usage: bool,
    pub(super) deferral: ToolDeferral,
    /// `true` if the model refuses calls without a signature: Gemini at its OpenAI address.
    pub(super) wants_signatures: bool,
    extra_body: Map<String, Value>,
}

impl OpenAiOptions {
    pub(super) fn new(model: &str, config: &OpenAiConfig) -> Self {
        let host = host_of(&config.base_url);
        let most_tokens = BuiltIn::find_model(model, host).facts.max_output;
        let extra_body: BTreeMap<String, Value> = config.extra_body.clone();
        Self {
            model: model.to_owned(),
            max_output_tokens: config.max_output_tokens,
            max_tokens_field: config.max_tokens_field(),
            reasoning_effort: config.reasoning_effort.clone(),
            thinking: ThinkingWire::from_model_and_host(model, host.unwrap_or_default()),
            most_tokens: most_tokens.and_then(|most| u32::try_from(most).ok()),
            temperature: config.temperature,
            system_role: config.system_role,
            stream: config.stream,
            stream_usage: config.stream_usage,
            deferral: config.deferred_tools.into(),
            wants_signatures: host.is_some_and(|host| host.ends_with("googleapis.com"))
                && signatures::are_wanted(model),
            extra_body: extra_body.into_iter().collect(),
        }
    }

    pub(super) fn effort_fields(&self, effort: Option<Effort>) -> EffortFields<'_> {
        self.thinking.effort_fields(effort, self.reasoning_effort.as_deref())
    }

    /// The role of the instructions. A server that refused the configured one gets the one that
    /// every server knows.
    pub(super) fn adjusted_role(&self, adjustments: RequestAdjustments) -> SystemRole {
        let is_refused = adjustments.has_adjustment(RequestAdjustment::OtherSystemRole);
        if is_refused { SystemRole::User } else { self.system_role }
    }

    /// The name of the output limit.
    pub(super) fn adjusted_max_tokens_field(
        &self,
        adjustments: RequestAdjustments,
    ) -> MaxTokensField {
        match self.max_tokens_field {
            field if !adjustments.has_adjustment(RequestAdjustment::OtherMaxTokensField) => field,
            MaxTokensField::MaxTokens => MaxTokensField::MaxCompletionTokens,
            MaxTokensField::MaxCompletionTokens => MaxTokensField::MaxTokens,
        }
    }

    /// The temperature, unless the server refused it.
    pub(super) fn adjusted_temperature(&self, adjustments: RequestAdjustments) -> Option<f64> {
        self.temperature.filter(|_| !adjustments.has_adjustment(RequestAdjustment::NoTemperature))
    }

    /// The output limit of a request with this effort: the API counts reasoning as output.
    pub(super) fn max_tokens(&self, effort: Option<Effort>) -> Option<u32> {
        let tokens = self.max_output_tokens?;
        let room = self.thinking.thinking_room(effort, self.reasoning_effort.as_deref());
        let most = self.most_tokens.unwrap_or(u32::MAX).max(tokens);
        Some(tokens.saturating_add(room).min(most))
    }

    /// Adds the configured `extra_body` to a request body.
    pub(super) fn with_extra(&self, body: Vec<u8>) -> serde_json::Result<Vec<u8>> {
        if self.extra_body.is_empty() {
            return Ok(body);
        }
        let mut body = serde_json::from_slice(&body)?;
        merge_objects(&mut body, &self.extra_body);
        serde_json::to_vec(&body)
    }
}

/// Merges objects; replaces all other values.
fn merge_objects(body: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (body.get_mut(key), value) {
            (Some(Value::Object(body)), Value::Object(more)) => merge_objects(body, more),
            _ => drop(body.insert(key.clone(), value.clone())),
        }
    }
}
