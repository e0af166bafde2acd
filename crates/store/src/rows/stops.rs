//! Rows of `stop_all`.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::StopInForce;

use super::parsed_if_any;
use crate::tx::{Db, Result};

/// Reads the stop in force.
pub(crate) fn read_stop(db: Db<'_>) -> Result<Option<StopInForce>> {
    db.query_row("SELECT stopped_at, stopped_by, stopped_in FROM stop_all", (), |row| {
        Ok(StopInForce {
            at: Timestamp(row.get("stopped_at")?),
            by: row.get("stopped_by")?,
            chat: parsed_if_any(row, "stopped_in")?,
        })
    })
}
