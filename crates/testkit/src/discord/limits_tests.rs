use std::time::Duration;

use serde_json::{Value, json};

use super::super::client::{known, messages};
use super::super::{CHANNEL_LIMIT, CHANNEL_WINDOW, GLOBAL_LIMIT, Route};

#[tokio::test]
async fn channel_limit_refuses_with_retry_after() {
    let known = known().await;
    known.fake.limit_rates(true);
    for left in (0..CHANNEL_LIMIT).rev() {
        let answer = known.create(known.dm, &json!({})).await;
        assert_eq!(answer.header("x-ratelimit-remaining"), Some(&*left.to_string()));
        assert_eq!(answer.header("x-ratelimit-limit"), Some("5"));
        assert_eq!(answer.header("x-ratelimit-reset-after"), Some("5.000"));
        assert_eq!(answer.header("x-ratelimit-reset"), Some("1767225605.000"));
        answer.result();
    }
    known.fake.advance(Duration::from_millis(1500));
    let answer = known.create(known.dm, &json!({})).await;
    let body = json!({ "message": "You are being rate limited.", "retry_after": 3.5,
        "global": false });
    assert_eq!((answer.status, answer.json()), (429, body));
    assert_eq!(answer.header("retry-after"), Some("4"));
    assert_eq!(answer.header("x-ratelimit-scope"), Some("user"));
    assert_eq!(answer.header("x-ratelimit-remaining"), Some("0"));
    // Other channels and other requests are unaffected.
    known.create(known.channel, &json!({})).await.result();
    known.get(&messages(known.dm)).await.result();
    known.fake.advance(CHANNEL_WINDOW);
    known.create(known.dm, &json!({})).await.result();
    assert_eq!(known.fake.sent_in(known.dm).len(), 6);
}

#[tokio::test]
async fn global_limit_counts_all_requests_together() {
    let known = known().await;
    known.fake.limit_rates(true);
    for place in 0..GLOBAL_LIMIT {
        let path = if place % 2 == 0 { "/users/@me" } else { "/users/@me/guilds" };
        known.get(path).await.result();
    }
    let answer = known.get("/users/@me").await;
    let body = json!({ "message": "You are being rate limited.", "retry_after": 1.0,
        "global": true });
    assert_eq!((answer.status, answer.json()), (429, body));
    assert_eq!(answer.header("x-ratelimit-global"), Some("true"));
    assert_eq!(answer.header("x-ratelimit-scope"), Some("global"));
    known.fake.advance(Duration::from_secs(1));
    known.get("/users/@me").await.result();
}

#[tokio::test]
async fn limit_headers_leave_room_if_limits_are_off() {
    let known = known().await;
    for _ in 0..=GLOBAL_LIMIT {
        let path = format!("/channels/{}/typing", known.dm);
        let answer = known.post(&path, &Value::Null).await;
        assert_eq!(answer.header("x-ratelimit-remaining"), Some("4"));
        answer.nothing();
    }
    assert_eq!(known.fake.calls(Route::Typing), 51);
}
