//! The trait that every HTTP provider's configuration implements: check the values, state facts
//! about the models, create a model.

use std::sync::Arc;

use avocet_net::NetError;
use avocet_protocol::Clock;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::facts::{BuiltIn, Facts, host};
use crate::known::{ConfiguredFacts, KnownModel, Served};
use crate::{
    Anthropic, AnthropicConfig, Gemini, GeminiConfig, Ollama, OllamaConfig, OpenAi, OpenAiConfig,
};

/// A provider's table in the configuration, without its `kind` key.
pub trait ProviderConfig: DeserializeOwned + JsonSchema {
    /// The type of model that this provider creates.
    type Model: Served + 'static;

    /// Checks that the configuration can be used.
    ///
    /// # Errors
    /// The key with an unusable value, and the reason.
    fn check(&self) -> Result<(), (&'static str, String)>;

    /// The base URL of the API.
    fn base_url(&self) -> &str;

    /// The facts that the table states about all its models.
    fn facts(&self) -> Facts;

    /// Returns the same table with the output limit set to this many tokens.
    #[must_use]
    fn limited_to(self, tokens: u32) -> Self;

    /// Creates the model `model` of the provider that the configuration calls `provider`.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    fn served(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self::Model, NetError>;

    /// Creates the same model together with all known facts about it; `models` are the operator's
    /// facts about this model.
    ///
    /// # Errors
    /// The same as [`Self::served`].
    fn model(
        self,
        provider: &str,
        model: &str,
        models: Facts,
        clock: Arc<dyn Clock>,
    ) -> Result<KnownModel, NetError> {
        let built_in = BuiltIn::of(model, host(self.base_url()));
        let table = self.facts();
        // A request for more output than the model allows would be refused.
        let asked =
            table.max_output.map(|tokens| tokens.min(built_in.facts.max_output.unwrap_or(tokens)));
        let config = match models.max_output.or(asked) {
            Some(tokens) => self.limited_to(u32::try_from(tokens).unwrap_or(u32::MAX)),
            None => self,
        };
        let served = config.served(provider, model, clock)?;
        let provider = Facts { max_output: asked, ..table };
        Ok(KnownModel::new(served, ConfiguredFacts { models, provider, built_in }))
    }
}

impl ProviderConfig for AnthropicConfig {
    type Model = Anthropic;

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(base_url)?;
        self.limits().check()?;
        match self.thinking_tokens {
            Some(tokens @ ..1024) => {
                let error = format!("{tokens} is too few; it has to be at least 1024");
                Err(("thinking_tokens", error))
            }
            _ => Ok(()),
        }
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn facts(&self) -> Facts {
        let max_output = Some(u64::from(self.max_output_tokens));
        Facts { images: self.images, max_output, ..Facts::default() }
    }

    fn limited_to(self, tokens: u32) -> Self {
        Self { max_output_tokens: tokens, ..self }
    }

    fn served(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self::Model, NetError> {
        Anthropic::new(provider, model, self, clock)
    }
}

impl ProviderConfig for GeminiConfig {
    type Model = Gemini;

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(base_url)?;
        self.limits().check()
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn facts(&self) -> Facts {
        let max_output = self.max_output_tokens.map(u64::from);
        Facts { images: self.images, max_output, ..Facts::default() }
    }

    fn limited_to(self, tokens: u32) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    fn served(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self::Model, NetError> {
        Gemini::new(provider, model, self, clock)
    }
}

impl ProviderConfig for OllamaConfig {
    type Model = Ollama;

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(|error| ("base_url", error))?;
        self.limits().check()?;
        self.check_context_tokens().map_err(|error| ("context_tokens", error))
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn facts(&self) -> Facts {
        let max_output = self.max_output_tokens.map(u64::from);
        let Self { tools, text_calls, .. } = *self;
        Facts { tools, text_calls, max_output, ..Facts::default() }
    }

    fn limited_to(self, tokens: u32) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    fn served(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self::Model, NetError> {
        Ollama::new(provider, model, self, clock)
    }
}

impl ProviderConfig for OpenAiConfig {
    type Model = OpenAi;

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_base_url().map_err(base_url)?;
        self.limits().check()?;
        self.check_quirks()
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn facts(&self) -> Facts {
        let max_output = self.max_output_tokens.map(u64::from);
        let Self { images, tools, text_calls, .. } = *self;
        Facts { images, tools, text_calls, max_output, ..Facts::default() }
    }

    fn limited_to(self, tokens: u32) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    fn served(
        &self,
        provider: &str,
        model: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self::Model, NetError> {
        OpenAi::new(provider, model, self, clock)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
pub(crate) fn base_url(error: NetError) -> (&'static str, String) {
    ("base_url", error.to_string())
}
