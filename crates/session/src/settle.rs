//! From how a turn ended to its last transaction (T5), or to the one that makes it wait.

use std::sync::Arc;

use avocet_agent::TurnEnd;
use avocet_protocol::{
    Answer, CallId, Content, Deliveries, Destinations, LogWrite, LoggedInbound, NewWait, Outcome,
    Planned, Roles, SessionId, Settlement, StoreError, TurnEvent, TurnEvents, TurnRecord, WaitKind,
    WaitRequest,
};

use crate::lane::{Lanes, asker, chat_of};
use crate::patient::Said;

/// How a turn came to its end, or stops for now.
pub(crate) enum Ending {
    /// As the agent says.
    Agent(Box<TurnEnd>),
    /// Processes died under it too often.
    Poison { attempts: u32 },
    /// Nobody whom it answers may speak any more, and they have been told.
    NothingAdmitted,
    /// Something happened that cannot happen, and this is what.
    Bug(String),
}

impl Lanes {
    /// Writes the end into the log and wakes whoever has something to do because of it.
    pub(crate) async fn settle(
        self: &Arc<Self>,
        turn: &TurnRecord,
        ending: Ending,
    ) -> Result<(), StoreError> {
        let settlement = match ending {
            Ending::Agent(end) => match *end {
                TurnEnd::Waiting { call, request } => {
                    return self.wait(turn, call, request).await;
                }
                TurnEnd::Answered(answer) => self.reply(turn, answer).await?,
                TurnEnd::Failed(notice) => self.notice(turn, Outcome::Error, notice),
            },
            Ending::Poison { attempts } => {
                self.notice(turn, Outcome::Dropped, poison_notice(turn, attempts))
            }
            Ending::Bug(error) => {
                let notice = format!("I could not answer because of an internal error: {error}.");
                self.notice(turn, Outcome::Error, notice)
            }
            Ending::NothingAdmitted => Settlement {
                outcome: Outcome::Dropped,
                answer: None,
                notice: Some("whoever wrote this may no longer speak here".to_owned()),
                reply: None,
            },
        };
        let settle = || {
            self.running.sign(turn.id);
            self.parts.turns.settle(turn.id, &settlement)
        };
        let parent = self.patiently(settle).await?;
        tracing::debug!(turn = %turn.id, outcome = settlement.outcome.word(), "settled");
        if let Some(chat) = chat_of(turn) {
            self.parts.deliverer.wake(chat);
        }
        if let Some(parent) = parent {
            self.wake(parent);
        }
        let messages = turn.origin.messages().iter().map(|message| message.id).collect();
        let ended = TurnEvent::Ended { turn: Some(turn.id), messages, outcome: settlement.outcome };
        self.parts.events.emit(&turn.session, ended);
        Ok(())
    }

    async fn reply(&self, turn: &TurnRecord, answer: Answer) -> Result<Settlement, StoreError> {
        let mut settlement =
            Settlement { outcome: Outcome::Replied, answer: None, notice: None, reply: None };
        if let Some(to) = asker(turn) {
            let chat = &to.message.inbound.address;
            // A turn without a step has called nothing, and so sent nothing.
            let sent = match answer.step {
                0 => Vec::new(),
                _ => self.parts.agents.agents.default().run.log.sent_texts(turn.id, chat).await?,
            };
            let planned = self.plan(to, &Content::text(&answer.text));
            // What was sent was planned by the same channel: compared is what the chat shows.
            let shown = planned.as_ref().map(shown_text).unwrap_or_default();
            if sent.iter().any(|sent| same_words(sent, &shown)) {
                tracing::debug!(turn = %turn.id, "the message tool has said it already");
                self.retract_preview(turn, chat).await;
            } else {
                settlement.reply = planned;
            }
        }
        settlement.answer = Some(answer);
        Ok(settlement)
    }

    fn notice(&self, turn: &TurnRecord, outcome: Outcome, notice: String) -> Settlement {
        let reply = asker(turn).and_then(|to| self.plan(to, &Content::text(&notice)));
        Settlement { outcome, answer: None, notice: Some(notice), reply }
    }

    async fn wait(
        self: &Arc<Self>,
        turn: &TurnRecord,
        call: CallId,
        request: WaitRequest,
    ) -> Result<(), StoreError> {
        let spawns = request.writes.iter().any(|write| matches!(write, LogWrite::Spawn { .. }));
        // A child asks where the turn at the root was asked.
        let root = self.asked_by(turn).await?;
        let to = asker(turn).or(root.last());
        let prompt = to.zip(request.prompt.as_ref());
        let prompt = prompt.and_then(|(to, prompt)| self.plan(to, prompt));
        let notices = match request.kind {
            WaitKind::Approval => self.tell_owners(to, request.prompt.as_deref()),
            WaitKind::Answer | WaitKind::Child | WaitKind::Choice => Vec::new(),
        };
        let wait = NewWait {
            call,
            kind: request.kind,
            expires_at: self.parts.clock.now().after(request.expires_after),
            prompt,
            notices,
            writes: request.writes,
            grant: request.grant,
            shown: request.shown,
        };
        let said = Said { deliverer: &self.parts.deliverer, writes: &wait.writes };
        let begin = || {
            self.running.sign(turn.id);
            self.parts.turns.wait(&wait)
        };
        let id = self.patiently(begin).await?;
        drop(said);
        tracing::debug!(turn = %turn.id, wait = %id, kind = wait.kind.word(), "the turn waits");
        self.parts.events.emit(&turn.session, TurnEvent::Waiting { kind: wait.kind });
        self.new_wait.notify_one();
        let said = wait.prompt.iter().chain(&wait.notices);
        said.for_each(|planned| self.parts.deliverer.wake(&planned.address));
        if spawns {
            self.wake(SessionId::of_child(call));
        }
        Ok(())
    }
}

impl Lanes {
    /// What owners are told in private where nobody who is asked may decide.
    fn tell_owners(&self, asked: Option<&LoggedInbound>, prompt: Option<&Content>) -> Vec<Planned> {
        let roles = &self.parts.bus;
        let asked = asked.map(|message| &message.message.inbound);
        let Some(prompt) = prompt else { return Vec::new() };
        if asked.is_some_and(|inbound| roles.is_owners(inbound)) {
            return Vec::new();
        }
        let place = asked.map_or_else(
            || "A turn without a chat asks:".to_owned(),
            |inbound| format!("In `{}` I was asked by `{}`:", inbound.address, inbound.sender.id),
        );
        let told = Content { text: format!("{place}\n\n{}", prompt.text), ..prompt.clone() };
        let chats = roles.owners_chats().into_iter();
        chats.filter_map(|chat| self.parts.channels.plan(&chat, &told).ok()).collect()
    }
}

/// The text of a message, chunk behind chunk, as `TurnLog::sent_texts` gives it.
fn shown_text(planned: &Planned) -> String {
    planned.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

/// The same text, however it is broken into lines.
fn same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

fn poison_notice(turn: &TurnRecord, attempts: u32) -> String {
    let texts: Vec<String> = turn
        .origin
        .messages()
        .iter()
        .map(|message| format!("“{}”", message.model_text().chars().take(200).collect::<String>()))
        .collect();
    format!(
        "I dropped this message because I crashed {attempts} times while working on it: {}. \
         Send it again if it should be tried once more.",
        texts.join(", ")
    )
}
