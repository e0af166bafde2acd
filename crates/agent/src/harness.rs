//! Test helper: an agent on a real log whose model gives scripted answers.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use avocet_protocol::access::{PermissionMode, Trust};
use avocet_protocol::chat::{
    Attachment, Content, Inbound, InboundKind, LoggedInbound, NewInbound, Outcome, Sender,
    SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, WaitId};
use avocet_protocol::model::{Message, Usage};
use avocet_protocol::store::{
    Answer, Claim, Inbox, NewWait, Query, Settlement, StoreError, Suspects, Turns,
};
use avocet_protocol::tool::{Verdict, WaitRequest};
use avocet_protocol::turn::{AnswerEnding, TurnRecord};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{
    FakeAttachments, FakeFiles, FakeRecall, FakeRoles, FakeSkills, FakeToolbox, ManualClock,
    RecordedEvents, Scripted, ScriptedModel,
};
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::agent_loop::next_step;
use crate::{
    AgentLimits, AgentLogs, AgentLoop, AgentModels, AgentRecall, AgentRules, CallWait, Compaction,
    CoreTools, JobPlan, Marks, ModelsByTask, PromptSettings, RenderedTurns, TurnContext, TurnEnd,
    UsageMeter,
};

pub(crate) struct AgentHarness {
    pub(crate) agent: AgentLoop,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) tools: Arc<FakeToolbox>,
    pub(crate) events: Arc<RecordedEvents>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) files: Arc<FakeFiles>,
    pub(crate) recall: Arc<FakeRecall>,
    pub(crate) skills: Arc<FakeSkills>,
    pub(crate) log: TempStore,
    /// The program's own steps in the next turns.
    pub(crate) job: JobPlan,
    said: AtomicUsize,
}

impl AgentHarness {
    pub(crate) async fn new(answers: Vec<Scripted>) -> Self {
        Self::verifying(answers, Verdict::Unknown).await
    }

    pub(crate) async fn verifying(answers: Vec<Scripted>, verdict: Verdict) -> Self {
        log_to_threads();
        let log = TempStore::new();
        let clock = Arc::new(ManualClock::default());
        let store = log.open(clock.clone()).await;
        let model = Arc::new(ScriptedModel::new(answers));
        let tools = Arc::new(FakeToolbox::verifying(verdict));
        let events = Arc::new(RecordedEvents::default());
        let files = Arc::new(FakeFiles::default());
        let skills = Arc::new(FakeSkills::default());
        let mut agent = agent(&model, &tools, &store, &events, &files, &skills, &clock);
        let recall = Arc::new(FakeRecall::default());
        agent.recall.recall = recall.clone();
        let (said, job) = (AtomicUsize::default(), JobPlan::default());
        Self { agent, model, tools, events, clock, store, files, recall, skills, log, job, said }
    }

    pub(crate) async fn say(&self, text: &str) {
        self.say_with(text, Vec::new()).await;
    }

    pub(crate) async fn say_with(&self, text: &str, attachments: Vec<Attachment>) {
        let mut message = self.message(text);
        message.inbound.content.attachments = attachments;
        self.store.accept(&message, None).await.unwrap();
    }

    /// Creates a message with a new key.
    pub(crate) fn message(&self, text: &str) -> NewInbound {
        let number = self.said.fetch_add(1, Ordering::Relaxed);
        let inbound = Inbound::new(
            session().address(),
            Sender::new("me".parse().unwrap()),
            format!("k{number}").parse().unwrap(),
            Content::text(text),
        );
        NewInbound {
            session: session(),
            kind: InboundKind::Text,
            inbound,
            removed: 0,
            trust: Trust::Full,
        }
    }

    /// Lets the turn wait, as the code that runs turns does.
    pub(crate) async fn wait(&self, call: CallId, request: WaitRequest) -> WaitId {
        let WaitRequest { kind, writes, grant, shown, .. } = request;
        let id = self.store.reserve_wait().await.unwrap();
        let wait = NewWait::new(id, call, kind, Timestamp(i64::MAX));
        self.store.wait(&[NewWait { writes, grant, shown, ..wait }]).await.unwrap();
        id
    }

    pub(crate) async fn claim(&self) -> TurnRecord {
        self.claim_in(&session()).await
    }

