//! Several updates that form one message for the reader: an album, a long text that the sender's
//! client has cut, or a comment with forwarded messages.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

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

/// The polls that follow a batch whose last message may not be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookAgain {
    /// The batch is complete.
    No,
    /// The last update may be a comment. Its forwarded messages, if any, follow it directly.
    Once,
    /// The last update is a part, and others arrive within a moment.
    WhileGrowing,
}

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
            let is_same_album = album(&update).is_some() && album(&update) == album(first);
            (is_same_album || belongs(known, &update))
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
pub(crate) fn belongs(known: &[Update], update: &Update) -> bool {
    let is_next_part = known.last().is_some_and(|last| continues(last, update));
    is_next_part || forwards::belongs(known, update)
}

/// Decides if a batch has to wait for more parts of the message at its end. Text and forwarded
/// messages for others do not wait.
pub(crate) fn look_again(updates: &[Update], is_for_bot: impl Fn(&Update) -> bool) -> LookAgain {
    let Some(last) = updates.last() else { return LookAgain::No };
    if album(last).is_some() {
        return LookAgain::WhileGrowing;
    }
    match &updates[updates.len() - parts_at_end(updates)..] {
        parts if !parts.iter().any(is_for_bot) => LookAgain::No,
        _ if waits_for_more(last) => LookAgain::WhileGrowing,
        _ if is_typed(last) => LookAgain::Once,
        _ => LookAgain::No,
    }
}

/// Returns the number of updates at the end that form one message, at least 1. Ignores albums.
fn parts_at_end(updates: &[Update]) -> usize {
    let is_next =
        |pair: &[Update]| continues(&pair[0], &pair[1]) || forwards::follows(&pair[0], &pair[1]);
    1 + updates.windows(2).rev().take_while(|pair| is_next(pair)).count()
}

/// Returns `true` for a text that may be cut, and for a forwarded message.
pub(crate) fn waits_for_more(update: &Update) -> bool {
    is_cut(update) || forwards::is_forward(update)
}

/// Returns the number of updates before the last message, which may be incomplete. If there are
/// none, returns the number of all updates: later ones come only after some were taken.
pub(crate) fn settled(updates: &[Update]) -> usize {
    let Some(last) = updates.last() else { return 0 };
    let album =
        updates.iter().position(|update| album(last).is_some() && album(update) == album(last));
    let begins = match album {
        Some(begins) => begins,
        None if waits_for_more(last) || is_typed(last) => updates.len() - parts_at_end(updates),
        None => updates.len(),
    };
    if begins > 0 { begins } else { updates.len() }
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
    pub(crate) fn learn(&self, cursor: &Cursor) {
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

/// Returns `true` if an update is the next part of a text that was cut.
fn continues(first: &Update, next: &Update) -> bool {
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
        let look_again = |updates| look_again(updates, |_| true);
        assert_eq!(
            [look_again(&parts[..2]), look_again(&parts)],
            [LookAgain::WhileGrowing, LookAgain::Once]
        );
        let before = [text(0, 7, 1, "hi")];
        assert_eq!(settled(&[&before[..], &parts[..2]].concat()), 1);
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
    fn settled_excludes_the_last_album_unless_the_batch_starts_with_it() {
        let table: [(&[Option<&str>], usize); 6] = [
            (&[], 0),
            (&[None, Some("a"), None], 3),
            (&[None, Some("a")], 1),
            (&[Some("a"), None, Some("b"), None, Some("b")], 2),
            (&[Some("a"), Some("a")], 2),
            (&[Some("a"), None, Some("a")], 3),
        ];
        for (albums, expected) in table {
            let updates: Vec<Update> =
                albums.iter().zip(1..).map(|(album, id)| update(id, *album)).collect();
            assert_eq!(settled(&updates), expected, "{albums:?}");
        }
    }

    #[test]
    fn look_again_waits_for_the_rest_of_the_message_at_the_end() {
        let typed = || text(3, 7, 1, "look at this");
        let origin = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Eve" });
        let mut forward = json!({ "update_id": 4, "message": {
            "message_id": 4, "date": 1, "text": "news", "forward_origin": origin,
            "chat": { "id": 7, "type": "private", "first_name": "A" },
            "from": { "id": 7, "is_bot": false, "first_name": "A" } } });
        let table = [
            (vec![], LookAgain::No),
            (vec![update(1, None), update(2, Some("a"))], LookAgain::WhileGrowing),
            (vec![update(1, Some("a")), update(2, None)], LookAgain::No),
            (vec![update(1, Some("a")), typed()], LookAgain::Once),
            (vec![typed(), Update::read(forward.clone()).unwrap()], LookAgain::WhileGrowing),
            (vec![text(3, 7, 1, "/stop")], LookAgain::No),
        ];
        for (updates, expected) in &table {
            assert_eq!(look_again(updates, |_| true), *expected, "{updates:?}");
        }
        let (comment, forward_of_it) = (typed(), Update::read(forward.clone()).unwrap());
        let pair = [comment, forward_of_it];
        assert_eq!(
            look_again(&pair, |update| update.id == 3),
            LookAgain::WhileGrowing,
            "the comment counts"
        );
        assert_eq!(
            [look_again(&pair, |_| false), look_again(&pair[..1], |_| false)],
            [LookAgain::No; 2]
        );
        forward["update_id"] = json!(5);
        let batch = [update(1, None), typed(), Update::read(forward).unwrap()];
        assert_eq!((settled(&batch), settled(&batch[..2])), (1, 1));
    }
}
