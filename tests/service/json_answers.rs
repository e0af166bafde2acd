//! Answers by a JSON Schema and the lists of models in the real program, with a daemon and without
//! one.

use std::fs;

use avocet_testkit::model_lists::{self, ModelListFake};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::stop;

const SCHEMA: &str = r#"{ "type": "object", "required": ["city"],
    "properties": { "city": { "type": "string" } } }"#;

/// Answers with JSON. If the question asks for it, the first answer or every answer is wrong.
fn answer(request: &Value) -> ModelAnswer {
    let messages = request["messages"].as_array().unwrap();
    let question = messages.iter().find(|message| message["role"] == "user").unwrap();
    let question = question["content"].as_str().unwrap();
    let is_correction = last_user_text(request).contains("not valid by the schema");
    if question == "wrong" || (question == "correct" && !is_correction) {
        return ModelAnswer::says(r#"{"city":7}"#);
    }
    ModelAnswer::says(r#"{"city":"Porto"}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ask_with_a_schema_prints_json_with_a_daemon_and_without_one() {
    let model = OpenAiFake::start(answer).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let file = home.path("schema.json");
    fs::write(&file, SCHEMA).unwrap();
    let ask = |question: &str, more: &[&str]| {
        let file = file.display().to_string();
        home.run(&[&["ask", "me", question, "--schema", &file], more].concat())
    };
    let all_ways = || {
        for question in ["where", "correct"] {
            let ran = ask(question, &[]);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{question}");
            let found: Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!(found, json!({ "city": "Porto" }), "{question}");
        }
        let ran = ask("correct", &["--json"]);
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&found["requests"], &found["answer"]["city"]), (&json!(2), &json!("Porto")));
        let ran = ask("wrong", &[]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(65), ""));
        assert!(ran.err.contains("in 3 requests; the last: at /city: 7 is not"), "{}", ran.err);
    };
    all_ways();
    assert_eq!(model.requests().len(), 8);
    let daemon = home.daemon();
    all_ways();
    assert_eq!((model.requests().len(), model.refusals()), (16, Vec::new()));
    let first = &model.requests()[0];
    let expected: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(first["response_format"]["json_schema"]["schema"], expected);
    assert!(first.get("tools").is_none(), "{first}");
    stop(daemon).await;

    fs::write(&file, r#"{ "properties": { "a": { "type": "text" } } }"#).unwrap();
    let ran = ask("where", &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("schema.json: /properties/a/type: "), "{}", ran.err);
    assert_eq!(model.requests().len(), 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_offered_lists_the_models_of_each_provider_and_the_errors_of_others() {
    let lists = ModelListFake::start(&["model-a", "gpt-4o"]).await;
    let (url, key) = (lists.url(), model_lists::KEY);
    let provider = |name: &str, base_url: &str| {
        format!(
            "[providers.{name}]\nkind = \"openai\"\nmax_retries = 0\nbase_url = \"{base_url}\"\n\
             api_key = \"{key}\"\n"
        )
    };
    let tables = [
        provider("good", &format!("{url}/v1")),
        provider("other", &format!("{url}/other/v1")),
        provider("short", &url),
    ]
    .concat();
    let home = Home::new(program!()).with_config(&tables);
    let ran = home.run(&["models", "--offered", "good"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("good/model-a  65_536"), "{}", ran.out);
    assert!(ran.out.contains("good/gpt-4o   128_000"), "{}", ran.out);
    let ran = home.run(&["models", "--offered", "--json"]);
    assert_eq!(ran.code, Some(1));
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(found[0]["models"][0]["model"], "good/gpt-4o");
    let error = found[1]["error"].as_str().unwrap();
    assert!(error.contains("the server has no list of models"), "{error}");
    let error = found[2]["error"].as_str().unwrap();
    assert!(error.contains(&format!("at {url}/v1; write that as base_url")), "{error}");
    let ran = home.run(&["models", "--offered", "goood"]);
    assert_eq!(ran.code, Some(78));
    assert!(ran.err.contains("there is no provider \"goood\""), "{}", ran.err);
}

#[test]
fn models_update_replaces_the_catalogue_only_by_a_valid_one() {
    let config =
        "[providers.open]\nkind = \"openai\"\n[agents.defaults]\nmodel = \"open/gpt-99\"\n";
    let home = Home::new(program!()).with_config(config);
    let (table, bad) = (home.path("table.json"), home.path("bad.json"));
    let one = json!({ "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 777_000,
        "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6 });
    fs::write(&table, json!({ "gpt-99": one }).to_string()).unwrap();
    fs::write(&bad, "{}").unwrap();
    let (huge, bytes) = (home.path("huge"), home.path("bytes"));
    fs::File::create(&huge).unwrap().set_len(17 << 20).unwrap();
    fs::write(&bytes, [0xff, 0xfe]).unwrap();
    let update = |source: &str| home.run(&["models", "update", source]);
    assert!(home.run(&["models"]).out.contains("unknown"));
    let ran = update(&table.display().to_string());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for (source, error) in [
        (bad.display().to_string(), "it has no chat model of a known provider"),
        (huge.display().to_string(), "it is longer than 16 MiB"),
        (bytes.display().to_string(), "it is not a text in UTF-8"),
        (home.path("missing").display().to_string(), "No such file"),
        ("http://127.0.0.1:9/x".to_owned(), "the catalogue is unchanged"),
        ("https://localhost/x".to_owned(), "the catalogue is unchanged"),
    ] {
        let ran = update(&source);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{source}");
        assert!(ran.err.contains(error), "{source}: {}", ran.err);
    }
    let shown = home.run(&["models"]).out;
    assert!(shown.contains("777_000 (catalogue)") && shown.contains("1/2 (catalogue)"), "{shown}");
    // The written file is a catalogue, too.
    let written = home.data_dir().join("models.txt").display().to_string();
    assert_eq!(update(&written).code, Some(0));
}