    pub(crate) async fn claim_in(&self, session: &SessionId) -> TurnRecord {
        match self.store.claim(session, Suspects::Include, Duration::ZERO).await.unwrap() {
            Claim::Turn(claimed) => claimed.turn,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn run(&self, turn: TurnRecord) -> Result<TurnEnd, StoreError> {
        self.run_in(turn, Vec::new()).await
    }

    pub(crate) async fn run_in(
        &self,
        turn: TurnRecord,
        asked_by: Vec<LoggedInbound>,
    ) -> Result<TurnEnd, StoreError> {
        let meter = meter(&turn);
        let end = self.run_with(turn, asked_by, &meter).await;
        // The lane records the rest with the end of the turn.
        meter.record(self.store.as_ref()).await?;
        end
    }

    pub(crate) async fn run_with(
        &self,
        turn: TurnRecord,
        asked_by: Vec<LoggedInbound>,
        meter: &UsageMeter,
    ) -> Result<TurnEnd, StoreError> {
        self.agent.run_tool_loop(turn, &self.turn_context(asked_by), meter).await
    }

    pub(crate) fn turn_context(&self, asked_by: Vec<LoggedInbound>) -> TurnContext {
        TurnContext {
            chat: Some(session().address()),
            cancel: CancellationToken::new(),
            asked_by,
            agent: "default".to_owned(),
            within: Vec::new(),
            skills_above: [].into(),
            roles: Arc::new(FakeRoles),
            grants: [].into(),
            bits: None,
            mode: PermissionMode::Default,
            job: self.job.clone(),
        }
    }

    /// Summarises the session as `/compact` does.
    pub(crate) async fn compact(&self) -> Result<Compaction, StoreError> {
        let meter = UsageMeter::new(None, session());
        self.agent.compact(&session(), &FakeRoles, &meter).await
    }

    /// Runs the next turn of the session to its end.
    pub(crate) async fn turn(&self, text: &str) -> TurnEnd {
        self.say(text).await;
        let turn = self.claim().await;
        self.run(turn).await.unwrap()
    }

    pub(crate) async fn fail(&self, notice: &str) {
        let turn = self.record().await;
        let (outcome, notice) = (Outcome::Error, Some(notice.to_owned()));
        let settlement = Settlement { notice, ..Settlement::new(outcome) };
        self.store.settle(turn.id, &settlement).await.unwrap();
    }

    pub(crate) async fn settle(&self, text: &str) {
        let turn = self.record().await;
        let settlement = Settlement {
            answer: Some(Answer {
                step: next_step(&turn),
                text: text.to_owned(),
                ending: AnswerEnding::Complete,
                usage: Usage::default(),
                trust: Trust::Full,
            }),
            ..Settlement::new(Outcome::Replied)
        };
        self.store.settle(turn.id, &settlement).await.unwrap();
    }

    pub(crate) async fn record(&self) -> TurnRecord {
        self.store.transcript(&session(), 1).await.unwrap().remove(0)
    }

    pub(crate) fn runs(&self, name: &str) -> u32 {
        self.tools.runs(name)
    }

    /// Returns the messages of the model's last request.
    pub(crate) fn last_messages(&self) -> Vec<Message> {
        self.model.requests().pop().unwrap().messages.iter().cloned().collect()
    }

    /// Returns the results of the last step in the model's last request.
    pub(crate) fn last_results(&self) -> Vec<String> {
        let messages = self.last_messages();
        let results = messages.into_iter().rev().map_while(|message| match message {
            Message::ToolResult { result, .. } => Some(result),
            _ => None,
        });
        let mut results: Vec<String> = results.collect();
        results.reverse();
        results
    }

    /// Simulates `kill -9` and a new start, and claims the turn again.
    pub(crate) async fn restart(self, answers: Vec<Scripted>) -> (Self, TurnRecord) {
        let Self {
            agent, tools, events, clock, store, files, recall, skills, log, job, said, ..
        } = self;
        drop((agent, store));
        let store = log.open(clock.clone()).await;
        let model = Arc::new(ScriptedModel::new(answers));
        let mut agent = self::agent(&model, &tools, &store, &events, &files, &skills, &clock);
        agent.recall.recall = recall.clone();
        let harness = Self {
            agent,
            model,
            tools,
            events,
            clock,
            store,
            files,
            recall,
            skills,
            log,
            job,
            said,
        };
        let turn = harness.claim().await;
        (harness, turn)
    }
}

fn agent(
    model: &Arc<ScriptedModel>,
    toolbox: &Arc<FakeToolbox>,
    store: &Arc<SqliteStore>,
    events: &Arc<RecordedEvents>,
    files: &Arc<FakeFiles>,
    skills: &Arc<FakeSkills>,
    clock: &Arc<ManualClock>,
) -> AgentLoop {
    AgentLoop {
        models: AgentModels {
            main: model.clone(),
            cheap: model.clone(),
            tasks: ModelsByTask::default(),
        },
        effort: None,
        toolbox: toolbox.clone(),
        core_tools: CoreTools::fixed(vec!["*".to_owned()]),
        logs: AgentLogs { turns: store.clone(), ledger: store.clone() },
        limits: AgentLimits::default(),
        rules: AgentRules { configured: [].into(), stored: store.clone() },
        recall: AgentRecall { recall: Arc::new(FakeRecall::default()), budget_tokens: 600 },
        rendered: RenderedTurns::default(),
        prompt_settings: PromptSettings {
            system: "be kind".into(),
            file: None,
            zone: TimeZone::UTC,
            marks: Marks::new(7),
        },
        files: files.clone(),
        skills: skills.clone(),
        attachments: Arc::new(FakeAttachments),
        events: events.clone(),
        clock: clock.clone(),
    }
}

/// Returns the meter that a lane makes for a turn.
pub(crate) fn meter(turn: &TurnRecord) -> UsageMeter {
    UsageMeter::new(Some(turn.id), turn.session.clone())
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("terminal:local:a").unwrap()
}

pub(crate) fn answered(end: &TurnEnd) -> &str {
    match end {
        TurnEnd::Answered(answer) => &answer.text,
        other => panic!("{other:?}"),
    }
}

/// Returns the only wait of a turn.
pub(crate) fn waiting(end: &TurnEnd) -> CallWait {
    match end {
        TurnEnd::Waiting(waits) if waits.len() == 1 => waits[0].clone(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn failed(end: TurnEnd) -> String {
    match end {
        TurnEnd::Failed(end) => end.notice,
        other => panic!("{other:?}"),
    }
}

thread_local! {
    /// The log lines of this test, one JSON object a line. Each test runs on its own thread.
    pub(crate) static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Writes to [`LOGGED`].
struct Logged;

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Installs one subscriber for all tests before the first log line: a subscriber of one thread
/// would miss call sites that another thread reached first.
pub(crate) fn log_to_threads() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .without_time()
            .with_target(false)
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(|| Logged)
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}
