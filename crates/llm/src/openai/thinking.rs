//! The words for a thinking effort, by model and server (OpenAI API, "Reasoning"; vLLM, "Reasoning
//! outputs"; the API references of the other hosts). Models accept different words, and refuse the
//! others.

use avocet_protocol::model::Effort;
use serde::Serialize;

/// The way in which a model at a server is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingWire {
    /// The model cannot think, or cannot be told.
    Never,
    /// A word, `reasoning_effort`, from this list.
    Words(EffortWords),
    /// A switch in the arguments of the chat template, with this name.
    Template(&'static str),
    /// A switch `thinking` with a type, as at DeepSeek, Moonshot and Z.ai.
    Switch,
    /// A switch `enable_thinking`, as at Alibaba.
    Enable,
    /// The model always thinks, and refuses to be told.
    Always,
    /// The model is unknown: a word is sent.
    Unknown,
}

/// The words that a model accepts, from the least effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EffortWords([&'static str; 4]);

/// The fields of a request for an effort.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct EffortFields<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<TemplateSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct TemplateSwitch {
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ThinkingSwitch {
    Enabled,
    Disabled,
}

/// Hosts with a switch of their own.
const SWITCHES: [(&str, ThinkingWire); 6] = [
    ("aliyuncs.com", ThinkingWire::Enable),
    ("bigmodel.cn", ThinkingWire::Switch),
    ("deepseek.com", ThinkingWire::Switch),
    ("moonshot.ai", ThinkingWire::Switch),
    ("moonshot.cn", ThinkingWire::Switch),
    ("z.ai", ThinkingWire::Switch),
];

impl ThinkingWire {
    /// Finds the wire for a model at a host.
    pub(super) fn from_model_and_host(model: &str, host: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let host = host.split(':').next().unwrap_or(host);
        let is_at = |domain: &str| {
            host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if let Some(wire) = of_kimi(&name).filter(|_| !is_at("openrouter.ai")) {
            return wire;
        }
        if let Some((_, wire)) = SWITCHES.iter().find(|(domain, _)| is_at(domain)) {
            return *wire;
        }
        if is_reasoning(&name) {
            return Self::Words(reasoning_words(&name));
        }
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        if begins(&["gpt-", "chatgpt-"]) {
            return Self::Never;
        }
        if is_at("openrouter.ai") {
            return Self::Unknown;
        }
        match () {
            () if begins(&["qwen3", "qwen-3", "glm-4.5", "glm-4.6", "glm-4.7", "glm-5"]) => {
                Self::Template("enable_thinking")
            }
            () if begins(&["deepseek-v3.", "deepseek-v4", "kimi-k2.5"]) => {
                Self::Template("thinking")
            }
            () => Self::Unknown,
        }
    }

    /// `true` if the model can think; `None` if unknown.
    pub(super) fn can_think(self) -> Option<bool> {
        match self {
            Self::Never => Some(false),
            Self::Words(_) | Self::Template(_) | Self::Always => Some(true),
            Self::Switch | Self::Enable | Self::Unknown => None,
        }
    }

    /// The fields for an effort. `configured` is the operator's word for requests without one.
    pub(super) fn effort_fields<'r>(
        self,
        effort: Option<Effort>,
        configured: Option<&'r str>,
    ) -> EffortFields<'r> {
        let none = EffortFields::default();
        let Some(effort) = effort else {
            return EffortFields { reasoning_effort: configured, ..none };
        };
        let on = effort != Effort::Off;
        match self {
            Self::Never | Self::Always => none,
            Self::Words(words) => {
                EffortFields { reasoning_effort: Some(words.word_for(effort)), ..none }
            }
            Self::Unknown => {
                let reasoning_effort = Some(ANY.word_for(effort));
                EffortFields { reasoning_effort, ..none }
            }
            Self::Template(name) => {
                let switch = if name == "thinking" {
                    TemplateSwitch { thinking: Some(on), ..TemplateSwitch::default() }
                } else {
                    TemplateSwitch { enable_thinking: Some(on), ..TemplateSwitch::default() }
                };
                EffortFields { chat_template_kwargs: Some(switch), ..none }
            }
            Self::Switch => {
                let switch = if on { ThinkingSwitch::Enabled } else { ThinkingSwitch::Disabled };
                EffortFields { thinking: Some(switch), ..none }
            }
            Self::Enable => EffortFields { enable_thinking: Some(on), ..none },
        }
    }

    /// Tokens that the answer gets for thinking, if its length is limited.
    pub(super) fn thinking_room(self, effort: Option<Effort>, configured: Option<&str>) -> u32 {
        if self == Self::Always {
            return Effort::High.thinking_tokens();
        }
        let configured = match configured {
            None => Effort::Medium,
            Some("none" | "minimal") => Effort::Off,
            Some(word) => word.parse().unwrap_or(Effort::High),
        };
        match (self, effort) {
            (Self::Never, _) => 0,
            (Self::Words(words), Some(effort)) => match words.word_for(effort) {
                "none" | "minimal" => 0,
                word => word.parse().unwrap_or(Effort::High).thinking_tokens(),
            },
            (_, Some(effort)) => effort.thinking_tokens(),
            (Self::Words(_), None) => configured.thinking_tokens(),
            (_, None) => 0,
        }
    }
}

impl EffortWords {
    fn word_for(self, effort: Effort) -> &'static str {
        let [off, low, medium, high] = self.0;
        match effort {
            Effort::Off => off,
            Effort::Low => low,
            Effort::Medium => medium,
            Effort::High => high,
        }
    }
}

/// The words of GPT-5.1 and later, which most servers accept.
const ANY: EffortWords = EffortWords(["none", "low", "medium", "high"]);
/// The words of models that always think.
const THINKS: EffortWords = EffortWords(["low", "low", "medium", "high"]);

/// The words of Kimi K3, which always thinks (Kimi API, "Thinking effort").
const KIMI_K3: EffortWords = EffortWords(["low", "low", "high", "max"]);

/// The wire for the Kimi models that always think. Others have a switch.
fn of_kimi(name: &str) -> Option<ThinkingWire> {
    let version = name.strip_prefix("kimi-k")?;
    match version {
        _ if version.starts_with("2.7") || version.starts_with("2-thinking") => {
            Some(ThinkingWire::Always)
        }
        _ if version.starts_with('3') => Some(ThinkingWire::Words(KIMI_K3)),
        _ => None,
    }
}

fn reasoning_words(name: &str) -> EffortWords {
    let version = name.strip_prefix("gpt-").unwrap_or_default();
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let (version, rest) = version.split_at(end);
    let is_first = version == "5";
    match () {
        () if version.is_empty() => THINKS,
        () if rest.starts_with("-pro") && is_first => EffortWords(["high"; 4]),
        () if rest.starts_with("-pro") => EffortWords(["medium", "medium", "medium", "high"]),
        () if rest.starts_with("-codex") => THINKS,
        () if is_first => EffortWords(["minimal", "low", "medium", "high"]),
        () => ANY,
    }
}

/// Returns `true` for names of reasoning models. Other models refuse requests for encrypted
/// reasoning.
pub(super) fn is_reasoning(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let number = |prefix: &str| {
        let rest = name.strip_prefix(prefix)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse::<u32>().ok()
    };
    let gpt = number("gpt-").is_some_and(|version| version >= 5) && !name.contains("-chat");
    gpt || number("o").is_some() || name.starts_with("gpt-oss") || name.starts_with("codex")
}

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod tests;
