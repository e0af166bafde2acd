//! Turns that wait for an outside event. A wait is durable and needs no worker, and the turn stays
//! open in its lane.

use avocet_protocol::access::{ApprovalCard, OpenApproval, Trust};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, TurnId, WaitId};
use avocet_protocol::model::Arguments;
use avocet_protocol::store::{NewWait, OpenWait, Resolution};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::CallResult;
use avocet_text::cut_texts;
use rusqlite::{Row, params};
use serde_json::{Map, Value, json};

use crate::audit;
use crate::calls::{apply_writes, finish_call};
use crate::cancel::cancel_turn;
use crate::grants;
use crate::links::session_of_chat;
use crate::prompts::{self, DecidedBy, EndingWait, WaitEnd};
use crate::rows;
use crate::rows::chunks::{OutboxSource, insert_notice, insert_planned};
use crate::rows::turns::{OPEN_TURN, must_run, session_of};
use crate::tx::{Db, Result, Tx};

/// Makes a running turn wait.
pub(crate) fn begin_waits(tx: &Tx<'_>, waits: &[NewWait]) -> Result<()> {
    let Some(turn) = waits.first().map(|wait| wait.call.turn) else { return Ok(()) };
    must_run(tx, turn)?;
    waits.iter().try_for_each(|wait| begin_one(tx, wait))?;
    tx.update_one(
        turn,
        "UPDATE turns SET state = 'waiting', suspect = 0 WHERE id = ?1 AND state = 'running'",
        [turn.0],
    )
}

fn begin_one(tx: &Tx<'_>, wait: &NewWait) -> Result<()> {
    let call = wait.call;
    let child = apply_writes(tx, call, &wait.writes)?;
    tx.update_one(
        call,
        "UPDATE calls SET state = 'waiting' \
         WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 AND state <> 'finished'",
        params![call.turn.0, call.step, call.ordinal],
    )?;
    tx.insert(
        "INSERT INTO waits (id, turn, step, ordinal, kind, child, expires_at, may_grant, shown, \
             card, asked_at, came_before) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
             (SELECT coalesce(max(id), 0) FROM inbound))",
        params![
            wait.id.0,
            call.turn.0,
            call.step,
            call.ordinal,
            wait.kind.as_str(),
            child.map(|child| child.0),
            wait.expires_at.0,
            wait.grant.as_ref().map(rows::to_json).transpose()?,
            wait.shown,
            wait.card.as_ref().map(rows::to_json).transpose()?,
            tx.now.0,
        ],
    )?;
    audit::record_asked(tx, wait)?;
    if let Some(prompt) = &wait.prompt {
        insert_planned(tx, prompt, Some(call.turn), OutboxSource::Prompt)?;
        prompts::connect_prompt(tx, wait.id, &prompt.address, &wait.editable)?;
    }
    wait.notices.iter().try_for_each(|notice| {
        insert_notice(tx, notice)?;
        prompts::connect_prompt(tx, wait.id, &notice.address, &wait.editable)
    })
}

