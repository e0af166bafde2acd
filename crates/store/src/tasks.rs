//! Tasks: the child turns that other turns have started.

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{CancelledTask, Resolution, TaskPage, TaskView, Tasks, Total};
use rusqlite::{Row, params};

use crate::cancel::cancel_turn;
use crate::ledger;
use crate::rows::numbers::reserve_number;
use crate::rows::turns::{OPEN_TURN, child_mode, turn_state};
use crate::rows::{self, RowResult};
use crate::tx::{Db, Result, Tx};
use crate::waits::resolve_parent;
use crate::{Durability, SqliteStore};

#[async_trait]
impl Tasks for SqliteStore {
    async fn reserve_task(&self) -> Result<TurnId> {
        self.write("reserve-task", Durability::Process, |tx| {
            reserve_number(tx, "turns").map(TurnId)
        })
        .await
    }

    async fn tasks(&self, session: Option<&SessionId>, page: TaskPage) -> Result<Vec<TaskView>> {
        let session = session.cloned();
        self.read(move |db| task_page(db, session.as_ref(), page)).await
    }

    async fn task(&self, id: TurnId) -> Result<Option<TaskView>> {
        self.read(move |db| {
            let view =
                db.query_row(&format!("{TASKS} WHERE turns.id = ?1"), [id.0], view_from_row)?;
            view.map(|view| with_total(db, view)).transpose()
        })
        .await
    }

    async fn cancel_task(&self, id: TurnId) -> Result<Option<CancelledTask>> {
        self.write("cancel-task", Durability::Synced, move |tx| cancel_task(tx, id, None)).await
    }
}

/// Error text of the call that waited for a cancelled task.
const CANCELLED: &str = "the task was cancelled by the user; do not start it again unasked";

/// Cancels an open task below `session` with the tasks below it, and lets a waiting parent
/// continue.
pub(crate) fn cancel_task(
    tx: &Tx<'_>,
    task: TurnId,
    session: Option<&SessionId>,
) -> Result<Option<CancelledTask>> {
    let open = tx.db.query_row(
        &format!(
            "SELECT 1 FROM turns JOIN turns AS root ON root.id = turns.root \
             WHERE turns.id = ?1 AND {OPEN_TURN} AND (?2 IS NULL OR root.session = ?2)"
        ),
        params![task.0, session.map(SessionId::as_str)],
        |_| Ok(()),
    )?;
    let Some(()) = open else { return Ok(None) };
    let turns = cancel_turn(tx, task, "cancelled by the user", None)?;
    let parent = resolve_parent(tx, task, &Resolution::error(CANCELLED))?;
    Ok(Some(CancelledTask { turns, parent }))
}

const TASKS: &str = "SELECT turns.id, turns.parent, turns.root, root.session AS session, \
        turns.session AS own_session, turns.label, turns.prompt, turns.background, turns.state, \
        turns.started_at, turns.ended_at, sessions.agent, \
        (SELECT count(*) FROM steps WHERE steps.turn = turns.id) AS steps, \
        (SELECT kind FROM waits WHERE waits.turn = turns.id AND resolved = 0 ORDER BY id DESC LIMIT 1) \
            AS kind, \
        iif(turns.state = 'done', \
            (SELECT text FROM steps WHERE steps.turn = turns.id ORDER BY number DESC LIMIT 1), \
            turns.notice) AS result \
    FROM turns JOIN turns AS parent ON parent.id = turns.parent \
        JOIN turns AS root ON root.id = turns.root \
        JOIN sessions ON sessions.id = turns.session";

fn task_page(db: Db<'_>, session: Option<&SessionId>, page: TaskPage) -> Result<Vec<TaskView>> {
    let TaskPage { limit, before } = page;
    let views = db.query_rows(
        &format!(
            "{TASKS} WHERE turns.parent IS NOT NULL AND (?1 IS NULL OR root.session = ?1) \
                 AND turns.id < ?2 ORDER BY turns.id DESC LIMIT ?3"
        ),
        params![session.map(SessionId::as_str), before.map_or(i64::MAX, |before| before.0), limit],
        view_from_row,
    )?;
    views.into_iter().map(|view| with_total(db, view)).collect()
}

/// A task without its usage, and its root turn.
struct TaskRow {
    root: TurnId,
    view: TaskView,
}

fn view_from_row(row: &Row<'_>) -> RowResult<TaskRow> {
    let kind: Option<String> = row.get("kind")?;
    let view = TaskView {
        id: TurnId(row.get("id")?),
        parent: TurnId(row.get("parent")?),
        session: rows::parse_column(row, "session")?,
        own_session: rows::parse_column(row, "own_session")?,
        label: row.get("label")?,
        task: row.get("prompt")?,
        agent: row.get("agent")?,
        mode: child_mode(row)?,
        state: turn_state(row)?,
        waits_for: kind.map(|_| rows::wait_kind(row)).transpose()?,
        started_at: Timestamp(row.get("started_at")?),
        ended_at: row.get::<_, Option<i64>>("ended_at")?.map(Timestamp),
        steps: row.get("steps")?,
        total: Total::default(),
        result: row.get("result")?,
    };
    Ok(TaskRow { root: TurnId(row.get("root")?), view })
}

fn with_total(db: Db<'_>, TaskRow { root, view }: TaskRow) -> Result<TaskView> {
    let total = ledger::sum_answers(db, "turn = ?1 AND child = ?2", [root.0, view.id.0])?;
    Ok(TaskView { total, ..view })
}
