//! The audit chain: rows that are appended in the transaction of what they are about, and the check that
//! finds what was done to them afterwards.

use async_trait::async_trait;
use avocet_protocol::{
    Actor, Arguments, Audit, AuditCheck, AuditFault, AuditFilter, AuditHead, AuditKind, AuditRow,
    CallId, CallResult, ChatLink, CommandAction, CommandEffect, Decision, MessageId, PersonId,
    Resolution, Role, SessionId, SettledPairing, Timestamp, ToolClass, TurnId, WaitId, WaitKind,
};
use rusqlite::{Row, params};
use sha2::{Digest, Sha256};

use crate::rows;
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

/// Rows that are checked at once, so that no reader is held up for long.
const PAGE: usize = 1000;
/// What the first row follows.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[async_trait]
impl Audit for SqliteStore {
    async fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>> {
        let filter = filter.clone();
        self.read(move |db| list(db, &filter)).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>> {
        self.read(head).await
    }

    async fn durable_audit_head(&self) -> Result<Option<AuditHead>> {
        self.write("audit-head", Durability::Synced, |tx| {
            // Without a change there is nothing to be synced, nor what was written before.
            tx.update("UPDATE meta SET epoch = epoch WHERE only = 1", ())?;
            head(tx.db)
        })
        .await
    }

    async fn check_audit(&self, noted: Option<&AuditHead>) -> Result<AuditCheck> {
        let mut walk = Walk::new(noted.cloned());
        loop {
            let next = walk.next;
            let (page, counted) = self.read(move |db| page(db, next)).await?;
            let is_last = page.len() < PAGE;
            if let Err(fault) = walk.through(&page, is_last.then_some(counted)) {
                return Ok(AuditCheck { rows: walk.rows, head: None, fault: Some(fault) });
            }
            if is_last {
                return Ok(AuditCheck { rows: walk.rows, head: walk.last, fault: None });
            }
        }
    }
}

/// A row to be.
struct Entry<'e> {
    kind: AuditKind,
    session: Option<SessionId>,
    call: Option<CallId>,
    actor: &'e Actor,
    tool: Option<String>,
    /// What the digest is of, and the summary.
    arguments: Option<String>,
    /// In place of the arguments.
    summary: String,
    outcome: Option<&'static str>,
}

impl<'e> Entry<'e> {
    fn new(kind: AuditKind, actor: &'e Actor) -> Self {
        let (session, call, tool, arguments) = (None, None, None, None);
        Self { kind, session, call, actor, tool, arguments, summary: String::new(), outcome: None }
    }

    fn about(self, called: Called) -> Self {
        let Called { call, session, tool, arguments, .. } = called;
        let (call, session) = (Some(call), Some(session));
        Self { call, session, tool: Some(tool), arguments: Some(arguments), ..self }
    }
}

/// A call, as far as a row is about it.
struct Called {
    call: CallId,
    session: SessionId,
    tool: String,
    arguments: String,
    state: String,
    /// Whether it was started, and does more than read.
    has_effect: bool,
}

/// T2.
pub(crate) fn started(tx: &Tx<'_>, call: CallId, class: ToolClass) -> Result<()> {
    match class {
        ToolClass::Pure => Ok(()),
        ToolClass::InLog | ToolClass::Verifiable | ToolClass::Effect => {
            append(tx, Entry::new(AuditKind::Started, &Actor::Process).about(called(tx, call)?))
        }
    }
}

/// T3, and every other way to a result. Comes before the call is finished.
pub(crate) fn finished(tx: &Tx<'_>, call: CallId, result: &CallResult) -> Result<()> {
    let called = called(tx, call)?;
    let (kind, outcome) = if is_refusal(result) && called.state != "waiting" {
        (AuditKind::Refused, None)
    } else if called.has_effect {
        (AuditKind::Finished, Some(if result.ok { "ok" } else { "error" }))
    } else {
        return Ok(());
    };
    append(tx, Entry { outcome, ..Entry::new(kind, &Actor::Process).about(called) })
}

