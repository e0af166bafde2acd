//! The thinking settings of Gemini models (Gemini API, "Thinking"): a level from Gemini 3 on, a
//! budget before. A request with both is refused.

use avocet_protocol::model::Effort;

/// The way in which a model is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeminiThinking {
    /// The model cannot think.
    Never,
    /// A budget of tokens, at least this one.
    Budget(u32),
    /// A level, at least this one. `false` if the level `medium` is missing.
    Level { least: &'static str, has_medium: bool },
}

/// The settings of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThinkingSettings {
    pub(super) budget: Option<u32>,
    pub(super) level: Option<&'static str>,
    /// Tokens that the answer gets for thinking.
    pub(super) room: u32,
}

impl GeminiThinking {
    /// Finds the way by the model's name. Names without a version take a budget, which all versions
    /// accept.
    pub(super) fn from_model_name(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default();
        let rest = name.strip_prefix("gemini-").unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let version: Option<f32> = rest[..end].parse().ok();
        let is = |word: &str| rest.contains(word);
        match version {
            None => Self::Budget(0),
            Some(version) if version < 2.5 => Self::Never,
            Some(version) if version < 3.0 && is("pro") => Self::Budget(128),
            Some(version) if version < 3.0 => Self::Budget(0),
            Some(_) if is("flash") => Self::Level { least: "minimal", has_medium: true },
            Some(version) => Self::Level { least: "low", has_medium: version > 3.0 },
        }
    }

    pub(super) fn can_think(self) -> bool {
        self != Self::Never
    }

    /// The settings of a request. `tokens` is the configured budget, for requests without effort.
    pub(super) fn settings_for(
        self,
        effort: Option<Effort>,
        tokens: Option<u32>,
    ) -> ThinkingSettings {
        let none = ThinkingSettings::default();
        let Some(effort) = effort else {
            let room = tokens.unwrap_or_default();
            return ThinkingSettings { budget: tokens, room, ..none };
        };
        match self {
            Self::Never => none,
            Self::Budget(least) => {
                // The largest budget of Gemini 2.5 Flash.
                let budget = effort.thinking_tokens().clamp(least, 24_576);
                ThinkingSettings { budget: Some(budget), room: budget, ..none }
            }
            Self::Level { least, has_medium } => {
                let level = match effort {
                    Effort::Off => least,
                    Effort::Medium if !has_medium => "high",
                    effort => effort.as_str(),
                };
                ThinkingSettings { level: Some(level), room: effort.thinking_tokens(), ..none }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::model::{Effort::High, Effort::Low, Effort::Medium, Effort::Off};

    use super::*;

    #[test]
    fn thinking_settings_fit_the_version_of_the_model() {
        let budget = |tokens| ThinkingSettings { budget: Some(tokens), level: None, room: tokens };
        let level = |level, room| ThinkingSettings { budget: None, level: Some(level), room };
        let table = [
            ("gemini-2.0-flash", Some(High), ThinkingSettings::default()),
            ("gemini-2.5-flash", Some(Off), budget(0)),
            ("gemini-2.5-pro", Some(Off), budget(128)),
            ("gemini-2.5-flash-lite", Some(Low), budget(4096)),
            ("models/gemini-2.5-pro", Some(High), budget(24_576)),
            ("gemini-flash-latest", Some(Medium), budget(16_384)),
            ("gemini-3-pro-preview", Some(Off), level("low", 0)),
            ("gemini-3-pro-preview", Some(Medium), level("high", 16_384)),
            ("gemini-3.1-pro", Some(Medium), level("medium", 16_384)),
            ("gemini-3-flash", Some(Off), level("minimal", 0)),
            ("gemini-3-flash", Some(High), level("high", 32_768)),
            ("gemini-3-flash", None, budget(500)),
        ];
        for (model, effort, expected) in table {
            let settings = GeminiThinking::from_model_name(model).settings_for(effort, Some(500));
            assert_eq!(settings, expected, "{model} {effort:?}");
        }
    }
}
