//! One contract for the clients of both APIs, against the strict fakes and faulty answers.

use avocet_protocol::model::Money;
use avocet_testkit::ManualClock;
use avocet_testkit::embeddings::{
    DIMENSIONS, EmbeddedCall, EmbeddingApi, EmbeddingsFake, MODEL, vector,
};
use avocet_testkit::http::{Piece, whole};
use avocet_testkit::openai::KEY;

use super::*;
use crate::{OllamaConfig, OpenAiConfig, ProviderConfig};

const APIS: [EmbeddingApi; 2] = [EmbeddingApi::OpenAi, EmbeddingApi::Ollama];
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A client without retries.
fn client(fake: &EmbeddingsFake, api: EmbeddingApi, clock: &Arc<ManualClock>) -> ServedEmbedder {
    let config = EmbeddingsConfig {
        provider: "local".to_owned(),
        model: MODEL.to_owned(),
        dimensions: None,
        ..EmbeddingsConfig::default()
    };
    configured(fake, api, &config, clock)
}

fn configured(
    fake: &EmbeddingsFake,
    api: EmbeddingApi,
    config: &EmbeddingsConfig,
    clock: &Arc<ManualClock>,
) -> ServedEmbedder {
    let (base_url, key) = (fake.base_url(), Some(Secret::new(KEY.to_owned()).into()));
    let made = match api {
        EmbeddingApi::OpenAi => {
            let provider =
                OpenAiConfig { base_url, api_key: key, max_retries: 0, ..Default::default() };
            provider.create_embedder(config, clock.clone())
        }
        EmbeddingApi::Ollama => {
            let provider = OllamaConfig { base_url, max_retries: 0, ..Default::default() };
            provider.create_embedder(config, clock.clone())
        }
    };
    made.unwrap().unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn embed_returns_the_vectors_in_the_order_of_the_texts() {
    for api in APIS {
        let fake = EmbeddingsFake::start(api).await;
        let client = client(&fake, api, &Arc::default());
        assert_eq!(client.name(), "local/embed-test");
        let asked = texts(&["my dentist", "歯医者", "the hotel"]);
        let EmbeddedTexts { vectors, spent } = client.embed(&asked).await.unwrap();
        for (text, found) in asked.iter().zip(&vectors) {
            let same = vector(text).iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(same && found.len() == DIMENSIONS, "{api:?}: {text}");
        }
        assert_eq!(fake.refusals(), [""; 0], "{api:?}");
        let expected =
            Spent { model: "local/embed-test".to_owned(), usage: Usage::new(8, 0), cost: None };
        assert_eq!(spent, expected, "{api:?}: as the server counts");
        assert_eq!(client.embed(&[]).await.unwrap().vectors, Vec::<Vec<f32>>::new());
        assert_eq!(fake.calls().len(), 1, "no request for no text");
    }
}

#[tokio::test]
async fn embed_splits_many_texts_into_batches_and_cuts_long_ones() {
    for api in APIS {
        let fake = EmbeddingsFake::start(api).await;
        let client = client(&fake, api, &Arc::default());
        let mut asked: Vec<String> =
            (0..MAX_BATCH + 3).map(|number| format!("text {number}")).collect();
        asked[0] = "語".repeat(9000);
        let price = Price { input: 0.5, output: 0.0, cached: None, cache_write: None };
        let client = client.with_price(Some(price));
        let EmbeddedTexts { vectors, spent } = client.embed(&asked).await.unwrap();
        assert_eq!(vectors.len(), asked.len(), "{api:?}");
        assert_eq!(spent.usage, Usage::new(16, 0), "{api:?}: both requests");
        assert_eq!(spent.cost, Some(Money::dollars(0.000_008)), "{api:?}");
        let calls = fake.calls();
        let sizes: Vec<_> = calls.iter().map(|call| call.inputs.len()).collect();
        assert_eq!(sizes, [MAX_BATCH, 3], "{api:?}");
        assert!(calls[0].inputs[0].len() <= MAX_TEXT, "{api:?}");
        assert_eq!(fake.refusals(), [""; 0], "{api:?}");
    }
}

#[tokio::test]
async fn embed_asks_for_the_configured_dimensions() {
    for api in APIS {
        let fake = EmbeddingsFake::start(api).await;
        let config = EmbeddingsConfig {
            provider: "local".to_owned(),
            model: MODEL.to_owned(),
            dimensions: Some(32),
            ..EmbeddingsConfig::default()
        };
        let client = configured(&fake, api, &config, &Arc::default());
        assert_eq!(client.name(), "local/embed-test@32", "vectors of another length differ");
        assert_eq!(client.embed(&texts(&["a"])).await.unwrap().vectors[0].len(), 32, "{api:?}");
        let call = EmbeddedCall { inputs: texts(&["a"]), dimensions: Some(32) };
        assert_eq!(fake.calls(), [call], "{api:?}");
        fake.answer_next(vec![vectors_of(api, &[&[1.0, 2.0]])]);
        let refused = client.embed(&texts(&["a"])).await;
        let Err(EmbedError::Refused(why)) = refused else { panic!("{api:?}: {refused:?}") };
        assert!(why.contains("of length 2 instead of 32; leave out `dimensions`"), "{why}");
    }
}

#[tokio::test]
async fn embed_refusal_names_the_remedy() {
    for api in APIS {
        let fake = EmbeddingsFake::start(api).await;
        let config = EmbeddingsConfig {
            provider: "local".to_owned(),
            model: "other".to_owned(),
            dimensions: None,
            ..EmbeddingsConfig::default()
        };
        let other = configured(&fake, api, &config, &Arc::default());
        let refused = other.embed(&texts(&["a"])).await;
        let Err(EmbedError::Refused(why)) = refused else { panic!("{api:?}: {refused:?}") };
        let remedy = match api {
            EmbeddingApi::OpenAi => "check base_url of the provider and `model` in [embeddings]",
            EmbeddingApi::Ollama => "fetch it: ollama pull",
        };
        assert!(why.starts_with("the embedding model local/other: 404: "), "{why}");
        assert!(why.ends_with(remedy), "{why}");

        let client = client(&fake, api, &Arc::default());
        let refused = client.embed(&texts(&["a", " "])).await;
        let Err(EmbedError::Refused(why)) = refused else { panic!("{api:?}: {refused:?}") };
        assert!(why.contains("a text without words has no vector"), "{why}");
    }
    let fake = EmbeddingsFake::start(EmbeddingApi::OpenAi).await;
    let mut client = client(&fake, EmbeddingApi::OpenAi, &Arc::default());
    client.server.api_key = Some(Secret::new("sk-wrong-key".to_owned()));
    let refused = client.embed(&texts(&["a"])).await;
    let Err(EmbedError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("check api_key") && !why.contains("sk-wrong"), "{why}");
}

/// An answer with these vectors.
fn vectors_of(api: EmbeddingApi, vectors: &[&[f32]]) -> Vec<Piece> {
    let body = match api {
        EmbeddingApi::OpenAi => {
            let data = vectors.iter().enumerate();
            let data = data.map(|(index, one)| json!({ "index": index, "embedding": one }));
            json!({ "data": data.collect::<Vec<_>>() })
        }
        EmbeddingApi::Ollama => json!({ "embeddings": vectors }),
    };
    whole(200, &JSON, &body.to_string())
}

#[tokio::test]
async fn embed_reports_transient_failures_and_malformed_answers_as_failed() {
    for api in APIS {
        let answers = [
            (whole(429, &JSON, r#"{"error":"slow down"}"#), "429: slow down"),
            (whole(503, &[], "overloaded"), "503: overloaded"),
            (whole(200, &JSON, r#"{"words":[]}"#), "holds no vectors"),
            (whole(200, &JSON, "<html>"), "holds no vectors"),
            (vectors_of(api, &[&[1.0], &[1.0]]), "2 vectors for 1 texts"),
            (vectors_of(api, &[&[]]), "unusable lengths"),
            (vec![Piece::Reset], "the connection broke"),
        ];
        for (pieces, says) in answers {
            let fake = EmbeddingsFake::answering(api, vec![pieces]).await;
            let failed = client(&fake, api, &Arc::default()).embed(&texts(&["a"])).await;
            let Err(EmbedError::Failed(why)) = failed else { panic!("{api:?}: {failed:?}") };
            assert!(why.contains(says), "{api:?}: {why}");
        }
    }
    let twice =
        json!({ "data": [{ "index": 0, "embedding": [1.0] }, { "index": 0, "embedding": [1.0] }] });
    let pieces = whole(200, &JSON, &twice.to_string());
    let fake = EmbeddingsFake::answering(EmbeddingApi::OpenAi, vec![pieces]).await;
    let client = client(&fake, EmbeddingApi::OpenAi, &Arc::default());
    let failed = client.embed(&texts(&["a", "b"])).await;
    assert!(matches!(failed, Err(EmbedError::Failed(_))), "one text has two vectors: {failed:?}");
}

#[test]
fn by_index_reads_indexes_of_any_type_and_else_the_order() {
    let data = |indexes: [Value; 2]| {
        let one = |(index, number): (Value, f64)| json!({ "index": index, "embedding": [number] });
        by_index(&indexes.into_iter().zip([1.0, 2.0]).map(one).collect::<Vec<_>>())
    };
    let (in_order, turned) = (Some(vec![vec![1.0], vec![2.0]]), Some(vec![vec![2.0], vec![1.0]]));
    assert_eq!(data([json!("0"), json!(1.0)]), in_order);
    assert_eq!(data([json!("1"), json!(0)]), turned);
    assert_eq!(data([json!(null), json!(null)]), in_order);
    assert_eq!(data([json!(1), json!(-1)]), in_order);
    assert_eq!(data([json!(0), json!(0)]), None);
}

#[tokio::test]
async fn embed_retries_after_the_time_that_the_server_asks_for() {
    for api in APIS {
        let busy = whole(429, &[("retry-after", "7")], "slow down");
        let fake = EmbeddingsFake::answering(api, vec![busy]).await;
        let clock = Arc::<ManualClock>::default();
        let mut client = client(&fake, api, &clock);
        client.server.retries = 1;
        let asked = texts(&["a"]);
        let (vectors, ()) = tokio::join!(client.embed(&asked), async {
            // The timeout of the request is longer.
            clock.sleeper_within(..=Duration::from_secs(7)).await;
            clock.advance(Duration::from_secs(7));
        });
        assert_eq!(vectors.unwrap().vectors.len(), 1, "{api:?}");
        assert_eq!(fake.calls().len(), 2, "{api:?}");
    }
}

#[tokio::test]
async fn embed_times_out_at_a_silent_server() {
    for api in APIS {
        let fake = EmbeddingsFake::answering(api, vec![vec![Piece::Hang]]).await;
        let clock = Arc::<ManualClock>::default();
        let client = client(&fake, api, &clock);
        let (limit, asked) = (client.server.timeout, texts(&["a"]));
        let (failed, ()) = tokio::join!(client.embed(&asked), async {
            clock.sleeper(limit).await;
            clock.advance(limit);
        });
        let Err(EmbedError::Failed(why)) = failed else { panic!("{api:?}: {failed:?}") };
        assert!(why.contains("did not answer within"), "{why}");
    }
}

#[test]
fn embeddings_config_check_names_the_key() {
    let config = |provider: &str, model: &str, dimensions| {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        let config = EmbeddingsConfig { provider, model, dimensions, ..Default::default() };
        config.check_values().map_err(|(key, _)| key)
    };
    assert_eq!(config("", "m", None), Err("provider"));
    assert_eq!(config("p", "", None), Err("model"));
    assert_eq!(config("p", "m", Some(0)), Err("dimensions"));
    assert_eq!(config("p", "m", Some(8193)), Err("dimensions"));
    assert_eq!(config("p", "m", Some(768)), Ok(()));
    let similar = EmbeddingsConfig {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        least_similarity: 60.0,
        ..Default::default()
    };
    assert_eq!(similar.check_values().map_err(|(key, _)| key), Err("least_similarity"));
}