/// [`avocet_protocol::ToolError::PermissionDenied`], as the model reads it.
fn is_refusal(result: &CallResult) -> bool {
    let error = result.value.get("error").and_then(|error| error.as_str());
    !result.ok && error.is_some_and(|error| error.starts_with("permission denied"))
}

/// What the end of a turn does to its calls. Comes before they are finished.
pub(crate) fn cancelled(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    for called in open_calls(tx, turn)? {
        let kind = match called.state.as_str() {
            _ if called.has_effect => AuditKind::Finished,
            "waiting" => AuditKind::Denied,
            _ => continue,
        };
        let entry = Entry::new(kind, &Actor::Process).about(called);
        append(tx, Entry { outcome: Some("cancelled"), ..entry })?;
    }
    Ok(())
}

/// A crash, or a stop, under running calls. Comes before they change their state.
pub(crate) fn interrupted(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    for called in open_calls(tx, turn)? {
        if called.state == "started" && called.has_effect {
            append(tx, Entry::new(AuditKind::Interrupted, &Actor::Process).about(called))?;
        }
    }
    Ok(())
}

/// A turn begins to wait.
pub(crate) fn asked(tx: &Tx<'_>, call: CallId, kind: WaitKind) -> Result<()> {
    match kind {
        WaitKind::Approval => {
            append(tx, Entry::new(AuditKind::Asked, &Actor::Process).about(called(tx, call)?))
        }
        WaitKind::Answer | WaitKind::Child | WaitKind::Choice => Ok(()),
    }
}

/// A person has decided about a call that waits, in a chat. Comes before the wait is resolved.
pub(crate) fn chosen(
    tx: &Tx<'_>,
    command: MessageId,
    wait: WaitId,
    resolution: &Resolution,
) -> Result<()> {
    match decided_wait(tx, wait)? {
        Some(waits) => decision(tx, &waits, resolution, &Actor::Person(author(tx, command)?)),
        None => Ok(()),
    }
}

/// Somebody has decided about a call that waits, from the command line; or nobody has in time. Comes
/// before the wait is resolved.
pub(crate) fn resolved(tx: &Tx<'_>, wait: WaitId, resolution: &Resolution) -> Result<()> {
    let Some(waits) = decided_wait(tx, wait)? else { return Ok(()) };
    if waits.expires_at <= tx.now && matches!(resolution, Resolution::Error(_)) {
        let expired = Entry::new(AuditKind::Expired, &Actor::Process);
        return append(tx, expired.about(called(tx, waits.call)?));
    }
    decision(tx, &waits, resolution, &Actor::Host)
}

fn decision(
    tx: &Tx<'_>,
    waits: &DecidedWait,
    resolution: &Resolution,
    actor: &Actor,
) -> Result<()> {
    let (kind, outcome) = match (waits.kind, resolution) {
        (WaitKind::Choice, Resolution::Run) => (AuditKind::Chosen, Some("retry")),
        (WaitKind::Choice, _) => (AuditKind::Chosen, Some("skip")),
        (_, Resolution::Run) => (AuditKind::Allowed, None),
        (_, Resolution::RunAlways) => (AuditKind::Allowed, Some("for the session")),
        (_, Resolution::Answer { .. } | Resolution::Error(_)) => (AuditKind::Denied, None),
    };
    append(tx, Entry { outcome, ..Entry::new(kind, actor).about(called(tx, waits.call)?) })
}

/// A command of the chat has acted.
pub(crate) fn commanded(
    tx: &Tx<'_>,
    command: MessageId,
    action: &CommandAction,
    effect: &CommandEffect,
) -> Result<()> {
    if *effect != CommandEffect::Done {
        return Ok(());
    }
    let by = || author(tx, command).map(Actor::Person);
    match action {
        CommandAction::Decide(settled) => decided(tx, settled, &by()?),
        CommandAction::Link(link) => linked(tx, link, &by()?),
        CommandAction::Unlink(chat) => unlinked(tx, &chat.to_string(), &by()?),
        CommandAction::Believe => believed(tx, command, &by()?),
        _ => Ok(()),
    }
}

