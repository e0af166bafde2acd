//! A turn's own log: its steps and calls, and the history that later turns read.

use async_trait::async_trait;
use avocet_protocol::{
    Attachment, CallId, CallResult, ChatAddress, Condensed, Content, Evidence, KeptResult,
    KeptResults, LogWrite, LoggedInbound, MessageId, NewStep, Past, QueueMode, SessionId,
    StoreError, ToolClass, TurnId, TurnLog,
};
use rusqlite::params;

use crate::audit;
use crate::inbox::use_session;
use crate::ledger::credible;
use crate::outbox::{OutboxSource, insert_planned};
use crate::past;
use crate::rows::{self, to_json};
use crate::turns::{ChildTask, NEXT, insert_turn};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl TurnLog for SqliteStore {
    async fn history(&self, session: &SessionId, before: TurnId, budget: usize) -> Result<Past> {
        let session = session.clone();
        self.read(move |db| past::past(db, &session, before, budget)).await
    }

    async fn condense(&self, session: &SessionId, condensed: &Condensed) -> Result<()> {
        let (session, condensed) = (session.clone(), condensed.clone());
        self.write("condense", Durability::Process, move |tx| {
            past::condense(tx, &session, &condensed).map(drop)
        })
        .await
    }

    async fn record_step(&self, turn: TurnId, step: &NewStep) -> Result<()> {
        let step = step.clone();
        self.write("record-step", Durability::Process, move |tx| record_step(tx, turn, &step)).await
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
            must_run(tx, call.turn)?;
            tx.update_one(
                call,
                "UPDATE calls SET state = 'started', class = ?4, evidence = ?5 \
                 WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 \
                     AND state IN ('planned', 'interrupted')",
                params![
                    call.turn.0,
                    call.step,
                    call.ordinal,
                    rows::class_word(class),
                    evidence.as_ref().map(to_json).transpose()?,
                ],
            )?;
            audit::started(tx, call, class)
        })
        .await
    }

    async fn finish_call(
        &self,
        call: CallId,
        result: &CallResult,
        kept: Option<&str>,
        writes: &[LogWrite],
    ) -> Result<()> {
        let (result, kept, writes) = (result.clone(), kept.map(str::to_owned), writes.to_vec());
        self.write("finish-call", Durability::Process, move |tx| {
            come_further(tx, call.turn)?;
            if let Some(body) = kept {
                keep_result(tx, call, &body)?;
            }
            finish(tx, call, &result)?;
            apply_writes(tx, call, &writes).map(|_| ())
        })
        .await
    }

    async fn close_step(&self, turn: TurnId, step: u32) -> Result<Vec<LoggedInbound>> {
        let default_mode = self.default_mode;
        self.write("close-step", Durability::Process, move |tx| {
            close_step(tx, turn, step, default_mode)
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

    async fn sent_texts(&self, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
        let chat = chat.clone();
        self.read(move |db| sent_texts(db, turn, &chat)).await
    }
}

#[async_trait]
impl KeptResults for SqliteStore {
    async fn kept_result(&self, session: &SessionId, handle: &str) -> Result<Option<KeptResult>> {
        let (session, handle) = (session.clone(), handle.to_owned());
        self.read(move |db| kept_result(db, &session, &handle)).await
    }
}

/// Returns the full result of a call, also if the model got a cut one.
fn kept_result(db: Db<'_>, session: &SessionId, handle: &str) -> Result<Option<KeptResult>> {
    let Ok(call) = handle.parse::<CallId>() else { return Ok(None) };
    db.row(
        "SELECT trust, coalesce((SELECT body FROM kept_results WHERE handle = ?5), result) AS body \
         FROM calls WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 \
             AND result IS NOT NULL AND (SELECT session FROM turns WHERE id = ?1) = ?4",
        params![call.turn.0, call.step, call.ordinal, session.as_str(), call.to_string()],
        |row| Ok(KeptResult { body: row.get("body")?, trust: rows::trust(row, "trust")? }),
    )
}

/// Fails with [`StoreError::Stale`] unless the turn is running.
pub(crate) fn must_run(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    running(tx, turn).map(drop)
}

/// Returns the number of process deaths during this turn since its last progress.
fn running(tx: &Tx<'_>, turn: TurnId) -> Result<u32> {
    let sql = "SELECT attempts FROM turns WHERE id = ?1 AND state = 'running'";
    let deaths = tx.db.row(sql, [turn.0], |row| row.get(0))?;
    deaths.ok_or_else(|| StoreError::Stale(turn.to_string()))
}

/// Checks like [`must_run`], and resets the deaths because the turn makes progress. A turn that
/// kills the process fails at the same place each time and gets no further.
fn come_further(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    let deaths = running(tx, turn)?;
    if deaths > 0 {
        tx.update("UPDATE turns SET attempts = 0, deaths_alone = 0 WHERE id = ?1", [turn.0])?;
    }
    Ok(())
}

/// Records a model reply and its planned calls.
fn record_step(tx: &Tx<'_>, turn: TurnId, step: &NewStep) -> Result<()> {
    come_further(tx, turn)?;
    tx.insert(
        "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, reasoning, trust, written) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            turn.0,
            step.number,
            step.text,
            credible(step.usage.input),
            credible(step.usage.output),
            step.reasoning.as_ref().map(to_json).transpose()?,
            step.trust.word(),
            step.written,
        ],
    )?;
    for (ordinal, call) in step.calls.iter().enumerate() {
        tx.insert(
            "INSERT INTO calls (turn, step, ordinal, name, arguments, state) \
             VALUES (?1, ?2, ?3, ?4, ?5, 'planned')",
            params![turn.0, step.number, ordinal, call.name, to_json(&call.arguments)?],
        )?;
    }
    Ok(())
}

/// Records the result of a call.
pub(crate) fn finish(tx: &Tx<'_>, call: CallId, result: &CallResult) -> Result<()> {
    audit::finished(tx, call, result)?;
    tx.update_one(
        call,
        "UPDATE calls SET state = 'finished', ok = ?4, result = ?5, trust = ?6 \
         WHERE turn = ?1 AND step = ?2 AND ordinal = ?3 AND state <> 'finished'",
        params![
            call.turn.0,
            call.step,
            call.ordinal,
            result.ok,
            to_json(&result.value)?,
            result.trust.word(),
        ],
    )
}

fn keep_result(tx: &Tx<'_>, call: CallId, body: &str) -> Result<()> {
    tx.insert(
        "INSERT INTO kept_results (handle, session, body) \
         SELECT ?1, session, ?2 FROM turns WHERE id = ?3",
        params![call.to_string(), body, call.turn.0],
    )?;
    Ok(())
}

/// Trust level of the request that led to the call of turn ?2, step ?3.
const REQUEST_TRUST: &str = "(SELECT trust FROM steps WHERE turn = ?2 AND number = ?3)";

/// Applies the log writes of a tool. Returns the child turn if the tool spawned one.
pub(crate) fn apply_writes(
    tx: &Tx<'_>,
    call: CallId,
    writes: &[LogWrite],
) -> Result<Option<TurnId>> {
    let mut child = None;
    for write in writes {
        match write {
            LogWrite::Message(planned) => {
                insert_planned(tx, planned, Some(call.turn), OutboxSource::Tool)?;
            }
            LogWrite::Note { text } => {
                tx.insert(
                    &format!(
                        "INSERT INTO notes (text, turn, written_at, trust) \
                         VALUES (?1, ?2, ?4, {REQUEST_TRUST})"
                    ),
                    params![text, call.turn.0, call.step, tx.now.0],
                )?;
            }
            LogWrite::Spawn { prompt } => child = Some(spawn(tx, call, prompt)?),
        }
    }
    Ok(child)
}

fn spawn(tx: &Tx<'_>, call: CallId, prompt: &str) -> Result<TurnId> {
    let session = SessionId::of_child(call);
    use_session(tx, &session)?;
    tx.update(
        "UPDATE sessions SET model = (SELECT model FROM sessions AS parent \
             WHERE parent.id = (SELECT session FROM turns WHERE id = ?2)) WHERE id = ?1",
        params![session.as_str(), call.turn.0],
    )?;
    let child =
        insert_turn(tx, &session, "queued", Some(&ChildTask { parent: call.turn, prompt }))?;
    tx.update(
        &format!("UPDATE turns SET prompt_trust = {REQUEST_TRUST} WHERE id = ?1"),
        params![child.0, call.turn.0, call.step],
    )?;
    Ok(child)
}

/// Closes a step whose calls all have results, and binds steering messages to the turn.
fn close_step(
    tx: &Tx<'_>,
    turn: TurnId,
    step: u32,
    default_mode: QueueMode,
) -> Result<Vec<LoggedInbound>> {
    must_run(tx, turn)?;
    tx.update_one(
        format_args!("{turn} step {step}"),
        "UPDATE steps SET closed = 1 WHERE turn = ?1 AND number = ?2 AND NOT EXISTS \
             (SELECT 1 FROM calls WHERE turn = ?1 AND step = ?2 AND state <> 'finished')",
        params![turn.0, step],
    )?;
    let session: SessionId =
        tx.db.one("SELECT session FROM turns WHERE id = ?1", [turn.0], |row| {
            rows::parsed(row, "session")
        })?;
    if rows::mode(tx.db, &session, default_mode)? == QueueMode::Steer {
        tx.update(
            &format!(
                "UPDATE inbound SET turn = ?2, after_step = ?3, state = 'running' WHERE {NEXT} \
                     AND (channel, account, chat, coalesce(topic, '')) = \
                         (SELECT channel, account, chat, coalesce(topic, '') FROM inbound \
                          WHERE turn = ?2 AND after_step IS NULL ORDER BY id DESC LIMIT 1)"
            ),
            params![session.as_str(), turn.0, step],
        )?;
    }
    rows::steered(tx.db, turn, step)
}

fn set_attachments(
    tx: &Tx<'_>,
    turn: TurnId,
    message: MessageId,
    attachments: Vec<Attachment>,
) -> Result<()> {
    must_run(tx, turn)?;
    let content = tx.db.row(
        "SELECT content FROM inbound WHERE id = ?1 AND turn = ?2",
        [message.0, turn.0],
        |row| rows::json::<Content>(row, "content"),
    )?;
    let content = content.ok_or_else(|| StoreError::Stale(message.to_string()))?;
    tx.update_one(
        message,
        "UPDATE inbound SET content = ?2 WHERE id = ?1",
        params![message.0, to_json(&Content { attachments, ..content })?],
    )
}

fn sent_texts(db: Db<'_>, turn: TurnId, chat: &ChatAddress) -> Result<Vec<String>> {
    let chunks = db.rows(
        "SELECT ordinal, content FROM outbox WHERE turn = ?1 AND source = 'tool' \
             AND channel = ?2 AND account = ?3 AND chat = ?4 AND topic IS ?5 \
         ORDER BY ordinal, chunk",
        params![
            turn.0,
            chat.channel.as_str(),
            chat.account.as_str(),
            chat.chat.as_str(),
            chat.topic.as_ref().map(avocet_protocol::TopicId::as_str),
        ],
        |row| Ok((row.get::<_, i64>("ordinal")?, rows::json::<Content>(row, "content")?.text)),
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
