//! Rows of `rules`.

use avocet_protocol::access::{OwnerRule, RuleList, RuleName};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::RuleId;
use rusqlite::Row;

use super::{RowResult, parse_column};
use crate::tx::{Db, Result};

/// Reads the rules in force, and the id of the next one. Removed rules count for that id.
pub(crate) fn read_rules(db: Db<'_>) -> Result<RuleList> {
    let in_force = "SELECT id, text, scope, added_by, added_at FROM rules \
        WHERE removed_at IS NULL ORDER BY id";
    let next = "SELECT coalesce(max(id), 0) + 1 FROM rules";
    Ok(RuleList {
        rules: db.query_rows(in_force, (), rule_from_row)?,
        next: db.query_one(next, (), |row| row.get(0).map(RuleId))?,
    })
}

fn rule_from_row(row: &Row<'_>) -> RowResult<OwnerRule> {
    Ok(OwnerRule {
        name: RuleName::Row(RuleId(row.get("id")?)),
        text: row.get("text")?,
        scope: parse_column(row, "scope")?,
        by: row.get("added_by")?,
        at: Some(Timestamp(row.get("added_at")?)),
    })
}
