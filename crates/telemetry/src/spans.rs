//! Makes spans of a turn or of a delivery. Names and attributes follow OpenTelemetry's conventions for
//! generative AI; those that begin with `avocet.` are our own.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::CallId;
use avocet_protocol::model::{Money, ProviderNames};
use avocet_protocol::store::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventHistory, EventKind,
    EventTool, EventTurn, EventUsage, LogEvent, Purpose,
};
use avocet_protocol::turn::{TraceSpan, TraceWork, TurnFailure, trace};
use avocet_text::Redactor;
use serde_json::{Value, json};

use crate::ids::{SpanOf, span_id, trace_id};
use crate::otlp::{OtlpSpan, SpanAttribute, SpanKind, SpanStatus, cut_text, format_nanoseconds};

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
struct SpanWork {
    name: String,
    kind: SpanKind,
    attributes: Vec<SpanAttribute>,
    status: Option<SpanStatus>,
}

impl SpanWork {
    fn internal_work(name: impl Into<String>, attributes: Vec<SpanAttribute>) -> Self {
        Self { name: name.into(), kind: SpanKind::Internal, attributes, status: None }
    }

    fn client_work(name: impl Into<String>, attributes: Vec<SpanAttribute>) -> Self {
        Self { kind: SpanKind::Client, ..Self::internal_work(name, attributes) }
    }
}

#[derive(Clone, Copy)]
struct SpanTimes {
    start: Timestamp,
    end: Timestamp,
}

