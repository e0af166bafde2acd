//! `avocet trace`: the way of a message, a turn or a delivery as a timeline.

use std::time::Duration;

use avocet_gateway::Trace;
use avocet_protocol::access::OwnerRule;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::model::{Spent, thousands};
use avocet_protocol::store::{
    EventAnswer, EventDelivery, EventFailedRequest, EventKind, EventMessage, EventTool, EventTurn,
    EventUsage, Total,
};
use avocet_protocol::turn::{TraceSpan, TraceSubject, TraceWork};
use avocet_text::{PlainTable, bar};
use clap::Args;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::cli::events::answer_from_log;
use crate::cli::reach::open_log_read_only;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{format_moment, print_result};

/// The length of the whole timeline, in characters.
const WIDTH: usize = 24;
/// The most characters of a quoted text.
const QUOTED: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// Id of the message, its turn or one of its deliveries, as other commands print it: m12, t4, o9.
    id: TraceSubject,
    /// Print JSON, with whole texts and arguments.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, args: TraceArgs) -> Result<Exit, Failure> {
    let TraceArgs { id, json } = args;
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let Some(log) = open_log_read_only(context, &configuration)? else {
        return Err(Failure::new(Exit::Failed, format!("there is no {id}")));
    };
    let spans: Vec<TraceSpan> = answer_from_log::<Trace>(&log, &Trace { message: id }).await?;
    let now = context.clock.now();
    print_result(json, &spans, || timeline_text(&spans, now, &system_zone()))
}

/// Formats the timeline: a head, and a row with a bar for each span. An open span has its age.
fn timeline_text(spans: &[TraceSpan], now: Timestamp, zone: &TimeZone) -> String {
    let Some(first) = spans.first() else { return String::new() };
    let begin = first.start;
    let ends = spans.iter().map(|span| span.end.unwrap_or(span.start));
    let whole = begin.until(ends.max().unwrap_or(begin));
    let mut table = PlainTable::with_head(&["at", "time", "", "", ""]).align_right(0..2);
    for span in spans {
        let lasts = span.end.map(|end| span.start.until(end));
        let time = match (lasts, has_length(&span.work)) {
            (_, false) => String::new(),
            (Some(lasts), true) => format_seconds(lasts),
            (None, true) => format!("open {}", format_seconds(span.start.until(now))),
        };
        let drawn = draw_bar(begin.until(span.start), lasts.unwrap_or_default(), whole);
        let [name, text] = describe_span(span);
        table.row([format_seconds(begin.until(span.start)), time, drawn, name, text]);
    }
    format!("{}\n{table}{}", format_moment(begin, zone), summary_text(spans, whole))
}

fn has_length(work: &TraceWork) -> bool {
    !matches!(work, TraceWork::Received { .. } | TraceWork::Ended { .. })
}

/// Draws a span within the whole time, exact to an eighth of a character.
fn draw_bar(start: Duration, lasts: Duration, whole: Duration) -> String {
    let most = u128::try_from(WIDTH * 8).unwrap_or_default();
    let eighths = |time: Duration| {
        let part = time.as_micros() * most / whole.as_micros().max(1);
        usize::try_from(part).unwrap_or_default().min(WIDTH * 8)
    };
    let blanks = eighths(start) / 8;
    let length =
        (eighths(start + lasts) - blanks * 8).clamp(1, (WIDTH - blanks.min(WIDTH - 1)) * 8);
    let blanks = blanks.min(WIDTH - 1);
    let drawn = format!("{}{}", " ".repeat(blanks), bar(length));
    format!("{drawn}{}", " ".repeat(WIDTH.saturating_sub(drawn.chars().count())))
}

/// Returns the name of a span, with its turn, and the text beside it.
fn describe_span(span: &TraceSpan) -> [String; 2] {
    let (name, text) = match &span.work {
        TraceWork::Received { message } => ("received", received_text(message)),
        TraceWork::Queued => ("queued", String::new()),
        TraceWork::Model { answer, usage } => ("model", answered_text(answer.as_ref(), usage)),
        TraceWork::FailedRequest { request } => ("failed request", failure_text(request)),
        TraceWork::Tool { call, tool } => ("tool", format!("{} ({call})", called_text(tool))),
        TraceWork::Paused { waits_for } => {
            let kinds: Vec<_> = waits_for.iter().map(|kind| kind.as_str()).collect();
            ("waiting", format!("for {}", kinds.join(", ")))
        }
        TraceWork::Interrupted => ("interrupted", "the daemon ended or stopped".to_owned()),
        TraceWork::Delivery { delivery, state } => ("delivery", delivered_text(delivery, *state)),
        TraceWork::Ended { state, turn_info } => {
            ("turn ended", ended_text(*state, turn_info.as_ref()))
        }
    };
    let turn = span.turn.map(|turn| format!(" {turn}")).unwrap_or_default();
    [format!("{name}{turn}"), text]
}

