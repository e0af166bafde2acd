//! Options of all requests to a model, for both APIs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::OpenAiConfig;
use super::compatibility::{MaxTokensField, SystemRole};

/// See [`OpenAiConfig`].
#[derive(Debug)]
pub(super) struct OpenAiOptions {
    /// The endpoint's name for the model.
    pub(super) model: String,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) max_tokens_field: MaxTokensField,
    pub(super) reasoning_effort: Option<String>,
    pub(super) temperature: Option<f64>,
    pub(super) system_role: SystemRole,
    pub(super) stream: bool,
    pub(super) stream_usage: bool,
    extra_body: Map<String, Value>,
}

impl OpenAiOptions {
    pub(super) fn new(model: &str, config: &OpenAiConfig) -> Self {
        let extra_body: BTreeMap<String, Value> = config.extra_body.clone();
        Self {
            model: model.to_owned(),
            max_output_tokens: config.max_output_tokens,
            max_tokens_field: config.max_tokens_field(),
            reasoning_effort: config.reasoning_effort.clone(),
            temperature: config.temperature,
            system_role: config.system_role,
            stream: config.stream,
            stream_usage: config.stream_usage,
            extra_body: extra_body.into_iter().collect(),
        }
    }

    /// Serialises a request body and adds the configured `extra_body`.
    pub(super) fn written(&self, body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
        if self.extra_body.is_empty() {
            return serde_json::to_vec(body);
        }
        let mut body = serde_json::to_value(body)?;
        if let Value::Object(body) = &mut body {
            merge(body, &self.extra_body);
        }
        serde_json::to_vec(&body)
    }
}

/// Merges objects; replaces all other values.
fn merge(body: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (body.get_mut(key), value) {
            (Some(Value::Object(body)), Value::Object(more)) => merge(body, more),
            _ => drop(body.insert(key.clone(), value.clone())),
        }
    }
}
