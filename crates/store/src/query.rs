//! Read-only views: counts, sessions, transcripts, the outcome of a message.

use async_trait::async_trait;
use avocet_protocol::{
    Ignored, LogStatus, MessageId, MessageStatus, OpenApproval, OpenTurn, Outcome, Query,
    QueueMode, SessionId, SessionStatus, SessionSummary, Timestamp, TurnId, TurnRecord, TurnState,
    UsageBy, UsageRow,
};
use rusqlite::params;

use crate::past;
use crate::rows;
use crate::tx::{Db, Result};
use crate::waits;
use crate::{SqliteStore, ledger};

#[async_trait]
impl Query for SqliteStore {
    async fn log_status(&self) -> Result<LogStatus> {
        self.read(log_status).await
    }

    async fn sessions(&self, limit: u32) -> Result<Vec<SessionSummary>> {
        self.read(move |db| {
            db.rows(
                "SELECT id, used_at, (SELECT count(*) FROM turns WHERE session = sessions.id) \
                     AS turns, (SELECT state FROM turns WHERE session = sessions.id \
                         AND state IN ('queued', 'running', 'waiting')) AS open \
                 FROM sessions ORDER BY used_at DESC, id LIMIT ?1",
                [limit],
                |row| {
                    let open: Option<String> = row.get("open")?;
                    Ok(SessionSummary {
                        session: rows::parsed(row, "id")?,
                        turns: row.get("turns")?,
                        used_at: Timestamp(row.get("used_at")?),
                        open: open
                            .map(|_| rows::word(row, "open", &TurnState::ALL, TurnState::word))
                            .transpose()?,
                    })
                },
            )
        })
        .await
    }

    async fn open_approvals(&self) -> Result<Vec<OpenApproval>> {
        self.read(waits::open_approvals).await
    }

    async fn transcript(&self, session: &SessionId, turns: u32) -> Result<Vec<TurnRecord>> {
        let session = session.clone();
        self.read(move |db| {
            let mut ids = db.rows(
                "SELECT id FROM turns WHERE session = ?1 ORDER BY id DESC LIMIT ?2",
                params![session.as_str(), turns],
                |row| row.get(0).map(TurnId),
            )?;
            ids.reverse();
            ids.into_iter().map(|id| rows::turn(db, id)).collect()
        })
        .await
    }

    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>> {
        self.read(move |db| message(db, id)).await
    }

    async fn session_status(&self, session: &SessionId) -> Result<SessionStatus> {
        let (session, default_mode) = (session.clone(), self.default_mode);
        self.read(move |db| session_status(db, &session, default_mode)).await
    }

    async fn usage(&self, by: UsageBy, since: Timestamp) -> Result<Vec<UsageRow>> {
        self.read(move |db| ledger::usage(db, by, since)).await
    }
}

fn log_status(db: Db<'_>) -> Result<LogStatus> {
    let ignored = db.rows(
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
    db.one(
        "SELECT (SELECT epoch FROM meta) AS epoch, \
             (SELECT count(*) FROM sessions) AS sessions, \
             (SELECT count(*) FROM inbound) AS messages, \
             (SELECT count(*) FROM inbound WHERE state = 'queued' AND turn IS NULL) AS queued, \
             (SELECT count(*) FROM turns WHERE state IN ('queued', 'running', 'waiting') \
                 AND state = 'running') AS running, \
             (SELECT count(*) FROM turns WHERE state IN ('queued', 'running', 'waiting') \
                 AND state = 'waiting') AS waiting, \
             (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending', 'unknown') \
                 AND source <> 'preview') AS pending, \
             (SELECT count(*) FROM outbox WHERE state IN ('unconfirmed', 'dead') \
                 AND state = 'unconfirmed') AS unconfirmed, \
             (SELECT count(*) FROM outbox WHERE state IN ('unconfirmed', 'dead') \
                 AND state = 'dead') AS dead",
        (),
        |row| {
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
            })
        },
    )
}

fn message(db: Db<'_>, id: MessageId) -> Result<Option<MessageStatus>> {
    db.row(
        "SELECT inbound.session, inbound.turn, inbound.outcome, coalesce(inbound.reply, turns.notice, \
             (SELECT text FROM steps WHERE turn = turns.id AND NOT EXISTS \
                 (SELECT 1 FROM calls WHERE turn = turns.id AND step = steps.number) \
              ORDER BY number DESC LIMIT 1)) AS reply \
         FROM inbound LEFT JOIN turns ON turns.id = inbound.turn \
             AND turns.state IN ('done', 'cancelled', 'failed') \
         WHERE inbound.id = ?1",
        [id.0],
        |row| {
            let outcome: Option<String> = row.get("outcome")?;
            Ok(MessageStatus {
                id,
                session: rows::parsed(row, "session")?,
                turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
                outcome: outcome
                    .map(|_| rows::word(row, "outcome", &Outcome::ALL, Outcome::word))
                    .transpose()?,
                reply: row.get("reply")?,
            })
        },
    )
}

fn session_status(
    db: Db<'_>,
    session: &SessionId,
    default_mode: QueueMode,
) -> Result<SessionStatus> {
    let chat = session.address();
    let in_outbox = |which: &str| {
        db.one(
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
    Ok(SessionStatus {
        mode: rows::mode(db, session, default_mode)?,
        model: db
            .row("SELECT model FROM sessions WHERE id = ?1", [session.as_str()], |row| row.get(0))?
            .flatten(),
        queued: db.one(
            "SELECT count(*) FROM inbound WHERE session = ?1 AND state = 'queued' \
                 AND turn IS NULL AND kind = 'text'",
            [session.as_str()],
            |row| row.get(0),
        )?,
        open: open_turn(db, session)?,
        pending: in_outbox("state IN ('pending', 'sending', 'unknown') AND source <> 'preview'")?,
        unconfirmed: in_outbox("state IN ('unconfirmed', 'dead') AND state = 'unconfirmed'")?,
        trust: past::least_trust(db, session)?,
    })
}

fn open_turn(db: Db<'_>, session: &SessionId) -> Result<Option<OpenTurn>> {
    db.row(
        "SELECT id, state, started_at, (SELECT count(*) FROM steps WHERE turn = turns.id) AS steps, \
             (SELECT kind FROM waits WHERE turn = turns.id AND resolved = 0) AS kind \
         FROM turns WHERE session = ?1 AND state IN ('queued', 'running', 'waiting')",
        [session.as_str()],
        |row| {
            let kind: Option<String> = row.get("kind")?;
            Ok(OpenTurn {
                turn: TurnId(row.get("id")?),
                state: rows::state(row)?,
                started_at: Timestamp(row.get("started_at")?),
                steps: row.get("steps")?,
                waits_for: kind.map(|_| rows::wait_kind(row)).transpose()?,
            })
        },
    )
}
