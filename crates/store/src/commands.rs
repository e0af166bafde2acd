//! The effects of commands, which bypass the lane.

use std::time::Duration;

use avocet_protocol::access::DecisionEffect;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::MessageId;
use avocet_protocol::store::{Actor, CommandAction, CommandEffect, MemoryAuthor, StoppedAnswer};
use rusqlite::params;

use crate::audit;
use crate::cancel::{cancel_turn, keep_answer};
use crate::memories;
use crate::past;
use crate::people;
use crate::preview;
use crate::reports;
use crate::retry::retry_choice;
use crate::rows;
use crate::rows::chunks::QUEUE_AGAIN;
use crate::rows::sessions::choose_setting;
use crate::rows::turns::open_turn;
use crate::rules;
use crate::stop_all;
use crate::tasks;
use crate::tx::{Result, Tx};
use crate::undelivered;
use crate::waits::{is_open, meant_wait, resolve_by_command};

/// Age limit for `/resend`, since people stop waiting for older messages. A delivery is retried for
/// a day before it is abandoned.
const RESENT: Duration = Duration::from_hours(7 * 24);

/// Carries out the action of a command in its session. `pressed_in` is the chat of a pressed button
/// whose message the reply replaces.
pub(crate) fn run_action(
    tx: &Tx<'_>,
    command: MessageId,
    action: &CommandAction,
    pressed_in: Option<&ChatAddress>,
    default_mode: QueueMode,
) -> Result<CommandEffect> {
    let session =
        tx.db.query_one("SELECT session FROM inbound WHERE id = ?1", [command.0], |row| {
            rows::parse_column::<SessionId>(row, "session")
        })?;
    match action {
        CommandAction::None => Ok(CommandEffect::Done),
        CommandAction::Stop(answer) => stop(tx, &session, command, answer.as_deref()),
        CommandAction::Forget => forget_past(tx, &session, command),
        CommandAction::Compact => past::want_compaction(tx, &session, command).map(done_or_nothing),
        CommandAction::SetMode(mode) => {
            tx.change_rows(
                "UPDATE sessions SET mode = ?2 WHERE id = ?1",
                [session.as_str(), mode.as_str()],
            )?;
            Ok(CommandEffect::Done)
        }
        CommandAction::Choose(setting) => {
            choose_setting(tx, &session, setting).map(|()| CommandEffect::Done)
        }
        CommandAction::SetVoice(mode) => {
            tx.change_rows(
                "UPDATE sessions SET voice = ?2 WHERE id = ?1",
                [session.as_str(), mode.as_str()],
            )?;
            Ok(CommandEffect::Done)
        }
        CommandAction::Resolve { wait, kind, anywhere, resolution } => {
            let below = (!anywhere).then_some(&session);
            let wait = match *wait {
                Some(wait) => is_open(tx, wait, *kind, below)?.then_some(wait),
                None => meant_wait(tx, &session, *kind, command)?,
            };
            let resolved = match wait {
                Some(wait) => resolve_by_command(tx, command, wait, resolution)?,
                None => None,
            };
            Ok(resolved.map_or(CommandEffect::Nothing, CommandEffect::Resolved))
        }
        CommandAction::Retry { wait, sender } => {
            let goes_on = retry_choice(tx, &session, command, *wait, sender.as_ref())?;
            Ok(goes_on.map_or(CommandEffect::Nothing, CommandEffect::Resolved))
        }
        CommandAction::CancelTask(task) => {
            let cancelled = tasks::cancel_task(tx, *task, Some(&session))?;
            Ok(cancelled.map_or(CommandEffect::Nothing, CommandEffect::Cancelled))
        }
        CommandAction::TrustPast => {
            past::mark_as_trusted(tx, &session).map(|()| CommandEffect::Done)
        }
        CommandAction::Resend => resend_failed(tx, command),
        CommandAction::Decide(settled) => {
            Ok(match people::decide_pairing(tx, settled, pressed_in, default_mode)? {
                DecisionEffect::Nothing => CommandEffect::Nothing,
                DecisionEffect::Decided => CommandEffect::Done,
                DecisionEffect::Queued(session) => CommandEffect::Queued(session),
            })
        }
        CommandAction::Link(link) => people::link_chat(tx, link).map(|()| CommandEffect::Done),
        CommandAction::Unlink(chat) => people::unlink_chat(tx, chat).map(done_or_nothing),
        CommandAction::AddRule(new) => {
            rules::add_rule(tx, new).map(|added| done_or_nothing(added.is_some()))
        }
        CommandAction::StopAll { by, chat } => {
            let by = Actor::Person(by.clone());
            let begun = stop_all::begin_stop(tx, &by, Some(chat))?;
            Ok(if begun { CommandEffect::StoppedAll } else { CommandEffect::Nothing })
        }
        CommandAction::ResumeAll { by } => {
            let ended = stop_all::end_stop(tx, &Actor::Person(by.clone()))?;
            Ok(if ended { CommandEffect::ResumedAll } else { CommandEffect::Nothing })
        }
        CommandAction::RemoveRule { id, by } => {
            rules::remove_rule(tx, *id, &Actor::Person(by.clone())).map(done_or_nothing)
        }
        CommandAction::ForgetMemory { id, by } => {
            memories::forget_memory(tx, *id, &MemoryAuthor::Person(by.clone())).map(done_or_nothing)
        }
        CommandAction::WriteMemory { memory, by } => {
            let written = memories::write(tx, memory, &MemoryAuthor::Person(by.clone()))?;
            Ok(done_or_nothing(written.is_new))
        }
    }
}

