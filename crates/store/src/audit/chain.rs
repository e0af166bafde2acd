//! The audit chain: each row contains the hash of the row before it, so that a check finds later
//! changes.

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{
    Audit, AuditCheck, AuditFault, AuditFilter, AuditHead, AuditKind, AuditRow,
};
use avocet_text::in_hexadecimal;
use rusqlite::{Row, params};
use sha2::{Digest, Sha256};

use super::NewAuditRow;
use super::row_hash::{NEW_VERSION, RowProof, StoredRow};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

/// Rows that one read checks, so that other reads of the thread wait only briefly.
const PAGE: usize = 1000;
/// The `previous` hash of the first row.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[async_trait]
impl Audit for SqliteStore {
    async fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>> {
        let filter = filter.clone();
        self.read(move |db| list_rows(db, &filter)).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>> {
        self.read(read_head).await
    }

    async fn durable_audit_head(&self) -> Result<Option<AuditHead>> {
        self.write("audit-head", Durability::Synced, |tx| {
            // SQLite syncs earlier writes only together with a change.
            tx.change_rows("UPDATE meta SET epoch = epoch WHERE only = 1", ())?;
            read_head(tx.db)
        })
        .await
    }

    async fn check_audit(&self, noted: Option<&AuditHead>) -> Result<AuditCheck> {
        let mut walk = ChainWalk::new(noted.cloned());
        loop {
            let next = walk.next;
            let (page, counted) = self.read(move |db| read_page(db, next)).await?;
            let is_last = page.len() < PAGE;
            if let Err(fault) = walk.check_rows(&page, is_last.then_some(counted)) {
                return Ok(AuditCheck {
                    rows: walk.rows,
                    erased: walk.erased,
                    head: None,
                    fault: Some(fault),
                });
            }
            if is_last {
                return Ok(AuditCheck {
                    rows: walk.rows,
                    erased: walk.erased,
                    head: walk.last,
                    fault: None,
                });
            }
        }
    }
}

/// Appends a row. A sequence number is used once only, so that rows cut off at the end leave a gap.
pub(super) fn append_row(tx: &Tx<'_>, entry: NewAuditRow<'_>) -> Result<()> {
    let (counted, previous, salt) = tx.db.query_one(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0), \
             (SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1), lower(hex(randomblob(16)))",
        (),
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?, row.get(2)?)),
    )?;
    let NewAuditRow {
        kind,
        session,
        call,
        actor,
        tool,
        arguments,
        digest,
        summary,
        remark,
        outcome,
    } = entry;
    let summary = arguments.as_ref().unwrap_or(&summary);
    let summary = match remark {
        Some(remark) => &format!("({remark}) {summary}"),
        None => summary,
    };
    let row = AuditRow {
        sequence: counted + 1,
        at: tx.now,
        kind: kind.as_str().to_owned(),
        session: session.map(|session| session.to_string()),
        turn: call.map(|call| call.turn.0),
        call: call.map(|call| call.to_string()),
        actor: actor.to_string(),
        tool: tool.map(|tool| tx.redactor.summary(&tool, AuditRow::SUMMARY)),
        summary: tx.redactor.summary(summary, AuditRow::SUMMARY),
        digest: arguments.map(|arguments| in_hexadecimal(&Sha256::digest(arguments))).or(digest),
        outcome: outcome.map(str::to_owned),
        previous: previous.unwrap_or_else(|| NOTHING.to_owned()),
        hash: String::new(),
        erased: false,
    };
    let mut stored = StoredRow { row, version: NEW_VERSION, salt: Some(salt), seals: None };
    if let Some(RowProof::OwnHash(hash)) = stored.proof() {
        stored.row.hash = hash;
    }
    insert_row(tx, &stored)
}

fn insert_row(tx: &Tx<'_>, stored: &StoredRow) -> Result<()> {
    let StoredRow { row, version, salt, .. } = stored;
    tx.insert(
        "INSERT INTO audit (sequence, at, kind, session, turn, call, actor, tool, digest, summary, \
             outcome, previous, hash, version, salt) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            row.sequence,
            row.at.0,
            row.kind,
            row.session,
            row.turn,
            row.call,
            row.actor,
            row.tool,
            row.digest,
            row.summary,
            row.outcome,
            row.previous,
            row.hash,
            version,
            salt,
        ],
    )?;
    Ok(())
}

fn read_head(db: Db<'_>) -> Result<Option<AuditHead>> {
    db.query_row("SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1", (), |row| {
        Ok(AuditHead { sequence: row.get(0)?, hash: row.get(1)? })
    })
}

const ROW: &str = "SELECT sequence, at, kind, session, turn, call, actor, tool, digest, summary, \
    outcome, previous, hash, version, salt, seals FROM audit";

fn list_rows(db: Db<'_>, filter: &AuditFilter) -> Result<Vec<AuditRow>> {
    let AuditFilter { session, since, kind, before, limit } = filter;
    let mut rows = db.query_rows(
        &format!(
            "{ROW} WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR at >= ?2) \
                 AND (?3 IS NULL OR kind = ?3) AND sequence < ?4 ORDER BY sequence DESC LIMIT ?5"
        ),
        params![
            session.as_ref().map(SessionId::as_str),
            since.map(|since| since.0),
            kind.map(AuditKind::as_str),
            before.unwrap_or(i64::MAX),
            limit,
        ],
        read_row,
    )?;
    rows.reverse();
    Ok(rows)
}

