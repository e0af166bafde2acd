//! Queues a running turn again: after a crash, at a stop, and for a further part of its message.

use avocet_protocol::ids::TurnId;

use crate::audit;
use crate::tx::{Result, Tx};

/// Queues a running turn again. Started calls that only read, or only write to the log, are planned
/// again, because they had no effect yet. The outcome of other started calls stays unknown.
pub(crate) fn put_back(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    audit::record_interrupted(tx, turn)?;
    tx.change_rows(
        "UPDATE calls SET state = CASE WHEN class IN ('pure', 'in_log') THEN 'planned' \
                                       ELSE 'interrupted' END \
         WHERE turn = ?1 AND state = 'started'",
        [turn.0],
    )?;
    tx.change_rows(
        "UPDATE inbound SET state = 'queued' WHERE turn = ?1 AND state = 'running'",
        [turn.0],
    )?;
    tx.update_one(
        turn,
        "UPDATE turns SET state = 'queued' WHERE id = ?1 AND state = 'running'",
        [turn.0],
    )
}
