use avocet_protocol::store::EventHistory;
use avocet_testkit::ManualClock;
use avocet_testkit::http::{Piece, whole};
use avocet_testkit::otlp::{OtlpFake, attribute};
use avocet_text::Secret;

use super::*;
use crate::testing::{ANSWERED, ASKED, LogInMemory, make_history};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A log, an exporter and a collector.
struct World {
    log: Arc<LogInMemory>,
    clock: Arc<ManualClock>,
    collector: OtlpFake,
    exporter: Arc<TelemetryExporter>,
    group: Group,
}

impl World {
    /// Makes an exporter with the position of an earlier start. The collector first gives these
    /// answers.
    async fn new(answers: Vec<Vec<Piece>>) -> Self {
        let collector = OtlpFake::answering(answers).await;
        let (log, clock) = (Arc::new(LogInMemory::default()), Arc::new(ManualClock::default()));
        log.start_from(0);
        let exporter = exporter(&collector, &log, &clock);
        Self { log, clock, collector, exporter, group: Group::new("test") }
    }

    /// Starts the exporter after these turns.
    async fn after(turns: i64, answers: Vec<Vec<Piece>>) -> Self {
        let world = Self::new(answers).await;
        (1..=turns).for_each(|number| world.log.add_history(turn(number)));
        world.exporter.start(&world.group);
        world
    }

    fn failure(&self) -> String {
        self.exporter
            .export_status()
            .exchanges
            .failure
            .map(|failure| failure.reason)
            .unwrap_or_default()
    }

    /// Returns the turns of the requests.
    fn turns(&self) -> Vec<Vec<String>> {
        let of_request = |spans: Vec<serde_json::Value>| {
            let turns = spans.iter().map(|span| attribute(span, "avocet.turn.id"));
            turns.filter_map(|id| id.as_str().map(str::to_owned)).collect()
        };
        self.collector.requests().into_iter().map(|request| of_request(request.spans)).collect()
    }
}

fn exporter(
    collector: &OtlpFake,
    log: &Arc<LogInMemory>,
    clock: &Arc<ManualClock>,
) -> Arc<TelemetryExporter> {
    let key = ("x-api-key".to_owned(), Secret::new("the-key-of-the-collector".to_owned()));
    let config = TelemetryConfig {
        endpoint: Some(collector.endpoint()),
        headers: [key].into(),
        content: false,
    };
    let parts = ExporterParts {
        log: log.clone(),
        redactor: Arc::new(Redactor::default()),
        clock: clock.clone(),
        providers: ProviderNames::default(),
    };
    Arc::new(TelemetryExporter::new(&config, parts).unwrap())
}

fn turn(number: i64) -> EventHistory {
    make_history(number, "0 message.queued, 1 turn.running, 3 model.answered, 4 turn.done")
}

fn refusal(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Piece> {
    whole(status, &[&[JSON], headers].concat(), body)
}

#[tokio::test]
async fn exporter_sends_sums_and_histograms_beside_the_traces() {
    let world = World::after(2, Vec::new()).await;
    let metrics = soon_metrics(&world, 1).await;
    let names: Vec<_> = metrics.iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "avocet.turns.ended",
            "avocet.turn.duration",
            "avocet.queue.duration",
            "gen_ai.client.operation.duration"
        ]
    );
    let turns = &metrics[0]["sum"];
    assert_eq!(
        (&turns["isMonotonic"], &turns["dataPoints"][0]["asDouble"]),
        (&true.into(), &2.0.into())
    );
    let point = &metrics[1]["histogram"]["dataPoints"][0];
    assert_eq!((&point["count"], &point["sum"]), (&"2".into(), &8.0.into()));
    // 4 s lie between 2.56 s and 5.12 s.
    assert_eq!(
        (&point["explicitBounds"][9], &point["bucketCounts"][9]),
        (&5.12.into(), &"2".into())
    );
    world.log.wait_until_confirmed(2).await;
    world.log.add_history(turn(3));
    world.clock.sleeper_within(..=COLLECT).await;
    world.clock.advance(COLLECT);
    let metrics = soon_metrics(&world, 2).await;
    assert_eq!(metrics[0]["sum"]["dataPoints"][0]["asDouble"], 3.0, "sums only grow");
}

