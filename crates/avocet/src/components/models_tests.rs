use avocet_testkit::ManualClock;

use super::*;

const PROVIDERS: &str = "[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
    [providers.open]\nkind = \"openai\"\n";

fn models(more: &str) -> Models {
    let document = ConfigDocument::parse(format!("{PROVIDERS}{more}"), None, &|_| None).unwrap();
    let settings = document.table("").unwrap();
    check_models(&document, &settings).unwrap();
    Models::new(&document, &settings, Arc::<ManualClock>::default()).unwrap()
}

#[tokio::test]
async fn model_is_made_once_and_chains_its_fallbacks() {
    let models = models("");
    let one = models.model("local/one", &[]).unwrap();
    let again = models.model("local/one", &["local/one".to_owned()]).unwrap();
    assert!(Arc::ptr_eq(&one, &again), "a model is not its own fallback");
    let chain = models.model("local/one", &["offline/commands".to_owned()]).unwrap();
    assert!(format!("{chain:?}").starts_with("ModelChain"), "{chain:?}");
    assert_eq!(models.made.lock().len(), 2);
}

#[tokio::test]
async fn model_facts_come_from_its_name_and_the_configuration() {
    let models = models(
        "[models.\"open/*\"]\nprice = { input = 1, output = 2 }\n[models.\"local/gpt-4o\"]\n\
         context = 1000\n",
    );
    let facts = async |name| models.model(name, &[]).unwrap().facts().await;
    let open = facts("open/gpt-4o").await;
    assert_eq!((open.context, open.images), (Some(128_000), true));
    assert_eq!(open.price.unwrap().input, 1.0);
    let local = facts("local/gpt-4o").await;
    assert_eq!((local.context, local.price), (Some(1000), None), "its price there is unknown");
}

#[test]
fn model_without_a_provider_is_an_error_that_lists_providers() {
    let table = [
        ("nope/x", "there is no provider \"nope\"; there are local, offline, open"),
        ("qwen3", "\"qwen3\" is not of the form provider/model"),
        ("local/", "\"local/\" is not of the form provider/model"),
        ("local/a b", "\"local/a b\" is not of the form provider/model"),
    ];
    let models = models("");
    for (name, error) in table {
        assert_eq!(models.model(name, &[]).unwrap_err().to_string(), error);
    }
    let fallbacks = ["nope/x".to_owned()];
    assert!(models.model("local/a", &fallbacks).is_err());
}

#[test]
fn configured_lists_the_models_of_agents_and_of_model_tables() {
    let models = models(
        "[agents.defaults]\nmodel = \"local/a\"\nfallbacks = [\"local/c\"]\n[agents.work]\n\
         model = \"open/gpt-5\"\ncheap_model = \"local/b\"\n[models.\"local/d\"]\ncontext = 1\n\
         [models.\"local/e*\"]\ncontext = 1\n",
    );
    assert_eq!(models.configured(), ["local/a", "local/b", "local/c", "local/d", "open/gpt-5"]);
}

#[test]
fn check_error_names_the_place_of_a_wrong_model() {
    let table = [
        (
            "[models.\"local/qwen2.5\"]\ncontex = 1\n",
            "7:1: unknown key `contex` in [models.local/qwen2.5]; did you mean `context`?",
        ),
        (
            "[models.\"local/a\"]\nprice = { input = 1, outptu = 1 }\n",
            "7:22: unknown key `outptu` in [models.local/a.price]; did you mean `output`?",
        ),
        (
            "[models.\"local/a\"]\nprice = { input = -1, output = 1 }\n",
            "7:11: `models.local/a.price.input`: -1 is not a price in US dollars for a million \
                tokens",
        ),
        (
            "[models.\"local/a\"]\ncontext = 0\n",
            "7:1: `models.local/a.context`: 0 tokens are too few; leave it out if it is unknown",
        ),
        ("[models.qwen]\n", "6:9: `models.qwen`: \"qwen\" is not of the form provider/model"),
        (
            "[models.\"locl/*\"]\n",
            "6:9: `models.locl/*`: there is no provider \"locl\"; there are local, offline, open. \
                Add a \
             table [providers.locl]",
        ),
        (
            "[agents.work]\ncheap_model = \"nope/x\"\n",
            "7:1: `agents.work.cheap_model`: there is no provider \"nope\"; there are local, \
                offline, \
             open. Add a table [providers.nope]",
        ),
        (
            "[agents.work]\nfallbacks = [\"x\"]\n",
            "7:14: `agents.work.fallbacks[0]`: \"x\" is not of the form provider/model",
        ),
    ];
    for (text, error) in table {
        let document =
            ConfigDocument::parse(format!("{PROVIDERS}{text}"), None, &|_| None).unwrap();
        let settings = document.table("").unwrap();
        let found = check_models(&document, &settings).unwrap_err().to_string();
        assert_eq!(found, format!("the configuration:{error}"));
    }
}
