//! The providers that `avocet init` knows by name: their addresses, the form of their keys, and
//! their usual models.

use std::cmp::Ordering;

/// A provider that needs no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preset {
    /// The name, also of its table in the configuration.
    pub(super) name: &'static str,
    /// The name for people.
    pub(super) label: &'static str,
    pub(super) kind: &'static str,
    /// `None` if the kind has it as its default.
    pub(super) base_url: Option<&'static str>,
    /// Beginnings of its keys.
    keys: &'static [&'static str],
    /// Families of models in the order of preference: what is before and after the version.
    families: &'static [(&'static str, &'static str)],
}

/// All presets, by name.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "anthropic",
        label: "Anthropic",
        kind: "anthropic",
        base_url: None,
        keys: &["sk-ant-"],
        families: &[("claude-sonnet-", ""), ("claude-opus-", "")],
    },
    Preset {
        name: "cerebras",
        label: "Cerebras",
        kind: "openai",
        base_url: Some("https://api.cerebras.ai/v1"),
        keys: &["csk-"],
        families: &[("gpt-oss-", "b"), ("qwen-", "")],
    },
    Preset {
        name: "deepseek",
        label: "DeepSeek",
        kind: "openai",
        base_url: Some("https://api.deepseek.com/v1"),
        keys: &[],
        families: &[("deepseek-chat", "")],
    },
    Preset {
        name: "gemini",
        label: "Google",
        kind: "gemini",
        base_url: None,
        keys: &["AIza"],
        families: &[("gemini-", "-flash"), ("gemini-", "-pro")],
    },
    Preset {
        name: "groq",
        label: "Groq",
        kind: "openai",
        base_url: Some("https://api.groq.com/openai/v1"),
        keys: &["gsk_"],
        families: &[("openai/gpt-oss-", "b"), ("llama-", "b-versatile")],
    },
    Preset {
        name: "mistral",
        label: "Mistral",
        kind: "openai",
        base_url: Some("https://api.mistral.ai/v1"),
        keys: &[],
        families: &[("mistral-medium-latest", ""), ("mistral-small-latest", "")],
    },
    Preset {
        name: "ollama",
        label: "Ollama",
        kind: "ollama",
        base_url: None,
        keys: &[],
        families: &[],
    },
    Preset {
        name: "openai",
        label: "OpenAI",
        kind: "openai",
        base_url: None,
        keys: &["sk-proj-", "sk-svcacct-", "sk-"],
        families: &[("gpt-", "")],
    },
    Preset {
        name: "openrouter",
        label: "OpenRouter",
        kind: "openai",
        base_url: Some("https://openrouter.ai/api/v1"),
        keys: &["sk-or-"],
        families: &[("anthropic/claude-sonnet-", ""), ("openai/gpt-", "")],
    },
    Preset {
        name: "xai",
        label: "xAI",
        kind: "openai",
        base_url: Some("https://api.x.ai/v1"),
        keys: &["xai-"],
        families: &[("grok-", "")],
    },
];

/// Words in the names of models that do not chat.
const OTHER_USES: &[&str] = &[
    "audio",
    "dall-e",
    "embed",
    "guard",
    "image",
    "moderation",
    "ocr",
    "realtime",
    "rerank",
    "sora",
    "transcribe",
    "tts",
    "whisper",
];

impl Preset {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name.to_lowercase())
    }

    /// Recognises the provider of a key by the longest known beginning.
    pub(super) fn of_key(key: &str) -> Option<&'static Self> {
        let length = |preset: &Self| {
            let known = preset.keys.iter().filter(|begin| key.starts_with(**begin));
            known.map(|begin| begin.len()).max()
        };
        PRESETS.iter().filter(|preset| length(preset).is_some()).max_by_key(|one| length(one))
    }
}

/// Returns the models that can chat, or all if there seem to be none.
pub(super) fn chat_models(models: &[String]) -> Vec<&str> {
    let is_other = |name: &str| {
        let name = name.to_lowercase();
        OTHER_USES.iter().any(|word| name.contains(word))
    };
    let chatting: Vec<&str> =
        models.iter().map(String::as_str).filter(|name| !is_other(name)).collect();
    if chatting.is_empty() { models.iter().map(String::as_str).collect() } else { chatting }
}