/// What a session has read is believed.
fn believed(tx: &Tx<'_>, command: MessageId, actor: &Actor) -> Result<()> {
    let session = tx.db.one("SELECT session FROM inbound WHERE id = ?1", [command.0], |row| {
        rows::parsed(row, "session")
    })?;
    append(tx, Entry { session: Some(session), ..Entry::new(AuditKind::Trusted, actor) })
}

/// A stranger's code was decided about.
pub(crate) fn decided(tx: &Tx<'_>, settled: &SettledPairing, actor: &Actor) -> Result<()> {
    let who: String = tx.db.one(
        "SELECT channel || ':' || account || ':' || sender FROM pairings WHERE code = ?1",
        [settled.code.as_str()],
        |row| row.get(0),
    )?;
    let (kind, outcome) = match settled.decision {
        Decision::Approved(role) => (AuditKind::LetIn, Some(Role::word(role))),
        Decision::Denied => (AuditKind::TurnedAway, None),
    };
    append(tx, Entry { summary: who, outcome, ..Entry::new(kind, actor) })
}

/// Somebody was struck off, from the command line.
pub(crate) fn struck_off(tx: &Tx<'_>, person: &PersonId) -> Result<()> {
    let entry = Entry::new(AuditKind::StruckOff, &Actor::Host);
    append(tx, Entry { summary: person.to_string(), ..entry })
}

/// A chat was linked.
pub(crate) fn linked(tx: &Tx<'_>, link: &ChatLink, actor: &Actor) -> Result<()> {
    let summary = link.chat.to_string();
    let session = Some(link.session.clone());
    append(tx, Entry { summary, session, ..Entry::new(AuditKind::Linked, actor) })
}

/// A chat has its own session again.
pub(crate) fn unlinked(tx: &Tx<'_>, chat: &str, actor: &Actor) -> Result<()> {
    append(tx, Entry { summary: chat.to_owned(), ..Entry::new(AuditKind::Unlinked, actor) })
}

const CALLED: &str = "SELECT calls.turn, step, ordinal, turns.session, name, arguments, calls.state, \
    coalesce(class, 'pure') <> 'pure' AS has_effect FROM calls JOIN turns ON turns.id = calls.turn";

fn called(tx: &Tx<'_>, call: CallId) -> Result<Called> {
    tx.db.one(
        &format!("{CALLED} WHERE calls.turn = ?1 AND step = ?2 AND ordinal = ?3"),
        params![call.turn.0, call.step, call.ordinal],
        read_called,
    )
}

fn open_calls(tx: &Tx<'_>, turn: TurnId) -> Result<Vec<Called>> {
    tx.db.rows(
        &format!(
            "{CALLED} WHERE calls.turn = ?1 AND calls.state IN ('started', 'interrupted', 'waiting') \
             ORDER BY step, ordinal"
        ),
        [turn.0],
        read_called,
    )
}

fn read_called(row: &Row<'_>) -> rusqlite::Result<Called> {
    let turn = TurnId(row.get("turn")?);
    Ok(Called {
        call: CallId { turn, step: row.get("step")?, ordinal: row.get("ordinal")? },
        session: rows::parsed(row, "session")?,
        tool: row.get("name")?,
        arguments: exact(rows::json(row, "arguments")?),
        state: row.get("state")?,
        has_effect: row.get("has_effect")?,
    })
}

/// Arguments as the model wrote them, an object in the order of its keys.
fn exact(arguments: Arguments) -> String {
    match arguments {
        Arguments::Object(map) => serde_json::Value::Object(map).to_string(),
        Arguments::Malformed(text) => text,
    }
}

/// A wait about which a person is to decide.
struct DecidedWait {
    kind: WaitKind,
    call: CallId,
    expires_at: Timestamp,
}

