//! Test helper: a daemon with a real log and with a fake model, tools and platform.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{
    AgentLimits, AgentLogs, AgentLoop, AgentModels, AgentRecall, AgentRules, Budgets, CoreTools,
    Marks, ModelsByTask, PromptSettings, RenderedTurns,
};
use avocet_bus::{Admission, Bus, WakeReceiver};
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::access::{Allow, AllowLists};
use avocet_protocol::bus::{Deliveries, Publish};
use avocet_protocol::chat::{
    Attachment, ChatAddress, Content, Inbound, LoggedInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::daemon::Live;
use avocet_protocol::ids::{AccountName, ChannelName, MessageId};
use avocet_protocol::model::{Message, ModelRequest, without_marks};
use avocet_protocol::store::{Accepted, Query};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_supervise::Group;
use avocet_testkit::{
    FakeChannel, FakeFiles, FakeModels, FakeRecall, FakeSkills, FakeToolbox, ManualClock,
    OneWorkspace, Scripted, ScriptedModel,
};
use tokio::sync::Semaphore;

use super::super::Sessions;
use super::stop_all::CountedKills;
use crate::{
    Agent, AgentDirectories, AgentJobs, Agents, AttachmentFetcher, Attachments, BySession, Events,
    LaneLimits, NoDirectory, QuestionParts, Questions, RetryingLedger, RetryingLog, RunningTurns,
    SessionBinding, SessionParts, SpokenAnswers, remind_approvers,
};

/// A step of the clock.
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A daemon with a fake model, tools and platform.
pub(super) struct SessionHarness {
    pub(super) sessions: Sessions,
    pub(super) bus: Arc<Bus>,
    pub(super) model: Arc<ScriptedModel>,
    pub(super) tools: Arc<FakeToolbox>,
    pub(super) channel: Arc<FakeChannel>,
    pub(super) events: Arc<Events>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) store: Arc<SqliteStore>,
    pub(super) delivery_workers: Group,
    pub(super) log: TempStore,
    pub(super) setup: Setup,
}

/// Settings that differ between tests.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) limits: LaneLimits,
    pub(super) allow: Allow,
    pub(super) post_hangs: bool,
    pub(super) tool_wakes: ToolWakes,
    pub(super) files: Arc<FakeFiles>,
    pub(super) budgets: Budgets,
    /// Models that sessions can choose.
    pub(super) models: BTreeMap<&'static str, Arc<ScriptedModel>>,
    /// Model and files of the agent `work`, which answers sessions whose chat begins with `work`.
    pub(super) work: Option<(Arc<ScriptedModel>, Arc<FakeFiles>)>,
    /// Time between the clock's start and the daemon's start.
    pub(super) starts: Duration,
    /// The settings of the jobs of all agents.
    pub(super) jobs: AgentJobs,
    pub(super) spoken: Option<SpokenAnswers>,
    pub(super) programs: Arc<CountedKills>,
}

/// The fate of a wake-up after a tool has logged a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolWakes {
    Delivered,
    /// As if the turn was cancelled between both.
    Lost,
}

/// Has no directory but the workspaces.
#[derive(Debug)]
pub(super) struct NoDirectories;

impl AgentDirectories for NoDirectories {
    fn in_directory(
        &self,
        _: &str,
        directory: &Path,
        _: AgentLoop,
    ) -> Result<AgentLoop, NoDirectory> {
        self.named(&directory.display().to_string()).map(|_| unreachable!())
    }

    fn named(&self, directory: &str) -> Result<String, NoDirectory> {
        let (directory, why) = (directory.to_owned(), "there is none".to_owned());
        Err(NoDirectory { directory, why })
    }
}

#[derive(Debug)]
struct LostWakes;

impl Deliveries for LostWakes {
    fn wake(&self, _: &ChatAddress) {}

    fn wake_account(&self, _: &ChannelName, _: &AccountName) {}
}

impl Default for Setup {
    fn default() -> Self {
        let limits = LaneLimits { burst: Duration::ZERO, ..LaneLimits::default() };
        let (allow, files) = (Allow::Local, Arc::default());
        let (budgets, models, starts) = (Budgets::default(), BTreeMap::new(), Duration::ZERO);
        let tool_wakes = ToolWakes::Delivered;
        Self {
            limits,
            allow,
            post_hangs: false,
            tool_wakes,
            files,
            budgets,
            models,
            work: None,
            starts,
            jobs: AgentJobs::default(),
            spoken: None,
            programs: Arc::default(),
        }
    }
}

