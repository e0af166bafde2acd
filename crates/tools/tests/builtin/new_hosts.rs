//! Tests which hosts `web_fetch` connects to without a question after untrusted text, depending on
//! the conversation before.

use std::sync::Arc;

use avocet_protocol::access::{Grant, Role, Trust};
use avocet_protocol::ids::{CallId, ToolName, TurnId};
use avocet_protocol::tool::{ChoiceBits, Seen, SeenCall, ToolContext, Toolbox, WaitRequest};
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
        read: 2,
        is_allowed: false,
        is_refused: false,
        result: Some(result),
    }
}

fn fetched(place: u32, url: &str, trust: Trust) -> SeenCall {
    earlier(place, "web_fetch", &json!({ "url": url }), trust, json!({ "content": PAGE }))
}

pub(crate) fn searched(place: u32, query: &str, trust: Trust) -> SeenCall {
    let result =
        json!({ "results": [{ "title": "t", "url": "https://found.dev/a", "snippet": "s" }] });
    earlier(place, "web_search", &json!({ "query": query }), trust, result)
}

/// The context of step 100 of turn 1, after these messages and calls.
pub(crate) fn after(people: &[&str], calls: Vec<SeenCall>) -> ToolContext {
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
        ("https://st.crates.io/", false),
        ("https://docs.rs/", true),
    ] {
        assert_eq!(asked(&registry, &context, url).await.is_some(), expected, "{url}");
    }
}

/// A page of 16 links, and the context after it and these later calls.
fn after_sixteen_links(calls: Vec<SeenCall>) -> ToolContext {
    let page: String = (0..16).map(|number| format!("https://shop.dev/{number} ")).collect();
    let seen = Seen { people: vec!["shop.dev".to_owned()], texts: vec![page], calls };
    ToolContext { seen: Arc::new(seen), ..after(&[], vec![]) }
}

/// Untrusted fetches of the first links of that page.
fn fetches(count: u32) -> Vec<SeenCall> {
    let fetch = |place| fetched(place, &format!("https://shop.dev/{place}"), Trust::Low);
    (0..count).map(|place| SeenCall { read: 1, ..fetch(place) }).collect()
}

#[tokio::test]
async fn budget_of_a_turn_asks_above_24_bits_and_lists_the_fetches() {
    let world = World::new().await;
    let url = "https://shop.dev/15";
    // 16 · 15 · 14 · 13 · 12 · 11 choices are 22.5 bits, and one of 10 is more than 24.
    let asked_after = async |calls| asked(&world.registry, &after_sixteen_links(calls), url).await;
    assert_eq!(asked_after(fetches(5)).await, None);
    let text = asked_after(fetches(6)).await.unwrap();
    assert!(text.contains("tells 3.4 bits; 22.5 of the 24 bits of this turn are used"), "{text}");
    let listed = "Fetched in this turn:\n```\nhttps://shop.dev/0  (4 bits)\n";
    assert!(text.contains(listed) && text.contains("shop.dev/5  (3.5 bits)"), "{text}");
    let change = |change: fn(SeenCall) -> SeenCall| fetches(6).into_iter().map(change).collect();
    let free: [(&str, Vec<SeenCall>); 4] = [
        ("allowed", change(|one| SeenCall { is_allowed: true, ..one })),
        ("refused", change(|one| SeenCall { is_refused: true, ..one })),
        ("trusted", change(|one| SeenCall { trust: Trust::Full, ..one })),
        (
            "an earlier turn",
            change(|one| {
                let id = CallId { turn: TurnId(0), ..one.id };
                SeenCall { id, ..one }
            }),
        ),
    ];
    for (name, calls) in free {
        assert_eq!(asked_after(calls).await, None, "{name}");
    }
    let again =
        asked(&world.registry, &after_sixteen_links(fetches(6)), "https://shop.dev/2").await;
    assert_eq!(again, None, "the same page");
    let (tool, scope) = (ToolName::parse("web_fetch").unwrap(), "shop.dev".to_owned());
    let grants = [Grant { tool, scope }].into();
    let granted = ToolContext { grants, ..after_sixteen_links(fetches(6)) };
    assert_eq!(asked(&world.registry, &granted, url).await, None, "for the session");
}

