use serde_json::{Value, json};

use super::*;

fn config(json: Value) -> ModelConfig {
    serde_json::from_value(json).unwrap()
}

#[test]
fn model_table_takes_each_key_from_the_most_specific_pattern() {
    let table = [
        ("*", json!({ "images": false, "context": 1000 })),
        ("local/*", json!({ "context": 2000, "tools": "json", "text_calls": "run" })),
        ("local/qwen3*", json!({ "tools": "hermes" })),
        ("local/qwen3", json!({ "price": { "input": 1, "output": 2.5 } })),
    ];
    let table: ModelTable =
        table.map(|(name, keys)| (name.to_owned(), config(keys))).into_iter().collect();
    let price = Price { input: 1.0, output: 2.5, ..Price::default() };
    let expected = SourcedFacts {
        context: Some(2000),
        max_output: None,
        images: Some(false),
        tools: Some(ToolStyle::Hermes),
        text_calls: Some(TextCalls::Run),
        price: Some(price),
        ..SourcedFacts::default()
    };
    assert_eq!(table.facts_of("local/qwen3"), expected);
    let smaller = SourcedFacts { tools: Some(ToolStyle::Json), price: None, ..expected };
    assert_eq!(table.facts_of("local/llama"), smaller);
    assert_eq!(table.facts_of("other/qwen3").context, Some(1000));
}

#[test]
fn model_config_refuses_impossible_values_with_the_key() {
    let table = [
        (json!({ "context": 0 }), "context", "0 tokens"),
        (json!({ "max_output": 0 }), "max_output", "0 tokens"),
        (json!({ "price": { "input": -1.0, "output": 1 } }), "price.input", "-1 is not a price"),
        (json!({ "price": { "input": 1, "output": -0.5 } }), "price.output", "-0.5 is not a price"),
        (json!({ "price": { "input": 1, "output": 1, "cached": -1 } }), "price.cached", "-1"),
        (
            json!({ "price": { "input": 1, "output": 1, "cache_write": 2e6 } }),
            "price.cache_write",
            "2000000 is not a price",
        ),
    ];
    for (keys, key, says) in table {
        let (found, error) = config(keys).check_values().unwrap_err();
        assert!(found == key && error.contains(says), "{found}: {error}");
    }
    let free = json!({ "context": 1, "price": { "input": 0, "output": 0 } });
    assert_eq!(config(free).check_values(), Ok(()));
}
