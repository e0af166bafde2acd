//! Restores turns, calls and sends after a crash or a stop to a state from which work continues.
//!
//! ```text
//! after a crash                          after the recovery
//! turn     running                       queued, a suspect, one more death
//! inbound  running                       queued, still bound to its turn
//! call     started, pure or in the log   planned: it had no effect outside of the log
//! call     started, verifiable or effect interrupted: the effect may have happened
//! chunk    sending                       unknown: the text may have arrived
//! ```
//!
//! **One transaction with the new epoch** (`open.rs`). No worker runs before it, and none of the
//! process before can write after it. So no part sees a half recovered log, and a crash in between
//! leaves everything to the next start.
//!
//! **Deaths.** Each running turn may be the cause of the crash. A turn that ran alone is the only
//! suspect, so this death counts twice over: as `attempts` and as `deaths_alone`.
//!
//! **A turn that waits needs nothing.** Its question is a row, and the answer queues it again.
//!
//! **A release** during a stop ([`put_back`]) does the same for one turn and its calls, without
//! suspicion: the process did not die. An outcome that is unknown is never guessed here. The agent
//! asks the evidence or a person about a call, and the outbox has rules for a chunk.

use avocet_protocol::ids::TurnId;
use rusqlite::params;

use crate::kept_message;
use crate::put_back::put_back;
use crate::rows::chunks::OPEN_CHUNK;
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Result, Tx};

/// Runs in the recovery transaction: running turns are queued again as suspects, started calls are
/// handled by class, and open sends get the outcome unknown.
pub(crate) fn recover_work(tx: &Tx<'_>) -> Result<()> {
    // SQLite uses a partial index only if the query repeats its condition word for word.
    let running = tx.db.query_rows(
        &format!("SELECT id FROM turns WHERE {OPEN_TURN} AND state = 'running'"),
        (),
        |row| row.get(0).map(TurnId),
    )?;
    let alone = running.len() == 1;
    for turn in &running {
        tx.change_rows(
            "UPDATE turns SET attempts = attempts + 1, suspect = 1, deaths_alone = deaths_alone + ?2 \
             WHERE id = ?1",
            params![turn.0, alone],
        )?;
        put_back(tx, *turn)?;
    }
    let deliveries = tx.change_rows(
        &format!("UPDATE outbox SET state = 'unknown' WHERE {OPEN_CHUNK} AND state = 'sending'"),
        (),
    )?;
    kept_message::delete_closed(tx)?;
    if !running.is_empty() || deliveries > 0 {
        tracing::info!(turns = running.len(), deliveries, "resuming work that a crash interrupted");
    }
    Ok(())
}
