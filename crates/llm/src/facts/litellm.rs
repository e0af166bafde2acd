//! Makes a catalogue of the table of models that the project `LiteLLM` publishes
//! (`model_prices_and_context_window.json`).

use std::collections::BTreeMap;

use avocet_protocol::model::decode_json;
use avocet_text::append_line;
use serde_json::Value;

use super::bad_catalogue::BadCatalogue;

/// Most bytes of a line's name.
const MAX_NAME: usize = 100;

/// The names of providers in the table, and their hosts. The makers of models come first, because
/// the first line with a name describes models of other hosts, too.
const HOSTS: [(&str, &str); 17] = [
    ("openai", "api.openai.com"),
    ("anthropic", "api.anthropic.com"),
    ("gemini", "generativelanguage.googleapis.com"),
    ("deepseek", "api.deepseek.com"),
    ("mistral", "api.mistral.ai"),
    ("moonshot", "api.moonshot.ai"),
    ("xai", "api.x.ai"),
    ("zai", "api.z.ai"),
    ("minimax", "api.minimax.io"),
    ("dashscope", "dashscope-intl.aliyuncs.com"),
    ("cerebras", "api.cerebras.ai"),
    ("groq", "api.groq.com"),
    ("sambanova", "api.sambanova.ai"),
    ("deepinfra", "api.deepinfra.com"),
    ("together_ai", "api.together.xyz"),
    ("fireworks_ai", "api.fireworks.ai"),
    ("openrouter", "openrouter.ai"),
];

/// A model of the table. Prices are in dollars for one token.
#[derive(Debug)]
struct LiteLlmModel {
    litellm_provider: Option<String>,
    mode: Option<String>,
    max_input_tokens: Option<f64>,
    max_output_tokens: Option<f64>,
    input_cost_per_token: Option<f64>,
    output_cost_per_token: Option<f64>,
    cache_read_input_token_cost: Option<f64>,
    cache_creation_input_token_cost: Option<f64>,
    supports_vision: Option<bool>,
    supports_function_calling: Option<bool>,
    supports_response_schema: Option<bool>,
    supports_reasoning: Option<bool>,
}

pub(super) fn make_catalogue(
    table: &str,
    source: &str,
    date: &str,
) -> Result<String, BadCatalogue> {
    let bad = |why: String| BadCatalogue(format!("it is not LiteLLM's table: {why}"));
    let table: BTreeMap<String, Value> =
        decode_json(table.as_bytes()).map_err(|error| bad(error.to_string()))?;
    let mut sections: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for (key, value) in &table {
        // A row that cannot be read, such as the table's own explanation, is left out.
        let Some(model) = LiteLlmModel::read(value) else { continue };
        if !matches!(model.mode.as_deref(), Some("chat" | "responses")) {
            continue;
        }
        let Some(provider) = model.litellm_provider.as_deref() else { continue };
        let Some((_, host)) = HOSTS.iter().find(|(name, _)| *name == provider) else { continue };
        let prefix = format!("{provider}/");
        let name = key.strip_prefix(&prefix).unwrap_or(key).to_lowercase();
        let is_name = !name.is_empty()
            && name.len() <= MAX_NAME
            && !name.starts_with('[')
            && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if let Some(values) = model.line_values().filter(|_| is_name) {
            sections.entry(host).or_default().insert(name, values);
        }
    }
    if sections.is_empty() {
        return Err(bad("it has no chat model of a known provider".to_owned()));
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text =
        format!("avocet models 1\nsource {}\ndate {}\n", one_line(source), one_line(date));
    for (_, host) in HOSTS {
        let Some(models) = sections.get(host) else { continue };
        append_line(&mut text, format_args!("\n[{host}]"));
        for (name, values) in models {
            append_line(&mut text, format_args!("{name} {values}"));
        }
    }
    Ok(text)
}

impl LiteLlmModel {
    /// Reads a row. A field of another type is absent.
    fn read(row: &Value) -> Option<Self> {
        let row = row.as_object()?;
        let text = |key: &str| row.get(key)?.as_str().map(str::to_owned);
        let number = |key: &str| {
            let value = row.get(key)?;
            value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
        };
        let has = |key: &str| row.get(key)?.as_bool();
        Some(Self {
            litellm_provider: text("litellm_provider"),
            mode: text("mode"),
            max_input_tokens: number("max_input_tokens"),
            max_output_tokens: number("max_output_tokens"),
            input_cost_per_token: number("input_cost_per_token"),
            output_cost_per_token: number("output_cost_per_token"),
            cache_read_input_token_cost: number("cache_read_input_token_cost"),
            cache_creation_input_token_cost: number("cache_creation_input_token_cost"),
            supports_vision: has("supports_vision"),
            supports_function_calling: has("supports_function_calling"),
            supports_response_schema: has("supports_response_schema"),
            supports_reasoning: has("supports_reasoning"),
        })
    }

    /// Returns the values of a line; `None` if the context and the price are unknown.
    fn line_values(&self) -> Option<String> {
        let million = |cost: Option<f64>| cost.filter(|cost| (0.0..0.9).contains(cost));
        let million = |cost| million(cost).map(|cost| cost * 1e6);
        let input = million(self.input_cost_per_token);
        let output = million(self.output_cost_per_token);
        let context = self.context_tokens();
        if context.is_none() && input.is_none() {
            return None;
        }
        let abilities: String = [
            ("i", self.supports_vision),
            ("t", self.supports_function_calling),
            ("j", self.supports_response_schema),
            ("r", self.supports_reasoning),
        ]
        .into_iter()
        .filter(|(_, has)| *has == Some(true))
        .map(|(letter, _)| letter)
        .collect();
        let abilities = if abilities.is_empty() { "-" } else { &abilities };
        let words = [
            format_tokens(context),
            format_tokens(self.max_output()),
            abilities.to_owned(),
            format_dollars(input),
            format_dollars(output),
            format_dollars(million(self.cache_read_input_token_cost)),
            format_dollars(million(self.cache_creation_input_token_cost)),
        ];
        Some(words.join(" "))
    }

    fn max_output(&self) -> Option<f64> {
        self.max_output_tokens.filter(|tokens| *tokens >= 1.0)
    }

    /// The tokens of a request and its answer together. For newer models of `OpenAI`, the table
    /// states the input alone: together with the output, their windows are round numbers.
    fn context_tokens(&self) -> Option<f64> {
        const ROUND: f64 = 50_000.0;
        let input = self.max_input_tokens.filter(|tokens| *tokens >= 1.0)?;
        let both = input + self.max_output().unwrap_or_default();
        let is_input = self.litellm_provider.as_deref() == Some("openai")
            && input % ROUND != 0.0
            && both % ROUND == 0.0;
        Some(if is_input { both } else { input })
    }
}

fn format_tokens(tokens: Option<f64>) -> String {
    tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.0}"))
}

/// Formats a price with six decimals at most.
fn format_dollars(amount: Option<f64>) -> String {
    amount.map_or_else(
        || "-".to_owned(),
        |amount| {
            let text = format!("{amount:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        },
    )
}
