//! The operator's facts about models: the table `[models]`.

use std::collections::BTreeMap;

use avocet_protocol::model::{Effort, Price};
use avocet_text::{fits_pattern, specificity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::SourcedFacts;
use crate::{TextCalls, ToolStyle};

/// The operator's facts about a model, or about all models whose names match a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// Maximum tokens of a request and its answer together.
    pub context: Option<u64>,
    /// Maximum tokens of one answer.
    pub max_output: Option<u32>,
    /// `true` if the model accepts images.
    pub images: Option<bool>,
    /// The way in which the model calls tools; the values are those of `tools` in a provider's
    /// table.
    pub tools: Option<ToolStyle>,
    /// The handling of calls that the model writes as text although it has native calls; the values
    /// are those of `text_calls` in a provider's table.
    pub text_calls: Option<TextCalls>,
    /// The price of the model's tokens.
    pub price: Option<PriceConfig>,
    /// `true` if the model can think before it answers, `false` if it cannot. Default: what its name
    /// or its server tells.
    pub thinking: Option<bool>,
    /// How much the model thinks before it answers: `off`, `low`, `medium` or `high`. An agent's
    /// `effort` and `/think` come first. Default: the setting of the provider.
    pub effort: Option<Effort>,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// The price of input tokens.
    pub input: f64,
    /// The price of output tokens.
    pub output: f64,
    /// The price of input tokens that are read from the provider's cache. Default: `input`.
    pub cached: Option<f64>,
    /// The price of input tokens that are written to the provider's cache. Default: `input`.
    pub cache_write: Option<f64>,
}

impl ModelConfig {
    /// Checks that the values are possible.
    ///
    /// # Errors
    /// The key with an impossible value, and the reason.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        let counts = [("context", self.context), ("max_output", self.max_output.map(u64::from))];
        if let Some((key, _)) = counts.iter().find(|(_, tokens)| *tokens == Some(0)) {
            return Err((key, "0 tokens are too few; leave it out if it is unknown".to_owned()));
        }
        let Some(price) = self.price else { return Ok(()) };
        let amounts = [
            ("price.input", Some(price.input)),
            ("price.output", Some(price.output)),
            ("price.cached", price.cached),
            ("price.cache_write", price.cache_write),
        ];
        for (key, amount) in amounts {
            if let Some(amount) = amount.filter(|amount| !(0.0..1e6).contains(amount)) {
                let error = format!("{amount} is not a price in US dollars for a million tokens");
                return Err((key, error));
            }
        }
        Ok(())
    }
}

impl From<ModelConfig> for SourcedFacts {
    fn from(config: ModelConfig) -> Self {
        let ModelConfig { context, max_output, images, tools, text_calls, price, thinking, effort } =
            config;
        let price = price.map(|PriceConfig { input, output, cached, cache_write }| Price {
            input,
            output,
            cached,
            cache_write,
        });
        let max_output = max_output.map(u64::from);
        Self { context, max_output, images, tools, text_calls, price, thinking, effort }
    }
}

/// The whole table `[models]`: facts by `provider/model`, in which `*` matches any characters.
#[derive(Debug, Clone, Default)]
pub struct ModelTable(BTreeMap<String, ModelConfig>);

impl ModelTable {
    /// Returns the facts about a model. If several patterns match, each key comes from the most
    /// specific pattern that has it.
    #[must_use]
    pub fn facts_of(&self, model: &str) -> SourcedFacts {
        let mut fitting: Vec<_> =
            self.0.iter().filter(|(pattern, _)| fits_pattern(pattern, model)).collect();
        fitting.sort_by_key(|(pattern, _)| specificity(pattern));
        let said = fitting.into_iter().rev().map(|(_, config)| SourcedFacts::from(*config));
        said.fold(SourcedFacts::default(), SourcedFacts::or_facts)
    }
}

impl FromIterator<(String, ModelConfig)> for ModelTable {
    fn from_iter<I: IntoIterator<Item = (String, ModelConfig)>>(tables: I) -> Self {
        Self(tables.into_iter().collect())
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
