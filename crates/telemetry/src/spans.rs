//! Makes spans of a turn or of a delivery. Names and attributes follow OpenTelemetry's conventions for
//! generative AI; those that begin with `avocet.` are our own.

use avocet_protocol::{
    CallId, EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventHistory, EventKind,
    EventTool, EventTurn, EventUsage, LogEvent, Money, ProviderNames, Purpose, Redactor, Timestamp,
    TraceSpan, TraceWork, TurnFailure, trace,
};
use serde_json::{Value, json};

use crate::ids::{SpanOf, span_id, trace_id};
use crate::otlp::{Attribute, Span, SpanKind, Status, cut, nanoseconds};

/// The most messages of a turn that are exported, so that a span fits a request.
const MOST_MESSAGES: usize = 8;

/// Makes the spans of ended turns and deliveries.
pub(crate) struct SpanMaker<'m> {
    /// The identity of the log.
    pub(crate) log: &'m str,
    /// `true` if texts are exported.
    pub(crate) content: bool,
    pub(crate) redactor: &'m Redactor,
    pub(crate) providers: &'m ProviderNames,
}

/// A span without its ids.
struct Work {
    name: String,
    kind: SpanKind,
    attributes: Vec<Attribute>,
    status: Option<Status>,
}

impl Work {
    fn internal(name: impl Into<String>, attributes: Vec<Attribute>) -> Self {
        Self { name: name.into(), kind: SpanKind::Internal, attributes, status: None }
    }

    fn client(name: impl Into<String>, attributes: Vec<Attribute>) -> Self {
        Self { kind: SpanKind::Client, ..Self::internal(name, attributes) }
    }
}

/// The times of a span.
#[derive(Clone, Copy)]
struct Times {
    start: Timestamp,
    end: Timestamp,
}

