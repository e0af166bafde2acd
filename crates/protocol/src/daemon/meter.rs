//! Counts and times the work of the log's events, for `/metrics` and for OpenTelemetry.
//!
//! A meter reads each event once and keeps sums that only grow, from its start on. The log may
//! forget old events without making a counter smaller. The times of a turn come from its timeline
//! ([`trace`]), so that metrics and traces agree.
//!
//! One table of families names everything: OpenTelemetry gets the dotted names, and Prometheus the
//! same names in its own spelling (OpenTelemetry, "Prometheus and OpenMetrics Compatibility").

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::model::ProviderNames;
use crate::store::{
    EventDetail, EventFailedRequest, EventHistory, EventKind, EventUsage, LogEvent, Purpose,
};
use crate::turn::{TraceSpan, TraceWork, trace};

/// The boundaries of durations in seconds (OpenTelemetry, "Semantic conventions for generative AI
/// metrics").
const SECONDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// The boundaries of token counts, from the same page.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The way in which values are added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricForm {
    /// A sum that only grows.
    Counter,
    /// Counts of values below these boundaries.
    Histogram(&'static [f64]),
}

/// A metric with all its labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricFamily {
    /// The name for OpenTelemetry.
    pub name: &'static str,
    /// The unit in UCUM; `s`, `{...}` for a count of something, or `USD`.
    pub unit: &'static str,
    /// A sentence for people.
    pub help: &'static str,
    /// Decides which variant of [`MetricValue`] its series have.
    pub form: MetricForm,
}

const MESSAGES: MetricFamily =
    counter("avocet.messages", "{message}", "Accepted messages since the start.");
const TURNS: MetricFamily = counter("avocet.turns.ended", "{turn}", "Ended turns by state.");
const DELIVERIES: MetricFamily =
    counter("avocet.deliveries.ended", "{delivery}", "Ended deliveries by channel and state.");
const ANSWERS: MetricFamily =
    counter("avocet.model.answers", "{answer}", "Paid requests to the model.");
const FAILED_REQUESTS: MetricFamily = counter(
    "avocet.model.failed_requests",
    "{request}",
    "Requests to the model that failed and were made again.",
);
const MODEL_TOKENS: MetricFamily =
    counter("avocet.model.tokens", "{token}", "Tokens by model and kind.");
const COST: MetricFamily =
    counter("avocet.model.cost", "USD", "Cost of the tokens with a known price, in US dollars.");
const UNPRICED: MetricFamily =
    counter("avocet.model.unpriced_tokens", "{token}", "Tokens whose price is unknown.");
const TURN_TIME: MetricFamily =
    times("avocet.turn.duration", "Time from the first message to the end of the turn.");
const QUEUE_TIME: MetricFamily =
    times("avocet.queue.duration", "Time of a message in front of its lane.");
const MODEL_TIME: MetricFamily =
    times("gen_ai.client.operation.duration", "Time of a request to a model, with its retries.");
const TOOL_TIME: MetricFamily = times("avocet.tool.duration", "Time of a call of a tool.");
const TOKEN_USAGE: MetricFamily = MetricFamily {
    name: "gen_ai.client.token.usage",
    unit: "{token}",
    help: "Tokens of a request to a model.",
    form: MetricForm::Histogram(TOKENS),
};

/// Every metric that a meter keeps.
pub const METRIC_FAMILIES: [&MetricFamily; 13] = [
    &MESSAGES,
    &TURNS,
    &DELIVERIES,
    &ANSWERS,
    &FAILED_REQUESTS,
    &MODEL_TOKENS,
    &COST,
    &UNPRICED,
    &TURN_TIME,
    &QUEUE_TIME,
    &MODEL_TIME,
    &TOOL_TIME,
    &TOKEN_USAGE,
];

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> MetricFamily {
    MetricFamily { name, unit, help, form: MetricForm::Counter }
}

const fn times(name: &'static str, help: &'static str) -> MetricFamily {
    MetricFamily { name, unit: "s", help, form: MetricForm::Histogram(SECONDS) }
}

/// The attributes of a series, sorted as the family writes them.
pub type MetricLabels = Vec<(&'static str, String)>;

/// The values of one series.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// Of a counter.
    Sum(f64),
    /// Of a histogram, whose counts are not cumulative.
    Histogram {
        /// Values up to each boundary and above the one before, then those above the last.
        counts: Vec<u64>,
        /// In the unit of the family.
        sum: f64,
    },
}

/// Keeps the sums and histograms since the start of a follower.
#[derive(Debug, Default)]
pub struct EventMeter {
    providers: ProviderNames,
    series: BTreeMap<(&'static str, MetricLabels), MetricValue>,
}

impl EventMeter {
    /// The kinds of events that change a metric.
    pub const KINDS: &[EventKind] = &[
        EventKind::MessageQueued,
        EventKind::UsageRecorded,
        EventKind::RequestFailed,
        EventKind::TurnDone,
        EventKind::TurnCancelled,
        EventKind::TurnFailed,
        EventKind::DeliverySent,
        EventKind::DeliveryUnconfirmed,
        EventKind::DeliveryDead,
    ];

    /// Makes a meter without values.
    #[must_use]
    pub fn new(providers: ProviderNames) -> Self {
        Self { providers, series: BTreeMap::new() }
    }

    /// Returns `true` if [`Self::add_event`] needs the history of an event.
    #[must_use]
    pub fn is_timed(kind: EventKind) -> bool {
        matches!(kind, EventKind::TurnDone | EventKind::TurnCancelled | EventKind::TurnFailed)
    }

