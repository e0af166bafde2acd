use std::collections::BTreeMap;
use std::time::Duration;

use avocet_agent::{AgentLoop, Budgets, Marks, TurnLimits};
use avocet_bus::{Admission, Bus};
use avocet_outbox::{Channels, Deliverer};
use avocet_protocol::{
    Accepted, AccessLists, Allow, Attachment, AttachmentKind, AttachmentSource, Clock, Content,
    Inbound, LoggedInbound, Message, MessageId, ModelError, ModelRequest, Outcome, Publish, Query,
    Sender, SessionId, TurnEvent, TurnEvents, TurnState, Turns, what_was_said,
};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{
    FakeChannel, FakeFiles, FakeModels, FakeToolbox, ManualClock, OnFetch, OneWorkspace, Scripted,
    ScriptedModel, WAIT,
};
use serde_json::json;
use tokio::sync::Semaphore;

use super::*;
use crate::{Agent, Agents, Attachments, BySession, Events, remind};

#[path = "sessions_approvals_tests.rs"]
mod approvals;
#[path = "compact_tests.rs"]
mod compactions;
#[path = "failures_tests.rs"]
mod failures;
#[path = "sessions_model_tests.rs"]
mod models;
#[path = "sessions_people_tests.rs"]
mod people;
#[path = "preview_tests.rs"]
mod previews;
#[path = "reply_tests.rs"]
mod replies;
#[path = "spending_tests.rs"]
mod spending;

/// Timeout of a test.
const PATIENCE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

/// A daemon with a fake model, tools and platform.
struct World {
    sessions: Sessions,
    bus: Arc<Bus>,
    model: Arc<ScriptedModel>,
    tools: Arc<FakeToolbox>,
    channel: Arc<FakeChannel>,
    events: Arc<Events>,
    clock: Arc<ManualClock>,
    store: Arc<SqliteStore>,
    couriers: Group,
    log: TempStore,
    setup: Setup,
}

/// Settings that differ between tests.
#[derive(Clone)]
struct Setup {
    limits: LaneLimits,
    allow: Allow,
    post_hangs: bool,
    files: Arc<FakeFiles>,
    budgets: Budgets,
    /// Models that sessions can choose.
    models: BTreeMap<&'static str, Arc<ScriptedModel>>,
    /// Model and files of the agent `work`, which answers sessions whose chat begins with `work`.
    work: Option<(Arc<ScriptedModel>, Arc<FakeFiles>)>,
    /// Time between the clock's start and the daemon's start.
    starts: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        let limits = LaneLimits { burst: Duration::ZERO, ..LaneLimits::default() };
        let (allow, files) = (Allow::Local, Arc::default());
        let (budgets, models, starts) = (Budgets::default(), BTreeMap::new(), Duration::ZERO);
        Self { limits, allow, post_hangs: false, files, budgets, models, work: None, starts }
    }
}

/// Makes the agent that answers with `run`, and `work`, which has its own model and files.
fn agents(run: AgentLoop, setup: &Setup) -> Agents {
    let agent = |name, run| Agent { name, run, fallbacks: Vec::new(), has_cheap_model: false };
    let work = setup.work.clone().map(|(model, files)| {
        let run = AgentLoop { cheap: model.clone(), model, files, ..run.clone() };
        let patterns = vec!["terminal:local:work*".to_owned()];
        (patterns, agent(Some("work".to_owned()), run))
    });
    Agents {
        agents: BySession::new(agent(None, run), work.into_iter().collect()),
        models: Arc::new(FakeModels(setup.models.clone())),
    }
}

impl World {
    async fn new(model: ScriptedModel) -> Self {
        Self::with(model, Setup::default()).await
    }

    async fn with(model: ScriptedModel, setup: Setup) -> Self {
        Self::on(TempStore::new(), Arc::default(), model, setup).await
    }

