//! A wrapper around every provider's model that reads tool calls written as text. Some models are
//! instructed to write such calls; others do it by mistake.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::model::{
    Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, ToolCall,
};
use avocet_protocol::tool::ToolSpec;
use parking_lot::Mutex;

use crate::dialects::{self, Dialect, ParsedReply, ReplyReader, StreamedReply, TextEnd};
use crate::tool_style::{TextCalls, ToolStyle};
use crate::{ending, schema, visible};

impl ToolStyle {
    /// The dialect for calls as text; `None` for native calls and for models without tools.
    fn text_dialect(self) -> Option<&'static dyn Dialect> {
        dialects::find_dialect(&format!("{self:?}").to_lowercase())
    }
}

/// A wrapper that searches a model's text for calls. Every model of a provider that leaves calls in
/// the text needs it, or their markup reaches the chat.
#[derive(Debug)]
pub struct DialectModel {
    model: Arc<dyn Model>,
    style: ToolStyle,
    text_calls: TextCalls,
    is_auto: bool,
    latest: LatestTools,
}

/// The tools of the latest request. The next request often has the same, and then copies none.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatestTools(Arc<Mutex<Option<ReadableTools>>>);

/// The tools of a request, for the reader of its reply.
#[derive(Debug, Clone)]
struct ReadableTools {
    tools: Arc<[ToolSpec]>,
    deferred: Arc<[ToolSpec]>,
    /// The callable tools, followed by the end tools.
    readable: Arc<[ToolSpec]>,
    /// Number of the callable tools.
    callable: usize,
}

impl ReadableTools {
    fn new(request: &ModelRequest) -> Self {
        let callable = request.callable();
        Self {
            tools: request.tools.clone(),
            deferred: request.deferred.clone(),
            callable: callable.len(),
            readable: ending::with_endings(callable).into(),
        }
    }

    fn is_of(&self, request: &ModelRequest) -> bool {
        Arc::ptr_eq(&self.tools, &request.tools) && Arc::ptr_eq(&self.deferred, &request.deferred)
    }
}

impl DialectModel {
    /// Wraps `model`, which calls tools in this style.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, style: ToolStyle) -> Self {
        let (style, is_auto) = match style {
            ToolStyle::Auto => (ToolStyle::Native, true),
            style => (style, false),
        };
        let (text_calls, latest) = Default::default();
        Self { model, style, text_calls, is_auto, latest }
    }

    /// Returns the same model with this rule for calls as text.
    #[must_use]
    pub fn with_text_calls(self, text_calls: TextCalls) -> Self {
        Self { text_calls, ..self }
    }

    /// Returns the same model, whose operator left the way of calling tools open: see
    /// [`ToolStyle::Auto`].
    #[must_use]
    pub(crate) fn with_auto(self, is_auto: bool) -> Self {
        Self { is_auto, ..self }
    }

    /// Returns the same model with the tools of the request before it.
    #[must_use]
    pub(crate) fn with_latest_tools(self, latest: LatestTools) -> Self {
        Self { latest, ..self }
    }

    fn readable_tools(&self, request: &ModelRequest) -> ReadableTools {
        if self.style == ToolStyle::None {
            return ReadableTools::new(&ModelRequest::default());
        }
        let mut latest = self.latest.0.lock();
        match &*latest {
            Some(tools) if tools.is_of(request) => tools.clone(),
            _ => latest.insert(ReadableTools::new(request)).clone(),
        }
    }

    /// Returns `true` if calls in a reply's text must be treated as plain text. `native` are the
    /// native calls of the reply.
    fn is_prose(&self, read: &ParsedReply, native: &[ToolCall], tools: &[ToolSpec]) -> bool {
        let is_copy = |call: &&ToolCall| native.iter().any(|other| other.name == call.name);
        let mut in_text: Vec<ToolCall> =
            read.calls.iter().filter(|call| !is_copy(call)).cloned().collect();
        ending::remove_end_calls(&mut in_text, tools);
        let is_meant =
            || dialects::is_meant(read) || (self.is_auto && dialects::is_meant_between_texts(read));
        match (self.style, self.text_calls) {
            _ if in_text.is_empty() => false,
            (ToolStyle::Native, TextCalls::Ask) => !native.is_empty() || !is_meant(),
            (ToolStyle::Native, TextCalls::Ignore) => true,
            _ => false,
        }
    }
}

