//! The list of well-known models. Context sizes and abilities are from the providers' model pages
//! and the model cards of open-weight models. Prices are from the pages of OpenAI, Anthropic and
//! Google for the standard tier. All values are from the end of 2025. They go out of date: the
//! operator's values in `[models]` win. Uncertain values are left out, and so are those that depend
//! on more than the model. Examples: some Gemini prices depend on the length of the request, and
//! prices of open models depend on the company that runs them.

use avocet_protocol::model::Price;
use avocet_text::{fits_pattern, specificity};

use super::SourcedFacts;
use crate::ToolStyle;

/// Facts that follow from a model's name.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct BuiltIn {
    pub(crate) facts: SourcedFacts,
    /// The dialect for calls as text, used if native calls are unavailable.
    pub(crate) dialect: Option<ToolStyle>,
}

impl BuiltIn {
    /// Finds the facts about a model by its provider's name for it. The price is included only if
    /// it applies at `host`.
    pub(crate) fn find_model(model: &str, host: Option<&str>) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let fitting = FAMILIES.iter().flat_map(|family| {
            let patterns = family.patterns.iter().filter(|pattern| fits_pattern(pattern, &name));
            patterns.map(move |pattern| (specificity(pattern), family))
        });
        let best = fitting.max_by_key(|(specificity, _)| *specificity);
        let Some((_, family)) = best else { return Self::default() };
        let price = family.price.filter(|sold| Some(sold.host) == host).map(|sold| sold.price);
        Self { facts: SourcedFacts { price, ..family.facts }, dialect: family.dialect }
    }
}

/// The host of a base URL, with its port if it has one.
pub(crate) fn host_of(base_url: &str) -> Option<&str> {
    let (_, rest) = base_url.split_once("://")?;
    rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())
}

/// Models with the same facts.
struct ModelFamily {
    /// Patterns of lower-case names without the part before a slash.
    patterns: &'static [&'static str],
    /// All facts except the price.
    facts: SourcedFacts,
    dialect: Option<ToolStyle>,
    price: Option<PriceAtHost>,
}

/// A price, and the only host with this price.
#[derive(Clone, Copy)]
struct PriceAtHost {
    host: &'static str,
    price: Price,
}

const OPENAI: &str = "api.openai.com";
const ANTHROPIC: &str = "api.anthropic.com";
const GOOGLE: &str = "generativelanguage.googleapis.com";

const K: u64 = 1024;
const M: u64 = 1024 * K;

const fn model_family(patterns: &'static [&'static str]) -> ModelFamily {
    let facts = SourcedFacts {
        context: None,
        max_output: None,
        images: None,
        tools: None,
        text_calls: None,
        price: None,
        thinking: None,
        effort: None,
    };
    ModelFamily { patterns, facts, dialect: None, price: None }
}

impl ModelFamily {
    const fn with_context(mut self, tokens: u64) -> Self {
        self.facts.context = Some(tokens);
        self
    }

    const fn with_output(mut self, tokens: u64) -> Self {
        self.facts.max_output = Some(tokens);
        self
    }

    const fn with_images(mut self) -> Self {
        self.facts.images = Some(true);
        self
    }

    const fn without_images(mut self) -> Self {
        self.facts.images = Some(false);
        self
    }

    /// Native calls, and this dialect for servers without native calls.
    const fn calls_or(self, dialect: ToolStyle) -> Self {
        Self { dialect: Some(dialect), ..self.with_native_calls() }
    }

    const fn with_native_calls(mut self) -> Self {
        self.facts.tools = Some(ToolStyle::Native);
        self
    }

    /// Calls only as text, in this dialect.
    const fn with_text_calls(mut self, dialect: ToolStyle) -> Self {
        self.facts.tools = Some(dialect);
        self.dialect = Some(dialect);
        self
    }

    /// US dollars for a million tokens of input and output.
    const fn with_price(mut self, host: &'static str, input: f64, output: f64) -> Self {
        let price = Price { input, output, cached: None, cache_write: None };
        self.price = Some(PriceAtHost { host, price });
        self
    }

    /// US dollars for a million tokens read from the cache.
    const fn with_cached_price(mut self, cached: f64) -> Self {
        if let Some(sold) = &mut self.price {
            sold.price.cached = Some(cached);
        }
        self
    }

    /// US dollars for a million tokens written to the cache for five minutes.
    const fn cache_write(mut self, cache_write: f64) -> Self {
        if let Some(sold) = &mut self.price {
            sold.price.cache_write = Some(cache_write);
        }
        self
    }
}

