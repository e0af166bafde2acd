use avocet_net::{FetchLimits, GuardedClient};
use avocet_protocol::access::{Role, Trust};
use avocet_testkit::{ManualClock, tool_context};

use super::*;
use crate::builtin::web_search::{self, WebSearch};
use crate::{SearchConfig, SearchEngine};

fn web() -> Arc<WebAccess> {
    let clock = Arc::new(ManualClock::default());
    let client = GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default());
    let config = SearchConfig { provider: "duckduckgo".to_owned(), base_url: None, api_key: None };
    let search = SearchEngine::new(&config, &client, clock.clone()).unwrap();
    Arc::new(WebAccess::new(client, Some(search), clock))
}

fn arguments<A: serde::de::DeserializeOwned>(arguments: Value) -> A {
    serde_json::from_value(arguments).unwrap()
}

#[test]
fn web_tools_have_low_trust_and_no_effect() {
    let fetch = WebFetch { web: web() }.describe();
    let search = WebSearch::from_web(web()).describe();
    for description in [fetch, search] {
        assert_eq!(description.trust, Trust::Low, "{description:?}");
        assert_eq!((description.class, description.parallel), (ToolClass::Pure, true));
        assert_eq!(description.role, Role::Owner);
    }
}

#[tokio::test]
async fn web_fetch_question_shows_the_exact_url_and_grants_its_host() {
    let table = [
        ("https://a.dev/x?y=z#w", Some(("Fetch `https://a.dev/x?y=z#w`", "a.dev"))),
        (" http://A.dev:8080/`b` ", Some(("Fetch `http://a.dev:8080/%60b%60`", "a.dev"))),
        ("https://a.dev/\u{202e}gpj?`", Some(("Fetch `https://a.dev/%E2%80%AEgpj?%60`", "a.dev"))),
        ("https://b.dev@a.dev/\n", Some(("Fetch `https://b.dev@a.dev/`", "a.dev"))),
        ("a.dev", None),
    ];
    let fetch = WebFetch { web: web() };
    for (url, asked) in table {
        let arguments: WebFetchArguments = arguments(json!({ "url": url }));
        assert_eq!(fetch.leaving(&arguments), [Leaving::Url(url.trim().to_owned())]);
        let question = fetch.question(&arguments, &tool_context()).await;
        let question = question.as_ref().map(|it| (it.shown.as_str(), it.scope.as_str()));
        assert_eq!(question, asked);
    }
}

#[tokio::test]
async fn web_search_leaving_contains_the_query() {
    let arguments: web_search::WebSearchArguments =
        arguments(json!({ "query": "the `mill`\nturns" }));
    let search = WebSearch::from_web(web());
    let query = Leaving::Query("the `mill`\nturns".to_owned());
    assert_eq!(search.leaving(&arguments), [query]);
    let question = search.question(&arguments, &tool_context()).await.unwrap();
    assert_eq!(question.shown, "Search the web (duckduckgo) for `the 'mill' turns`");
    assert_eq!(question.scope, "duckduckgo");
}
