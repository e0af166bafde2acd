//! What the configuration of every provider over HTTP can do: be checked, and make a model.

use std::sync::Arc;

use avocet_net::NetError;
use avocet_protocol::{Clock, Model};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{
    Anthropic, AnthropicConfig, Dialected, Gemini, GeminiConfig, Ollama, OllamaConfig, OpenAi,
    OpenAiConfig, ToolStyle,
};

/// The table of a provider, without its kind.
pub trait ProviderConfig: DeserializeOwned + JsonSchema {
    /// Whether it can be used.
    ///
    /// # Errors
    /// The key whose value cannot, and why.
    fn check(&self) -> Result<(), (&'static str, String)>;

    /// The model `model` of the provider that is called `provider` in the configuration.
    ///
    /// # Errors
    /// [`NetError`] if there can be no HTTP client.
    fn model(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Model>, NetError>;
}

impl ProviderConfig for AnthropicConfig {
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(base_url)?;
        match self.thinking_tokens {
            Some(tokens @ ..1024) => {
                let error = format!("{tokens} is too few; it has to be at least 1024");
                Err(("thinking_tokens", error))
            }
            _ => Ok(()),
        }
    }

    fn model(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Model>, NetError> {
        let model = Anthropic::new(provider, model, self, clock)?;
        Ok(Arc::new(Dialected::new(Arc::new(model), ToolStyle::Native)))
    }
}

impl ProviderConfig for GeminiConfig {
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(base_url)
    }

    fn model(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Model>, NetError> {
        let model = Gemini::new(provider, model, self, clock)?;
        Ok(Arc::new(Dialected::new(Arc::new(model), ToolStyle::Native)))
    }
}

impl ProviderConfig for OllamaConfig {
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(|error| ("base_url", error))?;
        self.check_context_tokens().map_err(|error| ("context_tokens", error))
    }

    fn model(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Model>, NetError> {
        let model = Arc::new(Ollama::new(provider, model, self, clock)?);
        Ok(Arc::new(match self.tools {
            Some(style) => Dialected::new(model, style),
            None => Dialected::asking(model),
        }))
    }
}

impl ProviderConfig for OpenAiConfig {
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(base_url)?;
        self.check_quirks()
    }

    fn model(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Model>, NetError> {
        let model = OpenAi::new(provider, model, self, clock)?;
        Ok(Arc::new(Dialected::new(Arc::new(model), self.tools)))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn base_url(error: NetError) -> (&'static str, String) {
    ("base_url", error.to_string())
}
