//! The opaque state of an assistant message of chat completions: the fields that only the server
//! understands, and that it needs back together with the calls of the message.
//!
//! - `reasoning_content`: DeepSeek, Moonshot, Z.ai, Xiaomi, and most servers of open models. Some of
//!   these refuse a message with calls that lacks it (DeepSeek API, "Thinking mode"; Kimi API,
//!   "Thinking models").
//! - `reasoning_details`: OpenRouter and MiniMax. A list of parts with a type and an index, whose
//!   pieces are joined (OpenRouter, "Reasoning tokens", "Preserving reasoning").
//! - `reasoning`: vLLM, Groq and others.
//! - `extra_content` of a call: Gemini at its OpenAI address, where it holds a signature (Gemini API,
//!   "Thought signatures"). `provider_specific_fields` of a call: the same behind LiteLLM.
//!
//! The state is stored as `{"message": {FIELD: VALUE}, "calls": [{FIELD: VALUE} or null]}`. It goes
//! back with every later request that has the message, so that requests begin with the same bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use avocet_protocol::model::{Message, ModelRequest, Reasoning};
use serde_json::{Map, Value, json};

use crate::gemini::signatures;
use crate::repair::{RequestAdjustment, RequestAdjustments};
use crate::wire_json::WireJson;

const REASONING_CONTENT: &str = "reasoning_content";
const REASONING: &str = "reasoning";
const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";
/// The fields of a call that a server needs back.
const CALL_FIELDS: [&str; 3] = [EXTRA, "provider_specific_fields", "thought_signature"];
/// The encrypted text of a part of `reasoning_details`.
const DATA: &str = "data";
/// The texts of a part of `reasoning_details`, which arrive in pieces.
const PIECES: [&str; 3] = ["text", "summary", DATA];
/// The reasoning of a step without any. Moonshot refuses an empty text.
const NO_REASONING: &str = " ";

/// The state of an answer that is arriving.
#[derive(Debug, Default)]
pub(super) struct ArrivingState {
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    details: Vec<Map<String, Value>>,
    extra: Option<Value>,
    calls: Vec<Map<String, Value>>,
    /// The readable reasoning that was not taken for display yet.
    new_thought: String,
}

/// The bytes that a piece of an answer added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AddedState {
    /// Bytes of reasoning that can be read, counted once if it came under several names.
    pub(super) thought: usize,
    /// Bytes that are kept.
    pub(super) kept: usize,
}

impl ArrivingState {
    /// Adds the state of a piece of the message.
    pub(super) fn add_delta(&mut self, delta: &WireJson<'_>) -> AddedState {
        let (mut added, mut thought, mut details) = (AddedState::default(), "", String::new());
        let texts =
            [(REASONING_CONTENT, &mut self.reasoning_content), (REASONING, &mut self.reasoning)];
        for (field, text) in texts {
            if let Some(piece) = delta.get(field).as_str() {
                text.get_or_insert_default().push_str(piece);
                thought = if piece.len() > thought.len() { piece } else { thought };
                added.kept += piece.len();
            }
        }
        for part in delta.get(DETAILS).read_list().iter().filter(|part| part.is_object()) {
            let Value::Object(part) = part.to_value() else { continue };
            added.kept += bytes_of_texts(part.values());
            self.add_detail(&part, &mut details);
        }
        let thought = if details.len() > thought.len() { details.as_str() } else { thought };
        added.thought = thought.len();
        self.add_thought(thought);
        // Without a signature it describes only how to show the text.
        let extra = delta.get(EXTRA).to_value();
        if extra.is_object() && extra.to_string().contains("signature") {
            added.kept += extra.to_string().len();
            self.extra = Some(extra);
        }
        added
    }

    /// Adds readable reasoning, for display.
    pub(super) fn add_thought(&mut self, thought: &str) {
        self.new_thought.push_str(thought);
    }

    /// Takes the readable reasoning since the last call.
    pub(super) fn take_thought(&mut self) -> String {
        std::mem::take(&mut self.new_thought)
    }