/// Gives the waiting call its result, and queues its turn if that was its last wait. Returns `None`
/// if the wait was resolved before.
pub(crate) fn resolve_wait(
    tx: &Tx<'_>,
    wait: WaitId,
    resolution: &Resolution,
    decider: DecidedBy,
) -> Result<Option<SessionId>> {
    let open = tx.db.query_row(
        "SELECT turn, step, ordinal, child, kind, expires_at FROM waits \
         WHERE id = ?1 AND resolved = 0",
        [wait.0],
        |row| {
            let (kind, call) = (rows::wait_kind(row)?, rows::call_id(row)?);
            let expires_at = Timestamp(row.get("expires_at")?);
            let child = row.get::<_, Option<i64>>("child")?.map(TurnId);
            Ok((EndingWait { id: wait, kind, call, expires_at }, child))
        },
    )?;
    let Some((ending, child)) = open else { return Ok(None) };
    let call = ending.call;
    tx.change_rows("UPDATE waits SET resolved = 1 WHERE id = ?1", [wait.0])?;
    prompts::show_end(tx, &ending, WaitEnd::Resolved(resolution, decider))?;
    if let Some(child) = child.filter(|_| matches!(resolution, Resolution::Error { .. })) {
        cancel_if_open(tx, child, "it did not finish in time")?;
    }
    match resolution {
        Resolution::Run | Resolution::RunAlways => {
            if *resolution == Resolution::RunAlways {
                grants::add_grant(tx, wait, call.turn)?;
            }
            tx.change_rows(
                "UPDATE calls SET state = 'planned', \
                     allowed = coalesce((SELECT shown FROM waits WHERE id = ?4), allowed) \
                 WHERE turn = ?1 AND step = ?2 AND ordinal = ?3",
                params![call.turn.0, call.step, call.ordinal, wait.0],
            )?;
        }
        Resolution::Answer { text, trust } => {
            let value = json!({ "answer": text });
            finish_call(tx, call, &CallResult { trust: *trust, ..CallResult::ok(value) })?;
        }
        Resolution::Error { text, kind } => {
            finish_call(tx, call, &CallResult::error(text).with_kind(*kind))?;
        }
    }
    let goes_on = tx.change_rows(
        "UPDATE turns SET state = 'queued' WHERE id = ?1 AND state = 'waiting' \
             AND NOT EXISTS (SELECT 1 FROM waits WHERE turn = ?1 AND resolved = 0)",
        [call.turn.0],
    )?;
    if goes_on > 0 {
        tx.change_rows(
            "UPDATE inbound SET state = 'queued' WHERE turn = ?1 AND state = 'running'",
            [call.turn.0],
        )?;
    }
    session_of(tx.db, call.turn).map(Some)
}

/// Resolves a wait by a person's decision in a chat, and audits the decision.
pub(crate) fn resolve_by_command(
    tx: &Tx<'_>,
    command: MessageId,
    wait: WaitId,
    resolution: &Resolution,
) -> Result<Option<SessionId>> {
    audit::record_chosen(tx, command, wait, resolution)?;
    resolve_wait(tx, wait, resolution, DecidedBy::Person(command))
}

/// Passes the result of an ended child to the waiting call of its parent. Returns the parent's
/// session. The text of an error may repeat what the child has read, so it has the child's trust.
pub(crate) fn resolve_parent(
    tx: &Tx<'_>,
    child: TurnId,
    resolution: &Resolution,
) -> Result<Option<SessionId>> {
    let open = tx.db.query_row(
        "SELECT id, turn, step, ordinal FROM waits WHERE child = ?1 AND resolved = 0",
        [child.0],
        |row| Ok((WaitId(row.get("id")?), rows::call_id(row)?)),
    )?;
    let Some((wait, call)) = open else { return Ok(None) };
    let resumed = resolve_wait(tx, wait, resolution, DecidedBy::Log)?;
    if let Resolution::Error { .. } = resolution {
        let trust = least_trust(tx, child)?;
        tx.change_rows(
            "UPDATE calls SET trust = ?4 WHERE turn = ?1 AND step = ?2 AND ordinal = ?3",
            params![call.turn.0, call.step, call.ordinal, trust.as_str()],
        )?;
    }
    Ok(resumed)
}

/// Returns the least trust of all that a turn has read.
fn least_trust(tx: &Tx<'_>, turn: TurnId) -> Result<Trust> {
    let levels = tx.db.query_rows(
        "SELECT prompt_trust AS trust FROM turns WHERE id = ?1 \
         UNION SELECT trust FROM steps WHERE turn = ?1 \
         UNION SELECT trust FROM calls WHERE turn = ?1",
        [turn.0],
        |row| rows::trust_column(row, "trust"),
    )?;
    Ok(levels.into_iter().min().unwrap_or(Trust::Low))
}

fn cancel_if_open(tx: &Tx<'_>, turn: TurnId, notice: &str) -> Result<()> {
    let is_open = tx.db.query_row(
        &format!("SELECT 1 FROM turns WHERE id = ?1 AND {OPEN_TURN}"),
        [turn.0],
        |_| Ok(()),
    )?;
    is_open.map_or(Ok(()), |()| cancel_turn(tx, turn, notice, None).map(drop))
}

/// An open wait of a session's open turn or its descendants.
pub(crate) struct WaitBelow {
    pub(crate) id: WaitId,
    pub(crate) turn: TurnId,
    pub(crate) kind: WaitKind,
}

