//! Repairs requests that a provider refuses because of the history of a conversation, or because of
//! a setting that its server lacks.
//!
//! A refusal of the history would repeat with every later message: the history is in the log, and
//! each request begins with it. So [`ModelEndpoint::ask_model`](crate::endpoint::ModelEndpoint)
//! goes this way:
//!
//! ```text
//! request -> sendable_request -> body -> refused -> RequestFault::from_error -> learn_fault
//!         -> sendable_request -> body, if it differs: once more
//! ```
//!
//! - **A fault of the history** is a thought that the provider does not accept, a thought that it
//!   misses, or calls and results that it cannot match. One request repairs at most one of them.
//! - **A fault of a setting** is a field or a role that the server does not know. Each is learned
//!   once, so a request meets each of them at most once.
//!
//! What was learned is kept until the next start: by the hash of a thought, by the id of a call, or
//! for the model. A later turn of the same conversation is then accepted at once. After a restart,
//! one more request is refused, and repaired. The log is not changed: another model may accept it.

mod faults;

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use avocet_protocol::model::{Message, Messages, ModelError, ModelRequest, Reasoning};
use parking_lot::Mutex;

pub(crate) use faults::names_missing_tools;

use crate::dialects;

/// Maximum number of repairs of a request.
const MAX_REPAIRS: usize = 6;
/// Maximum number of remembered thoughts, and of remembered calls. A model reaches it only if its
/// provider refuses thousands of steps; then all are forgotten, without the memory for an order.
const MAX_REMEMBERED: usize = 100_000;

/// The lessons from refusals of a model, until the next start.
#[derive(Debug, Default)]
pub(crate) struct RepairLessons {
    learned: Mutex<LearnedRepairs>,
}

#[derive(Debug, Default)]
struct LearnedRepairs {
    /// Hashes of thoughts that are not sent again.
    thoughts: HashSet<u64>,
    /// Ids of calls that are sent as text, with their results.
    calls: HashSet<String>,
    adjustments: RequestAdjustments,
    /// The number of lessons.
    version: u64,
}

/// A fault of a request that its refusal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFault {
    /// The provider does not accept a thought of the history.
    Thought,
    /// The provider cannot match the calls and results of the history.
    Calls,
    /// Requests to this model must differ from now on.
    Adjustable(RequestAdjustment),
}

/// A difference of all requests to a model, because its server refused a field or missed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestAdjustment {
    /// A step with calls gets a placeholder for its missing reasoning.
    FillReasoning,
    /// A step with calls gets a placeholder for its missing signature.
    FillSignatures,
    /// No `reasoning_content`.
    NoReasoningContent,
    /// No `reasoning_details`.
    NoReasoningDetails,
    /// No `reasoning`.
    NoReasoning,
    /// No `extra_content`.
    NoExtraContent,
    /// No `phase`.
    NoPhase,
    /// No streaming: the answer comes as a whole.
    NoStream,
    /// No `stream_options`.
    NoStreamOptions,
    /// Another role for the instructions.
    OtherSystemRole,
    /// No `temperature`.
    NoTemperature,
    /// The other name of the output limit.
    OtherMaxTokensField,
    /// No effort.
    NoEffort,
}

/// The adjustments of a model: a set of [`RequestAdjustment`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestAdjustments(u32);

/// Counts the repairs of one request.
#[derive(Debug, Default)]
pub(crate) struct RepairAttempts {
    has_repaired_history: AtomicBool,
    count: AtomicUsize,
}

impl RequestAdjustments {
    pub(crate) fn has_adjustment(self, adjustment: RequestAdjustment) -> bool {
        self.0 & (1 << adjustment as u32) != 0
    }

    fn insert(&mut self, adjustment: RequestAdjustment) {
        self.0 |= 1 << adjustment as u32;
    }

    fn remove_adjustment(&mut self, adjustment: RequestAdjustment) {
        self.0 &= !(1 << adjustment as u32);
    }
}

