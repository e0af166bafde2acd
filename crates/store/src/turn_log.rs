//! A turn's own log: its steps and calls, and the history that later turns read.

use async_trait::async_trait;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Attachment, ChatAddress, Content, LoggedInbound, SessionId};
use avocet_protocol::ids::{CallId, MessageId, TurnId};
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::store::{CompactedPast, Family, NewStep, Past, StoreError, TurnLog};
use avocet_protocol::tool::{Evidence, LogWrite, ToolClass};
use avocet_protocol::turn::CallResult;
use avocet_text::Redactor;
use rusqlite::params;
use serde_json::Value;

use crate::calls;
use crate::ledger::{cap_figure, unless_ended};
use crate::past;
use crate::past_cache::CachedRead;
use crate::rows::messages::{NEXT, steering_messages};
use crate::rows::turns::{ANCESTORS, OPEN_TURN, RunningTurn, must_run, reset_deaths, running_turn};
use crate::rows::{self, to_json};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl TurnLog for SqliteStore {
    async fn history(&self, session: &SessionId, before: TurnId, budget: usize) -> Result<Past> {
        let (session, cache) = (session.clone(), CachedRead::begin_read(&self.pasts));
        self.read(move |db| past::past_of_session(db, &session, before, budget, &cache)).await
    }

    async fn record_compaction(
        &self,
        session: &SessionId,
        compacted: &CompactedPast,
    ) -> Result<()> {
        let (session, compacted) = (session.clone(), compacted.clone());
        self.write("record-compaction", Durability::Process, move |tx| {
            past::record_compaction(tx, &session, &compacted).map(drop)
        })
        .await
    }

    async fn record_recalled(&self, turn: TurnId, recalled: &[RecalledMemory]) -> Result<()> {
        let recalled = recalled.to_vec();
        self.write("record-recalled", Durability::Process, move |tx| {
            must_run(tx, turn)?;
            let sql = "UPDATE turns SET recalled = ?2 WHERE id = ?1";
            tx.update_one(turn, sql, params![turn.0, to_json(&recalled)?])
        })
        .await
    }

    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()> {
        let step = RedactedStep::new(step.clone(), &self.redactor);
        self.write("record-step", Durability::Process, move |tx| {
            unless_ended(tx, turn, &step.step.spent, |running| {
                record_step(tx, turn, running, &step)
            })
        })
        .await?
    }

    async fn start_call(
        &self,
        call: CallId,
        class: ToolClass,
        evidence: Option<&Evidence>,
    ) -> Result<()> {
        let evidence = evidence.cloned();
        let durability = match class {
            ToolClass::Effect => Durability::Synced,
            ToolClass::Pure | ToolClass::InLog | ToolClass::Verifiable => Durability::Process,
        };
        self.write("start-call", durability, move |tx| {
            calls::start(tx, call, class, evidence.as_ref())
        })
        .await
    }

    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<Option<Vec<LoggedInbound>>> {
        let (result, kept, writes) = (result.clone(), kept.map(str::to_owned), writes.to_vec());
        let default_mode = self.default_mode;
        self.write("finish-call", Durability::Process, move |tx| {
            let running = running_turn(tx, call.turn)?;
            reset_deaths(tx, call.turn, &running)?;
            if let Some(body) = kept {
                calls::keep_result(tx, call, &body)?;
            }
            calls::finish_call(tx, call, &result)?;
            calls::apply_writes(tx, call, &writes)?;
            close_step(tx, call.turn, &running, call.step, default_mode)
        })
        .await
    }

    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
        let default_mode = self.default_mode;
        self.write("close-step", Durability::Process, move |tx| {
            let running = running_turn(tx, turn)?;
            let steered = close_step(tx, turn, &running, step, default_mode)?;
            steered.ok_or_else(|| StoreError::Stale(format!("{turn} step {step}")))
        })
        .await
    }

    async fn set_attachments(
        &self,
        turn: TurnId,
        message: MessageId,
        attachments: &[Attachment],
    ) -> Result<()> {
        let attachments = attachments.to_vec();
        self.write("set-attachments", Durability::Process, move |tx| {
            set_attachments(tx, turn, message, attachments)
        })
        .await
    }

    async fn family(&self, turn: TurnId) -> Result<Family> {
        self.read(move |db| family_of(db, turn)).await
    }

    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
        let chat = chat.clone();
        self.read(move |db| sent_texts(db, turn, &chat)).await
    }
}

/// A step with the arguments of its calls as the log keeps them. Made outside of the transaction,
/// because the search for secrets in long arguments takes time.
struct RedactedStep {
    step: NewStep,
    /// The arguments of each call without secrets; `None` if they have none.
    redacted: Vec<Option<Arguments>>,
}

impl RedactedStep {
    fn new(mut step: NewStep, redactor: &Redactor) -> Self {
        let redact = |call: &ToolCall| {
            let redacted = redact_arguments(&call.arguments, redactor);
            (redacted != call.arguments).then_some(redacted)
        };
        let redacted = step.calls.iter().map(redact).collect();
        step.written = step.written.map(|text| redactor.redact(&text).into_owned());
        Self { step, redacted }
    }
}

fn redact_arguments(arguments: &Arguments, redactor: &Redactor) -> Arguments {
    match arguments {
        Arguments::Object(fields) => {
            let mut value = Value::Object(fields.clone());
            redactor.redact_json(&mut value);
            match value {
                Value::Object(fields) => Arguments::Object(fields),
                other => Arguments::Malformed(other.to_string()),
            }
        }
        Arguments::Malformed(text) => Arguments::Malformed(redactor.redact(text).into_owned()),
    }
}

