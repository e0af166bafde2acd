//! Albums: several files that people see as one message (Bot API, `sendMediaGroup`).

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::bot::BotState;
use super::chats::UnsentMessage;
use super::text::{self, CAPTION_LIMIT};
use super::wire::{ApiError, MethodCall};

/// Files of an album.
const ALBUM_FILES: RangeInclusive<usize> = 2..=10;

impl BotState {
    /// Sends an album: all of its messages or none.
    pub(super) fn send_media_group(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        let Some(Value::Array(media)) = call.json("media")? else {
            return Err(ApiError::bad_request("can't parse media JSON object"));
        };
        match media.len() {
            0 | 1 => return Err(ApiError::bad_request("there are no messages to send")),
            count if !ALBUM_FILES.contains(&count) => {
                return Err(ApiError::bad_request("too many messages to send as an album"));
            }
            _ => {}
        }
        let kinds: Vec<&str> = media.iter().map(|item| item["type"].as_str().unwrap()).collect();
        check_kinds(&kinds)?;
        let mut unsent: Vec<UnsentMessage> = Vec::new();
        for (item, kind) in media.iter().zip(&kinds) {
            unsent.push(self.album_item(call, item, kind)?);
        }
        self.albums += 1;
        let album = format!("album{}", self.albums);
        let messages = unsent
            .into_iter()
            .map(|one| self.say(UnsentMessage { album: Some(album.clone()), ..one }));
        Ok(Value::Array(messages.collect()))
    }

    fn album_item(
        &mut self,
        call: &MethodCall,
        item: &Value,
        kind: &str,
    ) -> Result<UnsentMessage, ApiError> {
        let mut args: Map<String, Value> = item.as_object().cloned().unwrap_or_default();
        args.insert(kind.to_owned(), item["media"].clone());
        let own = MethodCall { method: call.method.clone(), args, files: call.files.clone() };
        let formatted = text::read(&own, "caption", "caption_entities")?;
        if text::length(&formatted.text) > CAPTION_LIMIT {
            return Err(ApiError::bad_request("message caption is too long"));
        }
        let file = Some(self.sent_file(&own, kind)?);
        Ok(UnsentMessage { formatted, file, ..self.draft(call)? })
    }
}

/// Photos and videos go together; other files only with their like.
fn check_kinds(kinds: &[&str]) -> Result<(), ApiError> {
    let is_visual = |kind: &&str| matches!(*kind, "photo" | "video");
    match kinds.first() {
        Some(first) if is_visual(first) && kinds.iter().all(is_visual) => Ok(()),
        Some(first @ (&"audio" | &"document")) if kinds.iter().all(|kind| kind == first) => Ok(()),
        Some(first) if is_visual(first) || matches!(*first, "audio" | "document") => {
            let why = format!("{first} can't be mixed with other media types");
            Err(ApiError::bad_request(why))
        }
        _ => Err(ApiError::bad_request("invalid message content type")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::client::{USER, call, fake};
    use super::*;

    fn album(items: &[(&str, &str)]) -> Value {
        let media: Vec<Value> = items
            .iter()
            .map(|(kind, caption)| json!({ "type": kind, "media": "f1", "caption": caption }))
            .collect();
        json!({ "chat_id": USER, "media": media })
    }

    #[tokio::test]
    async fn send_media_group_sends_the_messages_of_one_album() {
        let fake = fake().await;
        fake.add_file("f1", None, b"bytes");
        let sent = album(&[("photo", "look"), ("video", "")]);
        let result = call(&fake, "sendMediaGroup", &sent).await.result();
        let messages = fake.sent().split_off(1);
        let texts: Vec<_> = messages.iter().map(|one| (one.text.as_str(), &one.album)).collect();
        let album = Some("album1".to_owned());
        assert_eq!(texts, [("look", &album), ("", &album)]);
        let ids = [0, 1].map(|place| result[place]["message_id"].as_i64().unwrap());
        assert_eq!(ids, [messages[0].id, messages[1].id]);
        assert_eq!(result[1]["media_group_id"], "album1");
    }

    #[tokio::test]
    async fn send_media_group_refuses_what_is_no_album_and_sends_nothing() {
        let fake = fake().await;
        fake.add_file("f1", None, b"bytes");
        let long = "x".repeat(CAPTION_LIMIT + 1);
        let table = [
            (album(&[("photo", "")]), "there are no messages to send"),
            (album(&[("photo", ""); 11]), "too many messages to send as an album"),
            (
                album(&[("document", ""), ("photo", "")]),
                "document can't be mixed with other media types",
            ),
            (album(&[("photo", ""), ("audio", "")]), "photo can't be mixed with other media types"),
            (album(&[("voice", ""), ("voice", "")]), "invalid message content type"),
            (album(&[("photo", ""), ("photo", &long)]), "message caption is too long"),
        ];
        for (sent, why) in table {
            let refused = call(&fake, "sendMediaGroup", &sent).await.refusal();
            assert_eq!(refused, (400, format!("Bad Request: {why}")));
        }
        assert_eq!(fake.sent().len(), 1, "the first message of the test");
    }
}