/// Makes an agent that works in the workspace of `attachments`.
fn agent_loop(
    model: &Arc<ScriptedModel>,
    tools: &Arc<FakeToolbox>,
    events: &Arc<Events>,
    logs: AgentLogs,
    rules: AgentRules,
    attachments: &AttachmentFetcher,
    budgets: Budgets,
) -> AgentLoop {
    AgentLoop {
        models: AgentModels {
            main: model.clone(),
            cheap: model.clone(),
            tasks: ModelsByTask::default(),
        },
        effort: None,
        toolbox: tools.clone(),
        core_tools: CoreTools::fixed(vec!["*".to_owned()]),
        logs,
        limits: AgentLimits { budgets, ..AgentLimits::default() },
        rules,
        recall: AgentRecall { recall: Arc::new(FakeRecall::default()), budget_tokens: 600 },
        rendered: RenderedTurns::default(),
        prompt_settings: PromptSettings {
            system: "be kind".into(),
            file: None,
            zone: jiff::tz::TimeZone::UTC,
            marks: Marks::new(7),
        },
        files: attachments.files.clone(),
        skills: Arc::new(FakeSkills::default()),
        attachments: Arc::new(attachments.clone()),
        events: events.clone(),
        clock: attachments.clock.clone(),
    }
}

/// Opens a bus for the channel `terminal:local`.
async fn open_bus(
    store: &Arc<SqliteStore>,
    channels: &Arc<ChannelRegistry>,
    deliverer: &Deliverer,
    clock: &Arc<ManualClock>,
    allow: Allow,
) -> (Arc<Bus>, WakeReceiver) {
    let (name, account) = ("terminal".parse().unwrap(), "local".parse().unwrap());
    let parts = avocet_bus::BusParts {
        admission: Admission::default().with_account(name, account, allow),
        inbox: store.clone(),
        outbox: store.clone(),
        people: store.clone(),
        destinations: channels.clone(),
        deliveries: Arc::new(deliverer.clone()),
        clock: clock.clone(),
    };
    let (bus, wakes) = Bus::open(parts).await.unwrap();
    (Arc::new(bus), wakes)
}

/// Makes the agent that answers with `run`, and `work`, which has its own model and files.
fn agents(run: AgentLoop, attachments: &AttachmentFetcher, setup: &Setup) -> Agents {
    let agent = |name, run| {
        let (fallbacks, jobs) = (Vec::new(), setup.jobs.clone());
        Agent { name, run, fallbacks, has_cheap_model: false, jobs }
    };
    let work = setup.work.clone().map(|(model, files)| {
        let models =
            AgentModels { main: model.clone(), cheap: model, tasks: ModelsByTask::default() };
        let attachments = AttachmentFetcher { files: files.clone(), ..attachments.clone() };
        let attachments = Arc::new(attachments);
        let run = AgentLoop { models, files, attachments, ..run.clone() };
        let sessions = vec!["terminal:local:work*".to_owned()];
        let binding = SessionBinding { sessions, people: Vec::new() };
        (binding, agent(Some("work".to_owned()), run))
    });
    Agents {
        agents: BySession::new(agent(None, run), work.into_iter().collect()),
        models: Arc::new(FakeModels(setup.models.clone())),
        directories: Arc::new(NoDirectories),
    }
}

impl SessionHarness {
    pub(super) async fn new(model: ScriptedModel) -> Self {
        Self::with(model, Setup::default()).await
    }

    pub(super) async fn with(model: ScriptedModel, setup: Setup) -> Self {
        Self::on(TempStore::new(), Arc::default(), model, setup).await
    }

