//! Ends a turn from outside, in the transaction that decides so. Such a turn stays ended after a
//! crash.

use avocet_protocol::chat::{Outcome, Planned};
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::StoppedAnswer;
use avocet_protocol::turn::{CallResult, ResultKind, TurnState};
use rusqlite::params;

use crate::audit;
use crate::preview;
use crate::prompts;
use crate::rows::to_json;
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Result, Tx};

/// Ends a turn and its children. Calls without a result get one, so that the history stays valid;
/// messages end as stopped. The preview of the turn becomes the reply, if there is one. Returns all
/// ended turns.
pub(crate) fn cancel_turn(
    tx: &Tx<'_>,
    turn: TurnId,
    notice: &str,
    reply: Option<&Planned>,
) -> Result<Vec<TurnId>> {
    let (state, outcome, result) =
        (TurnState::Cancelled, Outcome::Stopped, "cancelled by the user");
    let kind = ResultKind::Usual;
    let mut ending = ForcedEnd { state, outcome, notice, result, kind, reply };
    let mut ended = vec![turn];
    let mut next = 0;
    while let Some(turn) = ended.get(next).copied() {
        audit::record_cancelled(tx, turn)?;
        end_turn(tx, turn, &ending)?;
        ending.reply = None;
        ended.extend(open_children(tx, turn)?);
        next += 1;
    }
    Ok(ended)
}

/// The values that a turn ended from outside gets.
pub(crate) struct ForcedEnd<'a> {
    pub(crate) state: TurnState,
    /// Outcome of its messages.
    pub(crate) outcome: Outcome,
    pub(crate) notice: &'a str,
    /// Error for its calls without a result.
    pub(crate) result: &'a str,
    /// Kind of this error.
    pub(crate) kind: ResultKind,
    /// The reply that the preview of the turn becomes. Without one, the preview stays as it is.
    pub(crate) reply: Option<&'a Planned>,
}

/// Records the answer that a turn was writing as its last step, unless the log has this step.
/// Returns the reply that its chat gets.
pub(crate) fn keep_answer<'a>(
    tx: &Tx<'_>,
    answer: &'a StoppedAnswer,
) -> Result<Option<&'a Planned>> {
    let StoppedAnswer { turn, step, text, trust, reply } = answer;
    let recorded = tx.change_rows(
        "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, trust) \
         SELECT ?1, ?2, ?3, 0, 0, ?4 WHERE ?3 <> '' \
             AND ?2 = (SELECT coalesce(max(number) + 1, 0) FROM steps WHERE turn = ?1)",
        params![turn.0, step, text, trust.as_str()],
    )?;
    let has_place = recorded > 0 || preview::is_shown(tx.db, *turn)?;
    Ok(reply.as_ref().filter(|_| has_place))
}

/// Ends an open turn, without its children.
pub(crate) fn end_turn(tx: &Tx<'_>, turn: TurnId, ending: &ForcedEnd<'_>) -> Result<()> {
    let ForcedEnd { state, outcome, notice, result, kind, reply } = ending;
    tx.update_one(
        turn,
        &format!(
            "UPDATE turns SET state = ?2, notice = ?3, ended_at = ?4, suspect = 0 \
             WHERE id = ?1 AND {OPEN_TURN}"
        ),
        params![turn.0, state.as_str(), notice, tx.now.0],
    )?;
    tx.change_rows(
        "UPDATE calls SET state = 'finished', ok = 0, result = ?2, result_kind = ?3, exact = NULL \
         WHERE turn = ?1 AND state <> 'finished'",
        params![turn.0, to_json(&CallResult::error(result).value)?, kind.as_str()],
    )?;
    tx.change_rows("UPDATE steps SET closed = 1 WHERE turn = ?1 AND closed = 0", [turn.0])?;
    prompts::stop_all(tx, turn)?;
    tx.change_rows("UPDATE waits SET resolved = 1 WHERE turn = ?1 AND resolved = 0", [turn.0])?;
    tx.change_rows(
        "UPDATE inbound SET state = CASE ?2 WHEN 'dropped' THEN 'dead' ELSE 'done' END, outcome = ?2 \
         WHERE turn = ?1 AND state IN ('queued', 'running')",
        params![turn.0, outcome.as_str()],
    )?;
    preview::become_reply(tx, turn, *reply)
}

fn open_children(tx: &Tx<'_>, turn: TurnId) -> Result<Vec<TurnId>> {
    tx.db.query_rows(
        &format!("SELECT id FROM turns WHERE parent = ?1 AND {OPEN_TURN}"),
        [turn.0],
        |row| row.get(0).map(TurnId),
    )
}
