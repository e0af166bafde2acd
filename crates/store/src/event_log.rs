//! The event log. Triggers of the schema write its rows; this module reads them together with the
//! rows that they are about.

mod history;
mod traced;

use async_trait::async_trait;
use avocet_protocol::chat::{Content, InboundKind, Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{
    CallId, DeliveryId, MemoryChangeId, MemoryId, MessageId, ScheduleId, SubscriberName, TurnId,
};
use avocet_protocol::model::{Arguments, Money, Usage};
use avocet_protocol::store::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventFilter, EventHistory,
    EventKind, EventLog, EventMemory, EventMessage, EventPage, EventRange, EventSchedule, EventSeq,
    EventTool, EventTurn, EventUsage, LogEvent, Purpose, Subscriber,
};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::TraceSubject;
use rusqlite::{Row, ToSql, params};
use tokio::sync::watch;

use crate::rows::events::{OF_SESSION, newest_event};
use crate::rows::{self, RowResult, messages};
use crate::tx::{Db, Result};
use crate::{Durability, SqliteStore};

/// The most rows that one page looks at, so that a filter without matches ends.
const LOOKED_AT: i64 = 10_000;
/// Bytes of text after which a page ends.
const PAGE_TEXT: usize = 256 * 1024;

#[async_trait]
impl EventLog for SqliteStore {
    async fn event_range(&self) -> Result<EventRange> {
        self.read(|db| {
            db.query_one(
                "SELECT id, (SELECT min(seq) FROM events) AS oldest, \
                     (SELECT id - 1 FROM next_events) AS newest FROM meta",
                (),
                |row| {
                    Ok(EventRange {
                        log: row.get::<_, Option<String>>("id")?.unwrap_or_default(),
                        oldest: row.get::<_, Option<i64>>("oldest")?.map(EventSeq),
                        newest: EventSeq(row.get("newest")?),
                    })
                },
            )
        })
        .await
    }

    async fn events(&self, after: EventSeq, filter: &EventFilter, limit: u32) -> Result<EventPage> {
        let filter = filter.clone();
        self.read(move |db| event_page(db, after, &filter, limit)).await
    }

    async fn traced_events(&self, subject: TraceSubject) -> Result<Vec<LogEvent>> {
        self.read(move |db| traced::traced_events(db, subject)).await
    }

    async fn event_history(&self, event: &LogEvent) -> Result<Option<EventHistory>> {
        let event = event.clone();
        self.read(move |db| history::history_of(db, &event)).await
    }

    fn newest_event(&self) -> watch::Receiver<EventSeq> {
        self.changed.newest_event.subscribe()
    }

    async fn subscribe(&self, name: &SubscriberName, from: Option<EventSeq>) -> Result<EventSeq> {
        let name = name.clone();
        self.write("subscribe", Durability::Process, move |tx| {
            let from = from.map_or_else(|| newest_event(tx.db), Ok)?;
            tx.insert(
                "INSERT INTO subscribers (name, seq, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                params![name.as_str(), from.0, tx.now.0],
            )?;
            tx.db.query_one("SELECT seq FROM subscribers WHERE name = ?1", [name.as_str()], |row| {
                row.get(0).map(EventSeq)
            })
        })
        .await
    }

    async fn confirm_events(&self, name: &SubscriberName, upto: EventSeq) -> Result<()> {
        let name = name.clone();
        self.write("confirm-events", Durability::Process, move |tx| {
            tx.change_rows(
                "UPDATE subscribers SET seq = max(seq, ?2), at = ?3 WHERE name = ?1",
                params![name.as_str(), upto.0, tx.now.0],
            )
            .map(drop)
        })
        .await
    }

    async fn subscribers(&self) -> Result<Vec<Subscriber>> {
        self.read(|db| {
            db.query_rows("SELECT name, seq, at FROM subscribers ORDER BY name", (), |row| {
                Ok(Subscriber {
                    name: rows::parse_column(row, "name")?,
                    seq: EventSeq(row.get("seq")?),
                    at: Timestamp(row.get("at")?),
                })
            })
        })
        .await
    }

    async fn remove_subscriber(&self, name: &SubscriberName) -> Result<bool> {
        let name = name.clone();
        self.write("remove-subscriber", Durability::Process, move |tx| {
            Ok(tx.change_rows("DELETE FROM subscribers WHERE name = ?1", [name.as_str()])? > 0)
        })
        .await
    }
}

