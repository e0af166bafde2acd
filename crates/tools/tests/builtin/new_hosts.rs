//! Tests which hosts `web_fetch` connects to without a question after untrusted text, depending on
//! the conversation before.

use std::sync::Arc;

use avocet_protocol::access::{Grant, Role, Trust};
use avocet_protocol::ids::{CallId, ToolName, TurnId};
use avocet_protocol::tool::{Seen, SeenCall, ToolContext, Toolbox};
use avocet_protocol::turn::CallResult;
use avocet_tools::ToolRegistry;
use serde_json::{Value, json};

use crate::world::{World, call, context};

/// A page that was fetched in turn 1 for the person. It links to other hosts.
const PAGE: &str =
    "[next](https://shop.dev/2) [docs](https://docs.shop.dev/a) [other](https://other.dev/x)";

/// An earlier call, number `place` of turn 1, with its result.
fn earlier(place: u32, name: &str, arguments: &Value, trust: Trust, result: Value) -> SeenCall {
    let result = CallResult { trust: Trust::Low, ..CallResult::ok(result) };
    SeenCall {
        id: CallId { turn: TurnId(1), step: place, ordinal: 0 },
        call: call(name, arguments),
        trust,
        is_allowed: false,
        result: Some(result),
    }
}

fn fetched(place: u32, url: &str, trust: Trust) -> SeenCall {
    earlier(place, "web_fetch", &json!({ "url": url }), trust, json!({ "content": PAGE }))
}

fn searched(place: u32, query: &str, trust: Trust) -> SeenCall {
    let result =
        json!({ "results": [{ "title": "t", "url": "https://found.dev/a", "snippet": "s" }] });
    earlier(place, "web_search", &json!({ "query": query }), trust, result)
}

/// The context of step 100 of turn 1, after these messages and calls.
fn after(people: &[&str], calls: Vec<SeenCall>) -> ToolContext {
    let people = people.iter().map(|words| (*words).to_owned()).collect();
    let texts = vec![PAGE.to_owned(), "https://found.dev/a".to_owned()];
    let seen = Arc::new(Seen { people, texts, calls });
    let id = CallId { turn: TurnId(1), step: 100, ordinal: 0 };
    ToolContext { call: id, trust: Trust::Low, seen, ..context() }
}

/// A conversation, and the question about a URL after it.
struct Case {
    name: &'static str,
    /// People's messages.
    people: &'static [&'static str],
    calls: Vec<SeenCall>,
    url: &'static str,
    is_asked: bool,
}

const DOCS: &str = "https://docs.shop.dev/a";
const FOUND: &str = "https://found.dev/a";

/// Conversations without calls.
const MESSAGES: [(&str, &[&str], &str, bool); 5] = [
    ("nothing before it", &[], "https://shop.dev/", true),
    ("a person's words", &["look at shop.dev"], "https://shop.dev/", false),
    ("a label before what a person named", &["shop.dev"], "https://ab.shop.dev/", true),
    ("a link on the site of what a person named", &["shop.dev"], DOCS, false),
    ("a link to another site", &["shop.dev"], "https://other.dev/x", true),
];

/// Conversations without messages, with one call.
fn calls() -> Vec<(&'static str, SeenCall, &'static str, bool)> {
    use Trust::{Full, Low};
    let shop = "https://shop.dev/";
    let again = SeenCall { result: None, ..fetched(0, shop, Low) };
    vec![
        ("a trusted fetch", fetched(0, "https://shop.dev/1", Full), "https://shop.dev/2", false),
        ("a link after a trusted fetch", fetched(0, "https://shop.dev/1", Full), DOCS, false),
        ("an untrusted fetch", fetched(0, "https://shop.dev/1", Low), "https://shop.dev/2", false),
        ("the same call again, which is asked about", again, shop, true),
        ("a result of a trusted search", searched(0, "pizza", Full), FOUND, false),
        ("another page of the same host", searched(0, "pizza", Full), "https://found.dev/b", true),
        ("a result of an untrusted search", searched(0, "zxqvb", Low), FOUND, true),
        (
            "a longer URL than the result",
            searched(0, "pizza", Full),
            "https://found.dev/a?d=1",
            true,
        ),
        ("a person's answer", answered(Full), "https://answered.dev/", false),
        ("an untrusted answer", answered(Low), "https://answered.dev/", true),
    ]
}

/// Untrusted searches, with people's words before them.
fn searches() -> [Case; 2] {
    let people: &[&str] = &["where is good pizza?"];
    let search = |query| vec![searched(0, query, Trust::Low)];
    [
        Case {
            name: "a search for a person's words",
            people,
            calls: search("good pizza"),
            url: FOUND,
            is_asked: false,
        },
        Case {
            name: "a search for more than that",
            people,
            calls: search("pizza zxqvb"),
            url: FOUND,
            is_asked: true,
        },
    ]
}

/// The approval prompt of a fetch; `None` if the fetch may run.
async fn asked(registry: &ToolRegistry, context: &ToolContext, url: &str) -> Option<String> {
    let call = call("web_fetch", &json!({ "url": url }));
    let prepared = registry.prepare(&call, None, context).await.unwrap();
    Some(prepared.approval?.prompt.unwrap().text)
}

