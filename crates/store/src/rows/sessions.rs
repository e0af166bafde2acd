//! Rows of `sessions`.

use std::time::Duration;

use avocet_protocol::access::PermissionMode;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::Effort;
use avocet_protocol::session::SessionSetting;
use rusqlite::types::Type;
use rusqlite::{Row, params};

use super::{RowResult, parsed_if_any, word_column};
use crate::tx::{Db, Result, Tx};

/// Time in which a further use of the newest session writes nothing.
const USE_GRAIN: Duration = Duration::from_mins(1);

/// Creates the session if it is new, and marks it as used now. Returns its queue mode; `None` for
/// the configured default.
///
/// The mark costs two pages, so `used_at` stays if it is less than a minute old and still the newest
/// of all sessions. The order of the sessions is then the same.
pub(crate) fn use_session(tx: &Tx<'_>, session: &SessionId) -> Result<Option<QueueMode>> {
    let marked = tx.db.query_row(
        "SELECT mode FROM sessions WHERE id = ?1 AND used_at BETWEEN ?2 AND ?3 AND NOT is_archived \
             AND NOT EXISTS (SELECT 1 FROM sessions AS others \
                 WHERE others.used_at >= sessions.used_at AND others.id <> sessions.id)",
        params![session.as_str(), tx.now.before(USE_GRAIN).0, tx.now.0],
        mode_if_any,
    )?;
    match marked {
        Some(mode) => Ok(mode),
        None => tx.db.query_one(
            "INSERT INTO sessions (id, used_at) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET used_at = excluded.used_at, is_archived = 0 RETURNING mode",
            params![session.as_str(), tx.now.0],
            mode_if_any,
        ),
    }
}

/// Changes a setting of a session that exists.
pub(crate) fn choose_setting(
    tx: &Tx<'_>,
    session: &SessionId,
    setting: &SessionSetting,
) -> Result<()> {
    let (column, value) = match setting {
        SessionSetting::Model(model) => ("model", model.as_deref()),
        SessionSetting::Effort(effort) => ("effort", effort.map(Effort::as_str)),
        SessionSetting::Permissions(PermissionMode::Default) => ("permission_mode", None),
        SessionSetting::Permissions(mode) => ("permission_mode", Some(mode.as_str())),
    };
    let update = format!("UPDATE sessions SET {column} = ?2 WHERE id = ?1");
    tx.change_rows(&update, params![session.as_str(), value]).map(drop)
}

/// Reads the column `queue_mode`.
pub(crate) fn mode_if_any(row: &Row<'_>) -> RowResult<Option<QueueMode>> {
    match row.get_ref("mode")?.data_type() {
        Type::Null => Ok(None),
        _ => word_column(row, "mode", &QueueMode::ALL, QueueMode::as_str).map(Some),
    }
}

/// Reads the column `permission_mode`.
pub(crate) fn permission_mode(row: &Row<'_>) -> RowResult<PermissionMode> {
    Ok(parsed_if_any(row, "permission_mode")?.unwrap_or_default())
}

pub(crate) fn queue_mode(db: Db<'_>, session: &SessionId, default: QueueMode) -> Result<QueueMode> {
    let found = db.query_row(
        "SELECT mode FROM sessions WHERE id = ?1 AND mode IS NOT NULL",
        [session.as_str()],
        |row| word_column(row, "mode", &QueueMode::ALL, QueueMode::as_str),
    )?;
    Ok(found.unwrap_or(default))
}