    async fn on(
        log: TempStore,
        channel: Arc<FakeChannel>,
        model: ScriptedModel,
        setup: Setup,
    ) -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.advance(setup.starts);
        let store = log.open(clock.clone()).await;
        let root = Group::new("test");
        let channels = Arc::new(Channels::new(vec![channel.clone()]));
        let couriers = root.child("outbox");
        let deliverer = Deliverer::new(
            store.clone(),
            channels.clone(),
            Arc::<OneWorkspace>::default(),
            clock.clone(),
            couriers.clone(),
        );
        let (name, account) = ("terminal".parse().unwrap(), "local".parse().unwrap());
        let (bus, wakes) = Bus::open(avocet_bus::BusParts {
            admission: Admission::default().with(name, account, setup.allow.clone()),
            inbox: store.clone(),
            outbox: store.clone(),
            people: store.clone(),
            destinations: channels.clone(),
            deliveries: Arc::new(deliverer.clone()),
            clock: clock.clone(),
        })
        .await
        .unwrap();
        let (bus, events, model) = (Arc::new(bus), Arc::new(Events::default()), Arc::new(model));
        let tools =
            if setup.post_hangs { FakeToolbox::hanging_post() } else { FakeToolbox::default() };
        let tools = Arc::new(tools);
        let run = AgentLoop {
            model: model.clone(),
            cheap: model.clone(),
            toolbox: tools.clone(),
            log: store.clone(),
            events: events.clone(),
            clock: clock.clone(),
            files: setup.files.clone(),
            limits: TurnLimits::default(),
            ledger: store.clone(),
            budgets: setup.budgets,
            unbooked: Arc::default(),
            system: "be kind".into(),
            zone: jiff::tz::TimeZone::UTC,
            marks: Marks::new(7),
        };
        remind(store.as_ref(), &channels, clock.as_ref()).await.unwrap();
        deliverer.start().await.unwrap();
        let parts = SessionParts {
            turns: store.clone(),
            inbox: store.clone(),
            outbox: store.clone(),
            query: store.clone(),
            bus: bus.clone(),
            agents: agents(run, &setup),
            channels,
            deliverer,
            events: events.clone(),
            attachments: Attachments { transcribe: None, max_bytes: 1024 },
            clock: clock.clone(),
        };
        let sessions = Sessions::start(parts, setup.limits, wakes, &root).await.unwrap();
        Self { sessions, bus, model, tools, channel, events, clock, store, couriers, log, setup }
    }

    /// Kills the daemon like `kill -9` and starts it with this model.
    async fn restart(self, model: ScriptedModel) -> Self {
        let Self { sessions, bus, store, channel, clock, couriers, log, setup, .. } = self;
        for group in [sessions.lanes.group(), &sessions.group, &couriers] {
            group.abort();
            group.finish(clock.as_ref(), SECOND).await.unwrap();
        }
        drop((sessions, bus, store));
        Self::on(log, channel, model, setup).await
    }

    async fn say_in(&self, chat: &str, text: &str) -> Accepted {
        self.say_with(chat, text, Vec::new()).await
    }

    async fn say_with(&self, chat: &str, text: &str, attachments: Vec<Attachment>) -> Accepted {
        let inbound = Inbound::new(
            session(chat).address(),
            Sender::new("me".parse().unwrap()),
            text.replace('/', "command ").parse().unwrap(),
            Content { attachments, ..Content::text(text) },
        );
        self.bus.publish(inbound, None).await.unwrap()
    }

    async fn open_commands(&self) -> Vec<LoggedInbound> {
        self.sessions.lanes.parts.inbox.open_commands().await.unwrap()
    }

    async fn say(&self, text: &str) -> MessageId {
        self.say_in("a", text).await.id
    }

    async fn outcome(&self, message: MessageId) -> Option<Outcome> {
        self.store.message(message).await.unwrap().unwrap().outcome
    }

    /// Waits until the model has got this number of requests.
    async fn asked(&self, times: usize) -> Vec<ModelRequest> {
        loop {
            let requests = self.model.requests();
            if requests.len() >= times {
                return requests;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until all deliveries of the log are done.
    async fn sent(&self) {
        let outbox = &self.sessions.lanes.parts.outbox;
        while !outbox.open_chats().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until all lanes are idle.
    async fn idle(&self) {
        while !self.sessions.lanes.is_idle() {
            tokio::task::yield_now().await;
        }
    }
}

fn users(ids: &[&str]) -> Allow {
    let users = ids.iter().map(|id| id.parse().unwrap()).collect();
    Allow::Listed(AccessLists { users, ..AccessLists::default() })
}

fn session(name: &str) -> SessionId {
    SessionId::parse(&format!("terminal:local:{name}")).unwrap()
}

/// Returns the user's last text.
fn last_said(request: &ModelRequest) -> &str {
    let said = request.messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(what_was_said(text)),
        _ => None,
    });
    said.unwrap()
}

/// A model that repeats the user's text.
fn parrot() -> ScriptedModel {
    ScriptedModel::answering(|request| Scripted::says(last_said(request)))
}

/// A model that repeats the user's text once there is a permit.
fn patient_parrot(permits: &Arc<Semaphore>) -> ScriptedModel {
    let permits = permits.clone();
    ScriptedModel::answering(move |request| {
        Scripted::When(permits.clone(), Box::new(Scripted::says(last_said(request))))
    })
}

#[tokio::test]
async fn sessions_answer_a_message_and_emit_its_events() {
    let world = World::new(parrot()).await;
    let events = world.events.subscribe(&session("a"));
    let id = world.say("hello").await;
    assert_eq!(world.channel.texts(1).await, ["hello"]);
    assert_eq!(world.outcome(id).await, Some(Outcome::Replied));
    let mut heard = Vec::new();
    while !matches!(heard.last(), Some(TurnEvent::Ended { .. })) {
        heard.push(events.recv_async().await.unwrap());
    }
    let TurnEvent::Started { turn, messages } = &heard[0] else { panic!("{heard:?}") };
    assert_eq!((messages[0].id, messages[0].text.as_str()), (id, "hello"));
    let ended =
        TurnEvent::Ended { turn: Some(*turn), messages: vec![id], outcome: Outcome::Replied };
    assert_eq!(heard.last(), Some(&ended));
    world.idle().await;
}

#[tokio::test]
async fn sessions_answer_messages_of_one_session_in_order() {
    let world = World::new(parrot()).await;
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    for text in &texts {
        world.say(text).await;
    }
    assert_eq!(world.channel.texts(20).await, texts);
    world.idle().await;
    assert!(world.sessions.lanes.is_idle(), "an idle session costs no memory");
}

#[tokio::test]
async fn f39_one_slow_session_delays_no_other() {
    let world = World::new(ScriptedModel::answering(|request| match last_said(request) {
        "hang" => Scripted::Hang,
        text => Scripted::says(text),
    }))
    .await;
    world.say_in("stuck", "hang").await;
    world.asked(1).await;
    for number in 0..50 {
        world.say_in(&format!("chat{number}"), "hello").await;
    }
    assert_eq!(world.channel.taken(50).await.len(), 50);
}

#[tokio::test]
async fn sessions_share_running_slots_fairly() {
    let permits = Arc::new(Semaphore::new(0));
    let setup = Setup {
        limits: LaneLimits { max_running: 1, ..LaneLimits::default() },
        ..Setup::default()
    };
    let world = World::with(patient_parrot(&permits), setup).await;
    for text in ["a1", "a2", "a3"] {
        world.say_in("a", text).await;
    }
    world.asked(1).await;
    world.say_in("b", "b1").await;
    while world.sessions.lanes.busy() < 2 {
        tokio::task::yield_now().await;
    }
    permits.add_permits(4);
    let asked = world.asked(4).await;
    assert_eq!(asked.iter().map(last_said).collect::<Vec<_>>(), ["a1", "b1", "a2", "a3"]);
}

#[tokio::test]
async fn collect_mode_answers_a_burst_of_messages_together() {
    let setup = Setup { limits: LaneLimits::default(), ..Setup::default() };
    let world = World::with(parrot(), setup).await;
    world.say("/queue collect").await;
    while !world.open_commands().await.is_empty() {
        tokio::task::yield_now().await;
    }
    let (pause, half) = (LaneLimits::default().burst, LaneLimits::default().burst / 2);
    world.say("one").await;
    world.clock.sleeper_within(pause..=pause).await;
    world.clock.advance(half);
    world.say("two").await;
    world.clock.advance(half);
    world.clock.sleeper_within(half..=half).await;
    assert!(world.model.requests().is_empty(), "the second has only just come");
    world.clock.advance(half);
    let asked = &world.asked(1).await[0];
    let said = asked.messages.iter().filter_map(|message| match message {
        Message::User { text, .. } => Some(what_was_said(text)),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>().join("\n"), "one\n\ntwo");
}

#[tokio::test]
async fn f16_queue_modes_pass_every_message_to_the_model_in_order() {
    for mode in ["queue", "collect", "steer", "interrupt"] {
        let permits = Arc::new(Semaphore::new(0));
        let gate = permits.clone();
        let world = World::new(ScriptedModel::answering(move |request| {
            let asked_for_tool = request
                .messages
                .iter()
                .any(|message| matches!(message, Message::User { text, .. } if what_was_said(text) == "go"));
            let answered = matches!(request.messages.last(), Some(Message::ToolResult { .. }))
                || last_said(request) != "go";
            let then = if asked_for_tool && !answered {
                Scripted::calls(&[("echo", json!({}))])
            } else {
                Scripted::says("ok")
            };
            Scripted::When(gate.clone(), Box::new(then))
        }))
        .await;
        world.say(&format!("/queue {mode}")).await;
        world.channel.taken(1).await;
        let first = world.say("go").await;
        world.asked(1).await;
        let mut ids = vec![first];
        for text in ["1", "2", "3", "4", "5"] {
            ids.push(world.say(text).await);
        }
        permits.add_permits(100);
        for id in &ids {
            while world.outcome(*id).await.is_none() {
                tokio::task::yield_now().await;
            }
        }
        let transcript = world.store.transcript(&session("a"), 99).await.unwrap();
        let mut read = Vec::new();
        for turn in &transcript {
            read.extend(turn.origin.messages().iter().map(|message| message.id));
            read.extend(turn.steps.iter().flat_map(|step| &step.steered).map(|one| one.id));
        }
        assert_eq!(read, ids, "{mode}");
        let outcomes = [world.outcome(ids[0]).await, world.outcome(ids[5]).await];
        let expected = match mode {
            "interrupt" => [Some(Outcome::Stopped), Some(Outcome::Replied)],
            "steer" => [Some(Outcome::Merged), Some(Outcome::Replied)],
            _ => [Some(Outcome::Replied); 2],
        };
        assert_eq!(outcomes, expected, "{mode}");
    }
}

#[tokio::test]
async fn f11_stop_ends_the_turn_at_once_and_the_next_message_is_answered() {
    let world = World::new(ScriptedModel::answering(|request| match last_said(request) {
        "hang" => Scripted::Hang,
        "hang in a tool" => Scripted::calls(&[("hang", json!({}))]),
        text => Scripted::says(text),
    }))
    .await;
    for (asked, text) in [(1, "hang"), (2, "hang in a tool")] {
        let stopped = world.say(text).await;
        world.asked(asked).await;
        let next = world.say(&format!("after {text}")).await;
        world.say(&format!("/stop {asked}")).await;
        while world.outcome(next).await.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.outcome(stopped).await, Some(Outcome::Stopped));
    }
    let texts = world.channel.texts(4).await;
    assert_eq!(texts, ["Stopped.", "after hang", "Stopped.", "after hang in a tool"]);
    world.say("/stop 3").await;
    assert_eq!(world.channel.texts(5).await[4], "I was not doing anything.");
}

#[tokio::test]
async fn start_acts_on_commands_accepted_before_a_crash_before_the_lanes_run() {
    let world = World::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    let hanging = world.say("hang").await;
    world.asked(1).await;
    let command = world.sessions.lanes.parts.inbox.clone();
    world.sessions.group.abort();
    world.say("/stop").await;
    assert_eq!(command.open_commands().await.unwrap().len(), 1, "nobody has acted on it");
    drop(command);
    let world = world.restart(ScriptedModel::new(Vec::new())).await;
    assert_eq!(world.channel.texts(1).await, ["Stopped."]);
    assert_eq!(world.outcome(hanging).await, Some(Outcome::Stopped));
}

#[tokio::test]
async fn start_resumes_an_interrupted_turn_from_its_log() {
    let world = World::new(ScriptedModel::answering(|_| {
        Scripted::calls(&[("post", json!({})), ("hang", json!({}))])
    }))
    .await;
    world.say("go").await;
    while world.tools.runs("hang") == 0 {
        tokio::task::yield_now().await;
    }
    let world = world.restart(ScriptedModel::answering(|request| match request.messages.last() {
        Some(Message::ToolResult { .. }) => Scripted::says("done"),
        _ => panic!("the step is in the log: {request:#?}"),
    }));
    let world = tokio::join!(world).0;
    while world.tools.runs("hang") == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.tools.runs("post"), 0, "what is finished is not run again");
}

