//! Albums: several updates that form one message for the reader.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use avocet_protocol::Cursor;
use teloxide::types::UpdateKind;

use crate::update::Update;

/// Groups the updates of a batch, in order; an album takes the place of its first update.
/// `committed` is the last update known to be in the log. Updates up to it are grouped separately
/// from later ones, because the log would absorb a mixed group as known.
pub(crate) fn gather(updates: Vec<Update>, committed: i64) -> Vec<Vec<Update>> {
    let mut gathered: Vec<Vec<Update>> = Vec::new();
    for update in updates {
        let belongs = |known: &&mut Vec<Update>| {
            let first = &known[0];
            album(&update).is_some()
                && album(&update) == album(first)
                && (update.id > committed) == (first.id > committed)
        };
        match gathered.iter_mut().find(belongs) {
            Some(album) => album.push(update),
            None => gathered.push(vec![update]),
        }
    }
    gathered
}

/// Returns `true` if the last update is part of an album, which may continue.
pub(crate) fn may_continue(updates: &[Update]) -> bool {
    updates.last().is_some_and(|last| album(last).is_some())
}

/// The number of updates before the album at the end. All of them if that number is zero: some have
/// to be taken, so that others come.
pub(crate) fn settled(updates: &[Update]) -> usize {
    let last = updates.last().and_then(album);
    let begins = updates.iter().position(|update| last.is_some() && album(update) == last);
    begins.filter(|before| *before > 0).unwrap_or(updates.len())
}

/// Prefix of the scope of cursors that record an album for the bot.
const SCOPE: &str = "album ";

/// The last album for the bot in each group. A webhook gets the parts of an album one by one, and only
/// one part has the mention.
#[derive(Debug, Default)]
pub(crate) struct BotAlbums(Mutex<BTreeMap<i64, String>>);

impl BotAlbums {
    /// Returns `true` if another part of this album was for the bot.
    pub(crate) fn has(&self, update: &Update) -> bool {
        album(update)
            .is_some_and(|(chat, id)| self.albums().get(&chat).is_some_and(|one| one == id))
    }

    /// Reads an album from a cursor of an earlier run.
    pub(crate) fn learn(&self, cursor: &Cursor) {
        let chat = cursor.scope.strip_prefix(SCOPE).and_then(|chat| chat.parse().ok());
        if let Some(chat) = chat {
            self.albums().insert(chat, cursor.position.clone());
        }
    }

    fn albums(&self) -> MutexGuard<'_, BTreeMap<i64, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the cursor that records the album of an update for the bot; `None` without an album.
pub(crate) fn cursor(update: &Update) -> Option<Cursor> {
    let (chat, id) = album(update)?;
    Some(Cursor { scope: format!("{SCOPE}{chat}"), position: id.to_owned() })
}

/// Returns `true` if an update is part of an album.
pub(crate) fn is_part(update: &Update) -> bool {
    album(update).is_some()
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
    fn may_continue_only_if_the_batch_ends_in_an_album() {
        assert!(may_continue(&[update(1, None), update(2, Some("a"))]));
        assert!(!may_continue(&[update(1, Some("a")), update(2, None)]));
        assert!(!may_continue(&[]));
    }
}