#[tokio::test]
async fn exporter_of_a_collector_without_metrics_sends_traces_alone() {
    let world = World::new(Vec::new()).await;
    world.collector.refuse_metrics();
    world.log.add_history(turn(1));
    world.exporter.start(&world.group);
    world.log.wait_until_confirmed(1).await;
    world.log.add_history(turn(2));
    world.clock.sleeper_within(..=COLLECT).await;
    world.clock.advance(COLLECT);
    world.log.wait_until_confirmed(2).await;
    assert_eq!(world.turns(), [vec!["1"], vec!["2"]]);
    assert_eq!((world.failure(), world.collector.metrics()), (String::new(), Vec::new()));
}

/// Waits for this many requests with metrics, and returns the metrics of the last one.
async fn soon_metrics(world: &World, count: usize) -> Vec<serde_json::Value> {
    world.collector.received_metrics(count).await;
    world.collector.metrics().pop().unwrap()
}

#[tokio::test]
async fn exporter_sends_each_turn_once_and_confirms_it() {
    let world = World::after(2, Vec::new()).await;
    world.log.wait_until_confirmed(2).await;
    world.log.add_history(turn(3));
    // Events of the same second are sent together.
    world.clock.sleeper_within(..=COLLECT).await;
    world.log.add_history(turn(4));
    world.clock.advance(COLLECT);
    world.log.wait_until_confirmed(4).await;
    assert_eq!(world.turns(), [vec!["1", "2"], vec!["3", "4"]]);
    assert_eq!(world.collector.refusals(), [""; 0]);
    let request = &world.collector.requests()[0];
    assert_eq!(request.api_key.as_deref(), Some("the-key-of-the-collector"));
    assert_eq!(request.resource["service.name"], "avocet");
    assert_eq!(request.resource["service.instance.id"], "log1");
    assert!(!request.body.contains(ASKED) && !request.body.contains(ANSWERED));
    let TelemetryStatus { exchanges, behind } = world.exporter.export_status();
    assert_eq!((exchanges.success, exchanges.failure), (Some(world.clock.now()), None));
    assert_eq!(behind, 0);
}

#[tokio::test]
async fn exporter_repeats_a_request_that_may_succeed_later_and_loses_nothing() {
    let later = [429, 502, 503, 504].map(|status| refusal(status, &[("retry-after", "7")], "{}"));
    let answers: Vec<_> =
        later.into_iter().chain([vec![Piece::Close], vec![Piece::Reset]]).collect();
    let world = World::after(2, answers).await;
    for (number, says) in ["429", "502", "503", "504"].into_iter().enumerate() {
        let asked = Duration::from_secs(7);
        world.clock.sleeper_within(asked..=asked).await;
        assert_eq!(
            (world.log.confirmed_position(), world.exporter.export_status().behind),
            (0, 2),
            "{number}"
        );
        assert!(world.failure().contains(says), "{}", world.failure());
        world.clock.advance(asked);
    }
    // Without a wait that the collector asks for, the waits double.
    for longest in [2, 4] {
        let longest = Duration::from_secs(longest);
        world.clock.sleeper_within(longest / 2..=longest).await;
        assert_eq!(world.log.confirmed_position(), 0);
        assert!(world.failure().contains("connection broke"), "{}", world.failure());
        world.clock.advance(longest);
    }
    world.log.wait_until_confirmed(2).await;
    let bodies: Vec<_> =
        world.collector.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 7);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "a repeated request has the same ids");
    assert_eq!(world.exporter.export_status().exchanges.failures_in_a_row(), 0);
}