#[tokio::test]
async fn f12_turn_that_kills_the_process_is_dropped_with_a_notice_and_others_are_not() {
    // The order of the suspects is open; an innocent one must survive any order.
    let gate = Arc::new(Semaphore::new(0));
    let kills = || {
        let gate = gate.clone();
        ScriptedModel::answering(move |request| match last_said(request) {
            "boom" => Scripted::Hang,
            text => Scripted::When(gate.clone(), Box::new(Scripted::says(text))),
        })
    };
    let mut world = World::new(kills()).await;
    let poison = world.say_in("poison", "boom").await.id;
    let innocent = world.say_in("innocent", "hello").await.id;
    world.asked(2).await;
    // Two ran at the first death; from then on suspects run one at a time.
    for death in 1..=2 {
        world = world.restart(kills()).await;
        let mut asked = world.asked(1).await;
        if last_said(&asked[0]) == "hello" {
            assert_eq!(asked.len(), 1, "death {death}: alone");
            gate.add_permits(1);
            asked = world.asked(2).await;
            world.sent().await;
        }
        assert_eq!(last_said(asked.last().unwrap()), "boom", "death {death}");
    }
    let world = world.restart(parrot()).await;
    let texts = world.channel.texts(2).await;
    assert!(texts.contains(&"hello".to_owned()), "{texts:?}");
    let notice = "I dropped this message because I crashed 3 times while working on it: “boom”. \
                  /retry tries it again.";
    assert!(texts.contains(&notice.to_owned()), "{texts:?}");
    assert_eq!(world.outcome(poison).await, Some(Outcome::Dropped));
    assert_eq!(world.outcome(innocent).await, Some(Outcome::Replied));
}