fn wait_below(row: &Row<'_>) -> rusqlite::Result<WaitBelow> {
    let (id, turn) = (WaitId(row.get("id")?), TurnId(row.get("turn")?));
    Ok(WaitBelow { id, turn, kind: rows::wait_kind(row)? })
}

/// Returns `true` if a turn of any session waits. This spares most messages the search for their
/// question.
pub(crate) fn is_waited_for(tx: &Tx<'_>) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM waits INDEXED BY waits_open WHERE resolved = 0)";
    tx.db.query_one(sql, (), |row| row.get(0))
}

/// Returns the open questions of the session's open turn and its descendants, newest first.
pub(crate) fn open_questions(tx: &Tx<'_>, session: &SessionId) -> Result<Vec<WaitBelow>> {
    tx.db.query_rows(
        &format!("{WAITS_BELOW} AND waits.kind = ?2 ORDER BY waits.id DESC"),
        [asking_sessions(tx, session)?.as_str(), WaitKind::Answer.as_str()],
        wait_below,
    )
}

/// Delay in milliseconds from which a command counts as late, because the platform kept it while
/// the daemon was down. Clocks differ by less.
const LATE: i64 = 5 * 60 * 1000;

/// Returns the wait that a command without an id refers to: the newest one in the session's turn or
/// its descendants that the author of the command has seen. The wait must have begun before the
/// command was received, or, for a late command, before it was written.
pub(crate) fn meant_wait(
    tx: &Tx<'_>,
    session: &SessionId,
    kind: WaitKind,
    command: MessageId,
) -> Result<Option<WaitId>> {
    tx.db.query_row(
        &format!(
            "{WAITS_BELOW} AND waits.kind = ?2 AND waits.came_before < ?3 AND coalesce( \
                 (SELECT received_at - written_at < ?4 OR waits.asked_at < written_at \
                  FROM inbound WHERE id = ?3), 1) \
             ORDER BY waits.id DESC LIMIT 1"
        ),
        params![asking_sessions(tx, session)?, kind.as_str(), command.0, LATE],
        |row| Ok(WaitId(row.get("id")?)),
    )
}

/// Returns the open waits for a person in the session's turn and its descendants.
pub(crate) fn open_person_waits(tx: &Tx<'_>, session: &SessionId) -> Result<Vec<WaitBelow>> {
    tx.db.query_rows(
        &format!("{WAITS_BELOW} AND waits.kind IN ('approval', 'choice')"),
        [asking_sessions(tx, session)?],
        wait_below,
    )
}

/// Returns `true` for an open wait of this kind. If `below` is set, the wait must belong to that
/// session's open turn or its descendants.
pub(crate) fn is_open(
    tx: &Tx<'_>,
    wait: WaitId,
    kind: WaitKind,
    below: Option<&SessionId>,
) -> Result<bool> {
    let found = match below {
        Some(session) => tx.db.query_row(
            &format!("{WAITS_BELOW} AND waits.kind = ?2 AND waits.id = ?3"),
            params![asking_sessions(tx, session)?, kind.as_str(), wait.0],
            |_| Ok(()),
        )?,
        None => tx.db.query_row(
            "SELECT 1 FROM waits WHERE id = ?1 AND kind = ?2 AND resolved = 0",
            params![wait.0, kind.as_str()],
            |_| Ok(()),
        )?,
    };
    Ok(found.is_some())
}

/// SQL for the open waits of the open turns of the sessions ?1, a JSON list, and their descendants,
/// and of the sessions' tasks in the background.
const WAITS_BELOW: &str = "WITH RECURSIVE tree (turn) AS ( \
        SELECT id FROM turns WHERE session IN (SELECT value FROM json_each(?1)) \
            AND (state = 'queued' OR state = 'running' OR state = 'waiting') \
        UNION SELECT turns.id FROM turns JOIN turns AS root ON root.id = turns.root \
            WHERE (turns.state = 'queued' OR turns.state = 'running' \
                OR turns.state = 'waiting') AND turns.background = 1 \
                AND root.session IN (SELECT value FROM json_each(?1)) \
        UNION SELECT turns.id FROM turns JOIN tree ON turns.parent = tree.turn \
            WHERE (turns.state = 'queued' OR turns.state = 'running' OR turns.state = 'waiting')) \
    SELECT waits.id AS id, waits.turn AS turn, waits.kind AS kind FROM tree JOIN waits ON waits.turn = tree.turn \
    WHERE waits.resolved = 0";