#[tokio::test]
async fn exporter_skips_a_batch_that_the_collector_refuses() {
    for status in [400, 401, 413, 500, 302] {
        let body = r#"{"code":3,"message":"bad spans for the-key-of-the-collector"}"#;
        let world = World::after(1, vec![refusal(status, &[], body)]).await;
        world.log.wait_until_confirmed(1).await;
        let failure = world.failure();
        let expected = format!("the collector answered {status}: bad spans for [secret]");
        assert_eq!(failure, expected);
        assert_eq!(world.collector.requests().len(), 1);
    }
}

#[tokio::test]
async fn exporter_takes_a_partial_success_as_a_success() {
    let body = r#"{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}"#;
    for body in [body, "", "{}", "no JSON"] {
        let world = World::after(1, vec![refusal(200, &[], body)]).await;
        world.log.wait_until_confirmed(1).await;
        assert_eq!((world.failure().as_str(), world.collector.requests().len()), ("", 1), "{body}");
    }
}

#[tokio::test]
async fn collector_answer_has_the_warning_of_a_partial_success() {
    let table = [
        (r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"old"}}"#, Some("3 spans: old")),
        (r#"{"partialSuccess":{"rejectedSpans":3}}"#, Some("3 spans")),
        (r#"{"partialSuccess":{"errorMessage":"slow down"}}"#, Some("slow down")),
        (r#"{"partialSuccess":{"rejectedSpans":"0"}}"#, None),
        (r#"{"partialSuccess":{}}"#, None),
    ];
    for (body, expected) in table {
        let world = World::new(vec![refusal(200, &[], body)]).await;
        let (redactor, providers) = (&Redactor::default(), &ProviderNames::default());
        let maker = SpanMaker { log: "log1", content: false, redactor, providers };
        let history = turn(1);
        let end = history.events.last().unwrap().clone();
        let request =
            crate::otlp::trace_request("log1", &encode_spans(&maker.spans_of_event(&end, history)));
        let answer = world.exporter.collector.send(world.clock.as_ref(), request).await;
        let CollectorAnswer::Accepted { warning } = answer else { panic!("{answer:?}") };
        match expected {
            Some(text) => assert!(warning.as_ref().is_some_and(|one| one.contains(text)), "{body}"),
            None => assert_eq!(warning, None, "{body}"),
        }
    }
}

#[tokio::test]
async fn exporter_gives_up_a_request_without_an_answer_and_repeats_it() {
    let world = World::after(1, vec![vec![Piece::Hang]]).await;
    world.collector.received(1).await;
    world.clock.sleeper(Duration::from_secs(30)).await;
    world.clock.advance(Duration::from_secs(30));
    world.clock.sleeper_within(..=2 * FIRST_RETRY).await;
    assert_eq!(world.failure(), "the collector did not answer within 30 s");
    world.clock.advance(2 * FIRST_RETRY);
    world.log.wait_until_confirmed(1).await;
}

#[tokio::test]
async fn exporter_sends_at_most_100_turns_in_a_request() {
    let world = World::after(250, Vec::new()).await;
    world.log.wait_until_confirmed(250).await;
    let sizes: Vec<_> = world.turns().iter().map(Vec::len).collect();
    assert_eq!(sizes, [100, 100, 50]);
}

#[tokio::test]
async fn exporter_begins_with_the_newest_event_at_its_first_start() {
    let collector = OtlpFake::start().await;
    let (log, clock) = (Arc::new(LogInMemory::default()), Arc::new(ManualClock::default()));
    log.add_history(turn(1));
    let (exporter, group) = (exporter(&collector, &log, &clock), Group::new("test"));
    exporter.start(&group);
    // It waits for the next event behind the first one.
    while exporter.export_status().behind > 0 {
        tokio::task::yield_now().await;
    }
    log.add_history(turn(2));
    clock.sleeper_within(..=COLLECT).await;
    clock.advance(COLLECT);
    log.wait_until_confirmed(2).await;
    let ids =
        collector.spans().iter().map(|span| attribute(span, "avocet.turn.id")).collect::<Vec<_>>();
    assert!(ids.contains(&"2".into()) && !ids.contains(&"1".into()), "{ids:?}");
    group.cancel_tasks();
}