    /// Adds the state of a piece of the call with this index. Returns the bytes.
    pub(super) fn add_call(&mut self, index: usize, call: &WireJson<'_>) -> usize {
        let mut kept = 0;
        for field in CALL_FIELDS {
            let value = call.get(field).to_value();
            if value.is_null() {
                continue;
            }
            if self.calls.len() <= index {
                self.calls.resize_with(index + 1, Map::new);
            }
            kept += field.len() + value.to_string().len();
            merge_objects(self.calls[index].entry(field).or_insert(Value::Null), &value);
        }
        kept
    }

    /// Returns the reasoning that can be read, if it came as text.
    pub(super) fn readable_thought(&self) -> Option<&str> {
        let texts = [&self.reasoning_content, &self.reasoning];
        texts.into_iter().flatten().map(String::as_str).find(|text| !text.trim().is_empty())
    }

    /// Returns the value of [`Reasoning::content`] for an answer with this number of calls; `None`
    /// if the server sent no state.
    pub(super) fn into_content(self, calls: usize) -> Option<Value> {
        let mut message = Map::new();
        let reasoning = self.reasoning.filter(|text| {
            !text.is_empty()
                && self.details.is_empty()
                && self.reasoning_content.as_ref() != Some(text)
        });
        let texts = [(REASONING_CONTENT, self.reasoning_content), (REASONING, reasoning)];
        message.extend(
            texts.into_iter().filter_map(|(field, text)| Some((field.to_owned(), text?.into()))),
        );
        if !self.details.is_empty() {
            let details = self.details.into_iter().map(Value::Object).collect();
            message.insert(DETAILS.to_owned(), Value::Array(details));
        }
        message.extend(self.extra.map(|extra| (EXTRA.to_owned(), extra)));
        let mut of_calls = self.calls.into_iter();
        let of_calls: Vec<Value> = (0..calls)
            .map(|_| {
                of_calls
                    .next()
                    .filter(|fields| !fields.is_empty())
                    .map_or(Value::Null, Value::Object)
            })
            .collect();
        if message.is_empty() && of_calls.iter().all(Value::is_null) {
            return None;
        }
        Some(json!({ "message": message, "calls": of_calls }))
    }

    /// Joins a piece with its part: that of the same type and index, or the last part if the piece
    /// has no index. Adds its readable reasoning to `thought`.
    fn add_detail(&mut self, piece: &Map<String, Value>, thought: &mut String) {
        let has_index = piece.get("index").is_some_and(Value::is_number);
        let is_same = |part: &Map<String, Value>| {
            let is_alike = |key: &str| part.get(key) == piece.get(key);
            let has_other_id = part.get("id").zip(piece.get("id")).is_some_and(|(a, b)| a != b);
            is_alike("type") && is_alike("index") && !has_other_id
        };
        let place = self.details.iter().rposition(is_same);
        let place = place.filter(|place| has_index || place + 1 == self.details.len());
        match place {
            Some(place) => join_detail(&mut self.details[place], piece, thought),
            None => {
                self.details.push(piece.clone());
                thought.extend(readable_texts(piece));
            }
        }
    }
}

pub(super) fn has_call_state(call: &WireJson<'_>) -> bool {
    CALL_FIELDS.iter().any(|field| call.get(field).has_content())
}

fn bytes_of_texts<'v>(values: impl Iterator<Item = &'v Value>) -> usize {
    values.filter_map(Value::as_str).map(str::len).sum()
}

fn join_detail(part: &mut Map<String, Value>, piece: &Map<String, Value>, thought: &mut String) {
    let repeats = piece.get("format").and_then(Value::as_str);
    let repeats = repeats.is_some_and(|format| format.starts_with("MiniMax"));
    for (key, value) in piece {
        match (part.get_mut(key), value) {
            (Some(Value::String(all)), Value::String(more)) if PIECES.contains(&key.as_str()) => {
                // MiniMax's documentation repeats the text so far in each piece.
                let rest =
                    if repeats && !all.is_empty() { more.strip_prefix(&**all) } else { None };
                let more = rest.unwrap_or(more);
                all.push_str(more);
                if key != DATA {
                    thought.push_str(more);
                }
            }
            (Some(_), Value::Null) => {}
            _ => drop(part.insert(key.clone(), value.clone())),
        }
    }
}

fn readable_texts(part: &Map<String, Value>) -> impl Iterator<Item = &str> {
    PIECES.iter().filter(|key| **key != DATA).filter_map(|key| part.get(*key)?.as_str())
}

