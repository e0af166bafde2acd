//! Reads turns with their messages, steps and calls.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, TurnId};
use avocet_protocol::model::{ToolCall, Usage};
use avocet_protocol::store::{Past, StoreError};
use avocet_protocol::turn::{
    AnswerEnding, CallResult, CallState, LoggedCall, Origin, ResultKind, SessionReports, Step,
    TurnRecord, TurnState, Undelivered,
};
use rusqlite::{CachedStatement, Row};

use crate::reports;
use crate::rows::messages::{ANSWERED, INBOUND, MessageReader, content_bytes};
use crate::rows::turns;
use crate::rows::{
    RowResult, at, json_column, json_if_any, parse_column, text_bytes, trust_column, word_column,
};
use crate::tx::{Db, Result};
use crate::undelivered;

/// Columns that [`TurnReader::read_turn`] reads.
pub(crate) const TURNS: &str = "SELECT id, session, state, parent, prompt, prompt_trust, label, \
    background, notice, started_at, recalled FROM turns";
const STEPS: &str = "SELECT number, text, ending, input_tokens, output_tokens, closed, reasoning, trust, \
    written FROM steps";
const CALLS: &str = "SELECT step, ordinal, name, arguments, exact, state, allowed, evidence, ok, result, trust, \
    result_kind FROM calls";

/// Reads a turn with its messages, steps and calls.
pub(crate) fn read_turn(db: Db<'_>, id: TurnId) -> Result<TurnRecord> {
    let missing = || StoreError::Internal(format!("{id} is not in the log"));
    read_turn_if_any(db, id)?.ok_or_else(missing)
}

/// Reads a turn like [`read_turn`]; `None` if the log has no such turn.
pub(crate) fn read_turn_if_any(db: Db<'_>, id: TurnId) -> Result<Option<TurnRecord>> {
    let mut reader = TurnReader::new(&db, id, id)?;
    let in_log = |error: rusqlite::Error| db.store_error(&error);
    let mut turns = db.prepare_cached(&format!("{TURNS} WHERE id = ?1")).map_err(in_log)?;
    let mut rows = turns.query([id.0]).map_err(in_log)?;
    let row = rows.next().map_err(in_log)?;
    row.map(|row| Ok(reader.read_turn(row)?.record)).transpose()
}

/// A turn and the sizes of its texts, in bytes as the log has them.
pub(crate) struct ReadTurn {
    pub(crate) record: TurnRecord,
    /// Its newest message; `None` for a child.
    pub(crate) newest_message: Option<MessageId>,
    /// Bytes of the whole text.
    pub(crate) whole: usize,
    /// Bytes with shortened results, and without reasoning.
    pub(crate) shortened: usize,
}

/// Reads turns one by one. Its statements are prepared once, and ids that the turns have in common
/// are parsed once.
pub(crate) struct TurnReader<'d> {
    db: &'d Db<'d>,
    messages: CachedStatement<'d>,
    steps: CachedStatement<'d>,
    calls: CachedStatement<'d>,
    /// `false` if no turn reports lost deliveries or other sessions to its model.
    have_notes: bool,
    message_reader: MessageReader,
}

impl<'d> TurnReader<'d> {
    /// Prepares to read turns with ids from `first` to `last`.
    pub(crate) fn new(db: &'d Db<'d>, first: TurnId, last: TurnId) -> Result<Self> {
        let have_notes = "SELECT EXISTS (SELECT 1 FROM undelivered WHERE turn BETWEEN ?1 AND ?2) \
             OR EXISTS (SELECT 1 FROM reports WHERE turn BETWEEN ?1 AND ?2)";
        let prepare = |sql: String| db.prepare_cached(&sql).map_err(|error| db.store_error(&error));
        Ok(Self {
            db,
            messages: prepare(format!("{INBOUND} WHERE turn = ?1 ORDER BY id"))?,
            steps: prepare(format!("{STEPS} WHERE turn = ?1 ORDER BY number"))?,
            calls: prepare(format!("{CALLS} WHERE turn = ?1 ORDER BY step, ordinal"))?,
            have_notes: db.query_one(have_notes, [first.0, last.0], |row| row.get(0))?,
            message_reader: MessageReader::default(),
        })
    }

    /// Reads the turn of this row of [`TURNS`].
    pub(crate) fn read_turn(&mut self, row: &Row<'_>) -> Result<ReadTurn> {
        let in_log = |error: rusqlite::Error| self.db.store_error(&error);
        let mut turn = ReadTurn::from_row(row).map_err(in_log)?;
        turn.read_steps(&mut self.steps).map_err(in_log)?;
        turn.read_calls(&mut self.calls).map_err(in_log)?;
        turn.read_messages(&mut self.messages, &mut self.message_reader).map_err(in_log)?;
        if self.have_notes {
            turn.record.undelivered = undelivered::notes_of(*self.db, turn.record.id)?;
            turn.record.reports = reports::reports_of(*self.db, turn.record.id)?;
        }
        Ok(turn)
    }
}

