//! Forwarded messages. The sender's client sends a comment first, and then each forwarded message
//! as a separate message. Together they form one message for the reader.

use teloxide::types::{Message, UpdateKind};

use crate::media::{self, Carried};
use crate::typed_text;
use crate::update::Update;

/// The most forwarded messages that become one message.
const MAX_FORWARDS: usize = 10;
/// Seconds between messages that a client sends one after the other.
const NEXT_SECONDS: i64 = 1;

/// Returns `true` if the update is the next forwarded message of the message that `known` forms so
/// far: a comment, forwarded messages, or both.
pub(crate) fn belongs(known: &[Update], next: &Update) -> bool {
    let forwards = known.iter().filter(|update| is_forward(update)).count();
    forwards < MAX_FORWARDS && known.last().is_some_and(|last| follows(last, next))
}

/// Returns `true` if an update is a message that its sender forwarded directly after another one.
fn follows(last: &Update, next: &Update) -> bool {
    let ids = message(last).zip(message(next)).map(|(last, next)| (last.id.0, next.id.0));
    ids.is_some_and(|(last, next)| last.checked_add(1) == Some(next)) && comes_with(last, next)
}

/// Returns `true` if a forwarded message belongs to the last message of its sender. Others may have
/// written in between, in this chat or another one.
pub(crate) fn comes_with(last: &Update, next: &Update) -> bool {
    if !(typed_text::is_typed(last) || is_forward(last)) || !is_forward(next) {
        return false;
    }
    let is_same_author = typed_text::is_same_author(last, next);
    let (Some(last), Some(next)) = (message(last), message(next)) else { return false };
    let seconds = next.date.timestamp() - last.date.timestamp();
    is_same_author && (0..=NEXT_SECONDS).contains(&seconds)
}

/// Returns `true` for a forwarded message with readable content.
pub(crate) fn is_forward(update: &Update) -> bool {
    message(update).is_some_and(|message| {
        let is_readable = !matches!(media::carried(message), Carried::Unreadable(_));
        message.forward_origin().is_some() && is_readable
    })
}

fn message(update: &Update) -> Option<&Message> {
    match &update.kind {
        UpdateKind::Message(message) => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn update(id: i64, more: &Value) -> Update {
        let mut message = json!({
            "message_id": id, "date": 10, "text": "look",
            "chat": { "id": 7, "type": "private", "first_name": "A" },
            "from": { "id": 7, "is_bot": false, "first_name": "A" },
        });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Update::read(json!({ "update_id": 100 + id, "message": message })).unwrap()
    }

    fn forward(id: i64, more: &Value) -> Update {
        let origin = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Eve" });
        let mut fields = json!({ "forward_origin": origin });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        update(id, &fields)
    }

    #[test]
    fn belongs_accepts_forwards_directly_after_their_comment() {
        let none = json!({});
        let comment = update(1, &none);
        let photo = json!({ "text": null, "photo": [
            { "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 }] });
        let story = json!({ "text": null, "story": {
            "id": 1, "chat": { "id": -5, "type": "channel", "title": "S" } } });
        let table = [
            ("a forward", forward(2, &none), true),
            ("in the next second", forward(2, &json!({ "date": 11 })), true),
            ("a photo", forward(2, &photo), true),
            ("a text", update(2, &none), false),
            ("a message between", forward(3, &none), false),
            ("later", forward(2, &json!({ "date": 12 })), false),
            ("an unreadable forward", forward(2, &story), false),
            (
                "of another person",
                forward(2, &json!({ "from": { "id": 8, "is_bot": false, "first_name": "B" } })),
                false,
            ),
            (
                "in another chat",
                forward(2, &json!({ "chat": { "id": 8, "type": "private", "first_name": "B" } })),
                false,
            ),
        ];
        for (case, next, expected) in table {
            assert_eq!(belongs(std::slice::from_ref(&comment), &next), expected, "{case}");
        }
        let command = update(1, &json!({ "text": "/stop" }));
        assert!(!belongs(&[command], &forward(2, &none)), "a command acts alone");
        assert!(belongs(&[forward(1, &none)], &forward(2, &none)), "without a comment");
    }

    #[test]
    fn belongs_accepts_ten_forwards_at_most() {
        let mut known = vec![update(0, &json!({}))];
        for id in 1..=10 {
            let next = forward(id, &json!({}));
            assert!(belongs(&known, &next), "{id}");
            known.push(next);
        }
        assert!(!belongs(&known, &forward(11, &json!({}))));
    }
}