#[tokio::test]
async fn readmit_drops_a_message_of_a_removed_person_with_a_notice() {
    let mut world = World::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    let id = world.say("hello").await;
    world.asked(1).await;
    world.setup.allow = users(&["somebody else"]);
    let world = world.restart(ScriptedModel::new(Vec::new())).await;
    let notice = "I dropped a message: me may not speak on terminal; add it to \
                  [channels.terminal] allow.";
    assert_eq!(world.channel.texts(1).await, [notice]);
    world.idle().await;
    assert_eq!(world.outcome(id).await, Some(Outcome::Dropped));
}

#[tokio::test]
async fn f5_reply_is_omitted_if_the_message_tool_has_sent_its_text() {
    let say = Scripted::calls(&[("say", json!({"text": "All is  done."}))]);
    let world = World::new(ScriptedModel::new(vec![
        say.clone(),
        Scripted::says("All is\ndone."),
        say,
        Scripted::says("Anything else?"),
    ]))
    .await;
    let first = world.say("1").await;
    let second = world.say("2").await;
    while world.outcome(second).await.is_none() {
        tokio::task::yield_now().await;
    }
    let texts = world.channel.texts(3).await;
    assert_eq!(texts, ["All is  done.", "All is  done.", "Anything else?"]);
    assert_eq!(world.outcome(first).await, Some(Outcome::Replied));
}

