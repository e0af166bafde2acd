//! Tests which words of a search tell something after untrusted text, and when a question is asked.

use std::sync::Arc;

use avocet_protocol::access::{Grant, Trust};
use avocet_protocol::ids::ToolName;
use avocet_protocol::tool::{Seen, SeenCall, ToolContext, Toolbox};
use serde_json::json;

use crate::new_hosts::{after, searched};
use crate::world::{World, call};

#[tokio::test]
async fn budget_counts_the_words_of_a_search_that_no_person_has_typed() {
    let world = World::new().await;
    let list: String = (0..64).map(|number| format!("word{number} ")).collect();
    let context = |calls: Vec<SeenCall>| {
        let people = vec!["Compare async runtimes, please".to_owned()];
        let seen = Seen { people, texts: vec![list.clone()], calls };
        ToolContext { seen: Arc::new(seen), ..after(&[], vec![]) }
    };
    let asks = async |context: &ToolContext, query: &str| {
        let call = call("web_search", &json!({ "query": query }));
        let prepared = world.registry.prepare(&call, None, context).await.unwrap();
        prepared.approval.map(|request| request.prompt.unwrap().text)
    };
    // A word of the list tells 6 bits, a word of the model's own 8 or more.
    let table = [
        ("compare async runtimes", None),
        ("async word1 word2 word3 word4", None),
        ("async word1 word2 word3 word4 word5", Some("30")),
        ("async tokio smol glommio", None),
        ("async tokio smol glommio embassy", Some("32")),
        ("async runtimes benchmarking tokio", None),
        ("async runtimes benchmarking tokio results", Some("32")),
    ];
    for (query, bits) in table {
        let asked = asks(&context(Vec::new()), query).await;
        let tells = bits.map(|bits| format!("my choice among its words tells {bits} bits"));
        assert_eq!(asked.is_some(), bits.is_some(), "{query}: {asked:?}");
        assert!(tells.is_none_or(|tells| asked.unwrap().contains(&tells)), "{query}");
    }
    let search = |place, query: &str| SeenCall { read: 1, ..searched(place, query, Trust::Low) };
    let before = vec![search(0, "word1 word2"), search(1, "word2 word3")];
    assert!(asks(&context(before.clone()), "word1 word2 word3 word4").await.is_none(), "18 and 6");
    let text = asks(&context(before.clone()), "word1 word4 word5").await.unwrap();
    assert!(text.contains("tells 12 bits; 18 of the 24"), "{text}");
    assert!(text.contains("the results for: word2 word3  (6 bits)"), "{text}");
    let (tool, scope) = (ToolName::parse("web_search").unwrap(), "SearXNG".to_owned());
    let granted = ToolContext { grants: [Grant { tool, scope }].into(), ..context(before) };
    assert!(asks(&granted, "word4 word5 word6 word7").await.is_none(), "allowed for the session");
    let trusted = ToolContext { trust: Trust::Full, ..context(Vec::new()) };
    assert!(asks(&trusted, "word4 word5 word6 word7 word8").await.is_none());
}