/// A row of `events`.
struct EventRow {
    seq: EventSeq,
    at: Timestamp,
    kind: EventKind,
    session: Option<SessionId>,
    turn: Option<TurnId>,
    step: Option<u32>,
    ordinal: Option<u32>,
    /// The id in the table of the kind.
    row: Option<i64>,
}

const EVENTS: &str = "SELECT seq, at, kind, \
    iif(typeof(session) = 'integer', (SELECT id FROM sessions WHERE short_id = session), session) AS session, \
    turn, step, ordinal, row FROM events";

fn event_row(row: &Row<'_>) -> RowResult<EventRow> {
    Ok(EventRow {
        seq: EventSeq(row.get("seq")?),
        at: Timestamp(row.get("at")?),
        kind: rows::word_column(row, "kind", EventKind::ALL, EventKind::as_str)?,
        session: rows::parsed_if_any(row, "session")?,
        turn: row.get::<_, Option<i64>>("turn")?.map(TurnId),
        step: row.get("step")?,
        ordinal: row.get("ordinal")?,
        row: row.get("row")?,
    })
}

fn event_page(db: Db<'_>, after: EventSeq, filter: &EventFilter, limit: u32) -> Result<EventPage> {
    let newest = newest_event(db)?;
    let session = filter.session.as_ref().map(SessionId::as_str);
    // SQLite reads the rows of the range, and no others.
    let last = oldest_behind(db, after)?.map_or(newest.0, |first| first + LOOKED_AT - 1);
    let kinds = kind_condition(&filter.kinds);
    let found = db.query_rows(
        &format!(
            "{EVENTS} WHERE seq > ?1 AND seq <= ?2 AND (?3 IS NULL OR {OF_SESSION}) AND {kinds} \
             ORDER BY seq LIMIT ?4"
        ),
        params![after.0, last, session, limit],
        event_row,
    )?;
    let is_full = found.len() == limit as usize;
    let (mut events, mut text) = (Vec::new(), 0);
    for row in found {
        if text >= PAGE_TEXT {
            let next = events.last().map_or(after, |event: &LogEvent| event.seq);
            return Ok(EventPage { events, next });
        }
        let event = read_event(db, row)?;
        text += event.detail.as_ref().map_or(0, text_bytes);
        events.push(event);
    }
    let next = match events.last() {
        Some(last) if is_full => last.seq,
        _ => EventSeq(last.min(newest.0).max(after.0)),
    };
    Ok(EventPage { events, next })
}

/// Returns the number of the next event behind a position, without conditions.
fn oldest_behind(db: Db<'_>, after: EventSeq) -> Result<Option<i64>> {
    let sql = "SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT 1";
    db.query_row(sql, [after.0], |row| row.get(0))
}

/// Returns SQL for the condition that an event has one of these kinds; true without kinds.
fn kind_condition(kinds: &[EventKind]) -> String {
    if kinds.is_empty() {
        return "true".to_owned();
    }
    let words: Vec<_> = kinds.iter().map(|kind| format!("kind = '{kind}'")).collect();
    format!("({})", words.join(" OR "))
}

/// Returns the bytes of the long texts of an event.
fn text_bytes(detail: &EventDetail) -> usize {
    let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match detail {
        EventDetail::Message(message) => message.text.len() + of(&message.reply),
        EventDetail::TurnInfo(turn) => of(&turn.answer) + of(&turn.notice),
        EventDetail::Answer(answer) => answer.text.len(),
        EventDetail::Tool(tool) => {
            serde_json::to_string(&tool.arguments).map_or(0, |text| text.len())
        }
        EventDetail::Delivery(delivery) => delivery.text.len() + of(&delivery.error),
        EventDetail::Memory(memory) => of(&memory.text),
        EventDetail::Schedule(schedule) => schedule.body.len(),
        EventDetail::Usage(_) | EventDetail::FailedRequest(_) => 0,
    }
}

/// Adds the details to an event.
fn read_event(db: Db<'_>, row: EventRow) -> Result<LogEvent> {
    let detail = event_detail(db, &row)?;
    let EventRow { seq, at, kind, session, turn, step, ordinal, row: _ } = row;
    let call = match (turn, step, ordinal) {
        (Some(turn), Some(step), Some(ordinal)) => Some(CallId { turn, step, ordinal }),
        _ => None,
    };
    Ok(LogEvent { seq, at, kind, session, turn, step, call, detail })
}

