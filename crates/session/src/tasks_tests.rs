//! Tests of child turns: side by side, in the background, cancelled, across restarts.

use avocet_protocol::access::PermissionMode;
use avocet_protocol::store::{LineageTurn, TaskPage, TaskView, Tasks};
use avocet_protocol::tool::ChildMode;
use avocet_testkit::OnSend;
use serde_json::Value;

use super::*;
use crate::agents::SessionChoice;

const ALL: TaskPage = TaskPage { limit: 100, before: None };

fn spawn(task: &str) -> (&'static str, Value) {
    ("spawn", json!({ "prompt": task, "label": task }))
}

fn in_background(task: &str) -> (&'static str, Value) {
    ("spawn", json!({ "prompt": task, "label": task, "background": true }))
}

/// Returns the results in a request, joined.
fn results(request: &ModelRequest) -> String {
    let results = request.messages.iter().filter_map(|message| match message {
        Message::ToolResult { result, .. } => Some(result.as_str()),
        _ => None,
    });
    results.collect::<Vec<_>>().join(" ")
}

/// A model whose root turn gives these tasks to sub-agents and then repeats their results.
/// `of_task` answers each task.
fn delegating(
    calls: Vec<(&'static str, Value)>,
    of_task: impl Fn(&str, &ModelRequest) -> Scripted + Send + Sync + 'static,
) -> ScriptedModel {
    ScriptedModel::answering(move |request| match (last_said(request), results(request)) {
        ("go", results) if results.is_empty() => Scripted::calls(&calls),
        ("go", results) => Scripted::says(&results),
        (task, _) => of_task(task, request),
    })
}

fn upper(task: &str, _: &ModelRequest) -> Scripted {
    Scripted::says(&task.to_uppercase())
}

impl SessionHarness {
    async fn tasks(&self) -> Vec<TaskView> {
        self.store.tasks(Some(&session("a")), ALL).await.unwrap()
    }

    /// Waits until all tasks are in these states, the newest first.
    async fn tasks_are(&self, states: &[TurnState]) {
        while self.tasks().await.iter().map(|task| task.state).ne(states.iter().copied()) {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn spawn_runs_children_side_by_side_and_the_parent_gets_all_results() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = gate.clone();
    let model = delegating(vec![spawn("one"), spawn("two"), spawn("three")], move |task, _| {
        let says = Scripted::says(&task.to_uppercase());
        Scripted::When(permits.clone(), Box::new(says))
    });
    let harness = SessionHarness::new(model).await;
    let asked = harness.say("go").await;
    harness.asked(4).await;
    assert_eq!(harness.tasks().await.len(), 3, "all run before one has ended");
    gate.add_permits(3);
    let answer = harness.channel.texts(1).await.remove(0);
    assert_eq!(answer, r#"{"answer":"ONE"} {"answer":"TWO"} {"answer":"THREE"}"#);
    assert_eq!(harness.outcome(asked).await, Some(Outcome::Replied));
    assert_eq!(harness.model.requests().len(), 5, "the parent continues once");
}

#[tokio::test]
async fn spawn_gives_the_parent_the_error_of_a_failed_child_beside_the_other_result() {
    let model = delegating(vec![spawn("one"), spawn("two")], |task, _| match task {
        "one" => {
            let model = "fake/model".to_owned();
            Scripted::Error(ModelError::Unreachable { model, detail: "down".into() })
        }
        task => Scripted::says(task),
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    let answer = harness.channel.texts(1).await.remove(0);
    assert!(answer.contains(r#"{"error":"I could not answer"#), "{answer}");
    assert!(answer.ends_with(r#"{"answer":"two"}"#), "{answer}");
}

#[tokio::test]
async fn children_continue_after_a_restart_and_a_finished_one_does_not_run_again() {
    let model = delegating(vec![spawn("one"), spawn("two")], |task, _| match task {
        "one" => Scripted::says("1"),
        _ => Scripted::Hang,
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    harness.asked(3).await;
    harness.tasks_are(&[TurnState::Running, TurnState::Done]).await;
    let harness = harness.restart(delegating(Vec::new(), upper)).await;
    assert_eq!(harness.channel.texts(1).await, [r#"{"answer":"1"} {"answer":"TWO"}"#]);
    assert_eq!(harness.model.requests().len(), 2, "the second child, then the parent");
}

#[tokio::test]
async fn background_task_outlives_its_turn_and_reports_to_the_chat() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = gate.clone();
    let model = delegating(vec![in_background("watch")], move |task, _| match task {
        "watch" => Scripted::When(permits.clone(), Box::new(Scripted::says("seven"))),
        task => Scripted::says(task),
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    assert_eq!(harness.channel.texts(1).await, ["noted"]);
    harness.tasks_are(&[TurnState::Running]).await;
    gate.add_permits(1);
    let done = "Task “watch” is done:\n\nseven";
    assert_eq!(harness.channel.texts(2).await[1], done);
    harness.say("and?").await;
    harness.channel.texts(3).await;
    let request = harness.model.requests().pop().unwrap();
    let told = request.messages.iter().any(|message| match message {
        Message::User { text, .. } => text.contains("is done:  seven"),
        _ => false,
    });
    assert!(told, "{request:?}");
}

#[tokio::test]
async fn background_task_that_fails_tells_the_chat() {
    let model = delegating(vec![in_background("watch")], |_, _| {
        let model = "fake/model".to_owned();
        Scripted::Error(ModelError::Unreachable { model, detail: "down".into() })
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    let texts = harness.channel.texts(2).await;
    let failed = texts.iter().find(|text| text.starts_with("Task “watch” failed: I could not"));
    assert!(failed.is_some(), "{texts:?}");
}

#[tokio::test]
async fn background_task_that_was_started_before_a_crash_runs_at_the_next_start() {
    let harness =
        SessionHarness::new(delegating(vec![in_background("watch")], |_, _| Scripted::Hang)).await;
    harness.say("go").await;
    harness.channel.taken(1).await;
    harness.sent().await;
    let harness = harness.restart(delegating(Vec::new(), upper)).await;
    let texts = harness.channel.texts(2).await;
    assert_eq!(texts[1], "Task “watch” is done:\n\nWATCH");
}

#[tokio::test]
async fn stop_cancels_a_waiting_turn_with_its_children() {
    let model = delegating(vec![spawn("one"), in_background("two")], |_, _| Scripted::Hang);
    let harness = SessionHarness::new(model).await;
    let asked = harness.say("go").await;
    harness.asked(3).await;
    harness.say("/stop").await;
    assert_eq!(harness.channel.texts(1).await, ["Stopped."]);
    harness.tasks_are(&[TurnState::Cancelled; 2]).await;
    harness.idle().await;
    assert_eq!(harness.outcome(asked).await, Some(Outcome::Stopped));
}

#[tokio::test]
async fn stop_cancels_children_grandchildren_and_tasks_in_the_background() {
    let calls = vec![spawn("one"), in_background("two")];
    let model = delegating(calls, |task, _| match task {
        "one" => Scripted::calls(&[spawn("below"), in_background("beside")]),
        _ => Scripted::Hang,
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    // The root, two tasks, and two tasks below the first.
    harness.asked(5).await;
    while harness.tasks().await.iter().filter(|task| task.state == TurnState::Running).count() < 3 {
        tokio::task::yield_now().await;
    }
    harness.say("/stop").await;
    assert_eq!(harness.channel.texts(1).await, ["Stopped."]);
    harness.tasks_are(&[TurnState::Cancelled; 4]).await;
    harness.idle().await;
    assert_eq!(harness.model.requests().len(), 5);
    assert_eq!(harness.channel.texts(1).await.len(), 1, "a cancelled task reports nothing");
}

#[tokio::test]
async fn tasks_command_lists_shows_and_cancels() {
    let model = delegating(vec![spawn("one"), spawn("two")], |task, _| match task {
        "one" => Scripted::Hang,
        task => Scripted::says(task),
    });
    let harness = SessionHarness::new(model).await;
    harness.say("/tasks").await;
    harness.channel.shows(|texts| texts == ["There are no tasks in this conversation."]).await;
    harness.say("go").await;
    harness.asked(3).await;
    harness.tasks_are(&[TurnState::Done, TurnState::Running]).await;
    harness.say("/tasks ").await;
    let usage = "100 tokens read, 10 written, price unknown";
    let listed =
        format!("- t3 two: done, 0 s, steps 1, {usage}\n- t2 one: running, 0 s, steps 0, ");
    let texts = harness.channel.texts(2).await;
    assert!(texts[1].starts_with(&listed), "{texts:?}");
    harness.say("/tasks T3").await;
    let texts = harness.channel.texts(3).await;
    assert!(texts[2].ends_with("\nTask: two\nResult: two"), "{texts:?}");
    harness.say_in("b", "/tasks cancel t2").await;
    let texts = harness.channel.texts(4).await;
    assert_eq!(texts[3], "There is no such open task in this conversation.", "from another chat");
    harness.say("/tasks cancel t2").await;
    let texts = harness.channel.texts(6).await;
    assert!(texts.contains(&"Task t2 is cancelled.".to_owned()), "{texts:?}");
    let cancelled = r#"{"error":"the task was cancelled by the user"#;
    assert!(texts.iter().any(|text| text.contains(cancelled)), "{texts:?}");
}

#[tokio::test]
async fn approval_inside_a_child_is_asked_in_the_chat_with_the_name_of_the_task() {
    let model = delegating(vec![spawn("pay")], |_, request| match results(request).as_str() {
        "" => Scripted::calls(&[("dangerous", json!({}))]),
        _ => Scripted::says("paid"),
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    assert_eq!(harness.channel.texts(1).await, ["For the task “pay”:\n\nMay I?"]);
    harness.idle().await;
    assert_eq!(harness.tools.runs("dangerous"), 0);
    harness.say("/approve").await;
    harness.channel.shows(|texts| texts.contains(&r#"{"answer":"paid"}"#.to_owned())).await;
    assert_eq!(harness.tools.runs("dangerous"), 1);
}

#[tokio::test]
async fn f16_messages_to_a_waiting_parent_are_answered_in_order() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = gate.clone();
    let model = delegating(vec![spawn("one")], move |task, _| match task {
        "one" => Scripted::When(permits.clone(), Box::new(Scripted::says("1"))),
        task => Scripted::says(task),
    });
    let harness = SessionHarness::new(model).await;
    harness.say("go").await;
    harness.asked(2).await;
    for text in ["a", "b", "c"] {
        harness.say(text).await;
    }
    harness.clock.advance(SECOND);
    gate.add_permits(1);
    assert_eq!(harness.channel.texts(4).await, [r#"{"answer":"1"}"#, "a", "b", "c"]);
}

#[tokio::test]
async fn budget_of_the_root_ends_a_child_and_then_the_parent() {
    let model =
        delegating(vec![spawn("one")], |_, _| Scripted::calls(&[("echo", json!({}))]).costing(1.0));
    let budgets = Budgets {
        turn_cost: Some(avocet_protocol::model::Money::dollars(1.0)),
        ..Budgets::default()
    };
    let harness = SessionHarness::with(model, Setup { budgets, ..Setup::default() }).await;
    harness.say("go").await;
    let text = harness.channel.texts(1).await.remove(0);
    assert!(text.starts_with("The budget of this answer is spent"), "{text}");
    let task = harness.tasks().await.remove(0);
    assert_eq!(task.state, TurnState::Failed);
    assert!(task.result.unwrap().starts_with("The budget of this answer is spent"));
}

#[tokio::test]
async fn spawn_with_a_profile_runs_its_model_in_its_list_of_tools() {
    let files = Arc::<FakeFiles>::default();
    let worker = Arc::new(ScriptedModel::new(vec![Scripted::says("by the worker")]));
    let setup = Setup { work: Some((worker.clone(), files)), ..Setup::default() };
    let call = ("spawn", json!({ "prompt": "one", "agent": "work" }));
    let gone = ("spawn", json!({ "prompt": "two", "agent": "gone" }));
    let harness = SessionHarness::with(delegating(vec![call, gone], upper), setup).await;
    harness.say("go").await;
    let answer = harness.channel.texts(1).await.remove(0);
    assert!(answer.starts_with(r#"{"answer":"by the worker"}"#), "{answer}");
    assert!(answer.contains("the profile [agents.gone] is not configured any more"), "{answer}");
    assert_eq!(worker.requests().len(), 1);
}

#[tokio::test]
async fn for_turn_names_the_other_profiles_above_and_refuses_a_missing_one() {
    let work = (Arc::new(ScriptedModel::new(Vec::new())), Arc::<FakeFiles>::default());
    let setup = Setup { work: Some(work), ..Setup::default() };
    let harness = SessionHarness::with(ScriptedModel::new(Vec::new()), setup).await;
    let agents = harness.sessions.lanes.parts.agents.now();
    // The profiles chosen for a turn and its ancestors, `-` for none, and the other profiles above.
    let table = [
        ("-", Some("")),
        ("- -", Some("")),
        ("work -", Some("default")),
        ("work work -", Some("default")),
        ("default work -", Some("work")),
        ("defaults work -", Some("work")),
        ("work gone -", None),
    ];
    for (chosen, within) in table {
        let chosen: Vec<&str> = chosen.split(' ').collect();
        let turns = (0..).map(TurnId).zip(&chosen);
        let lineage: Vec<LineageTurn> = turns
            .map(|(turn, agent)| LineageTurn {
                turn,
                session: session("a"),
                agent: (*agent != "-").then(|| (*agent).to_owned()),
                person: None,
                permission_mode: PermissionMode::Default,
                mode: ChildMode::Awaited,
                skills: Vec::new(),
            })
            .collect();
        let found = agents.for_turn(&lineage, SessionChoice::default());
        let is_child = chosen.len() > 1;
        match within {
            Some(within) => {
                let found = found.unwrap();
                assert_eq!(found.within.join(" "), within, "{chosen:?}");
                assert_eq!(found.run.limits.root_tokens.is_some(), is_child, "{chosen:?}");
            }
            None => assert_eq!(found.unwrap_err(), crate::NoAgent("gone".to_owned())),
        }
    }
}

#[tokio::test]
async fn preview_of_the_root_shows_a_line_for_each_child() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = gate.clone();
    let model = delegating(vec![spawn("one"), spawn("two")], move |task, request| match task {
        "one" if results(request).is_empty() => Scripted::calls(&[("hang", json!({}))]),
        task => Scripted::When(permits.clone(), Box::new(Scripted::says(task))),
    });
    let harness = previews::harness(model, Setup::default()).await;
    harness.say("go").await;
    harness.asked(3).await;
    while harness.tools.runs("hang") == 0 {
        tokio::task::yield_now().await;
    }
    harness.shows_at_last("Working on tasks:\n\n- one: hang\n- two: thinking").await;
    gate.add_permits(1);
    harness.tasks_are(&[TurnState::Done, TurnState::Running]).await;
    let cancel = harness.tasks().await[1].id;
    harness.say(&format!("/tasks cancel {cancel}")).await;
    let texts =
        harness.channel.shows(|texts| texts.iter().any(|text| text.contains("cancelled by"))).await;
    assert!(!texts.iter().any(|text| text.starts_with("Working")), "edited: {texts:?}");
}

/// The time after which a task in the background is first shown.
const QUICK: Duration = Duration::from_secs(5);

#[tokio::test]
async fn progress_of_a_background_task_is_one_message_that_precedes_its_answer() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = gate.clone();
    let mut call = in_background("watch");
    call.1["label"] = json!("survey");
    let model = delegating(vec![call], move |_, request| {
        if results(request).is_empty() {
            Scripted::calls(&[("echo", json!({}))])
        } else {
            Scripted::When(permits.clone(), Box::new(Scripted::says("seen")))
        }
    });
    let harness = previews::harness(model, Setup::default()).await;
    harness.say("go").await;
    harness.shows("noted").await;
    let task = harness.tasks().await[0].id;
    // The second request of the task, after two of its parent.
    harness.asked(4).await;
    harness.pass(QUICK).await;
    harness.shows(&format!("{task} survey: running, step 2")).await;
    gate.add_permits(1);
    let texts = harness.shows("Task “survey” is done:\n\nseen").await;
    assert_eq!(texts[1..texts.len() - 1], [format!("{task} survey: done")], "{texts:?}");
}

#[tokio::test]
async fn progress_of_a_background_task_says_done_after_the_log_says_so() {
    let gate = Arc::new(Semaphore::new(0));
    let permits = gate.clone();
    let model = delegating(vec![in_background("watch")], move |_, _| {
        Scripted::When(permits.clone(), Box::new(Scripted::says("seen")))
    });
    let harness = previews::harness(model, Setup::default()).await;
    harness.say("go").await;
    harness.shows("noted").await;
    let task = harness.tasks().await[0].id;
    harness.pass(QUICK).await;
    harness.shows(&format!("{task} watch: running, step 1")).await;
    // A crash during the edit must not run a task again whose chat reads "done".
    harness.channel.script([OnSend::Hang]);
    gate.add_permits(1);
    harness.channel.tried(3).await;
    assert_eq!(harness.tasks().await[0].state, TurnState::Done);
    harness.pass(Duration::from_secs(5)).await;
    harness.shows("Task “watch” is done:\n\nseen").await;
}

#[tokio::test]
async fn progress_of_a_background_task_says_that_the_task_was_cancelled() {
    let model = delegating(vec![in_background("watch")], |_, _| Scripted::Hang);
    let harness = previews::harness(model, Setup::default()).await;
    harness.say("go").await;
    harness.shows("noted").await;
    let task = harness.tasks().await[0].id;
    harness.pass(QUICK).await;
    harness.shows(&format!("{task} watch: running, step 1")).await;
    harness.say(&format!("/tasks cancel {task}")).await;
    let ended = format!("{task} watch: cancelled");
    harness.channel.shows(|texts| texts.contains(&ended)).await;
}
