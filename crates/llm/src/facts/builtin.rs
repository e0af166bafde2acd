//! The list of well-known models. Context sizes and abilities are from the providers' model pages
//! and the model cards of open-weight models. Prices are from the pages of OpenAI, Anthropic and
//! Google for the standard tier. All values are from the end of 2025. They go out of date: the
//! operator's values in `[models]` win. Uncertain values are left out, and so are those that depend
//! on more than the model. Examples: some Gemini prices depend on the length of the request, and
//! prices of open models depend on the company that runs them.

use avocet_protocol::{Price, fits, specificity};

use super::Facts;
use crate::ToolStyle;

/// Facts that follow from a model's name.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct BuiltIn {
    pub(crate) facts: Facts,
    /// The dialect for calls as text, used if native calls are unavailable.
    pub(crate) dialect: Option<ToolStyle>,
}

impl BuiltIn {
    /// Finds the facts about a model by its provider's name for it. The price is included only if
    /// it applies at `host`.
    pub(crate) fn of(model: &str, host: Option<&str>) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let fitting = FAMILIES.iter().flat_map(|family| {
            let patterns = family.patterns.iter().filter(|pattern| fits(pattern, &name));
            patterns.map(move |pattern| (specificity(pattern), family))
        });
        let best = fitting.max_by_key(|(specificity, _)| *specificity);
        let Some((_, family)) = best else { return Self::default() };
        let price = family.price.filter(|sold| Some(sold.host) == host).map(|sold| sold.price);
        Self { facts: Facts { price, ..family.facts }, dialect: family.dialect }
    }
}

/// The host of a base URL, with its port if it has one.
pub(crate) fn host(base_url: &str) -> Option<&str> {
    let (_, rest) = base_url.split_once("://")?;
    rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())
}

/// Models with the same facts.
struct Family {
    /// Patterns of lower-case names without the part before a slash.
    patterns: &'static [&'static str],
    /// All facts except the price.
    facts: Facts,
    dialect: Option<ToolStyle>,
    price: Option<Sold>,
}

/// A price, and the only host with this price.
#[derive(Clone, Copy)]
struct Sold {
    host: &'static str,
    price: Price,
}

const OPENAI: &str = "api.openai.com";
const ANTHROPIC: &str = "api.anthropic.com";
const GOOGLE: &str = "generativelanguage.googleapis.com";

const K: u64 = 1024;
const M: u64 = 1024 * K;

const fn family(patterns: &'static [&'static str]) -> Family {
    let facts = Facts {
        context: None,
        max_output: None,
        images: None,
        tools: None,
        text_calls: None,
        price: None,
        thinking: None,
        effort: None,
    };
    Family { patterns, facts, dialect: None, price: None }
}

impl Family {
    const fn context(mut self, tokens: u64) -> Self {
        self.facts.context = Some(tokens);
        self
    }

    const fn output(mut self, tokens: u64) -> Self {
        self.facts.max_output = Some(tokens);
        self
    }

    const fn sees(mut self) -> Self {
        self.facts.images = Some(true);
        self
    }

    const fn blind(mut self) -> Self {
        self.facts.images = Some(false);
        self
    }

    /// Native calls, and this dialect for servers without native calls.
    const fn calls_or(self, dialect: ToolStyle) -> Self {
        Self { dialect: Some(dialect), ..self.calls() }
    }

    const fn calls(mut self) -> Self {
        self.facts.tools = Some(ToolStyle::Native);
        self
    }

    /// Calls only as text, in this dialect.
    const fn writes(mut self, dialect: ToolStyle) -> Self {
        self.facts.tools = Some(dialect);
        self.dialect = Some(dialect);
        self
    }

    /// US dollars for a million tokens of input and output.
    const fn price(mut self, host: &'static str, input: f64, output: f64) -> Self {
        let price = Price { input, output, cached: None, cache_write: None };
        self.price = Some(Sold { host, price });
        self
    }