    pub(super) async fn on(
        log: TempStore,
        channel: Arc<FakeChannel>,
        model: ScriptedModel,
        setup: Setup,
    ) -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.advance(setup.starts);
        let store = log.open(clock.clone()).await;
        let root = Group::new("test");
        let channels = Arc::new(ChannelRegistry::new(vec![channel.clone()]));
        let delivery_workers = root.child_group("outbox");
        let deliverer = Deliverer::new(
            store.clone(),
            channels.clone(),
            Arc::new(OneWorkspace(setup.files.clone())),
            clock.clone(),
            delivery_workers.clone(),
        );
        let (bus, wakes) =
            open_bus(&store, &channels, &deliverer, &clock, setup.allow.clone()).await;
        let (events, model) = (Arc::new(Events::default()), Arc::new(model));
        let tools =
            if setup.post_hangs { FakeToolbox::hanging_post() } else { FakeToolbox::default() };
        let tools = Arc::new(tools);
        let running = Arc::new(RunningTurns::new(clock.clone()));
        let woken: Arc<dyn Deliveries> = match setup.tool_wakes {
            ToolWakes::Delivered => Arc::new(deliverer.clone()),
            ToolWakes::Lost => Arc::new(LostWakes),
        };
        let retrying = Arc::new(RetryingLog::new(store.clone(), running.clone(), woken));
        let ledger = Arc::new(RetryingLedger::new(store.clone(), running.clone()));
        let attachments = AttachmentFetcher {
            settings: Attachments { transcribe: None, convert: None, max_bytes: 1024 },
            files: setup.files.clone(),
            channels: channels.clone(),
            log: retrying.clone(),
            clock: clock.clone(),
        };
        let logs = AgentLogs { turns: retrying.clone(), ledger: ledger.clone() };
        let rules = AgentRules { configured: [].into(), stored: store.clone() };
        let run = agent_loop(&model, &tools, &events, logs, rules, &attachments, setup.budgets);
        remind_approvers(store.as_ref(), &channels, clock.as_ref()).await.unwrap();
        deliverer.start().await.unwrap();
        let questions = Arc::new(Questions::new(QuestionParts {
            outbox: store.clone(),
            channels: channels.clone(),
            deliverer: deliverer.clone(),
            roles: bus.clone(),
            running: running.clone(),
            clock: clock.clone(),
        }));
        let parts = SessionParts {
            turns: store.clone(),
            inbox: store.clone(),
            outbox: store.clone(),
            memories: store.clone(),
            query: store.clone(),
            jobs: store.clone(),
            schedules: store.clone(),
            bus: bus.clone(),
            log: retrying,
            ledger,
            tasks: store.clone(),
            dead_letters: store.clone(),
            stop: store.clone(),
            programs: setup.programs.clone(),
            agents: Live::new(agents(run, &attachments, &setup)),
            channels,
            deliverer,
            events: events.clone(),
            running,
            questions,
            spoken: setup.spoken.clone(),
            clock: clock.clone(),
        };
        let sessions = Sessions::start(parts, setup.limits, wakes, &root).await.unwrap();
        Self {
            sessions,
            bus,
            model,
            tools,
            channel,
            events,
            clock,
            store,
            delivery_workers,
            log,
            setup,
        }
    }

    /// Kills the daemon like `kill -9` and starts it with this model.
    pub(super) async fn restart(self, model: ScriptedModel) -> Self {
        let Self { sessions, bus, store, channel, clock, delivery_workers, log, setup, .. } = self;
        for group in [sessions.lanes.group(), &sessions.group, &delivery_workers] {
            group.abort_tasks();
            group.wait_for_tasks(clock.as_ref(), SECOND).await.unwrap();
        }
        // A write that is still queued would disturb the next daemon; a killed process has none.
        SqliteStore::clone(&store).close().await;
        drop((sessions, bus, store));
        Self::on(log, channel, model, setup).await
    }

    pub(super) async fn say_in(&self, chat: &str, text: &str) -> Accepted {
        self.say_with(chat, text, Vec::new()).await
    }

    pub(super) async fn say_with(
        &self,
        chat: &str,
        text: &str,
        attachments: Vec<Attachment>,
    ) -> Accepted {
        let inbound = Inbound::new(
            session(chat).address(),
            Sender::new("me".parse().unwrap()),
            text.replace('/', "command ").parse().unwrap(),
            Content { attachments, ..Content::text(text) },
        );
        self.bus.publish(inbound, None).await.unwrap()
    }

    pub(super) async fn open_commands(&self) -> Vec<LoggedInbound> {
        self.sessions.lanes.parts.inbox.open_commands().await.unwrap()
    }

    pub(super) async fn say(&self, text: &str) -> MessageId {
        self.say_in("a", text).await.id
    }

    pub(super) async fn outcome(&self, message: MessageId) -> Option<Outcome> {
        self.store.message(message).await.unwrap().unwrap().outcome
    }

    /// Waits until the model has got this number of requests.
    pub(super) async fn asked(&self, times: usize) -> Vec<ModelRequest> {
        loop {
            let requests = self.model.requests();
            if requests.len() >= times {
                return requests;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until all deliveries of the log are done.
    pub(super) async fn sent(&self) {
        let outbox = &self.sessions.lanes.parts.outbox;
        while !outbox.open_chats().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until all lanes are idle.
    pub(super) async fn idle(&self) {
        while !self.sessions.lanes.is_idle() {
            tokio::task::yield_now().await;
        }
    }
}

pub(super) fn users(ids: &[&str]) -> Allow {
    let users = ids.iter().map(|id| id.parse().unwrap()).collect();
    Allow::Listed(AllowLists { users, ..AllowLists::default() })
}

pub(super) fn session(name: &str) -> SessionId {
    SessionId::parse(&format!("terminal:local:{name}")).unwrap()
}

/// Returns the user's last text.
pub(super) fn last_said(request: &ModelRequest) -> &str {
    let said = request.messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(without_marks(text)),
        _ => None,
    });
    said.unwrap()
}

/// A model that repeats the user's text.
pub(super) fn parrot() -> ScriptedModel {
    ScriptedModel::answering(|request| Scripted::says(last_said(request)))
}

/// A model that repeats the user's text once there is a permit.
pub(super) fn gated_parrot(permits: &Arc<Semaphore>) -> ScriptedModel {
    let permits = permits.clone();
    ScriptedModel::answering(move |request| {
        Scripted::When(permits.clone(), Box::new(Scripted::says(last_said(request))))
    })
}
