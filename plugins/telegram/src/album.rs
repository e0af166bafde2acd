//! Several updates that form one message for the reader: an album, a long text that the sender's
//! client has cut, or a comment with forwarded messages.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use avocet_protocol::chat::Cursor;
use parking_lot::Mutex;
use teloxide::types::UpdateKind;

use crate::forwards;
use crate::typed_text::{is_same_author, is_typed, plain_text};
use crate::update::Update;

/// UTF-16 units of a text that a client may have cut: a message has at most 4,096 (Bot API,
/// `sendMessage`), and clients cut between words.
const CUT_TEXT: RangeInclusive<usize> = 3900..=4096;
/// Seconds between the parts of a text that a client sends one after the other.
const CUT_SECONDS: i64 = 2;
/// The wait for the next part of a text that was cut, and of an album or a row of forwarded messages.
const NEXT_CUT: Duration = Duration::from_secs(2);
const NEXT_PART: Duration = Duration::from_millis(500);

/// Groups the updates of a batch, in the order of the first update of each group. A group is an
/// album, a text that was cut, or a comment with its forwarded messages.
///
/// `committed` is the last update known to be in the log. Updates up to it are grouped separately
/// from later ones, because the log would absorb a mixed group as known.
pub(crate) fn gather(updates: Vec<Update>, committed: i64) -> Vec<Vec<Update>> {
    let mut gathered: Vec<Vec<Update>> = Vec::new();
    for update in updates {
        let takes_update = |known: &&mut Vec<Update>| {
            let first = &known[0];
            (is_same_album(&update, first) || belongs(known, &update))
                && (update.id > committed) == (first.id > committed)
        };
        match gathered.iter_mut().find(takes_update) {
            Some(group) => group.push(update),
            None => gathered.push(vec![update]),
        }
    }
    gathered
}

/// Returns `true` if an update is the next part of a text that was cut, or the next forwarded
/// message.
fn belongs(known: &[Update], update: &Update) -> bool {
    let is_next_part = known.last().is_some_and(|last| continues(last, update));
    is_next_part || forwards::belongs(known, update)
}

/// Returns `true` if the last update may be a comment for the bot. Its forwarded messages, if any,
/// follow it directly.
pub(crate) fn may_have_forwards(updates: &[Update], is_for_bot: impl Fn(&Update) -> bool) -> bool {
    updates.last().is_some_and(|last| is_typed(last) && is_for_bot(last))
}

/// Returns the time in which a further part of a message may follow; `None` if the message may be
/// whole. A single forwarded message does not wait.
pub(crate) fn more_within(updates: &[Update], is_continued: bool) -> Option<Duration> {
    let last = updates.last()?;
    let is_one_of_several = is_continued || updates.len() > 1;
    if is_cut(last) {
        Some(NEXT_CUT)
    } else if album(last).is_some() || (is_one_of_several && forwards::is_forward(last)) {
        Some(NEXT_PART)
    } else {
        None
    }
}

/// Prefix of the scope of cursors that record an album for the bot.
const SCOPE: &str = "album ";

/// The last album for the bot in each group. A webhook gets the parts of an album one by one, and
/// only one part has the mention.
#[derive(Debug, Default)]
pub(crate) struct BotAlbums(Mutex<BTreeMap<i64, String>>);

impl BotAlbums {
    /// Returns `true` if another part of this album was for the bot.
    pub(crate) fn has(&self, update: &Update) -> bool {
        album(update)
            .is_some_and(|(chat, id)| self.0.lock().get(&chat).is_some_and(|one| one == id))
    }

    /// Reads an album from a cursor of an earlier run.
    pub(crate) fn note_cursor(&self, cursor: &Cursor) {
        let chat = cursor.scope.strip_prefix(SCOPE).and_then(|chat| chat.parse().ok());
        if let Some(chat) = chat {
            self.0.lock().insert(chat, cursor.position.clone());
        }
    }
}

/// Returns the cursor that records the album of an update for the bot; `None` without an album.
pub(crate) fn cursor(update: &Update) -> Option<Cursor> {
    let (chat, id) = album(update)?;
    Some(Cursor { scope: format!("{SCOPE}{chat}"), position: id.to_owned() })
}

/// Returns `true` if an update can be part of a message that several updates form.
pub(crate) fn is_part(update: &Update) -> bool {
    album(update).is_some() || is_typed(update) || forwards::is_forward(update)
}

/// Returns `true` for a text that is so long that a client may have cut it.
fn is_cut(update: &Update) -> bool {
    plain_text(update).is_some_and(|(_, text)| CUT_TEXT.contains(&text.encode_utf16().count()))
}

/// Returns `true` if two updates are parts of one album.
pub(crate) fn is_same_album(one: &Update, other: &Update) -> bool {
    album(one).is_some() && album(one) == album(other)
}

/// Returns `true` if an update is the next part of a text that was cut.
pub(crate) fn continues(first: &Update, next: &Update) -> bool {
    let (Some((first_part, _)), Some((part, _))) = (plain_text(first), plain_text(next)) else {
        return false;
    };
    let seconds = part.date.timestamp() - first_part.date.timestamp();
    is_cut(first) && is_same_author(first, next) && (0..=CUT_SECONDS).contains(&seconds)
}