fn received_text(message: &EventMessage) -> String {
    let from = message.sender_name.as_deref().unwrap_or(message.sender.as_str());
    format!("from {from} in {}: {}", message.chat, quote_text(&message.text))
}

fn answered_text(answer: Option<&EventAnswer>, usage: &[EventUsage]) -> String {
    let answer = match answer {
        Some(answer) if answer.calls.is_empty() => quote_text(&answer.text),
        Some(answer) => format!("calls {}", answer.calls.join(", ")),
        None => "no answer".to_owned(),
    };
    usage.iter().map(cost_text).chain([answer]).collect::<Vec<_>>().join("; ")
}

/// Returns the model of a failed request and the reason: `openai/gpt-5, rate_limited (429)`.
fn failure_text(EventFailedRequest { failure, .. }: &EventFailedRequest) -> String {
    let status = failure.status.map(|status| format!(" ({status})")).unwrap_or_default();
    let model = failure.model.iter().map(|model| format!("{model}, "));
    model.chain([format!("{}{status}", failure.code.as_str())]).collect()
}

fn called_text(tool: &EventTool) -> String {
    let result = match (tool.ok, tool.result_bytes) {
        (Some(true), Some(bytes)) => format!("{} B", thousands(bytes)),
        (Some(false), Some(bytes)) => format!("failed, {} B", thousands(bytes)),
        _ => "no result".to_owned(),
    };
    let refusal = tool.refusal.as_deref().and_then(OwnerRule::find_mention);
    let result = refusal.map_or(result.clone(), |rule| format!("{result}, because {rule}"));
    format!("{} {} -> {result}", tool.name, cut_text(&json!(tool.arguments).to_string()))
}

fn delivered_text(delivery: &EventDelivery, state: EventKind) -> String {
    let mut text = format!("{} to {}, {}", delivery.id, delivery.chat, kind_word(state));
    if let Some(id) = &delivery.platform_id {
        text.push_str(&format!(" as {id}"));
    }
    if delivery.attempts > 1 {
        text.push_str(&format!(", {} sends", delivery.attempts));
    }
    if delivery.source == "prompt"
        && let Some(rule) = OwnerRule::find_mention(&delivery.text)
    {
        text.push_str(&format!(", because {rule}"));
    }
    if let Some(error) = &delivery.error {
        text.push_str(&format!(": {}", cut_text(error)));
    }
    text
}

fn ended_text(state: EventKind, turn: Option<&EventTurn>) -> String {
    let mut text = kind_word(state).to_owned();
    if let Some(label) = turn.and_then(|turn| turn.label.as_deref()) {
        text.push_str(&format!(" ({label})"));
    }
    if let Some(notice) = turn.and_then(|turn| turn.notice.as_deref()) {
        text.push_str(&format!(": {}", cut_text(notice)));
    }
    text
}

/// Returns the state in the word of a kind.
fn kind_word(kind: EventKind) -> &'static str {
    kind.as_str().split_once('.').map_or("", |(_, state)| state)
}

fn cost_text(EventUsage { model, usage, cost, .. }: &EventUsage) -> String {
    let tokens = format!("{} + {} tokens", thousands(usage.input), thousands(usage.output));
    match cost {
        Some(cost) => format!("{model}, {tokens}, ${:.4}", cost.in_dollars()),
        None => format!("{model}, {tokens}, price unknown"),
    }
}

/// Adds up the timeline in one line.
fn summary_text(spans: &[TraceSpan], whole: Duration) -> String {
    let (mut models, mut tools, mut total) = (0, 0, Total::default());
    for span in spans {
        match &span.work {
            TraceWork::Model { usage, .. } => {
                models += 1;
                for EventUsage { model, usage, cost, .. } in usage {
                    let spent = Spent { model: model.clone(), usage: *usage, cost: *cost };
                    total = total + Total::from(&spent);
                }
            }
            TraceWork::Tool { .. } => tools += 1,
            _ => {}
        }
    }
    let mut text =
        format!("{} in all; model requests: {models}, calls: {tools}", format_seconds(whole));
    text.push_str(&format!(", tokens: {}", thousands(total.usage.total())));
    if models > 0 {
        text.push_str(&format!(", {}", total.price()));
    }
    text.push('\n');
    text
}

/// Formats a time span: `0.004 s`, `12.3 s`, `2 min 5 s`, `3 h 12 min`.
fn format_seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.3} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn quote_text(text: &str) -> String {
    format!("“{}”", cut_text(text))
}

/// Puts a text on one line and cuts it.
fn cut_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= QUOTED {
        return line;
    }
    let begin: String = line.chars().take(QUOTED).collect();
    format!("{begin}…")
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
