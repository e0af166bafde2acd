//! Writes to schedules: new ones, changes, and those that a tool asks for.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::Inbound;
use avocet_protocol::ids::{CallId, DedupeKey, ScheduleId};
use avocet_protocol::schedule::{NewSchedule, ScheduleChange, ScheduleOwner, ScheduleWrite};
use avocet_protocol::store::StoreError;
use rusqlite::params;

use crate::rows::messages::{INBOUND, inbound_from_row};
use crate::rows::numbers::reserve_number;
use crate::rows::to_json;
use crate::rows::turns::ANCESTORS;
use crate::tx::{Result, Tx};

/// Takes the next number of `schedules` without inserting a row.
pub(crate) fn reserve_id(tx: &Tx<'_>) -> Result<ScheduleId> {
    reserve_number(tx, "schedules").map(ScheduleId)
}

/// Adds a schedule. Returns the existing one if the key was used before.
pub(crate) fn add_schedule(
    tx: &Tx<'_>,
    new: &NewSchedule,
    key: Option<&DedupeKey>,
) -> Result<ScheduleId> {
    let Some(key) = key else {
        let id = reserve_id(tx)?;
        return insert(tx, id, new).map(|()| id);
    };
    let known = "SELECT id FROM schedules WHERE key = ?1";
    if let Some(known) = tx.db.query_row(known, [key.as_str()], |row| row.get(0).map(ScheduleId))? {
        return Ok(known);
    }
    let id = reserve_id(tx)?;
    insert(tx, id, new)?;
    tx.change_rows("UPDATE schedules SET key = ?2 WHERE id = ?1", params![id.0, key.as_str()])?;
    Ok(id)
}

fn insert(tx: &Tx<'_>, id: ScheduleId, new: &NewSchedule) -> Result<()> {
    let NewSchedule { name, owner, plan, trust } = new;
    let ScheduleOwner { address, chat, sender, roles } = owner;
    let roles = (!roles.is_empty()).then(|| to_json(roles)).transpose()?;
    tx.insert(
        "INSERT INTO schedules (id, name, state, channel, account, chat, topic, chat_kind, sender, \
             sender_name, rule, kind, body, agent, catch_up, quiet, trust, next_at, made_at, \
             sender_roles) \
         VALUES (?1, ?2, 'active', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
             ?17, ?18, ?19)",
        params![
            id.0,
            name,
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            address.topic.as_ref().map(avocet_protocol::ids::TopicId::as_str),
            chat.as_str(),
            sender.id.as_str(),
            sender.name,
            to_json(&plan.rule)?,
            plan.work.kind(),
            plan.work.body(),
            plan.agent,
            plan.catch_up.as_str(),
            plan.quiet,
            trust.as_str(),
            plan.next_at.0,
            tx.now.0,
            roles,
        ],
    )?;
    tx.changed.schedules.set(true);
    Ok(())
}

pub(crate) fn change_schedule(
    tx: &Tx<'_>,
    id: ScheduleId,
    change: &ScheduleChange,
) -> Result<bool> {
    let changed = match change {
        ScheduleChange::Pause(reason) => tx.change_rows(
            "UPDATE schedules SET state = 'paused', reason = ?2, next_at = NULL \
             WHERE id = ?1 AND state = 'active'",
            params![id.0, reason],
        )?,
        ScheduleChange::Resume(next_at) => tx.change_rows(
            "UPDATE schedules SET state = 'active', reason = NULL, next_at = ?2 \
             WHERE id = ?1 AND state = 'paused'",
            params![id.0, next_at.0],
        )?,
        ScheduleChange::Remove => {
            tx.change_rows("DELETE FROM schedule_runs WHERE schedule = ?1", [id.0])?;
            tx.change_rows("DELETE FROM schedules WHERE id = ?1", [id.0])?
        }
    };
    if changed > 0 {
        tx.changed.schedules.set(true);
    }
    Ok(changed > 0)
}

/// Applies a write of the tool `schedule`.
pub(crate) fn apply_write(
    tx: &Tx<'_>,
    call: CallId,
    write: &ScheduleWrite,
    trust: Trust,
) -> Result<()> {
    match write {
        ScheduleWrite::Add { id, plan } => {
            let owner = owner_of_call(tx, call)?;
            insert(tx, *id, &NewSchedule { name: None, owner, plan: (**plan).clone(), trust })
        }
        ScheduleWrite::Change { id, change } => change_schedule(tx, *id, change).map(drop),
    }
}

/// Returns the chat and the author of the last message that the root turn answers.
fn owner_of_call(tx: &Tx<'_>, call: CallId) -> Result<ScheduleOwner> {
    let asked = tx.db.query_row(
        &format!(
            "WITH RECURSIVE {ANCESTORS} {INBOUND} WHERE inbound.turn IN (SELECT turn FROM line) \
             ORDER BY id DESC LIMIT 1"
        ),
        [call.turn.0],
        inbound_from_row,
    )?;
    let asked = asked.ok_or_else(|| StoreError::Stale(call.to_string()))?.message.inbound;
    let Inbound { address, chat, sender, content, .. } = asked;
    Ok(ScheduleOwner { address, chat, sender, roles: content.author_roles })
}
