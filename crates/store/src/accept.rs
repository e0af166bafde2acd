//! Accepts a message: deduplication, and its effect on the open turn of its session.

use avocet_protocol::access::Trust;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Outcome, SessionId};
use avocet_protocol::ids::{DedupeKey, MessageId};
use avocet_protocol::store::{Accepted, AcceptedAs, Resolution};
use rusqlite::params;

use crate::cancel::cancel_turn;
use crate::distrust::is_unsure;
use crate::joined_message::join_message;
use crate::own_texts::{judge_own_texts, trust_of_options};
use crate::prompts::DecidedBy;
use crate::rows::messages::{self, ANSWERED, end_message};
use crate::rows::sessions::use_session;
use crate::rows::to_json;
use crate::rows::turns::open_turn;
use crate::tx::{Result, Tx};
use crate::waits::{WaitBelow, is_waited_for, open_questions, resolve_wait};
use crate::{digest, words};

/// Accepts a message, which then waits in its lane or has acted on the session's open turn.
pub(crate) fn accept_message(
    tx: &Tx<'_>,
    message: &NewInbound,
    default_mode: QueueMode,
) -> Result<Accepted> {
    let message = &*judge_own_texts(tx, message)?;
    let mode = use_session(tx, &message.session)?.unwrap_or(default_mode);
    match insert(tx, message)? {
        None => first_copy(tx, message),
        Some(id) if is_unsure(tx, message)? => {
            end_message(tx, id, Outcome::Dropped)?;
            Ok(Accepted { id, what: AcceptedAs::Unsure })
        }
        Some(id) => {
            choose_agent(tx, message)?;
            let what = apply_to_open_turn(tx, id, message, mode)?;
            Ok(Accepted { id, what })
        }
    }
}

/// Sets the profile of the session to the one that a program's request names, if it names one.
fn choose_agent(tx: &Tx<'_>, message: &NewInbound) -> Result<()> {
    let program = message.inbound.content.program.as_ref();
    if let Some(agent) = program.and_then(|program| program.agent.as_ref()) {
        let choose = "UPDATE sessions SET agent = ?2 WHERE id = ?1";
        tx.change_rows(choose, params![message.session.as_str(), agent])?;
    }
    Ok(())
}

/// Returns `None` if the chat has used the key before.
pub(crate) fn insert(tx: &Tx<'_>, message: &NewInbound) -> Result<Option<MessageId>> {
    let NewInbound { session, kind, inbound, removed, trust } = message;
    let address = &inbound.address;
    let digest = digest_of(inbound)?;
    let id = tx.insert(
        "INSERT INTO inbound (id, session, channel, account, chat, topic, chat_kind, key, sender, \
             sender_name, is_bot, kind, content, removed, state, received_at, written_at, corrects, \
             edited_at, digest, trust) \
         VALUES ((SELECT id FROM next_inbound), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
             ?13, 'queued', ?14, ?15, ?16, ?17, ?18, ?19) \
         ON CONFLICT (channel, account, chat, key) DO NOTHING",
        params![
            session.as_str(),
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            address.topic.as_ref().map(avocet_protocol::ids::TopicId::as_str),
            inbound.chat.as_str(),
            inbound.key.as_str(),
            inbound.sender.id.as_str(),
            inbound.sender.name,
            inbound.sender.is_bot,
            messages::kind_word(*kind),
            to_json(&inbound.content)?,
            removed,
            tx.now.0,
            inbound.written_at.map(|written| written.0),
            inbound.corrects.as_ref().map(DedupeKey::as_str),
            inbound.edited_at.map(|edited| edited.0),
            digest,
            trust.as_str(),
        ],
    )?;
    Ok(id.map(MessageId))
}

/// Returns `None` for platforms, which may add details to a message later. Other processes must
/// repeat it unchanged.
fn digest_of(inbound: &Inbound) -> Result<Option<String>> {
    let Inbound { address, content, from_platform, .. } = inbound;
    (!from_platform).then(|| digest::content_digest(address.topic.as_ref(), content)).transpose()
}