/// Merges objects; replaces all other values.
fn merge_objects(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                merge_objects(old.entry(key).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new.clone(),
    }
}

/// The rules by which the state of earlier answers goes into a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateRules<'r> {
    /// The model's name as `provider/model`; only its own state is sent back.
    model: &'r str,
    adjustments: RequestAdjustments,
    /// `true` if a step with calls gets a placeholder for missing reasoning.
    fills_reasoning: bool,
    /// `true` if a step with calls gets a placeholder for a missing signature.
    fills_signatures: bool,
}

/// The fields of an object of the request beside those of the API.
pub(super) type StateFields<'r> = BTreeMap<&'r str, Cow<'r, Value>>;

impl<'r> StateRules<'r> {
    /// `wants_signatures` is `true` for models that are known to require them.
    pub(super) fn new(
        model: &'r str,
        adjustments: RequestAdjustments,
        wants_signatures: bool,
        request: &ModelRequest,
    ) -> Self {
        let has_reasoning = |message: &Message| match message {
            Message::Assistant { reasoning: Some(thought), .. } if thought.model == model => {
                thought.content["message"][REASONING_CONTENT].is_string()
            }
            _ => false,
        };
        let fills_reasoning = !adjustments.has_adjustment(RequestAdjustment::NoReasoningContent)
            && (adjustments.has_adjustment(RequestAdjustment::FillReasoning)
                || request.messages.with_calls_or_reasoning().any(has_reasoning));
        let fills_signatures = !adjustments.has_adjustment(RequestAdjustment::NoExtraContent)
            && (wants_signatures || adjustments.has_adjustment(RequestAdjustment::FillSignatures));
        Self { model, adjustments, fills_reasoning, fills_signatures }
    }

    /// Returns `true` if a message is the same in the requests of all models.
    pub(super) fn leaves_unchanged(self, message: &Message) -> bool {
        match message {
            Message::Assistant { calls, reasoning, .. } => {
                calls.is_empty()
                    || (reasoning.is_none() && !self.fills_reasoning && !self.fills_signatures)
            }
            _ => true,
        }
    }

    pub(super) fn message_fields(self, thought: Option<&'r Reasoning>) -> StateFields<'r> {
        let own = self.own_content(thought).and_then(|content| content["message"].as_object());
        let own = own.into_iter().flatten();
        let mut fields: StateFields<'r> = own
            .filter(|(field, _)| !self.leaves_out(field))
            .map(|(field, value)| (field.as_str(), Cow::Borrowed(value)))
            .collect();
        if self.fills_reasoning && !fields.contains_key(REASONING_CONTENT) {
            let known = fields.get(REASONING).and_then(|text| text.as_str());
            let text = Value::from(known.unwrap_or(NO_REASONING));
            fields.insert(REASONING_CONTENT, Cow::Owned(text));
        }
        fields
    }

    /// The fields of the call with this index.
    pub(super) fn call_fields(
        self,
        thought: Option<&'r Reasoning>,
        index: usize,
    ) -> StateFields<'r> {
        let own = self.own_content(thought).and_then(|content| content["calls"][index].as_object());
        let own = own.into_iter().flatten();
        let mut fields: StateFields<'r> = own
            .filter(|(field, _)| !self.leaves_out(field))
            .map(|(field, value)| (field.as_str(), Cow::Borrowed(value)))
            .collect();
        // The API wants the signature of the first call of a step only.
        if self.fills_signatures && index == 0 && fields.is_empty() {
            let extra = json!({ "google": { "thought_signature": signatures::NOBODYS } });
            fields.insert(EXTRA, Cow::Owned(extra));
        }
        fields
    }

    fn own_content(self, thought: Option<&'r Reasoning>) -> Option<&'r Value> {
        thought.filter(|thought| thought.model == self.model).map(|thought| &thought.content)
    }

    fn leaves_out(self, field: &str) -> bool {
        let adjustment = match field {
            REASONING_CONTENT => RequestAdjustment::NoReasoningContent,
            DETAILS => RequestAdjustment::NoReasoningDetails,
            REASONING => RequestAdjustment::NoReasoning,
            EXTRA => RequestAdjustment::NoExtraContent,
            _ => return false,
        };
        self.adjustments.has_adjustment(adjustment)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
