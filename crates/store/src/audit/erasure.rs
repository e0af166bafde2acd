//! Erases texts of the audit table. The chain stays valid, and a new row proves the erasure.

use avocet_protocol::store::{Actor, AuditKind};
use rusqlite::params;

use super::NewAuditRow;
use super::chain::{OldSeals, append_row, select_rows};
use super::row_hash::ErasableText;
use crate::tx::{Result, Tx};

/// Erases texts of the rows that a condition selects. Returns the number of changed rows.
pub(crate) fn erase_texts(
    tx: &Tx<'_>,
    condition: &str,
    params: impl rusqlite::Params,
    texts: &[ErasableText],
) -> Result<u64> {
    let salt: String =
        tx.db.query_one("SELECT lower(hex(randomblob(16)))", (), |row| row.get(0))?;
    let condition = format!("kind <> '{}' AND ({condition})", AuditKind::Erased.as_str());
    let mut changed = 0;
    for mut stored in select_rows(tx.db, &condition, params)? {
        let own_salt = format!("{salt} {}", stored.row.sequence);
        if stored.erase_texts(texts, &own_salt) {
            let row = &stored.row;
            tx.change_rows(
                "UPDATE audit SET session = ?2, actor = ?3, tool = ?4, digest = ?5, summary = ?6, \
                     salt = NULL, seals = ?7 WHERE sequence = ?1",
                params![
                    row.sequence,
                    row.session,
                    row.actor,
                    row.tool,
                    row.digest,
                    row.summary,
                    stored.seals,
                ],
            )?;
            changed += 1;
        }
    }
    Ok(changed)
}

/// Appends the row that proves an erasure, with counts but without a name. Its digest proves the rows
/// of the old version whose own hash can no longer be computed.
pub(crate) fn record_erased(tx: &Tx<'_>, summary: String) -> Result<()> {
    let mut seals = OldSeals::default();
    for stored in select_rows(tx.db, "version = 1 AND seals IS NOT NULL", ())? {
        seals.add_row(&stored);
    }
    let digest = seals.digest();
    let row = NewAuditRow::new(AuditKind::Erased, &Actor::Host);
    append_row(tx, NewAuditRow { digest, summary, ..row })
}
