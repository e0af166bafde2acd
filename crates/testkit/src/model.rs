//! A model with scripted answers, which refuses the histories that providers refuse.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::model::{
    Arguments, Delta, Deltas, Message, Model, ModelError, ModelFacts, ModelReply, ModelRequest,
    Money, Spent, ToolCall, Usage,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Semaphore;

/// One answer of a [`ScriptedModel`].
#[derive(Debug, Clone)]
pub enum Scripted {
    /// Answers.
    Reply(ModelReply),
    /// Fails.
    Error(ModelError),
    /// Never answers.
    Hang,
    /// Answers after it has taken a permit.
    When(Arc<Semaphore>, Box<Self>),
    /// Shows this thought, and then answers.
    Thinks(&'static str, Box<Self>),
    /// Streams these pieces as they arrive, and finishes when the queue is closed. `None` discards
    /// the text so far.
    Written(flume::Receiver<Option<String>>),
}

impl Scripted {
    /// Returns an answer with this text, which ends the turn.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self::Reply(ModelReply { text: text.to_owned(), spent: spent(), ..ModelReply::default() })
    }

    /// Returns an answer with these tool calls.
    #[must_use]
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let calls = calls.iter().map(|(name, arguments)| ToolCall {
            name: (*name).to_owned(),
            arguments: Arguments::parse(&arguments.to_string()),
        });
        let calls = calls.collect();
        Self::Reply(ModelReply { calls, spent: spent(), ..ModelReply::default() })
    }

    /// Sets the cost of the answer in dollars, for each model that was asked.
    #[must_use]
    pub fn costing(self, dollars: f64) -> Self {
        let Self::Reply(mut reply) = self else { return self };
        reply.spent.iter_mut().for_each(|spent| spent.cost = Some(Money::dollars(dollars)));
        Self::Reply(reply)
    }
}

/// Returns the usage of each answer.
fn spent() -> Vec<Spent> {
    vec![Spent { model: NAME.to_owned(), usage: Usage::new(100, 10), cost: None }]
}

const NAME: &str = "test/scripted";

/// A model with scripted answers. It panics if a provider would refuse the history of a request.
pub struct ScriptedModel {
    name: &'static str,
    answer: Box<dyn Fn(&ModelRequest) -> Scripted + Send + Sync>,
    facts: ModelFacts,
    requests: Mutex<Vec<ModelRequest>>,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScriptedModel")
    }
}

impl ScriptedModel {
    /// Returns a model with these answers, in order. A further request panics.
    #[must_use]
    pub fn new(answers: Vec<Scripted>) -> Self {
        let answers = Mutex::new(VecDeque::from(answers));
        Self::answering(move |request| {
            let answer = answers.lock().pop_front();
            answer.unwrap_or_else(|| panic!("one request too many: {:#?}", request.messages))
        })
    }

    /// Returns a model whose answers depend on the request.
    pub fn answering(answer: impl Fn(&ModelRequest) -> Scripted + Send + Sync + 'static) -> Self {
        let context = Some(ModelFacts::ASSUMED_CONTEXT);
        let (answer, facts) = (Box::new(answer), ModelFacts { context, ..ModelFacts::default() });
        Self { name: NAME, answer, facts, requests: Mutex::default() }
    }

    /// Changes the name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Sets the known facts.
    #[must_use]
    pub fn with_facts(self, facts: ModelFacts) -> Self {
        Self { facts, ..self }
    }

    /// Lets the model accept images.
    #[must_use]
    pub fn with_eyes(self) -> Self {
        Self { facts: ModelFacts { images: true, ..self.facts }, ..self }
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn facts(&self) -> ModelFacts {
        self.facts
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        assert_eq!(history_complaint(&request.messages), None, "{:#?}", request.messages);
        assert!(self.facts.images || request.images.is_empty(), "the model cannot see images");
        self.requests.lock().push(request.clone());
        let mut answer = (self.answer)(request);
        let mut begun = StartedRequest { model: self.name, request, deltas, is_lost: true };
        let answer = loop {
            match answer {
                Scripted::When(permits, then) => {
                    permits.acquire().await.unwrap().forget();
                    answer = *then;
                }
                Scripted::Thinks(thought, then) => {
                    deltas(Delta::Thought(thought));
                    answer = *then;
                }
                answer => break answer,
            }
        };
        let answered = match answer {
            Scripted::Error(error) => Err(error),
            Scripted::Hang | Scripted::When(..) | Scripted::Thinks(..) => {
                std::future::pending().await
            }
            Scripted::Written(pieces) => Ok(written(&pieces, deltas).await),
            Scripted::Reply(reply) => {
                for piece in reply.text.split_inclusive(' ') {
                    deltas(Delta::Text(piece));
                }
                Ok(reply)
            }
        };
        begun.is_lost = answered.as_ref().is_err_and(ModelError::may_have_cost);
        answered
    }
}

/// A request in progress. If it fails or is dropped, its input is reported as lost usage.
struct StartedRequest<'a> {
    model: &'a str,
    request: &'a ModelRequest,
    deltas: Deltas<'a>,
    is_lost: bool,
}

impl Drop for StartedRequest<'_> {
    fn drop(&mut self) {
        if self.is_lost {
            let usage = Usage::new(self.request.estimated_tokens(), 0);
            let spent = Spent { model: self.model.to_owned(), usage, cost: None };
            (self.deltas)(Delta::Lost(&spent));
        }
    }
}

async fn written(pieces: &flume::Receiver<Option<String>>, deltas: Deltas<'_>) -> ModelReply {
    let mut text = String::new();
    while let Ok(piece) = pieces.recv_async().await {
        match piece {
            Some(piece) => {
                deltas(Delta::Text(&piece));
                text.push_str(&piece);
            }
            None => {
                deltas(Delta::Restart);
                text.clear();
            }
        }
    }
    ModelReply { text, spent: spent(), ..ModelReply::default() }
}

/// Returns the error of a provider for a history. `None` if the history is valid.
#[must_use]
pub fn history_complaint<'m>(messages: impl IntoIterator<Item = &'m Message>) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let mut last = "";
    for (place, message) in messages.into_iter().enumerate() {
        let complain = |what: String| Some(format!("message {place}: {what}"));
        if !open.is_empty() && !matches!(message, Message::ToolResult { .. }) {
            return complain(format!("calls without a result: {open:?}"));
        }
        let role = match message {
            Message::System { .. } if place > 0 => return complain("a late system message".into()),
            Message::System { .. } => "system",
            Message::User { text, .. } if text.trim().is_empty() => {
                return complain("empty".into());
            }
            Message::User { .. } => "user",
            Message::Assistant { text, calls, .. } => {
                if text.trim().is_empty() && calls.is_empty() {
                    return complain("empty".into());
                }
                if last.is_empty() || last == "system" {
                    return complain("the assistant begins".into());
                }
                for call in calls {
                    if !seen.insert(&call.id) {
                        return complain(format!("the id {} a second time", call.id));
                    }
                    open.push(&call.id);
                }
                "assistant"
            }
            Message::ToolResult { call, .. } => {
                if open.first() != Some(&call.as_str()) {
                    return complain(format!("a result of {call} where {open:?} is expected"));
                }
                open.remove(0);
                "tool"
            }
        };
        if role == last && role != "tool" {
            return complain(format!("{role} twice in a row"));
        }
        last = role;
    }
    (!open.is_empty()).then(|| format!("calls without a result at the end: {open:?}"))
}