impl SpanMaker<'_> {
    /// Returns the spans for the end of a turn or of a delivery.
    pub(crate) fn spans(&self, event: &LogEvent, history: EventHistory) -> Vec<Span> {
        match event.kind {
            EventKind::TurnDone | EventKind::TurnCancelled | EventKind::TurnFailed => {
                self.of_turn(event, history)
            }
            _ => self.of_delivery(event, history).into_iter().collect(),
        }
    }

    fn of_turn(&self, end: &LogEvent, mut history: EventHistory) -> Vec<Span> {
        let timeline = trace(std::mem::take(&mut history.events));
        let start = timeline.iter().map(|span| span.start).min().unwrap_or(end.at).min(end.at);
        let parent = SpanOf::Turn(history.turn);
        let work = self.turn(end, &history, &timeline);
        let times = Times { start, end: end.at };
        let mut spans = vec![self.span(&history, SpanOf::Turn(history.turn), work, times)];
        for (place, piece) in timeline.iter().enumerate() {
            let Some(work) = self.piece(piece, end) else { continue };
            let of = match &piece.work {
                // An interrupted call may run again.
                TraceWork::Tool { call, .. } if piece.end.is_some() => SpanOf::Call(*call),
                _ => SpanOf::Work(history.turn, place),
            };
            let times = Times { start: piece.start, end: piece.end.unwrap_or(piece.start) };
            spans.push(self.below(parent, &history, of, work, times));
        }
        spans
    }

    /// Returns the span of a delivery; `None` if the log has removed it.
    fn of_delivery(&self, end: &LogEvent, mut history: EventHistory) -> Option<Span> {
        let events = std::mem::take(&mut history.events);
        let sends = events.iter().filter(|event| event.kind == EventKind::DeliverySending);
        let start = sends.map(|event| event.at).min().unwrap_or(end.at);
        let Some(EventDetail::Delivery(delivery)) = &end.detail else { return None };
        let work = self.delivery(delivery, end.kind);
        let (of, times) = (SpanOf::Delivery(end.seq), Times { start, end: end.at });
        Some(self.below(SpanOf::Turn(history.turn), &history, of, work, times))
    }

    /// Makes the span of a whole turn. Its parent is the call or the turn that started it.
    fn span(&self, history: &EventHistory, of: SpanOf, work: Work, times: Times) -> Span {
        let above = history.call.map(SpanOf::Call).or(history.parent.map(SpanOf::Turn));
        let Work { name, kind, attributes, status } = work;
        Span {
            trace_id: trace_id(self.log, history.root),
            span_id: span_id(self.log, of),
            parent_span_id: above.map(|above| span_id(self.log, above)),
            name,
            kind: kind as u8,
            start_time_unix_nano: nanoseconds(times.start),
            end_time_unix_nano: nanoseconds(times.end.max(times.start)),
            attributes,
            status,
        }
    }

    fn below(
        &self,
        parent: SpanOf,
        history: &EventHistory,
        of: SpanOf,
        work: Work,
        times: Times,
    ) -> Span {
        let parent_span_id = Some(span_id(self.log, parent));
        Span { parent_span_id, ..self.span(history, of, work, times) }
    }

    fn turn(&self, end: &LogEvent, history: &EventHistory, timeline: &[TraceSpan]) -> Work {
        let mut attributes = vec![
            Attribute::text("gen_ai.operation.name", "invoke_agent"),
            Attribute::number("avocet.turn.id", history.turn.0),
            Attribute::text("avocet.turn.state", end.kind.state()),
        ];
        if let Some(session) = &end.session {
            attributes.push(Attribute::text("gen_ai.conversation.id", session.as_str()));
        }
        let info = match &end.detail {
            Some(EventDetail::TurnInfo(info)) => Some(info),
            _ => None,
        };
        if self.content {
            attributes.extend(self.turn_texts(info, timeline));
        }
        let status = (end.kind == EventKind::TurnFailed).then(|| {
            let failure = info.and_then(|info| info.failure.as_ref());
            let code = failure.map_or("turn_failed", |failure| failure.code.word());
            attributes.push(Attribute::text("error.type", code));
            Status::error(self.text(info.and_then(|info| info.notice.as_deref())))
        });
        Work { status, ..Work::internal("invoke_agent", attributes) }
    }

    /// Returns the texts that a turn got and gave.
    fn turn_texts(&self, info: Option<&EventTurn>, timeline: &[TraceSpan]) -> Vec<Attribute> {
        let received = timeline.iter().filter_map(|span| match &span.work {
            TraceWork::Received { message } => Some(self.message("user", &message.text)),
            _ => None,
        });
        let received: Vec<_> = received.collect();
        let answer = info.and_then(|info| info.answer.as_deref().or(info.notice.as_deref()));
        let label = info.and_then(|info| self.text(info.label.as_deref()));
        let given = answer.map(|text| vec![self.message("assistant", text)]);
        let mut texts = Vec::new();
        if !received.is_empty() {
            texts.push(messages("gen_ai.input.messages", received));
        }
        texts.extend(given.map(|given| messages("gen_ai.output.messages", given)));
        texts.extend(label.map(|label| Attribute::text("avocet.turn.label", label)));
        texts
    }

    /// Describes a piece of a turn's work; `None` for a moment that the turn's own span shows.
    fn piece(&self, piece: &TraceSpan, end: &LogEvent) -> Option<Work> {
        Some(match &piece.work {
            TraceWork::Received { .. } | TraceWork::Ended { .. } | TraceWork::Delivery { .. } => {
                return None;
            }
            TraceWork::Queued => Work::internal("queue", Vec::new()),
            TraceWork::Model { answer, usage } => self.model(answer.as_ref(), usage, end),
            TraceWork::FailedRequest { request } => self.failed_request(request),
            TraceWork::Tool { call, tool } => self.tool(*call, tool, piece.end.is_none()),
            TraceWork::Paused { waits_for } => {
                let kinds: Vec<_> = waits_for.iter().map(|kind| kind.word().to_owned()).collect();
                let name = format!("wait {}", kinds.join(" "));
                Work::internal(name.trim_end(), vec![Attribute::texts("avocet.waits_for", kinds)])
            }
            TraceWork::Interrupted => Work::internal("interruption", Vec::new()),
        })
    }

    fn model(&self, answer: Option<&EventAnswer>, usage: &[EventUsage], end: &LogEvent) -> Work {
        let failure = model_failure(end).filter(|_| answer.is_none());
        let mut attributes = vec![Attribute::text("gen_ai.operation.name", "chat")];
        let mut name = "chat".to_owned();
        let answers = || usage.iter().rev().filter(|one| one.purpose == Purpose::Answer);
        let used = answers().next().or(usage.last());
        let failed = failure.and_then(|failure| failure.model.as_ref());
        if let Some(asked) = used.map(|used| &used.model).or(failed) {
            name = self.name_model(asked, &mut attributes);
        }
        if let Some(used) = used {
            attributes.extend(tokens(used));
            // The attempts that were paid although their answer was lost.
            let attempts = answers().count();
            if attempts > 1 {
                let attempts = u64::try_from(attempts).unwrap_or(u64::MAX);
                attributes.push(Attribute::number("avocet.model.attempts", attempts));
            }
        } else if let Some(answer) = answer {
            attributes.push(Attribute::number("gen_ai.usage.input_tokens", answer.input_tokens));
            attributes.push(Attribute::number("gen_ai.usage.output_tokens", answer.output_tokens));
        }
        if let Some(cost) = usage.iter().map(|one| one.cost).sum::<Option<Money>>()
            && !usage.is_empty()
        {
            attributes.push(Attribute::float("avocet.cost.usd", cost.in_dollars()));
        }
        if self.content
            && let Some(answer) = answer
        {
            let message = vec![self.message("assistant", &answer.text)];
            attributes.push(messages("gen_ai.output.messages", message));
        }
        let is_error = answer.is_none() && end.kind != EventKind::TurnCancelled;
        let status = is_error.then(|| {
            match failure {
                Some(failure) => attributes.extend(reason(failure)),
                None => attributes.push(Attribute::text("error.type", "no_answer")),
            }
            Status::error(None)
        });
        Work { status, ..Work::client(name, attributes) }
    }

    /// Describes a request that failed and was made again.
    fn failed_request(&self, EventFailedRequest { failure, .. }: &EventFailedRequest) -> Work {
        let mut attributes = vec![Attribute::text("gen_ai.operation.name", "chat")];
        let name = match &failure.model {
            Some(asked) => self.name_model(asked, &mut attributes),
            None => "chat".to_owned(),
        };
        attributes.extend(reason(failure));
        Work { status: Some(Status::error(None)), ..Work::client(name, attributes) }
    }

    /// Adds the provider and the model of `asked`, and returns the name of the span.
    fn name_model(&self, asked: &str, attributes: &mut Vec<Attribute>) -> String {
        let (provider, model) = self.providers.split_model(asked);
        attributes.push(Attribute::text("gen_ai.provider.name", provider));
        attributes.push(Attribute::text("gen_ai.request.model", model));
        format!("chat {model}")
    }

    fn tool(&self, call: CallId, tool: &EventTool, is_interrupted: bool) -> Work {
        let mut attributes = vec![
            Attribute::text("gen_ai.operation.name", "execute_tool"),
            Attribute::text("gen_ai.tool.name", tool.name.as_str()),
            Attribute::text("gen_ai.tool.type", "function"),
            Attribute::text("gen_ai.tool.call.id", call.to_string()),
        ];
        let bytes = tool.result_bytes.filter(|_| !is_interrupted);
        attributes.extend(bytes.map(|bytes| Attribute::number("avocet.tool.result_bytes", bytes)));
        if self.content {
            let mut arguments = Value::Object(tool.arguments.clone());
            self.redactor.redact_json(&mut arguments);
            let arguments = arguments.to_string();
            attributes.push(Attribute::text("gen_ai.tool.call.arguments", arguments));
        }
        let error = match (is_interrupted, tool.ok) {
            (true, _) => Some("interrupted"),
            (false, Some(false)) => Some("tool_error"),
            (false, _) => None,
        };
        let status = error.map(|error| {
            attributes.push(Attribute::text("error.type", error));
            Status::error(None)
        });
        Work { status, ..Work::internal(format!("execute_tool {}", tool.name), attributes) }
    }

    fn delivery(&self, delivery: &EventDelivery, end: EventKind) -> Work {
        let channel = delivery.chat.channel.as_str();
        let mut attributes = vec![
            Attribute::text("avocet.channel", channel),
            Attribute::text("avocet.delivery.state", end.state()),
            Attribute::text("avocet.delivery.source", delivery.source.as_str()),
            Attribute::number("avocet.delivery.part", delivery.part),
            Attribute::number("avocet.delivery.attempts", delivery.attempts),
            Attribute::flag("avocet.delivery.repeat", delivery.repeat),
        ];
        attributes.extend(
            self.text(Some(&delivery.text))
                .map(|text| Attribute::text("avocet.delivery.text", text)),
        );
        let status = (end != EventKind::DeliverySent).then(|| {
            attributes.push(Attribute::text("error.type", end.state()));
            Status::error(self.text(delivery.error.as_deref()))
        });
        Work { status, ..Work::client(format!("deliver {channel}"), attributes) }
    }

    /// Returns a text without secrets; `None` if texts are not exported.
    fn text(&self, text: Option<&str>) -> Option<String> {
        text.filter(|_| self.content).map(|text| self.redactor.redact(text).into_owned())
    }

    fn message(&self, role: &str, text: &str) -> Value {
        let text = cut(self.redactor.redact(text).into_owned());
        json!({ "role": role, "parts": [{ "type": "text", "content": text }] })
    }
}