/// The chat and the id of the album that an update is part of.
fn album(update: &Update) -> Option<(i64, &str)> {
    let UpdateKind::Message(message) = &update.kind else { return None };
    Some((message.chat.id.0, message.media_group_id()?.0.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(id: i64, album: Option<&str>) -> Update {
        let mut message = json!({
            "message_id": id, "date": 1, "chat": { "id": 7, "type": "private", "first_name": "A" },
            "photo": [{ "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 }],
        });
        if let Some(album) = album {
            message["media_group_id"] = json!(album);
        }
        Update::read(json!({ "update_id": id, "message": message })).unwrap()
    }

    fn ids(gathered: &[Vec<Update>]) -> Vec<Vec<i64>> {
        let ids = |updates: &Vec<Update>| updates.iter().map(|update| update.id).collect();
        gathered.iter().map(ids).collect()
    }

    #[test]
    fn gather_joins_an_album_at_its_first_update() {
        let batch = || {
            [(1, None), (2, Some("a")), (3, None), (4, Some("a")), (5, Some("b"))]
                .map(|(id, album)| update(id, album))
                .to_vec()
        };
        let table = [
            (0, vec![vec![1], vec![2, 4], vec![3], vec![5]]),
            (3, vec![vec![1], vec![2], vec![3], vec![4], vec![5]]),
            (9, vec![vec![1], vec![2, 4], vec![3], vec![5]]),
        ];
        for (committed, expected) in table {
            assert_eq!(ids(&gather(batch(), committed)), expected, "{committed}");
        }
    }

    fn text(id: i64, from: i64, date: i64, text: &str) -> Update {
        let user = json!({ "id": from, "is_bot": false, "first_name": "A" });
        let message = json!({
            "message_id": id, "date": date, "text": text, "from": user,
            "chat": { "id": 7, "type": "private", "first_name": "A" },
        });
        Update::read(json!({ "update_id": id, "message": message })).unwrap()
    }

    /// A second text with other fields.
    fn changed(fields: &serde_json::Value) -> Update {
        let user = json!({ "id": 7, "is_bot": false, "first_name": "A" });
        let mut message = json!({
            "message_id": 2, "date": 1, "text": "end", "from": user,
            "chat": { "id": 7, "type": "private", "first_name": "A" },
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Update::read(json!({ "update_id": 2, "message": message })).unwrap()
    }

    #[test]
    fn is_same_author_requires_an_author() {
        let nobody = changed(&json!({ "from": null }));
        assert!(!is_same_author(&nobody, &nobody));
        let channel = json!({ "from": null,
            "sender_chat": { "id": -5, "type": "channel", "title": "S" } });
        assert!(is_same_author(&changed(&channel), &changed(&channel)));
    }

    #[test]
    fn gather_joins_the_parts_of_a_text_that_was_cut() {
        let long = "x".repeat(*CUT_TEXT.start());
        let parts = [text(1, 7, 1, &long), text(2, 7, 1, &long), text(3, 7, 2, "end")];
        assert_eq!(ids(&gather(parts.to_vec(), 0)), [[1, 2, 3]]);
        assert_eq!(
            [more_within(&parts[..2], false), more_within(&parts, false)],
            [Some(NEXT_CUT), None]
        );
        let path = [parts[0].clone(), text(2, 7, 1, "/etc/hosts has one more line")];
        assert_eq!(ids(&gather(path.to_vec(), 0)), [[1, 2]], "no command");
        for other in [
            text(2, 8, 1, "of another person"),
            text(2, 7, 4, "later"),
            text(2, 7, 1, "/stop"),
            text(2, 7, 1, "/new@avocet_bot"),
            changed(&json!({ "direct_messages_topic": { "topic_id": 5 } })),
            changed(&json!({ "sender_chat": { "id": -5, "type": "channel", "title": "S" } })),
            changed(&json!({ "author_signature": "B" })),
            changed(&json!({ "from": null })),
        ] {
            let gathered = gather(vec![parts[0].clone(), other], 0);
            assert_eq!(ids(&gathered), [[1], [2]]);
        }
        let short = gather(vec![text(1, 7, 1, "short"), text(2, 7, 1, "short")], 0);
        assert_eq!(ids(&short), [[1], [2]]);
    }

    #[test]
    fn more_within_is_the_wait_for_the_next_part() {
        let origin = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Eve" });
        let forward = Update::read(json!({ "update_id": 4, "message": {
            "message_id": 4, "date": 1, "text": "news", "forward_origin": origin,
            "chat": { "id": 7, "type": "private", "first_name": "A" },
            "from": { "id": 7, "is_bot": false, "first_name": "A" } } }));
        let (typed, forward) = (text(3, 7, 1, "look at this"), forward.unwrap());
        let long = text(3, 7, 1, &"x".repeat(*CUT_TEXT.end()));
        let table = [
            (vec![typed.clone()], false, None),
            (vec![typed.clone()], true, None),
            (vec![long], false, Some(NEXT_CUT)),
            (vec![update(1, None)], true, None),
            (vec![update(1, Some("a"))], false, Some(NEXT_PART)),
            (vec![forward.clone()], false, None),
            (vec![forward.clone()], true, Some(NEXT_PART)),
            (vec![typed.clone(), forward.clone()], false, Some(NEXT_PART)),
        ];
        for (updates, is_continued, expected) in table {
            assert_eq!(more_within(&updates, is_continued), expected, "{updates:?}");
        }
        let batch = [forward, typed];
        assert!(may_have_forwards(&batch, |_| true) && !may_have_forwards(&batch, |_| false));
        assert!(!may_have_forwards(&batch[..1], |_| true) && !may_have_forwards(&[], |_| true));
    }
}
