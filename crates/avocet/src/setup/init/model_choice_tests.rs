use avocet_llm::SourcedFacts;

use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn pick_reads_numbers_names_and_parts_of_names() {
    let all = names(&["alpha-1", "alpha-2", "beta"]);
    let shown = ["beta", "alpha-2"];
    let model = |name: &str| Pick::Model(name.to_owned());
    let table = [
        ("", Pick::Default),
        ("1", model("beta")),
        ("2", model("alpha-2")),
        ("alpha-1", model("alpha-1")),
        ("BET", model("beta")),
        ("alpha", Pick::Several(vec!["alpha-1", "alpha-2"])),
        ("0", Pick::Nothing),
        ("9", Pick::Nothing),
        ("gamma", Pick::Nothing),
    ];
    for (answer, expected) in table {
        assert_eq!(pick_model(answer, &shown, &all), expected, "{answer}");
    }
    assert_eq!(pick_model("any", &[], &[]), model("any"));
}

#[test]
fn pick_finds_parts_of_names_only_in_models_that_chat() {
    let all =
        names(&["gpt-4o", "gpt-4o-audio", "gpt-5", "gpt-5-Image", "text-embed-1", "whisper-1"]);
    let model = |name: &str| Pick::Model(name.to_owned());
    let table = [
        ("gpt", Pick::Several(vec!["gpt-4o", "gpt-5"])),
        ("4o", model("gpt-4o")),
        ("whisper-1", model("whisper-1")),
        ("whisper", Pick::OtherUse),
        ("image", Pick::OtherUse),
    ];
    for (answer, expected) in table {
        assert_eq!(pick_model(answer, &chat_models(&all), &all), expected, "{answer}");
    }
}

#[test]
fn usual_model_is_the_default_if_it_is_shown() {
    assert_eq!(usual_of(&["a", "b"], Some("b")), Some("b"));
    assert_eq!(usual_of(&["a", "c"], Some("b")), Some("a"));
    assert_eq!(usual_of(&[], Some("b")), None);
    assert_eq!(usual_of(&["a", "c"], None), None);
    let all: Vec<String> = (0..=SHOWN).map(|number| format!("model-{number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let shown = first_shown(all.clone(), Some("model-20"));
    assert_eq!((shown[0], shown[1], shown.len()), ("model-20", "model-0", all.len()));
    assert_eq!(first_shown(all.clone(), Some("model-3")), all);
}

#[test]
fn table_shows_at_most_twenty_models() {
    let all: Vec<String> = (0..23).map(|number| format!("model-{number}")).collect();
    let shown: Vec<&str> = all.iter().map(String::as_str).collect();
    let models: Vec<OfferedModel> = all
        .iter()
        .map(|name| OfferedModel { name: name.clone(), facts: SourcedFacts::default() })
        .collect();
    let text = models_table(&models, &shown);
    assert!(text.contains("model-19") && !text.contains("model-20"), "{text}");
    assert!(text.ends_with("... and 3 more; enter a part of a name to find them\n"), "{text}");
}

#[test]
fn checked_model_is_in_the_list_with_or_without_its_provider() {
    let provider = AddedProvider {
        name: "openai".to_owned(),
        kind: "openai".to_owned(),
        base_url: None,
        api_key: None,
    };
    let all = names(&["gpt-5", "vendor/model"]);
    for (given, expected) in
        [("gpt-5", "gpt-5"), ("openai/gpt-5", "gpt-5"), ("vendor/model", "vendor/model")]
    {
        assert_eq!(check_model(given, &provider, &all).unwrap(), expected);
    }
    let error = check_model("gpt-6", &provider, &all).unwrap_err().error.to_string();
    assert_eq!(error, "openai has no model \"gpt-6\"; did you mean gpt-5?");
    assert_eq!(check_model("openai/any", &provider, &[]).unwrap(), "any");
}