impl RepairAttempts {
    /// Returns `true` if a request may be repaired after this fault.
    pub(crate) fn may_repair(&self, fault: RequestFault) -> bool {
        self.count.fetch_add(1, Ordering::Relaxed) < MAX_REPAIRS
            && !(fault.is_of_history() && self.has_repaired_history.swap(true, Ordering::Relaxed))
    }
}

impl RepairLessons {
    /// The differences of all requests.
    pub(crate) fn current_adjustments(&self) -> RequestAdjustments {
        self.learned.lock().adjustments
    }

    /// The number of lessons so far.
    pub(crate) fn lessons_version(&self) -> u64 {
        self.learned.lock().version
    }

    /// Forgets an adjustment that did not help.
    pub(crate) fn forget_fault(&self, fault: RequestFault) {
        if let RequestFault::Adjustable(adjustment) = fault {
            let mut learned = self.learned.lock();
            learned.adjustments.remove_adjustment(adjustment);
        }
    }

    /// Remembers a fault of this request. `model` is the model's name as `provider/model`.
    pub(crate) fn learn_fault(&self, fault: RequestFault, request: &ModelRequest, model: &str) {
        let mut learned = self.learned.lock();
        learned.version += 1;
        match fault {
            RequestFault::Adjustable(adjustment) => learned.adjustments.insert(adjustment),
            RequestFault::Thought => {
                let own = sent_thoughts(&request.messages).filter(|thought| thought.model == model);
                let hashes: Vec<u64> = own.map(hash).collect();
                if learned.thoughts.len() > MAX_REMEMBERED {
                    learned.thoughts.clear();
                }
                learned.thoughts.extend(hashes);
            }
            RequestFault::Calls => {
                if learned.calls.len() > MAX_REMEMBERED {
                    learned.calls.clear();
                }
                learned.calls.extend(call_ids(&request.messages).map(str::to_owned));
            }
        }
    }

    /// Returns the request without the faults that were learned, and without the thoughts that
    /// another host sent.
    pub(crate) fn sendable_request<'r>(
        &self,
        request: &'r ModelRequest,
        host: &str,
    ) -> Cow<'r, ModelRequest> {
        let learned = self.learned.lock();
        let is_refused = |thought: &Reasoning| {
            thought.host.as_deref().is_some_and(|sender| sender != host)
                || (!learned.thoughts.is_empty() && learned.thoughts.contains(&hash(thought)))
        };
        let is_as_text = |id: &str| !learned.calls.is_empty() && learned.calls.contains(id);
        let has_refused = sent_thoughts(&request.messages).any(is_refused);
        let has_text = call_ids(&request.messages).any(is_as_text);
        if !has_refused && !has_text {
            return Cow::Borrowed(request);
        }
        let mut messages: Messages = request
            .messages
            .shared()
            .map(|shared| match shared.message() {
                Message::Assistant { text, calls, reasoning: Some(thought) }
                    if is_refused(thought) =>
                {
                    Message::assistant(text, calls.clone()).into()
                }
                _ => shared.clone(),
            })
            .collect();
        if has_text {
            messages = calls_as_text(&messages, &is_as_text);
        }
        Cow::Owned(ModelRequest { messages, ..request.clone() })
    }
}

impl RequestFault {
    /// The fault that a refusal names; `None` for other errors.
    pub(crate) fn from_error(error: &ModelError) -> Option<Self> {
        match error {
            ModelError::Refused { detail, lasting: false, .. } => Self::named_by(&detail.text),
            // Some servers answer 500 if the template of a model fails.
            ModelError::Busy { detail, .. } if detail.status == Some(500) => {
                Self::named_by(&detail.text)
            }
            _ => None,
        }
    }