fn event_detail(db: Db<'_>, row: &EventRow) -> Result<Option<EventDetail>> {
    let table = row.kind.as_str().split_once('.').map_or("", |(table, _)| table);
    Ok(match (table, row.turn, row.row) {
        ("message", _, Some(id)) => event_message(db, id)?.map(EventDetail::Message),
        ("turn", Some(turn), _) => turn_info(db, turn, row)?.map(EventDetail::TurnInfo),
        ("model", Some(turn), _) => event_answer(db, turn, row.step)?.map(EventDetail::Answer),
        ("usage", _, Some(id)) => event_usage(db, id)?.map(EventDetail::Usage),
        ("request", _, Some(id)) => event_failed_request(db, id)?.map(EventDetail::FailedRequest),
        ("call", Some(turn), _) => event_tool(db, turn, row)?.map(EventDetail::Tool),
        ("delivery", _, Some(id)) => event_delivery(db, id)?.map(EventDetail::Delivery),
        ("memory", _, Some(id)) => event_memory(db, id)?.map(EventDetail::Memory),
        ("schedule", _, Some(id)) => event_schedule(db, id)?.map(EventDetail::Schedule),
        _ => None,
    })
}

fn event_message(db: Db<'_>, id: i64) -> Result<Option<EventMessage>> {
    db.query_row(
        "SELECT id, channel, account, chat, topic, sender, sender_name, kind, content, outcome, reply \
         FROM inbound WHERE id = ?1",
        [id],
        |row| {
            let outcome: Option<String> = row.get("outcome")?;
            Ok(EventMessage {
                id: MessageId(row.get("id")?),
                chat: rows::address_from_row(row)?,
                sender: rows::parse_column(row, "sender")?,
                sender_name: row.get("sender_name")?,
                is_command: messages::kind(row)? == InboundKind::Command,
                text: rows::json_column::<Content>(row, "content")?.as_text(),
                outcome: outcome
                    .map(|_| rows::word_column(row, "outcome", &Outcome::ALL, Outcome::as_str))
                    .transpose()?,
                reply: row.get("reply")?,
            })
        },
    )
}

fn turn_info(db: Db<'_>, turn: TurnId, row: &EventRow) -> Result<Option<EventTurn>> {
    let waits_for = match row.kind {
        EventKind::TurnWaiting => waits_begun_at(db, turn, row.at)?,
        _ => Vec::new(),
    };
    let answer = match row.kind {
        EventKind::TurnDone => last_text(db, turn)?,
        _ => None,
    };
    let sql = "SELECT parent, label, notice, failure FROM turns WHERE id = ?1";
    db.query_row(sql, [turn.0], |row| {
        Ok(EventTurn {
            parent: row.get::<_, Option<i64>>("parent")?.map(TurnId),
            label: row.get("label")?,
            waits_for,
            answer,
            notice: row.get("notice")?,
            failure: rows::json_if_any(row, "failure")?,
        })
    })
}

/// Returns the kinds of the waits that a transaction has begun.
fn waits_begun_at(db: Db<'_>, turn: TurnId, at: Timestamp) -> Result<Vec<WaitKind>> {
    let sql = "SELECT DISTINCT kind FROM waits WHERE turn = ?1 AND asked_at = ?2 ORDER BY kind";
    db.query_rows(sql, [turn.0, at.0], rows::wait_kind)
}

/// Returns the text of the last step of a turn.
fn last_text(db: Db<'_>, turn: TurnId) -> Result<Option<String>> {
    let sql = "SELECT text FROM steps WHERE turn = ?1 ORDER BY number DESC LIMIT 1";
    db.query_row(sql, [turn.0], |row| row.get(0))
}

fn event_answer(db: Db<'_>, turn: TurnId, step: Option<u32>) -> Result<Option<EventAnswer>> {
    let of_step: [&dyn ToSql; 2] = [&turn.0, &step];
    let calls = db.query_rows(
        "SELECT name FROM calls WHERE turn = ?1 AND step = ?2 ORDER BY ordinal",
        &of_step[..],
        |row| row.get(0),
    )?;
    db.query_row(
        "SELECT text, input_tokens, output_tokens FROM steps WHERE turn = ?1 AND number = ?2",
        &of_step[..],
        |row| {
            Ok(EventAnswer {
                text: row.get("text")?,
                input_tokens: row.get("input_tokens")?,
                output_tokens: row.get("output_tokens")?,
                calls,
            })
        },
    )
}