#[tokio::test]
async fn f12_every_failure_sends_a_notice() {
    let detail = "connection refused".to_owned();
    let unreachable = ModelError::Unreachable { model: "local/qwen".to_owned(), detail };
    let table = [
        (
            Scripted::Error(unreachable),
            "I could not answer: local/qwen cannot be reached (connection refused). /retry tries it \
             again.",
        ),
        (
            Scripted::calls(&[("panic", json!({}))]),
            "I could not answer because of an internal error: a bug in the tool. /retry tries it again.",
        ),
    ];
    for (answer, notice) in table {
        let world = World::new(ScriptedModel::new(vec![answer])).await;
        let id = world.say("go").await;
        assert_eq!(world.channel.texts(1).await, [notice]);
        assert_eq!(world.outcome(id).await, Some(Outcome::Error));
    }
}

#[tokio::test]
async fn question_waits_without_a_worker_and_takes_the_next_text_as_answer() {
    let world = World::new(ScriptedModel::new(vec![
        Scripted::calls(&[("ask", json!({}))]),
        Scripted::says("blue it is"),
    ]))
    .await;
    let question = world.say("paint it").await;
    assert_eq!(world.channel.texts(1).await, ["What colour?"]);
    world.idle().await;
    let answer = world.say("blue").await;
    assert_eq!(world.channel.texts(2).await[1], "blue it is");
    assert_eq!(world.outcome(question).await, Some(Outcome::Replied));
    assert_eq!(world.outcome(answer).await, Some(Outcome::Merged));
}

#[tokio::test]
async fn question_survives_a_restart_and_accepts_a_button_or_a_text() {
    for (says_blue, answer) in [(true, "blue"), (false, "none of them: green")] {
        let asks = Scripted::calls(&[("ask", json!({}))]);
        let world = World::new(ScriptedModel::new(vec![asks])).await;
        let question = world.say("paint it").await;
        world.channel.taken(1).await;
        world.sent().await;
        let world = world.restart(ScriptedModel::new(vec![Scripted::says("so be it")])).await;
        // The question is asked only once, despite the restart.
        assert_eq!(world.channel.texts(1).await, ["What colour?"]);
        let button = world.channel.taken(1).await.remove(0).content.choices.remove(0);
        assert_eq!(button.label, "Blue");
        let said = world.say(if says_blue { &button.says } else { answer }).await;
        assert_eq!(world.channel.texts(2).await[1], "so be it");
        let requests = world.asked(1).await;
        let answered = requests[0].messages.iter().find_map(|message| match message {
            Message::ToolResult { result, .. } => Some(result.clone()),
            _ => None,
        });
        assert_eq!(answered, Some(json!({ "answer": answer }).to_string()));
        assert_eq!(world.outcome(question).await, Some(Outcome::Replied));
        assert_eq!(world.outcome(said).await, Some(Outcome::Merged));
        assert_eq!(world.tools.runs("ask"), 0, "nothing is asked twice");
    }
}

#[tokio::test]
async fn expiry_ends_unanswered_waits_and_the_turn_goes_on() {
    let world = World::new(ScriptedModel::new(vec![
        Scripted::calls(&[("ask", json!({})), ("dangerous", json!({}))]),
        Scripted::says("never mind"),
    ]))
    .await;
    world.say("paint it").await;
    for prompt in [1, 2] {
        world.channel.taken(prompt).await;
        world.clock.sleeper(WAIT).await;
        world.clock.advance(WAIT);
    }
    assert_eq!(world.channel.texts(3).await, ["What colour?", "May I?", "never mind"]);
    let requests = world.asked(2).await;
    let results: Vec<String> = requests[1]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { result, .. } => Some(result.clone()),
            _ => None,
        })
        .collect();
    let unanswered = "unanswered: the answer did not come in time";
    let denied = "denied: the approval did not come in time";
    assert_eq!(results, [unanswered, denied].map(|text| format!("{{\"error\":\"{text}\"}}")));
    assert_eq!(world.tools.runs("dangerous"), 0);
}

