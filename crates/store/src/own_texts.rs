//! Texts of the agent that come back from a chat: the text of a pressed button, a chosen option of a
//! question, a quoted answer. They are as trusted as what the agent had read when it wrote them, and
//! the person who sends them has typed none of them.

use std::borrow::Cow;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Quote};
use avocet_protocol::ids::{PlatformId, TurnId, WaitId};
use rusqlite::params;

use crate::rows;
use crate::tx::{Db, Result, Tx};

/// The newest messages of the daemon among which one is looked up by its id.
const SEARCHED: i64 = 20_000;

/// Returns a new message with the trust of the agent's texts in it.
pub(crate) fn judge_own_texts<'m>(
    tx: &Tx<'_>,
    message: &'m NewInbound,
) -> Result<Cow<'m, NewInbound>> {
    let content = &message.inbound.content;
    let is_chosen = content.by_button && message.kind == InboundKind::Text;
    let quoted = match (&content.quote, &content.quoted) {
        (Some(Quote { from: None, .. }), Some(quoted)) => Some(quoted),
        _ => None,
    };
    if !is_chosen && quoted.is_none() {
        return Ok(Cow::Borrowed(message));
    }
    let chosen = match &content.pressed {
        _ if !is_chosen => Trust::Full,
        Some(pressed) => trust_of_sent(tx, &message.inbound, pressed)?.unwrap_or(Trust::Low),
        None => Trust::Low,
    };
    let quote_trust = match quoted {
        Some(quoted) => trust_of_sent(tx, &message.inbound, quoted)?,
        None => None,
    };
    let content = Content { quote_trust, ..content.clone() };
    let inbound = Inbound { content, ..message.inbound.clone() };
    let trust = message.trust.min(chosen);
    Ok(Cow::Owned(NewInbound { inbound, trust, ..message.clone() }))
}

/// Returns the trust with which the agent wrote the options of a question.
pub(crate) fn trust_of_options(tx: &Tx<'_>, question: WaitId) -> Result<Trust> {
    let asked = "SELECT turn, step FROM waits WHERE id = ?1";
    let (turn, step) =
        tx.db.query_one(asked, [question.0], |row| Ok((TurnId(row.get(0)?), row.get(1)?)))?;
    Ok(trust_of_texts(tx.db, turn, Some(step))?.unwrap_or(Trust::Low))
}

/// Returns the trust with which the agent wrote a message of the chat; `None` if the log has no such
/// message, or if no model has written it.
fn trust_of_sent(tx: &Tx<'_>, inbound: &Inbound, sent: &PlatformId) -> Result<Option<Trust>> {
    let address = &inbound.address;
    let turn = tx.db.query_row(
        "SELECT turn FROM outbox WHERE channel = ?1 AND account = ?2 AND chat = ?3 \
             AND platform_id = ?4 AND turn IS NOT NULL \
             AND id > (SELECT max(id) FROM outbox) - ?5 ORDER BY id DESC LIMIT 1",
        params![
            address.channel.as_str(),
            address.account.as_str(),
            address.chat.as_str(),
            sent.as_str(),
            SEARCHED,
        ],
        |row| row.get(0).map(TurnId),
    )?;
    turn.map_or(Ok(None), |turn| trust_of_texts(tx.db, turn, None))
}

/// Returns the least trust of the requests in which a model wrote the texts of a turn, up to a step. A
/// request whose content an owner has declared trusted is trusted. `None` without a request.
fn trust_of_texts(db: Db<'_>, turn: TurnId, last: Option<u32>) -> Result<Option<Trust>> {
    let levels = db.query_rows(
        "SELECT CASE WHEN believed_turn > steps.turn OR (believed_turn = steps.turn \
                 AND coalesce(believed_step, -1) >= number - 1) THEN 'full' ELSE trust END AS trust \
         FROM steps JOIN turns ON turns.id = steps.turn JOIN sessions ON sessions.id = turns.session \
         WHERE steps.turn = ?1 AND number <= coalesce(?2, number)",
        params![turn.0, last],
        |row| rows::trust_column(row, "trust"),
    )?;
    Ok(levels.into_iter().min())
}