/// The request translated for a model of this style; `None` if it stays the same.
fn translate_request(style: ToolStyle, request: &ModelRequest) -> Option<ModelRequest> {
    let tools = match style {
        ToolStyle::Native | ToolStyle::Auto => return None,
        ToolStyle::None => &[][..],
        _ => &request.tools,
    };
    let dialect = style.text_dialect().unwrap_or(dialects::PLAIN);
    let messages = dialects::as_text(dialect, &request.messages, tools).into();
    Some(ModelRequest { messages, tools: Arc::new([]), ..request.clone() })
}

#[async_trait]
impl Model for DialectModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn facts(&self) -> ModelFacts {
        self.model.facts().await
    }

    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        translate_request(self.style, request).unwrap_or_else(|| {
            let tools = request.tools.iter().map(schema::as_sent).collect();
            let deferred = request.deferred.iter().map(schema::as_sent).collect();
            ModelRequest { tools, deferred, ..request.clone() }
        })
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let style = self.style;
        let ReadableTools { readable, callable, .. } = self.readable_tools(request);
        let tools = &readable[..callable];
        let is_auto = self.is_auto;
        let reader = ReplyReader { is_auto, ..ReplyReader::new(style.text_dialect(), &readable) };
        let streamed = Mutex::new(StreamedReply::new(reader));
        let lock = || streamed.lock();
        let pass = |delta: Delta<'_>| match delta {
            Delta::Text(piece) => lock().push(piece, deltas),
            Delta::Restart => {
                lock().discard_shown();
                deltas(Delta::Restart);
            }
            Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => deltas(delta),
        };
        let translated = translate_request(style, request);
        let reply = self.model.complete(translated.as_ref().unwrap_or(request), &pass).await?;
        let streamed = streamed.into_inner();
        let read = streamed.read(&reply.text, TextEnd::cut_if(reply.truncated || reply.filtered));
        let read = if self.is_prose(&read, &reply.calls, tools) {
            tracing::debug!(model = self.name(), "the tool calls in the text are treated as text");
            let text = visible::visible_text(ending::without_mark(&reply.text));
            let is_done = ending::without_mark(&reply.text) != reply.text.trim_end();
            ParsedReply { text, is_done, ..ParsedReply::default() }
        } else {
            read
        };
        if let Some(dialect) = read.dialect {
            let dialect = dialect.name();
            tracing::debug!(model = self.name(), dialect, "found tool calls in the text");
        }
        // Calls in the text of a reply with native calls repeat these.
        let is_native = !reply.calls.is_empty();
        let mut calls = if is_native { reply.calls } else { read.calls };
        let taken = ending::remove_end_calls(&mut calls, tools);
        let thought = |thought| if is_native { taken.out_of(thought) } else { thought };
        let reasoning = reply.reasoning.map(thought);
        let answer = taken.answer;
        if style == ToolStyle::None {
            calls.clear();
        }
        let is_done = calls.is_empty() && (read.is_done || answer.is_some());
        let text = match ending::join_texts(&read.text, &answer.unwrap_or_default()) {
            text if is_done && text.is_empty() => ending::DONE.to_owned(),
            text if is_done => text,
            _ => read.text,
        };
        streamed.finish_text(&text, deltas);
        let needs_approval = style == ToolStyle::Native && self.text_calls == TextCalls::Ask;
        let is_text = needs_approval && !is_native && !calls.is_empty();
        let written = is_text.then_some(reply.text);
        Ok(ModelReply { text, calls, written, reasoning, is_done, ..reply })
    }
}

#[cfg(test)]
#[path = "dialected_tests.rs"]
mod tests;