/// Records a model reply and its planned calls. A call whose arguments have secrets keeps the exact
/// ones until it has a result, so that it can run after a crash.
fn record_step(
    tx: &Tx<'_>,
    turn: TurnId,
    running: &RunningTurn,
    RedactedStep { step, redacted }: &RedactedStep,
) -> Result<()> {
    reset_deaths(tx, turn, running)?;
    tx.insert(
        "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, reasoning, trust, written, ending) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            turn.0,
            step.number,
            step.text,
            cap_figure(step.usage.input),
            cap_figure(step.usage.output),
            step.reasoning.as_ref().map(to_json).transpose()?,
            step.trust.as_str(),
            step.written,
            step.ending.as_str(),
        ],
    )?;
    for (ordinal, (call, redacted)) in step.calls.iter().zip(redacted).enumerate() {
        let exact = to_json(&call.arguments)?;
        let (arguments, exact) = match redacted {
            None => (exact, None),
            Some(redacted) => (to_json(redacted)?, Some(exact)),
        };
        tx.insert(
            "INSERT INTO calls (turn, step, ordinal, name, arguments, state, exact) \
             VALUES (?1, ?2, ?3, ?4, ?5, 'planned', ?6)",
            params![turn.0, step.number, ordinal, call.name, arguments, exact],
        )?;
    }
    Ok(())
}

/// Closes an open step whose calls all have results, and binds steering messages to the turn.
/// Returns `None` if a call has no result, or if the step is closed.
fn close_step(
    tx: &Tx<'_>,
    turn: TurnId,
    running: &RunningTurn,
    step: u32,
    default_mode: QueueMode,
) -> Result<Option<Vec<LoggedInbound>>> {
    let closed = tx.change_rows(
        "UPDATE steps SET closed = 1 WHERE turn = ?1 AND number = ?2 AND closed = 0 AND NOT EXISTS \
             (SELECT 1 FROM calls WHERE turn = ?1 AND step = ?2 AND state <> 'finished')",
        params![turn.0, step],
    )?;
    if closed == 0 {
        return Ok(None);
    }
    if bind_steering_messages(tx, turn, &running.session, step, default_mode)? {
        steering_messages(tx.db, turn, step).map(Some)
    } else {
        Ok(Some(Vec::new()))
    }
}

/// Binds the messages that steer a turn: in the mode *steer*, all that wait in its chat, and in the
/// others the further parts of its messages. Returns `false` if there are none.
fn bind_steering_messages(
    tx: &Tx<'_>,
    turn: TurnId,
    session: &SessionId,
    step: u32,
    default_mode: QueueMode,
) -> Result<bool> {
    let bind = format!(
        "UPDATE inbound SET turn = ?2, after_step = ?3, state = 'running' WHERE {NEXT} \
             AND ((SELECT coalesce(mode, ?4) FROM sessions WHERE id = ?1) = ?5 \
                 OR content ->> 'continues' IN (SELECT key FROM inbound WHERE turn = ?2)) \
             AND (channel, account, chat, coalesce(topic, '')) = \
                 (SELECT channel, account, chat, coalesce(topic, '') FROM inbound \
                  WHERE turn = ?2 AND after_step IS NULL ORDER BY id DESC LIMIT 1)"
    );
    let (default, steer) = (default_mode.as_str(), QueueMode::Steer.as_str());
    let mut steers = false;
    // A part may continue one that has just been bound.
    while tx.change_rows(&bind, params![session.as_str(), turn.0, step, default, steer])? > 0 {
        steers = true;
    }
    Ok(steers)
}

fn set_attachments(
    tx: &Tx<'_>,
    turn: TurnId,
    message: MessageId,
    attachments: Vec<Attachment>,
) -> Result<()> {
    must_run(tx, turn)?;
    let content = tx.db.query_row(
        "SELECT content FROM inbound WHERE id = ?1 AND turn = ?2",
        [message.0, turn.0],
        |row| rows::json_column::<Content>(row, "content"),
    )?;
    let content = content.ok_or_else(|| StoreError::Stale(message.to_string()))?;
    tx.update_one(
        message,
        "UPDATE inbound SET content = ?2 WHERE id = ?1",
        params![message.0, to_json(&Content { attachments, ..content })?],
    )
}

fn family_of(db: Db<'_>, turn: TurnId) -> Result<Family> {
    db.query_one(
        &format!(
            "WITH RECURSIVE {ANCESTORS} SELECT (SELECT count(*) - 1 FROM line) AS depth, \
             (SELECT count(*) FROM turns WHERE parent = ?1 \
                  AND {OPEN_TURN}) AS open"
        ),
        [turn.0],
        |row| Ok(Family { depth: row.get("depth")?, open_children: row.get("open")? }),
    )
}

fn sent_texts(db: Db<'_>, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
    let chunks = db.query_rows(
        "SELECT ordinal, content FROM outbox WHERE turn = ?1 AND source = 'tool' \
             AND channel = ?2 AND account = ?3 AND chat = ?4 AND topic IS ?5 \
         ORDER BY ordinal, chunk",
        params![
            turn.0,
            chat.channel.as_str(),
            chat.account.as_str(),
            chat.chat.as_str(),
            chat.topic.as_ref().map(avocet_protocol::ids::TopicId::as_str),
        ],
        |row| {
            Ok((row.get::<_, i64>("ordinal")?, rows::json_column::<Content>(row, "content")?.text))
        },
    )?;
    let mut texts: Vec<(i64, String)> = Vec::new();
    for (ordinal, text) in chunks {
        match texts.last_mut() {
            Some((last, whole)) if *last == ordinal => whole.push_str(&text),
            _ => texts.push((ordinal, text)),
        }
    }
    Ok(texts.into_iter().map(|(_, text)| text).collect())
}
