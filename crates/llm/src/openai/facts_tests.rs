//! Lists of models in the formats of several servers, and servers without a list.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::model::Model;
use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, Piece, whole};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_text::Secret;
use serde_json::json;

use super::*;
use crate::{OpenAi, OpenAiConfig};

#[test]
fn openai_facts_read_the_context_from_the_fields_of_each_server() {
    let other = json!({ "id": "other", "max_model_len": 7 });
    let table = [
        (json!([other, { "id": "qwen3", "max_model_len": 32768 }]), Some(32768)),
        (json!([other, { "id": "qwen3", "context_length": 131_072 }]), Some(131_072)),
        (json!([other, { "id": "qwen3", "context_window": 8192 }]), Some(8192)),
        (json!([other, { "id": "qwen3", "max_context_length": 8192 }]), Some(8192)),
        (json!([{ "id": "a.gguf", "meta": { "n_ctx_train": 40960, "n_ctx": 4096 } }]), Some(4096)),
        (json!([{ "id": "a.gguf", "meta": { "n_ctx_train": 40960 } }]), Some(40960)),
        (json!([{ "id": "qwen3", "object": "model" }]), None),
        (json!([{ "id": "qwen3", "context_length": 0 }]), None),
        (json!([{ "id": "qwen3", "context_length": "much" }]), None),
        (json!([other, { "id": "another", "max_model_len": 8 }]), None),
        (json!([]), None),
        (json!(null), None),
    ];
    for (models, expected) in table {
        assert_eq!(context_in_list(&json!({ "data": models }), "qwen3"), expected, "{models}");
    }
}

/// A model with a server that gives these answers, one per request, and the number of requests.
async fn model(answers: Vec<Vec<Piece>>) -> (OpenAi, Arc<ManualClock>, Arc<AtomicUsize>) {
    let (asked, clock) = (Arc::<AtomicUsize>::default(), Arc::<ManualClock>::default());
    let times = asked.clone();
    let fake = HttpFake::start(move |request| {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/models"));
        assert_eq!(request.header("authorization"), Some("Bearer sk-1"));
        answers[times.fetch_add(1, Ordering::SeqCst)].clone()
    })
    .await;
    let config = OpenAiConfig {
        base_url: format!("http://{}/v1/", fake.address()),
        api_key: Some(Secret::new("sk-1".to_owned()).into()),
        ..OpenAiConfig::default()
    };
    let model = OpenAi::new("local", "qwen3", &config, clock.clone()).unwrap();
    (model, clock, asked)
}

fn list() -> Vec<Piece> {
    whole(200, &[], &json!({ "data": [{ "id": "qwen3", "max_model_len": 4096 }] }).to_string())
}

#[tokio::test]
async fn openai_facts_are_fetched_once() {
    let (model, _, asked) = model(vec![list()]).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0, "not before somebody wants to know");
    for _ in 0..3 {
        assert_eq!(model.facts().await.context, Some(4096));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn openai_facts_are_not_fetched_again_from_a_server_without_a_list() {
    for answer in [whole(404, &[], "no"), whole(401, &[], "no"), whole(200, &[], "<html>")] {
        let (model, clock, asked) = model(vec![answer]).await;
        for _ in 0..2 {
            assert_eq!(model.facts().await.context, None);
            clock.advance(2 * PAUSE);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn openai_facts_are_fetched_again_after_a_pause_if_the_server_failed() {
    for failed in [vec![Piece::Close], whole(503, &[], "loading")] {
        let (model, clock, asked) = model(vec![failed, list()]).await;
        for _ in 0..2 {
            assert_eq!(model.facts().await.context, None);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        clock.advance(PAUSE);
        assert_eq!(model.facts().await.context, Some(4096));
    }
}

#[tokio::test]
async fn openai_facts_time_out_at_a_silent_server() {
    let (model, clock, _) = model(vec![vec![Piece::Hang]]).await;
    let passing = async {
        clock.sleeper_within(LIMIT..=LIMIT).await;
        clock.advance(LIMIT);
    };
    let (facts, ()) = tokio::join!(model.facts(), passing);
    assert_eq!(facts.context, None);
}

#[tokio::test]
async fn openai_facts_are_fetched_without_a_model_request() {
    let fake = OpenAiFake::start(|_| ModelAnswer::says("ok")).await;
    let config = OpenAiConfig { base_url: fake.base_url(), ..OpenAiConfig::default() };
    let clock = Arc::<ManualClock>::default();
    let model = OpenAi::new("local", "qwen3", &config, clock).unwrap();
    assert_eq!(model.facts().await.context, None);
    assert!(fake.requests().is_empty() && fake.refusals().is_empty());
}