impl ReadTurn {
    /// Reads a turn without its messages, steps and calls.
    fn from_row(row: &Row<'_>) -> RowResult<Self> {
        let parent: Option<i64> = row.get(at!(TURNS, "parent"))?;
        let origin = match parent {
            None => Origin::Messages(Vec::new()),
            Some(parent) => Origin::Child {
                parent: TurnId(parent),
                prompt: row.get(at!(TURNS, "prompt"))?,
                trust: trust_column(row, at!(TURNS, "prompt_trust"))?,
                label: row.get(at!(TURNS, "label"))?,
                mode: turns::child_mode(row)?,
            },
        };
        let recalled = text_bytes(row, at!(TURNS, "recalled"))?;
        let record = TurnRecord {
            id: TurnId(row.get(at!(TURNS, "id"))?),
            session: parse_column(row, at!(TURNS, "session"))?,
            state: turn_state(row)?,
            started_at: Timestamp(row.get(at!(TURNS, "started_at"))?),
            origin,
            steps: Vec::new(),
            notice: row.get(at!(TURNS, "notice"))?,
            undelivered: Undelivered::default(),
            recalled: json_if_any(row, at!(TURNS, "recalled"))?.unwrap_or_default(),
            reports: SessionReports::default(),
        };
        Ok(Self { record, newest_message: None, whole: recalled, shortened: recalled })
    }

    fn read_steps(&mut self, steps: &mut CachedStatement<'_>) -> RowResult<()> {
        let mut rows = steps.query([self.record.id.0])?;
        while let Some(row) = rows.next()? {
            let text = text_bytes(row, at!(STEPS, "text"))?;
            self.whole += text + text_bytes(row, at!(STEPS, "reasoning"))?;
            self.shortened += text;
            self.record.steps.push(step_from_row(row)?);
        }
        Ok(())
    }

    fn read_calls(&mut self, calls: &mut CachedStatement<'_>) -> RowResult<()> {
        let turn = self.record.id;
        let mut rows = calls.query([turn.0])?;
        while let Some(row) = rows.next()? {
            for text in [at!(CALLS, "arguments"), at!(CALLS, "result")] {
                let bytes = text_bytes(row, text)?;
                self.whole += bytes;
                self.shortened += bytes.min(Past::SHORT + Past::REMARK);
            }
            let step: u32 = row.get(at!(CALLS, "step"))?;
            if let Some(step) = self.record.steps.iter_mut().find(|one| one.number == step) {
                step.calls.push(call_from_row(row, turn)?);
            }
        }
        Ok(())
    }

    fn read_messages(
        &mut self,
        messages: &mut CachedStatement<'_>,
        reader: &mut MessageReader,
    ) -> RowResult<()> {
        let TurnRecord { id, origin, steps, .. } = &mut self.record;
        let mut rows = messages.query([id.0])?;
        while let Some(row) = rows.next()? {
            let bytes = content_bytes(row)?;
            self.whole += bytes;
            self.shortened += bytes;
            self.newest_message = Some(MessageId(row.get(at!(INBOUND, "id"))?));
            let after_step: Option<i64> = row.get(at!(INBOUND, "after_step"))?;
            match (after_step, &mut *origin) {
                (Some(ANSWERED), _) | (None, Origin::Child { .. }) => {}
                (None, Origin::Messages(first)) => first.push(reader.read_message(row)?),
                (Some(number), _) => {
                    let step = steps.iter_mut().find(|step| i64::from(step.number) == number);
                    if let Some(step) = step {
                        step.steered.push(reader.read_message(row)?);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the state of a turn in a row of [`TURNS`].
pub(crate) fn turn_state(row: &Row<'_>) -> RowResult<TurnState> {
    word_column(row, at!(TURNS, "state"), &TurnState::ALL, TurnState::as_str)
}

fn step_from_row(row: &Row<'_>) -> RowResult<Step> {
    Ok(Step {
        number: row.get(at!(STEPS, "number"))?,
        text: row.get(at!(STEPS, "text"))?,
        ending: word_column(row, at!(STEPS, "ending"), &AnswerEnding::ALL, AnswerEnding::as_str)?,
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
    })
}

fn call_from_row(row: &Row<'_>, turn: TurnId) -> RowResult<LoggedCall> {
    let (step, ordinal) = (row.get(at!(CALLS, "step"))?, row.get(at!(CALLS, "ordinal"))?);
    let arguments = match json_if_any(row, at!(CALLS, "exact"))? {
        Some(exact) => exact,
        None => json_column(row, at!(CALLS, "arguments"))?,
    };
    Ok(LoggedCall {
        id: CallId { turn, step, ordinal },
        call: ToolCall { name: row.get(at!(CALLS, "name"))?, arguments },
        state: call_state(row)?,
        allowed: row.get(at!(CALLS, "allowed"))?,
    })
}

fn call_state(row: &Row<'_>) -> RowResult<CallState> {
    Ok(match row.get_ref(at!(CALLS, "state"))?.as_str()? {
        "planned" => CallState::Planned,
        "started" => CallState::Started,
        "interrupted" => {
            CallState::Interrupted { evidence: json_if_any(row, at!(CALLS, "evidence"))? }
        }
        "waiting" => CallState::Waiting,
        _ => CallState::Finished(CallResult {
            ok: row.get(at!(CALLS, "ok"))?,
            value: json_column(row, at!(CALLS, "result"))?,
            trust: trust_column(row, at!(CALLS, "trust"))?,
            kind: word_column(
                row,
                at!(CALLS, "result_kind"),
                &ResultKind::ALL,
                ResultKind::as_str,
            )?,
        }),
    })
}
