//! Requests for a model's card: their content, their number, and the effect of the answer.

use avocet_protocol::model::{Money, Usage};
use avocet_testkit::http::{Piece, whole};
use avocet_testkit::ollama::{Card as Known, MODEL, OllamaFake};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::json;

use super::tests::{config, model_of};
use super::*;
use crate::facts::SourcedFacts;
use crate::testing::{SECOND, ask_model, serve_model};
use crate::{KnownModel, ProviderConfig, ToolStyle};

async fn native_tools(model: &OllamaModel) -> Option<bool> {
    model.learn_facts().await.native_tools
}

async fn serve(known: Known) -> OllamaFake {
    OllamaFake::start_as(known, |_| ModelAnswer::says("ok")).await
}

async fn facts(known: Known) -> ModelFacts {
    let fake = serve(known).await;
    model_of(&fake, &Arc::default()).facts().await
}

#[tokio::test]
async fn ollama_context_prefers_the_config_to_the_model_file_within_the_models_limit() {
    const FILE: &str = "num_ctx                        16384\nstop  \"num_ctx 9\"";
    let table = [
        (131_072, "", None, 32_768),
        (8192, "", None, 8192),
        (131_072, FILE, None, 16_384),
        (8192, FILE, None, 8192),
        (131_072, FILE, Some(65_536), 65_536),
        (8192, "", Some(65_536), 8192),
    ];
    for (context_length, parameters, configured, expected) in table {
        let fake = serve(Known { context_length, parameters, ..Known::default() }).await;
        let config = OllamaConfig { context_tokens: configured, ..config(fake.base_url()) };
        let model = OllamaModel::new("home", MODEL, &config, Arc::<ManualClock>::default());
        assert_eq!(model.facts().await.context, Some(expected));
        ask_model(&model).await.reply.unwrap();
        assert_eq!(fake.requests()[0]["options"], json!({ "num_ctx": expected }));
    }
}

#[tokio::test]
async fn ollama_images_are_on_if_the_server_reports_vision() {
    assert!(facts(Known::default()).await.images);
    for capabilities in [Some(vec!["completion", "tools"]), None] {
        assert!(!facts(Known { capabilities, ..Known::default() }).await.images);
    }
}

#[tokio::test]
async fn ollama_price_is_zero_for_a_local_model_and_unknown_for_a_cloud_model() {
    let fake = serve(Known::default()).await;
    let price = async |name: &str| {
        let config = config(fake.base_url());
        let model = OllamaModel::new("home", name, &config, Arc::<ManualClock>::default());
        model.facts().await.price
    };
    for own in [MODEL, "unknown", "cloud:8b"] {
        let price = price(own).await.map(|price| price.compute_cost(Usage::new(9, 9)));
        assert_eq!(price, Some(Money::default()), "{own}");
    }
    for cloud in ["gpt-oss:120b-cloud", "kimi-k2:cloud"] {
        assert_eq!(price(cloud).await, None, "{cloud}");
    }
}

#[tokio::test]
async fn ollama_card_is_fetched_once_for_concurrent_users() {
    let fake = serve(Known::default()).await;
    let model = model_of(&fake, &Arc::default());
    let (facts, tools, asked) =
        tokio::join!(model.facts(), native_tools(&model), ask_model(&model));
    assert_eq!((facts.context, tools), (Some(32_768), Some(true)));
    asked.reply.unwrap();
    ask_model(&model).await.reply.unwrap();
    assert_eq!(fake.shown(), 1);
}

#[tokio::test]
async fn ollama_card_failure_fails_no_turn_and_is_retried_after_a_minute() {
    let refusals = [
        whole(500, &[], "{\"error\": \"oops\"}"),
        whole(200, &[], "no JSON"),
        whole(404, &[], "404 page not found"),
        vec![Piece::Reset],
    ];
    for refusal in refusals {
        let fake = serve(Known { failures: vec![refusal], ..Known::default() }).await;
        let clock = Arc::<ManualClock>::default();
        let model = model_of(&fake, &clock);
        assert_eq!(native_tools(&model).await, None);
        ask_model(&model).await.reply.unwrap();
        assert_eq!((model.facts().await.context, fake.shown()), (None, 1));
        assert_eq!(fake.requests()[0]["options"], json!({}));
        clock.advance(59 * SECOND);
        assert_eq!((model.facts().await.context, fake.shown()), (None, 1));
        clock.advance(SECOND);
        assert_eq!((model.facts().await.context, fake.shown()), (Some(32_768), 2));
    }
}

