//! Signatures by which a model recognises its reasoning before a call (Gemini API, "Thought
//! signatures"). They are stored unchanged and sent back at the same place.

use avocet_protocol::model::Reasoning;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A placeholder for the signature of a call that another model made (Gemini API, "Thought
/// signatures", FAQ). Without a signature, the API refuses the request.
pub(crate) const NOBODYS: &str = "skip_thought_signature_validator";

/// The signatures of an answer, by the part that they came with.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AnswerSignatures {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The signatures of the calls, in order; most are `None`.
    pub(super) calls: Vec<Option<String>>,
}

impl AnswerSignatures {
    /// The signatures from the model with this name; empty if another model gave the answer.
    pub(super) fn from_reasoning(reasoning: Option<&Reasoning>, name: &str) -> Self {
        let own = reasoning.filter(|reasoning| reasoning.model == name);
        own.and_then(|own| Self::deserialize(&own.content).ok()).unwrap_or_default()
    }

    /// The form in which they are stored; `None` if all are missing.
    pub(super) fn to_stored(&self) -> Option<Value> {
        let any = self.text.is_some() || self.calls.iter().any(Option::is_some);
        any.then(|| serde_json::to_value(self).ok()).flatten()
    }
}

/// The stored signatures without those of the removed calls. A signature on another call would be
/// invalid. Also for the state of chat completions, which has the same list of calls.
pub(crate) fn without_calls(mut kept: Value, places: &[usize]) -> Value {
    if let Some(Value::Array(calls)) = kept.get_mut("calls") {
        let mut place = 0..;
        calls.retain(|_| place.next().is_none_or(|place| !places.contains(&place)));
    }
    kept
}

/// Returns `true` if a model refuses calls without a signature: Gemini 3 and later.
pub(crate) fn are_wanted(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    let version = name.strip_prefix("gemini-").unwrap_or_default();
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().is_ok_and(|version| version >= 3)
}
