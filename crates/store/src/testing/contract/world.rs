//! Helpers of the rules.

use std::time::Duration;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    ChatAddress, Content, Cursor, Delivery, Inbound, InboundKind, LoggedInbound, NewInbound,
    Outcome, Planned, Sender, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, DedupeKey, MessageId, TurnId, WaitId};
use avocet_protocol::model::{Arguments, ToolCall, Usage};
use avocet_protocol::store::{
    Accepted, AcceptedAs, Answer, Claim, Claimed, NewStep, NewWait, SettledTurn, Settlement,
    StoreError, Suspects,
};
use avocet_protocol::tool::{ToolClass, WaitKind};
use avocet_protocol::turn::{AnswerEnding, CallResult, CallState, TurnRecord};
use serde_json::{Map, json};

use super::{Backend, Ports};

/// A log with a running daemon.
pub(super) struct World<'b> {
    backend: &'b dyn Backend,
    pub(super) ports: Ports,
}

impl<'b> World<'b> {
    pub(super) async fn new(backend: &'b impl Backend) -> Self {
        Self { backend, ports: backend.start().await }
    }

    /// Kills the daemon like `kill -9` and starts it again.
    pub(super) async fn restart(self) -> Self {
        drop(self.ports);
        self.backend.kill().await;
        Self { backend: self.backend, ports: self.backend.start().await }
    }

    pub(super) async fn accept(&self, message: &NewInbound) -> Accepted {
        self.ports.inbox.accept(message, None).await.unwrap()
    }

    /// Accepts a text message, which waits in its lane.
    pub(super) async fn say(&self, session: &SessionId, text: &str) -> MessageId {
        let accepted = self.accept(&message(session, text, InboundKind::Text)).await;
        assert_eq!(accepted.what, AcceptedAs::Queued, "{text}");
        accepted.id
    }

    pub(super) async fn command(&self, session: &SessionId, text: &str) -> MessageId {
        self.accept(&message(session, text, InboundKind::Command)).await.id
    }

    pub(super) async fn claim(&self, session: &SessionId) -> Claim {
        self.ports.turns.claim(session, Suspects::Exclude, Duration::ZERO).await.unwrap()
    }

    /// Claims the next turn, also a suspect.
    pub(super) async fn take(&self, session: &SessionId) -> TurnRecord {
        taken(self.ports.turns.claim(session, Suspects::Include, Duration::ZERO).await.unwrap())
            .turn
    }

    /// Makes the call wait, under a reserved id.
    pub(super) async fn wait(&self, wait: &NewWait) -> WaitId {
        let id = self.ports.turns.reserve_wait().await.unwrap();
        self.ports.turns.wait(&[NewWait { id, ..wait.clone() }]).await.unwrap();
        id
    }

    pub(super) async fn texts(&self, session: &SessionId) -> Vec<String> {
        let turn = self.take(session).await;
        let texts = turn.origin.messages().iter().map(LoggedInbound::model_text).collect();
        self.reply(turn.id, "ok").await;
        texts
    }

    /// Records a step with calls of these tools.
    pub(super) async fn step(&self, turn: TurnId, number: u32, tools: &[&str]) -> Vec<CallId> {
        self.record_step(turn, new_step(number, tools)).await.unwrap();
        (0..).zip(tools).map(|(ordinal, _)| CallId { turn, step: number, ordinal }).collect()
    }

    pub(super) async fn record_step(&self, turn: TurnId, step: NewStep) -> Result<(), StoreError> {
        self.ports.log.record_step(turn, &step).await
    }

    pub(super) async fn start(&self, call: CallId, class: ToolClass) {
        self.ports.log.start_call(call, class, None).await.unwrap();
    }

    pub(super) async fn finish(&self, call: CallId) {
        self.ports.log.finish_call(call, &good(), None, &[]).await.unwrap();
    }

    pub(super) async fn reply(&self, turn: TurnId, text: &str) {
        self.settle(turn, &reply(text)).await.unwrap();
    }

    pub(super) async fn settle(
        &self,
        turn: TurnId,
        settlement: &Settlement,
    ) -> Result<SettledTurn, StoreError> {
        self.ports.turns.settle(turn, settlement).await
    }

