//! The export of traces by the real program, to a strict collector.

use std::collections::BTreeMap;

use avocet_testkit::http::{Piece, whole};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::otlp::{OtlpFake, attribute};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::support::{assert_fails, printed, run, soon, status, stop, until};

/// The collector that the tests use. It serves while the tests wait for the program.
fn home(collector: &OtlpFake, more: &str) -> Home {
    let endpoint = collector.endpoint();
    let config = format!("[telemetry]\nendpoint = \"{endpoint}\"\n{more}");
    Home::new(program!()).with("OTLP_KEY", "a-key-of-the-collector").with_config(&config)
}

fn ask(home: &Home, text: &str) {
    printed(home, &["ask", "--wait", "me", text]);
}

/// Returns the ids of the spans of turns, by turn.
fn turns(collector: &OtlpFake) -> BTreeMap<String, Vec<String>> {
    let mut turns = BTreeMap::<String, Vec<String>>::new();
    for span in collector.spans() {
        if let Some(turn) = attribute(&span, "avocet.turn.id").as_str() {
            let id = span["spanId"].as_str().unwrap().to_owned();
            turns.entry(turn.to_owned()).or_default().push(id);
        }
    }
    turns
}

/// Waits until the collector has the span of a turn.
async fn has_turn(collector: &OtlpFake, turn: &str) {
    let is_meant = |span: &Value| attribute(span, "avocet.turn.id") == turn;
    soon("the span of the turn", collector.received_span(is_meant)).await;
}

