//! Calls of a turn: their results, and the log writes of tools.

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Planned, SessionId};
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::store::{KeptResult, KeptResults, MemoryAuthor};
use avocet_protocol::tool::{Evidence, LogWrite, NewChild, SkillLimit, ToolClass};
use avocet_protocol::turn::CallResult;
use rusqlite::params;

use crate::SqliteStore;
use crate::audit;
use crate::memories;
use crate::reports;
use crate::rows::chunks::{OutboxSource, insert_planned};
use crate::rows::sessions::use_session;
use crate::rows::turns::must_run;
use crate::rows::{self, to_json};
use crate::schedule_writes;
use crate::tx::{Db, Result, Tx};

#[async_trait]
impl KeptResults for SqliteStore {
    async fn kept_result(&self, session: &SessionId, handle: &str) -> Result<Option<KeptResult>> {
        let (session, handle) = (session.clone(), handle.to_owned());
        self.read(move |db| kept_result(db, &session, &handle)).await
    }
}

/// Returns the full result of a call, also if the model got a cut one.
fn kept_result(db: Db<'_>, session: &SessionId, handle: &str) -> Result<Option<KeptResult>> {
    let Ok(call) = handle.parse::<CallId>() else { return Ok(None) };
    db.query_row(
        "SELECT trust, coalesce((SELECT body FROM kept_results WHERE handle = ?5), result) AS body \
         FROM calls WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 \
             AND result IS NOT NULL AND (SELECT session FROM turns WHERE id = ?1) = ?4",
        params![call.turn.0, call.step, call.ordinal, session.as_str(), call.to_string()],
        |row| Ok(KeptResult { body: row.get("body")?, trust: rows::trust_column(row, "trust")? }),
    )
}

/// Records the start of a call.
pub(crate) fn start(
    tx: &Tx<'_>,
    call: CallId,
    class: ToolClass,
    evidence: Option<&Evidence>,
) -> Result<()> {
    must_run(tx, call.turn)?;
    tx.update_one(
        call,
        "UPDATE calls SET state = 'started', class = ?4, evidence = ?5 \
         WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 \
             AND state IN ('planned', 'interrupted')",
        params![
            call.turn.0,
            call.step,
            call.ordinal,
            class_word(class),
            evidence.map(to_json).transpose()?,
        ],
    )?;
    audit::record_started(tx, call, class)
}

fn class_word(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Pure => "pure",
        ToolClass::InLog => "in_log",
        ToolClass::Verifiable => "verifiable",
        ToolClass::Effect => "effect",
    }
}

/// Records the result of a call.
pub(crate) fn finish_call(tx: &Tx<'_>, call: CallId, result: &CallResult) -> Result<()> {
    audit::record_finished(tx, call, result)?;
    tx.update_one(
        call,
        "UPDATE calls SET state = 'finished', ok = ?4, result = ?5, trust = ?6, is_skill = ?7, \
             result_kind = ?8, exact = iif(?8 = 'sent_to_program', exact, NULL) \
         WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 AND state <> 'finished'",
        params![
            call.turn.0,
            call.step,
            call.ordinal,
            result.ok,
            to_json(&result.value)?,
            result.trust.as_str(),
            result.ok && SkillLimit::of_result(&result.value).is_some(),
            result.kind.as_str(),
        ],
    )
}

pub(crate) fn keep_result(tx: &Tx<'_>, call: CallId, body: &str) -> Result<()> {
    tx.insert(
        "INSERT INTO kept_results (handle, session, body) \
         SELECT ?1, session, ?2 FROM turns WHERE id = ?3",
        params![call.to_string(), body, call.turn.0],
    )?;
    Ok(())
}

/// Trust level of the request that led to the call of turn ?2, step ?3.
const REQUEST_TRUST: &str = "(SELECT trust FROM steps WHERE turn = ?2 AND number = ?3)";

/// Returns the trust level of the request that led to the call.
fn request_trust(tx: &Tx<'_>, call: CallId) -> Result<Trust> {
    tx.db.query_one(
        "SELECT trust FROM steps WHERE turn = ?1 AND number = ?2",
        params![call.turn.0, call.step],
        |row| rows::trust_column(row, "trust"),
    )
}

/// Applies the log writes of a tool. Returns the child turn if the tool spawned one.
pub(crate) fn apply_writes(
    tx: &Tx<'_>,
    call: CallId,
    writes: &[LogWrite],
) -> Result<Option<TurnId>> {
    let mut child = None;
    for write in writes {
        match write {
            LogWrite::Message(planned) => {
                insert_planned(tx, planned, Some(call.turn), OutboxSource::Tool)?;
                let Planned { address, chunks } = planned;
                let (text, trust) = (reports::text_of(chunks), request_trust(tx, call)?);
                reports::note_of_turn(tx, call.turn, address, &text, trust)?;
            }
            LogWrite::Remember { scope, text } => memories::remember_text(tx, call, scope, text)?,
            LogWrite::Forget { id } => {
                memories::forget_memory(tx, *id, &MemoryAuthor::Call(call))?;
            }
            LogWrite::Spawn(new) => child = Some(spawn_child(tx, call, new)?),
            LogWrite::Schedule(write) => {
                schedule_writes::apply_write(tx, call, write, request_trust(tx, call)?)?;
            }
        }
    }
    Ok(child)
}

/// Creates a child turn in its own session. A chosen profile answers with its own model; otherwise
/// profile and model are the parent's.
fn spawn_child(tx: &Tx<'_>, call: CallId, child: &NewChild) -> Result<TurnId> {
    let NewChild { id, prompt, label, agent, mode } = child;
    let session = SessionId::of_child(call);
    use_session(tx, &session)?;
    tx.change_rows(
        "UPDATE sessions SET model = iif(?3 IS NULL, parent.model, NULL), \
             effort = iif(?3 IS NULL, parent.effort, NULL), \
             agent = coalesce(?3, parent.agent) \
         FROM turns JOIN sessions AS parent ON parent.id = turns.session \
         WHERE turns.id = ?2 AND sessions.id = ?1",
        params![session.as_str(), call.turn.0, agent],
    )?;
    let id = tx.insert(
        &format!(
            "INSERT INTO turns (id, session, state, parent, root, prompt, prompt_trust, label, \
                 background, started_at) \
             VALUES (coalesce(?4, (SELECT id FROM next_turns)), ?1, 'queued', ?2, \
                 (SELECT coalesce(root, id) FROM turns WHERE id = ?2), ?5, {REQUEST_TRUST}, ?6, ?7, ?8)"
        ),
        params![
            session.as_str(),
            call.turn.0,
            call.step,
            id.map(|id| id.0),
            prompt,
            label,
            !mode.is_awaited(),
            tx.now.0,
        ],
    )?;
    Ok(TurnId(id.unwrap_or_default()))
}
