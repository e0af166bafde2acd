//! What a server knows of its model, and does with it.

use serde_json::{Value, json};

use super::{MODEL, Refusal, invalid};
use crate::http::Piece;

/// The context of a request that names none.
const DEFAULT_CONTEXT: u64 = 4096;

/// What is known of the model.
#[derive(Debug, Clone)]
pub struct Card {
    /// What it can do; none for a server that is too old to say.
    pub capabilities: Option<Vec<&'static str>>,
    /// The context that it was made for.
    pub context_length: u64,
    /// The parameters of its Modelfile, a line each.
    pub parameters: &'static str,
    /// The key that the server wants; none for one's own, as opposed to Ollama's.
    pub key: Option<&'static str>,
    /// How questions about it fail, one by one, before one is answered.
    pub failures: Vec<Vec<Piece>>,
}

impl Default for Card {
    fn default() -> Self {
        Self {
            capabilities: Some(vec!["completion", "tools", "thinking", "vision"]),
            context_length: 40_960,
            parameters: "stop                           \"<|im_end|>\"\ntemperature  0.6",
            key: None,
            failures: Vec::new(),
        }
    }
}

impl Card {
    /// The answer of `/api/show`.
    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({
            "license": "none", "modelfile": "FROM x", "parameters": self.parameters,
            "template": "{{ .Prompt }}",
            "details": { "format": "gguf", "family": "qwentest", "families": ["qwentest"] },
            "model_info": {
                "general.architecture": "qwentest", "qwentest.block_count": 36,
                "qwentest.context_length": self.context_length,
            },
        });
        if let Some(capabilities) = &self.capabilities {
            shown["capabilities"] = json!(capabilities);
        }
        shown
    }

    /// Refuses what the model cannot do. An old server, which cannot say, can.
    pub(super) fn check(&self, body: &Value) -> Result<(), Refusal> {
        let can = |what: &str| self.capabilities.as_ref().is_none_or(|all| all.contains(&what));
        if body["tools"].as_array().is_some_and(|tools| !tools.is_empty()) && !can("tools") {
            let name = MODEL.split(':').next().unwrap_or_default();
            let message =
                format!("registry.ollama.ai/library/{name}:latest does not support tools");
            return Err(invalid(message));
        }
        let thinks = !matches!(body["think"], Value::Null | Value::Bool(false));
        if thinks && !can("thinking") {
            return Err(invalid(format!("\"{MODEL}\" does not support thinking")));
        }
        let mut messages = body["messages"].as_array().into_iter().flatten();
        if messages.any(|message| message["images"].is_array()) && !can("vision") {
            let message = "this model is missing data required for image input".to_owned();
            return Err(Refusal { status: 500, message });
        }
        Ok(())
    }

    /// Leaves out the oldest messages until the rest fits into the context, and tells nobody; or
    /// refuses, where it may not.
    pub(super) fn cut(&self, body: &mut Value) -> Result<(), Refusal> {
        let context = self.context(body);
        let may_cut = body["truncate"] != false;
        let Some(messages) = body["messages"].as_array_mut() else { return Ok(()) };
        while messages.iter().map(tokens).sum::<u64>() > context {
            if !may_cut {
                return Err(invalid("the input length exceeds the context length"));
            }
            let oldest = messages.iter().position(|message| message["role"] != "system");
            match oldest.filter(|place| place + 1 < messages.len()) {
                Some(place) => drop(messages.remove(place)),
                None => break,
            }
        }
        Ok(())
    }

    fn context(&self, body: &Value) -> u64 {
        let of_file = self.parameters.lines().find_map(|line| line.strip_prefix("num_ctx"));
        let of_file = of_file.and_then(|number| number.trim().parse().ok());
        let asked = body["options"]["num_ctx"].as_u64().or(of_file);
        asked.unwrap_or(DEFAULT_CONTEXT).min(self.context_length)
    }
}

/// About what a message costs.
fn tokens(message: &Value) -> u64 {
    message["content"].as_str().map_or(0, |text| text.len() as u64 / 4) + 4
}