/// Returns the spans with this name, which have to be there.
fn named(collector: &OtlpFake, name: &str) -> Vec<Value> {
    let spans = collector.spans();
    let names: Vec<_> = spans.iter().map(|span| span["name"].clone()).collect();
    let found: Vec<_> = spans.into_iter().filter(|span| span["name"] == name).collect();
    assert!(!found.is_empty(), "{name} is not in {names:?}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn telemetry_exports_turns_with_tools_without_their_texts() {
    let collector = OtlpFake::start().await;
    let home = home(&collector, "headers = { x-api-key = \"${OTLP_KEY}\" }\n");
    let daemon = home.daemon();
    ask(&home, "count to 3");
    ask(&home, "read_file secret-plan.txt");
    has_turn(&collector, "2").await;
    assert_eq!(collector.refusals(), [""; 0]);
    let turn = &named(&collector, "invoke_agent")[1];
    assert_eq!(attribute(turn, "gen_ai.conversation.id"), "terminal:local:me");
    let tool = &named(&collector, "execute_tool read_file")[0];
    assert_eq!(tool["parentSpanId"], turn["spanId"]);
    assert_eq!(attribute(tool, "error.type"), "tool_error", "there is no such file");
    for request in collector.requests() {
        assert_eq!(request.api_key.as_deref(), Some("a-key-of-the-collector"));
        for text in ["count to", "1, 2, 3.", "secret-plan"] {
            assert!(!request.body.contains(text), "{text} is in {}", request.body);
        }
    }
    until("the position behind the last event", || {
        let telemetry = status(&home)["telemetry"].take();
        assert_eq!(telemetry["exchanges"]["failure"], Value::Null);
        (telemetry["behind"] == 0).then_some(())
    });
    let text = run(&home, &["status"]).out;
    assert!(text.contains("\ntelemetry") && text.contains("0 events behind"), "{text}");
    let checks = run(&home, &["doctor", "--offline"]).out;
    assert!(checks.contains("✓ telemetry") && checks.contains("last export"), "{checks}");
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn telemetry_exports_models_with_their_tokens() {
    let collector = OtlpFake::start().await;
    let model = OpenAiFake::start(|request| match request["messages"].as_array().unwrap().last() {
        Some(last) if last["role"] == "tool" => ModelAnswer::says("There is no such file."),
        _ => ModelAnswer::call("read_file", json!({ "path": "secret-plan.txt" })),
    })
    .await;
    let provider = format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n[providers.fake]\nkind = \"openai\"\n\
         base_url = \"{}\"\n[agents.defaults]\nmodel = \"fake/fake\"\n",
        model.base_url()
    );
    let home = home(&collector, &provider);
    let daemon = home.daemon();
    ask(&home, "read it");
    has_turn(&collector, "1").await;
    let requests = named(&collector, "chat fake");
    assert_eq!(requests.len(), 2, "before and after the tool: {requests:?}");
    for request in requests {
        assert_eq!(attribute(&request, "gen_ai.provider.name"), "fake");
        assert!(attribute(&request, "gen_ai.usage.input_tokens").is_string(), "{request}");
        assert!(request.get("status").is_none(), "both have an answer: {request}");
    }
    stop(daemon);
}

/// A request that another one replaced: by another model, and by one without the refused setting.
#[tokio::test(flavor = "multi_thread")]
async fn telemetry_exports_each_failed_request_of_an_answered_turn() {
    let collector = OtlpFake::start().await;
    let busy = OpenAiFake::start(|_| ModelAnswer::Status(429, vec![], "{}".to_owned())).await;
    let strict = OpenAiFake::start(|request| match request.get("stream_options") {
        Some(_) => {
            let refusal = json!({ "error": { "message": "Unknown parameter: 'stream_options'" } });
            ModelAnswer::Status(400, vec![], refusal.to_string())
        }
        None => ModelAnswer::says("Here."),
    })
    .await;
    let provider = |name: &str, model: &OpenAiFake| {
        format!(
            "[models.\"{name}/*\"]\ncontext = 65_536\n[providers.{name}]\nkind = \"openai\"\n\
             base_url = \"{}\"\nmax_retries = 0\n",
            model.base_url()
        )
    };
    let home = home(
        &collector,
        &format!(
            "{}{}[agents.defaults]\nmodel = \"busy/fake\"\nfallbacks = [\"strict/fake\"]\n",
            provider("busy", &busy),
            provider("strict", &strict)
        ),
    );
    let daemon = home.daemon();
    ask(&home, "where is it");
    has_turn(&collector, "1").await;
    let mut found: Vec<_> = named(&collector, "chat fake")
        .iter()
        .map(|span| {
            let of = |key| attribute(span, key).as_str().map(str::to_owned);
            (of("gen_ai.provider.name"), of("error.type"), of("http.response.status_code"))
        })
        .collect();
    found.sort();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (some("busy"), some("rate_limited"), some("429")),
            (some("strict"), None, None),
            (some("strict"), some("refused"), some("400")),
        ]
    );
    let trace = printed(&home, &["trace", "m1"]);
    for failed in ["busy/fake, rate_limited (429)", "strict/fake, refused (400)"] {
        assert!(trace.contains(failed), "{failed}: {trace}");
    }
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn telemetry_exports_texts_with_content() {
    let collector = OtlpFake::start().await;
    let home = home(&collector, "content = true\n");
    let daemon = home.daemon();
    ask(&home, "count to 3");
    has_turn(&collector, "1").await;
    let turn = &named(&collector, "invoke_agent")[0];
    let texts = ["gen_ai.input.messages", "gen_ai.output.messages"];
    let texts = texts.map(|key| attribute(turn, key).to_string());
    assert!(texts[0].contains("count to 3") && texts[1].contains("1, 2, 3."), "{texts:?}");
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn telemetry_loses_no_turn_over_restarts_and_repeats_spans_with_the_same_ids() {
    let busy = whole(503, &[("content-type", "application/json")], "{}");
    let collector = OtlpFake::answering(vec![busy; 100]).await;
    let home = home(&collector, "");
    let daemon = home.daemon();
    ask(&home, "count to 2");
    soon("a request", collector.received(1)).await;
    until("the failure", || {
        let telemetry = status(&home)["telemetry"].take();
        let reason = telemetry["exchanges"]["failure"]["reason"].as_str().map(str::to_owned)?;
        assert_eq!(reason, "the collector answered 503: {}");
        assert!(telemetry["behind"].as_u64().unwrap() > 0, "{telemetry}");
        Some(())
    });
    let checks = run(&home, &["doctor", "--offline"]).out;
    assert!(checks.contains("! telemetry"), "{checks}");
    let log = daemon.kill();
    assert!(log.contains("cannot send traces to the collector of [telemetry]"), "{log}");

    // This daemon stops before the exporter has sent anything of the second turn.
    let daemon = home.daemon();
    ask(&home, "count to 3");
    stop(daemon);

    collector.answer_next(vec![vec![Piece::Close]]);
    let daemon = home.daemon();
    ask(&home, "count to 4");
    has_turn(&collector, "3").await;
    let turns = turns(&collector);
    assert_eq!(turns.keys().map(String::as_str).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(turns["1"].len() > 1, "the first turn was sent again: {turns:?}");
    for (turn, ids) in &turns {
        assert!(ids.iter().all(|id| *id == ids[0]), "{turn}: {ids:?}");
    }
    assert_eq!(collector.refusals(), [""; 0]);
    stop(daemon);
    let subscribers = printed(&home, &["subscribers", "list"]);
    assert!(subscribers.contains("\ntelemetry "), "{subscribers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn telemetry_puts_a_sub_agent_below_the_call_that_waits_for_it() {
    let collector = OtlpFake::start().await;
    let home = home(&collector, "");
    let daemon = home.daemon();
    ask(&home, r#"spawn {"task": "count to 3"}"#);
    has_turn(&collector, "1").await;
    let turns = named(&collector, "invoke_agent");
    let call = &named(&collector, "execute_tool spawn")[0];
    let child = turns.iter().find(|span| attribute(span, "avocet.turn.id") == "2").unwrap();
    assert_eq!(child["parentSpanId"], call["spanId"], "{turns:?}");
    assert_eq!(child["traceId"], call["traceId"]);
    named(&collector, "wait child");
    stop(daemon);
}

#[test]
fn telemetry_with_a_wrong_endpoint_stops_the_start() {
    for (config, says) in [
        ("[telemetry]\n", "there is no endpoint"),
        ("[telemetry]\nendpoint = \"127.0.0.1:4318\"\n", "http://"),
        ("[telemetry]\nendpoint = \"http://a/v1/traces\"\n", "leave out the path /v1/traces"),
        ("[telemetry]\nendpoint = \"http://a\"\nqueue = 1\n", "unknown key `queue`"),
    ] {
        let home = Home::new(program!()).with_config(config);
        assert_fails(&run(&home, &["config", "check"]), 78, &["telemetry", says]);
    }
}