impl SpanMaker<'_> {
    /// Returns the spans for the end of a turn or of a delivery.
    pub(crate) fn spans_of_event(&self, event: &LogEvent, history: EventHistory) -> Vec<OtlpSpan> {
        match event.kind {
            EventKind::TurnDone | EventKind::TurnCancelled | EventKind::TurnFailed => {
                self.of_turn(event, history)
            }
            _ => self.of_delivery(event, history).into_iter().collect(),
        }
    }

    fn of_turn(&self, end: &LogEvent, mut history: EventHistory) -> Vec<OtlpSpan> {
        let timeline = trace(std::mem::take(&mut history.events));
        let start = timeline.iter().map(|span| span.start).min().unwrap_or(end.at).min(end.at);
        let parent = SpanOf::Turn(history.turn);
        let work = self.turn_work(end, &history, &timeline);
        let times = SpanTimes { start, end: end.at };
        let mut spans = vec![self.root_span(&history, SpanOf::Turn(history.turn), work, times)];
        for (place, piece) in timeline.iter().enumerate() {
            let Some(work) = self.piece_work(piece, end) else { continue };
            let of = match &piece.work {
                // An interrupted call may run again.
                TraceWork::Tool { call, .. } if piece.end.is_some() => SpanOf::Call(*call),
                _ => SpanOf::Work(history.turn, place),
            };
            let times = SpanTimes { start: piece.start, end: piece.end.unwrap_or(piece.start) };
            spans.push(self.child_span(parent, &history, of, work, times));
        }
        spans
    }

    /// Returns the span of a delivery; `None` if the log has removed it.
    fn of_delivery(&self, end: &LogEvent, mut history: EventHistory) -> Option<OtlpSpan> {
        let events = std::mem::take(&mut history.events);
        let sends = events.iter().filter(|event| event.kind == EventKind::DeliverySending);
        let start = sends.map(|event| event.at).min().unwrap_or(end.at);
        let Some(EventDetail::Delivery(delivery)) = &end.detail else { return None };
        let work = self.delivery_work(delivery, end.kind);
        let (of, times) = (SpanOf::Delivery(end.seq), SpanTimes { start, end: end.at });
        Some(self.child_span(SpanOf::Turn(history.turn), &history, of, work, times))
    }

    /// Makes the span of a whole turn. Its parent is the call or the turn that started it.
    fn root_span(
        &self,
        history: &EventHistory,
        of: SpanOf,
        work: SpanWork,
        times: SpanTimes,
    ) -> OtlpSpan {
        let above = history.call.map(SpanOf::Call).or(history.parent.map(SpanOf::Turn));
        let SpanWork { name, kind, attributes, status } = work;
        OtlpSpan {
            trace_id: trace_id(self.log, history.root),
            span_id: span_id(self.log, of),
            parent_span_id: above.map(|above| span_id(self.log, above)),
            name,
            kind: kind as u8,
            start_time_unix_nano: format_nanoseconds(times.start),
            end_time_unix_nano: format_nanoseconds(times.end.max(times.start)),
            attributes,
            status,
        }
    }

    fn child_span(
        &self,
        parent: SpanOf,
        history: &EventHistory,
        of: SpanOf,
        work: SpanWork,
        times: SpanTimes,
    ) -> OtlpSpan {
        let parent_span_id = Some(span_id(self.log, parent));
        OtlpSpan { parent_span_id, ..self.root_span(history, of, work, times) }
    }

    fn turn_work(
        &self,
        end: &LogEvent,
        history: &EventHistory,
        timeline: &[TraceSpan],
    ) -> SpanWork {
        let mut attributes = vec![
            SpanAttribute::from_text("gen_ai.operation.name", "invoke_agent"),
            SpanAttribute::from_number("avocet.turn.id", history.turn.0),
            SpanAttribute::from_text("avocet.turn.state", end.kind.state()),
        ];
        if let Some(session) = &end.session {
            attributes.push(SpanAttribute::from_text("gen_ai.conversation.id", session.as_str()));
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
            let code = failure.map_or("turn_failed", |failure| failure.code.as_str());
            attributes.push(SpanAttribute::from_text("error.type", code));
            SpanStatus::from_error(self.exported_text(info.and_then(|info| info.notice.as_deref())))
        });
        SpanWork { status, ..SpanWork::internal_work("invoke_agent", attributes) }
    }

    /// Returns the texts that a turn got and gave.
    fn turn_texts(&self, info: Option<&EventTurn>, timeline: &[TraceSpan]) -> Vec<SpanAttribute> {
        let received = timeline.iter().filter_map(|span| match &span.work {
            TraceWork::Received { message } => Some(self.message_json("user", &message.text)),
            _ => None,
        });
        let received: Vec<_> = received.collect();
        let answer = info.and_then(|info| info.answer.as_deref().or(info.notice.as_deref()));
        let label = info.and_then(|info| self.exported_text(info.label.as_deref()));
        let given = answer.map(|text| vec![self.message_json("assistant", text)]);
        let mut texts = Vec::new();
        if !received.is_empty() {
            texts.push(messages_attribute("gen_ai.input.messages", received));
        }
        texts.extend(given.map(|given| messages_attribute("gen_ai.output.messages", given)));
        texts.extend(label.map(|label| SpanAttribute::from_text("avocet.turn.label", label)));
        texts
    }

    /// Describes a piece of a turn's work; `None` for a moment that the turn's own span shows.
    fn piece_work(&self, piece: &TraceSpan, end: &LogEvent) -> Option<SpanWork> {
        Some(match &piece.work {
            TraceWork::Received { .. } | TraceWork::Ended { .. } | TraceWork::Delivery { .. } => {
                return None;
            }
            TraceWork::Queued => SpanWork::internal_work("queue", Vec::new()),
            TraceWork::Model { answer, usage } => self.model_work(answer.as_ref(), usage, end),
            TraceWork::FailedRequest { request } => self.failed_request(request),
            TraceWork::Tool { call, tool } => self.tool_work(*call, tool, piece.end.is_none()),
            TraceWork::Paused { waits_for } => {
                let kinds: Vec<_> = waits_for.iter().map(|kind| kind.as_str().to_owned()).collect();
                let name = format!("wait {}", kinds.join(" "));
                SpanWork::internal_work(
                    name.trim_end(),
                    vec![SpanAttribute::from_texts("avocet.waits_for", kinds)],
                )
            }
            TraceWork::Interrupted => SpanWork::internal_work("interruption", Vec::new()),
        })
    }

    fn model_work(
        &self,
        answer: Option<&EventAnswer>,
        usage: &[EventUsage],
        end: &LogEvent,
    ) -> SpanWork {
        let failure = model_failure(end).filter(|_| answer.is_none());
        let mut attributes = vec![SpanAttribute::from_text("gen_ai.operation.name", "chat")];
        let mut name = "chat".to_owned();
        let answers = || usage.iter().rev().filter(|one| one.purpose == Purpose::Answer);
        let used = answers().next().or(usage.last());
        let failed = failure.and_then(|failure| failure.model.as_ref());
        if let Some(asked) = used.map(|used| &used.model).or(failed) {
            name = self.name_model(asked, &mut attributes);
        }
        if let Some(used) = used {
            attributes.extend(token_attributes(used));
            // The attempts that were paid although their answer was lost.
            let attempts = answers().count();
            if attempts > 1 {
                let attempts = u64::try_from(attempts).unwrap_or(u64::MAX);
                attributes.push(SpanAttribute::from_number("avocet.model.attempts", attempts));
            }
        } else if let Some(answer) = answer {
            attributes
                .push(SpanAttribute::from_number("gen_ai.usage.input_tokens", answer.input_tokens));
            attributes.push(SpanAttribute::from_number(
                "gen_ai.usage.output_tokens",
                answer.output_tokens,
            ));
        }
        if let Some(cost) = usage.iter().map(|one| one.cost).sum::<Option<Money>>()
            && !usage.is_empty()
        {
            attributes.push(SpanAttribute::from_float("avocet.cost.usd", cost.in_dollars()));
        }
        if self.content
            && let Some(answer) = answer
        {
            let message = vec![self.message_json("assistant", &answer.text)];
            attributes.push(messages_attribute("gen_ai.output.messages", message));
        }
        let is_error = answer.is_none() && end.kind != EventKind::TurnCancelled;
        let status = is_error.then(|| {
            match failure {
                Some(failure) => attributes.extend(reason(failure)),
                None => attributes.push(SpanAttribute::from_text("error.type", "no_answer")),
            }
            SpanStatus::from_error(None)
        });
        SpanWork { status, ..SpanWork::client_work(name, attributes) }
    }

    /// Describes a request that failed and was made again.
    fn failed_request(&self, EventFailedRequest { failure, .. }: &EventFailedRequest) -> SpanWork {
        let mut attributes = vec![SpanAttribute::from_text("gen_ai.operation.name", "chat")];
        let name = match &failure.model {
            Some(asked) => self.name_model(asked, &mut attributes),
            None => "chat".to_owned(),
        };
        attributes.extend(reason(failure));
        SpanWork {
            status: Some(SpanStatus::from_error(None)),
            ..SpanWork::client_work(name, attributes)
        }
    }

    /// Adds the provider and the model of `asked`, and returns the name of the span.
    fn name_model(&self, asked: &str, attributes: &mut Vec<SpanAttribute>) -> String {
        let (provider, model) = self.providers.split_model(asked);
        attributes.push(SpanAttribute::from_text("gen_ai.provider.name", provider));
        attributes.push(SpanAttribute::from_text("gen_ai.request.model", model));
        format!("chat {model}")
    }

    fn tool_work(&self, call: CallId, tool: &EventTool, is_interrupted: bool) -> SpanWork {
        let mut attributes = vec![
            SpanAttribute::from_text("gen_ai.operation.name", "execute_tool"),
            SpanAttribute::from_text("gen_ai.tool.name", tool.name.as_str()),
            SpanAttribute::from_text("gen_ai.tool.type", "function"),
            SpanAttribute::from_text("gen_ai.tool.call.id", call.to_string()),
        ];
        let bytes = tool.result_bytes.filter(|_| !is_interrupted);
        attributes.extend(
            bytes.map(|bytes| SpanAttribute::from_number("avocet.tool.result_bytes", bytes)),
        );
        if self.content {
            let mut arguments = Value::Object(tool.arguments.clone());
            self.redactor.redact_json(&mut arguments);
            let arguments = arguments.to_string();
            attributes.push(SpanAttribute::from_text("gen_ai.tool.call.arguments", arguments));
        }
        let error = match (is_interrupted, tool.ok) {
            (true, _) => Some("interrupted"),
            (false, Some(false)) => Some("tool_error"),
            (false, _) => None,
        };
        let status = error.map(|error| {
            attributes.push(SpanAttribute::from_text("error.type", error));
            SpanStatus::from_error(None)
        });
        SpanWork {
            status,
            ..SpanWork::internal_work(format!("execute_tool {}", tool.name), attributes)
        }
    }

    fn delivery_work(&self, delivery: &EventDelivery, end: EventKind) -> SpanWork {
        let channel = delivery.chat.channel.as_str();
        let mut attributes = vec![
            SpanAttribute::from_text("avocet.channel", channel),
            SpanAttribute::from_text("avocet.delivery.state", end.state()),
            SpanAttribute::from_text("avocet.delivery.source", delivery.source.as_str()),
            SpanAttribute::from_number("avocet.delivery.part", delivery.part),
            SpanAttribute::from_number("avocet.delivery.attempts", delivery.attempts),
            SpanAttribute::from_flag("avocet.delivery.repeat", delivery.repeat),
        ];
        attributes.extend(
            self.exported_text(Some(&delivery.text))
                .map(|text| SpanAttribute::from_text("avocet.delivery.text", text)),
        );
        let status = (end != EventKind::DeliverySent).then(|| {
            attributes.push(SpanAttribute::from_text("error.type", end.state()));
            SpanStatus::from_error(self.exported_text(delivery.error.as_deref()))
        });
        SpanWork { status, ..SpanWork::client_work(format!("deliver {channel}"), attributes) }
    }

    /// Returns a text without secrets; `None` if texts are not exported.
    fn exported_text(&self, text: Option<&str>) -> Option<String> {
        text.filter(|_| self.content).map(|text| self.redactor.redact(text).into_owned())
    }

    fn message_json(&self, role: &str, text: &str) -> Value {
        let text = cut_text(self.redactor.redact(text).into_owned());
        json!({ "role": role, "parts": [{ "type": "text", "content": text }] })
    }
}

