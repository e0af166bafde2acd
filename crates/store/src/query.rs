//! Read-only views: counts, sessions, transcripts, the outcome of a message.

use async_trait::async_trait;
use avocet_protocol::access::OpenApproval;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Attachment, Content, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::{Ignored, LogStatus, RolledBack, WaitingChat};
use avocet_protocol::ids::{DeliveryId, MessageId, TurnId, WaitId};
use avocet_protocol::store::{
    DeliveredText, MessageStatus, OpenTurn, Query, SessionGroup, SessionRow, SessionStatus,
    SessionSummary, TranscriptPage, UsageBy, UsageRow,
};
use avocet_protocol::turn::TurnRecord;
use rusqlite::params;

use crate::consolidations::last_runs;
use crate::past;
use crate::rows::chunks::{DELIVERABLE, OPEN_CHUNK};
use crate::rows::turns::OPEN_TURN;
use crate::rows::{self, sessions, to_json, turns};
use crate::turn_record::read_turn;
use crate::tx::{Db, Result};
use crate::waits;
use crate::{SqliteStore, ledger, outcome, sent, session_list};

#[async_trait]
impl Query for SqliteStore {
    async fn log_status(&self) -> Result<LogStatus> {
        let found = self.read(log_status).await?;
        let missing = self.missing.clone().map(|(at, why)| RolledBack { at, why });
        Ok(LogStatus { rolled_back: missing.or(found.rolled_back), ..found })
    }

    async fn sessions_of(
        &self,
        group: Option<SessionGroup>,
        limit: u32,
        after: Option<&SessionRow>,
    ) -> Result<Vec<SessionSummary>> {
        let after = after.cloned();
        self.read(move |db| session_list::read_sessions(db, group, limit, after.as_ref())).await
    }

    async fn open_approvals(&self, limit: u32, after: Option<WaitId>) -> Result<Vec<OpenApproval>> {
        self.read(move |db| waits::open_approvals(db, limit, after)).await
    }