#[rustfmt::skip]
const FAMILIES: &[ModelFamily] = &[
    // OpenAI: platform.openai.com/docs/models and /docs/pricing.
    model_family(&["gpt-3.5-turbo"]).with_context(16_385).with_output(4096).without_images().with_native_calls().with_price(OPENAI, 0.5, 1.5),
    model_family(&["gpt-4-turbo", "gpt-4-turbo-20*"]).with_context(128_000).with_output(4096).with_images().with_native_calls().with_price(OPENAI, 10.0, 30.0),
    model_family(&["gpt-4o", "gpt-4o-20*"]).with_context(128_000).with_output(16_384).with_images().with_native_calls().with_price(OPENAI, 2.5, 10.0).with_cached_price(1.25),
    model_family(&["gpt-4o-2024-05-13"]).with_context(128_000).with_output(4096).with_images().with_native_calls().with_price(OPENAI, 5.0, 15.0),
    model_family(&["gpt-4o-mini", "gpt-4o-mini-20*"]).with_context(128_000).with_output(16_384).with_images().with_native_calls().with_price(OPENAI, 0.15, 0.6).with_cached_price(0.075),
    model_family(&["gpt-4.1", "gpt-4.1-20*"]).with_context(1_047_576).with_output(32_768).with_images().with_native_calls().with_price(OPENAI, 2.0, 8.0).with_cached_price(0.5),
    model_family(&["gpt-4.1-mini", "gpt-4.1-mini-20*"]).with_context(1_047_576).with_output(32_768).with_images().with_native_calls().with_price(OPENAI, 0.4, 1.6).with_cached_price(0.1),
    model_family(&["gpt-4.1-nano", "gpt-4.1-nano-20*"]).with_context(1_047_576).with_output(32_768).with_images().with_native_calls().with_price(OPENAI, 0.1, 0.4).with_cached_price(0.025),
    model_family(&["gpt-5", "gpt-5-20*", "gpt-5.1", "gpt-5.1-20*"]).with_context(400_000).with_output(128_000).with_images().with_native_calls().with_price(OPENAI, 1.25, 10.0).with_cached_price(0.125),
    model_family(&["gpt-5-mini", "gpt-5-mini-20*"]).with_context(400_000).with_output(128_000).with_images().with_native_calls().with_price(OPENAI, 0.25, 2.0).with_cached_price(0.025),
    model_family(&["gpt-5-nano", "gpt-5-nano-20*"]).with_context(400_000).with_output(128_000).with_images().with_native_calls().with_price(OPENAI, 0.05, 0.4).with_cached_price(0.005),
    model_family(&["o1", "o1-20*"]).with_context(200_000).with_output(100_000).with_images().with_native_calls().with_price(OPENAI, 15.0, 60.0).with_cached_price(7.5),
    model_family(&["o3", "o3-20*"]).with_context(200_000).with_output(100_000).with_images().with_native_calls().with_price(OPENAI, 2.0, 8.0).with_cached_price(0.5),
    model_family(&["o3-mini", "o3-mini-20*"]).with_context(200_000).with_output(100_000).without_images().with_native_calls().with_price(OPENAI, 1.1, 4.4).with_cached_price(0.55),
    model_family(&["o4-mini", "o4-mini-20*"]).with_context(200_000).with_output(100_000).with_images().with_native_calls().with_price(OPENAI, 1.1, 4.4).with_cached_price(0.275),
    model_family(&["gpt-oss*"]).with_context(128 * K).without_images().calls_or(ToolStyle::Harmony),

    // Anthropic: docs.anthropic.com, "Models overview" and "Pricing".
    model_family(&["claude-3*", "claude-*-4*"]).with_context(200_000).with_images().with_native_calls(),
    model_family(&["claude-3-haiku*"]).with_context(200_000).with_output(4096).with_images().with_native_calls().with_price(ANTHROPIC, 0.25, 1.25).with_cached_price(0.03).cache_write(0.3),
    model_family(&["claude-3-opus*"]).with_context(200_000).with_output(4096).with_images().with_native_calls().with_price(ANTHROPIC, 15.0, 75.0).with_cached_price(1.5).cache_write(18.75),
    model_family(&["claude-3-5-haiku*", "claude-3.5-haiku*"]).with_context(200_000).with_output(8192).with_images().with_native_calls().with_price(ANTHROPIC, 0.8, 4.0).with_cached_price(0.08).cache_write(1.0),
    model_family(&["claude-3-5-sonnet*", "claude-3.5-sonnet*"]).with_context(200_000).with_output(8192).with_images().with_native_calls().with_price(ANTHROPIC, 3.0, 15.0).with_cached_price(0.3).cache_write(3.75),
    model_family(&["claude-3-7-sonnet*", "claude-3.7-sonnet*"]).with_context(200_000).with_output(64_000).with_images().with_native_calls().with_price(ANTHROPIC, 3.0, 15.0).with_cached_price(0.3).cache_write(3.75),
    model_family(&["claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-20*", "claude-sonnet-4-5", "claude-sonnet-4-5-20*", "claude-sonnet-4.5"]).with_context(200_000).with_output(64_000).with_images().with_native_calls().with_price(ANTHROPIC, 3.0, 15.0).with_cached_price(0.3).cache_write(3.75),
    model_family(&["claude-opus-4", "claude-opus-4-0", "claude-opus-4-20*", "claude-opus-4-1", "claude-opus-4-1-20*", "claude-opus-4.1"]).with_context(200_000).with_output(32_000).with_images().with_native_calls().with_price(ANTHROPIC, 15.0, 75.0).with_cached_price(1.5).cache_write(18.75),
    model_family(&["claude-opus-4-5", "claude-opus-4-5-20*", "claude-opus-4.5"]).with_context(200_000).with_output(64_000).with_images().with_native_calls().with_price(ANTHROPIC, 5.0, 25.0).with_cached_price(0.5).cache_write(6.25),
    model_family(&["claude-haiku-4-5", "claude-haiku-4-5-20*", "claude-haiku-4.5"]).with_context(200_000).with_output(64_000).with_images().with_native_calls().with_price(ANTHROPIC, 1.0, 5.0).with_cached_price(0.1).cache_write(1.25),

    // Google: ai.google.dev/gemini-api/docs/models and /docs/pricing.
    model_family(&["gemini-1.5-pro*"]).with_context(2 * M).with_output(8192).with_images().with_native_calls(),
    model_family(&["gemini-1.5-flash*"]).with_context(M).with_output(8192).with_images().with_native_calls(),
    model_family(&["gemini-2.0-flash", "gemini-2.0-flash-001"]).with_context(M).with_output(8192).with_images().with_native_calls().with_price(GOOGLE, 0.1, 0.4).with_cached_price(0.025),
    model_family(&["gemini-2.0-flash-lite", "gemini-2.0-flash-lite-001"]).with_context(M).with_output(8192).with_images().with_native_calls().with_price(GOOGLE, 0.075, 0.3),
    model_family(&["gemini-2.5-pro"]).with_context(M).with_output(65_536).with_images().with_native_calls(),
    model_family(&["gemini-2.5-flash"]).with_context(M).with_output(65_536).with_images().with_native_calls().with_price(GOOGLE, 0.3, 2.5),
    model_family(&["gemini-2.5-flash-lite"]).with_context(M).with_output(65_536).with_images().with_native_calls().with_price(GOOGLE, 0.1, 0.4),
    model_family(&["gemma", "gemma:*", "gemma-2b*", "gemma-7b*", "gemma2*", "gemma-2-*"]).with_context(8 * K).without_images().with_text_calls(ToolStyle::Json),
    model_family(&["gemma3", "gemma3:*", "gemma-3-*"]).with_context(128 * K).with_images().with_text_calls(ToolStyle::Json),
    model_family(&["gemma3:270m*", "gemma-3-270m*", "gemma3:1b*", "gemma-3-1b*"]).with_context(32 * K).without_images().with_text_calls(ToolStyle::Json),
    model_family(&["gemma3n*", "gemma-3n*"]).with_context(32 * K).with_text_calls(ToolStyle::Json),

    // Open weights: the model cards. A server may be set to less context than the model has.
    model_family(&["llama3", "llama3:*", "meta-llama-3-8b*", "meta-llama-3-70b*"]).with_context(8 * K).without_images().with_text_calls(ToolStyle::Json),
    model_family(&["llama3.1*", "llama-3.1*", "meta-llama-3.1*", "llama3.3*", "llama-3.3*"]).with_context(128 * K).without_images().calls_or(ToolStyle::Llama),
    model_family(&["llama3.2*", "llama-3.2*"]).with_context(128 * K).without_images().calls_or(ToolStyle::Llama),
    model_family(&["llama3.2-vision*", "llama-3.2-11b*", "llama-3.2-90b*"]).with_context(128 * K).with_images().with_text_calls(ToolStyle::Json),
    model_family(&["*hermes-2*", "*hermes2*", "*hermes-4*"]).without_images().with_text_calls(ToolStyle::Hermes),
    model_family(&["hermes3*", "hermes-3-llama-3.*"]).with_context(128 * K).without_images().with_text_calls(ToolStyle::Hermes),
    model_family(&["qwen2.5*", "qwen-2.5*"]).with_context(32 * K).without_images().calls_or(ToolStyle::Hermes),
    model_family(&["qwen2.5*-1m*"]).without_images().calls_or(ToolStyle::Hermes),
    model_family(&["qwen2.5vl*", "qwen2.5-vl*", "qwen-2.5-vl*", "qwen2.5-omni*"]).with_images(),
    model_family(&["qwen3*"]).calls_or(ToolStyle::Hermes),
    model_family(&["qwen3", "qwen3:*", "qwen3-0.6b*", "qwen3-1.7b*", "qwen3-4b*", "qwen3-8b*", "qwen3-14b*", "qwen3-30b*", "qwen3-32b*", "qwen3-235b*"]).with_context(32 * K).without_images().calls_or(ToolStyle::Hermes),
    model_family(&["qwen3-4b*-2507*", "qwen3-30b*-2507*", "qwen3-235b*-2507*"]).with_context(256 * K).without_images().calls_or(ToolStyle::Hermes),
    model_family(&["qwen3-coder", "qwen3-coder:*", "qwen3-coder-30b*", "qwen3-coder-480b*"]).with_context(256 * K).without_images().calls_or(ToolStyle::Qwen),
    model_family(&["qwen3-coder-*"]).calls_or(ToolStyle::Qwen),
    model_family(&["glm-4.5*", "glm-4.6*", "glm-4.7*"]).calls_or(ToolStyle::Glm),
    model_family(&["minimax-m2*"]).calls_or(ToolStyle::Minimax),
    model_family(&["seed-oss*"]).calls_or(ToolStyle::Seed),
    model_family(&["mistral", "mistral:*", "mistral-7b*"]).with_context(32 * K).without_images().calls_or(ToolStyle::Mistral),
    model_family(&["mistral-nemo*", "open-mistral-nemo*"]).with_context(128 * K).without_images().calls_or(ToolStyle::Mistral),
    model_family(&["mistral-small3.1*", "mistral-small3.2*", "mistral-small-3.1*", "mistral-small-3.2*"]).with_context(128 * K).with_images().calls_or(ToolStyle::Mistral),
    model_family(&["mixtral", "mixtral:*", "mixtral-8x7b*"]).with_context(32 * K).without_images().with_text_calls(ToolStyle::Json),
    model_family(&["mixtral:8x22b*", "mixtral-8x22b*", "open-mixtral-8x22b*"]).with_context(64 * K).without_images().calls_or(ToolStyle::Mistral),
    model_family(&["devstral", "devstral:*", "devstral-small-2505*", "devstral-small-2507*"]).with_context(128 * K).without_images().calls_or(ToolStyle::Mistral),
    model_family(&["pixtral-12b*"]).with_context(128 * K).with_images().calls_or(ToolStyle::Mistral),
    // The markup of DeepSeek and Kimi consists of control tokens. Servers may leave them out of a
    // text, so a model without native calls is asked for JSON. Its markup is read as well.
    model_family(&["kimi-k2*"]).calls_or(ToolStyle::Json),
    model_family(&["deepseek-chat", "deepseek-v3*"]).with_context(128_000).without_images().calls_or(ToolStyle::Json),
    model_family(&["deepseek-reasoner", "deepseek-r1*"]).with_context(128_000).without_images(),
    model_family(&["phi3.5*", "phi-3.5-mini*"]).with_context(128 * K).without_images().with_text_calls(ToolStyle::Json),
    model_family(&["phi4", "phi4:*", "phi-4"]).with_context(16 * K).without_images().with_text_calls(ToolStyle::Json),
    model_family(&["phi4-mini", "phi4-mini:*", "phi-4-mini-instruct*"]).with_context(128 * K).without_images().calls_or(ToolStyle::Json),
    model_family(&["llava", "llava:*"]).with_images().with_text_calls(ToolStyle::Json),
];

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