/// Ends the session's work and forgets its past (`/new`).
fn forget_past(tx: &Tx<'_>, session: &SessionId, command: MessageId) -> Result<CommandEffect> {
    let stopped = stop(tx, session, command, None)?;
    tx.change_rows(
        "UPDATE sessions SET fresh_from = ?2, summary = NULL, summary_to = 0, \
             shortened_to = 0, summary_trust = 'full', \
             title_from = (SELECT coalesce(max(id), 0) FROM turns), \
             branch = iif(title IS NULL, 0, branch), \
             usage_from = (SELECT coalesce(max(id), 0) FROM usage) WHERE id = ?1",
        params![session.as_str(), command.0],
    )?;
    tx.change_rows("DELETE FROM usage_sessions WHERE session = ?1", [session.as_str()])?;
    undelivered::forget_unreported(tx, session)?;
    reports::forget_unreported(tx, session)?;
    let grants = tx.change_rows("DELETE FROM grants WHERE session = ?1", [session.as_str()])?;
    audit::record_withdrawn(tx, command, session, grants)?;
    Ok(stopped)
}

fn done_or_nothing(done: bool) -> CommandEffect {
    if done { CommandEffect::Done } else { CommandEffect::Nothing }
}

/// Ends the session's open turn and its pending compaction.
fn stop(
    tx: &Tx<'_>,
    session: &SessionId,
    command: MessageId,
    answer: Option<&StoppedAnswer>,
) -> Result<CommandEffect> {
    let compaction = past::stop_compaction(tx, session)?;
    match stop_turn(tx, session, command, answer)? {
        CommandEffect::Nothing if compaction => Ok(CommandEffect::Stopped(Vec::new())),
        effect => Ok(effect),
    }
}

/// Ends the session's open turn, unless a message that came after the command began it.
fn stop_turn(
    tx: &Tx<'_>,
    session: &SessionId,
    command: MessageId,
    answer: Option<&StoppedAnswer>,
) -> Result<CommandEffect> {
    let Some(turn) = open_turn(tx, session)? else { return Ok(CommandEffect::Nothing) };
    let first =
        tx.db.query_one("SELECT min(id) FROM inbound WHERE turn = ?1", [turn.0], |row| {
            row.get::<_, Option<i64>>(0)
        })?;
    if first.is_some_and(|first| first > command.0) {
        return Ok(CommandEffect::Nothing);
    }
    let reply = match answer.filter(|answer| answer.turn == turn) {
        Some(answer) => keep_answer(tx, answer)?.cloned(),
        // The process that wrote the answer may be gone, but its preview is in the log.
        None => preview::stopped_reply(tx.db, turn)?,
    };
    let reply = reply.as_ref();
    cancel_turn(tx, turn, "stopped by the user", reply).map(CommandEffect::Stopped)
}

/// Queues recent failed messages again in the chat of the command, since linked chats share a
/// session.
fn resend_failed(tx: &Tx<'_>, command: MessageId) -> Result<CommandEffect> {
    let again = tx.change_rows(
        &format!(
            "UPDATE outbox SET {QUEUE_AGAIN} \
             WHERE state IN ('unconfirmed', 'dead') AND source <> 'notice' AND dropped_at IS NULL \
                 AND coalesce(first_sent_at, created_at) > ?2 \
                 AND (channel, account, chat) = \
                     (SELECT channel, account, chat FROM inbound WHERE id = ?1)"
        ),
        params![command.0, tx.now.before(RESENT).0],
    )?;
    if again == 0 {
        return Ok(CommandEffect::Nothing);
    }
    undelivered::withdraw_requeued(tx)?;
    Ok(CommandEffect::Resent(again as u64))
}
