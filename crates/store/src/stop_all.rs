//! The stop of everything. Each claim of a turn looks at the copy in memory, which the writer replaces
//! with each change, so that a turn runs no statement for it.
//!
//! The row is written first, and then the open turns are ended, each in a transaction with the notice
//! to its chat. A process that dies in between finds the row at its start and ends the rest.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::chat::{ChatAddress, LoggedInbound, Planned, SessionId};
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{Actor, AuditKind, OpenWork, StopAll, StopInForce};
use rusqlite::params;

use crate::audit;
use crate::cancel::cancel_turn;
use crate::preview;
use crate::rows;
use crate::rows::chunks::insert_notice;
use crate::rows::messages::{INBOUND, inbound_from_row};
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl StopAll for SqliteStore {
    fn current_stop(&self) -> Arc<Option<StopInForce>> {
        self.stop.now()
    }

    async fn stop_all(&self, by: &Actor, chat: Option<&ChatAddress>) -> Result<bool> {
        let (by, chat) = (by.clone(), chat.cloned());
        let begin = move |tx: &Tx<'_>| begin_stop(tx, &by, chat.as_ref());
        self.write("stop-all", Durability::Synced, begin).await
    }

    async fn resume_all(&self, by: &Actor) -> Result<bool> {
        let by = by.clone();
        self.write("resume-all", Durability::Synced, move |tx| end_stop(tx, &by)).await
    }

    async fn open_work(&self) -> Result<Vec<OpenWork>> {
        self.read(open_work).await
    }

    async fn end_work(&self, turn: TurnId, notice: Option<&Planned>) -> Result<Vec<TurnId>> {
        let notice = notice.cloned();
        self.write("end-work", Durability::Synced, move |tx| end_work(tx, turn, notice.as_ref()))
            .await
    }

    async fn untold_messages(&self, session: &SessionId) -> Result<Vec<LoggedInbound>> {
        let session = session.clone();
        self.read(move |db| {
            let waits = "session = ?1 AND state = 'queued' AND turn IS NULL AND kind = 'text'";
            db.query_rows(
                &format!(
                    "{INBOUND} WHERE id IN (SELECT min(id) FROM inbound WHERE {waits} \
                             GROUP BY channel, account, chat, topic) \
                         AND NOT EXISTS (SELECT 1 FROM stop_told WHERE \
                             stop_told.channel = inbound.channel \
                             AND stop_told.account = inbound.account \
                             AND stop_told.chat = inbound.chat \
                             AND stop_told.topic = coalesce(inbound.topic, '')) ORDER BY id"
                ),
                [session.as_str()],
                inbound_from_row,
            )
        })
        .await
    }

    async fn tell_chat(&self, notice: &Planned) -> Result<bool> {
        let notice = notice.clone();
        self.write("tell-chat", Durability::Synced, move |tx| {
            Ok(is_stopped(tx)? && tell_chat(tx, &notice)?)
        })
        .await
    }
}

/// Begins the stop, and ends all compactions. Returns `false` if it is in force already.
pub(crate) fn begin_stop(tx: &Tx<'_>, by: &Actor, chat: Option<&ChatAddress>) -> Result<bool> {
    let begun = tx.insert(
        "INSERT INTO stop_all (only, stopped_at, stopped_by, stopped_in) VALUES (1, ?1, ?2, ?3) \
         ON CONFLICT DO NOTHING",
        params![tx.now.0, by.to_string(), chat.map(ToString::to_string)],
    )?;
    if begun.is_none() {
        return Ok(false);
    }
    // The reply to the command tells its chat.
    if let Some(chat) = chat {
        note_told(tx, chat)?;
    }
    tx.change_rows("UPDATE sessions SET compact_for = NULL WHERE compact_for IS NOT NULL", ())?;
    tx.changed.stop.set(true);
    audit::record_stop(tx, AuditKind::StoppedAll, by)?;
    Ok(true)
}

/// Ends the stop. Returns `false` if none is in force.
pub(crate) fn end_stop(tx: &Tx<'_>, by: &Actor) -> Result<bool> {
    if tx.change_rows("DELETE FROM stop_all", ())? == 0 {
        return Ok(false);
    }
    tx.change_rows("DELETE FROM stop_told", ())?;
    tx.changed.stop.set(true);
    // Their runners slept, because nothing was due.
    tx.changed.schedules.set(true);
    tx.changed.memories.set(true);
    audit::record_stop(tx, AuditKind::ResumedAll, by)?;
    Ok(true)
}

fn is_stopped(tx: &Tx<'_>) -> Result<bool> {
    tx.db.query_one("SELECT EXISTS (SELECT 1 FROM stop_all)", (), |row| row.get(0))
}

fn open_work(db: Db<'_>) -> Result<Vec<OpenWork>> {
    let open =
        format!("SELECT id, session FROM turns WHERE {OPEN_TURN} ORDER BY parent IS NOT NULL, id");
    let open = db.query_rows(&open, (), |row| {
        Ok((TurnId(row.get("id")?), rows::parse_column(row, "session")?))
    })?;
    let asker = format!("{INBOUND} WHERE turn = ?1 ORDER BY id DESC LIMIT 1");
    open.into_iter()
        .map(|(turn, session)| {
            Ok(OpenWork { turn, session, asker: db.query_row(&asker, [turn.0], inbound_from_row)? })
        })
        .collect()
}

fn end_work(tx: &Tx<'_>, turn: TurnId, notice: Option<&Planned>) -> Result<Vec<TurnId>> {
    let is_open = format!("SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND {OPEN_TURN})");
    if !is_stopped(tx)? || !tx.db.query_one(&is_open, [turn.0], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    let reply = preview::stopped_reply(tx.db, turn)?;
    let ended = cancel_turn(tx, turn, "an owner stopped everything", reply.as_ref())?;
    if let Some(notice) = notice {
        tell_chat(tx, notice)?;
    }
    Ok(ended)
}

/// Sends a notice unless its chat has got one.
fn tell_chat(tx: &Tx<'_>, notice: &Planned) -> Result<bool> {
    let is_new = note_told(tx, &notice.address)?;
    if is_new {
        insert_notice(tx, notice)?;
    }
    Ok(is_new)
}

/// Notes that a chat knows of the stop. Returns `false` if it knew before.
fn note_told(tx: &Tx<'_>, address: &ChatAddress) -> Result<bool> {
    let ChatAddress { channel, account, chat, topic } = address;
    let topic = topic.as_ref().map_or("", |topic| topic.as_str());
    let told = tx.change_rows(
        "INSERT INTO stop_told (channel, account, chat, topic) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO NOTHING",
        [channel.as_str(), account.as_str(), chat.as_str(), topic],
    )?;
    Ok(told > 0)
}