/// Returns the reason why the last request of a turn failed; `None` if no model failed.
fn model_failure(end: &LogEvent) -> Option<&TurnFailure> {
    let Some(EventDetail::TurnInfo(info)) = &end.detail else { return None };
    info.failure.as_ref().filter(|failure| failure.model.is_some())
}

/// Returns the kind of failure and the provider's status.
fn reason(failure: &TurnFailure) -> impl Iterator<Item = Attribute> {
    let status =
        failure.status.map(|status| Attribute::number("http.response.status_code", status));
    [Attribute::text("error.type", failure.code.word())].into_iter().chain(status)
}

/// Returns an attribute with the first [`MOST_MESSAGES`] messages as JSON.
fn messages(key: &'static str, mut messages: Vec<Value>) -> Attribute {
    messages.truncate(MOST_MESSAGES);
    Attribute::json(key, &Value::Array(messages))
}

fn tokens(EventUsage { usage, .. }: &EventUsage) -> Vec<Attribute> {
    let mut tokens = vec![
        Attribute::number("gen_ai.usage.input_tokens", usage.input),
        Attribute::number("gen_ai.usage.output_tokens", usage.output),
    ];
    let cache = [
        ("gen_ai.usage.cache_read.input_tokens", usage.cached),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_written),
    ];
    let cache = cache.into_iter().filter(|(_, count)| *count > 0);
    tokens.extend(cache.map(|(key, count)| Attribute::number(key, count)));
    tokens
}

#[cfg(test)]
#[path = "spans_tests.rs"]
mod tests;
