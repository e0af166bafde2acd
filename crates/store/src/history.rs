//! Full-text search over past conversations. `index` brings the index up to date.

mod index;

use std::collections::HashMap;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{
    History, HistoryAuthor, HistoryHit, HistoryQuery, SessionFilter, WideHistoryQuery,
};
use avocet_text::match_query;
use rusqlite::{Row, params};

use self::index::{IndexBatch, TextId, scope_of_sender, scope_of_session};
pub(crate) use self::index::{forget_turn, text_of};
use crate::rows::messages::{INBOUND, inbound_from_row};
use crate::rows::turns::{ANCESTORS, session_of};
use crate::rows::{parse_column, trust_column};
use crate::tx::{Db, Result};
use crate::{Durability, SqliteStore};

#[async_trait]
impl History for SqliteStore {
    async fn search_history(&self, query: &HistoryQuery) -> Result<Vec<HistoryHit>> {
        let Some(words) = match_query(&query.words) else { return Ok(Vec::new()) };
        self.bring_index_up_to_date().await?;
        let query = query.clone();
        self.read(move |db| search_history(db, &query, &words)).await
    }

    async fn search_all_history(&self, query: &WideHistoryQuery) -> Result<Vec<HistoryHit>> {
        let Some(words) = match_query(&query.words) else { return Ok(Vec::new()) };
        self.bring_index_up_to_date().await?;
        let WideHistoryQuery { limit, sessions, .. } = query.clone();
        self.read(move |db| search_all(db, &words, limit, sessions.as_ref())).await
    }
}

impl SqliteStore {
    async fn bring_index_up_to_date(&self) -> Result<()> {
        while let Some(batch) = self.read(IndexBatch::next).await? {
            // An empty result means that another search has added this batch meanwhile.
            self.write("index-history", Durability::Process, move |tx| batch.add_to_index(tx))
                .await?;
        }
        Ok(())
    }
}

fn search_history(db: Db<'_>, query: &HistoryQuery, words: &str) -> Result<Vec<HistoryHit>> {
    let root = root_of(db, query.turn)?;
    let scopes = scope_expression(db, root)?;
    let expression = format!("scope : ({scopes}) AND words : ({words})");
    let is_before = |hit: &HistoryHit| query.before.is_none_or(|before| hit.at < before);
    best_matches(db, &expression, query.limit, |id| Ok(load(db, id, Some(root))?.filter(is_before)))
}

fn search_all(
    db: Db<'_>,
    words: &str,
    limit: usize,
    sessions: Option<&SessionFilter>,
) -> Result<Vec<HistoryHit>> {
    let mut answers = HashMap::new();
    let mut is_searched = |session: &SessionId| match sessions {
        Some(SessionFilter(filter)) => {
            *answers.entry(session.clone()).or_insert_with(|| filter(session))
        }
        None => true,
    };
    best_matches(db, &format!("words : ({words})"), limit, |id| {
        // Reading the session alone is cheap, and a filter may refuse most texts.
        let Some(session) = session_of_text(db, id)?.filter(&mut is_searched) else {
            return Ok(None);
        };
        Ok(load(db, id, None)?.filter(|hit| hit.session == session))
    })
}

/// Returns the texts that match an expression of FTS5, best first, as far as `load` returns them.
fn best_matches(
    db: Db<'_>,
    expression: &str,
    limit: usize,
    mut load: impl FnMut(TextId) -> rusqlite::Result<Option<HistoryHit>>,
) -> Result<Vec<HistoryHit>> {
    let mut found = || -> rusqlite::Result<Vec<HistoryHit>> {
        let mut statement = db.prepare_cached(
            "SELECT rowid FROM history_index WHERE history_index MATCH ?1 \
             ORDER BY bm25(history_index, 0.0, 1.0), rowid DESC",
        )?;
        let mut ids = statement.query([expression])?;
        let mut hits = Vec::new();
        while hits.len() < limit
            && let Some(row) = ids.next()?
        {
            hits.extend(load(TextId::of_row(row.get(0)?))?);
        }
        Ok(hits)
    };
    found().map_err(|error| db.store_error(&error))
}