/// The wait, as long as it is open.
fn decided_wait(tx: &Tx<'_>, wait: WaitId) -> Result<Option<DecidedWait>> {
    tx.db.row(
        "SELECT turn, step, ordinal, kind, expires_at FROM waits \
         WHERE id = ?1 AND resolved = 0 AND kind IN ('approval', 'choice')",
        [wait.0],
        |row| {
            let turn = TurnId(row.get("turn")?);
            let call = CallId { turn, step: row.get("step")?, ordinal: row.get("ordinal")? };
            let expires_at = Timestamp(row.get("expires_at")?);
            Ok(DecidedWait { kind: rows::wait_kind(row)?, call, expires_at })
        },
    )
}

fn author(tx: &Tx<'_>, command: MessageId) -> Result<PersonId> {
    tx.db.one("SELECT channel, account, sender FROM inbound WHERE id = ?1", [command.0], |row| {
        Ok(PersonId {
            channel: rows::parsed(row, "channel")?,
            account: rows::parsed(row, "account")?,
            sender: rows::parsed(row, "sender")?,
        })
    })
}

/// Appends a row. What was once counted is never counted again, so that an end that was cut off stays a
/// gap.
fn append(tx: &Tx<'_>, entry: Entry<'_>) -> Result<()> {
    let (counted, previous) = tx.db.one(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0), \
             (SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1)",
        (),
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)),
    )?;
    let Entry { kind, session, call, actor, tool, arguments, summary, outcome } = entry;
    let summary = arguments.as_ref().unwrap_or(&summary);
    let mut row = AuditRow {
        sequence: counted + 1,
        at: tx.now,
        kind: kind.word().to_owned(),
        session: session.map(|session| session.to_string()),
        turn: call.map(|call| call.turn.0),
        call: call.map(|call| call.to_string()),
        actor: actor.to_string(),
        tool: tool.map(|tool| tx.redactor.summary(&tool, AuditRow::SUMMARY)),
        summary: tx.redactor.summary(summary, AuditRow::SUMMARY),
        digest: arguments.map(|arguments| hex(&Sha256::digest(arguments))),
        outcome: outcome.map(str::to_owned),
        previous: previous.unwrap_or_else(|| NOTHING.to_owned()),
        hash: String::new(),
    };
    row.hash = hash(&row);
    tx.insert(
        "INSERT INTO audit (sequence, at, kind, session, turn, call, actor, tool, digest, summary, \
             outcome, previous, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            row.sequence,
            row.at.0,
            row.kind,
            row.session,
            row.turn,
            row.call,
            row.actor,
            row.tool,
            row.digest,
            row.summary,
            row.outcome,
            row.previous,
            row.hash,
        ],
    )?;
    Ok(())
}

/// What a row says, in one way only: each column in the order of the table, integers in eight bytes
/// (little-endian), texts behind their length, and before each a byte that says whether it is there.
fn hash(row: &AuditRow) -> String {
    let mut hasher = Sha256::new_with_prefix(b"avocet audit 1\n");
    let integer = |hasher: &mut Sha256, value: Option<i64>| match value {
        None => hasher.update([0]),
        Some(value) => {
            hasher.update([1]);
            hasher.update(value.to_le_bytes());
        }
    };
    let text = |hasher: &mut Sha256, value: Option<&str>| {
        integer(hasher, value.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX)));
        hasher.update(value.unwrap_or_default());
    };
    integer(&mut hasher, Some(row.sequence));
    integer(&mut hasher, Some(row.at.0));
    text(&mut hasher, Some(&row.kind));
    text(&mut hasher, row.session.as_deref());
    integer(&mut hasher, row.turn);
    let rest = [
        row.call.as_deref(),
        Some(&row.actor),
        row.tool.as_deref(),
        row.digest.as_deref(),
        Some(&row.summary),
        row.outcome.as_deref(),
        Some(&row.previous),
    ];
    rest.into_iter().for_each(|value| text(&mut hasher, value));
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn head(db: Db<'_>) -> Result<Option<AuditHead>> {
    db.row("SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1", (), |row| {
        Ok(AuditHead { sequence: row.get(0)?, hash: row.get(1)? })
    })
}

