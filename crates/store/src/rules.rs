//! The rules of the owners. All readers use the list in memory, which the writer replaces after each
//! change, so that a turn runs no statement for them.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{NewRule, OwnerRule, RuleList, RuleName};
use avocet_protocol::ids::RuleId;
use avocet_protocol::store::{Actor, AuditKind, OwnerRules};
use rusqlite::params;

use crate::audit;
use crate::tx::{Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl OwnerRules for SqliteStore {
    fn current_rules(&self) -> Arc<RuleList> {
        self.rules.now()
    }

    async fn add_rule(&self, new: &NewRule) -> Result<Option<OwnerRule>> {
        let new = new.clone();
        self.write("add-rule", Durability::Synced, move |tx| add_rule(tx, &new)).await
    }

    async fn remove_rule(&self, id: RuleId, by: &Actor) -> Result<bool> {
        let by = by.clone();
        self.write("remove-rule", Durability::Synced, move |tx| remove_rule(tx, id, &by)).await
    }
}

/// Adds a rule; `None` if its id is taken.
pub(crate) fn add_rule(tx: &Tx<'_>, new: &NewRule) -> Result<Option<OwnerRule>> {
    let NewRule { id, text, scope, by } = new;
    let (scope_word, by_word) = (scope.to_string(), by.to_string());
    let added = tx.insert(
        "INSERT INTO rules (id, text, scope, added_by, added_at) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT DO NOTHING",
        params![id.0, text, scope_word, by_word, tx.now.0],
    )?;
    if added.is_none() {
        return Ok(None);
    }
    tx.changed.rules.set(true);
    audit::record_rule(tx, AuditKind::RuleAdded, *id, by)?;
    Ok(Some(OwnerRule {
        name: RuleName::Row(*id),
        text: text.clone(),
        scope: scope.clone(),
        by: by_word,
        at: Some(tx.now),
    }))
}

/// Removes a rule. Returns `false` if no such rule is in force.
pub(crate) fn remove_rule(tx: &Tx<'_>, id: RuleId, by: &Actor) -> Result<bool> {
    let removed = tx.change_rows(
        "UPDATE rules SET removed_by = ?2, removed_at = ?3 WHERE id = ?1 AND removed_at IS NULL",
        params![id.0, by.to_string(), tx.now.0],
    )?;
    if removed == 0 {
        return Ok(false);
    }
    tx.changed.rules.set(true);
    audit::record_rule(tx, AuditKind::RuleRemoved, id, by)?;
    Ok(true)
}
