//! The known facts about the model of a server, and the checks that follow from them.

use serde_json::{Value, json};

use super::{MODEL, OllamaRefusal, invalid};
use crate::http::Piece;

/// The context length, in tokens, of a request without one.
const DEFAULT_CONTEXT: u64 = 4096;

/// The known facts about the model.
#[derive(Debug, Clone)]
pub struct Card {
    /// The model's capabilities. `None` for an old server that does not report them.
    pub capabilities: Option<Vec<&'static str>>,
    /// The maximum context length in tokens.
    pub context_length: u64,
    /// The parameters of the Modelfile, one per line.
    pub parameters: &'static str,
    /// The required key. `None` for a local server, as opposed to Ollama's cloud.
    pub key: Option<&'static str>,
    /// Failures of the first requests for these facts, in order.
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
    /// Returns the answer of `/api/show`.
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

    /// Refuses a request that needs a missing capability. An old server accepts all requests.
    pub(super) fn check(&self, body: &Value) -> Result<(), OllamaRefusal> {
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
            return Err(OllamaRefusal { status: 500, message });
        }
        Ok(())
    }

    /// Silently removes the oldest messages until the rest fits into the context. Refuses the
    /// request instead if it forbids truncation.
    pub(super) fn cut(&self, body: &mut Value) -> Result<(), OllamaRefusal> {
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

/// Estimates the tokens of a message.
fn tokens(message: &Value) -> u64 {
    message["content"].as_str().map_or(0, |text| text.len() as u64 / 4) + 4
}
