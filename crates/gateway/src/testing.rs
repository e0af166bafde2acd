//! Support for tests: a daemon without parts, for a real gateway or a server in front of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answer;
mod config_file;
mod events;
mod mcp;
mod memories;
mod publish;
mod rules;
mod schedules;
mod session_servers;
mod sessions;
mod web;
mod work;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use avocet_protocol::access::{
    AccessControl, AccessError, ApprovalCard, ApprovalDecision, Approvals, ChatLink, OpenApproval,
    Pairing, Person, PersonId, Role, Trust,
};
use avocet_protocol::bus::{Deliveries, ProgramFile, PublishError};
use avocet_protocol::channel::{Attach, ForClient};
use avocet_protocol::chat::{Attachment, ChatAddress, Cursor, Inbound, Outcome, SessionId};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::daemon::{DaemonStatus, Live, LogStatus, Report};
use avocet_protocol::ids::{DeliveryId, MessageId, TurnId, WaitId};
use avocet_protocol::memory::{
    Consolidate, ConsolidateError, ConsolidateRequest, ConsolidationReport,
};
use avocet_protocol::model::ProviderNames;
use avocet_protocol::store::{
    BranchSession, ChangeSession, DeliveredText, History, HistoryAuthor, HistoryHit, HistoryQuery,
    MemoryScope, MessageStatus, Query, SentState, SessionFilter, SessionGroup, SessionRow,
    SessionStatus, SessionSummary, StoreError, Total, TranscriptPage, UsageBy, UsageRow,
    WideHistoryQuery,
};
use avocet_protocol::turn::{
    Origin, SessionReports, TurnEvent, TurnEvents, TurnRecord, TurnState, Undelivered,
};
use avocet_text::{Redactor, Secret};
use parking_lot::Mutex;
use serde_json::json;

pub use answer::FakeAnswer;
pub use events::EventMemory;
pub use session_servers::GivenServers;
pub use sessions::BUSY;
pub use web::{TAKEN_PORT, UPLOAD_LIMIT, UploadMemory};
pub use work::{DEAD, JOB};

use crate::{AgentSummary, GatewayParts, MAX_LINE_BYTES};

/// A secret in the arguments of a call, which lists have to hide.
pub const KEY: &str = "correct horse";

/// The session that has a turn.
#[must_use]
pub fn session() -> SessionId {
    SessionId::parse("terminal:local:a").unwrap()
}

/// A fake daemon behind a real gateway.
#[derive(Debug, Default)]
pub struct FakeDaemon {
    /// The published messages, with repetitions.
    pub asked: Mutex<Vec<Inbound>>,
    /// The cursors of published and ignored messages.
    pub cursors: Mutex<Vec<Option<Cursor>>>,
    /// The chats and keys of messages that were taken back.
    pub withdrawn: Mutex<Vec<(String, String)>>,
    /// If set, publishing signals its start and waits for permission.
    pub slow: Mutex<Option<(flume::Sender<()>, flume::Receiver<()>)>>,
    /// If set, every second message takes long to store.
    pub is_uneven: AtomicBool,
    /// If set, publishing fails with this error.
    pub refusal: Mutex<Option<PublishError>>,
    /// The outcome of the message `m1`.
    pub outcome: Mutex<Option<Outcome>>,
    /// The status; if unset, the log is closed.
    pub status: Mutex<Option<DaemonStatus>>,
    /// The subscribers of turn events, of any session.
    pub listeners: Mutex<Vec<flume::Sender<TurnEvent>>>,
    /// The number of listeners that asked for thoughts.
    pub with_thoughts: Mutex<usize>,
    /// The clients that attached to a chat.
    pub attached: Mutex<Vec<flume::Sender<ForClient>>>,
    /// The sessions of the subscribers.
    pub heard: Mutex<Vec<SessionId>>,
    /// The text of the configuration file.
    pub config: Mutex<String>,
    /// The event log.
    pub log: EventMemory,
    /// The number of calls of `web.sign_out`.
    pub signed_out: Mutex<u32>,
    /// The uploads of the web console.
    pub uploads: UploadMemory,
    /// The descriptions of the files of programs.
    pub program_files: Mutex<Vec<ProgramFile>>,
    /// Changes of the answer to the message `m1`.
    pub answer: Mutex<FakeAnswer>,
    /// The branches of sessions.
    pub branches: Mutex<Vec<BranchSession>>,
    /// The changed labels of sessions.
    pub labels: Mutex<Vec<ChangeSession>>,
    /// The servers that clients gave to sessions.
    pub given: Mutex<Vec<GivenServers>>,
}