#[tokio::test]
async fn new_host_is_asked_about_unless_named_linked_on_its_site_or_found() {
    let world = World::new().await;
    let messages = MESSAGES.into_iter();
    let messages = messages.map(|(name, people, url, is_asked)| Case {
        name,
        people,
        calls: vec![],
        url,
        is_asked,
    });
    let calls = calls().into_iter().map(|(name, call, url, is_asked)| Case {
        name,
        people: &[],
        calls: vec![call],
        url,
        is_asked,
    });
    for Case { name, people, calls, url, is_asked } in messages.chain(calls).chain(searches()) {
        let asked = asked(&world.registry, &after(people, calls), url).await;
        assert_eq!(asked.is_some(), is_asked, "{name}: {asked:?}");
    }
}

fn answered(trust: Trust) -> SeenCall {
    let mut call = earlier(
        0,
        "ask_user",
        &json!({ "question": "Where?" }),
        Trust::Low,
        json!({ "answer": "answered.dev" }),
    );
    if let Some(result) = &mut call.result {
        result.trust = trust;
    }
    call
}

#[tokio::test]
async fn new_host_question_names_the_exact_host_and_grants_only_it() {
    let world = World::new().await;
    let label = "a".repeat(53);
    let url = format!("https://{label}.ac.sh/");
    let context = after(&[], vec![]);
    let text = asked(&world.registry, &context, &url).await.unwrap();
    assert!(
        text.contains(&format!("look up {label}.ac.sh, a host that is in no message")),
        "{text}"
    );
    assert!(text.contains(&format!("Fetch `{url}`")), "{text}");
    let (tool, scope) = (ToolName::parse("web_fetch").unwrap(), format!("{label}.ac.sh"));
    let granted = ToolContext { grants: [Grant { tool, scope }].into(), ..context };
    assert_eq!(asked(&world.registry, &granted, &url).await, None);
    assert!(asked(&world.registry, &granted, "https://ab.ac.sh/").await.is_some());
}

#[tokio::test]
async fn new_host_is_known_once_a_person_has_allowed_it() {
    let world = World::new().await;
    let allowed =
        SeenCall { is_allowed: true, result: None, ..fetched(0, "https://shop.dev/1", Trust::Low) };
    let context = after(&[], vec![allowed]);
    for (url, expected) in [
        ("https://shop.dev/", false),
        ("https://docs.shop.dev/a", false),
        ("https://ab.shop.dev/", true),
    ] {
        assert_eq!(asked(&world.registry, &context, url).await.is_some(), expected, "{url}");
    }
}

#[tokio::test]
async fn new_host_is_asked_about_after_five_unnamed_hosts() {
    let world = World::new().await;
    let result = |number: u32| json!({ "title": "t", "url": format!("https://f{number}.dev/"), "snippet": "" });
    let results: Vec<Value> = (0..8).map(result).collect();
    let search = earlier(
        0,
        "web_search",
        &json!({ "query": "q" }),
        Trust::Full,
        json!({ "results": results }),
    );
    let mut calls = vec![search];
    for number in 0..8 {
        let url = format!("https://f{number}.dev/");
        let context = after(&["q"], calls.clone());
        let text = asked(&world.registry, &context, &url).await;
        assert_eq!(text.is_some(), number >= 5, "{number}: {text:?}");
        assert!(text.is_none_or(|text| text.contains("after 5 in this turn")), "{number}");
        // Calls of a turn count as soon as they are planned.
        calls.push(SeenCall { result: None, ..fetched(number + 1, &url, Trust::Low) });
    }
    // The count starts again in the next turn.
    let later = ToolContext {
        call: CallId { turn: TurnId(2), step: 0, ordinal: 0 },
        ..after(&["q"], calls)
    };
    assert_eq!(asked(&world.registry, &later, "https://f7.dev/").await, None);
}

#[tokio::test]
async fn new_host_named_by_a_user_is_known_to_an_owner_in_a_group() {
    let world = World::new().await;
    let user = ToolContext { trust: Trust::User, role: Role::User, ..after(&[], vec![]) };
    let fetch = call("web_fetch", &json!({ "url": "https://shop.dev/" }));
    let open = world.registry.prepare(&fetch, None, &user);
    assert!(open.await.is_err(), "web_fetch is for owners");
    let owner = ToolContext { trust: Trust::User, ..after(&["see shop.dev"], vec![]) };
    assert_eq!(asked(&world.registry, &owner, "https://shop.dev/").await, None);
    assert!(asked(&world.registry, &owner, "https://other.dev/").await.is_some());
}

#[tokio::test]
async fn new_host_of_the_configuration_is_not_asked_about() {
    let world = World::new().await;
    let hosts = ["crates.io".to_owned(), "*.crates.io".to_owned()];
    let registry = world.registry.with_hosts(hosts.into());
    let context = after(&[], vec![]);
    for (url, expected) in [
        ("https://crates.io/", false),
        ("https://static.crates.io/", false),
        ("https://docs.rs/", true),
    ] {
        assert_eq!(asked(&registry, &context, url).await.is_some(), expected, "{url}");
    }
}
