use super::*;

const OPENAI: &str = "api.openai.com";

/// The context, output and input price of a model at a host, and its context elsewhere.
type Row = (Option<u64>, Option<u64>, Option<f64>, Option<u64>);

fn row(catalogue: &ModelCatalogue, model: &str, host: &str) -> Row {
    let CatalogueFacts { here, elsewhere } = catalogue.find_facts(model, Some(host));
    assert_eq!(elsewhere.price, None, "{model}");
    let input = here.price.map(|price| price.input);
    (here.context, here.max_output, input, elsewhere.context)
}

#[test]
fn shipped_catalogue_is_valid_small_and_knows_current_models() {
    let shipped = ModelCatalogue::default();
    ModelCatalogue::check_text(shipped.as_text()).unwrap();
    assert!(shipped.as_text().len() <= 100_000, "{}", shipped.as_text().len());
    let CatalogueSummary { source, date, models } = shipped.summarize();
    assert!(source.contains("LiteLLM") && source.contains("MIT"), "{source}");
    assert!(date.len() == 10 && date.starts_with("20") && models > 300, "{date} {models}");
    let table = [
        ("gpt-4o", OPENAI, Some(128_000), Some(2.5)),
        ("gpt-5", OPENAI, Some(400_000), Some(1.25)),
        ("claude-opus-4-7", "api.anthropic.com", Some(1_000_000), Some(5.0)),
        ("claude-haiku-4-5", "api.anthropic.com", Some(200_000), Some(1.0)),
        ("gemini-2.5-pro", "generativelanguage.googleapis.com", Some(1_048_576), Some(1.25)),
        ("deepseek-chat", "api.deepseek.com", None, None),
        ("mistral-large-latest", "api.mistral.ai", None, None),
        ("openai/gpt-oss-120b", "api.groq.com", Some(131_072), None),
    ];
    for (model, host, context, input) in table {
        let (found, _, price, _) = row(&shipped, model, host);
        assert!(found.is_some() && price.is_some(), "{model}: {found:?} {price:?}");
        assert!(context.is_none_or(|context| found == Some(context)), "{model}: {found:?}");
        assert!(input.is_none_or(|input| price == Some(input)), "{model}: {price:?}");
    }
}

#[test]
fn facts_come_from_the_host_else_without_price_from_another() {
    let text = "avocet models 1\nsource a list\ndate 2026-01-31\n\n[api.openai.com]\n\
        gpt-9 400000 128000 itjr 1.25 10 0.125 -\ngpt-9-mini 1000 - - - - - -\n\n[api.x.ai]\n\
        grok 5 4 t 1 2 - -\na/gpt-9 7 - - 3 3 - -\n";
    let catalogue = ModelCatalogue::read(text.to_owned(), "", "").unwrap();
    let whole = (Some(400_000), Some(128_000), Some(1.25), None);
    let none = (None, None, None, None);
    let table = [
        ("gpt-9", OPENAI, whole),
        ("GPT-9", OPENAI, whole),
        ("gpt-9-2026-08-07", OPENAI, whole),
        ("gpt-9-20260807", OPENAI, whole),
        ("gpt-9-latest", OPENAI, whole),
        ("gpt-9-mini", OPENAI, (Some(1000), None, None, None)),
        ("grok", OPENAI, (None, None, None, Some(5))),
        ("a/gpt-9", "api.x.ai", (Some(7), None, Some(3.0), None)),
        ("openai/gpt-9", "localhost:8000", (None, None, None, Some(400_000))),
        ("pt-9", OPENAI, none),
        ("gpt-9-", OPENAI, none),
        ("gpt-9-2026-x", OPENAI, none),
        ("", OPENAI, none),
        ("[api.x.ai]", OPENAI, none),
    ];
    for (model, host, expected) in table {
        assert_eq!(row(&catalogue, model, host), expected, "{model} at {host}");
    }
    let facts = catalogue.find_facts("gpt-9", Some(OPENAI)).here;
    assert_eq!((facts.images, facts.tools), (Some(true), Some(ToolStyle::Native)));
    assert_eq!(facts.price.unwrap().cached, Some(0.125));
    assert_eq!(catalogue.find_facts("gpt-9", None).elsewhere.tools, None);
}