impl FakeDaemon {
    /// Returns the fake behind every port.
    #[must_use]
    pub fn parts(
        self: &Arc<Self>,
        clock: Arc<dyn Clock>,
        deliveries: Arc<dyn Deliveries>,
    ) -> GatewayParts {
        let local = ("terminal".parse().unwrap(), "local".parse().unwrap());
        GatewayParts {
            publish: self.clone(),
            access: self.clone(),
            mcp: self.clone(),
            memories: self.clone(),
            mirror: None,
            ask_json: self.clone(),
            consolidate: self.clone(),
            query: self.clone(),
            history: self.clone(),
            config: self.clone(),
            report: self.clone(),
            events: self.clone(),
            event_log: self.clone(),
            deliveries,
            approvals: self.clone(),
            jobs: self.clone(),
            tasks: self.clone(),
            stop: self.clone(),
            dead_letters: self.clone(),
            deletion: self.clone(),
            branches: self.clone(),
            labels: self.clone(),
            options: self.clone(),
            session_servers: self.clone(),
            schedules: self.clone(),
            rules: self.clone(),
            web: self.clone(),
            uploads: self.clone(),
            program_files: self.clone(),
            addresses: self.clone(),
            workspaces: self.clone(),
            clock,
            redactor: Arc::new(Redactor::new([Secret::new(KEY.to_owned())])),
            providers: ProviderNames::default(),
            agents: Live::new(
                ["default", "builder"]
                    .map(|name| AgentSummary::new(name, Some("You work. Be brief."))),
            ),
            editors: Arc::default(),
            attach: [(local, self.clone() as Arc<dyn Attach>)].into(),
        }
    }
}

#[async_trait]
impl Approvals for FakeDaemon {
    async fn open(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError> {
        self.open_approvals(limit, after).await
    }
    async fn decide(&self, wait: WaitId, decision: ApprovalDecision) -> Result<bool, StoreError> {
        Ok(wait == WaitId(7) && decision == ApprovalDecision::ForSession)
    }
}

#[async_trait]
impl Query for FakeDaemon {
    async fn open_approvals(
        &self,
        _: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError> {
        if after.is_some() {
            return Ok(Vec::new());
        }
        let command = format!("curl -H 'key: {KEY}'\u{e0078}");
        let mut card = ApprovalCard::from_call("exec_shell", false);
        card.text.push_str(&format!(" The key is {KEY}\u{e0078}."));
        Ok(vec![OpenApproval {
            id: WaitId(7),
            session: session(),
            chat: None,
            tool: "exec_shell".to_owned(),
            arguments: serde_json::Map::from_iter([("command".to_owned(), json!(command))]),
            grant: None,
            expires_at: Timestamp(5),
            card,
        }])
    }
    async fn log_status(&self) -> Result<LogStatus, StoreError> {
        Ok(LogStatus::default())
    }
    async fn sessions_of(
        &self,
        group: Option<SessionGroup>,
        limit: u32,
        after: Option<&SessionRow>,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        Ok(sessions::summaries(group, limit, after))
    }
    async fn transcript_page(
        &self,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let turn = TurnRecord {
            id: TurnId(1),
            session: session.clone(),
            state: TurnState::Done,
            started_at: Timestamp(0),
            origin: Origin::Messages(Vec::new()),
            steps: Vec::new(),
            notice: Some(format!("{KEY} {}", "x".repeat(3 * 1024 * 1024))),
            undelivered: Undelivered::default(),
            recalled: Vec::new(),
            reports: SessionReports::default(),
        };
        Ok(if page.before.is_some() { Vec::new() } else { vec![turn] })
    }
    async fn sent(
        &self,
        _: &SessionId,
        _: u32,
        before: Option<DeliveryId>,
    ) -> Result<Vec<DeliveredText>, StoreError> {
        let text = format!("the key is {KEY}");
        let (delivery, state, is_plain) = (DeliveryId(8), SentState::Sent, false);
        let sent = DeliveredText { delivery, at: Timestamp(5), text, state, is_plain };
        Ok(if before.is_some() { Vec::new() } else { vec![sent] })
    }
    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>, StoreError> {
        Ok((id == MessageId(1)).then(|| self.first_message()))
    }
    async fn sent_files(&self, _: &SessionId, turn: TurnId) -> Result<Vec<Attachment>, StoreError> {
        Ok(if turn == TurnId(1) { web::sent_files() } else { Vec::new() })
    }
    async fn received_files(
        &self,
        _: &SessionId,
        message: MessageId,
    ) -> Result<(Option<TurnId>, Vec<Attachment>), StoreError> {
        Ok(web::received_files(message))
    }
    async fn session_status(&self, _: &SessionId) -> Result<SessionStatus, StoreError> {
        Err(StoreError::Closed)
    }
    async fn usage_page(
        &self,
        by: UsageBy,
        since: Timestamp,
        _: u32,
        _: u32,
    ) -> Result<Vec<UsageRow>, StoreError> {
        let of = format!("{} since {}", by.as_str(), since.0);
        Ok(vec![UsageRow { of, answers: 3, total: Total { unpriced: 7, ..Total::default() } }])
    }
}

/// Each conversation contains a text with a secret.
#[async_trait]
impl History for FakeDaemon {
    async fn search_history(&self, _: &HistoryQuery) -> Result<Vec<HistoryHit>, StoreError> {
        Ok(Vec::new())
    }
    async fn search_all_history(
        &self,
        query: &WideHistoryQuery,
    ) -> Result<Vec<HistoryHit>, StoreError> {
        let hit = HistoryHit {
            session: session(),
            turn: TurnId(1),
            at: Timestamp(5),
            author: HistoryAuthor::Agent,
            text: format!("{} the {} is {KEY}", "x ".repeat(300), query.words),
            trust: Trust::Full,
        };
        let is_searched = query.sessions.as_ref().is_none_or(|SessionFilter(of)| of(&hit.session));
        Ok(if is_searched { vec![hit] } else { Vec::new() })
    }
}

/// Has used up its budget.
#[async_trait]
impl Consolidate for FakeDaemon {
    async fn consolidate(
        &self,
        _: &ConsolidateRequest,
    ) -> Result<Vec<ConsolidationReport>, ConsolidateError> {
        Err(ConsolidateError::Budget("the budget is spent".to_owned()))
    }

