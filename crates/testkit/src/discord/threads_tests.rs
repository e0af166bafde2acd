use serde_json::json;

use super::super::client::known;

#[tokio::test]
async fn create_thread_refuses_what_the_platform_refuses() {
    let set = known().await;
    let message = set.fake.say(set.channel, set.user, "a task");
    let path = format!("/channels/{}/messages/{message}/threads", set.channel);
    let elsewhere = format!("/channels/{}/messages/{message}/threads", set.dm);
    let in_thread = set.fake.say(set.thread, set.user, "another");
    let nested = format!("/channels/{}/messages/{in_thread}/threads", set.thread);
    let missing = format!("/channels/{}/messages/404/threads", set.channel);
    let cases = [
        (&path, json!({ "name": "" }), 50_035),
        (&path, json!({ "name": "x".repeat(101) }), 50_035),
        (&path, json!({ "name": "x", "auto_archive_duration": 7 }), 50_035),
        (&missing, json!({ "name": "x" }), 10_008),
        (&elsewhere, json!({ "name": "x" }), 50_024),
        (&nested, json!({ "name": "x" }), 50_024),
    ];
    for (path, body, code) in cases {
        assert_eq!(set.post(path, &body).await.json()["code"], code, "{path} {body}");
    }
    let made = set.post(&path, &json!({ "name": "a task" })).await.json();
    assert_eq!((&made["id"], &made["type"]), (&json!(message.to_string()), &json!(11)));
    assert_eq!(set.post(&path, &json!({ "name": "again" })).await.json()["code"], 160_004);
}
