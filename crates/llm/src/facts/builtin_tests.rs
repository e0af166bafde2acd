use std::collections::BTreeSet;

use super::*;

/// The facts about a model at a host.
#[track_caller]
fn of(model: &str, host: &str) -> (BuiltIn, Option<(f64, f64)>) {
    let known = BuiltIn::find_model(model, Some(host));
    (known, known.facts.price.map(|price| (price.input, price.output)))
}

#[test]
fn builtin_facts_come_from_the_most_specific_pattern() {
    let table = [
        ("gpt-4o", OPENAI, Some(128_000), Some((2.5, 10.0))),
        ("gpt-4o-2024-11-20", OPENAI, Some(128_000), Some((2.5, 10.0))),
        ("gpt-4o-2024-05-13", OPENAI, Some(128_000), Some((5.0, 15.0))),
        ("gpt-4o-mini", OPENAI, Some(128_000), Some((0.15, 0.6))),
        ("gpt-4o-mini-2024-07-18", OPENAI, Some(128_000), Some((0.15, 0.6))),
        ("gpt-4.1-nano", OPENAI, Some(1_047_576), Some((0.1, 0.4))),
        ("gpt-5-mini", OPENAI, Some(400_000), Some((0.25, 2.0))),
        ("claude-3-5-sonnet-20241022", ANTHROPIC, Some(200_000), Some((3.0, 15.0))),
        ("claude-opus-4-1-20250805", ANTHROPIC, Some(200_000), Some((15.0, 75.0))),
        ("claude-opus-4-5-20251101", ANTHROPIC, Some(200_000), Some((5.0, 25.0))),
        ("gemini-2.5-flash", GOOGLE, Some(1_048_576), Some((0.3, 2.5))),
        ("gemini-2.5-flash-lite", GOOGLE, Some(1_048_576), Some((0.1, 0.4))),
        ("Qwen/Qwen3-4B-Instruct-2507", "localhost:8000", Some(262_144), None),
        ("qwen3:8b", "localhost:11434", Some(32_768), None),
    ];
    for (model, host, context, price) in table {
        let (known, prices) = of(model, host);
        assert_eq!((known.facts.context, prices), (context, price), "{model}");
    }
}

#[test]
fn builtin_price_applies_only_at_the_host_of_its_provider() {
    for host in ["openrouter.ai", "127.0.0.1:8080", "api.openai.com.example", "api.openai.com:8443"]
    {
        let (known, price) = of("openai/gpt-4o", host);
        assert_eq!((known.facts.context, price), (Some(128_000), None), "{host}");
    }
    assert_eq!(BuiltIn::find_model("gpt-4o", None).facts.price, None);
}

#[test]
fn builtin_facts_of_an_unknown_model_are_none() {
    let names = [
        "fake",
        "",
        "gpt",
        "gpt-4o-audio-preview",
        "gpt-50",
        "claude",
        "qwen3-max-2026",
        "my-llama-3.1",
    ];
    for name in names {
        let (known, price) = of(name, OPENAI);
        assert_eq!((known.facts.context, price), (None, None), "{name}");
    }
    let (later, price) = of("claude-opus-4-9", ANTHROPIC);
    assert_eq!((later.facts.images, later.facts.context, price), (Some(true), Some(200_000), None));
}

#[test]
fn builtin_tool_style_is_that_of_the_model_family() {
    use ToolStyle::{Glm, Harmony, Hermes, Json, Llama, Minimax, Mistral, Native, Qwen, Seed};
    let table = [
        ("gpt-oss:20b", Some(Native), Some(Harmony)),
        ("openai/gpt-oss-120b", Some(Native), Some(Harmony)),
        ("gemma3:27b", Some(Json), Some(Json)),
        ("gemma-2-9b-it", Some(Json), Some(Json)),
        ("meta-llama/Llama-3.1-8B-Instruct", Some(Native), Some(Llama)),
        ("llama3:8b", Some(Json), Some(Json)),
        ("NousResearch/Hermes-3-Llama-3.1-8B", Some(Hermes), Some(Hermes)),
        ("Qwen2.5-7B-Instruct", Some(Native), Some(Hermes)),
        ("qwen3:8b", Some(Native), Some(Hermes)),
        ("qwen3-coder:30b", Some(Native), Some(Qwen)),
        ("Qwen/Qwen3-Coder-Next", Some(Native), Some(Qwen)),
        ("zai-org/GLM-4.5-Air", Some(Native), Some(Glm)),
        ("MiniMax-M2.1", Some(Native), Some(Minimax)),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct", Some(Native), Some(Seed)),
        ("moonshotai/Kimi-K2-Instruct", Some(Native), Some(Json)),
        ("deepseek-v3.1:671b", Some(Native), Some(Json)),
        ("mistral:7b-instruct", Some(Native), Some(Mistral)),
        ("mixtral:8x7b", Some(Json), Some(Json)),
        ("mixtral:8x22b", Some(Native), Some(Mistral)),
        ("phi4", Some(Json), Some(Json)),
        ("nobody-knows", None, None),
    ];
    for (model, tools, dialect) in table {
        let known = BuiltIn::find_model(model, None);
        assert_eq!((known.facts.tools, known.dialect), (tools, dialect), "{model}");
    }
}

#[test]
fn builtin_images_are_those_of_the_model_family() {
    let table = [
        ("gpt-4o", Some(true)),
        ("o3-mini", Some(false)),
        ("claude-3-haiku-20240307", Some(true)),
        ("gemma3:4b", Some(true)),
        ("gemma3:1b", Some(false)),
        ("llama3.2:3b", Some(false)),
        ("llama3.2-vision:11b", Some(true)),
        ("qwen2.5vl:7b", Some(true)),
        ("qwen3-next", None),
    ];
    for (model, images) in table {
        assert_eq!(BuiltIn::find_model(model, None).facts.images, images, "{model}");
    }
}

#[test]
fn builtin_families_do_not_contradict_each_other() {
    let mut seen = BTreeSet::new();
    for family in FAMILIES {
        for pattern in family.patterns {
            assert!(seen.insert(pattern), "{pattern} twice");
            assert!(!pattern.contains('/') && **pattern == pattern.to_lowercase(), "{pattern}");
            let found = BuiltIn::find_model(pattern, family.price.map(|sold| sold.host));
            let expected =
                SourcedFacts { price: family.price.map(|sold| sold.price), ..family.facts };
            assert_eq!(found.facts, expected, "{pattern} is hidden by another");
        }
        let Some(PriceAtHost { price, .. }) = family.price else { continue };
        let Price { input, output, cached, cache_write } = price;
        assert!(0.0 < input && input < output, "{:?}", family.patterns);
        assert!(
            cached.is_none_or(|cached| 0.0 < cached && cached < input),
            "{:?}",
            family.patterns
        );
        assert!(cache_write.is_none_or(|write| write > input), "{:?}", family.patterns);
    }
}

#[test]
fn builtin_host_is_the_part_of_a_base_url_between_the_slashes() {
    let table = [
        ("https://api.openai.com/v1", Some("api.openai.com")),
        ("https://api.anthropic.com", Some("api.anthropic.com")),
        ("http://127.0.0.1:8080/v1", Some("127.0.0.1:8080")),
        ("https://a@api.openai.com/v1", Some("a@api.openai.com")),
        ("https:///v1", None),
        ("nonsense", None),
    ];
    for (url, expected) in table {
        assert_eq!(host_of(url), expected, "{url}");
    }
}