    async fn consolidate_due(
        &self,
        _: &MemoryScope,
    ) -> Result<ConsolidationReport, ConsolidateError> {
        Err(ConsolidateError::Runs(0))
    }
}

#[async_trait]
impl Report for FakeDaemon {
    async fn report(&self) -> Result<DaemonStatus, StoreError> {
        self.status.lock().clone().ok_or(StoreError::Closed)
    }

    async fn model_of(&self, session: &SessionId) -> Result<String, StoreError> {
        Ok(format!("model-of/{session}"))
    }
}

/// Has no people, and knows the codes `K7QX-M2PA` and `HUGE`.
#[async_trait]
impl AccessControl for FakeDaemon {
    fn pairings(&self) -> Vec<Pairing> {
        Vec::new()
    }
    async fn approve(&self, code: &str, role: Role) -> Result<Person, AccessError> {
        let id = "telegram:main:8".parse().unwrap();
        match code {
            "K7QX-M2PA" => Ok(Person { id, name: None, role, since: None }),
            "HUGE" => Ok(Person { id, name: Some("x".repeat(MAX_LINE_BYTES)), role, since: None }),
            other => Err(AccessError::UnknownCode(other.parse()?)),
        }
    }
    async fn deny(&self, code: &str) -> Result<Pairing, AccessError> {
        Err(AccessError::UsedCode(code.parse()?, "approved"))
    }
    fn people(&self) -> Vec<Person> {
        Vec::new()
    }
    async fn remove_person(&self, _: &PersonId) -> Result<(), AccessError> {
        Ok(())
    }
    fn links(&self) -> Vec<ChatLink> {
        let chat = "terminal:local:linked".parse().unwrap();
        vec![ChatLink { chat, session: session() }]
    }
    async fn link(&self, _: &ChatAddress, _: &ChatAddress) -> Result<ChatLink, AccessError> {
        Err(AccessError::Log(StoreError::Closed))
    }
    async fn unlink(&self, chat: &ChatAddress) -> Result<ChatLink, AccessError> {
        Err(AccessError::NotLinked(chat.clone()))
    }
}

impl TurnEvents for FakeDaemon {
    fn emit(&self, _: &SessionId, event: TurnEvent) {
        let listeners = self.listeners.lock();
        listeners.iter().for_each(|listener| drop(listener.try_send(event.clone())));
    }
    fn subscribe(&self, to: &SessionId) -> flume::Receiver<TurnEvent> {
        self.heard.lock().push(to.clone());
        let (listener, events) = flume::bounded(8);
        self.listeners.lock().push(listener);
        events
    }
    fn subscribe_with_thoughts(&self, to: &SessionId) -> flume::Receiver<TurnEvent> {
        *self.with_thoughts.lock() += 1;
        self.subscribe(to)
    }
}

impl Attach for FakeDaemon {
    fn attach(&self, _: &ChatAddress) -> flume::Receiver<ForClient> {
        let (sender, handovers) = flume::bounded(1);
        self.attached.lock().push(sender);
        handovers
    }
}