#[tokio::test]
async fn budget_of_zero_asks_about_each_link_and_a_larger_one_seldom() {
    let world = World::new().await;
    let seen = |text: &str| {
        let (people, texts) = (vec!["shop.dev".to_owned()], vec![text.to_owned()]);
        let seen = Arc::new(Seen { people, texts, ..Seen::default() });
        ToolContext { seen, ..after(&[], vec![]) }
    };
    let only = seen("see https://shop.dev/0");
    let registry = world.registry.with_budget(ChoiceBits::ZERO);
    assert!(asked(&registry, &only, "https://shop.dev/0").await.is_some());
    assert!(registry.hold("It is on https://shop.dev/0.", &only).is_some());
    assert!(registry.hold("It is on shop.dev.", &only).is_none(), "a person has named it");
    let registry = registry.with_budget(ChoiceBits::from_bits(40));
    assert_eq!(asked(&registry, &only, "https://shop.dev/0").await, None);
    let many = after_sixteen_links(fetches(8));
    assert_eq!(asked(&registry, &many, "https://shop.dev/15").await, None);
}

#[tokio::test]
async fn budget_counts_links_of_answers_and_messages_unless_their_page_was_fetched() {
    let world = World::new().await;
    let context = after_sixteen_links(fetches(6));
    for (text, is_asked) in [
        ("See https://shop.dev/15.", true),
        ("See [it](https://shop.dev/15).", true),
        ("See https://shop.dev/3 and https://shop.dev/4.", false),
        ("All: https://shop.dev/6 https://shop.dev/7 https://shop.dev/8 https://shop.dev/9", false),
    ] {
        let held = world.registry.hold(text, &context);
        assert_eq!(held.is_some(), is_asked, "{text}");
        let listed = |request: WaitRequest| request.prompt.unwrap().text;
        assert!(held.map(listed).is_none_or(|text| text.contains("shop.dev/5  (3.5 bits)")));
        let message = call("message", &json!({ "text": text }));
        let prepared = world.registry.prepare(&message, None, &context).await.unwrap();
        assert_eq!(prepared.approval.is_some(), is_asked, "{text}");
    }
}

#[tokio::test]
async fn budget_lets_an_answer_name_mail_addresses_and_links_without_a_scheme() {
    let world = World::new().await;
    let page = format!("{} help@shop.dev, shop.dev/cart, docs.shop.dev.", "word ".repeat(3000));
    let seen = Arc::new([page].into_iter().collect());
    let context = ToolContext { seen, ..after(&[], vec![]) };
    let text = "Write to help@shop.dev, or see shop.dev/cart and docs.shop.dev.";
    assert_eq!(world.registry.hold(text, &context), None);
}

#[tokio::test]
async fn budget_counts_each_character_in_place_of_the_star_of_a_configured_host() {
    let world = World::new().await;
    let registry = world.registry.with_hosts(["*.crates.io".to_owned()].into());
    let context = after(&[], vec![]);
    assert_eq!(asked(&registry, &context, "https://abc.crates.io/").await, None);
    let text = asked(&registry, &context, "https://secret.crates.io/").await.unwrap();
    assert!(text.contains("tells 31.5 bits; 0 of the 24"), "{text}");
}

#[tokio::test]
async fn budget_of_a_turn_is_shared_with_its_sub_agents() {
    let world = World::new().await;
    let spawned = |place, ordinal| {
        let task = earlier(place, "spawn", &json!({ "task": "dig" }), Trust::Full, json!("done"));
        SeenCall { id: CallId { ordinal, ..task.id }, ..task }
    };
    let used = |calls, bits| {
        let context = ToolContext { bits, ..after_sixteen_links(calls) };
        let used = world.registry.used_bits(&context).unwrap();
        (used.told.to_string(), used.share_of_child().to_string())
    };
    let told = |told: &str, share: &str| (told.to_owned(), share.to_owned());
    assert_eq!(used(vec![], None), told("0", "12"));
    // Two sub-agents side by side, after a choice of 4 bits.
    let calls = [fetches(1), vec![spawned(1, 0), spawned(1, 1)]].concat();
    assert_eq!(used(calls.clone(), None), told("19", "2.5"));
    let refused = SeenCall { is_refused: true, ..spawned(1, 0) };
    assert_eq!(used(vec![refused], None), told("0", "12"));
    // A sub-agent of a sub-agent.
    let bits = Some(ChoiceBits::from_bits(12));
    assert_eq!(used(vec![spawned(0, 0)], bits), told("6", "3"));
    let parent = after_sixteen_links(calls);
    let url = "https://shop.dev/15";
    assert_eq!(asked(&world.registry, &parent, url).await, None, "19 and 4 are below 24");
    let child =
        ToolContext { bits: Some(ChoiceBits::from_bits(5)), ..after_sixteen_links(fetches(1)) };
    let text = asked(&world.registry, &child, url).await.unwrap();
    assert!(text.contains("4 of the 5 bits of this turn are used"), "{text}");
}
