use avocet_testkit::model_lists::{KEY, ModelListFake};
use serde_json::json;

use super::*;
use crate::testing::serve_model;
use crate::{
    AnthropicConfig, GeminiConfig, ModelCatalogue, OllamaConfig, OpenAiConfig, ProviderConfig,
};

const MODELS: &[&str] = &["model-a", "model-c", "model-b", "gpt-4o", "model-d"];

async fn offered<C: ProviderConfig>(
    base_path: &str,
    key: &str,
) -> (Result<Vec<OfferedModel>, ModelListError>, Vec<String>) {
    let fake = ModelListFake::start(MODELS).await;
    let base_url = format!("{}{base_path}", fake.url());
    let table = json!({ "base_url": base_url, "api_key": key, "max_retries": 0 });
    let config: C = serde_json::from_value(table).unwrap();
    let served = serve_model(config, "p/", SourcedFacts::default(), std::sync::Arc::default());
    (served.list_models(&ModelCatalogue::default()).await, fake.asked())
}

/// The name, context and price of each model.
fn shown(models: &[OfferedModel]) -> Vec<String> {
    let one = |OfferedModel { name, facts }: &OfferedModel| {
        let context = facts.context.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
        let price = facts.price.map(|price| format!(" {}/{}", price.input, price.output));
        format!("{name} {context}{}", price.unwrap_or_default())
    };
    models.iter().map(one).collect()
}

#[tokio::test]
async fn offered_openai_models_have_the_facts_of_the_list_else_of_the_catalogue() {
    let (found, asked) = offered::<OpenAiConfig>("/v1", KEY).await;
    let found = shown(&found.unwrap());
    let expected = ["gpt-4o 128000", "model-a 65536 0.5/2", "model-b -", "model-c -", "model-d -"];
    assert_eq!(found, expected);
    assert_eq!(asked, ["GET /v1/models"]);
}

#[test]
fn openai_model_reads_each_field_alone() {
    let pricing =
        json!({ "prompt": 0.000_000_5, "completion": "0.000002", "input_cache_read": {} });
    let odd = json!({ "id": "a", "context_length": "65536", "max_model_len": -1, "pricing": pricing,
        "architecture": "x", "top_provider": [] });
    let table = [
        (odd, Some("a 65536 0.5/2")),
        (json!({ "id": "b", "context_length": {}, "pricing": null }), Some("b -")),
        (json!("c"), Some("c -")),
        (json!({ "id": 7 }), None),
        (json!(null), None),
    ];
    for (model, expected) in table {
        let found: Vec<OfferedModel> = openai_model(&model).into_iter().collect();
        assert_eq!(shown(&found), Vec::from_iter(expected), "{model}");
    }
}

#[tokio::test]
async fn offered_anthropic_models_are_read_page_by_page() {
    let (found, asked) = offered::<AnthropicConfig>("", KEY).await;
    let found = found.unwrap();
    assert_eq!(found.len(), MODELS.len());
    assert_eq!(shown(&found)[1], "model-a 200000");
    assert_eq!(found[1].facts.max_output, Some(64_000));
    let pages = ["", "&after_id=model-c", "&after_id=gpt-4o"];
    assert_eq!(asked, pages.map(|page| format!("GET /v1/models?limit=1000{page}")));
}

#[tokio::test]
async fn offered_gemini_models_are_those_that_answer() {
    let (found, asked) = offered::<GeminiConfig>("", KEY).await;
    let expected = ["gpt-4o 1048576", "model-a 1048576", "model-b 1048576", "model-c 1048576"];
    assert_eq!(shown(&found.unwrap()), expected);
    let pages = ["", "&pageToken=2", "&pageToken=4"];
    assert_eq!(asked, pages.map(|page| format!("GET /v1beta/models?pageSize=1000{page}")));
}

#[tokio::test]
async fn offered_ollama_models_are_those_of_the_server() {
    let (found, asked) = offered::<OllamaConfig>("", KEY).await;
    let found = shown(&found.unwrap());
    assert_eq!((found.len(), found[1].as_str()), (5, "model-a - 0/0"));
    assert_eq!(asked, ["GET /api/tags"]);
}

#[tokio::test]
async fn offered_models_with_a_wrong_key_or_without_a_list_are_an_error() {
    let wrong = "key-that-is-wrong-12345";
    let (refused, _) = offered::<OpenAiConfig>("/v1", wrong).await;
    assert!(is_unauthorized(&refused), "{refused:?}");
    let (refused, _) = offered::<AnthropicConfig>("", wrong).await;
    assert!(is_unauthorized(&refused), "{refused:?}");
    let (refused, _) = offered::<OpenAiConfig>("/other", KEY).await;
    let error = refused.unwrap_err().to_string();
    assert_eq!(error, "p/: the server has no list of models");
}

fn is_unauthorized(listed: &Result<Vec<OfferedModel>, ModelListError>) -> bool {
    matches!(listed, Err(ModelListError::Failed(ModelError::Unauthorized { .. })))
}
