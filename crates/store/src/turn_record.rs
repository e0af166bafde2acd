//! Reads a turn with its messages, steps and calls.

use avocet_protocol::{
    CallId, CallResult, CallState, LoggedCall, Origin, Step, Timestamp, ToolCall, TurnId,
    TurnRecord, Usage,
};
use rusqlite::{Row, params};

use crate::reports;
use crate::rows::messages::{INBOUND, inbound, steered};
use crate::rows::{RowResult, json, json_if_any, parsed, trust, turns};
use crate::tx::{Db, Result};
use crate::undelivered;

/// Reads a turn with its messages, steps and calls.
pub(crate) fn read_turn(db: Db<'_>, id: TurnId) -> Result<TurnRecord> {
    let messages = db.rows(
        &format!("{INBOUND} WHERE turn = ?1 AND after_step IS NULL ORDER BY id"),
        [id.0],
        inbound,
    )?;
    let steps = steps(db, id)?;
    let undelivered = undelivered::of(db, id)?;
    let reports = reports::of(db, id)?;
    db.one(
        "SELECT session, state, parent, prompt, prompt_trust, label, background, notice, started_at \
         FROM turns WHERE id = ?1",
        [id.0],
        |row| {
            let parent: Option<i64> = row.get("parent")?;
            let origin = match parent {
                None => Origin::Messages(messages),
                Some(parent) => Origin::Child {
                    parent: TurnId(parent),
                    prompt: row.get("prompt")?,
                    trust: trust(row, "prompt_trust")?,
                    label: row.get("label")?,
                    mode: turns::child_mode(row)?,
                },
            };
            Ok(TurnRecord {
                id,
                session: parsed(row, "session")?,
                state: turns::state(row)?,
                started_at: Timestamp(row.get("started_at")?),
                origin,
                steps,
                notice: row.get("notice")?,
                undelivered,
                reports,
            })
        },
    )
}

fn steps(db: Db<'_>, turn: TurnId) -> Result<Vec<Step>> {
    let steps = db.rows(
        "SELECT number, text, input_tokens, output_tokens, closed, reasoning, trust, written FROM steps \
         WHERE turn = ?1 ORDER BY number",
        [turn.0],
        |row| {
            Ok(Step {
                number: row.get("number")?,
                text: row.get("text")?,
                usage: Usage::new(row.get("input_tokens")?, row.get("output_tokens")?),
                calls: Vec::new(),
                written: row.get("written")?,
                reasoning: json_if_any(row, "reasoning")?,
                closed: row.get("closed")?,
                trust: trust(row, "trust")?,
                steered: Vec::new(),
            })
        },
    )?;
    let with_calls = |step: Step| {
        let calls = calls(db, turn, step.number)?;
        let steered = steered(db, turn, step.number)?;
        Ok(Step { calls, steered, ..step })
    };
    steps.into_iter().map(with_calls).collect()
}

fn calls(db: Db<'_>, turn: TurnId, step: u32) -> Result<Vec<LoggedCall>> {
    db.rows(
        "SELECT ordinal, name, arguments, state, allowed, evidence, ok, result, trust FROM calls \
         WHERE turn = ?1 AND step = ?2 ORDER BY ordinal",
        params![turn.0, step],
        |row| {
            Ok(LoggedCall {
                id: CallId { turn, step, ordinal: row.get("ordinal")? },
                call: ToolCall { name: row.get("name")?, arguments: json(row, "arguments")? },
                state: call_state(row)?,
                allowed: row.get("allowed")?,
            })
        },
    )
}

fn call_state(row: &Row<'_>) -> RowResult<CallState> {
    let state: String = row.get("state")?;
    Ok(match state.as_str() {
        "planned" => CallState::Planned,
        "started" => CallState::Started,
        "interrupted" => CallState::Interrupted { evidence: json_if_any(row, "evidence")? },
        "waiting" => CallState::Waiting,
        _ => CallState::Finished(CallResult {
            ok: row.get("ok")?,
            value: json(row, "result")?,
            trust: trust(row, "trust")?,
        }),
    })
}
