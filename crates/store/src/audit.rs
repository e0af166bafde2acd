//! The audit table: each row is appended in the transaction of the action that it records.

mod chain;
mod erasure;
mod row_hash;

use avocet_protocol::access::{ChatLink, Decision, PersonId, Role, SettledPairing};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, RuleId, TurnId, WaitId};
use avocet_protocol::model::Arguments;
use avocet_protocol::store::{Actor, AuditKind, CommandAction, CommandEffect, NewWait, Resolution};
use avocet_protocol::tool::{ToolClass, WaitKind};
use avocet_protocol::turn::{CallResult, ResultKind};
use rusqlite::{Row, params};

use crate::rows;
use crate::tx::{Result, Tx};
pub(crate) use erasure::{erase_texts, record_erased};
pub(crate) use row_hash::ErasableText;

use chain::append_row;

/// A row that is about to be appended.
struct NewAuditRow<'e> {
    kind: AuditKind,
    session: Option<SessionId>,
    call: Option<CallId>,
    actor: &'e Actor,
    tool: Option<String>,
    /// Text for the digest and the summary, usually the arguments of a call.
    arguments: Option<String>,
    /// Used if `arguments` is `None`.
    digest: Option<String>,
    /// Used if `arguments` is `None`.
    summary: String,
    /// Stands before the summary.
    remark: Option<String>,
    outcome: Option<&'static str>,
}

impl<'e> NewAuditRow<'e> {
    fn new(kind: AuditKind, actor: &'e Actor) -> Self {
        let (session, call, tool, arguments, digest) = (None, None, None, None, None);
        let (summary, remark, outcome) = (String::new(), None, None);
        Self { kind, session, call, actor, tool, arguments, digest, summary, remark, outcome }
    }

    fn about_call(self, called: AuditedCall) -> Self {
        let AuditedCall { call, session, tool, arguments, .. } = called;
        let (call, session) = (Some(call), Some(session));
        Self { call, session, tool: Some(tool), arguments: Some(arguments), ..self }
    }
}

/// The parts of a call that audit rows contain.
struct AuditedCall {
    call: CallId,
    session: SessionId,
    tool: String,
    arguments: String,
    state: String,
    /// `true` if the call was started and does more than read.
    has_effect: bool,
}

/// Records the start of a call, unless the call only reads.
pub(crate) fn record_started(tx: &Tx<'_>, call: CallId, class: ToolClass) -> Result<()> {
    match class {
        ToolClass::Pure => Ok(()),
        ToolClass::InLog | ToolClass::Verifiable | ToolClass::Effect => append_row(
            tx,
            NewAuditRow::new(AuditKind::Started, &Actor::Process)
                .about_call(audited_call(tx, call)?),
        ),
    }
}

/// Records the result of a call. Must run before the call becomes `record_finished`.
pub(crate) fn record_finished(tx: &Tx<'_>, call: CallId, result: &CallResult) -> Result<()> {
    let called = audited_call(tx, call)?;
    // A started call may have had an effect before permission was denied.
    let (kind, outcome) = if called.has_effect {
        (AuditKind::Finished, Some(outcome_word(result)))
    } else if result.kind == ResultKind::Refused && called.state != "waiting" {
        (AuditKind::Refused, None)
    } else {
        return Ok(());
    };
    append_row(
        tx,
        NewAuditRow { outcome, ..NewAuditRow::new(kind, &Actor::Process).about_call(called) },
    )
}

fn outcome_word(result: &CallResult) -> &'static str {
    if result.ok {
        "ok"
    } else if result.kind == ResultKind::Refused {
        "refused"
    } else {
        "error"
    }
}

/// Records the calls that the end of their turn cuts off. Must run before they become
/// `record_finished`.
pub(crate) fn record_cancelled(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    for called in open_calls(tx, turn)? {
        let kind = match called.state.as_str() {
            _ if called.has_effect => AuditKind::Finished,
            "waiting" => AuditKind::Denied,
            _ => continue,
        };
        let entry = NewAuditRow::new(kind, &Actor::Process).about_call(called);
        append_row(tx, NewAuditRow { outcome: Some("cancelled"), ..entry })?;
    }
    Ok(())
}

/// Records calls that a crash or a stop interrupted. Must run before they change their state.
pub(crate) fn record_interrupted(tx: &Tx<'_>, turn: TurnId) -> Result<()> {
    for called in open_calls(tx, turn)? {
        if called.state == "started" && called.has_effect {
            append_row(
                tx,
                NewAuditRow::new(AuditKind::Interrupted, &Actor::Process).about_call(called),
            )?;
        }
    }
    Ok(())
}

