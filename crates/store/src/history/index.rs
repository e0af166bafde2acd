//! The index of past conversations. It holds the texts of ended root turns, because those no longer
//! change.
//!
//! A batch is read and split into words by a reader, so that its write transaction is short. The
//! batch, the mark and the list of pending turns change in one transaction. A crash before it only
//! repeats work, and no text is indexed twice.

use avocet_protocol::chat::{Content, Inbound, SessionId, Transcript};
use avocet_protocol::ids::TurnId;
use avocet_text::{in_hexadecimal, index_text};
use rusqlite::params;
use sha2::{Digest as _, Sha256};

use crate::rows::messages::{INBOUND, inbound_from_row, is_copied};
use crate::rows::parse_column;
use crate::tx::{Db, Result, Tx};

/// Maximum number of texts in one write transaction, since other writes wait for it. A single turn
/// with more texts is indexed as a whole.
const MAX_TEXTS: usize = 500;
/// Maximum number of turns that one batch looks at.
const MAX_TURNS: usize = 500;
const ENDED: &str = "(state = 'done' OR state = 'cancelled' OR state = 'failed')";

/// The number of a text in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextId {
    /// A message, by `inbound.id`.
    Message(i64),
    Step {
        turn: i64,
        number: i64,
    },
    /// The notice of a turn.
    Notice {
        turn: i64,
    },
}

impl TextId {
    /// The number of a turn's notice among its steps. A turn has far fewer steps.
    const NOTICE: i64 = (1 << 16) - 1;

    pub(super) fn row_id(self) -> i64 {
        let of_turn = |turn: i64, number: i64| (turn << 17) | (number << 1) | 1;
        match self {
            Self::Message(id) => id << 1,
            Self::Step { turn, number } => of_turn(turn, number.min(Self::NOTICE - 1)),
            Self::Notice { turn } => of_turn(turn, Self::NOTICE),
        }
    }

    pub(super) fn of_row(row: i64) -> Self {
        let (turn, number) = (row >> 17, (row >> 1) & Self::NOTICE);
        match (row & 1, number) {
            (0, _) => Self::Message(row >> 1),
            (_, Self::NOTICE) => Self::Notice { turn },
            (_, number) => Self::Step { turn, number },
        }
    }
}

/// The next texts for the index.
#[derive(Debug)]
pub(super) struct IndexBatch {
    /// The mark when the batch was read.
    mark: i64,
    /// The mark after it.
    new_mark: i64,
    /// Turns from the list of pending ones that have ended.
    settled: Vec<i64>,
    /// Turns that have not ended.
    pending: Vec<i64>,
    texts: Vec<IndexedText>,
}

#[derive(Debug)]
struct IndexedText {
    id: TextId,
    scope: String,
    words: String,
}

impl IndexBatch {
    /// Reads the next batch; `None` if the index is up to date.
    pub(super) fn next(db: Db<'_>) -> Result<Option<Self>> {
        let mark: i64 = db.query_one("SELECT turn FROM history_mark", (), |row| row.get(0))?;
        let mut batch = Self {
            mark,
            new_mark: mark,
            settled: Vec::new(),
            pending: Vec::new(),
            texts: Vec::new(),
        };
        let settled = db.query_rows(
            &format!(
                "SELECT id FROM history_pending JOIN turns ON turns.id = history_pending.turn \
                 WHERE {ENDED} ORDER BY id LIMIT ?1"
            ),
            [MAX_TURNS],
            |row| row.get::<_, i64>(0),
        )?;
        for turn in settled {
            if !batch.take_texts(texts_of_turn(db, TurnId(turn))?) {
                return Ok(Some(batch));
            }
            batch.settled.push(turn);
        }
        let newer = db.query_rows(
            &format!(
                "SELECT id, {ENDED}, parent IS NULL FROM turns WHERE id > ?1 ORDER BY id LIMIT ?2"
            ),
            params![mark, MAX_TURNS],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?, row.get::<_, bool>(2)?)),
        )?;
        for (turn, has_ended, is_root) in newer {
            match (has_ended, is_root) {
                // The parent reports the text of its child.
                (_, false) => {}
                (false, true) => batch.pending.push(turn),
                (true, true) if batch.take_texts(texts_of_turn(db, TurnId(turn))?) => {}
                (true, true) => break,
            }
            batch.new_mark = turn;
        }
        let is_empty = batch.settled.is_empty() && batch.new_mark == mark;
        Ok((!is_empty).then_some(batch))
    }

    /// Adds the texts of a turn if they fit.
    fn take_texts(&mut self, texts: Vec<IndexedText>) -> bool {
        let fits = self.texts.is_empty() || self.texts.len() + texts.len() <= MAX_TEXTS;
        if fits {
            self.texts.extend(texts);
        }
        fits
    }

    /// Adds the batch to the index, unless another search has added it.
    pub(super) fn add_to_index(&self, tx: &Tx<'_>) -> Result<()> {
        let mark: i64 = tx.db.query_one("SELECT turn FROM history_mark", (), |row| row.get(0))?;
        if mark != self.mark
            || !self.settled.iter().try_fold(true, |all, turn| {
                let sql = "SELECT 1 FROM history_pending WHERE turn = ?1";
                Ok(all && tx.db.query_row(sql, [turn], |_| Ok(()))?.is_some())
            })?
        {
            return Ok(());
        }
        for turn in &self.settled {
            tx.change_rows("DELETE FROM history_pending WHERE turn = ?1", [turn])?;
        }
        for turn in &self.pending {
            tx.insert("INSERT INTO history_pending (turn) VALUES (?1)", [turn])?;
        }
        for IndexedText { id, scope, words } in &self.texts {
            tx.insert(
                "INSERT INTO history_index (rowid, scope, words) VALUES (?1, ?2, ?3)",
                params![id.row_id(), scope, words],
            )?;
        }
        tx.change_rows("UPDATE history_mark SET turn = ?1 WHERE only = 1", [self.new_mark])?;
        Ok(())
    }
}