#[tokio::test]
async fn interrupted_effect_waits_for_skip_or_retry() {
    for (choice, said, ran) in
        [("/skip", "I go on without it.", 0), ("/retry", "I run it again.", 1)]
    {
        let calls = Scripted::calls(&[("post", json!({"to": "bank"}))]);
        let setup = Setup { post_hangs: true, ..Setup::default() };
        let mut world = World::with(ScriptedModel::new(vec![calls]), setup).await;
        let started = world.say("pay").await;
        while world.tools.runs("post") == 0 {
            tokio::task::yield_now().await;
        }
        world.setup.post_hangs = false;
        let world = world.restart(ScriptedModel::new(vec![Scripted::says("done")])).await;
        let prompt = world.channel.taken(1).await.remove(0).content;
        assert!(prompt.text.starts_with("I was interrupted while running `post`"), "{prompt:?}");
        assert_eq!(prompt.choices[1].says, "/skip w1");
        assert_eq!(world.outcome(started).await, None);
        world.say(choice).await;
        let texts = world.channel.texts(3).await;
        assert!(texts.contains(&said.to_owned()) && texts.contains(&"done".to_owned()));
        assert_eq!(world.tools.runs("post"), ran);
    }
}

#[tokio::test]
async fn remind_repeats_open_prompts_at_start_if_button_presses_are_lost() {
    const HOUR: Duration = Duration::from_hours(1);
    // Start times with the number of prompts so far; prompts are repeated at most once an hour.
    let lost = [(Duration::ZERO, 2), (Duration::ZERO, 2), (HOUR, 2), (HOUR + SECOND, 3)];
    let kept = [(Duration::ZERO, 1), (HOUR + SECOND, 1)];
    for (channel, starts) in
        [(FakeChannel::forgetful(), &lost[..]), (FakeChannel::default(), &kept)]
    {
        let calls = Scripted::calls(&[("post", json!({"to": "bank"}))]);
        let setup = Setup { post_hangs: true, ..Setup::default() };
        let model = ScriptedModel::new(vec![calls]);
        let mut world = World::on(TempStore::new(), channel.into(), model, setup).await;
        world.say("pay").await;
        while world.tools.runs("post") == 0 {
            tokio::task::yield_now().await;
        }
        world.setup.post_hangs = false;
        let mut world = world.restart(ScriptedModel::new(vec![])).await;
        let asked = world.channel.taken(1).await.remove(0).content;
        world.idle().await;
        world.sent().await;
        for (start, times) in starts {
            world.setup.starts = *start;
            world = world.restart(ScriptedModel::new(vec![])).await;
            let taken = world.channel.taken(*times).await;
            world.sent().await;
            assert_eq!(world.channel.taken(*times).await.len(), *times, "{start:?}");
            for reminder in &taken[1..] {
                assert_eq!(reminder.content.text, format!("Still to be decided:\n{}", asked.text));
                assert_eq!(reminder.content.choices, asked.choices);
            }
        }
        let world = world.restart(ScriptedModel::new(vec![Scripted::says("done")])).await;
        world.say("/skip").await;
        world.channel.shows(|texts| texts.last().is_some_and(|last| last == "done")).await;
    }
}