fn event_usage(db: Db<'_>, id: i64) -> Result<Option<EventUsage>> {
    db.query_row(
        "SELECT model, purpose, input, cached, cache_written, output, cost FROM usage WHERE id = ?1",
        [id],
        |row| {
            Ok(EventUsage {
                model: row.get("model")?,
                purpose: rows::word_column(row, "purpose", &Purpose::ALL, Purpose::as_str)?,
                usage: Usage {
                    input: row.get("input")?,
                    output: row.get("output")?,
                    cached: row.get("cached")?,
                    cache_written: row.get("cache_written")?,
                },
                cost: row.get::<_, Option<u64>>("cost")?.map(Money),
            })
        },
    )
}

fn event_failed_request(db: Db<'_>, id: i64) -> Result<Option<EventFailedRequest>> {
    db.query_row(
        "SELECT began_at, ended_at, purpose, failure FROM failed_requests WHERE id = ?1",
        [id],
        |row| {
            Ok(EventFailedRequest {
                began: Timestamp(row.get("began_at")?),
                ended: Timestamp(row.get("ended_at")?),
                purpose: rows::word_column(row, "purpose", &Purpose::ALL, Purpose::as_str)?,
                failure: rows::json_column(row, "failure")?,
            })
        },
    )
}

fn event_tool(db: Db<'_>, turn: TurnId, row: &EventRow) -> Result<Option<EventTool>> {
    db.query_row(
        "SELECT name, arguments, ok, octet_length(result) AS result_bytes, \
             iif(result_kind = 'refused', result ->> '$.error', NULL) AS refusal FROM calls \
         WHERE turn = ?1 AND step = ?2 AND ordinal = ?3",
        params![turn.0, row.step, row.ordinal],
        |row| {
            Ok(EventTool {
                name: row.get("name")?,
                arguments: rows::json_column::<Arguments>(row, "arguments")?.to_object(),
                ok: row.get("ok")?,
                result_bytes: row.get("result_bytes")?,
                refusal: row.get("refusal")?,
            })
        },
    )
}

fn event_delivery(db: Db<'_>, id: i64) -> Result<Option<EventDelivery>> {
    db.query_row(
        "SELECT id, channel, account, chat, topic, source, chunk, content, attempts, repeat, \
             platform_id, error FROM outbox WHERE id = ?1",
        [id],
        |row| {
            let content: Content = rows::json_column(row, "content")?;
            Ok(EventDelivery {
                id: DeliveryId(row.get("id")?),
                chat: rows::address_from_row(row)?,
                source: row.get("source")?,
                part: row.get("chunk")?,
                text: content.as_text(),
                choices: content.choices,
                attempts: row.get("attempts")?,
                repeat: row.get("repeat")?,
                platform_id: rows::parsed_if_any(row, "platform_id")?,
                error: row.get("error")?,
            })
        },
    )
}

fn event_memory(db: Db<'_>, id: i64) -> Result<Option<EventMemory>> {
    db.query_row(
        "SELECT memory_changes.id AS id, memory, text_after, scope \
         FROM memory_changes JOIN memories ON memories.id = memory WHERE memory_changes.id = ?1",
        [id],
        |row| {
            Ok(EventMemory {
                id: MemoryId(row.get("memory")?),
                change: MemoryChangeId(row.get("id")?),
                scope: row.get("scope")?,
                text: row.get("text_after")?,
            })
        },
    )
}

fn event_schedule(db: Db<'_>, id: i64) -> Result<Option<EventSchedule>> {
    db.query_row(
        "SELECT id, channel, account, chat, topic, body, next_at FROM schedules WHERE id = ?1",
        [id],
        |row| {
            Ok(EventSchedule {
                id: ScheduleId(row.get("id")?),
                chat: rows::address_from_row(row)?,
                body: row.get("body")?,
                next_at: row.get::<_, Option<i64>>("next_at")?.map(Timestamp),
            })
        },
    )
}