/// Records that the log was put back to an earlier state.
pub(crate) fn rolled_back(tx: &Tx<'_>, outcome: &'static str, why: &str) -> Result<()> {
    let entry = NewAuditRow::new(AuditKind::RolledBack, &Actor::Process);
    append_row(tx, NewAuditRow { summary: why.to_owned(), outcome: Some(outcome), ..entry })
}

/// Records that a turn waits for an approval.
pub(crate) fn record_asked(tx: &Tx<'_>, wait: &NewWait) -> Result<()> {
    match wait.kind {
        WaitKind::Approval => {
            let asked = NewAuditRow::new(AuditKind::Asked, &Actor::Process);
            let remark = wait.remark.clone();
            append_row(tx, NewAuditRow { remark, ..asked.about_call(audited_call(tx, wait.call)?) })
        }
        WaitKind::Answer | WaitKind::Child | WaitKind::Choice => Ok(()),
    }
}

/// Records a person's decision about a waiting call, made in a chat. Must run before the wait is
/// resolved.
pub(crate) fn record_chosen(
    tx: &Tx<'_>,
    command: MessageId,
    wait: WaitId,
    resolution: &Resolution,
) -> Result<()> {
    match decided_wait(tx, wait)? {
        Some(waits) => {
            record_decision(tx, &waits, resolution, &Actor::Person(author_of(tx, command)?))
        }
        None => Ok(()),
    }
}

/// Records a decision about a waiting call from the command line, or the expiry of the wait. Must
/// run before the wait is resolved.
pub(crate) fn record_resolved(tx: &Tx<'_>, wait: WaitId, resolution: &Resolution) -> Result<()> {
    let Some(waits) = decided_wait(tx, wait)? else { return Ok(()) };
    if waits.expires_at <= tx.now && matches!(resolution, Resolution::Error { .. }) {
        let expired = NewAuditRow::new(AuditKind::Expired, &Actor::Process);
        return append_row(tx, expired.about_call(audited_call(tx, waits.call)?));
    }
    record_decision(tx, &waits, resolution, &Actor::Host)
}

fn record_decision(
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
        (_, Resolution::Answer { .. } | Resolution::Error { .. }) => (AuditKind::Denied, None),
    };
    append_row(
        tx,
        NewAuditRow {
            outcome,
            ..NewAuditRow::new(kind, actor).about_call(audited_call(tx, waits.call)?)
        },
    )
}

/// Records a chat command that changed access or trust.
pub(crate) fn record_commanded(
    tx: &Tx<'_>,
    command: MessageId,
    action: &CommandAction,
    effect: &CommandEffect,
) -> Result<()> {
    if !matches!(effect, CommandEffect::Done | CommandEffect::Queued(_)) {
        return Ok(());
    }
    let by = || author_of(tx, command).map(Actor::Person);
    match action {
        CommandAction::Decide(settled) => record_decided(tx, settled, &by()?),
        CommandAction::Link(link) => record_linked(tx, link, &by()?),
        CommandAction::Unlink(chat) => record_unlinked(tx, &chat.to_string(), &by()?),
        CommandAction::TrustPast => record_trusted(tx, command, &by()?),
        _ => Ok(()),
    }
}

/// Records that an owner has declared the content of a session trusted (`/trust`).
fn record_trusted(tx: &Tx<'_>, command: MessageId, actor: &Actor) -> Result<()> {
    let session =
        tx.db.query_one("SELECT session FROM inbound WHERE id = ?1", [command.0], |row| {
            rows::parse_column(row, "session")
        })?;
    append_row(
        tx,
        NewAuditRow { session: Some(session), ..NewAuditRow::new(AuditKind::Trusted, actor) },
    )
}

/// Records that `/new` has removed this number of grants of the session.
pub(crate) fn record_withdrawn(
    tx: &Tx<'_>,
    command: MessageId,
    session: &SessionId,
    grants: usize,
) -> Result<()> {
    if grants == 0 {
        return Ok(());
    }
    let (by, session) = (Actor::Person(author_of(tx, command)?), Some(session.clone()));
    let summary = format!("{grants} allowed for the session");
    append_row(tx, NewAuditRow { session, summary, ..NewAuditRow::new(AuditKind::Withdrawn, &by) })
}

/// Records that a rule was added or removed.
pub(crate) fn record_rule(tx: &Tx<'_>, kind: AuditKind, rule: RuleId, actor: &Actor) -> Result<()> {
    append_row(tx, NewAuditRow { summary: rule.to_string(), ..NewAuditRow::new(kind, actor) })
}

/// Records that an owner stopped everything, or let it go on.
pub(crate) fn record_stop(tx: &Tx<'_>, kind: AuditKind, actor: &Actor) -> Result<()> {
    append_row(tx, NewAuditRow::new(kind, actor))
}

