//! The table of failures: each provider must treat each failure alike. One row is a failure, the
//! class of its outcome, the number of requests, and a part of the shown text.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use avocet_protocol::model::{Delta, Model, ModelError, ModelReply};
use avocet_testkit::http::Piece;
use avocet_testkit::{ManualClock, ModelAnswer, Scripted, ScriptedModel};
use futures_util::future::{Either, select};

use super::server::WireModel;
use super::{
    AnswerBit, ModelSetup, ProviderWire, StreamEnd, WireAbility, has_ability, refused_answer,
    streamed_answer, wire_head,
};
use crate::testing::{SECOND, sample_request};
use crate::{CoolDowns, ModelChain};

/// The outcome of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureClass {
    /// The answer is usable all the same.
    Answer,
    /// The request is made again.
    Retry,
    /// The request is made again with less, by the agent.
    Shrink,
    /// The request fails at once.
    GiveUp,
}

/// The place of a failure.
enum FailureSource {
    /// The server gives this answer to each request.
    Answer(ModelAnswer),
    /// The same, and then nothing until a timeout.
    Silence(ModelAnswer),
    /// The base URL leads to no server. The port of a working server replaces `PORT`.
    Url(&'static str),
}

/// A failure and its expected outcome.
struct FailureRow {
    name: &'static str,
    failure: FailureSource,
    class: FailureClass,
    /// Requests of a model without a fallback, and of one with a fallback.
    requests: (usize, usize),
    /// A part of the text.
    says: &'static str,
}

const SO: &[AnswerBit<'_>] = &[AnswerBit::Text("so ")];
/// Requests for a temporary error: three retries, or one if there is a fallback.
const RETRIED: (usize, usize) = (4, 2);
/// A name that is too long for a lookup.
const NO_NAME: &str = "http://a123456789a123456789a123456789a123456789a123456789a123456789a123";

fn status_failure(status: u16, headers: &[(&'static str, &str)], body: &str) -> FailureSource {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    FailureSource::Answer(ModelAnswer::Status(status, headers, body.to_owned()))
}

fn failure_row(
    name: &'static str,
    failure: FailureSource,
    class: FailureClass,
    requests: (usize, usize),
    says: &'static str,
) -> FailureRow {
    FailureRow { name, failure, class, requests, says }
}

/// Refusals in the provider's own format.
fn refusal_rows<W: ProviderWire>() -> Vec<FailureRow> {
    use FailureClass::{GiveUp, Retry, Shrink};
    let length = "this model's maximum context length is 8192 tokens";
    let table = [
        ("400", 400, "not like this", GiveUp, (1, 1), "400: not like this"),
        ("401", 401, "not like this", GiveUp, (1, 1), "check api_key"),
        ("402", 402, "pay first", GiveUp, (1, 1), "402: pay first"),
        ("403", 403, "not you", GiveUp, (1, 1), "check api_key"),
        ("404", 404, "no such model", GiveUp, (1, 1), "404: no such model"),
        ("408", 408, "too slow", Retry, RETRIED, "408: too slow"),
        ("409", 409, "conflict", Retry, RETRIED, "409: conflict"),
        ("413", 413, "too large", Shrink, (1, 1), "start a new one with /new"),
        ("422", 422, "not like this", GiveUp, (1, 1), "422: not like this"),
        ("425", 425, "too early", Retry, RETRIED, "425: too early"),
        ("429", 429, "slow down", Retry, RETRIED, "429: slow down); try again later"),
        ("429, a delay in the text", 429, "try again in 20s", Retry, (4, 1), "in 20 seconds"),
        ("500", 500, "oops", Retry, RETRIED, "500: oops"),
        ("503", 503, "loading", Retry, RETRIED, "503: loading"),
        ("504", 504, "late", Retry, RETRIED, "504: late"),
        ("529", 529, "overloaded", Retry, RETRIED, "529: overloaded"),
        ("400, context", 400, length, Shrink, (1, 1), "8192 tokens"),
        ("500, context", 500, "exceeds the context size", Shrink, (1, 1), "too long for"),
        ("500, an HTML message", 500, "bad: <html><h1>Oops</h1>", Retry, RETRIED, "web page: Oops"),
    ];
    let rows = table.map(|(name, status, says, class, requests, shown)| {
        failure_row(
            name,
            FailureSource::Answer(refused_answer::<W>(status, says)),
            class,
            requests,
            shown,
        )
    });
    rows.into()
}

/// Refusals in other formats: of proxies, and with headers.
fn other_refusals() -> Vec<FailureRow> {
    use FailureClass::{GiveUp, Retry};
    let json = ("content-type", "application/json");
    let html = ("content-type", "text/html");
    let page = "<html>\n<head><title>Bad Gateway</title></head><body>data: x</body></html>";
    let events = "event: error\ndata: {\"error\":{\"message\":\"oops\"}}\n\n";
    let quota = r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#;
    let filter = r#"{"error":{"message":"flagged","code":"content_filter"}}"#;
    let dates = [
        ("date", "Wed, 21 Oct 2026 07:00:00 GMT"),
        ("retry-after", "Wed, 21 Oct 2026 07:05:00 GMT"),
    ];
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "long ".repeat(100_000));
    vec![
        failure_row(
            "429, 2 s",
            status_failure(429, &[("retry-after", "2")], ""),
            Retry,
            RETRIED,
            "in 2 seconds",
        ),
        failure_row(
            "429, 1 h",
            status_failure(429, &[("retry-after", "3600")], ""),
            Retry,
            (1, 1),
            "about an hour",
        ),
        failure_row(
            "429, a date",
            status_failure(429, &dates, ""),
            Retry,
            (1, 1),
            "in about 5 minutes",
        ),
        failure_row(
            "429, quota",
            status_failure(429, &[json], quota),
            GiveUp,
            (1, 1),
            "429: no credit",
        ),
        failure_row(
            "400, filter",
            status_failure(400, &[json], filter),
            GiveUp,
            (1, 1),
            "400: flagged",
        ),
        failure_row(
            "502, a page",
            status_failure(502, &[html], page),
            Retry,
            RETRIED,
            "web page: Bad Gateway",
        ),
        failure_row(
            "520, a page",
            status_failure(520, &[html], page),
            Retry,
            RETRIED,
            "web page: Bad Gateway",
        ),
        failure_row(
            "403, a page",
            status_failure(403, &[html], page),
            GiveUp,
            (1, 1),
            "web page: Bad Gateway",
        ),
        failure_row("500, no body", status_failure(500, &[], ""), Retry, RETRIED, "(500)"),
        failure_row("500, events", status_failure(500, &[], events), Retry, RETRIED, "oops"),
        failure_row(
            "301",
            status_failure(301, &[("location", "/x")], page),
            GiveUp,
            (1, 1),
            "correct base_url",
        ),
        failure_row(
            "400, long",
            status_failure(400, &[json], &long),
            GiveUp,
            (1, 1),
            "400: long long",
        ),
        failure_row(
            "200, a page",
            status_failure(200, &[html], page),
            Retry,
            RETRIED,
            "it is a web page",
        ),
        failure_row(
            "no server",
            FailureSource::Url("http://127.0.0.1:1"),
            Retry,
            (0, 0),
            "cannot be reached",
        ),
        failure_row("no name", FailureSource::Url(NO_NAME), Retry, (0, 0), "cannot be reached"),
        failure_row(
            "no TLS",
            FailureSource::Url("https://127.0.0.1:PORT"),
            Retry,
            (0, 0),
            "cannot be reached",
        ),
    ]
}

/// Failures of an answer that has begun.
fn begun_rows<W: ProviderWire>() -> Vec<FailureRow> {
    use FailureClass::{Answer, GiveUp, Retry, Shrink};
    let raw = |pieces: &[Piece]| {
        FailureSource::Answer(ModelAnswer::Raw([&[wire_head::<W>()][..], pieces].concat()))
    };
    let so = Piece::chunk(W::answer_events(SO, StreamEnd::Lost).concat().as_bytes());
    let events = |end| FailureSource::Answer(streamed_answer::<W>(SO, end));
    let hang = |pieces: Vec<Piece>| FailureSource::Silence(ModelAnswer::Raw(pieces));
    let plain = Piece::head(200, &[("content-type", "text/plain")]);
    let whole = Piece::chunk(W::answer_events(SO, StreamEnd::Done).concat().as_bytes());
    let unread = "an answer that cannot be read";
    let late = "did not answer in time";
    let mut rows = vec![
        failure_row("200, no body", raw(&[Piece::end()]), Retry, RETRIED, unread),
        failure_row("closed at once", raw(&[Piece::Close]), Retry, RETRIED, unread),
        failure_row("reset at once", raw(&[Piece::Reset]), Retry, RETRIED, unread),
        failure_row("closed in the text", raw(&[so.clone(), Piece::Close]), Retry, RETRIED, unread),
        failure_row("reset in the text", raw(&[so.clone(), Piece::Reset]), Retry, RETRIED, unread),
        failure_row("no end", events(StreamEnd::Lost), Retry, RETRIED, unread),
        failure_row(
            "bad JSON",
            raw(&[Piece::chunk(b"data: {\n\n{\n"), Piece::end()]),
            Retry,
            RETRIED,
            unread,
        ),
        failure_row(
            "no connection",
            FailureSource::Answer(ModelAnswer::Raw(vec![Piece::Close])),
            Retry,
            RETRIED,
            unread,
        ),
        failure_row("silence at first", hang(vec![]), Retry, (4, 1), late),
        failure_row("silence in the text", hang(vec![wire_head::<W>(), so]), Retry, (4, 1), late),
        failure_row(
            "500 in the text",
            events(StreamEnd::Failed(500, "oops")),
            Retry,
            RETRIED,
            "oops",
        ),
        failure_row(
            "text/plain",
            FailureSource::Answer(ModelAnswer::Raw(vec![plain, whole, Piece::end()])),
            Answer,
            (1, 1),
            "so ",
        ),
        failure_row("output limit", events(StreamEnd::Full), Answer, (1, 1), "so "),
    ];
    if has_ability::<W>(WireAbility::Filters) {
        let empty = FailureSource::Answer(streamed_answer::<W>(&[], StreamEnd::Filtered));
        rows.push(failure_row("filter", empty, GiveUp, (1, 1), "refuses to answer"));
        rows.push(failure_row(
            "filter in the text",
            events(StreamEnd::Filtered),
            Answer,
            (1, 1),
            "so ",
        ));
    }
    if has_ability::<W>(WireAbility::LateStatus) {
        let long = StreamEnd::Failed(413, "too large");
        rows.push(failure_row("413 in the text", events(long), Shrink, (1, 1), "too large"));
        let busy = StreamEnd::Failed(429, "slow down");
        rows.push(failure_row("429 in the text", events(busy), Retry, RETRIED, "slow down"));
    }
    rows
}

/// Checks every row, alone and with a fallback, and prints the sum.
pub(super) async fn complete_treats_each_failure_by_the_table<W: ProviderWire>() {
    let rows = [refusal_rows::<W>(), other_refusals(), begun_rows::<W>()];
    let rows: Vec<FailureRow> = rows.into_iter().flatten().collect();
    let mut wrong = Vec::new();
    for row in &rows {
        wrong.extend(check_alone::<W>(row).await.err());
        wrong.extend(with_fallback::<W>(row).await.err());
    }
    let (all, name) = (rows.len(), W::NAME);
    println!("failures of {name}: {} of {all} as in the table", all - wrong.len().min(all));
    assert!(all >= 44, "{all}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A model that fails as in a row.
struct FailingModel<W> {
    served: WireModel<W>,
    model: Arc<dyn Model>,
    clock: Arc<ManualClock>,
    is_silent: bool,
}

impl<W: ProviderWire> FailingModel<W> {
    async fn serve_row(row: &FailureRow) -> Self {
        let answer = match &row.failure {
            FailureSource::Answer(answer) | FailureSource::Silence(answer) => answer.clone(),
            FailureSource::Url(_) => ModelAnswer::says("unused"),
        };
        let is_silent = matches!(row.failure, FailureSource::Silence(_));
        let answer = match answer {
            ModelAnswer::Raw(pieces) if is_silent => {
                ModelAnswer::Raw([pieces, vec![Piece::Hang]].concat())
            }
            answer => answer,
        };
        let setup = ModelSetup { first_token_seconds: 60, ..ModelSetup::from_wire::<W>() };
        let served = WireModel::<W>::start(vec![answer], setup.clone()).await;
        let (mut model, clock) = (served.model.clone(), served.clock.clone());
        if let FailureSource::Url(url) = row.failure {
            let (_, port) = served.server.base_url.rsplit_once(':').unwrap();
            let port = port.split('/').next().unwrap();
            model = W::create_model(url.replace("PORT", port), &setup, clock.clone());
            // A server that reports facts is asked once.
            let asking = pin!(model.facts());
            wait_while_time_passes(asking, &clock, 45 * SECOND).await;
        }
        Self { served, model, clock, is_silent }
    }

    /// Asks a model while time passes. Returns the reply, and the number of requests.
    async fn ask_while_time_passes(
        &self,
        model: &dyn Model,
    ) -> (Result<ModelReply, ModelError>, usize) {
        let lost = AtomicUsize::new(0);
        let deltas = |delta: Delta<'_>| {
            if matches!(delta, Delta::Lost(_)) {
                lost.fetch_add(1, Ordering::Relaxed);
            }
        };
        let longest = if self.is_silent { 60 * SECOND } else { 45 * SECOND };
        let request = sample_request();
        let asking = pin!(model.complete(&request, &deltas));
        let reply = wait_while_time_passes(asking, &self.clock, longest).await;
        // A silent attempt may end before its request has arrived, and always counts as lost.
        let requests = if self.is_silent {
            lost.load(Ordering::Relaxed)
        } else {
            self.served.server.accepted_requests().len()
        };
        (reply, requests)
    }
}

/// Waits for a future, and lets each sleep up to this length pass.
async fn wait_while_time_passes<T>(
    asking: impl Future<Output = T> + Unpin,
    clock: &ManualClock,
    most: Duration,
) -> T {
    let passing = pin!(async {
        loop {
            clock.sleeper_within(Duration::ZERO..=most).await;
            clock.advance(most);
        }
    });
    match select(asking, passing).await {
        Either::Left((asked, _)) => asked,
        Either::Right(((), _)) => unreachable!("time has no end"),
    }
}

async fn check_alone<W: ProviderWire>(row: &FailureRow) -> Result<(), String> {
    let failing = FailingModel::<W>::serve_row(row).await;
    let (reply, requests) = failing.ask_while_time_passes(failing.model.as_ref()).await;
    let (class, text) = match &reply {
        Ok(reply) => (FailureClass::Answer, reply.text.clone()),
        Err(error) => (class_of(error), error.to_string()),
    };
    let is_clean = reply.is_ok() || (text.contains(W::NAME) && text.len() < 500);
    let has_markup = ["<html", "<h1", "data:", "{\""].iter().any(|raw| text.contains(raw));
    let is_right = class == row.class && requests == row.requests.0 && text.contains(row.says);
    if is_right && is_clean && !has_markup {
        return Ok(());
    }
    Err(format!("{} {}: {class:?}, {requests} requests: {text}", W::NAME, row.name))
}

async fn with_fallback<W: ProviderWire>(row: &FailureRow) -> Result<(), String> {
    let failing = FailingModel::<W>::serve_row(row).await;
    let fallback = Arc::new(ScriptedModel::new(vec![Scripted::says("fallback")]));
    let cool_downs = Arc::new(CoolDowns::new(failing.clock.clone()));
    let chain = ModelChain::new(failing.model.clone(), vec![fallback], cool_downs);
    let (reply, requests) = failing.ask_while_time_passes(&chain).await;
    let text = reply.map_or_else(|error| error.to_string(), |reply| reply.text);
    let expected = if row.class == FailureClass::Answer { row.says } else { "fallback" };
    if text == expected && requests == row.requests.1 {
        return Ok(());
    }
    Err(format!("{} {} with a fallback: {requests} requests: {text}", W::NAME, row.name))
}

fn class_of(error: &ModelError) -> FailureClass {
    match error {
        ModelError::TooLong { .. } => FailureClass::Shrink,
        error if error.is_transient() => FailureClass::Retry,
        _ => FailureClass::GiveUp,
    }
}
