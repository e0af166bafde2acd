//! Schedules and their runs. Each time is claimed before its work begins, so that it happens once.

use async_trait::async_trait;
use avocet_protocol::chat::{ChatAddress, ChatKind, NewInbound, Sender, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, ScheduleId};
use avocet_protocol::schedule::{
    CatchUp, NewSchedule, RunResult, Schedule, ScheduleChange, ScheduleOwner, ScheduleRun,
    ScheduleState, ScheduledWork,
};
use avocet_protocol::store::{DueClaim, DueRun, DueWork, EndedSchedules, Schedules, StoreError};
use rusqlite::{Row, params};

use crate::accept;
use crate::distrust::is_unsure_at;
use crate::reports::{self, SentText};
use crate::rows::chunks::{ChunkPosition, OutboxSource, insert_chunks};
use crate::rows::sessions::use_session;
use crate::rows::{self, RowResult};
use crate::schedule_writes::{self, change_schedule, reserve_id};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl Schedules for SqliteStore {
    async fn reserve_schedule(&self) -> Result<ScheduleId> {
        self.write("reserve-schedule", Durability::Process, reserve_id).await
    }

    async fn add_schedule(&self, new: &NewSchedule, key: Option<&DedupeKey>) -> Result<ScheduleId> {
        let (new, key) = (new.clone(), key.cloned());
        self.write("add-schedule", Durability::Synced, move |tx| {
            schedule_writes::add_schedule(tx, &new, key.as_ref())
        })
        .await
    }

    async fn change_schedule(&self, id: ScheduleId, change: &ScheduleChange) -> Result<bool> {
        let change = change.clone();
        self.write("change-schedule", Durability::Synced, move |tx| {
            change_schedule(tx, id, &change)
        })
        .await
    }

    async fn set_configured(&self, configured: &[NewSchedule]) -> Result<Vec<ScheduleId>> {
        let configured = configured.to_vec();
        self.write("set-schedules", Durability::Synced, move |tx| set_configured(tx, &configured))
            .await
    }

    async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>> {
        self.read(move |db| read(db, id)).await
    }

    async fn schedules(
        &self,
        chat: Option<&ChatAddress>,
        ended: EndedSchedules,
    ) -> Result<Vec<Schedule>> {
        let chat = chat.cloned();
        let with_ended = ended == EndedSchedules::Include;
        self.read(move |db| {
            let all = db.query_rows(
                &format!("{SCHEDULE} WHERE state <> 'ended' OR ?1 ORDER BY id"),
                [with_ended],
                schedule_from_row,
            )?;
            let is_of_chat =
                |one: &Schedule| chat.as_ref().is_none_or(|it| *it == one.owner.address);
            Ok(all.into_iter().filter(is_of_chat).collect())
        })
        .await
    }

    async fn schedule_runs(&self, id: ScheduleId, limit: u32) -> Result<Vec<ScheduleRun>> {
        self.read(move |db| {
            db.query_rows(
                "SELECT due, claimed_at, result, skipped FROM schedule_runs WHERE schedule = ?1 \
                 ORDER BY due DESC LIMIT ?2",
                params![id.0, limit],
                run,
            )
        })
        .await
    }

    async fn due_schedules(&self, now: Timestamp, limit: u32) -> Result<Vec<Schedule>> {
        if self.stop.now().is_some() {
            return Ok(Vec::new());
        }
        self.read(move |db| {
            db.query_rows(
                &format!(
                    "{SCHEDULE} WHERE state = 'active' AND next_at <= ?1 ORDER BY next_at LIMIT ?2"
                ),
                params![now.0, limit],
                schedule_from_row,
            )
        })
        .await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        if self.stop.now().is_some() {
            return Ok(None);
        }
        self.read(next_due).await
    }

    async fn claim_due(&self, claim: &DueClaim) -> Result<bool> {
        let claim = claim.clone();
        self.write("claim-due", Durability::Synced, move |tx| claim_due(tx, &claim)).await
    }

    async fn schedules_changed(&self) {
        self.changed.schedules.notified().await;
    }
}

/// Columns that [`schedule_from_row`] reads.
const SCHEDULE: &str = "SELECT id, name, state, reason, channel, account, chat, topic, chat_kind, \
    sender, sender_name, rule, kind, body, agent, catch_up, quiet, trust, next_at, made_at, \
    sender_roles FROM schedules";

fn schedule_from_row(row: &Row<'_>) -> RowResult<Schedule> {
    let body: String = row.get("body")?;
    Ok(Schedule {
        id: ScheduleId(row.get("id")?),
        name: row.get("name")?,
        state: rows::word_column(row, "state", &ScheduleState::ALL, ScheduleState::as_str)?,
        reason: row.get("reason")?,
        owner: ScheduleOwner {
            address: rows::address_from_row(row)?,
            chat: rows::word_column(row, "chat_kind", &ChatKind::ALL, ChatKind::as_str)?,
            sender: Sender {
                id: rows::parse_column(row, "sender")?,
                name: row.get("sender_name")?,
                is_bot: false,
            },
            roles: rows::json_if_any(row, "sender_roles")?.unwrap_or_default(),
        },
        rule: rows::json_column(row, "rule")?,
        work: match rows::word_column(row, "kind", &ScheduledWork::KINDS, |kind| kind)? {
            "text" => ScheduledWork::Text(body),
            "task" => ScheduledWork::Task(body),
            _ => ScheduledWork::Checklist(body),
        },
        agent: row.get("agent")?,
        catch_up: rows::word_column(row, "catch_up", &CatchUp::ALL, CatchUp::as_str)?,
        quiet: row.get("quiet")?,
        trust: rows::trust_column(row, "trust")?,
        next_at: row.get::<_, Option<i64>>("next_at")?.map(Timestamp),
        made_at: Timestamp(row.get("made_at")?),
    })
}

