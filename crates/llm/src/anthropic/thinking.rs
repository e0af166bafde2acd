//! The forms of thinking that Claude models take (Anthropic API, "Adaptive thinking" and "Effort").

use avocet_protocol::model::Effort;
use serde::Serialize;

/// The thinking of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ThinkingField {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
}

/// The effort of the model, for thinking and for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct OutputConfig {
    pub(super) effort: &'static str,
}

/// The least budget that the API allows.
const LEAST_BUDGET: u32 = 1024;

/// The form in which a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingForm {
    /// The model cannot think.
    Never,
    /// A budget of tokens: Claude 3.7 to 4.5.
    Budget,
    /// An effort, and no thinking without it: Claude 4.6 to 4.8. Most refuse a budget.
    OnDemand,
    /// An effort. The model always decides by itself whether it thinks: Claude 5 and later.
    Always,
    /// A budget, for other models behind this API. They may think unasked.
    Unknown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RequestThinking {
    pub(super) thinking: Option<ThinkingField>,
    pub(super) output_config: Option<OutputConfig>,
    /// Tokens that the answer gets for thinking.
    pub(super) room: u32,
}

impl ThinkingForm {
    /// Finds the form by the model's name, which contains its version.
    pub(super) fn from_model_name(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        if !name.contains("claude") {
            return Self::Unknown;
        }
        match parse_version(&name) {
            None | Some((5.., _)) => Self::Always,
            Some((4, 6..)) => Self::OnDemand,
            Some((4, _) | (3, 7..)) => Self::Budget,
            Some(_) => Self::Never,
        }
    }

    /// `true` if the model can think; `None` if unknown.
    pub(super) fn can_think(self) -> Option<bool> {
        match self {
            Self::Never => Some(false),
            Self::Budget | Self::OnDemand | Self::Always => Some(true),
            Self::Unknown => None,
        }
    }

    /// `true` if the API accepts thoughts in a request without thinking.
    pub(super) fn takes_thoughts_back(self) -> bool {
        matches!(self, Self::OnDemand | Self::Always | Self::Unknown)
    }

    /// The thinking of a request. `tokens` is the configured budget, which applies to requests
    /// without effort. `most` is the highest budget.
    pub(super) fn request_thinking(
        self,
        effort: Option<Effort>,
        tokens: Option<u32>,
        most: u32,
    ) -> RequestThinking {
        match self {
            Self::Never => RequestThinking::default(),
            Self::Budget | Self::Unknown => {
                let budget = match effort {
                    Some(Effort::Off) => None,
                    Some(effort) => Some(effort.thinking_tokens()),
                    None => tokens,
                };
                budget.map_or_else(RequestThinking::default, |budget| {
                    let budget_tokens = budget.min(most).max(LEAST_BUDGET);
                    let thinking = Some(ThinkingField::Enabled { budget_tokens });
                    RequestThinking { thinking, output_config: None, room: budget_tokens }
                })
            }
            Self::OnDemand => match (effort, tokens) {
                (Some(Effort::Off), _) | (None, None) => RequestThinking::default(),
                (effort, tokens) => adaptive_thinking(effort, tokens),
            },
            // The least effort is the nearest to "off" that every model takes.
            Self::Always => adaptive_thinking(effort.map(|effort| effort.max(Effort::Low)), tokens),
        }
    }
}

/// Returns the major and minor version in the name of a model.
fn parse_version(name: &str) -> Option<(u32, u32)> {
    let numbers = name.split(|c: char| !c.is_ascii_alphanumeric());
    // A number of more digits is a date.
    let mut version = numbers.filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok());
    Some((version.next()?, version.next().unwrap_or(0)))
}

/// Thinking with an effort; `None` for the model's default. The thoughts are summarised, so that
/// something arrives while the model thinks.
fn adaptive_thinking(effort: Option<Effort>, tokens: Option<u32>) -> RequestThinking {
    let room = match (effort, tokens) {
        (Some(effort), _) => effort.thinking_tokens(),
        (None, Some(tokens)) => tokens,
        (None, None) => Effort::High.thinking_tokens(),
    };
    let thinking = Some(ThinkingField::Adaptive { display: "summarized" });
    let output_config = effort.map(|effort| OutputConfig { effort: effort.as_str() });
    RequestThinking { thinking, output_config, room }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_form_of_a_model_follows_its_version() {
        use ThinkingForm::{Always, Budget, Never, OnDemand, Unknown};
        let table = [
            ("claude-3-opus-20240229", Never),
            ("claude-3-5-haiku-latest", Never),
            ("claude-3-7-sonnet-20250219", Budget),
            ("claude-opus-4-20250514", Budget),
            ("claude-haiku-4-5-20251001", Budget),
            ("claude-opus-4-6", OnDemand),
            ("anthropic.claude-opus-4-6-v1", OnDemand),
            ("anthropic/claude-opus-4.7", OnDemand),
            ("claude-opus-4-8", OnDemand),
            ("claude-sonnet-5", Always),
            ("claude-opus-5-5", Always),
            ("claude-fable-5-1", Always),
            ("claude-mythos-preview", Always),
            ("MiniMax-M2", Unknown),
        ];
        for (model, expected) in table {
            assert_eq!(ThinkingForm::from_model_name(model), expected, "{model}");
        }
    }

    #[test]
    fn thinking_request_maps_each_effort_and_leaves_room_for_it() {
        use Effort::{High, Low, Medium, Off};
        let budget = |tokens| Some(ThinkingField::Enabled { budget_tokens: tokens });
        let adapts = Some(ThinkingField::Adaptive { display: "summarized" });
        let table = [
            (ThinkingForm::Never, Some(High), Some(2000), (None, None, 0)),
            (ThinkingForm::Budget, None, None, (None, None, 0)),
            (ThinkingForm::Budget, None, Some(2000), (budget(2000), None, 2000)),
            (ThinkingForm::Budget, Some(Off), Some(2000), (None, None, 0)),
            (ThinkingForm::Budget, Some(Low), Some(2000), (budget(4096), None, 4096)),
            (ThinkingForm::Budget, Some(High), None, (budget(20_000), None, 20_000)),
            (ThinkingForm::OnDemand, None, None, (None, None, 0)),
            (ThinkingForm::OnDemand, Some(Off), Some(2000), (None, None, 0)),
            (ThinkingForm::OnDemand, None, Some(2000), (adapts, None, 2000)),
            (ThinkingForm::OnDemand, Some(Medium), None, (adapts, Some("medium"), 16_384)),
            (ThinkingForm::Always, None, None, (adapts, None, 32_768)),
            (ThinkingForm::Always, Some(Off), None, (adapts, Some("low"), 4096)),
            (ThinkingForm::Always, Some(High), Some(1), (adapts, Some("high"), 32_768)),
            (ThinkingForm::Unknown, Some(Low), None, (budget(4096), None, 4096)),
        ];
        for (form, effort, tokens, (thinking, word, room)) in table {
            let asked = form.request_thinking(effort, tokens, 20_000);
            let output_config = word.map(|effort| OutputConfig { effort });
            let expected = RequestThinking { thinking, output_config, room };
            assert_eq!(asked, expected, "{form:?} {effort:?} {tokens:?}");
        }
    }
}