#[tokio::test]
async fn child_runs_in_its_own_session_and_answers_its_parent() {
    let world = World::new(ScriptedModel::answering(|request| {
        match (last_said(request), request.messages.last()) {
            ("count the files", _) => Scripted::says("seven"),
            (_, Some(Message::ToolResult { result, .. })) => Scripted::says(result),
            _ => Scripted::calls(&[("spawn", json!({"prompt": "count the files"}))]),
        }
    }))
    .await;
    world.say("how many?").await;
    assert_eq!(world.channel.texts(1).await, [r#"{"answer":"seven"}"#]);
    world.idle().await;
    assert_eq!(world.channel.taken(1).await.len(), 1, "the child says nothing in the chat");
}

#[tokio::test]
async fn f25_orderly_stop_waits_and_then_releases_the_turn_without_an_attempt() {
    let permits = Arc::new(Semaphore::new(0));
    let world = World::new(patient_parrot(&permits)).await;
    let hanging = world.say_in("a", "one").await.id;
    let queued = world.say_in("a", "two").await.id;
    world.asked(1).await;
    world.bus.stop();
    let (clock, lanes) = (world.clock.clone(), &world.sessions);
    tokio::join!(lanes.stop(SECOND), async {
        clock.sleeper(SECOND).await;
        clock.advance(SECOND);
    });
    let turn = world.store.transcript(&session("a"), 1).await.unwrap().remove(0);
    assert_eq!(turn.state, TurnState::Queued);
    let claim = world.store.claim(&session("a"), false, Duration::ZERO).await.unwrap();
    let avocet_protocol::Claim::Turn(claimed) = claim else { panic!("{claim:?}") };
    assert_eq!(claimed.attempts, 0);
    world.store.release(turn.id).await.unwrap();

    let world = world.restart(parrot()).await;
    assert_eq!(world.channel.texts(2).await, ["one", "two"]);
    for id in [hanging, queued] {
        while world.outcome(id).await.is_none() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn f25_orderly_stop_lets_a_turn_finish_and_claims_no_other() {
    let permits = Arc::new(Semaphore::new(0));
    let world = World::new(patient_parrot(&permits)).await;
    world.say("one").await;
    let second = world.say("two").await;
    world.asked(1).await;
    let (clock, sessions) = (world.clock.clone(), &world.sessions);
    tokio::join!(sessions.stop(SECOND), async {
        clock.sleeper(SECOND).await;
        permits.add_permits(9);
    });
    assert_eq!(world.channel.texts(1).await, ["one"]);
    assert_eq!(world.outcome(second).await, None);
}

#[tokio::test]
async fn commands_answer_without_the_lane() {
    let world = World::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    world.say("hang").await;
    world.asked(1).await;
    world.clock.advance(5 * SECOND);
    let table = [
        (
            "/status",
            "t1 is running, step 1, 5 s old. Messages waiting: 0 (queue mode queue). To be \
             delivered: 0; unconfirmed: 0.",
        ),
        ("/id", "This chat is terminal:local:a. Its session is terminal:local:a. You are me."),
        (
            "/queue",
            "The queue mode is queue: messages that come while I work are answered one by one \
             afterwards.",
        ),
        (
            "/queue never",
            "There is no queue mode \"never\"; there are queue, collect, steer, interrupt.",
        ),
        (
            "/retry",
            "There is nothing to run again: no answer failed here in the last day, or I am still \
             working. A choice that I offered after you wrote has to be named, as in /retry w7.",
        ),
        ("/skip w", "wait id \"w\" is not a number with the prefix `w`."),
        ("/resend", "There is nothing to send again."),
        ("/dance", "I do not know the command /dance. /help shows them all."),
        ("/new", "I start afresh: what was said in this chat before is forgotten."),
    ];
    for (count, (command, reply)) in (1..).zip(table) {
        world.say(command).await;
        assert_eq!(world.channel.texts(count).await[count - 1], reply, "{command}");
    }
}

#[tokio::test]
async fn ping_reports_a_turn_that_runs_too_long() {
    let world = World::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    assert_eq!(world.sessions.ping().await, Ok(()));
    world.say("hang").await;
    world.asked(1).await;
    assert_eq!(world.sessions.ping().await, Ok(()));
    let stuck = world.sessions.lanes.parts.agents.agents.default().run.limits.max_duration * 2;
    // The turn's own timeout would end it, but the turn is blocked before it sees the time.
    world.clock.advance(stuck);
    let pinged = world.sessions.ping().await;
    assert_eq!(pinged, Err(NotMoving::Turn(TurnId(1))));
    world.sessions.group.abort();
    let clock: &dyn Clock = world.clock.as_ref();
    world.sessions.group.finish(clock, SECOND).await.unwrap();
}

#[tokio::test]
async fn message_tool_sends_to_another_chat_at_once() {
    let to_b = json!({"text": "psst", "chat": "terminal:local:b"});
    let say = Scripted::calls(&[("say", to_b)]);
    let world = World::new(ScriptedModel::new(vec![say, Scripted::Hang])).await;
    world.say("tell b").await;
    assert_eq!(world.channel.texts(1).await, ["psst"]);
    assert_eq!(world.channel.taken(1).await[0].address, session("b").address());
}

#[tokio::test]
async fn new_acts_before_later_messages_are_answered() {
    let world = World::new(parrot()).await;
    for round in 0..50 {
        world.say(&format!("secret {round}")).await;
        let (new, hello) = (format!("/new {round}"), format!("hello {round}"));
        let (_, hello) = tokio::join!(world.say(&new), world.say(&hello));
        while world.outcome(hello).await.is_none() {
            tokio::task::yield_now().await;
        }
        let again = world.say(&format!("again {round}")).await;
        while world.outcome(again).await.is_none() {
            tokio::task::yield_now().await;
        }
        let requests = world.model.requests();
        let told = |request: &ModelRequest, text: &str| {
            request.messages.iter().any(
                |message| matches!(message, Message::User { text: said, .. } if said.contains(text)),
            )
        };
        let last = requests.last().unwrap();
        assert!(told(last, &format!("hello {round}")), "round {round}: {last:#?}");
        assert!(!told(last, &format!("secret {round}")), "round {round}: {last:#?}");
        let hello = &requests[requests.len() - 2];
        assert!(!told(hello, &format!("secret {round}")), "round {round}: {hello:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
async fn stop_ends_a_turn_that_is_just_being_claimed() {
    let world = World::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    for round in 0..100 {
        let (hang, stop) = (format!("hang {round}"), format!("/stop {round}"));
        let stopping = async {
            for _ in 0..round % 40 {
                tokio::task::yield_now().await;
            }
            world.say(&stop).await
        };
        let (hanging, _) = tokio::join!(world.say(&hang), stopping);
        while !world.open_commands().await.is_empty() {
            tokio::task::yield_now().await;
        }
        let before = world.outcome(hanging).await;
        if before.is_none() {
            // The command came before the turn began.
            while world.outcome(hanging).await.is_none() {
                world.say(&format!("/stop {round} {}", world.model.requests().len())).await;
                tokio::task::yield_now().await;
            }
            world.idle().await;
            continue;
        }
        let idle = tokio::time::timeout(PATIENCE, world.idle()).await;
        assert!(idle.is_ok(), "round {round}: the lane works on a turn that was ended");
    }
}

fn photo(reference: &str) -> Vec<Attachment> {
    let source = AttachmentSource::Platform(reference.to_owned());
    vec![Attachment::new(AttachmentKind::Image, source)]
}

#[tokio::test]
async fn attachments_are_saved_before_the_request_and_shown_unchanged_later() {
    let world = World::new(parrot()).await;
    world.channel.keep("f", [OnFetch::Give(b"jpeg".to_vec())]);
    world.say_with("a", "look", photo("f")).await;
    let line = "look\n[image: 4 bytes, saved as inbox/m1-0.jpg]";
    assert_eq!(world.channel.texts(1).await, [line]);
    assert_eq!(world.setup.files.get("inbox/m1-0.jpg").as_deref(), Some(&b"jpeg"[..]));
    world.say("and now?").await;
    let requests = world.asked(2).await;
    assert_eq!(requests[1].messages[..2], requests[0].messages[..2], "F33");
    assert_eq!(world.channel.fetches(1).await, 1);
}

#[tokio::test]
async fn fetch_interrupted_by_a_crash_is_repeated_and_answered_once() {
    let world = World::new(parrot()).await;
    world.channel.keep("f", [OnFetch::Hang, OnFetch::Give(b"jpeg".to_vec())]);
    let id = world.say_with("a", "look", photo("f")).await.id;
    world.channel.fetches(1).await;
    let world = world.restart(parrot()).await;
    let said = world.channel.texts(1).await;
    assert_eq!(said, ["look\n[image: 4 bytes, saved as inbox/m1-0.jpg]"]);
    assert_eq!(world.outcome(id).await, Some(Outcome::Replied));
    assert_eq!(world.asked(1).await.len(), 1);
}

#[tokio::test]
async fn stop_ends_a_turn_that_fetches_an_attachment() {
    let world = World::new(parrot()).await;
    world.channel.keep("f", [OnFetch::Hang]);
    let id = world.say_with("a", "look", photo("f")).await.id;
    world.channel.fetches(1).await;
    world.say("/stop").await;
    world.channel.taken(1).await;
    world.idle().await;
    assert_eq!(world.outcome(id).await, Some(Outcome::Stopped));
}

#[tokio::test]
async fn attachments_of_a_steering_message_are_saved_before_the_next_request() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let model = ScriptedModel::answering(move |request| match last_said(request) {
        "go" => {
            let call = Scripted::calls(&[("echo", json!({}))]);
            Scripted::When(held.clone(), Box::new(call))
        }
        text => Scripted::says(text),
    });
    let world = World::new(model).await;
    world.channel.keep("f", [OnFetch::Give(b"jpeg".to_vec())]);
    world.say("/queue steer").await;
    world.channel.taken(1).await;
    world.say("go").await;
    world.asked(1).await;
    world.say_with("a", "look at this", photo("f")).await;
    permits.add_permits(1);
    let said = world.channel.texts(2).await;
    assert_eq!(said[1], "look at this\n[image: 4 bytes, saved as inbox/m3-0.jpg]");
}

#[tokio::test]
async fn compact_is_confirmed_at_once_and_runs_between_turns() {
    let permits = Arc::new(Semaphore::new(0));
    let gate = permits.clone();
    let world = World::new(ScriptedModel::answering(move |request| match last_said(request) {
        "wait" => Scripted::When(gate.clone(), Box::new(Scripted::says("waited"))),
        text if text.contains("<conversation>") => Scripted::says("They greet."),
        _ => Scripted::says(&"hello ".repeat(12)),
    }))
    .await;
    world.say("hi").await;
    world.channel.texts(1).await;
    world.say("wait").await;
    world.asked(2).await;
    world.say("/compact").await;
    assert_eq!(world.channel.texts(2).await[1], "I condense what was said before.");
    permits.add_permits(1);
    let texts = world.channel.texts(4).await;
    assert_eq!(texts[2], "waited");
    assert!(texts[3].starts_with("What was said before is condensed: about "), "{}", texts[3]);
    world.say("go on").await;
    let last = world.asked(4).await.pop().unwrap();
    let sent = format!("{:?}", last.messages);
    assert!(sent.contains("They greet.") && !sent.contains("wait"), "{sent}");
}