    /// Returns `true` if the fault is in the history, `false` if it is in a setting.
    fn is_of_history(self) -> bool {
        use RequestAdjustment::{
            FillReasoning, FillSignatures, NoEffort, NoExtraContent, NoPhase, NoReasoning,
            NoReasoningContent, NoReasoningDetails, NoStream, NoStreamOptions, NoTemperature,
            OtherMaxTokensField, OtherSystemRole,
        };
        match self {
            Self::Thought | Self::Calls => true,
            Self::Adjustable(adjustment) => match adjustment {
                FillReasoning | FillSignatures | NoReasoningContent | NoReasoningDetails
                | NoReasoning | NoExtraContent | NoPhase => true,
                NoStream | NoStreamOptions | OtherSystemRole | NoTemperature
                | OtherMaxTokensField | NoEffort => false,
            },
        }
    }

    /// The repair, for the operator, with the key to set where there is one.
    pub(crate) fn remedy_text(self) -> &'static str {
        match self {
            Self::Thought => "the refused thoughts of this conversation are not sent again",
            Self::Calls => "the earlier calls of this conversation are sent as text",
            Self::Adjustable(adjustment) => adjustment.remedy_text(),
        }
    }
}

impl RequestAdjustment {
    fn remedy_text(self) -> &'static str {
        match self {
            Self::FillReasoning => "steps without reasoning get a placeholder",
            Self::FillSignatures => "steps without a signature get a placeholder",
            Self::NoReasoningContent => "reasoning_content is not sent back",
            Self::NoReasoningDetails => "reasoning_details is not sent back",
            Self::NoReasoning => "reasoning is not sent back",
            Self::NoExtraContent => "extra_content is not sent back",
            Self::NoPhase => "phase is not sent back",
            Self::NoStream => "answers come as a whole; set stream = false for this provider",
            Self::NoStreamOptions => {
                "stream_options is left out; set stream_usage = false for this provider"
            }
            Self::OtherSystemRole => {
                "the instructions get another role; with kind = \"openai\", set system_role = \"user\""
            }
            Self::NoTemperature => "temperature is left out; remove temperature from the provider",
            Self::OtherMaxTokensField => {
                "the output limit gets its other name; set max_tokens_field for this provider"
            }
            Self::NoEffort => "the effort is left out; remove effort and reasoning_effort",
        }
    }
}

fn sent_thoughts(messages: &Messages) -> impl Iterator<Item = &Reasoning> {
    messages.with_calls_or_reasoning().filter_map(|message| match message {
        Message::Assistant { reasoning, .. } => reasoning.as_ref(),
        _ => None,
    })
}

fn call_ids(messages: &Messages) -> impl Iterator<Item = &str> {
    let calls = messages.with_calls_or_reasoning().flat_map(|message| match message {
        Message::Assistant { calls, .. } => &calls[..],
        _ => &[],
    });
    calls.map(|call| &*call.id)
}

fn hash(thought: &Reasoning) -> u64 {
    let mut hasher = DefaultHasher::new();
    thought.model.hash(&mut hasher);
    thought.content.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Writes the steps with these calls as text. The other messages stay shared.
fn calls_as_text(messages: &Messages, is_as_text: &dyn Fn(&str) -> bool) -> Messages {
    let mut sent = Messages::default();
    let mut step: Vec<&Message> = Vec::new();
    for shared in messages.shared() {
        let belongs = match shared.message() {
            Message::Assistant { calls, .. } => calls.iter().any(|call| is_as_text(&call.id)),
            Message::ToolResult { call, .. } => is_as_text(call),
            // Roles alternate, so the text of the results is joined with that of the user.
            Message::User { .. } => !step.is_empty(),
            Message::System { .. } => false,
        };
        if belongs {
            step.push(shared.message());
        } else {
            sent.extend(dialects::as_text(dialects::PLAIN, step.drain(..), &[]));
            sent.push(shared.clone());
        }
    }
    sent.extend(dialects::as_text(dialects::PLAIN, step, &[]));
    sent
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