/// Removes the texts of a turn from the index, before the turn itself is removed.
pub(crate) fn forget_turn(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    let is_indexed = tx.db.query_one(
        "SELECT ?1 <= (SELECT turn FROM history_mark) \
             AND NOT EXISTS (SELECT 1 FROM history_pending WHERE turn = ?1)",
        [turn.0],
        |row| row.get::<_, bool>(0),
    )?;
    if !is_indexed {
        return Ok(());
    }
    for IndexedText { id, scope, words } in texts_of_turn(tx.db, turn)? {
        // An index without contents needs the texts again ("The 'delete' Command" of FTS5).
        tx.insert(
            "INSERT INTO history_index (history_index, rowid, scope, words) \
             VALUES ('delete', ?1, ?2, ?3)",
            params![id.row_id(), scope, words],
        )?;
    }
    Ok(())
}

/// Returns the texts of an ended turn: its messages, the model's texts and its notice. Results of
/// tools are left out, because anybody may have written them.
fn texts_of_turn(db: Db<'_>, turn: TurnId) -> Result<Vec<IndexedText>> {
    let messages = db.query_rows(
        &format!("{INBOUND} WHERE turn = ?1 AND kind = 'text' ORDER BY id"),
        [turn.0],
        |row| Ok((inbound_from_row(row)?, is_copied(row)?)),
    )?;
    let steps = db.query_rows(
        "SELECT number, text FROM steps WHERE turn = ?1 ORDER BY number",
        [turn.0],
        |row| {
            let id = TextId::Step { turn: turn.0, number: row.get(0)? };
            Ok((id, row.get::<_, String>(1)?))
        },
    )?;
    let (session, notice): (SessionId, Option<String>) =
        db.query_one("SELECT session, notice FROM turns WHERE id = ?1", [turn.0], |row| {
            Ok((parse_column(row, "session")?, row.get(1)?))
        })?;
    let senders = messages.iter().map(|(message, _)| &message.message.inbound);
    let scope = [Some(scope_of_session(&session)), scope_of(senders)];
    let scope = scope.into_iter().flatten().collect::<Vec<_>>().join(" ");
    // The turn that repeats a failed one has copies of its messages.
    let originals = messages.iter().filter(|(_, is_copied)| !is_copied);
    let messages = originals.map(|(message, _)| {
        (TextId::Message(message.id.0), text_of(&message.message.inbound.content))
    });
    let notice = notice.map(|notice| (TextId::Notice { turn: turn.0 }, notice));
    let texts = messages.chain(steps).chain(notice).map(|(id, text)| IndexedText {
        id,
        scope: scope.clone(),
        words: index_text(&text),
    });
    Ok(texts.filter(|text| !text.words.is_empty()).collect())
}

/// Returns the words that the sender has typed or spoken, without quoted text.
pub(crate) fn text_of(content: &Content) -> String {
    let spoken = content.own_files().filter_map(|one| match &one.transcript {
        Some(Transcript::Said(text)) => Some(text.as_str()),
        Some(Transcript::Failed(_)) | None => None,
    });
    [content.text.as_str()]
        .into_iter()
        .chain(spoken)
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// Returns the word of the index for texts of this session.
pub(super) fn scope_of_session(session: &SessionId) -> String {
    single_word("session", session.as_str())
}

/// Returns the word of the index for the private turns of the one person who asked for this turn.
pub(super) fn scope_of_sender(db: Db<'_>, turn: TurnId) -> Result<Option<String>> {
    let sql = format!("{INBOUND} WHERE turn = ?1 AND kind = 'text'");
    let messages = db.query_rows(&sql, [turn.0], inbound_from_row)?;
    Ok(scope_of(messages.iter().map(|message| &message.message.inbound)))
}

/// Returns the word for messages that are all private and from one sender.
fn scope_of<'a>(mut messages: impl Iterator<Item = &'a Inbound>) -> Option<String> {
    let key = |inbound: &Inbound| {
        let Inbound { address, sender, chat, .. } = inbound;
        let is_private = *chat == avocet_protocol::chat::ChatKind::Private && !sender.is_bot;
        is_private.then(|| format!("{}:{}:{}", address.channel, address.account, sender.id))
    };
    let first = key(messages.next()?)?;
    messages
        .all(|message| key(message).as_ref() == Some(&first))
        .then(|| single_word("sender", &first))
}

/// Returns a word that FTS5 keeps as one.
fn single_word(kind: &str, key: &str) -> String {
    let digest = Sha256::digest(format!("{kind} {key}"));
    format!("{kind}{}", in_hexadecimal(&digest[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_id_survives_its_row() {
        let ids = [
            TextId::Message(1),
            TextId::Message(1 << 40),
            TextId::Step { turn: 1, number: 0 },
            TextId::Step { turn: 1 << 40, number: 65_000 },
            TextId::Notice { turn: 7 },
        ];
        for id in ids {
            assert_eq!(TextId::of_row(id.row_id()), id);
        }
    }
}