/// Returns the list for [`WAITS_BELOW`]: the session, and those of scheduled tasks and jobs that
/// ask in one of its chats.
fn asking_sessions(tx: &Tx<'_>, session: &SessionId) -> Result<String> {
    let asking = tx.db.query_rows(
        "SELECT DISTINCT root.session AS session, channel, account, chat, topic \
         FROM waits INDEXED BY waits_open JOIN turns ON turns.id = waits.turn \
             JOIN turns AS root ON root.id = coalesce(turns.root, turns.id) \
             JOIN inbound ON inbound.turn = root.id \
         WHERE waits.resolved = 0 \
             AND (root.session GLOB 'schedule:*' OR root.session GLOB 'job:*') \
             AND inbound.session = root.session",
        (),
        |row| Ok((rows::parse_column::<SessionId>(row, "session")?, rows::address_from_row(row)?)),
    )?;
    let mut sessions = vec![session.clone()];
    for (asking, chat) in asking {
        if session_of_chat(tx, &chat)? == *session {
            sessions.push(asking);
        }
    }
    rows::to_json(&sessions)
}

/// Returns every open wait in the order of expiry.
pub(crate) fn open(db: Db<'_>) -> Result<Vec<OpenWait>> {
    db.query_rows(
        "SELECT waits.id, turns.session, waits.kind, waits.expires_at \
         FROM waits JOIN turns ON turns.id = waits.turn \
         WHERE waits.resolved = 0 ORDER BY waits.expires_at, waits.id",
        (),
        |row| {
            Ok(OpenWait {
                id: WaitId(row.get("id")?),
                session: rows::parse_column(row, "session")?,
                kind: rows::wait_kind(row)?,
                expires_at: Timestamp(row.get("expires_at")?),
            })
        },
    )
}

/// Returns calls that wait for a person's approval.
pub(crate) fn open_approvals(
    db: Db<'_>,
    limit: u32,
    after: Option<WaitId>,
) -> Result<Vec<OpenApproval>> {
    db.query_rows(
        "SELECT waits.id AS wait, turns.session AS session, name, arguments, may_grant, card, expires_at, \
             prompt.channel AS channel, prompt.account AS account, prompt.chat AS chat, \
             prompt.topic AS topic \
         FROM waits INDEXED BY waits_open JOIN turns ON turns.id = waits.turn \
             JOIN calls ON calls.turn = waits.turn AND calls.step = waits.step \
                 AND calls.ordinal = waits.ordinal \
             LEFT JOIN outbox AS prompt ON prompt.id = (SELECT max(id) FROM outbox \
                 WHERE outbox.turn = waits.turn AND source = 'prompt') \
         WHERE waits.resolved = 0 AND waits.kind = 'approval' AND waits.id > ?1 \
         ORDER BY waits.id LIMIT ?2",
        params![after.map_or(0, |after| after.0), limit],
        |row| {
            let chat: Option<String> = row.get("chat")?;
            let (tool, grant): (String, _) =
                (row.get("name")?, rows::json_if_any(row, "may_grant")?);
            // A question of a version before 24 was not kept.
            let card = rows::json_if_any(row, "card")?
                .unwrap_or_else(|| ApprovalCard::from_call(&tool, grant.is_some()));
            Ok(OpenApproval {
                id: WaitId(row.get("wait")?),
                session: rows::parse_column(row, "session")?,
                chat: chat.map(|_| rows::address_from_row(row)).transpose()?,
                tool,
                arguments: shorten_arguments(rows::json_column::<Arguments>(row, "arguments")?.to_object()),
                grant,
                expires_at: Timestamp(row.get("expires_at")?),
                card,
            })
        },
    )
}

/// Maximum bytes to show of each text argument of a call.
const SHOWN: usize = 64 * 1024;

fn shorten_arguments(arguments: Map<String, Value>) -> Map<String, Value> {
    let shorten = |(name, mut value): (String, Value)| {
        cut_texts(&mut value, SHOWN);
        (name, value)
    };
    arguments.into_iter().map(shorten).collect()
}
