//! Inbound messages: deduplication, cursors, and the commands that bypass the lane.

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{
    Accepted, AcceptedAs, AccountName, ChannelName, CommandAction, CommandEffect, CommandReply,
    Content, Correction, Cursor, DedupeKey, Inbound, InboundKind, Inbox, LoggedInbound, MessageId,
    NewInbound, Outcome, Planned, QueueMode, Resolution, SessionId, Trust, TurnId, WaitKind,
};
use rusqlite::params;

use crate::audit;
use crate::cancel::{cancel_turn, open_turn};
use crate::correct::correct;
use crate::distrust::is_unsure;
use crate::outbox::{OutboxSource, insert_planned};
use crate::past;
use crate::people;
use crate::retry::retry;
use crate::rows::{self, INBOUND, to_json};
use crate::tx::{Result, Tx};
use crate::undelivered;
use crate::waits::{is_open, meant_wait, newest_wait, resolve, resolve_by_command};
use crate::{Durability, SqliteStore, digest, words};

/// `inbound.after_step` of a message that answered a question of its turn and ends with it.
pub(crate) const ANSWERED: i64 = -1;

/// Age limit for `/resend`, since people stop waiting for older messages. A delivery is retried for
/// a day before it is abandoned.
const RESENT: Duration = Duration::from_hours(7 * 24);