/// Returns up to `PAGE` rows from `next` on, and the last sequence number that SQLite has given
/// out.
fn read_page(db: Db<'_>, next: i64) -> Result<(Vec<StoredRow>, i64)> {
    let rows = db.query_rows(
        &format!("{ROW} WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2"),
        params![next, PAGE],
        read_stored,
    )?;
    let counted =
        db.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'audit'", (), |row| row.get(0))?;
    Ok((rows, counted.unwrap_or(0)))
}

/// Returns the rows that a condition on the columns selects, oldest first.
pub(super) fn select_rows(
    db: Db<'_>,
    condition: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<StoredRow>> {
    db.query_rows(&format!("{ROW} WHERE {condition} ORDER BY sequence"), params, read_stored)
}

fn read_stored(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    let (version, salt, seals) = (row.get("version")?, row.get("salt")?, row.get("seals")?);
    Ok(StoredRow { row: read_row(row)?, version, salt, seals })
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        sequence: row.get("sequence")?,
        at: Timestamp(row.get("at")?),
        kind: row.get("kind")?,
        session: row.get("session")?,
        turn: row.get("turn")?,
        call: row.get("call")?,
        actor: row.get("actor")?,
        tool: row.get("tool")?,
        digest: row.get("digest")?,
        summary: row.get("summary")?,
        outcome: row.get("outcome")?,
        previous: row.get("previous")?,
        hash: row.get("hash")?,
        erased: row.get::<_, Option<String>>("seals")?.is_some(),
    })
}

/// The state of a walk through the chain.
#[derive(Debug, Default)]
struct ChainWalk {
    noted: Option<AuditHead>,
    last: Option<AuditHead>,
    next: i64,
    rows: u64,
    erased: u64,
    old_seals: OldSeals,
    /// The digest of the last `erased` row.
    proven: Option<String>,
}

/// The rows of version 1 with erased texts, which the last `erased` row proves.
#[derive(Debug, Default)]
pub(super) struct OldSeals {
    hasher: Sha256,
    last: Option<i64>,
}

impl OldSeals {
    /// Adds the next row, if it is one of them.
    pub(super) fn add_row(&mut self, stored: &StoredRow) {
        if let Some(RowProof::LaterRow(seal)) = stored.proof() {
            self.hasher.update(seal);
            self.last = Some(stored.row.sequence);
        }
    }

    /// Returns the digest for the `erased` row; `None` if there are no such rows.
    pub(super) fn digest(self) -> Option<String> {
        self.last.map(|_| in_hexadecimal(&self.hasher.finalize()))
    }
}

impl ChainWalk {
    fn new(noted: Option<AuditHead>) -> Self {
        Self { noted, next: i64::MIN, ..Self::default() }
    }

    /// Checks these rows. `counted` is the last sequence number given out; pass it with the last
    /// rows.
    fn check_rows(&mut self, rows: &[StoredRow], counted: Option<i64>) -> Result<(), AuditFault> {
        rows.iter().try_for_each(|row| self.check_row(row))?;
        let Some(counted) = counted else { return Ok(()) };
        let last = self.last.as_ref().map_or(0, |last| last.sequence);
        let known = self.noted.as_ref().map_or(counted, |noted| noted.sequence.max(counted));
        if last < known {
            return Err(AuditFault::Cut { last, known });
        }
        let seals = std::mem::take(&mut self.old_seals);
        let Some(row) = seals.last else { return Ok(()) };
        if seals.digest() == self.proven { Ok(()) } else { Err(AuditFault::Unproven(row)) }
    }

    fn check_row(&mut self, stored: &StoredRow) -> Result<(), AuditFault> {
        let row = &stored.row;
        self.rows += 1;
        self.erased += u64::from(row.erased);
        let (last, previous) = match &self.last {
            None => (0, NOTHING),
            Some(AuditHead { sequence, hash }) => (*sequence, hash.as_str()),
        };
        let sequence = row.sequence;
        let is_unchanged = match stored.proof() {
            Some(RowProof::OwnHash(hash)) => hash == row.hash,
            // Checked at the end, with all rows of its kind.
            Some(RowProof::LaterRow(_)) => true,
            None => false,
        };
        if !is_unchanged || sequence <= last {
            return Err(AuditFault::Changed(sequence));
        }
        self.old_seals.add_row(stored);
        if row.kind == AuditKind::Erased.as_str() {
            self.proven.clone_from(&row.digest);
        }
        // A roll-back loses the rows before its own row, so their numbers are missing. That is a
        // fault only if one of them was noted outside of the log.
        let noted = self.noted.as_ref().map(|noted| noted.sequence);
        let is_explained = row.kind == AuditKind::RolledBack.as_str()
            && noted.is_none_or(|noted| !(last + 1..sequence).contains(&noted));
        if sequence != last + 1 && !is_explained {
            return Err(AuditFault::Missing { first: last + 1, last: sequence - 1 });
        }
        if row.previous != previous {
            return Err(AuditFault::Unlinked(sequence));
        }
        let is_noted = self.noted.as_ref().filter(|noted| noted.sequence == sequence);
        if is_noted.is_some_and(|noted| noted.hash != row.hash) {
            return Err(AuditFault::Rewritten(sequence));
        }
        self.last = Some(AuditHead { sequence, hash: row.hash.clone() });
        self.next = sequence.saturating_add(1);
        Ok(())
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
pub(super) mod tests;
