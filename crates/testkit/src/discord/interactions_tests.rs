use std::time::Duration;

use serde_json::{Value, json};

use super::super::client::{DiscordFixture, HttpAnswer, id, known, messages};
use super::super::{FIRST_ANSWER, TOKEN_KEPT};

async fn respond(known: &DiscordFixture, id: u64, kind: u64, data: Value) -> HttpAnswer {
    let token = known.fake.interaction(id).token;
    let body = json!({ "type": kind, "data": data });
    known.post(&format!("/interactions/{id}/{token}/callback"), &body).await
}

fn text(text: &str) -> Value {
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

/// Sends a message with a button and presses it. Returns the ids of the message and of the
/// interaction.
async fn pressed(known: &DiscordFixture) -> (u64, u64) {
    let button = json!({ "type": 2, "style": 1, "label": "yes", "custom_id": "y" });
    let more = json!({ "components": [{ "type": 1, "components": [button] }] });
    let message = known.created(known.channel, &more).await;
    (message, known.fake.press(known.user, message, "y"))
}

fn webhook(known: &DiscordFixture, interaction: u64, message: &str) -> String {
    let token = known.fake.interaction(interaction).token;
    format!("/webhooks/{}/{token}{message}", known.fake.bot())
}

#[tokio::test]
async fn press_is_acknowledged_once() {
    let known = known().await;
    let (message, press) = pressed(&known).await;
    respond(&known, press, 6, Value::Null).await.nothing();
    let answered = known.fake.wait_for_answer(press).await;
    assert_eq!((answered.answered, answered.message), (Some(6), Some(message)));
    let why = "Interaction has already been acknowledged.";
    let again = respond(&known, press, 6, Value::Null).await;
    assert_eq!(again.refusal(), (400, 40060, why.to_owned()));
}

#[tokio::test]
async fn press_can_update_its_message() {
    let known = known().await;
    let (_, press) = pressed(&known).await;
    let update = json!({ "content": "done", "components": [],
        "allowed_mentions": { "parse": [] } });
    respond(&known, press, 7, update).await.nothing();
    let message = known.fake.sent().remove(0);
    assert_eq!((&*message.text, message.buttons()), ("done", vec![]));
}

#[tokio::test]
async fn interaction_is_unknown_after_three_seconds_or_with_another_token() {
    let known = known().await;
    let unknown = (404, 10062, "Unknown interaction".to_owned());
    let slow = known.fake.slash(known.user, known.dm, "help", &json!([]));
    let fast = known.fake.slash(known.user, known.dm, "help", &json!([]));
    let other = known.post(&format!("/interactions/{fast}/x/callback"), &json!({})).await;
    assert_eq!(other.refusal(), unknown);
    known.fake.advance(FIRST_ANSWER - Duration::from_millis(1));
    respond(&known, fast, 5, Value::Null).await.nothing();
    known.fake.advance(Duration::from_millis(1));
    assert_eq!(respond(&known, slow, 5, Value::Null).await.refusal(), unknown);
    assert_eq!(known.fake.interaction(slow).answered, None);
}

#[tokio::test]
async fn interaction_refuses_invalid_responses() {
    let known = known().await;
    let slash = known.fake.slash(known.user, known.channel, "help", &json!([]));
    let (_, press) = pressed(&known).await;
    for (id, kind, choices) in
        [(slash, 6, "1, 4, 5"), (slash, 7, "1, 4, 5"), (press, 2, "1, 4, 5, 6, 7")]
    {
        let errors = respond(&known, id, kind, Value::Null).await.errors();
        assert_eq!(
            errors,
            [format!("type BASE_TYPE_CHOICES: Value must be one of {{{choices}}}.")]
        );
    }
    let errors = respond(&known, slash, 4, text(&"a".repeat(2001))).await.errors();
    assert_eq!(errors, ["content BASE_TYPE_MAX_LENGTH: Must be 2000 or fewer in length."]);
    let errors = respond(&known, slash, 4, json!({ "content": "x" })).await.errors();
    assert_eq!(errors, ["allowed_mentions BASE_TYPE_REQUIRED: This field is required"]);
    let empty = (400, 50006, "Cannot send an empty message".to_owned());
    assert_eq!(respond(&known, slash, 4, text("")).await.refusal(), empty);
    // The refused answers have not used up the interaction.
    respond(&known, slash, 4, text("now")).await.nothing();
    assert_eq!(known.fake.sent().last().unwrap().interaction, Some(slash));
}

#[tokio::test]
async fn interaction_response_that_is_ephemeral_is_not_in_the_channel() {
    let known = known().await;
    let slash = known.fake.slash(known.user, known.channel, "help", &json!([]));
    let mut data = text("for you");
    data["flags"] = json!(64);
    respond(&known, slash, 4, data).await.nothing();
    let message = known.fake.sent().remove(0);
    assert!(message.is_ephemeral());
    assert_eq!(known.get(&messages(known.channel)).await.result(), json!([]));
    let path = format!("{}/{}", messages(known.channel), message.id);
    let unknown = (404, 10008, "Unknown Message".to_owned());
    assert_eq!(known.get(&path).await.refusal(), unknown);
    let original = known.get(&webhook(&known, slash, "/messages/@original")).await.result();
    assert_eq!(id(&original), message.id);
}

#[tokio::test]
async fn interaction_response_that_is_deferred_replaces_the_first() {
    let known = known().await;
    let slash = known.fake.slash(known.user, known.channel, "help", &json!([]));
    let original = webhook(&known, slash, "/messages/@original");
    let unknown = (404, 10015, "Unknown Webhook".to_owned());
    assert_eq!(known.ask("PATCH", &original, &text("x")).await.refusal(), unknown);
    respond(&known, slash, 5, json!({ "flags": 64 })).await.nothing();
    assert_eq!(known.get(&original).await.refusal().1, 10008);
    known.ask("PATCH", &original, &text("first")).await.result();
    known.ask("PATCH", &original, &text("second")).await.result();
    let [message] = &known.fake.sent()[..] else { panic!("{:?}", known.fake.sent()) };
    assert_eq!((&*message.text, &message.edits[..]), ("second", &["first".to_owned()][..]));
    assert!(message.is_ephemeral());
    known.ask("DELETE", &original, &Value::Null).await.nothing();
    assert!(known.fake.sent()[0].deleted);
}

#[tokio::test]
async fn interaction_accepts_followups_for_15_minutes() {
    let known = known().await;
    let slash = known.fake.slash(known.user, known.channel, "help", &json!([]));
    respond(&known, slash, 4, text("first")).await.nothing();
    let more = webhook(&known, slash, "");
    let second = id(&known.post(&more, &text("second")).await.result());
    let path = webhook(&known, slash, &format!("/messages/{second}"));
    known.ask("PATCH", &path, &text("changed")).await.result();
    let empty = (400, 50006, "Cannot send an empty message".to_owned());
    assert_eq!(known.post(&more, &text(" ")).await.refusal(), empty);
    let other = format!("/webhooks/{}/x", known.fake.bot());
    let unknown = (404, 10015, "Unknown Webhook".to_owned());
    assert_eq!(known.post(&other, &text("x")).await.refusal(), unknown);
    known.fake.advance(TOKEN_KEPT);
    let invalid = (401, 50027, "Invalid Webhook Token".to_owned());
    assert_eq!(known.post(&more, &text("third")).await.refusal(), invalid);
    let texts: Vec<String> =
        known.fake.sent_in(known.channel).into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["first", "changed"]);
}
