//! The signatures with which a model recognises what it thought before a call (Gemini API, "Thought
//! signatures"): kept as they came, and given back in the place they came from.

use avocet_protocol::Reasoning;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What stands for the signature of a call that another model made (Gemini API, "Thought signatures",
/// FAQ): without one, the request is refused.
pub(super) const NOBODYS: &str = "skip_thought_signature_validator";

/// The signatures of an answer, by what they came with.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Signatures {
    /// That of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// Those of the calls, in their order; most have none.
    pub(super) calls: Vec<Option<String>>,
}

impl Signatures {
    /// Those that the model of this name has given; none if the answer is another's.
    pub(super) fn of(reasoning: Option<&Reasoning>, name: &str) -> Self {
        let own = reasoning.filter(|reasoning| reasoning.model == name);
        own.and_then(|own| Self::deserialize(&own.content).ok()).unwrap_or_default()
    }

    /// As they are kept; none if there are none.
    pub(super) fn kept(&self) -> Option<Value> {
        let any = self.text.is_some() || self.calls.iter().any(Option::is_some);
        any.then(|| serde_json::to_value(self).ok()).flatten()
    }
}

/// The signatures that are kept, without those of the calls at these places: one that stands on another
/// call is not what the model has signed.
pub(crate) fn without(kept: Value, places: &[usize]) -> Value {
    let Ok(mut signatures) = Signatures::deserialize(&kept) else { return kept };
    let mut place = 0..;
    signatures.calls.retain(|_| place.next().is_none_or(|place| !places.contains(&place)));
    serde_json::to_value(signatures).unwrap_or(kept)
}

/// Whether a model refuses calls that have no signature: since Gemini 3.
pub(super) fn are_wanted(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    let version = name.strip_prefix("gemini-").unwrap_or_default();
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().is_ok_and(|version| version >= 3)
}
