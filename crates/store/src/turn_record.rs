//! Reads turns with their messages, steps and calls.

use std::collections::BTreeMap;

use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::model::{ToolCall, Usage};
use avocet_protocol::store::StoreError;
use avocet_protocol::turn::{
    AnswerEnding, CallResult, CallState, LoggedCall, Origin, ResultKind, SessionReports, Step,
    TurnRecord, TurnState, Undelivered,
};
use rusqlite::Row;

use crate::reports;
use crate::rows::messages::{ANSWERED, INBOUND, inbound_from_row, place_in_turn};
use crate::rows::turns::{self, TurnIds};
use crate::rows::{
    RowResult, at, json_column, json_if_any, parse_column, trust_column, word_column,
};
use crate::tx::{Db, Result};
use crate::undelivered;

const TURNS: &str = "SELECT id, session, state, parent, prompt, prompt_trust, label, background, \
    notice, started_at, recalled FROM turns";
const STEPS: &str = "SELECT turn, number, text, ending, input_tokens, output_tokens, closed, reasoning, \
    trust, written FROM steps";

/// Reads a turn with its messages, steps and calls.
pub(crate) fn read_turn(db: Db<'_>, id: TurnId) -> Result<TurnRecord> {
    let missing = || StoreError::Internal(format!("{id} is not in the log"));
    read_turns(db, &[id])?.pop().ok_or_else(missing)
}

/// Reads turns with their messages, steps and calls, in the order of their ids. The number of
/// statements is the same for any number of turns.
pub(crate) fn read_turns(db: Db<'_>, ids: &[TurnId]) -> Result<Vec<TurnRecord>> {
    let ids = TurnIds::new(ids)?;
    let mut parts = TurnParts {
        messages: messages_of_turns(db, &ids)?,
        steps: steps_of_turns(db, &ids)?,
        calls: calls_of_turns(db, &ids)?,
        ..TurnParts::default()
    };
    if have_notes(db, &ids)? {
        parts.undelivered = undelivered::notes_of(db, &ids)?;
        parts.reports = reports::reports_of(db, &ids)?;
    }
    let sql = format!("{TURNS} WHERE {} ORDER BY id", ids.sql_condition("id"));
    db.query_rows(&sql, [&ids], |row| turn_from_row(row, &mut parts))
}

/// Returns `true` if a turn reports lost deliveries or other sessions to its model, which is rare.
fn have_notes(db: Db<'_>, ids: &TurnIds) -> Result<bool> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM undelivered WHERE {of}) \
             OR EXISTS (SELECT 1 FROM reports WHERE {of})",
        of = ids.sql_condition("turn")
    );
    db.query_one(&sql, [ids], |row| row.get(0))
}

/// The rows of several turns.
#[derive(Default)]
struct TurnParts {
    messages: BTreeMap<TurnId, TurnMessages>,
    steps: BTreeMap<TurnId, Vec<Step>>,
    calls: BTreeMap<(TurnId, u32), Vec<LoggedCall>>,
    undelivered: BTreeMap<TurnId, Undelivered>,
    reports: BTreeMap<TurnId, SessionReports>,
}

#[derive(Default)]
struct TurnMessages {
    /// Messages that began the turn.
    first: Vec<LoggedInbound>,
    /// Messages that steered the turn, by the step before them.
    steered: BTreeMap<u32, Vec<LoggedInbound>>,
}

fn turn_from_row(row: &Row<'_>, parts: &mut TurnParts) -> RowResult<TurnRecord> {
    let id = TurnId(row.get(at!(TURNS, "id"))?);
    let TurnMessages { first, mut steered } = parts.messages.remove(&id).unwrap_or_default();
    let parent: Option<i64> = row.get(at!(TURNS, "parent"))?;
    let origin = match parent {
        None => Origin::Messages(first),
        Some(parent) => Origin::Child {
            parent: TurnId(parent),
            prompt: row.get(at!(TURNS, "prompt"))?,
            trust: trust_column(row, at!(TURNS, "prompt_trust"))?,
            label: row.get(at!(TURNS, "label"))?,
            mode: turns::child_mode(row)?,
        },
    };
    let mut steps = parts.steps.remove(&id).unwrap_or_default();
    for step in &mut steps {
        step.calls = parts.calls.remove(&(id, step.number)).unwrap_or_default();
        step.steered = steered.remove(&step.number).unwrap_or_default();
    }
    Ok(TurnRecord {
        id,
        session: parse_column(row, at!(TURNS, "session"))?,
        state: word_column(row, at!(TURNS, "state"), &TurnState::ALL, TurnState::as_str)?,
        started_at: Timestamp(row.get(at!(TURNS, "started_at"))?),
        origin,
        steps,
        notice: row.get(at!(TURNS, "notice"))?,
        undelivered: parts.undelivered.remove(&id).unwrap_or_default(),
        recalled: json_if_any(row, at!(TURNS, "recalled"))?.unwrap_or_default(),
        reports: parts.reports.remove(&id).unwrap_or_default(),
    })
}

