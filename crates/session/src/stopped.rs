//! Keeps the answer that a turn was writing when a person stops it.
//!
//! ```text
//! lock the screen    an update of the growing message ends first; then the message stays
//! hold the text      the model may go on writing, but nobody sees it
//! plan the reply     the text with a mark, in the chat of the turn
//! commit             the stop, the text as the last step, the reply    one transaction
//! end the turn       and let go of both
//! ```
//!
//! **The text comes from memory**, because the log has no unfinished answers. It is what the
//! listeners have got, and so it has passed all checks of shown text.
//!
//! **The commit comes before the end of the work**, as for every stop: a crash in between finds
//! all of it in the log. If the turn has ended by itself meanwhile, the commit leaves the answer
//! out, and the held events go on.

use std::time::Duration;

use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::clock::within;
use avocet_protocol::store::{CommandAction, StoppedAnswer};
use avocet_protocol::turn::AnswerRequest;
use tokio::sync::OwnedMutexGuard;

use crate::SessionParts;
use crate::long_reply::{ReplyText, plan_turn_reply};
use crate::preview::mark_stopped;
use crate::turn_facts::asker;

/// The longest wait for an update of the growing message. One that takes longer has an unknown
/// outcome, by which the delivery goes.
const LONGEST_UPDATE: Duration = Duration::from_secs(1);

/// Keeps an answer as it is while its stop is committed.
pub(crate) struct HeldAnswer<'p> {
    parts: &'p SessionParts,
    session: &'p SessionId,
    reply_to: Option<ChatAddress>,
    _screen: Option<OwnedMutexGuard<()>>,
}

impl HeldAnswer<'_> {
    /// Wakes the delivery of the reply.
    pub(crate) fn wake_delivery(&self) {
        self.reply_to.iter().for_each(|chat| self.parts.deliverer.wake(chat));
    }
}

impl Drop for HeldAnswer<'_> {
    fn drop(&mut self) {
        self.parts.events.resume_answer(self.session);
    }
}

/// Adds the answer that the session's turn is writing to a `/stop`. `None` if the turn writes
/// none, or if the action is another one.
pub(crate) async fn keep_answer<'p>(
    parts: &'p SessionParts,
    session: &'p SessionId,
    action: &mut CommandAction,
) -> Option<HeldAnswer<'p>> {
    let CommandAction::Stop(kept) = action else { return None };
    let turn = parts.events.open_request(session)?.turn;
    let locking = parts.running.lock_screen(turn);
    let screen = within(parts.clock.as_ref(), LONGEST_UPDATE, locking).await;
    let (request, text) = parts.events.hold_answer(session)?;
    let mut held = HeldAnswer { parts, session, reply_to: None, _screen: screen.ok().flatten() };
    let answer = plan_answer(parts, session, request, text.trim()).await?;
    held.reply_to = answer.reply.as_ref().map(|reply| reply.address.clone());
    *kept = Some(Box::new(answer));
    Some(held)
}

async fn plan_answer(
    parts: &SessionParts,
    session: &SessionId,
    request: AnswerRequest,
    text: &str,
) -> Option<StoppedAnswer> {
    let AnswerRequest { turn, step, trust } = request;
    let newest = parts.with_retry(|| parts.query.transcript(session, 1)).await;
    let newest = newest.inspect_err(|error| {
        tracing::warn!(%turn, %error, "cannot read the stopped turn; its answer is not kept");
    });
    let record = newest.ok()?.pop().filter(|newest| newest.id == turn)?;
    let reply = match asker(&record) {
        Some(to) => {
            let text = mark_stopped(text);
            plan_turn_reply(parts, &record, to, ReplyText::new(&text, trust)).await
        }
        None => None,
    };
    Some(StoppedAnswer { turn, step, text: text.to_owned(), trust, reply })
}