/// Records the decision about a stranger's pairing code.
pub(crate) fn record_decided(tx: &Tx<'_>, settled: &SettledPairing, actor: &Actor) -> Result<()> {
    let who: String = tx.db.query_one(
        "SELECT channel || ':' || account || ':' || sender FROM pairings WHERE code = ?1",
        [settled.code.as_str()],
        |row| row.get(0),
    )?;
    let (kind, outcome) = match settled.decision {
        Decision::Approved(role) => (AuditKind::LetIn, Some(Role::as_str(role))),
        Decision::Denied => (AuditKind::TurnedAway, None),
    };
    append_row(tx, NewAuditRow { summary: who, outcome, ..NewAuditRow::new(kind, actor) })
}

/// Records that a user of the command line has removed a person.
pub(crate) fn person_removed(tx: &Tx<'_>, person: &PersonId) -> Result<()> {
    let entry = NewAuditRow::new(AuditKind::StruckOff, &Actor::Host);
    append_row(tx, NewAuditRow { summary: person.to_string(), ..entry })
}

pub(crate) fn record_linked(tx: &Tx<'_>, link: &ChatLink, actor: &Actor) -> Result<()> {
    let summary = link.chat.to_string();
    let session = Some(link.session.clone());
    append_row(tx, NewAuditRow { summary, session, ..NewAuditRow::new(AuditKind::Linked, actor) })
}

/// Records that a chat uses its own session again.
pub(crate) fn record_unlinked(tx: &Tx<'_>, chat: &str, actor: &Actor) -> Result<()> {
    append_row(
        tx,
        NewAuditRow { summary: chat.to_owned(), ..NewAuditRow::new(AuditKind::Unlinked, actor) },
    )
}

const CALLED: &str = "SELECT calls.turn, step, ordinal, turns.session, name, \
    coalesce(exact, arguments) AS arguments, calls.state, \
    coalesce(class, 'pure') <> 'pure' AS has_effect FROM calls JOIN turns ON turns.id = calls.turn";

fn audited_call(tx: &Tx<'_>, call: CallId) -> Result<AuditedCall> {
    tx.db.query_one(
        &format!("{CALLED} WHERE calls.turn = ?1 AND step = ?2 AND ordinal = ?3"),
        params![call.turn.0, call.step, call.ordinal],
        read_called,
    )
}

fn open_calls(tx: &Tx<'_>, turn: TurnId) -> Result<Vec<AuditedCall>> {
    tx.db.query_rows(
        &format!(
            "{CALLED} WHERE calls.turn = ?1 AND (calls.state = 'started' \
                OR calls.state = 'interrupted' OR calls.state = 'waiting') \
             ORDER BY step, ordinal"
        ),
        [turn.0],
        read_called,
    )
}

fn read_called(row: &Row<'_>) -> rusqlite::Result<AuditedCall> {
    Ok(AuditedCall {
        call: rows::call_id(row)?,
        session: rows::parse_column(row, "session")?,
        tool: row.get("name")?,
        arguments: exact_arguments(rows::json_column(row, "arguments")?),
        state: row.get("state")?,
        has_effect: row.get("has_effect")?,
    })
}

/// Returns arguments as text: an object with sorted keys, or malformed ones as the model wrote
/// them.
fn exact_arguments(arguments: Arguments) -> String {
    match arguments {
        Arguments::Object(map) => serde_json::Value::Object(map).to_string(),
        Arguments::Malformed(text) => text,
    }
}

/// A wait that a person is to decide.
struct DecidedWait {
    kind: WaitKind,
    call: CallId,
    expires_at: Timestamp,
}

/// Returns the wait if it is open and a person is to decide it.
fn decided_wait(tx: &Tx<'_>, wait: WaitId) -> Result<Option<DecidedWait>> {
    tx.db.query_row(
        "SELECT turn, step, ordinal, kind, expires_at FROM waits \
         WHERE id = ?1 AND resolved = 0 AND kind IN ('approval', 'choice')",
        [wait.0],
        |row| {
            Ok(DecidedWait {
                kind: rows::wait_kind(row)?,
                call: rows::call_id(row)?,
                expires_at: Timestamp(row.get("expires_at")?),
            })
        },
    )
}

fn author_of(tx: &Tx<'_>, command: MessageId) -> Result<PersonId> {
    tx.db.query_one(
        "SELECT channel, account, sender FROM inbound WHERE id = ?1",
        [command.0],
        |row| {
            Ok(PersonId {
                channel: rows::parse_column(row, "channel")?,
                account: rows::parse_column(row, "account")?,
                sender: rows::parse_column(row, "sender")?,
            })
        },
    )
}

#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::chain::tests::make_chain_old;
}
