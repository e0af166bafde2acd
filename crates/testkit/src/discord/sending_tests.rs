use std::time::Duration;

use serde_json::{Value, json};

use super::super::client::{DiscordFixture, id, known, messages};
use super::super::{Mention, NONCE_KEPT, Route, UserMessage};

fn path(channel: u64, message: u64) -> String {
    format!("{}/{message}", messages(channel))
}

fn text(text: &str) -> Value {
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

fn texts(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|found| found["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn create_message_keeps_the_order_of_each_channel() {
    let known = known().await;
    let question = known.fake.say(known.channel, known.user, "hi?");
    let more =
        json!({ "nonce": "n1", "message_reference": { "message_id": question.to_string() } });
    let described = known.create(known.channel, &more).await.result();
    known.created(known.thread, &json!({ "content": "in the thread" })).await;
    assert_eq!(described["nonce"], "n1");
    assert_eq!(described["referenced_message"]["content"], "hi?");
    let sent = known.fake.wait_for_sent(2).await;
    let shown: Vec<(u64, &str, Option<u64>)> =
        sent.iter().map(|found| (found.channel, &*found.text, found.reply_to)).collect();
    let expected =
        [(known.channel, "hello", Some(question)), (known.thread, "in the thread", None)];
    assert_eq!(shown, expected);
    assert_eq!(known.fake.sent_in(known.thread), sent[1..]);
    assert_eq!(known.fake.created_with("n1"), 1);
    assert_eq!(known.fake.created()[0].at, known.fake.now());
}

#[tokio::test]
async fn channel_without_access_refuses_messages_and_typing() {
    let all = known().await;
    let fake = &all.fake;
    let gone = fake.channel(all.guild, "gone");
    fake.delete_channel(gone);
    let hidden = fake.channel(all.guild, "hidden");
    fake.hide(hidden);
    let muted = fake.channel(all.guild, "muted");
    let below = fake.thread(muted, "below");
    fake.mute(muted);
    fake.block(all.user);
    let other = fake.guild("other");
    let left = fake.channel(other, "left");
    fake.kick(other);
    for (channel, status, code, why) in [
        (404, 404, 10003, "Unknown Channel"),
        (gone, 404, 10003, "Unknown Channel"),
        (hidden, 403, 50001, "Missing Access"),
        (left, 403, 50001, "Missing Access"),
        (muted, 403, 50013, "Missing Permissions"),
        (below, 403, 50013, "Missing Permissions"),
        (all.dm, 403, 50007, "Cannot send messages to this user"),
    ] {
        let expected = (status, code, why.to_owned());
        assert_eq!(all.create(channel, &json!({})).await.refusal(), expected);
        let typing = all.post(&format!("/channels/{channel}/typing"), &Value::Null).await;
        assert_eq!(typing.refusal(), expected);
        let history = all.get(&messages(channel)).await;
        let is_readable = matches!(code, 50007 | 50013);
        assert_eq!(history.status == 200, is_readable, "{why}");
    }
    assert_eq!(fake.sent(), []);
    assert_eq!(fake.refusals()[0].route, Some(Route::CreateMessage));
    fake.reopen(muted);
    all.create(below, &json!({})).await.result();
}

#[tokio::test]
async fn messages_refuse_invalid_sends_edits_and_deletions() {
    let known = known().await;
    let heard = known.fake.say(known.dm, known.user, "hi");
    let own = known.created(known.dm, &json!({})).await;
    let empty = (400, 50006, "Cannot send an empty message".to_owned());
    assert_eq!(known.create(known.dm, &json!({ "content": " \n" })).await.refusal(), empty);
    let edit = known.ask("PATCH", &path(known.dm, own), &text("")).await;
    assert_eq!(edit.refusal(), empty);
    let edit = known.ask("PATCH", &path(known.dm, heard), &text("x")).await;
    let why = "Cannot edit a message authored by another user";
    assert_eq!(edit.refusal(), (403, 50005, why.to_owned()));
    let delete = known.ask("DELETE", &path(known.dm, heard), &Value::Null).await;
    let why = "Cannot execute action on a DM channel";
    assert_eq!(delete.refusal(), (403, 50003, why.to_owned()));
    let unknown = (404, 10008, "Unknown Message".to_owned());
    // A message belongs to one channel only.
    for other in [path(known.dm, 404), path(known.channel, own)] {
        assert_eq!(known.get(&other).await.refusal(), unknown);
        assert_eq!(known.ask("PATCH", &other, &text("x")).await.refusal(), unknown);
        assert_eq!(known.ask("DELETE", &other, &Value::Null).await.refusal(), unknown);
    }
    let reply = json!({ "message_reference": { "message_id": "404" } });
    let errors = known.create(known.dm, &reply).await.errors();
    assert_eq!(errors, ["message_reference REPLIES_UNKNOWN_MESSAGE: Unknown message"]);
    let errors = known.ask("PATCH", &path(known.dm, own), &json!({ "content": "x" })).await;
    let required = ["allowed_mentions BASE_TYPE_REQUIRED: This field is required"];
    assert_eq!(errors.errors(), required);
    let errors = known.post(&messages(known.dm), &json!([])).await.errors();
    assert_eq!(errors, ["_ DICT_TYPE_CONVERT: Only dictionaries may be used in a DictType"]);
    assert_eq!(known.fake.sent().len(), 1);
    assert_eq!(known.fake.sent()[0].edits, Vec::<String>::new());
}

#[tokio::test]
async fn reply_to_a_missing_message_is_sent_plain_if_it_may_fail() {
    let known = known().await;
    let reply = json!({ "message_id": "404", "fail_if_not_exists": false });
    known.create(known.dm, &json!({ "message_reference": reply })).await.result();
    assert_eq!(known.fake.sent()[0].reply_to, None);
}

#[tokio::test]
async fn history_that_is_closed_refuses_reads_and_replies() {
    let known = known().await;
    let heard = known.fake.say(known.channel, known.user, "hi");
    known.fake.close_history(known.channel);
    let replied = json!({ "message_id": heard.to_string(), "fail_if_not_exists": false });
    let reply = json!({ "message_reference": replied });
    let why = "Cannot reply without permission to read message history";
    for channel in [known.channel, known.thread] {
        let refusal = known.create(channel, &reply).await.refusal();
        assert_eq!(refusal, (403, 160_002, why.to_owned()));
        assert_eq!(known.get(&messages(channel)).await.result(), json!([]));
        known.create(channel, &json!({})).await.result();
    }
    let one = known.get(&path(known.channel, heard)).await.refusal();
    assert_eq!(one, (403, 50013, "Missing Permissions".to_owned()));
    known.fake.reopen(known.channel);
    known.create(known.channel, &reply).await.result();
    assert_eq!(known.fake.sent()[2].reply_to, Some(heard));
}

#[tokio::test]
async fn edits_are_kept_and_deletions_marked() {
    let known = known().await;
    let own = known.created(known.channel, &json!({})).await;
    let path = path(known.channel, own);
    known.fake.advance(Duration::from_secs(1));
    let described = known.ask("PATCH", &path, &text("again")).await.result();
    assert_eq!(described["edited_timestamp"], "2026-01-01T00:00:01.000000+00:00");
    known.ask("PATCH", &path, &json!({ "components": [] })).await.result();
    let message = known.fake.sent().remove(0);
    assert_eq!((&*message.text, &message.edits[..]), ("again", &["hello".to_owned()][..]));
    assert_eq!(known.get(&path).await.result()["content"], "again");
    known.ask("DELETE", &path, &Value::Null).await.nothing();
    assert!(known.fake.sent()[0].deleted);
    assert_eq!(texts(&known.get(&messages(known.channel)).await.result()), [""; 0]);
}

#[tokio::test]
async fn delete_in_a_guild_removes_a_message_of_another_user() {
    let known = known().await;
    let heard = known.fake.say(known.channel, known.user, "hi");
    known.ask("DELETE", &path(known.channel, heard), &Value::Null).await.nothing();
}

#[tokio::test]
async fn nonce_if_enforced_prevents_a_second_message_until_it_expires() {
    let known = known().await;
    let nonce = json!({ "nonce": "n", "enforce_nonce": true });
    let first = known.created(known.dm, &nonce).await;
    known.fake.advance(NONCE_KEPT - Duration::from_millis(1));
    assert_eq!(known.created(known.dm, &nonce).await, first);
    assert_eq!(known.fake.created_with("n"), 1);
    // The nonce applies to one channel only.
    assert_ne!(known.created(known.channel, &nonce).await, first);
    known.fake.advance(Duration::from_millis(1));
    assert_ne!(known.created(known.dm, &nonce).await, first);
    assert_eq!(known.fake.created_with("n"), 3);
}

#[tokio::test]
async fn nonce_if_not_enforced_allows_duplicates() {
    let known = known().await;
    let first = known.created(known.dm, &json!({ "nonce": "n", "enforce_nonce": true })).await;
    assert_ne!(known.created(known.dm, &json!({ "nonce": "n" })).await, first);
    assert_eq!(known.fake.created_with("n"), 2);
}

async fn page(known: &DiscordFixture, query: &str) -> Vec<String> {
    let page = known.get(&format!("{}?{query}", messages(known.dm))).await.result();
    texts(&page).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn history_is_paged_newest_first_without_nonces() {
    let known = known().await;
    let ids: Vec<u64> =
        (0..120).map(|number| known.fake.say(known.dm, known.user, &number.to_string())).collect();
    known.fake.say(known.channel, known.user, "elsewhere");
    known.fake.delete(ids[118]);
    let own = known.created(known.dm, &json!({ "nonce": "n" })).await;
    let newest = known.get(&messages(known.dm)).await.result();
    assert_eq!((id(&newest[0]), texts(&newest).len()), (own, 50));
    assert_eq!(newest[0]["nonce"], Value::Null);
    assert_eq!(page(&known, "limit=3").await, ["hello", "119", "117"]);
    assert_eq!(page(&known, "limit=100").await.len(), 100);
    // `after` returns the oldest messages after this one, instead of the newest ones.
    assert_eq!(page(&known, &format!("&after={}&limit=2", ids[4])).await, ["6", "5"]);
    assert_eq!(page(&known, &format!("before={}&limit=2", ids[4])).await, ["3", "2"]);
    assert_eq!(page(&known, &format!("after={own}")).await, [""; 0]);
}

#[tokio::test]
async fn history_refuses_invalid_queries() {
    let known = known().await;
    for (query, reason) in [
        ("limit=0", "limit NUMBER_TYPE_MIN: int value should be greater than or equal to 1."),
        ("limit=101", "limit NUMBER_TYPE_MAX: int value should be less than or equal to 100."),
        ("limit=x", "limit NUMBER_TYPE_COERCE: Value \"x\" is not int."),
        ("after=x", "after NUMBER_TYPE_COERCE: Value \"x\" is not snowflake."),
    ] {
        let answer = known.get(&format!("{}?{query}", messages(known.dm))).await;
        assert_eq!(answer.errors(), [reason]);
    }
}

#[tokio::test]
async fn message_content_of_guilds_is_hidden_without_the_grant() {
    let known = known().await;
    known.fake.grant_message_content(false);
    known.fake.say(known.channel, known.user, "secret");
    known.fake.post(UserMessage::new(known.channel, known.user, "for you").mention());
    known.fake.say(known.dm, known.user, "between us");
    known.created(known.channel, &json!({})).await;
    let mention = format!("<@{}> for you", known.fake.bot());
    let shown = known.get(&messages(known.channel)).await.result();
    assert_eq!(texts(&shown), ["hello", &mention, ""]);
    assert_eq!(texts(&known.get(&messages(known.dm)).await.result()), ["between us"]);
}

#[tokio::test]
async fn mentioned_records_the_notified_users() {
    let known = known().await;
    let question = known.fake.say(known.channel, known.user, "hi?");
    let reply = json!({ "message_id": question.to_string() });
    let mention = json!({ "content": "@everyone <@7>" });
    known.created(known.channel, &mention).await;
    known.created(known.channel, &json!({ "message_reference": reply })).await;
    assert_eq!(known.fake.mentioned(), []);
    let parse = json!({ "content": "@everyone", "allowed_mentions": { "parse": ["everyone"] } });
    let own = known.created(known.channel, &parse).await;
    let replied = json!({ "parse": [], "replied_user": true });
    let more = json!({ "message_reference": reply, "allowed_mentions": replied });
    known.created(known.channel, &more).await;
    let noted = known.fake.mentioned();
    assert_eq!(noted[0].who, [Mention::Everyone]);
    assert_eq!((noted[0].channel, noted[0].id), (known.channel, own));
    assert_eq!(noted[1].who, [Mention::User(known.user)]);
}