fn messages_of_turns(db: Db<'_>, ids: &TurnIds) -> Result<BTreeMap<TurnId, TurnMessages>> {
    let sql = format!(
        "{INBOUND} WHERE {} AND after_step IS NOT {ANSWERED} ORDER BY turn, id",
        ids.sql_condition("turn")
    );
    let mut found: BTreeMap<TurnId, TurnMessages> = BTreeMap::new();
    db.query_rows(&sql, [ids], |row| {
        let (turn, after_step) = place_in_turn(row)?;
        let turn = found.entry(turn).or_default();
        match after_step {
            None => turn.first.push(inbound_from_row(row)?),
            Some(step) => turn.steered.entry(step).or_default().push(inbound_from_row(row)?),
        }
        Ok(())
    })?;
    Ok(found)
}

fn steps_of_turns(db: Db<'_>, ids: &TurnIds) -> Result<BTreeMap<TurnId, Vec<Step>>> {
    let sql = format!("{STEPS} WHERE {} ORDER BY turn, number", ids.sql_condition("turn"));
    let mut found: BTreeMap<TurnId, Vec<Step>> = BTreeMap::new();
    db.query_rows(&sql, [ids], |row| {
        found.entry(TurnId(row.get(at!(STEPS, "turn"))?)).or_default().push(Step {
            number: row.get(at!(STEPS, "number"))?,
            text: row.get(at!(STEPS, "text"))?,
            ending: word_column(
                row,
                at!(STEPS, "ending"),
                &AnswerEnding::ALL,
                AnswerEnding::as_str,
            )?,
            usage: Usage::new(
                row.get(at!(STEPS, "input_tokens"))?,
                row.get(at!(STEPS, "output_tokens"))?,
            ),
            calls: Vec::new(),
            written: row.get(at!(STEPS, "written"))?,
            reasoning: json_if_any(row, at!(STEPS, "reasoning"))?,
            closed: row.get(at!(STEPS, "closed"))?,
            trust: trust_column(row, at!(STEPS, "trust"))?,
            steered: Vec::new(),
        });
        Ok(())
    })?;
    Ok(found)
}

fn calls_of_turns(db: Db<'_>, ids: &TurnIds) -> Result<BTreeMap<(TurnId, u32), Vec<LoggedCall>>> {
    let sql = format!(
        "SELECT turn, step, ordinal, name, coalesce(exact, arguments) AS arguments, state, allowed, \
             evidence, ok, result, trust, result_kind \
         FROM calls WHERE {} ORDER BY turn, step, ordinal",
        ids.sql_condition("turn")
    );
    let mut found: BTreeMap<(TurnId, u32), Vec<LoggedCall>> = BTreeMap::new();
    db.query_rows(&sql, [ids], |row| {
        let (turn, step) = (TurnId(row.get("turn")?), row.get("step")?);
        found.entry((turn, step)).or_default().push(LoggedCall {
            id: CallId { turn, step, ordinal: row.get("ordinal")? },
            call: ToolCall { name: row.get("name")?, arguments: json_column(row, "arguments")? },
            state: call_state(row)?,
            allowed: row.get("allowed")?,
        });
        Ok(())
    })?;
    Ok(found)
}

fn call_state(row: &Row<'_>) -> RowResult<CallState> {
    Ok(match row.get_ref("state")?.as_str()? {
        "planned" => CallState::Planned,
        "started" => CallState::Started,
        "interrupted" => CallState::Interrupted { evidence: json_if_any(row, "evidence")? },
        "waiting" => CallState::Waiting,
        _ => CallState::Finished(CallResult {
            ok: row.get("ok")?,
            value: json_column(row, "result")?,
            trust: trust_column(row, "trust")?,
            kind: word_column(row, "result_kind", &ResultKind::ALL, ResultKind::as_str)?,
        }),
    })
}
