//! Detects that the log lacks its newest transactions, because its `-wal` was deleted or cut, or an
//! older copy replaced it.

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_text::Redactor;
use jiff::tz::TimeZone;

use crate::binding::WalState;
use crate::damage::format_date;
use crate::distrust::{EndedWork, RolledBack, distrust_log};
use crate::last::LastTransaction;
use crate::rows::events::POSITION;
use crate::tx::{ChangeMarks, Db, Result, Tx};

/// Maximum lag of a platform's clock behind ours.
const CLOCKS_APART: Duration = Duration::from_mins(1);

/// Returns the known loss, or `None`. `beside` describes the `-wal` before SQLite opened the
/// database.
pub(crate) fn find_missing(
    db: Db<'_>,
    last: Option<&LastTransaction>,
    beside: WalState,
) -> Result<Option<RolledBack>> {
    struct MetaRow {
        id: String,
        was: Option<String>,
        position: i64,
        in_use: bool,
        copied_at: Option<i64>,
    }
    let columns = format!("SELECT id, was, {POSITION} AS position, in_use, copied_at FROM meta");
    let MetaRow { id, was, position, in_use, copied_at } = db.query_one(&columns, (), |row| {
        let (id, was, position) = (row.get("id")?, row.get("was")?, row.get("position")?);
        let (in_use, copied_at) = (row.get("in_use")?, row.get("copied_at")?);
        Ok(MetaRow { id, was, position, in_use, copied_at })
    })?;
    let (why, for_chats) = match last {
        _ if let Some(copied_at) = copied_at => {
            let date = format_date(Timestamp(copied_at));
            (format!("it is a copy of {date}"), format!("it is a copy of {date}"))
        }
        // A crash came before the roll-back's new id reached the `-last` file.
        Some(last) if last.id != id && was.as_ref() == Some(&last.id) => return Ok(None),
        Some(last) if last.id != id => {
            let date = format_date(last.at);
            let why = format!("another log was used here before, until {date}");
            (why, format!("it was replaced by another one after {date}"))
        }
        Some(last) if position < last.expected_position() => {
            let (expected, date) = (last.expected_position(), format_date(last.at));
            let why = format!(
                "of {expected} changes it has the first {position}; the last was committed on {date}"
            );
            (why, "its newest part was lost".to_owned())
        }
        None if in_use && beside == WalState::Nothing => {
            let why = "it was in use, and its -wal is gone".to_owned();
            (why, "its newest part was lost".to_owned())
        }
        _ => return Ok(None),
    };
    Ok(Some(RolledBack {
        outcome: "found",
        why,
        for_chats,
        unsure_until: last.map(unsure_until),
        epoch: last.map_or(0, |last| last.epoch),
        numbers: BTreeMap::new(),
    }))
}

/// Returns the latest time of a message that the lost part may have answered.
pub(crate) fn unsure_until(last: &LastTransaction) -> Timestamp {
    last.at.after(CLOCKS_APART)
}

/// Ends open work in one transaction and gives the database a new id, so that its old `-wal` no
/// longer fits.
pub(crate) fn roll_back(
    db: Db<'_>,
    rolled_back: &RolledBack,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<EndedWork> {
    let error = |error| db.store_error(&error);
    let transaction = db.connection.unchecked_transaction().map_err(error)?;
    let changed = &ChangeMarks::default();
    let tx = Tx { db, epoch: db.current_epoch()?, now, redactor, zone: &TimeZone::UTC, changed };
    let ended = distrust_log(&tx, rolled_back)?;
    transaction.commit().map_err(error)?;
    Ok(ended)
}