#[async_trait]
impl Inbox for SqliteStore {
    async fn accept(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Accepted> {
        let (message, cursor) = (message.clone(), cursor.cloned());
        let default_mode = self.default_mode;
        self.write("accept", Durability::Synced, move |tx| {
            move_cursor_of(tx, &message, cursor.as_ref())?;
            accept(tx, &message, default_mode)
        })
        .await
    }

    async fn correct(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Correction> {
        let (message, cursor) = (message.clone(), cursor.cloned());
        let (default_mode, answer_edits) = (self.default_mode, self.answer_edits);
        self.write("correct", Durability::Synced, move |tx| {
            let corrected = correct(tx, &message, default_mode, answer_edits)?;
            if !matches!(corrected, Correction::Refused(_)) {
                move_cursor_of(tx, &message, cursor.as_ref())?;
            }
            Ok(corrected)
        })
        .await
    }

    async fn ignore(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        reason: &str,
        cursor: Option<&Cursor>,
    ) -> Result<()> {
        let (channel, account, reason) = (channel.clone(), account.clone(), reason.to_owned());
        let cursor = cursor.cloned();
        self.write("ignore", Durability::Process, move |tx| {
            move_cursor(tx, &channel, &account, cursor.as_ref())?;
            tx.insert(
                "INSERT INTO ignored (channel, account, reason, count) VALUES (?1, ?2, ?3, 1) \
                 ON CONFLICT DO UPDATE SET count = count + 1",
                params![channel.as_str(), account.as_str(), reason],
            )?;
            Ok(())
        })
        .await
    }

    async fn cursors(&self, channel: &ChannelName, account: &AccountName) -> Result<Vec<Cursor>> {
        let (channel, account) = (channel.clone(), account.clone());
        self.read(move |db| {
            db.rows(
                "SELECT scope, position FROM cursors WHERE channel = ?1 AND account = ?2",
                [channel.as_str(), account.as_str()],
                |row| Ok(Cursor { scope: row.get(0)?, position: row.get(1)? }),
            )
        })
        .await
    }

    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: &Cursor,
    ) -> Result<()> {
        let (channel, account, cursor) = (channel.clone(), account.clone(), cursor.clone());
        self.write("move-cursor", Durability::Synced, move |tx| {
            move_cursor(tx, &channel, &account, Some(&cursor))
        })
        .await
    }

    async fn open_commands(&self) -> Result<Vec<LoggedInbound>> {
        self.read(|db| {
            db.rows(
                &format!("{INBOUND} WHERE state = 'queued' AND kind = 'command' ORDER BY id"),
                (),
                rows::inbound,
            )
        })
        .await
    }

    async fn settle_command(
        &self,
        command: MessageId,
        action: &CommandAction,
        reply: &CommandReply,
    ) -> Result<CommandEffect> {
        let (action, reply) = (action.clone(), reply.clone());
        self.write("settle-command", Durability::Synced, move |tx| {
            end_message(tx, command, Outcome::Replied)?;
            let effect = act(tx, command, &action)?;
            audit::commanded(tx, command, &action, &effect)?;
            let said = match effect {
                CommandEffect::Nothing => reply.nothing,
                CommandEffect::Done
                | CommandEffect::Stopped(_)
                | CommandEffect::Resent(_)
                | CommandEffect::Resolved(_) => reply.done,
            };
            if let Some(said) = said {
                let text: String = said.chunks.iter().map(Content::as_text).collect();
                tx.update("UPDATE inbound SET reply = ?2 WHERE id = ?1", params![command.0, text])?;
                insert_planned(tx, &said, None, OutboxSource::Reply)?;
            }
            Ok(effect)
        })
        .await
    }

    async fn drop_message(&self, message: MessageId, notice: Option<&Planned>) -> Result<()> {
        let notice = notice.cloned();
        self.write("drop-message", Durability::Synced, move |tx| {
            end_message(tx, message, Outcome::Dropped)?;
            notice.map_or(Ok(()), |notice| insert_planned(tx, &notice, None, OutboxSource::Notice))
        })
        .await
    }
}

fn move_cursor_of(tx: &Tx<'_>, message: &NewInbound, cursor: Option<&Cursor>) -> Result<()> {
    let address = &message.inbound.address;
    move_cursor(tx, &address.channel, &address.account, cursor)
}

/// Accepts a message, which then waits in its lane or has acted on the session's open turn.
pub(crate) fn accept(
    tx: &Tx<'_>,
    message: &NewInbound,
    default_mode: QueueMode,
) -> Result<Accepted> {
    use_session(tx, &message.session)?;
    match insert(tx, message)? {
        None => first_copy(tx, message),
        Some(id) if is_unsure(tx, message)? => {
            end_message(tx, id, Outcome::Dropped)?;
            Ok(Accepted { id, what: AcceptedAs::Unsure })
        }
        Some(id) => {
            let what = consequence(tx, id, message, default_mode)?;
            Ok(Accepted { id, what })
        }
    }
}

fn move_cursor(
    tx: &Tx<'_>,
    channel: &ChannelName,
    account: &AccountName,
    cursor: Option<&Cursor>,
) -> Result<()> {
    let Some(cursor) = cursor else { return Ok(()) };
    tx.insert(
        "INSERT INTO cursors (channel, account, scope, position) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO UPDATE SET position = excluded.position",
        params![channel.as_str(), account.as_str(), cursor.scope, cursor.position],
    )?;
    Ok(())
}

pub(crate) fn use_session(tx: &Tx<'_>, session: &SessionId) -> Result<()> {
    tx.insert(
        "INSERT INTO sessions (id, used_at) VALUES (?1, ?2) \
         ON CONFLICT DO UPDATE SET used_at = excluded.used_at",
        params![session.as_str(), tx.now.0],
    )?;
    Ok(())
}

/// Returns `None` if the chat has used the key before.
fn insert(tx: &Tx<'_>, message: &NewInbound) -> Result<Option<MessageId>> {
    let NewInbound { session, kind, inbound, removed } = message;
    let address = &inbound.address;
    let digest = digest_of(inbound)?;
    let id = tx.insert(
        "INSERT INTO inbound (session, channel, account, chat, topic, chat_kind, key, sender, \
             sender_name, is_bot, kind, content, removed, state, received_at, written_at, corrects, \
             edited_at, digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 'queued', ?14, ?15, ?16, \
             ?17, ?18) \
         ON CONFLICT (channel, account, chat, key) DO NOTHING",
        params![
            session.as_str(),
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            address.topic.as_ref().map(avocet_protocol::TopicId::as_str),
            inbound.chat.word(),
            inbound.key.as_str(),
            inbound.sender.id.as_str(),
            inbound.sender.name,
            inbound.sender.is_bot,
            rows::kind_word(*kind),
            to_json(&inbound.content)?,
            removed,
            tx.now.0,
            inbound.written_at.map(|written| written.0),
            inbound.corrects.as_ref().map(DedupeKey::as_str),
            inbound.edited_at.map(|edited| edited.0),
            digest,
        ],
    )?;
    Ok(id.map(MessageId))
}

/// Returns `None` for platforms, which may add details to a message later. Other processes must
/// repeat it unchanged.
fn digest_of(inbound: &Inbound) -> Result<Option<String>> {
    let Inbound { address, content, from_platform, .. } = inbound;
    (!from_platform).then(|| digest::of(address.topic.as_ref(), content)).transpose()
}

/// Returns the earlier message with this key, as a duplicate or as a conflicting use of the key.
fn first_copy(tx: &Tx<'_>, message: &NewInbound) -> Result<Accepted> {
    let address = &message.inbound.address;
    let digest = digest_of(&message.inbound)?;
    tx.db.one(
        "SELECT id, digest FROM inbound \
         WHERE channel = ?1 AND account = ?2 AND chat = ?3 AND key = ?4",
        params![
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            message.inbound.key.as_str(),
        ],
        |row| {
            let known: Option<String> = row.get("digest")?;
            let what = match digest::is_other(known.as_deref(), digest.as_deref()) {
                true => AcceptedAs::KeyTaken,
                false => AcceptedAs::Duplicate,
            };
            Ok(Accepted { id: MessageId(row.get("id")?), what })
        },
    )
}

/// Applies a new message to the open turn of its session, and returns the effect.
fn consequence(
    tx: &Tx<'_>,
    id: MessageId,
    message: &NewInbound,
    default_mode: QueueMode,
) -> Result<AcceptedAs> {
    if message.kind == InboundKind::Command {
        return Ok(AcceptedAs::Queued);
    }
    if let Some((wait, turn)) = newest_wait(tx, &message.session, WaitKind::Answer)?
        && has_asked(tx, turn, &message.inbound)?
    {
        let choice = words::meant_answer(tx, turn, &message.inbound.content)?;
        let text = choice.unwrap_or_else(|| message.model_text());
        let answer = Resolution::Answer { text, trust: of_answer(message) };
        resolve(tx, wait, &answer)?;
        tx.update_one(
            id,
            "UPDATE inbound SET turn = ?2, after_step = ?3 WHERE id = ?1",
            params![id.0, turn.0, ANSWERED],
        )?;
        return Ok(AcceptedAs::Answer);
    }
    let reply = words::reply(tx, id, message)?;
    if let Some(words::QuestionRelation::Decides(says)) = &reply {
        let content = to_json(&Content { text: says.clone(), ..message.inbound.content.clone() })?;
        tx.update_one(
            id,
            "UPDATE inbound SET kind = 'command', content = ?2 WHERE id = ?1",
            params![id.0, content],
        )?;
        return Ok(AcceptedAs::Decision);
    }
    if rows::mode(tx.db, &message.session, default_mode)? == QueueMode::Interrupt
        && let Some(turn) = open_turn(tx, &message.session)?
    {
        let ended = cancel_turn(tx, turn, "interrupted by a newer message")?;
        return Ok(AcceptedAs::Interrupt(ended));
    }
    Ok(match reply {
        Some(words::QuestionRelation::Behind(question)) => AcceptedAs::Behind(question),
        _ => AcceptedAs::Queued,
    })
}

fn end_message(tx: &Tx<'_>, id: MessageId, outcome: Outcome) -> Result<()> {
    let state = if outcome == Outcome::Dropped { "dead" } else { "done" };
    tx.update_one(
        id,
        "UPDATE inbound SET state = ?2, outcome = ?3 WHERE id = ?1 AND state <> 'done' \
             AND state <> 'dead'",
        params![id.0, state, outcome.word()],
    )
}

fn act(tx: &Tx<'_>, command: MessageId, action: &CommandAction) -> Result<CommandEffect> {
    let session = tx.db.one("SELECT session FROM inbound WHERE id = ?1", [command.0], |row| {
        rows::parsed::<SessionId>(row, "session")
    })?;
    match action {
        CommandAction::None => Ok(CommandEffect::Done),
        CommandAction::Stop => stop(tx, &session, command),
        CommandAction::Forget => {
            let stopped = stop(tx, &session, command)?;
            tx.update(
                "UPDATE sessions SET fresh_from = ?2, summary = NULL, summary_to = 0, \
                     shortened_to = 0, summary_trust = 'full', \
                     usage_from = (SELECT coalesce(max(id), 0) FROM usage) WHERE id = ?1",
                params![session.as_str(), command.0],
            )?;
            undelivered::forget(tx, &session)?;
            let of_session = [session.as_str()];
            let grants = tx.update("DELETE FROM grants WHERE session = ?1", of_session)?;
            audit::withdrawn(tx, command, &session, grants)?;
            Ok(stopped)
        }
        CommandAction::Compact => past::want_compaction(tx, &session, command).map(done_or_nothing),
        CommandAction::SetMode(mode) => {
            tx.update(
                "UPDATE sessions SET mode = ?2 WHERE id = ?1",
                [session.as_str(), mode.word()],
            )?;
            Ok(CommandEffect::Done)
        }
        CommandAction::SetModel(model) => {
            tx.update(
                "UPDATE sessions SET model = ?2 WHERE id = ?1",
                params![session.as_str(), model],
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
            let goes_on = retry(tx, &session, command, *wait, sender.as_ref())?;
            Ok(goes_on.map_or(CommandEffect::Nothing, CommandEffect::Resolved))
        }
        CommandAction::Believe => past::believe(tx, &session).map(|()| CommandEffect::Done),
        CommandAction::Resend => resend(tx, command),
        CommandAction::Decide(settled) => people::decide(tx, settled).map(done_or_nothing),
        CommandAction::Link(link) => people::link(tx, link).map(|()| CommandEffect::Done),
        CommandAction::Unlink(chat) => people::unlink(tx, chat).map(done_or_nothing),
    }
}

/// Returns `true` if the turn works for this author, who may then answer its questions.
pub(crate) fn has_asked(tx: &Tx<'_>, turn: TurnId, inbound: &Inbound) -> Result<bool> {
    let Inbound { address, sender, .. } = inbound;
    let asked = tx.db.row(
        "SELECT 1 FROM inbound WHERE turn = ?1 AND channel = ?2 AND account = ?3 AND sender = ?4",
        params![turn.0, address.channel.as_str(), address.account.as_str(), sender.id.as_str()],
        |_| Ok(()),
    )?;
    Ok(asked.is_some())
}

/// Returns the trust level of an answer from a person for whom the turn works.
fn of_answer(message: &NewInbound) -> Trust {
    match message.inbound.content.has_foreign_words() {
        true => Trust::Low,
        false => Trust::Full,
    }
}

fn done_or_nothing(done: bool) -> CommandEffect {
    if done { CommandEffect::Done } else { CommandEffect::Nothing }
}

/// Ends the session's open turn and its pending compaction.
fn stop(tx: &Tx<'_>, session: &SessionId, command: MessageId) -> Result<CommandEffect> {
    let compaction = past::stop_compaction(tx, session)?;
    match stop_turn(tx, session, command)? {
        CommandEffect::Nothing if compaction => Ok(CommandEffect::Stopped(Vec::new())),
        effect => Ok(effect),
    }
}

/// Ends the session's open turn, unless a message that came after the command began it.
fn stop_turn(tx: &Tx<'_>, session: &SessionId, command: MessageId) -> Result<CommandEffect> {
    let Some(turn) = open_turn(tx, session)? else { return Ok(CommandEffect::Nothing) };
    let first = tx.db.one("SELECT min(id) FROM inbound WHERE turn = ?1", [turn.0], |row| {
        row.get::<_, Option<i64>>(0)
    })?;
    if first.is_some_and(|first| first > command.0) {
        return Ok(CommandEffect::Nothing);
    }
    cancel_turn(tx, turn, "stopped by the user").map(CommandEffect::Stopped)
}

/// Queues recent failed messages again in the chat of the command, since linked chats share a
/// session.
fn resend(tx: &Tx<'_>, command: MessageId) -> Result<CommandEffect> {
    let again = tx.update(
        "UPDATE outbox SET repeat = max(repeat, state = 'unconfirmed'), state = 'pending', not_before = 0, \
             attempts = 0, error = NULL, failing_since = NULL \
         WHERE state IN ('unconfirmed', 'dead') AND source <> 'notice' \
             AND coalesce(first_sent_at, created_at) > ?2 \
             AND (channel, account, chat) = (SELECT channel, account, chat FROM inbound WHERE id = ?1)",
        params![command.0, tx.now.before(RESENT).0],
    )?;
    if again == 0 {
        return Ok(CommandEffect::Nothing);
    }
    undelivered::withdraw(tx, command)?;
    Ok(CommandEffect::Resent(again as u64))
}