/// Returns the session of the turn of an indexed text.
fn session_of_text(db: Db<'_>, id: TextId) -> rusqlite::Result<Option<SessionId>> {
    use rusqlite::OptionalExtension;
    let (sql, id) = match id {
        TextId::Message(id) => ("SELECT session FROM inbound WHERE id = ?1", id),
        TextId::Step { turn, .. } | TextId::Notice { turn } => {
            ("SELECT session FROM turns WHERE id = ?1", turn)
        }
    };
    db.prepare_cached(sql)?.query_row([id], |row| parse_column(row, "session")).optional()
}

fn root_of(db: Db<'_>, turn: TurnId) -> Result<TurnId> {
    db.query_one(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT id FROM turns \
             WHERE id IN (SELECT turn FROM line) AND parent IS NULL"
        ),
        [turn.0],
        |row| row.get(0).map(TurnId),
    )
}

/// Returns the FTS5 expression for the texts that the requester of a root turn has seen.
fn scope_expression(db: Db<'_>, root: TurnId) -> Result<String> {
    let session = scope_of_session(&session_of(db, root)?);
    let sender = scope_of_sender(db, root)?;
    Ok(sender.map_or_else(|| session.clone(), |sender| format!("{session} OR {sender}")))
}

/// Loads an indexed text, unless it belongs to the turn that asks.
fn load(db: Db<'_>, id: TextId, asking: Option<TurnId>) -> rusqlite::Result<Option<HistoryHit>> {
    use rusqlite::OptionalExtension;
    let asking = asking.unwrap_or(TurnId(0));
    let prepare = |sql: &str| db.prepare_cached(sql);
    match id {
        TextId::Message(id) => {
            let sql = "SELECT trust, turn FROM inbound WHERE id = ?1 AND turn <> ?2";
            let limit = prepare(sql)?.query_row(params![id, asking.0], |row| {
                Ok((trust_column(row, "trust")?, TurnId(row.get("turn")?)))
            });
            let Some((limit, turn)) = limit.optional()? else { return Ok(None) };
            let sql = format!("{INBOUND} WHERE id = ?1");
            let message = prepare(&sql)?.query_row([id], inbound_from_row)?;
            let text = text_of(&message.message.inbound.content);
            let avocet_protocol::chat::NewInbound { session, inbound, .. } = message.message;
            let at = inbound.written_at.unwrap_or(message.received_at);
            let author = HistoryAuthor::Person(Box::new(inbound));
            Ok(Some(HistoryHit { session, turn, at, author, text, trust: limit }))
        }
        TextId::Step { turn, number } => prepare(
            "SELECT session, turns.id AS turn, coalesce(ended_at, started_at) AS at, text, trust \
             FROM steps JOIN turns ON turns.id = steps.turn \
             WHERE turns.id = ?1 AND number = ?2 AND turns.id <> ?3",
        )?
        .query_row(params![turn, number, asking.0], |row| read_hit(row, HistoryAuthor::Agent))
        .optional(),
        TextId::Notice { turn } => prepare(
            "SELECT session, id AS turn, coalesce(ended_at, started_at) AS at, notice AS text, \
                 CASE WHEN EXISTS (SELECT 1 FROM steps WHERE turn = turns.id AND trust = 'low') \
                     THEN 'low' ELSE 'user' END AS trust \
             FROM turns WHERE id = ?1 AND notice IS NOT NULL AND id <> ?2",
        )?
        .query_row(params![turn, asking.0], |row| read_hit(row, HistoryAuthor::Notice))
        .optional(),
    }
}

fn read_hit(row: &Row<'_>, author: HistoryAuthor) -> rusqlite::Result<HistoryHit> {
    let session: SessionId = parse_column(row, "session")?;
    let level: Trust = trust_column(row, "trust")?;
    let (turn, at) = (TurnId(row.get("turn")?), Timestamp(row.get("at")?));
    Ok(HistoryHit { session, turn, at, author, text: row.get("text")?, trust: level })
}
