//! Jobs: a row for each, beside the message that starts its turn. The state of a job follows from
//! both.

use async_trait::async_trait;
use avocet_protocol::chat::{Inbound, NewInbound, Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{JobId, MessageId, TurnId};
use avocet_protocol::store::{
    JobChat, JobRules, JobState, JobStatus, Jobs, NewJob, SubmittedJob, Total,
};
use avocet_protocol::turn::TurnState;
use rusqlite::{Row, params};

use crate::accept::accept_message;
use crate::cancel::cancel_turn;
use crate::ledger;
use crate::rows::messages::end_message;
use crate::rows::numbers::last_number;
use crate::rows::{self, RowResult, to_json};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl Jobs for SqliteStore {
    async fn submit(&self, job: &NewJob) -> Result<SubmittedJob> {
        let (job, default_mode) = (job.clone(), self.default_mode);
        self.write("submit-job", Durability::Synced, move |tx| {
            if let Some(first) = first_copy(tx, &job)? {
                return Ok(first);
            }
            let id = next_id(tx)?;
            let (session, message) = place_job(id, &job);
            let accepted = accept_message(tx, &message, default_mode)?;
            insert(tx, id, &session, accepted.id, &job.rules)?;
            Ok(SubmittedJob { id, message: accepted.id, session, is_duplicate: false })
        })
        .await
    }

    async fn jobs(&self, limit: u32, before: Option<JobId>) -> Result<Vec<JobStatus>> {
        let before = before.map_or(i64::MAX, |before| before.0);
        self.read(move |db| {
            let rows = format!("{JOB} WHERE jobs.id < ?1 ORDER BY jobs.id DESC LIMIT ?2");
            let found = db.query_rows(&rows, params![before, limit], read_status)?;
            found.into_iter().map(|one| with_usage(db, one)).collect()
        })
        .await
    }

    async fn job(&self, id: JobId) -> Result<Option<JobStatus>> {
        self.read(move |db| {
            let found = db.query_row(&format!("{JOB} WHERE jobs.id = ?1"), [id.0], read_status)?;
            found.map(|one| with_usage(db, one)).transpose()
        })
        .await
    }

    async fn cancel_job(&self, id: JobId) -> Result<Option<Vec<TurnId>>> {
        self.write("cancel-job", Durability::Synced, move |tx| cancel_job(tx, id)).await
    }

    async fn job_rules(&self, session: &SessionId) -> Result<Option<JobRules>> {
        if !session.is_named_as_job() {
            return Ok(None);
        }
        let session = session.clone();
        self.read(move |db| {
            let sql = "SELECT rules FROM jobs WHERE session = ?1";
            db.query_row(sql, [session.as_str()], |row| rows::json_column(row, "rules"))
        })
        .await
    }
}

/// Returns the job that has used the key before. Keys are unique among all jobs.
fn first_copy(tx: &Tx<'_>, job: &NewJob) -> Result<Option<SubmittedJob>> {
    tx.db.query_row(
        "SELECT id, session, message FROM jobs WHERE key = ?1",
        [job.message.inbound.key.as_str()],
        |row| {
            Ok(SubmittedJob {
                id: JobId(row.get("id")?),
                message: MessageId(row.get("message")?),
                session: rows::parse_column(row, "session")?,
                is_duplicate: true,
            })
        },
    )
}

/// Returns the next number. The one writer thread adds all rows, so the number stays free.
fn next_id(tx: &Tx<'_>) -> Result<JobId> {
    Ok(JobId(last_number(tx.db, "jobs")? + 1))
}

/// Returns the session of the job, and its message there.
fn place_job(id: JobId, job: &NewJob) -> (SessionId, NewInbound) {
    let NewJob { message, chat, .. } = job;
    match chat {
        JobChat::Asking => {
            let session = SessionId::of_job(id);
            (session.clone(), NewInbound { session, ..message.clone() })
        }
        JobChat::Own => {
            let session = SessionId::of_terminal_job(id);
            let inbound = Inbound { address: session.address(), ..message.inbound.clone() };
            (session.clone(), NewInbound { session, inbound, ..message.clone() })
        }
    }
}

fn insert(
    tx: &Tx<'_>,
    id: JobId,
    session: &SessionId,
    message: MessageId,
    rules: &JobRules,
) -> Result<()> {
    tx.insert(
        "INSERT INTO jobs (id, session, message, key, rules) \
         SELECT ?1, ?2, ?3, key, ?4 FROM inbound WHERE id = ?3",
        params![id.0, session.as_str(), message.0, to_json(rules)?],
    )?;
    tx.change_rows(
        "UPDATE sessions SET agent = ?2 WHERE id = ?1",
        params![session.as_str(), rules.agent],
    )?;
    Ok(())
}

/// Columns that [`read_status`] reads.
const JOB: &str = "SELECT jobs.id AS id, jobs.session AS session, rules, channel, account, chat, \
    topic, sender, content, received_at, outcome, turns.id AS turn, turns.state AS turn_state, \
    started_at, ended_at, \
    (SELECT count(*) FROM steps WHERE steps.turn = turns.id) \
        - (SELECT count(*) FROM calls WHERE calls.turn = turns.id \
            AND name IN ('job_branch', 'job_commits', 'job_pull_request')) AS runs, \
    coalesce(notice, (SELECT text FROM steps WHERE steps.turn = turns.id \
        AND turns.state = 'done' ORDER BY number DESC LIMIT 1)) AS result \
    FROM jobs JOIN inbound ON inbound.id = jobs.message LEFT JOIN turns ON turns.id = inbound.turn";

fn read_status(row: &Row<'_>) -> RowResult<JobStatus> {
    let turn: Option<i64> = row.get("turn")?;
    let turn_state = turn
        .map(|_| rows::word_column(row, "turn_state", &TurnState::ALL, TurnState::as_str))
        .transpose()?;
    let outcome: Option<String> = row.get("outcome")?;
    let outcome = outcome
        .map(|_| rows::word_column(row, "outcome", &Outcome::ALL, Outcome::as_str))
        .transpose()?;
    Ok(JobStatus {
        id: JobId(row.get("id")?),
        state: state_of_job(outcome, turn_state),
        task: rows::json_column::<avocet_protocol::chat::Content>(row, "content")?.text,
        rules: rows::json_column(row, "rules")?,
        chat: rows::address_from_row(row)?,
        submitted_by: row.get("sender")?,
        submitted_at: Timestamp(row.get("received_at")?),
        session: rows::parse_column(row, "session")?,
        turn: turn.map(TurnId),
        started_at: row.get::<_, Option<i64>>("started_at")?.map(Timestamp),
        ended_at: row.get::<_, Option<i64>>("ended_at")?.map(Timestamp),
        inference_runs: row.get("runs")?,
        usage: Total::default(),
        result: row.get("result")?,
    })
}

fn state_of_job(outcome: Option<Outcome>, turn: Option<TurnState>) -> JobState {
    match (outcome, turn) {
        (Some(Outcome::Replied | Outcome::Merged), _) => JobState::Completed,
        (Some(Outcome::Error | Outcome::Dropped), _) => JobState::Failed,
        (Some(Outcome::Stopped), _) => JobState::Cancelled,
        (None, Some(TurnState::Waiting)) => JobState::Waiting,
        (None, Some(TurnState::Running)) => JobState::Running,
        (None, _) => JobState::Queued,
    }
}

fn with_usage(db: Db<'_>, job: JobStatus) -> Result<JobStatus> {
    let usage = job.turn.map_or(Ok(Total::default()), |turn| ledger::of_turn(db, turn))?;
    Ok(JobStatus { usage, ..job })
}

/// Ends a job: its turn, or its message if the turn has not begun.
fn cancel_job(tx: &Tx<'_>, id: JobId) -> Result<Option<Vec<TurnId>>> {
    let found = tx.db.query_row(&format!("{JOB} WHERE jobs.id = ?1"), [id.0], |row| {
        let job = read_status(row)?;
        Ok((job.state, job.turn))
    })?;
    match found {
        None => Ok(None),
        Some((state, _)) if state.is_final() => Ok(None),
        Some((_, Some(turn))) => cancel_turn(tx, turn, "the job was cancelled", None).map(Some),
        Some((_, None)) => {
            let sql = "SELECT message FROM jobs WHERE id = ?1";
            let message = tx.db.query_one(sql, [id.0], |row| row.get(0).map(MessageId))?;
            end_message(tx, message, Outcome::Stopped)?;
            Ok(Some(Vec::new()))
        }
    }
}
