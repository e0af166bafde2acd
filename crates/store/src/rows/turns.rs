//! Rows of `turns`.

use avocet_protocol::access::PersonId;
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::store::{LineageTurn, StoreError};
use avocet_protocol::tool::{ChildMode, SkillCall, SkillLimit};
use avocet_protocol::turn::TurnState;
use rusqlite::{Row, params};
use serde_json::Value;

use super::sessions::permission_mode;
use super::{RowResult, json_column, parse_column, word_column};
use crate::rows;
use crate::tx::{Db, Result, Tx};

/// SQL for the turn `?1` and its ancestors up to the root.
pub(crate) const ANCESTORS: &str = "line (turn) AS (VALUES (?1) UNION \
    SELECT parent FROM turns JOIN line ON turns.id = line.turn WHERE parent IS NOT NULL)";

/// The condition on `turns` that a turn is open: the same text as in the index `turns_open`. For an
/// `IN` list, SQLite would build a temporary table.
pub(crate) const OPEN_TURN: &str =
    "(turns.state = 'queued' OR turns.state = 'running' OR turns.state = 'waiting')";

pub(crate) fn insert_turn(tx: &Tx<'_>, session: &SessionId, state: TurnState) -> Result<TurnId> {
    let id = tx.insert(
        "INSERT INTO turns (id, session, state, started_at) \
         VALUES ((SELECT id FROM next_turns), ?1, ?2, ?3)",
        params![session.as_str(), state.as_str(), tx.now.0],
    )?;
    Ok(TurnId(id.unwrap_or_default()))
}

pub(crate) fn open_turn(tx: &Tx<'_>, session: &SessionId) -> Result<Option<TurnId>> {
    tx.db.query_row(
        &format!("SELECT id FROM turns WHERE session = ?1 AND {OPEN_TURN}"),
        [session.as_str()],
        |row| row.get(0).map(TurnId),
    )
}

/// Fails with [`StoreError::Stale`] unless the turn is running.
pub(crate) fn must_run(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    running_turn(tx, turn).map(drop)
}

/// Fails with [`StoreError::Stale`] unless the turn runs, or waits for its children.
pub(crate) fn must_be_open(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    let sql = "SELECT 1 FROM turns WHERE id = ?1 AND state IN ('running', 'waiting')";
    let open = tx.db.query_row(sql, [turn.0], |_| Ok(()))?;
    open.ok_or_else(|| StoreError::Stale(turn.to_string()))
}

pub(crate) struct RunningTurn {
    pub(crate) session: SessionId,
    /// `true` for a task in the background.
    pub(crate) is_background: bool,
    pub(crate) parent: Option<TurnId>,
    /// Crashes of the process during this turn since its last progress.
    deaths: u32,
}

/// Returns a turn. Fails with [`StoreError::Stale`] unless it is running.
pub(crate) fn running_turn(tx: &Tx<'_>, turn: TurnId) -> Result<RunningTurn> {
    let found = tx.db.query_row(
        "SELECT session, background, parent, attempts FROM turns \
         WHERE id = ?1 AND state = 'running'",
        [turn.0],
        |row| {
            Ok(RunningTurn {
                session: parse_column(row, "session")?,
                is_background: row.get("background")?,
                parent: row.get::<_, Option<i64>>("parent")?.map(TurnId),
                deaths: row.get("attempts")?,
            })
        },
    )?;
    found.ok_or_else(|| StoreError::Stale(turn.to_string()))
}

/// Resets the number of crashes after progress of a turn. A turn that causes a crash fails at the
/// same place each time, so it makes no progress.
pub(crate) fn reset_deaths(tx: &Tx<'_>, id: TurnId, turn: &RunningTurn) -> Result<()> {
    if turn.deaths > 0 {
        tx.change_rows("UPDATE turns SET attempts = 0, deaths_alone = 0 WHERE id = ?1", [id.0])?;
    }
    Ok(())
}

/// Returns a turn and its ancestors up to the root. A parent is older than its children.
pub(crate) fn lineage_of(db: Db<'_>, turn: TurnId) -> Result<Vec<LineageTurn>> {
    let mut line = db.query_rows(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT turns.id, session, agent, permission_mode, background FROM line \
                 JOIN turns ON turns.id = turn JOIN sessions ON sessions.id = session \
             ORDER BY turns.id DESC"
        ),
        [turn.0],
        |row| {
            Ok(LineageTurn {
                turn: TurnId(row.get("id")?),
                session: parse_column(row, "session")?,
                agent: row.get("agent")?,
                person: None,
                permission_mode: permission_mode(row)?,
                mode: child_mode(row)?,
                skills: Vec::new(),
            })
        },
    )?;
    for place in 1..line.len() {
        if let Some(call) = line[place - 1].session.spawned_by() {
            line[place].skills = skill_calls_before(db, call)?;
        }
    }
    if let Some(root) = line.last_mut() {
        root.person = person_of(db, &root.session)?;
    }
    Ok(line)
}

/// Returns the calls before `call`, in the same turn, whose results name a skill.
fn skill_calls_before(db: Db<'_>, call: CallId) -> Result<Vec<SkillCall>> {
    let called = db.query_rows(
        "SELECT name, result FROM calls \
         WHERE turn = ?1 AND (step, ordinal) < (?2, ?3) AND is_skill = 1 \
         ORDER BY step, ordinal",
        params![call.turn.0, call.step, call.ordinal],
        |row| Ok((row.get::<_, String>("name")?, json_column::<Value>(row, "result")?)),
    )?;
    let stated = called.into_iter().filter_map(|(tool, result)| {
        Some(SkillCall { tool, limit: SkillLimit::of_result(&result)? })
    });
    Ok(stated.collect())
}

/// Returns the person whose private chat a session is named after; `None` for groups and for people
/// who have no access.
pub(crate) fn person_of(db: Db<'_>, session: &SessionId) -> Result<Option<PersonId>> {
    let chat = session.address();
    db.query_row(
        "SELECT channel, account, sender FROM private_chats \
         WHERE channel = ?1 AND account = ?2 AND chat = ?3",
        rows::chat_key(&chat),
        |row| {
            Ok(PersonId {
                channel: parse_column(row, "channel")?,
                account: parse_column(row, "account")?,
                sender: parse_column(row, "sender")?,
            })
        },
    )
}

/// Returns the session to which the messages of a turn belong: that of its root turn, or of its
/// background task.
pub(crate) fn speaking_session(db: Db<'_>, turn: TurnId) -> Result<SessionId> {
    db.query_one(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT session FROM turns \
             WHERE id IN (SELECT turn FROM line) AND (parent IS NULL OR background = 1) \
             ORDER BY id DESC LIMIT 1"
        ),
        [turn.0],
        |row| parse_column(row, "session"),
    )
}

pub(crate) fn session_of(db: Db<'_>, turn: TurnId) -> Result<SessionId> {
    db.query_one("SELECT session FROM turns WHERE id = ?1", [turn.0], |row| {
        parse_column(row, "session")
    })
}

pub(crate) fn child_mode(row: &Row<'_>) -> RowResult<ChildMode> {
    let is_background: bool = row.get("background")?;
    Ok(if is_background { ChildMode::Background } else { ChildMode::Awaited })
}

pub(crate) fn turn_state(row: &Row<'_>) -> RowResult<TurnState> {
    word_column(row, "state", &TurnState::ALL, TurnState::as_str)
}