#[tokio::test]
async fn ollama_sends_a_configured_context_if_the_card_fails() {
    let failures = vec![whole(500, &[], "oops")];
    let fake = serve(Known { failures, ..Known::default() }).await;
    let config = OllamaConfig { context_tokens: Some(8192), ..config(fake.base_url()) };
    let model = OllamaModel::new("home", MODEL, &config, Arc::<ManualClock>::default());
    ask_model(&model).await.reply.unwrap();
    assert_eq!(fake.requests()[0]["options"], json!({ "num_ctx": 8192 }));
}

#[tokio::test]
async fn ollama_card_times_out_after_ten_seconds() {
    let failures = vec![vec![Piece::Hang]];
    let fake = serve(Known { failures, ..Known::default() }).await;
    let clock = Arc::<ManualClock>::default();
    let model = model_of(&fake, &clock);
    let passing = async {
        clock.sleeper_within(10 * SECOND..=10 * SECOND).await;
        clock.advance(10 * SECOND);
    };
    let (tools, ()) = tokio::join!(native_tools(&model), passing);
    assert_eq!(tools, None);
    ask_model(&model).await.reply.unwrap();
}

/// The model with the facts that its server reports.
fn known_model(config: OllamaConfig) -> Arc<KnownModel> {
    serve_model(config, &format!("home/{MODEL}"), SourcedFacts::default(), Arc::default())
}

/// Returns `true` if the model gets native tools, `false` if the instructions list them.
async fn asked_natively(capabilities: Option<Vec<&'static str>>, tools: Option<ToolStyle>) -> bool {
    let fake = serve(Known { capabilities, ..Known::default() }).await;
    let config = OllamaConfig { tools, ..config(fake.base_url()) };
    let model = known_model(config);
    ask_model(&*model).await.reply.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    let sent = fake.requests().remove(0);
    let is_listed = sent["messages"][0]["content"].as_str().unwrap().contains("read_file");
    assert_ne!(is_listed, sent["tools"].is_array());
    !is_listed
}

#[tokio::test]
async fn ollama_writes_calls_as_text_for_a_model_without_tools_unless_configured() {
    let able = || Some(vec!["completion", "tools"]);
    let unable = || Some(vec!["completion"]);
    assert!(asked_natively(able(), None).await);
    assert!(!asked_natively(unable(), None).await);
    assert!(asked_natively(None, None).await, "an old server does not say");
    assert!(!asked_natively(able(), Some(ToolStyle::Hermes)).await);
}

#[tokio::test]
async fn ollama_asks_with_native_tools_if_configured_although_the_server_refuses() {
    let capabilities = Some(vec!["completion"]);
    let fake = serve(Known { capabilities, ..Known::default() }).await;
    let config = OllamaConfig { tools: Some(ToolStyle::Native), ..config(fake.base_url()) };
    let model = known_model(config);
    let error = ask_model(&*model).await.reply.unwrap_err().to_string();
    assert!(error.contains("does not support tools; set tools = \"json\""), "{error}");
}

#[tokio::test]
async fn ollama_reads_a_call_written_as_text() {
    let capabilities = Some(vec!["completion"]);
    let known = Known { capabilities, ..Known::default() };
    let fake = OllamaFake::start_as(known, |_| {
        ModelAnswer::says("```json\n{\"tool\": \"read_file\", \"params\": {}}\n```")
    })
    .await;
    let reply = ask_model(&*known_model(config(fake.base_url()))).await.reply.unwrap();
    assert_eq!((reply.calls[0].name.as_str(), reply.text.as_str()), ("read_file", ""));
}

#[test]
fn ollama_config_check_names_the_key_and_the_fault() {
    let check = |change: fn(&mut OllamaConfig)| {
        let mut config = OllamaConfig::default();
        change(&mut config);
        config.check_config()
    };
    assert_eq!(check(|_| ()), Ok(()));
    let says = "leave out /v1: write \"http://127.0.0.1:11434\"";
    let v1 = check(|config| config.base_url.push_str("/v1/"));
    assert_eq!(v1, Err(("base_url", says.to_owned())));
    assert!(check(|config| config.base_url.push_str("/api")).unwrap_err().1.contains("/api"));
    assert!(check(|config| config.base_url = "ollama".to_owned()).is_err());
    let small = check(|config| config.context_tokens = Some(2047));
    let says = "2047 is too few; it must be at least 2048";
    assert_eq!(small, Err(("context_tokens", says.to_owned())));
}