/// Returns the reason why the last request of a turn failed; `None` if no model failed.
fn model_failure(end: &LogEvent) -> Option<&TurnFailure> {
    let Some(EventDetail::TurnInfo(info)) = &end.detail else { return None };
    info.failure.as_ref().filter(|failure| failure.model.is_some())
}

/// Returns the kind of failure and the provider's status.
fn reason(failure: &TurnFailure) -> impl Iterator<Item = SpanAttribute> {
    let status = failure
        .status
        .map(|status| SpanAttribute::from_number("http.response.status_code", status));
    [SpanAttribute::from_text("error.type", failure.code.as_str())].into_iter().chain(status)
}

/// Returns an attribute with the first [`MOST_MESSAGES`] messages as JSON.
fn messages_attribute(key: &'static str, mut messages: Vec<Value>) -> SpanAttribute {
    messages.truncate(MOST_MESSAGES);
    SpanAttribute::from_json(key, &Value::Array(messages))
}

fn token_attributes(EventUsage { usage, .. }: &EventUsage) -> Vec<SpanAttribute> {
    let mut tokens = vec![
        SpanAttribute::from_number("gen_ai.usage.input_tokens", usage.input),
        SpanAttribute::from_number("gen_ai.usage.output_tokens", usage.output),
    ];
    let cache = [
        ("gen_ai.usage.cache_read.input_tokens", usage.cached),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_written),
    ];
    let cache = cache.into_iter().filter(|(_, count)| *count > 0);
    tokens.extend(cache.map(|(key, count)| SpanAttribute::from_number(key, count)));
    tokens
}

#[cfg(test)]
#[path = "spans_tests.rs"]
mod tests;