    /// US dollars for a million tokens read from the cache.
    const fn cached(mut self, cached: f64) -> Self {
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
const FAMILIES: &[Family] = &[
    // OpenAI: platform.openai.com/docs/models and /docs/pricing.
    family(&["gpt-3.5-turbo"]).context(16_385).output(4096).blind().calls().price(OPENAI, 0.5, 1.5),
    family(&["gpt-4-turbo", "gpt-4-turbo-20*"]).context(128_000).output(4096).sees().calls().price(OPENAI, 10.0, 30.0),
    family(&["gpt-4o", "gpt-4o-20*"]).context(128_000).output(16_384).sees().calls().price(OPENAI, 2.5, 10.0).cached(1.25),
    family(&["gpt-4o-2024-05-13"]).context(128_000).output(4096).sees().calls().price(OPENAI, 5.0, 15.0),
    family(&["gpt-4o-mini", "gpt-4o-mini-20*"]).context(128_000).output(16_384).sees().calls().price(OPENAI, 0.15, 0.6).cached(0.075),
    family(&["gpt-4.1", "gpt-4.1-20*"]).context(1_047_576).output(32_768).sees().calls().price(OPENAI, 2.0, 8.0).cached(0.5),
    family(&["gpt-4.1-mini", "gpt-4.1-mini-20*"]).context(1_047_576).output(32_768).sees().calls().price(OPENAI, 0.4, 1.6).cached(0.1),
    family(&["gpt-4.1-nano", "gpt-4.1-nano-20*"]).context(1_047_576).output(32_768).sees().calls().price(OPENAI, 0.1, 0.4).cached(0.025),
    family(&["gpt-5", "gpt-5-20*", "gpt-5.1", "gpt-5.1-20*"]).context(400_000).output(128_000).sees().calls().price(OPENAI, 1.25, 10.0).cached(0.125),
    family(&["gpt-5-mini", "gpt-5-mini-20*"]).context(400_000).output(128_000).sees().calls().price(OPENAI, 0.25, 2.0).cached(0.025),
    family(&["gpt-5-nano", "gpt-5-nano-20*"]).context(400_000).output(128_000).sees().calls().price(OPENAI, 0.05, 0.4).cached(0.005),
    family(&["o1", "o1-20*"]).context(200_000).output(100_000).sees().calls().price(OPENAI, 15.0, 60.0).cached(7.5),
    family(&["o3", "o3-20*"]).context(200_000).output(100_000).sees().calls().price(OPENAI, 2.0, 8.0).cached(0.5),
    family(&["o3-mini", "o3-mini-20*"]).context(200_000).output(100_000).blind().calls().price(OPENAI, 1.1, 4.4).cached(0.55),
    family(&["o4-mini", "o4-mini-20*"]).context(200_000).output(100_000).sees().calls().price(OPENAI, 1.1, 4.4).cached(0.275),
    family(&["gpt-oss*"]).context(128 * K).blind().calls_or(ToolStyle::Harmony),

    // Anthropic: docs.anthropic.com, "Models overview" and "Pricing".
    family(&["claude-3*", "claude-*-4*"]).context(200_000).sees().calls(),
    family(&["claude-3-haiku*"]).context(200_000).output(4096).sees().calls().price(ANTHROPIC, 0.25, 1.25).cached(0.03).cache_write(0.3),
    family(&["claude-3-opus*"]).context(200_000).output(4096).sees().calls().price(ANTHROPIC, 15.0, 75.0).cached(1.5).cache_write(18.75),
    family(&["claude-3-5-haiku*", "claude-3.5-haiku*"]).context(200_000).output(8192).sees().calls().price(ANTHROPIC, 0.8, 4.0).cached(0.08).cache_write(1.0),
    family(&["claude-3-5-sonnet*", "claude-3.5-sonnet*"]).context(200_000).output(8192).sees().calls().price(ANTHROPIC, 3.0, 15.0).cached(0.3).cache_write(3.75),
    family(&["claude-3-7-sonnet*", "claude-3.7-sonnet*"]).context(200_000).output(64_000).sees().calls().price(ANTHROPIC, 3.0, 15.0).cached(0.3).cache_write(3.75),
    family(&["claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-20*", "claude-sonnet-4-5", "claude-sonnet-4-5-20*", "claude-sonnet-4.5"]).context(200_000).output(64_000).sees().calls().price(ANTHROPIC, 3.0, 15.0).cached(0.3).cache_write(3.75),
    family(&["claude-opus-4", "claude-opus-4-0", "claude-opus-4-20*", "claude-opus-4-1", "claude-opus-4-1-20*", "claude-opus-4.1"]).context(200_000).output(32_000).sees().calls().price(ANTHROPIC, 15.0, 75.0).cached(1.5).cache_write(18.75),
    family(&["claude-opus-4-5", "claude-opus-4-5-20*", "claude-opus-4.5"]).context(200_000).output(64_000).sees().calls().price(ANTHROPIC, 5.0, 25.0).cached(0.5).cache_write(6.25),
    family(&["claude-haiku-4-5", "claude-haiku-4-5-20*", "claude-haiku-4.5"]).context(200_000).output(64_000).sees().calls().price(ANTHROPIC, 1.0, 5.0).cached(0.1).cache_write(1.25),

    // Google: ai.google.dev/gemini-api/docs/models and /docs/pricing.
    family(&["gemini-1.5-pro*"]).context(2 * M).output(8192).sees().calls(),
    family(&["gemini-1.5-flash*"]).context(M).output(8192).sees().calls(),
    family(&["gemini-2.0-flash", "gemini-2.0-flash-001"]).context(M).output(8192).sees().calls().price(GOOGLE, 0.1, 0.4).cached(0.025),
    family(&["gemini-2.0-flash-lite", "gemini-2.0-flash-lite-001"]).context(M).output(8192).sees().calls().price(GOOGLE, 0.075, 0.3),
    family(&["gemini-2.5-pro"]).context(M).output(65_536).sees().calls(),
    family(&["gemini-2.5-flash"]).context(M).output(65_536).sees().calls().price(GOOGLE, 0.3, 2.5),
    family(&["gemini-2.5-flash-lite"]).context(M).output(65_536).sees().calls().price(GOOGLE, 0.1, 0.4),
    family(&["gemma", "gemma:*", "gemma-2b*", "gemma-7b*", "gemma2*", "gemma-2-*"]).context(8 * K).blind().writes(ToolStyle::Json),
    family(&["gemma3", "gemma3:*", "gemma-3-*"]).context(128 * K).sees().writes(ToolStyle::Json),
    family(&["gemma3:270m*", "gemma-3-270m*", "gemma3:1b*", "gemma-3-1b*"]).context(32 * K).blind().writes(ToolStyle::Json),
    family(&["gemma3n*", "gemma-3n*"]).context(32 * K).writes(ToolStyle::Json),

    // Open weights: the model cards. A server may be set to less context than the model has.
    family(&["llama3", "llama3:*", "meta-llama-3-8b*", "meta-llama-3-70b*"]).context(8 * K).blind().writes(ToolStyle::Json),
    family(&["llama3.1*", "llama-3.1*", "meta-llama-3.1*", "llama3.3*", "llama-3.3*"]).context(128 * K).blind().calls_or(ToolStyle::Llama),
    family(&["llama3.2*", "llama-3.2*"]).context(128 * K).blind().calls_or(ToolStyle::Llama),
    family(&["llama3.2-vision*", "llama-3.2-11b*", "llama-3.2-90b*"]).context(128 * K).sees().writes(ToolStyle::Json),
    family(&["*hermes-2*", "*hermes2*", "*hermes-4*"]).blind().writes(ToolStyle::Hermes),
    family(&["hermes3*", "hermes-3-llama-3.*"]).context(128 * K).blind().writes(ToolStyle::Hermes),
    family(&["qwen2.5*", "qwen-2.5*"]).context(32 * K).blind().calls_or(ToolStyle::Hermes),
    family(&["qwen2.5*-1m*"]).blind().calls_or(ToolStyle::Hermes),
    family(&["qwen2.5vl*", "qwen2.5-vl*", "qwen-2.5-vl*", "qwen2.5-omni*"]).sees(),
    family(&["qwen3*"]).calls_or(ToolStyle::Hermes),
    family(&["qwen3", "qwen3:*", "qwen3-0.6b*", "qwen3-1.7b*", "qwen3-4b*", "qwen3-8b*", "qwen3-14b*", "qwen3-30b*", "qwen3-32b*", "qwen3-235b*"]).context(32 * K).blind().calls_or(ToolStyle::Hermes),
    family(&["qwen3-4b*-2507*", "qwen3-30b*-2507*", "qwen3-235b*-2507*"]).context(256 * K).blind().calls_or(ToolStyle::Hermes),
    family(&["qwen3-coder", "qwen3-coder:*", "qwen3-coder-30b*", "qwen3-coder-480b*"]).context(256 * K).blind().calls_or(ToolStyle::Qwen),
    family(&["qwen3-coder-*"]).calls_or(ToolStyle::Qwen),
    family(&["glm-4.5*", "glm-4.6*", "glm-4.7*"]).calls_or(ToolStyle::Glm),
    family(&["minimax-m2*"]).calls_or(ToolStyle::Minimax),
    family(&["seed-oss*"]).calls_or(ToolStyle::Seed),
    family(&["mistral", "mistral:*", "mistral-7b*"]).context(32 * K).blind().calls_or(ToolStyle::Mistral),
    family(&["mistral-nemo*", "open-mistral-nemo*"]).context(128 * K).blind().calls_or(ToolStyle::Mistral),
    family(&["mistral-small3.1*", "mistral-small3.2*", "mistral-small-3.1*", "mistral-small-3.2*"]).context(128 * K).sees().calls_or(ToolStyle::Mistral),
    family(&["mixtral", "mixtral:*", "mixtral-8x7b*"]).context(32 * K).blind().writes(ToolStyle::Json),
    family(&["mixtral:8x22b*", "mixtral-8x22b*", "open-mixtral-8x22b*"]).context(64 * K).blind().calls_or(ToolStyle::Mistral),
    family(&["devstral", "devstral:*", "devstral-small-2505*", "devstral-small-2507*"]).context(128 * K).blind().calls_or(ToolStyle::Mistral),
    family(&["pixtral-12b*"]).context(128 * K).sees().calls_or(ToolStyle::Mistral),
    // The markup of DeepSeek and Kimi consists of control tokens. Servers may leave them out of a
    // text, so a model without native calls is asked for JSON. Its markup is read as well.
    family(&["kimi-k2*"]).calls_or(ToolStyle::Json),
    family(&["deepseek-chat", "deepseek-v3*"]).context(128_000).blind().calls_or(ToolStyle::Json),
    family(&["deepseek-reasoner", "deepseek-r1*"]).context(128_000).blind(),
    family(&["phi3.5*", "phi-3.5-mini*"]).context(128 * K).blind().writes(ToolStyle::Json),
    family(&["phi4", "phi4:*", "phi-4"]).context(16 * K).blind().writes(ToolStyle::Json),
    family(&["phi4-mini", "phi4-mini:*", "phi-4-mini-instruct*"]).context(128 * K).blind().calls_or(ToolStyle::Json),
    family(&["llava", "llava:*"]).sees().writes(ToolStyle::Json),
];

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
