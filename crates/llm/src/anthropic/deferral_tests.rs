use avocet_testkit::anthropic::{AnthropicFake, KEY, MODEL};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::testing::grouped_request;

/// The request body with deferred tools, after a call that loads the group `git`.
async fn sent_deferred(caching: bool, ok: bool) -> Value {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let config = AnthropicConfig {
        base_url: fake.base_url(),
        api_key: Some(Secret::new(KEY.to_owned()).into()),
        deferred_tools: true,
        prompt_caching: caching,
        ..AnthropicConfig::default()
    };
    let model = AnthropicModel::new("claude", MODEL, &config, Arc::<ManualClock>::default());
    let loaded = if ok { &["git_log", "git_status"][..] } else { &[] };
    let request = grouped_request(&[("use_tools", json!({ "group": "git" }), ok)], loaded);
    model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn deferred_tools_follow_the_others_and_a_load_refers_to_them() {
    let sent = sent_deferred(true, true).await;
    let tool = |tool: &Value| {
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, tool["defer_loading"] == true, tool.get("cache_control").is_some())
    };
    let tools: Vec<_> = sent["tools"].as_array().unwrap().iter().map(tool).collect();
    let expected = [
        ("read_file", false, false),
        ("use_tools", false, true),
        ("git_log", true, false),
        ("git_status", true, false),
        ("job_list", true, false),
    ];
    assert_eq!(tools, expected.map(|(name, deferred, mark)| (name.to_owned(), deferred, mark)));
    let result = &sent["messages"][2]["content"][0];
    let reference = |name: &str| json!({ "type": "tool_reference", "tool_name": name });
    assert_eq!(result["content"], json!(["git_log", "git_status"].map(reference)));
    assert_eq!(result["type"], "tool_result");
}

#[tokio::test]
async fn deferred_tools_of_a_failed_load_are_not_referred_to() {
    let sent = sent_deferred(false, false).await;
    assert_eq!(sent["messages"][2]["content"][0]["content"], "You can call: tools");
}