    /// Counts an event. The history of an ended turn gives its times; without it, the turn is only
    /// counted.
    pub fn add_event(&mut self, event: &LogEvent, history: Option<&EventHistory>) {
        match (event.kind, &event.detail) {
            (EventKind::MessageQueued, _) => self.count(&MESSAGES, Vec::new(), 1.0),
            (EventKind::UsageRecorded, Some(EventDetail::Usage(usage))) => self.add_usage(usage),
            (EventKind::RequestFailed, Some(EventDetail::FailedRequest(request))) => {
                self.add_failed_request(request);
            }
            (kind, _) if Self::is_timed(kind) => self.add_turn(event, history),
            (kind, Some(EventDetail::Delivery(delivery))) => {
                let channel = delivery.chat.channel.as_str().to_owned();
                let labels = vec![("channel", channel), ("state", kind.state().to_owned())];
                self.count(&DELIVERIES, labels, 1.0);
            }
            _ => {}
        }
    }

    /// Returns the series of a family, in the order of their labels.
    pub fn series(
        &self,
        family: &MetricFamily,
    ) -> impl Iterator<Item = (&MetricLabels, &MetricValue)> {
        let name = family.name;
        let series = self.series.iter().filter(move |((of, _), _)| *of == name);
        series.map(|((_, labels), value)| (labels, value))
    }

    fn add_usage(&mut self, usage: &EventUsage) {
        let model = || vec![("model", usage.model.clone())];
        let tokens = usage.usage;
        self.count(&ANSWERS, model(), 1.0);
        for (kind, count) in
            [("input", tokens.input), ("output", tokens.output), ("cached", tokens.cached)]
        {
            let labels = vec![("model", usage.model.clone()), ("kind", kind.to_owned())];
            self.count(&MODEL_TOKENS, labels, as_float(count));
        }
        match usage.cost {
            Some(cost) => self.count(&COST, model(), cost.in_dollars()),
            None => self.count(&UNPRICED, model(), as_float(tokens.input + tokens.output)),
        }
        if usage.purpose == Purpose::Answer {
            for (kind, count) in [("input", tokens.input), ("output", tokens.output)] {
                let mut labels = self.model_labels(&usage.model);
                labels.push(("gen_ai.token.type", kind.to_owned()));
                self.measure(&TOKEN_USAGE, labels, as_float(count));
            }
        }
    }

    fn add_failed_request(&mut self, request: &EventFailedRequest) {
        let mut labels = vec![("error.type", request.failure.code.as_str().to_owned())];
        labels.extend(request.failure.model.clone().map(|model| ("model", model)));
        self.count(&FAILED_REQUESTS, labels, 1.0);
    }

    fn add_turn(&mut self, end: &LogEvent, history: Option<&EventHistory>) {
        let state = vec![("state", end.kind.state().to_owned())];
        self.count(&TURNS, state.clone(), 1.0);
        let Some(history) = history else { return };
        let start = history.events.iter().map(|event| event.at).min().unwrap_or(end.at);
        self.measure(&TURN_TIME, state, seconds(start, end.at));
        for span in trace(history.events.clone()) {
            self.add_piece(span, end.kind);
        }
    }

    fn add_piece(&mut self, TraceSpan { start, end, work, .. }: TraceSpan, turn: EventKind) {
        let Some(end) = end else { return };
        let time = seconds(start, end);
        match work {
            TraceWork::Queued => self.measure(&QUEUE_TIME, Vec::new(), time),
            TraceWork::Model { answer, usage } => {
                let answers = usage.iter().rev().find(|one| one.purpose == Purpose::Answer);
                let mut labels = match answers.or(usage.last()) {
                    Some(used) => self.model_labels(&used.model),
                    None => vec![("gen_ai.operation.name", "chat".to_owned())],
                };
                if answer.is_none() && turn != EventKind::TurnCancelled {
                    labels.push(("error.type", "no_answer".to_owned()));
                }
                self.measure(&MODEL_TIME, labels, time);
            }
            TraceWork::Tool { tool, .. } => {
                let mut labels = vec![("gen_ai.tool.name", tool.name)];
                if tool.ok == Some(false) {
                    labels.push(("error.type", "tool_error".to_owned()));
                }
                self.measure(&TOOL_TIME, labels, time);
            }
            _ => {}
        }
    }

    /// Returns the labels of a request to `PROVIDER/MODEL`.
    fn model_labels(&self, model: &str) -> MetricLabels {
        let (provider, model) = self.providers.split_model(model);
        vec![
            ("gen_ai.operation.name", "chat".to_owned()),
            ("gen_ai.provider.name", provider.to_owned()),
            ("gen_ai.request.model", model.to_owned()),
        ]
    }

    fn count(&mut self, family: &MetricFamily, labels: MetricLabels, more: f64) {
        let series = self.series.entry((family.name, labels)).or_insert(MetricValue::Sum(0.0));
        if let MetricValue::Sum(sum) = series {
            *sum += more;
        }
    }

    fn measure(&mut self, family: &MetricFamily, labels: MetricLabels, value: f64) {
        let MetricForm::Histogram(bounds) = family.form else { return };
        let empty = || MetricValue::Histogram { counts: vec![0; bounds.len() + 1], sum: 0.0 };
        let series = self.series.entry((family.name, labels)).or_insert_with(empty);
        if let MetricValue::Histogram { counts, sum } = series {
            let place = bounds.partition_point(|bound| *bound < value);
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
            *sum += value;
        }
    }
}

/// Returns the seconds between two times; 0 if the clock was set back.
fn seconds(start: Timestamp, end: Timestamp) -> f64 {
    let milliseconds = u32::try_from(end.0.saturating_sub(start.0).max(0)).unwrap_or(u32::MAX);
    f64::from(milliseconds) / 1000.0
}

/// Converts a count; beyond 2^53 it loses its last digits.
#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