    pub(super) async fn outcome(&self, message: MessageId) -> Option<Outcome> {
        self.ports.query.message(message).await.unwrap().unwrap().outcome
    }

    pub(super) async fn turn(&self, session: &SessionId) -> TurnRecord {
        self.ports.query.transcript(session, 1).await.unwrap().remove(0)
    }

    pub(super) async fn call_state(&self, session: &SessionId, call: CallId) -> CallState {
        let turn = self.turn(session).await;
        turn.steps[call.step as usize].calls[call.ordinal as usize].state.clone()
    }

    /// Sends everything for the chat successfully, and returns it in order.
    pub(super) async fn deliveries(&self, chat: &ChatAddress) -> Vec<Delivery> {
        let mut sent = Vec::new();
        while let Some(head) = self.ports.outbox.head(chat).await.unwrap() {
            let delivery = head.delivery;
            self.ports.outbox.start(delivery.id, false).await.unwrap();
            let receipt = avocet_protocol::chat::Receipt { platform_id: None };
            let end = avocet_protocol::store::SendEnd::Sent(receipt);
            self.ports.outbox.finish(delivery.id, &end).await.unwrap();
            sent.push(delivery);
        }
        sent
    }

    pub(super) async fn delivered_texts(&self, session: &SessionId) -> Vec<String> {
        let deliveries = self.deliveries(&session.address()).await;
        deliveries.into_iter().map(|delivery| delivery.content.text).collect()
    }
}

pub(super) fn session(name: &str) -> SessionId {
    SessionId::parse(&format!("terminal:local:{name}")).unwrap()
}

/// A wait without a reserved id.
pub(super) fn new_wait(call: CallId, kind: WaitKind, expires_at: Timestamp) -> NewWait {
    NewWait::new(WaitId(0), call, kind, expires_at)
}

/// A message whose key is its text.
pub(super) fn message(session: &SessionId, text: &str, kind: InboundKind) -> NewInbound {
    NewInbound {
        session: session.clone(),
        kind,
        inbound: Inbound::new(
            session.address(),
            Sender::new("user".parse().unwrap()),
            DedupeKey::parse(&text.replace('/', "command ")).unwrap(),
            Content::text(text),
        ),
        removed: 0,
        trust: Trust::Full,
    }
}

pub(super) fn cursor(position: &str) -> Cursor {
    Cursor { scope: String::new(), position: position.to_owned() }
}

pub(super) fn taken(claim: Claim) -> Claimed {
    match claim {
        Claim::Turn(claimed) => *claimed,
        other => panic!("no turn to take but {other:?}"),
    }
}

pub(super) fn call(name: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::Object(Map::new()) }
}

/// A step with calls of these tools.
pub(super) fn new_step(number: u32, tools: &[&str]) -> NewStep {
    NewStep {
        number,
        text: "let me see".to_owned(),
        ending: AnswerEnding::Complete,
        calls: tools.iter().map(|name| call(name)).collect(),
        written: None,
        reasoning: None,
        usage: Usage::new(10, 1),
        trust: Trust::Full,
        spent: Vec::new(),
    }
}

pub(super) fn good() -> CallResult {
    CallResult::ok(json!("done"))
}

pub(super) fn planned(session: &SessionId, chunks: &[&str]) -> Planned {
    let chunks = chunks.iter().map(|text| Content::text(*text)).collect();
    Planned { address: session.address(), chunks }
}

/// The end of a turn, with a reply in the chat of session `a`.
pub(super) fn reply(text: &str) -> Settlement {
    Settlement {
        answer: Some(Answer {
            step: 99,
            text: text.to_owned(),
            ending: AnswerEnding::Complete,
            usage: Usage::default(),
            trust: Trust::Full,
        }),
        reply: Some(planned(&session("a"), &[text])),
        ..Settlement::new(Outcome::Replied)
    }
}

pub(super) fn failure(notice: &str) -> Settlement {
    Settlement {
        notice: Some(notice.to_owned()),
        reply: Some(planned(&session("a"), &[notice])),
        ..Settlement::new(Outcome::Error)
    }
}