const ROW: &str = "SELECT sequence, at, kind, session, turn, call, actor, tool, digest, summary, \
    outcome, previous, hash FROM audit";

fn list(db: Db<'_>, filter: &AuditFilter) -> Result<Vec<AuditRow>> {
    let AuditFilter { session, since, kind, limit } = filter;
    let mut rows = db.rows(
        &format!(
            "{ROW} WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR at >= ?2) \
                 AND (?3 IS NULL OR kind = ?3) ORDER BY sequence DESC LIMIT ?4"
        ),
        params![
            session.as_ref().map(SessionId::as_str),
            since.map(|since| since.0),
            kind.map(AuditKind::word),
            limit,
        ],
        read_row,
    )?;
    rows.reverse();
    Ok(rows)
}

/// The rows from `next` on, and how many there were in all, as far as SQLite has counted.
fn page(db: Db<'_>, next: i64) -> Result<(Vec<AuditRow>, i64)> {
    let rows = db.rows(
        &format!("{ROW} WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2"),
        params![next, PAGE],
        read_row,
    )?;
    let counted =
        db.row("SELECT seq FROM sqlite_sequence WHERE name = 'audit'", (), |row| row.get(0))?;
    Ok((rows, counted.unwrap_or(0)))
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        sequence: row.get("sequence")?,
        at: Timestamp(row.get("at")?),
        kind: row.get("kind")?,
        session: row.get("session")?,
        turn: row.get("turn")?,
        call: row.get("call")?,
        actor: row.get("actor")?,
        tool: row.get("tool")?,
        digest: row.get("digest")?,
        summary: row.get("summary")?,
        outcome: row.get("outcome")?,
        previous: row.get("previous")?,
        hash: row.get("hash")?,
    })
}

/// A walk through the chain.
struct Walk {
    noted: Option<AuditHead>,
    last: Option<AuditHead>,
    next: i64,
    rows: u64,
}

impl Walk {
    fn new(noted: Option<AuditHead>) -> Self {
        Self { noted, last: None, next: i64::MIN, rows: 0 }
    }

    /// Goes on through these rows; `counted` comes with the last of them.
    fn through(&mut self, rows: &[AuditRow], counted: Option<i64>) -> Result<(), AuditFault> {
        rows.iter().try_for_each(|row| self.step(row))?;
        let Some(counted) = counted else { return Ok(()) };
        let last = self.last.as_ref().map_or(0, |last| last.sequence);
        let known = self.noted.as_ref().map_or(counted, |noted| noted.sequence.max(counted));
        if last < known { Err(AuditFault::Cut { last, known }) } else { Ok(()) }
    }

    fn step(&mut self, row: &AuditRow) -> Result<(), AuditFault> {
        self.rows += 1;
        let (last, previous) = match &self.last {
            None => (0, NOTHING),
            Some(AuditHead { sequence, hash }) => (*sequence, hash.as_str()),
        };
        let sequence = row.sequence;
        if hash(row) != row.hash || sequence <= last {
            return Err(AuditFault::Changed(sequence));
        }
        if sequence != last + 1 {
            return Err(AuditFault::Missing { first: last + 1, last: sequence - 1 });
        }
        if row.previous != previous {
            return Err(AuditFault::Unlinked(sequence));
        }
        let is_noted = self.noted.as_ref().filter(|noted| noted.sequence == sequence);
        if is_noted.is_some_and(|noted| noted.hash != row.hash) {
            return Err(AuditFault::Rewritten(sequence));
        }
        self.last = Some(AuditHead { sequence, hash: row.hash.clone() });
        self.next = sequence.saturating_add(1);
        Ok(())
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