fn run(row: &Row<'_>) -> RowResult<ScheduleRun> {
    Ok(ScheduleRun {
        due: Timestamp(row.get("due")?),
        claimed_at: Timestamp(row.get("claimed_at")?),
        result: rows::word_column(row, "result", &RunResult::ALL, RunResult::as_str)?,
        skipped: row.get("skipped")?,
    })
}

fn read(db: Db<'_>, id: ScheduleId) -> Result<Option<Schedule>> {
    db.query_row(&format!("{SCHEDULE} WHERE id = ?1"), [id.0], schedule_from_row)
}

pub(crate) fn next_due(db: Db<'_>) -> Result<Option<Timestamp>> {
    let next =
        db.query_one("SELECT min(next_at) FROM schedules WHERE state = 'active'", (), |row| {
            row.get::<_, Option<i64>>(0)
        })?;
    Ok(next.map(Timestamp))
}

fn set_configured(tx: &Tx<'_>, configured: &[NewSchedule]) -> Result<Vec<ScheduleId>> {
    let known = tx.db.query_rows(
        &format!("{SCHEDULE} WHERE name IS NOT NULL ORDER BY id"),
        (),
        schedule_from_row,
    )?;
    for old in &known {
        if !configured.iter().any(|new| is_same(new, old)) {
            change_schedule(tx, old.id, &ScheduleChange::Remove)?;
        }
    }
    let is_new = |new: &&NewSchedule| !known.iter().any(|old| is_same(new, old));
    configured
        .iter()
        .filter(is_new)
        .map(|new| schedule_writes::add_schedule(tx, new, None))
        .collect()
}

/// Returns `true` if the configuration still describes this schedule.
fn is_same(new: &NewSchedule, old: &Schedule) -> bool {
    let NewSchedule { name, owner, plan, trust } = new;
    *name == old.name
        && *owner == old.owner
        && *trust == old.trust
        && plan.rule.is_same(&old.rule)
        && (&plan.work, &plan.agent) == (&old.work, &old.agent)
        && (plan.catch_up, plan.quiet) == (old.catch_up, old.quiet)
}

/// Claims times of a schedule. Returns `false` if another claim was faster.
fn claim_due(tx: &Tx<'_>, claim: &DueClaim) -> Result<bool> {
    let DueClaim { id, expected, runs, next_at } = claim;
    let Some(schedule) = read(tx.db, *id)? else { return Ok(false) };
    if schedule.next_at != *expected {
        return Ok(false);
    }
    for run in runs {
        claim_run(tx, &schedule, run)?;
    }
    tx.change_rows(
        "UPDATE schedules SET next_at = ?2, \
             state = CASE WHEN state = 'active' AND ?2 IS NULL THEN 'ended' ELSE state END \
         WHERE id = ?1",
        params![id.0, next_at.map(|next| next.0)],
    )?;
    Ok(true)
}

fn claim_run(tx: &Tx<'_>, schedule: &Schedule, run: &DueRun) -> Result<()> {
    let DueRun { due, work, skipped } = run;
    let result = match work {
        // A newer state of the log, which is lost, may have run it.
        DueWork::Task(_) | DueWork::Text(_) if is_unsure_at(tx, *due)? => RunResult::Missed,
        DueWork::Task(_) => RunResult::Queued,
        DueWork::Text(_) => RunResult::Sent,
        DueWork::Nothing(result) => *result,
    };
    let claimed = tx.insert(
        "INSERT INTO schedule_runs (schedule, due, claimed_at, result, skipped) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (schedule, due) DO NOTHING",
        params![schedule.id.0, due.0, tx.now.0, result.as_str(), skipped],
    )?;
    match work {
        _ if claimed.is_none() || result == RunResult::Missed => Ok(()),
        DueWork::Task(message) => queue_task(tx, schedule, message),
        DueWork::Text(planned) => {
            let key = DedupeKey::parse(&format!("schedule:{}:{}", schedule.id.0, due.0))
                .map_err(|error| StoreError::Internal(error.to_string()))?;
            let source = OutboxSource::Process;
            let position =
                ChunkPosition { turn: None, ordinal: 0, chunk: 0, key: Some(&key), source };
            insert_chunks(tx, planned, 0, &position)?;
            let from = SessionId::of_schedule(schedule.id);
            let text = reports::text_of(&planned.chunks);
            let chat = &planned.address;
            reports::note_text(
                tx,
                SentText { from: &from, chat, text: &text, trust: schedule.trust },
            )
        }
        DueWork::Nothing(_) => Ok(()),
    }
}

/// Puts a task into the lane of its schedule's session, where each task gets its own turn.
fn queue_task(tx: &Tx<'_>, schedule: &Schedule, message: &NewInbound) -> Result<()> {
    use_session(tx, &message.session)?;
    tx.change_rows(
        "UPDATE sessions SET mode = 'queue', agent = ?2 WHERE id = ?1",
        params![message.session.as_str(), schedule.agent],
    )?;
    accept::insert(tx, message).map(drop)
}