/// Returns the newest model of the first family that the provider offers; otherwise its first
/// model. Of a server without a preset, only a single model is the default: the first name of several
/// says nothing.
pub(super) fn default_model<'m>(preset: Option<&Preset>, models: &[&'m str]) -> Option<&'m str> {
    let families = preset.map_or(&[][..], |preset| preset.families);
    let newest = |(before, after): &(&str, &str)| {
        let version = |name: &'m str| {
            let version = name.strip_prefix(before)?.strip_suffix(after)?;
            let is_version = version.chars().all(|c| c.is_ascii_digit() || ".-".contains(c));
            is_version.then_some((version, name))
        };
        let known = models.iter().filter_map(|name| version(name));
        known.max_by(|(one, _), (other, _)| by_version(one, other)).map(|(_, name)| name)
    };
    let first = models.first().copied().filter(|_| preset.is_some() || models.len() == 1);
    families.iter().find_map(newest).or(first)
}

/// Compares versions number by number, without a date after the version, which begins with a large
/// number. Of two names for the same version, the one without a date follows its updates.
fn by_version(one: &str, other: &str) -> Ordering {
    const DATE: u64 = 1000;
    let numbers = |version: &str| -> Vec<u64> {
        let numbers = version.split(['.', '-']).filter_map(|number| number.parse().ok());
        numbers.take_while(|number| *number < DATE).collect()
    };
    numbers(one).cmp(&numbers(other)).then_with(|| other.len().cmp(&one.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_of_a_key_is_that_of_the_longest_known_beginning() {
        let table = [
            ("sk-ant-api03-abc", Some("anthropic")),
            ("sk-or-v1-abc", Some("openrouter")),
            ("sk-proj-abc", Some("openai")),
            ("sk-abc", Some("openai")),
            ("AIzaSyAbc", Some("gemini")),
            ("gsk_abc", Some("groq")),
            ("csk-abc", Some("cerebras")),
            ("xai-abc", Some("xai")),
            ("abc", None),
            ("", None),
        ];
        for (key, expected) in table {
            assert_eq!(Preset::of_key(key).map(|preset| preset.name), expected, "{key}");
        }
    }

    #[test]
    fn default_model_is_the_newest_of_the_preferred_family() {
        let table: [(&str, &[&str], &str); 7] = [
            (
                "anthropic",
                &["claude-haiku-4-5", "claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929"],
                "claude-sonnet-4-5-20250929",
            ),
            ("anthropic", &["claude-3-opus", "claude-opus-4-1"], "claude-opus-4-1"),
            (
                "anthropic",
                &["claude-sonnet-4-5", "claude-sonnet-4-5-20250929"],
                "claude-sonnet-4-5",
            ),
            (
                "openai",
                &["gpt-4o", "gpt-5", "gpt-5-2025-08-07", "gpt-5.1", "gpt-5.1-codex", "o3"],
                "gpt-5.1",
            ),
            ("gemini", &["gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro"], "gemini-2.5-flash"),
            ("groq", &["openai/gpt-oss-120b", "openai/gpt-oss-20b"], "openai/gpt-oss-120b"),
            ("ollama", &["qwen3:8b", "llama3:8b"], "qwen3:8b"),
        ];
        for (preset, models, expected) in table {
            assert_eq!(default_model(Preset::named(preset), models), Some(expected), "{models:?}");
        }
        assert_eq!(default_model(None, &[]), None);
        assert_eq!(default_model(None, &["deepseek-v4", "qwen3"]), None);
        assert_eq!(default_model(None, &["qwen3"]), Some("qwen3"));
    }

    #[test]
    fn chatting_leaves_out_models_for_other_uses() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = names(&["gpt-5", "gpt-4o-audio", "text-embedding-3", "whisper-1"]);
        assert_eq!(chat_models(&all), ["gpt-5"]);
        assert_eq!(chat_models(&names(&["my-image-model"])), ["my-image-model"]);
    }
}
