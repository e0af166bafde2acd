use std::sync::Arc;

use avocet_testkit::http::{HttpFake, HttpRequest, Piece, whole};
use avocet_text::fits_pattern;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::testing::serve_model;
use crate::{
    AnthropicConfig, GeminiConfig, ModelCatalogue, OllamaConfig, OpenAiConfig, ProviderConfig,
    SourcedFacts,
};

const KEY: &str = "sk-of-this-test";

/// A pattern of method and path, the status with the key, the status without it, and the body.
type ResponseRow = (&'static str, u16, u16, Value);

/// A server that answers with the first matching row and records the requests.
async fn serving(rows: Vec<ResponseRow>) -> (HttpFake, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = asked.clone();
    let has_key = |request: &HttpRequest| {
        let headers = ["authorization", "x-api-key", "x-goog-api-key"];
        headers.iter().any(|name| request.header(name).is_some_and(|value| value.ends_with(KEY)))
    };
    let answer = move |request: HttpRequest| -> Vec<Piece> {
        let line = format!("{} {}", request.method, request.path);
        noted.lock().push(line.clone());
        let row = rows.iter().find(|(pattern, ..)| fits_pattern(pattern, &line));
        let (status, body) = match row {
            Some((_, status, _, body)) if has_key(&request) => (*status, body.clone()),
            Some((_, _, status, body)) => (*status, body.clone()),
            None => (404, json!({ "error": { "message": "page not found" } })),
        };
        whole(status, &[("content-type", "application/json")], &body.to_string())
    };
    (HttpFake::start(answer).await, asked)
}

fn config<C: ProviderConfig>(fake: &HttpFake, path: &str, key: bool) -> C {
    let mut table =
        json!({ "base_url": format!("http://{}{path}", fake.address()), "max_retries": 0 });
    if key {
        table["api_key"] = json!(KEY);
    }
    serde_json::from_value(table).unwrap()
}

async fn probed<C: ProviderConfig>(
    rows: Vec<ResponseRow>,
    path: &str,
    key: bool,
    model: &str,
) -> (Result<ProbeResult, ModelError>, Vec<String>) {
    let (fake, asked) = serving(rows).await;
    let config: C = config(&fake, path, key);
    let served =
        serve_model(config, &format!("p/{model}"), SourcedFacts::default(), Arc::default());
    let found = served.probe_model().await;
    let asked = asked.lock().clone();
    (found, asked)
}

fn list() -> Value {
    json!({ "data": [{ "id": "gpt-5" }, { "id": "gpt-5-mini" }, { "id": "qwen3:latest" }] })
}

fn error(status: u16, message: &str) -> Value {
    json!({ "error": { "code": status, "message": message } })
}

fn no_model(nearest: &str) -> ProbeResult {
    ProbeResult::NoModel { nearest: Some(nearest.to_owned()) }
}

#[tokio::test]
async fn probe_of_openai_reads_the_model_list_and_asks_the_model_only_without_one() {
    let get = "GET /v1/models";
    let answer =
        json!({ "choices": [{ "message": { "content": "ok" }, "finish_reason": "stop" }] });
    let one = json!({ "data": [{ "id": "model.gguf" }] });
    type Case = (Vec<ResponseRow>, bool, &'static str, Result<ProbeResult, ModelError>, usize);
    let cases: Vec<Case> = vec![
        (vec![(get, 200, 401, list())], true, "gpt-5", Ok(ProbeResult::Works), 2),
        (vec![(get, 200, 200, list())], true, "gpt-5", Ok(ProbeResult::KeyUnchecked), 2),
        (vec![(get, 200, 200, list())], false, "qwen3", Ok(ProbeResult::Works), 1),
        (vec![(get, 200, 200, list())], false, "gpt-5-mni", Ok(no_model("gpt-5-mini")), 1),
        (
            vec![(get, 200, 200, one)],
            false,
            "qwen3",
            Ok(ProbeResult::OtherModel { only: "model.gguf".to_owned() }),
            1,
        ),
        (vec![("POST *", 200, 401, answer)], true, "gpt-5", Ok(ProbeResult::Works), 2),
        (vec![], true, "", Ok(ProbeResult::KeyUnchecked), 2),
    ];
    for (rows, key, model, expected, requests) in cases {
        let shown = format!("{rows:?} {model:?}");
        let (found, asked) = probed::<OpenAiConfig>(rows, "/v1", key, model).await;
        assert_eq!((found, asked.len()), (expected, requests), "{shown}: {asked:?}");
    }
    let refused = vec![(get, 401, 401, error(401, "Incorrect API key provided"))];
    let (found, _) = probed::<OpenAiConfig>(refused, "/v1", true, "gpt-5").await;
    assert!(matches!(found, Err(ModelError::Unauthorized { .. })), "{found:?}");
    let broke = vec![("POST *", 402, 402, error(402, "no credit"))];
    let (found, _) = probed::<OpenAiConfig>(broke, "/v1", true, "gpt-5").await;
    assert!(matches!(found, Err(ModelError::Refused { lasting: true, .. })), "{found:?}");
}

#[tokio::test]
async fn probe_of_openai_names_the_base_url_that_was_meant() {
    let cases = [
        ("", "GET /v1/models", 200, "gpt-5", "/v1"),
        ("", "GET /v1/models", 401, "gpt-5", "/v1"),
        ("", "GET /v1/models", 200, "", "/v1"),
        ("/v1/", "GET /models", 200, "gpt-5", ""),
        ("/api", "GET /api/v1/models", 200, "gpt-5", "/api/v1"),
    ];
    for (path, row, status, model, meant) in cases {
        let (fake, _) = serving(vec![(row, status, status, list())]).await;
        let config: OpenAiConfig = config(&fake, path, true);
        let served =
            serve_model(config, &format!("p/{model}"), SourcedFacts::default(), Arc::default());
        let meant = format!("http://{}{meant}", fake.address());
        let found = served.probe_model().await;
        assert_eq!(found, Ok(ProbeResult::OtherBaseUrl { meant: meant.clone() }), "{path} {row}");
        let offered = served.list_models(&ModelCatalogue::default()).await.unwrap_err().to_string();
        assert!(offered.contains(&format!("at {meant}; write that as base_url")), "{offered}");
    }
}

#[tokio::test]
async fn probe_of_anthropic_and_gemini_fetches_the_model_itself() {
    let claude = "GET /v1/models/claude-sonnet-4-5";
    let (found, asked) = probed::<AnthropicConfig>(
        vec![(claude, 200, 401, json!({}))],
        "",
        true,
        "claude-sonnet-4-5",
    )
    .await;
    assert_eq!((found, asked.len()), (Ok(ProbeResult::Works), 1));
    let models = json!({ "data": [{ "id": "claude-sonnet-4-5" }, { "id": "claude-opus-4-1" }] });
    let rows = vec![("GET /v1/models?limit=1000", 200, 401, models)];
    let (found, _) = probed::<AnthropicConfig>(rows, "", true, "claude-sonet-4-5").await;
    assert_eq!(found, Ok(no_model("claude-sonnet-4-5")));
    let rows = vec![("GET *", 401, 401, error(401, "invalid x-api-key"))];
    let (found, _) = probed::<AnthropicConfig>(rows, "", true, "claude-opus-4-1").await;
    assert!(matches!(found, Err(ModelError::Unauthorized { .. })), "{found:?}");

    let flash = "GET /v1beta/models/gemini-2.5-flash";
    let (found, asked) =
        probed::<GeminiConfig>(vec![(flash, 200, 403, json!({}))], "", true, "gemini-2.5-flash")
            .await;
    assert_eq!((found, asked.len()), (Ok(ProbeResult::Works), 1));
    let models =
        json!({ "models": [{ "name": "models/gemini-2.5-flash" }, { "name": "models/x" }] });
    let rows = vec![("GET /v1beta/models?pageSize=1000", 200, 403, models)];
    let (found, _) = probed::<GeminiConfig>(rows, "", true, "gemini-2.5-flsh").await;
    assert_eq!(found, Ok(no_model("gemini-2.5-flash")));
    let invalid = error(400, "API key not valid. Please pass a valid API key.");
    let (found, _) =
        probed::<GeminiConfig>(vec![("GET *", 400, 400, invalid)], "", true, "gemini-2.5-flash")
            .await;
    assert!(matches!(found, Err(ModelError::Unauthorized { .. })), "{found:?}");
}

#[tokio::test]
async fn probe_of_ollama_reads_the_list_of_models() {
    let tags = |names: &[&str]| {
        let models: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        vec![("GET /api/tags", 200, 200, json!({ "models": models }))]
    };
    let (found, _) =
        probed::<OllamaConfig>(tags(&["qwen3:latest", "x:1b"]), "", false, "qwen3").await;
    assert_eq!(found, Ok(ProbeResult::Works));
    let (found, _) =
        probed::<OllamaConfig>(tags(&["qwen3:latest", "x:1b"]), "", false, "llama4").await;
    assert_eq!(found, Ok(ProbeResult::NoModel { nearest: None }));
    let (found, _) = probed::<OllamaConfig>(vec![], "", false, "qwen3").await;
    assert!(found.unwrap_err().to_string().contains("the address of an Ollama server"));
}

#[tokio::test]
async fn probe_of_an_absent_server_is_unreachable() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let table = json!({ "base_url": format!("http://{unused}"), "api_key": KEY });
    let config: AnthropicConfig = serde_json::from_value(table).unwrap();
    let served = serve_model(config, "p/m", SourcedFacts::default(), Arc::default());
    let found = served.probe_model().await;
    assert!(matches!(found, Err(ModelError::Unreachable { .. })), "{found:?}");
}