/// Returns the earlier message with this key, as a duplicate or as a conflicting use of the key.
fn first_copy(tx: &Tx<'_>, message: &NewInbound) -> Result<Accepted> {
    let address = &message.inbound.address;
    let digest = digest_of(&message.inbound)?;
    tx.db.query_one(
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
            let is_other = digest::is_other(known.as_deref(), digest.as_deref());
            let what = if is_other { AcceptedAs::KeyTaken } else { AcceptedAs::Duplicate };
            Ok(Accepted { id: MessageId(row.get("id")?), what })
        },
    )
}

/// Applies a new message to the open turn of its session, and returns the effect.
fn apply_to_open_turn(
    tx: &Tx<'_>,
    id: MessageId,
    message: &NewInbound,
    mode: QueueMode,
) -> Result<AcceptedAs> {
    if message.kind == InboundKind::Command {
        return Ok(AcceptedAs::Queued);
    }
    if let Some(joined) = join_message(tx, id, message)? {
        return Ok(joined);
    }
    let mut effect = AcceptedAs::Queued;
    if is_waited_for(tx)? {
        effect = effect_on_questions(tx, id, message)?;
        if matches!(effect, AcceptedAs::Answer(_) | AcceptedAs::Decision) {
            return Ok(effect);
        }
    }
    if words::asks_to_stop(tx, message)? {
        become_command(tx, id, message, "/stop")?;
        return Ok(AcceptedAs::Decision);
    }
    if mode == QueueMode::Interrupt
        && let Some(turn) = open_turn(tx, &message.session)?
    {
        let ended = cancel_turn(tx, turn, "interrupted by a newer message", None)?;
        return Ok(AcceptedAs::Interrupt(ended));
    }
    Ok(effect)
}

/// Applies a new message to the open questions of its session.
fn effect_on_questions(tx: &Tx<'_>, id: MessageId, message: &NewInbound) -> Result<AcceptedAs> {
    for question in open_questions(tx, &message.session)? {
        if words::is_asked(tx, &question, id, message)?
            && let Some(session) = answer_question(tx, &question, id, message)?
        {
            return Ok(AcceptedAs::Answer(session));
        }
    }
    match words::examine_reply(tx, id, message)? {
        Some(words::QuestionRelation::Decides(says)) => {
            become_command(tx, id, message, &says)?;
            Ok(AcceptedAs::Decision)
        }
        Some(words::QuestionRelation::Behind(question)) => Ok(AcceptedAs::Behind(question)),
        None => Ok(AcceptedAs::Queued),
    }
}

/// Makes a message the command that its plain word stands for.
fn become_command(tx: &Tx<'_>, id: MessageId, message: &NewInbound, command: &str) -> Result<()> {
    let content = Content { text: command.to_owned(), ..message.inbound.content.clone() };
    tx.update_one(
        id,
        "UPDATE inbound SET kind = 'command', content = ?2 WHERE id = ?1",
        params![id.0, to_json(&content)?],
    )
}

/// Makes a message the answer to a question. Returns the session that continues.
fn answer_question(
    tx: &Tx<'_>,
    question: &WaitBelow,
    id: MessageId,
    message: &NewInbound,
) -> Result<Option<SessionId>> {
    let turn = question.turn;
    let choice = words::meant_answer(tx, turn, &message.inbound.content)?;
    let trust = match choice {
        Some(_) => answer_trust(message).min(trust_of_options(tx, question.id)?),
        None => answer_trust(message),
    };
    let text = choice.unwrap_or_else(|| message.model_text());
    let resolution = Resolution::Answer { text, trust };
    let session = resolve_wait(tx, question.id, &resolution, DecidedBy::Person(id))?;
    tx.update_one(
        id,
        "UPDATE inbound SET turn = ?2, after_step = ?3 WHERE id = ?1",
        params![id.0, turn.0, ANSWERED],
    )?;
    Ok(session)
}

/// Returns the trust level of an answer from a person for whom the turn works.
fn answer_trust(message: &NewInbound) -> Trust {
    let content = &message.inbound.content;
    let parts = if content.has_untrusted_parts() { Trust::Low } else { Trust::Full };
    parts.min(content.quote_trust.unwrap_or_default()).min(message.trust)
}
