//! Measures building a request from the log of a session with many messages. Messages outside of
//! the request must cost nothing. Figures only; `cargo bench -p avocet-agent --bench requests`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_agent::benching::messages;
use avocet_agent::{
    AgentLimits, AgentLogs, AgentLoop, AgentModels, AgentRecall, AgentRules, CoreTools, JobPlan,
    Marks, ModelsByTask, PromptSettings, RenderedTurns, TurnContext, TurnEnd, TurnLimits,
    UsageMeter,
};
use avocet_protocol::access::PermissionMode;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, NewInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::model::{
    Deltas, Messages, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Spent, Usage,
};
use avocet_protocol::store::{Claim, Inbox, Settlement, Suspects, Turns};
use avocet_protocol::turn::TurnRecord;
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{
    FakeAttachments, FakeFiles, FakeRecall, FakeRoles, FakeSkills, FakeToolbox, ManualClock,
    RecordedEvents,
};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use jiff::tz::TimeZone;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

/// Tokens that a request may have: about 160 of the messages.
const ROOM: u64 = 16_000;

/// Items are the messages in the request.
#[divan::bench(args = [10, 100, 1000, 10_000], sample_count = 20, sample_size = 5)]
fn a_request(bencher: Bencher<'_, '_>, said: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (harness, turn) = runtime.block_on(BenchHarness::after(said));
    let sent = build(&runtime, &harness, &turn).len();
    let bencher = bencher.counter(ItemsCount::new(sent));
    bencher.bench_local(|| black_box(build(&runtime, &harness, &turn)));
}

fn build(runtime: &Runtime, harness: &BenchHarness, turn: &TurnRecord) -> Messages {
    runtime.block_on(messages(&harness.agent, turn, &turn_context())).expect("it fits")
}

fn turn_context() -> TurnContext {
    TurnContext {
        chat: Some(session().address()),
        cancel: CancellationToken::new(),
        asked_by: Vec::new(),
        agent: "default".to_owned(),
        within: Vec::new(),
        skills_above: [].into(),
        roles: Arc::new(FakeRoles),
        grants: [].into(),
        bits: None,
        mode: PermissionMode::Default,
        job: JobPlan::default(),
    }
}

/// A model with one fixed answer, and a short summary.
#[derive(Debug)]
struct Echo;

#[async_trait]
impl Model for Echo {
    fn name(&self) -> &str {
        "test/echo"
    }

    async fn facts(&self) -> ModelFacts {
        ModelFacts::default()
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        _deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let spent = Spent { model: "test/echo".to_owned(), usage: Usage::new(1, 1), cost: None };
        let text = "word ".repeat(80);
        let spent = vec![spent];
        Ok(ModelReply { text, calls: Vec::new(), reasoning: None, spent, ..ModelReply::default() })
    }
}

struct BenchHarness {
    agent: AgentLoop,
    store: Arc<SqliteStore>,
    _log: TempStore,
}

impl BenchHarness {
    /// Creates a session with `said` messages, and the turn that comes next.
    async fn after(said: usize) -> (Self, TurnRecord) {
        let harness = Self::new().await;
        for number in 0..said / 2 {
            harness.turn(number).await;
        }
        let turn = harness.claim(said).await;
        (harness, turn)
    }

    async fn new() -> Self {
        let (log, clock) = (TempStore::new(), Arc::new(ManualClock::default()));
        let store = log.open(clock.clone()).await;
        let model = Arc::new(Echo);
        let agent = AgentLoop {
            models: AgentModels {
                main: model.clone(),
                cheap: model,
                tasks: ModelsByTask::default(),
            },
            effort: None,
            toolbox: Arc::new(FakeToolbox::default()),
            core_tools: CoreTools::default(),
            logs: AgentLogs { turns: store.clone(), ledger: store.clone() },
            limits: AgentLimits {
                turn: TurnLimits { context_tokens: ROOM, ..TurnLimits::default() },
                ..AgentLimits::default()
            },
            rules: AgentRules { configured: [].into(), stored: store.clone() },
            recall: AgentRecall { recall: Arc::new(FakeRecall::default()), budget_tokens: 600 },
            rendered: RenderedTurns::default(),
            prompt_settings: PromptSettings {
                system: "be kind".into(),
                file: None,
                zone: TimeZone::UTC,
                marks: Marks::new(7),
            },
            files: Arc::new(FakeFiles::default()),
            skills: Arc::new(FakeSkills::default()),
            attachments: Arc::new(FakeAttachments),
            events: Arc::new(RecordedEvents::default()),
            clock,
        };
        Self { agent, store, _log: log }
    }

    /// Runs a turn to its end, as the daemon does.
    async fn turn(&self, number: usize) {
        let turn = self.claim(number).await;
        let id = turn.id;
        let meter = UsageMeter::new(Some(id), session());
        let end = self.agent.run_tool_loop(turn, &turn_context(), &meter).await;
        let Ok(TurnEnd::Answered(answer)) = end else { panic!("{end:?}") };
        let (outcome, answer) = (Outcome::Replied, Some(answer));
        let settlement = Settlement { answer, ..Settlement::new(outcome) };
        self.store.settle(id, &settlement).await.expect("a log");
    }

    async fn claim(&self, number: usize) -> TurnRecord {
        let inbound = Inbound::new(
            session().address(),
            Sender::new("me".parse().expect("a name")),
            format!("k{number}").parse().expect("a key"),
            Content::text("word ".repeat(80)),
        );
        let kind = InboundKind::Text;
        let message = NewInbound {
            session: session(),
            kind,
            inbound,
            removed: 0,
            trust: avocet_protocol::access::Trust::Full,
        };
        self.store.accept(&message, None).await.expect("a log");
        match self.store.claim(&session(), Suspects::Include, Duration::ZERO).await.expect("a log")
        {
            Claim::Turn(claimed) => claimed.turn,
            other => panic!("{other:?}"),
        }
    }
}

fn session() -> SessionId {
    SessionId::parse("terminal:local:a").expect("a session")
}
