//! The progress of one message: its outcome, its answer, and the tokens of its turn.

use avocet_protocol::bus::ProgramCall;
use avocet_protocol::chat::Outcome;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, TurnId};
use avocet_protocol::model::Usage;
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::{AnswerEnding, ResultKind};
use rusqlite::params;

use crate::rows;
use crate::tx::{Db, Result};

/// Returns the progress of a message; `None` if it is unknown.
pub(crate) fn message_status(db: Db<'_>, id: MessageId) -> Result<Option<MessageStatus>> {
    let found = db.query_row(
        "SELECT inbound.session, inbound.turn, inbound.outcome, inbound.received_at, \
             inbound.reply IS NULL AND turns.state IS 'failed' AS failed, \
             CASE WHEN inbound.reply IS NULL THEN turns.failure END AS failure, \
             coalesce(inbound.reply, turns.notice, \
             (SELECT text FROM steps WHERE turn = turns.id AND NOT EXISTS \
                 (SELECT 1 FROM calls WHERE turn = turns.id AND step = steps.number) \
              ORDER BY number DESC LIMIT 1)) AS reply, \
             CASE WHEN coalesce(inbound.reply, turns.notice) IS NULL THEN \
             (SELECT ending FROM steps WHERE turn = turns.id AND NOT EXISTS \
                 (SELECT 1 FROM calls WHERE turn = turns.id AND step = steps.number) \
              ORDER BY number DESC LIMIT 1) END AS ending \
         FROM inbound LEFT JOIN turns ON turns.id = inbound.turn \
             AND (turns.state = 'done' OR turns.state = 'cancelled' OR turns.state = 'failed') \
         WHERE inbound.id = ?1",
        [id.0],
        |row| {
            let outcome: Option<String> = row.get("outcome")?;
            let ending: Option<String> = row.get("ending")?;
            Ok(MessageStatus {
                id,
                session: rows::parse_column(row, "session")?,
                turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
                outcome: outcome
                    .map(|_| rows::word_column(row, "outcome", &Outcome::ALL, Outcome::as_str))
                    .transpose()?,
                reply: row.get("reply")?,
                ending: ending
                    .map(|_| {
                        rows::word_column(row, "ending", &AnswerEnding::ALL, AnswerEnding::as_str)
                    })
                    .transpose()?
                    .unwrap_or_default(),
                failed: row.get("failed")?,
                failure: rows::json_if_any(row, "failure")?,
                received_at: Some(Timestamp(row.get("received_at")?)),
                usage: None,
                calls: Vec::new(),
            })
        },
    )?;
    let Some(status) = found else { return Ok(None) };
    let Some(turn) = status.turn else { return Ok(Some(status)) };
    let usage = Some(usage_of_turn(db, turn)?);
    let calls = if status.outcome.is_some() { program_calls(db, turn)? } else { Vec::new() };
    Ok(Some(MessageStatus { usage, calls, ..status }))
}

/// Returns the tokens of a root turn, with those of its sub-agents.
fn usage_of_turn(db: Db<'_>, turn: TurnId) -> Result<Usage> {
    db.query_one(
        "SELECT coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output, \
             coalesce(sum(cached), 0) AS cached, coalesce(sum(cache_written), 0) AS cache_written \
         FROM usage WHERE turn = ?1",
        [turn.0],
        |row| {
            Ok(Usage {
                input: row.get("input")?,
                output: row.get("output")?,
                cached: row.get("cached")?,
                cache_written: row.get("cache_written")?,
            })
        },
    )
}

/// Returns the calls of the turn's last step with calls that the program that asked has to run.
fn program_calls(db: Db<'_>, turn: TurnId) -> Result<Vec<ProgramCall>> {
    db.query_rows(
        "SELECT step, ordinal, name, coalesce(exact, arguments) AS arguments FROM calls \
         WHERE turn = ?1 AND result_kind = ?2 \
             AND step = (SELECT max(step) FROM calls WHERE turn = ?1) \
         ORDER BY ordinal",
        params![turn.0, ResultKind::SentToProgram.as_str()],
        |row| {
            let id = CallId { turn, step: row.get("step")?, ordinal: row.get("ordinal")? };
            let arguments =
                rows::json_column::<avocet_protocol::model::Arguments>(row, "arguments")?;
            Ok(ProgramCall {
                id: id.to_string(),
                name: row.get("name")?,
                arguments: arguments.to_object(),
            })
        },
    )
}