#[test]
fn read_refuses_a_text_with_a_fault_and_names_its_line() {
    let head = "avocet models 1\nsource s\ndate d\n";
    let table = [
        ("", "it is neither a catalogue"),
        ("avocet models 2\nsource s\ndate d\n[a]\nm 1 1 - - - - -\n", "it is neither a catalogue"),
        ("<html>", "it is neither a catalogue"),
        ("{", "it is not LiteLLM's table: EOF"),
        ("{}", "it is not LiteLLM's table: it has no chat model"),
        (head, "it has no models"),
        (&format!("{head}m 1 1 - - - - -"), "line 4: a model needs the [HOST]"),
        (&format!("{head}[a\n"), "line 4: a host ends with ]"),
        (&format!("{head}[a]\n\nm 0 1 - - - - -"), "line 6: it is not a model"),
        (&format!("{head}[a]\nm 1 1 x - - - -"), "line 5: it is not a model"),
        (&format!("{head}[a]\nm 1 1 - -1 - - -"), "line 5: it is not a model"),
        (&format!("{head}[a]\nm 1 1 - nan 1 - -"), "line 5: it is not a model"),
        (&format!("{head}[a]\nm 1 1 - - - - - -"), "line 5: it is not a model"),
        (&format!("{head}[a]\nm 1 1 - - - -"), "line 5: it is not a model"),
    ];
    for (text, expected) in table {
        let error = ModelCatalogue::read(text.to_owned(), "s", "d").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let long = format!("{head}[a]\n{}", "m 1 1 - - - - -\n".repeat(MAX_BYTES / 16));
    let error = ModelCatalogue::read(long, "s", "d").unwrap_err().to_string();
    assert_eq!(error, "it is longer than 1048576 bytes");
}

#[test]
fn read_makes_a_catalogue_of_litellms_table() {
    let table = serde_json::json!({
        "sample_spec": { "litellm_provider": "one of", "mode": "chat", "max_input_tokens": "text" },
        "gpt-9": {
            "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 272_000,
            "max_output_tokens": 128_000, "input_cost_per_token": 1.25e-6,
            "output_cost_per_token": 1e-5, "cache_read_input_token_cost": 1.25e-7,
            "supports_vision": true, "supports_function_calling": true,
            "supports_response_schema": true, "supports_reasoning": false,
        },
        "gpt-8": {
            "litellm_provider": "openai", "mode": "responses", "max_input_tokens": 200_000.0,
            "max_output_tokens": 100_000,
        },
        "gpt-7": {
            "litellm_provider": "openai", "mode": "chat", "max_input_tokens": "128000",
            "max_output_tokens": {}, "input_cost_per_token": [], "supports_vision": "yes",
        },
        "gemini/Gemini-9": {
            "litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1_048_576,
            "input_cost_per_token": 1e-30, "output_cost_per_token": 5.0,
        },
        "drawing": { "litellm_provider": "openai", "mode": "image_generation" },
        "elsewhere/x": { "litellm_provider": "bedrock", "mode": "chat", "max_input_tokens": 1 },
        "two words": { "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1 },
        "empty": { "litellm_provider": "openai", "mode": "chat" },
    });
    let made = ModelCatalogue::read(table.to_string(), "a\nlist", "2026-01-31").unwrap();
    let expected = "avocet models 1\nsource a list\ndate 2026-01-31\n\n[api.openai.com]\n\
        gpt-7 128000 - - - - - -\ngpt-8 200000 100000 - - - - -\ngpt-9 400000 128000 itj 1.25 10 0.125 -\n\n\
        [generativelanguage.googleapis.com]\ngemini-9 1048576 - - 0 - - -\n";
    assert_eq!(made.as_text(), expected);
    assert_eq!(ModelCatalogue::read(expected.to_owned(), "", ""), Ok(made));
}
