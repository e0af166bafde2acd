use serde_json::json;

use super::super::client::{id, known, messages};

#[tokio::test]
async fn create_post_refuses_what_the_platform_refuses() {
    let set = known().await;
    let forum = set.fake.forum(set.guild, "news", &["bug"]);
    let path = format!("/channels/{forum}/threads");
    let elsewhere = format!("/channels/{}/threads", set.dm);
    let text = json!({ "content": "hello", "allowed_mentions": { "parse": [] } });
    let cases = [
        (&path, json!({ "name": "", "message": text }), 50_035),
        (&path, json!({ "name": "x".repeat(101), "message": text }), 50_035),
        (&path, json!({ "name": "x" }), 50_035),
        (&path, json!({ "name": "x", "message": { "allowed_mentions": {} } }), 50_006),
        (&path, json!({ "name": "x", "message": text, "applied_tags": ["1"] }), 50_035),
        (&path, json!({ "name": "x", "message": text, "applied_tags": vec!["1"; 6] }), 50_035),
        (&elsewhere, json!({ "name": "x", "message": text }), 50_024),
        (&messages(forum), text.clone(), 50_008),
    ];
    for (path, body, code) in cases {
        assert_eq!(set.post(path, &body).await.json()["code"], code, "{path} {body}");
    }
    let tag = set.fake.describe_channel(forum)["available_tags"][0]["id"].clone();
    let body = json!({ "name": "A post", "message": text, "applied_tags": [tag] });
    let made = set.post(&path, &body).await.json();
    assert_eq!((&made["id"], &made["name"]), (&made["message"]["id"], &json!("A post")));
    assert_eq!(set.fake.tags(id(&made)), ["bug"]);
    set.fake.require_tag(forum);
    let without = set.post(&path, &json!({ "name": "x", "message": text })).await.json();
    assert_eq!(without["code"], 40_067);
}

#[tokio::test]
async fn archived_threads_come_in_pages_from_the_last_archived_on() {
    let set = known().await;
    let forum = set.fake.forum(set.guild, "news", &[]);
    let mut posts = Vec::new();
    for title in ["one", "two", "three"] {
        let post = set.fake.thread(forum, title);
        set.fake.advance(std::time::Duration::from_secs(1));
        set.fake.archive(post);
        posts.push(post);
    }
    let path = format!("/channels/{forum}/threads/archived/public?limit=2");
    let page = set.get(&path).await.json();
    let ids = |page: &serde_json::Value| -> Vec<u64> {
        page["threads"].as_array().unwrap().iter().map(id).collect()
    };
    assert_eq!((ids(&page), &page["has_more"]), (vec![posts[2], posts[1]], &json!(true)));
    let last = page["threads"][1]["thread_metadata"]["archive_timestamp"].as_str().unwrap();
    let rest = set.get(&format!("{path}&before={}", last.replace('+', "%2B"))).await.json();
    assert_eq!((ids(&rest), &rest["has_more"]), (vec![posts[0]], &json!(false)));
}