    async fn transcript_page(
        &self,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TurnRecord>> {
        let session = session.clone();
        self.read(move |db| read_transcript(db, &session, page)).await
    }

    async fn sent(
        &self,
        session: &SessionId,
        limit: u32,
        before: Option<DeliveryId>,
    ) -> Result<Vec<DeliveredText>> {
        let session = session.clone();
        self.read(move |db| sent::sent_texts(db, &session, limit, before)).await
    }

    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>> {
        self.read(move |db| outcome::message_status(db, id)).await
    }

    async fn sent_files(&self, session: &SessionId, turn: TurnId) -> Result<Vec<Attachment>> {
        let session = session.clone();
        self.read(move |db| sent_files(db, &session, turn)).await
    }

    async fn received_files(
        &self,
        session: &SessionId,
        message: MessageId,
    ) -> Result<(Option<TurnId>, Vec<Attachment>)> {
        let session = session.clone();
        self.read(move |db| received_files(db, &session, message)).await
    }

    async fn session_status(&self, session: &SessionId) -> Result<SessionStatus> {
        let (session, default_mode) = (session.clone(), self.default_mode);
        self.read(move |db| session_status(db, &session, default_mode)).await
    }

    async fn usage_page(
        &self,
        by: UsageBy,
        since: Timestamp,
        limit: u32,
        skip: u32,
    ) -> Result<Vec<UsageRow>> {
        self.read(move |db| ledger::usage_page(db, by, since, limit, skip)).await
    }
}

fn read_transcript(
    db: Db<'_>,
    session: &SessionId,
    page: TranscriptPage,
) -> Result<Vec<TurnRecord>> {
    let TranscriptPage { turns, before, bytes } = page;
    let ids = db.query_rows(
        "SELECT id FROM turns WHERE session = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
        params![session.as_str(), before.map_or(i64::MAX, |before| before.0), turns],
        |row| row.get(0).map(TurnId),
    )?;
    let (mut records, mut read) = (Vec::new(), 0);
    for id in ids {
        if read >= bytes {
            break;
        }
        let record = read_turn(db, id)?;
        if bytes < usize::MAX {
            read += to_json(&record)?.len();
        }
        records.push(record);
    }
    records.reverse();
    Ok(records)
}

fn sent_files(db: Db<'_>, session: &SessionId, turn: TurnId) -> Result<Vec<Attachment>> {
    let contents: Vec<Content> = db.query_rows(
        "SELECT content FROM outbox WHERE turn = ?1 AND source <> 'preview' \
             AND EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND session = ?2) \
         ORDER BY ordinal, chunk",
        params![turn.0, session.as_str()],
        |row| rows::json_column(row, "content"),
    )?;
    Ok(contents.into_iter().flat_map(|content| content.attachments).collect())
}

fn received_files(
    db: Db<'_>,
    session: &SessionId,
    message: MessageId,
) -> Result<(Option<TurnId>, Vec<Attachment>)> {
    let found = db.query_row(
        "SELECT turn, content FROM inbound WHERE id = ?1 AND session = ?2",
        params![message.0, session.as_str()],
        |row| {
            let turn = row.get::<_, Option<i64>>("turn")?.map(TurnId);
            Ok((turn, rows::json_column::<Content>(row, "content")?.attachments))
        },
    )?;
    Ok(found.unwrap_or_default())
}

fn log_status(db: Db<'_>) -> Result<LogStatus> {
    let ignored = db.query_rows(
        "SELECT channel || ':' || account AS account, reason, count FROM ignored \
         ORDER BY channel, account, reason",
        (),
        |row| {
            Ok(Ignored {
                account: row.get("account")?,
                reason: row.get("reason")?,
                count: row.get("count")?,
            })
        },
    )?;
    let WaitingChats { first, all, stuck } = waiting_chats(db)?;
    let consolidation = last_runs(db, 1)?.pop();
    db.query_one(
        &format!(
            "SELECT (SELECT epoch FROM meta) AS epoch, \
             (SELECT count(*) FROM sessions) AS sessions, \
             (SELECT count(*) FROM inbound) AS messages, \
             (SELECT count(*) FROM inbound WHERE state = 'queued' AND turn IS NULL) AS queued, \
             (SELECT count(*) FROM turns WHERE {OPEN_TURN} AND state = 'running') AS running, \
             (SELECT count(*) FROM turns WHERE {OPEN_TURN} AND state = 'waiting') AS waiting, \
             (SELECT count(*) FROM outbox WHERE {OPEN_CHUNK} AND {DELIVERABLE}) AS pending, \
             (SELECT count(*) FROM outbox WHERE state IN ('unconfirmed', 'dead') \
                 AND state = 'unconfirmed' AND dropped_at IS NULL) AS unconfirmed, \
             (SELECT count(*) FROM outbox WHERE state IN ('unconfirmed', 'dead') \
                 AND state = 'dead' AND dropped_at IS NULL) AS dead, \
             (SELECT count(*) FROM schedules WHERE state = 'active') AS schedules, \
             (SELECT min(next_at) FROM schedules WHERE state = 'active') AS next_due, \
             (SELECT rolled_back_at FROM meta) AS rolled_back_at, \
             (SELECT rolled_back FROM meta) AS rolled_back"
        ),
        (),
        |row| {
            let rolled_back_at: Option<i64> = row.get("rolled_back_at")?;
            let why: Option<String> = row.get("rolled_back")?;
            let rolled_back = rolled_back_at.zip(why);
            Ok(LogStatus {
                epoch: row.get("epoch")?,
                sessions: row.get("sessions")?,
                messages: row.get("messages")?,
                queued: row.get("queued")?,
                running: row.get("running")?,
                waiting: row.get("waiting")?,
                pending: row.get("pending")?,
                unconfirmed: row.get("unconfirmed")?,
                dead: row.get("dead")?,
                ignored,
                schedules: row.get("schedules")?,
                next_due: row.get::<_, Option<i64>>("next_due")?.map(Timestamp),
                consolidation,
                rolled_back: rolled_back.map(|(at, why)| RolledBack { at: Timestamp(at), why }),
                more_waiting_chats: all - first.len() as u64,
                waiting_chats: first,
                stuck_chats: stuck,
            })
        },
    )
}

/// The chats with open chunks.
#[derive(Default)]
struct WaitingChats {
    first: Vec<WaitingChat>,
    /// The number of all such chats.
    all: u64,
    /// The number of those whose next chunk has an error.
    stuck: u64,
}

/// Reads the chats with open chunks. Only the first open chunk of a chat is sent, so only that one
/// can have an error.
fn waiting_chats(db: Db<'_>) -> Result<WaitingChats> {
    let mut found = WaitingChats::default();
    let rows = db.query_rows(
        &format!(
            "WITH heads (id, chunks) AS (SELECT min(id), count(*) FROM outbox \
                 WHERE {OPEN_CHUNK} AND {DELIVERABLE} GROUP BY channel, account, chat) \
             SELECT outbox.id, channel, account, chat, NULL AS topic, chunks, attempts, error, \
                 iif(error IS NULL, created_at, coalesce(failing_since, held_at)) AS since, \
                 count(*) OVER () AS chats, count(error) OVER () AS stuck \
             FROM heads JOIN outbox USING (id) ORDER BY error IS NULL, since, id LIMIT ?1"
        ),
        [LogStatus::MOST_WAITING_CHATS],
        |row| {
            let waiting = WaitingChat {
                chat: rows::address_from_row(row)?,
                count: row.get("chunks")?,
                next: DeliveryId(row.get("id")?),
                since: Timestamp(row.get("since")?),
                attempts: row.get("attempts")?,
                error: row.get("error")?,
            };
            Ok((waiting, row.get("chats")?, row.get("stuck")?))
        },
    )?;
    for (waiting, all, stuck) in rows {
        found.first.push(waiting);
        (found.all, found.stuck) = (all, stuck);
    }
    Ok(found)
}

fn session_status(
    db: Db<'_>,
    session: &SessionId,
    default_mode: QueueMode,
) -> Result<SessionStatus> {
    let chat = session.address();
    let in_outbox = |which: &str| {
        db.query_one(
            &format!(
                "WITH chats (channel, account, chat) AS (VALUES (?1, ?2, ?3) UNION \
                     SELECT channel, account, chat FROM links WHERE session = ?4) \
                 SELECT count(*) FROM chats CROSS JOIN outbox USING (channel, account, chat) \
                 WHERE {which}"
            ),
            [chat.channel.as_str(), chat.account.as_str(), chat.chat.as_str(), session.as_str()],
            |row| row.get(0),
        )
    };
    let chosen = db.query_row(
        "SELECT model, agent, effort, voice, permission_mode FROM sessions WHERE id = ?1",
        [session.as_str()],
        |row| {
            let effort = rows::parsed_if_any(row, "effort")?;
            let voice = rows::parsed_if_any(row, "voice")?;
            let permission_mode = sessions::permission_mode(row)?;
            Ok((row.get("model")?, row.get("agent")?, effort, voice, permission_mode))
        },
    )?;
    let (model, agent, effort, voice, permission_mode) = chosen.unwrap_or_default();
    Ok(SessionStatus {
        mode: sessions::queue_mode(db, session, default_mode)?,
        model,
        effort,
        voice,
        permission_mode,
        agent,
        person: turns::person_of(db, session)?,
        queued: db.query_one(
            "SELECT count(*) FROM inbound WHERE session = ?1 AND state = 'queued' \
                 AND turn IS NULL AND kind = 'text'",
            [session.as_str()],
            |row| row.get(0),
        )?,
        open: open_turn(db, session)?,
        pending: in_outbox(&format!("{OPEN_CHUNK} AND {DELIVERABLE}"))?,
        unconfirmed: in_outbox(
            "state IN ('unconfirmed', 'dead') AND state = 'unconfirmed' AND dropped_at IS NULL",
        )?,
        trust: past::least_trust(db, session)?,
    })
}

fn open_turn(db: Db<'_>, session: &SessionId) -> Result<Option<OpenTurn>> {
    db.query_row(
        &format!(
            "SELECT id, state, started_at, \
                 (SELECT count(*) FROM steps WHERE turn = turns.id) AS steps, \
                 (SELECT kind FROM waits WHERE turn = turns.id AND resolved = 0) AS kind \
             FROM turns WHERE session = ?1 AND {OPEN_TURN}"
        ),
        [session.as_str()],
        |row| {
            let kind: Option<String> = row.get("kind")?;
            Ok(OpenTurn {
                turn: TurnId(row.get("id")?),
                state: turns::turn_state(row)?,
                started_at: Timestamp(row.get("started_at")?),
                steps: row.get("steps")?,
                waits_for: kind.map(|_| rows::wait_kind(row)).transpose()?,
            })
        },
    )
}
