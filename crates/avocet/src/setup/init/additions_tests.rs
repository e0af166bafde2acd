use super::*;
use crate::setup::init::registered_bots;

const TOKEN: &str = "4711:AA-secret_bcdefghijklmnopqrstuvwxyz";

fn additions() -> Additions {
    Additions {
        provider: Some(AddedProvider {
            name: "anthropic".to_owned(),
            kind: "anthropic".to_owned(),
            base_url: None,
            api_key: Some(Secret::new("sk-ant-1${X}".to_owned())),
        }),
        model: Some("anthropic/claude-sonnet-5".to_owned()),
        bot: Some(AddedBot {
            known: registered_bots().find_by_token(TOKEN).unwrap(),
            token: Secret::new("123:abc".to_owned()),
            api_url: None,
            name: Some("@avocet_bot".to_owned()),
            owner: Some(OwnerCandidate {
                id: 7,
                name: "Ada\n[channels.discord]".to_owned(),
                reason: String::new(),
            }),
        }),
    }
}

#[test]
fn added_to_an_empty_text_is_a_commented_configuration() {
    insta::assert_snapshot!(additions().added_to("").unwrap());
}

#[test]
fn added_to_keeps_the_text_that_is_there() {
    let text =
        "# mine\n[agents.defaults] # keep\nmodel = \"a/b\"\n\n[providers.a]\nkind = \"openai\"\n";
    let added = additions().added_to(text).unwrap();
    let fallback = "model = \"a/b\"\nfallbacks = [\"anthropic/claude-sonnet-5\"]\n";
    let expected = text.replace("model = \"a/b\"\n", fallback);
    assert!(added.starts_with(&expected), "the model stays, and gets a fallback: {added}");
    assert_eq!(model_of(&added).as_deref(), Some("a/b"));
    assert_eq!(section_names(&added, "providers"), ["a", "anthropic"]);
    assert_eq!(section_names(&added, "channels"), ["telegram"]);
}

#[test]
fn added_to_appends_to_the_fallbacks_once() {
    let provided = additions();
    let models = Additions { provider: None, bot: None, ..provided };
    let with = |fallbacks: &str| {
        format!("[agents.defaults]\nmodel = \"a/b\"\nfallbacks = [{fallbacks}]\n")
    };
    let both = with("\"c/d\", \"anthropic/claude-sonnet-5\"");
    assert_eq!(models.added_to(&with("\"c/d\"")).unwrap(), both);
    assert_eq!(models.added_to(&both).unwrap(), both);
    let same = "[agents.defaults]\nmodel = \"anthropic/claude-sonnet-5\"\n";
    assert_eq!(models.added_to(same).unwrap(), same);
}

#[test]
fn added_to_refuses_a_name_that_exists_and_a_text_that_is_no_toml() {
    let table = [
        ("[channels.telegram]\ntoken = \"x\"\n", "it already has [channels.telegram]"),
        ("[providers.anthropic]\n", "it already has [providers.anthropic]"),
        ("channels = 1\n", "`channels` is not a table"),
        ("[a\n", "it is not TOML: "),
    ];
    for (text, expected) in table {
        let error = additions().added_to(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn added_to_an_inline_table_stays_inline() {
    let added = additions().added_to("providers = { a = { kind = \"openai\" } }\n").unwrap();
    assert_eq!(section_names(&added, "providers"), ["a", "anthropic"]);
    assert_eq!(added.matches("providers").count(), 1, "{added}");
}
