use std::sync::Arc;

use avocet_protocol::access::{ApprovalDecision, Trust};
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{InboundKind, NewInbound, Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::job::JOB_SUMMARY;
use avocet_protocol::model::{Message, ModelError, ModelReply, Usage};
use avocet_protocol::store::{
    CommandAction, CommandReply, Inbox, JobChat, JobLimits, JobRules, Jobs, NewJob, NewWait, Query,
    Resolution, Settlement, Turns,
};
use avocet_protocol::tool::{WaitKind, WaitRequest};
use avocet_protocol::turn::{CUT_OFF, Origin};
use avocet_testkit::{Scripted, ScriptedModel};
use serde_json::{Value, json};

use super::*;
use crate::harness::{AgentHarness, session};
use crate::{CallWait, FailedTurn, NOT_RECORDED};

/// Number of kinds of turns that [`script`] makes.
const KINDS: usize = 12;

/// Returns the answers of a model in the n-th turn.
fn script(n: usize) -> Vec<Scripted> {
    let answer = Scripted::says(&format!("Done, number {n}.\nÜber und über."));
    let echo = |text: &str| ("echo", json!({ "text": text, "n": n }));
    let mut script = match n % KINDS {
        0 => vec![],
        1 => vec![Scripted::calls(&[echo("one")])],
        2 => vec![Scripted::calls(&[echo("a"), ("post", json!({ "n": n })), ("note", json!({}))])],
        3 => vec![Scripted::calls(&[("together", json!({ "n": 1 })), ("together", json!({}))])],
        4 => vec![Scripted::calls(&[("break", json!({})), ("break", json!({ "long": true }))])],
        5 => {
            vec![Scripted::calls(&[("echo", json!({ "text": "x".repeat(3000), "output": 1100 }))])]
        }
        6 => vec![
            Scripted::calls(&[("page", json!({ "text": "obey" }))]),
            Scripted::calls(&[echo("b"), ("no_such_tool", json!([1]))]),
            Scripted::calls(&[("misread", json!({}))]),
        ],
        // The third call is refused, because the result was the same twice.
        7 => [echo("same"), echo("same"), echo("same")].map(|call| Scripted::calls(&[call])).into(),
        8 => vec![Scripted::calls(&[("ask", json!({})), echo("after")])],
        9 => vec![speaking("I look first.\n", &[echo("c")])],
        10 => return vec![Scripted::calls(&[echo("d")]), unreachable()],
        _ => return vec![cut_off()],
    };
    script.push(answer);
    script
}

/// Returns an answer with a text before its calls.
fn speaking(text: &str, calls: &[(&str, Value)]) -> Scripted {
    let Scripted::Reply(reply) = Scripted::calls(calls) else { panic!() };
    Scripted::Reply(ModelReply { text: text.to_owned(), ..reply })
}

fn cut_off() -> Scripted {
    let Scripted::Reply(reply) = Scripted::says("One, two,") else { panic!() };
    Scripted::Reply(ModelReply { truncated: true, ..reply })
}

fn unreachable() -> Scripted {
    let (model, detail) = ("test/scripted".to_owned(), "refused".to_owned());
    Scripted::Error(ModelError::Unreachable { model, detail: detail.into() })
}

/// Ends a turn, and resolves its waits. Returns the record.
async fn settle(harness: &AgentHarness, mut turn: TurnRecord) -> TurnRecord {
    let session = turn.session.clone();
    loop {
        let settlement = match harness.run(turn.clone()).await.unwrap() {
            TurnEnd::Answered(answer) => {
                Settlement { answer: Some(answer), ..Settlement::new(Outcome::Replied) }
            }
            TurnEnd::Failed(FailedTurn { notice, .. }) => {
                let notice = Some(format!("{notice} /retry runs it again."));
                Settlement { notice, ..Settlement::new(Outcome::Error) }
            }
            TurnEnd::Waiting(waits) => {
                for wait in waits {
                    let resolution = match wait.request.kind {
                        WaitKind::Approval => Resolution::Run,
                        _ => Resolution::Answer { text: "blue".to_owned(), trust: Trust::Full },
                    };
                    let id = harness.wait(wait.call, wait.request).await;
                    harness.store.resolve(id, &resolution).await.unwrap();
                }
                turn = harness.claim_in(&session).await;
                continue;
            }
        };
        harness.store.settle(turn.id, &settlement).await.unwrap();
        return harness.store.transcript(&session, 1).await.unwrap().remove(0);
    }
}

async fn recorded(harness: &AgentHarness, text: &str) -> TurnRecord {
    harness.say(text).await;
    settle(harness, harness.claim().await).await
}

async fn replayed(harness: &AgentHarness, record: &TurnRecord) -> ReplayedTurn {
    let context = harness.turn_context(Vec::new());
    harness.agent.replay(record, &context, ReplayAnswers::Recorded).await.unwrap()
}

/// Replays a turn with these answers of another model.
async fn asked(
    harness: &AgentHarness,
    record: &TurnRecord,
    answers: Vec<Scripted>,
) -> (ReplayedTurn, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::new(answers).named("test/other"));
    let models =
        AgentModels { main: model.clone(), cheap: model.clone(), tasks: ModelsByTask::default() };
    let agent = AgentLoop { models, ..harness.agent.clone() };
    let context = harness.turn_context(Vec::new());
    (agent.replay(record, &context, ReplayAnswers::Asked).await.unwrap(), model)
}

/// Returns the texts and the JSON of the calls, byte for byte.
fn bytes(outline: &TurnOutline) -> Vec<String> {
    let steps = outline.steps.iter().flat_map(|step| {
        let calls = step.calls.iter().map(|call| serde_json::to_string(call).unwrap());
        [step.text.clone()].into_iter().chain(calls)
    });
    steps.chain([format!("{:?}", outline.end)]).collect()
}

async fn assert_same(harness: &AgentHarness, record: &TurnRecord) {
    let again = replayed(harness, record).await;
    let recorded = TurnOutline::of_record(record);
    assert_eq!(bytes(&again.outline), bytes(&recorded), "{record:#?}");
    assert_eq!(again.outline, recorded);
    assert_eq!((again.new_calls, again.unread), (Vec::new(), Vec::new()));
    let usage = again.spent.iter().fold(Usage::default(), |sum, one| sum + one.usage);
    assert_eq!(usage, record.usage());
}

#[tokio::test]
async fn replay_of_100_turns_with_recorded_answers_equals_the_record() {
    let answers = (0..100).flat_map(script).collect();
    let harness = AgentHarness::new(answers).await;
    for n in 0..100 {
        recorded(&harness, &format!("message {n}")).await;
    }
    let records = harness.store.transcript(&session(), 100).await.unwrap();
    let (requests, posts) = (harness.model.requests().len(), harness.runs("post"));
    assert!(posts > 0);
    let ends: Vec<ReplayEnd> = records.iter().map(recorded_end).collect();
    assert!(
        ends.iter().any(|end| matches!(end, ReplayEnd::Failed(text) if text.contains("/retry")))
    );
    assert!(
        ends.iter().any(|end| matches!(end, ReplayEnd::Answered(text) if text.ends_with(CUT_OFF)))
    );
    for record in &records {
        assert_same(&harness, record).await;
    }
    assert_eq!((harness.model.requests().len(), harness.runs("post")), (requests, posts));
    assert_eq!(harness.store.transcript(&session(), 100).await.unwrap(), records);
}

#[tokio::test]
async fn replay_finds_a_difference_if_the_record_lacks_an_answer() {
    let harness = AgentHarness::new(script(6)).await;
    let mut record = recorded(&harness, "hi").await;
    record.steps.remove(1);
    let again = replayed(&harness, &record).await;
    assert_ne!(again.outline, TurnOutline::of_record(&record));
}

#[tokio::test]
async fn replay_with_another_model_pairs_equal_calls_and_runs_no_tool() {
    let echo = |text: &str| ("post", json!({ "text": text }));
    let first = Scripted::calls(&[echo("same"), ("ask", json!({})), ("break", json!({}))]);
    let script = vec![first, Scripted::says("old")];
    let harness = AgentHarness::new(script).await;
    let record = recorded(&harness, "hi").await;
    let before = harness.runs("post");
    let other =
        Scripted::calls(&[("ask", json!({})), ("break", json!({})), echo("same"), echo("same")]);
    let (again, model) = asked(&harness, &record, vec![other, Scripted::says("new")]).await;
    assert_eq!(again.outline.end, ReplayEnd::Answered("new".to_owned()));
    let place = |call: &CallId| (call.step, call.ordinal);
    assert_eq!(again.new_calls.iter().map(place).collect::<Vec<_>>(), [(0, 3)]);
    let results: Vec<String> = model.requests()[1]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { result, .. } => Some(result.clone()),
            _ => None,
        })
        .collect();
    let recorded = |name: &str| {
        let mut calls = record.steps[0].calls.iter();
        let call = calls.find(|call| call.call.name == name).unwrap();
        crate::history::result_text(call.result().unwrap())
    };
    assert_eq!(results[..3], [recorded("ask"), recorded("break"), recorded("post")]);
    assert!(results[3].contains(NOT_RECORDED), "{results:?}");
    assert_eq!(harness.runs("post"), before);
    assert_eq!(again.spent.len(), 2);
}

#[tokio::test]
async fn replay_gives_steering_messages_after_the_same_step() {
    let harness = AgentHarness::new(vec![
        Scripted::calls(&[("echo", json!({}))]),
        Scripted::calls(&[("echo", json!({ "n": 2 }))]),
        Scripted::says("old"),
    ])
    .await;
    harness.say("hi").await;
    let turn = harness.claim().await;
    let kind = InboundKind::Command;
    let command = NewInbound { kind, ..harness.message("/queue steer") };
    let command = harness.store.accept(&command, None).await.unwrap().id;
    let steer = CommandAction::SetMode(QueueMode::Steer);
    harness.store.settle_command(command, &steer, &CommandReply::default()).await.unwrap();
    harness.say("and more").await;
    let record = settle(&harness, turn).await;
    assert_eq!(record.steps[0].steered.len(), 1);
    assert_same(&harness, &record).await;

    let answers = vec![Scripted::calls(&[("echo", json!({}))]), Scripted::says("new")];
    let (again, model) = asked(&harness, &record, answers).await;
    assert!(again.unread.is_empty());
    let shown = format!("{:?}", model.requests()[1].messages);
    assert!(shown.contains("and more"), "{shown}");
    let (again, _) = asked(&harness, &record, vec![Scripted::says("at once")]).await;
    assert_eq!(again.unread, [record.steps[0].steered[0].id]);
}

#[tokio::test]
async fn replay_plays_back_a_withheld_answer() {
    for allowed in [true, false] {
        let mut answers = vec![
            Scripted::calls(&[("page", json!({ "text": "tell SECRET" }))]),
            Scripted::says("The SECRET is 7"),
        ];
        if !allowed {
            answers.push(Scripted::says("I may not say it."));
        }
        let harness = AgentHarness::new(answers).await;
        harness.say("hi").await;
        let mut turn = harness.claim().await;
        let TurnEnd::Waiting(mut waits) = harness.run(turn.clone()).await.unwrap() else {
            panic!()
        };
        let wait = waits.remove(0);
        let id = harness.wait(wait.call, wait.request).await;
        let denied = Resolution::from(&ApprovalDecision::Denied { why: None });
        let resolution = if allowed { Resolution::Run } else { denied };
        harness.store.resolve(id, &resolution).await.unwrap();
        turn = harness.claim().await;
        let record = settle(&harness, turn).await;
        assert_eq!(record.steps.len(), 3);
        assert_same(&harness, &record).await;
    }
}

#[tokio::test]
async fn replay_plays_back_a_review_of_changes() {
    let denied = || Resolution::from(&ApprovalDecision::Denied { why: None });
    let table = [
        ("I changed it", vec![Resolution::Run]),
        ("I changed it", vec![denied()]),
        ("The SECRET is 7", vec![Resolution::Run, Resolution::Run]),
        ("The SECRET is 7", vec![Resolution::Run, denied()]),
    ];
    for (text, resolutions) in table {
        let mut answers = vec![
            Scripted::calls(&[("page", json!({ "text": "tell SECRET" })), ("change", json!({}))]),
            Scripted::says(text),
        ];
        if resolutions.last() == Some(&denied()) {
            answers.push(Scripted::says("It is as before."));
        }
        let harness = AgentHarness::new(answers).await;
        harness.say("hi").await;
        let mut turn = harness.claim().await;
        for resolution in resolutions {
            let TurnEnd::Waiting(mut waits) = harness.run(turn).await.unwrap() else { panic!() };
            let wait = waits.remove(0);
            let id = harness.wait(wait.call, wait.request).await;
            harness.store.resolve(id, &resolution).await.unwrap();
            turn = harness.claim().await;
        }
        let record = settle(&harness, turn).await;
        assert_same(&harness, &record).await;
    }
}

/// Submits a job and runs it to its end.
async fn job(harness: &AgentHarness) -> TurnRecord {
    let rules =
        JobRules { agent: "builder".to_owned(), workspace: None, limits: JobLimits::default() };
    let message = harness.message("add tests");
    let job = NewJob { message, chat: JobChat::Asking, rules };
    let session = harness.store.submit(&job).await.unwrap().session;
    settle(harness, harness.claim_in(&session).await).await
}

#[tokio::test]
async fn replay_plays_back_the_steps_that_the_program_makes_in_a_job() {
    let work = || Scripted::calls(&[("echo", json!({}))]);
    let done = || Scripted::says("Added two tests.\n\nTASK COMPLETE");
    let gh = ["gh".to_owned(), "pr".to_owned()];
    let table = [
        (None, &gh[..0], vec![Scripted::says("I begin."), work(), done()]),
        (None, &gh[..0], vec![Scripted::says("TASK COMPLETE")]),
        (Some("b"), &gh[..0], vec![work(), done()]),
        (Some("b"), &gh[..], vec![work(), done()]),
        (Some("dirty"), &gh[..0], vec![]),
        (Some("nowhere"), &gh[..0], vec![done()]),
    ];
    for (branch, pr_command, answers) in table {
        let mut harness = AgentHarness::new(answers).await;
        let (branch, pr_command) = (branch.map(str::to_owned), pr_command.to_vec());
        harness.job = JobPlan { branch, pr_command };
        let mut record = job(&harness).await;
        assert_same(&harness, &record).await;
        // The lane adds a summary to the final text.
        if let Some(last) = record.steps.last_mut().filter(|step| step.calls.is_empty()) {
            last.text =
                format!("{}\n\n{JOB_SUMMARY}\n- Cost: $0.00", last.text).trim_start().to_owned();
        }
        assert_same(&harness, &record).await;
    }
}

#[tokio::test]
async fn replay_plays_back_a_sub_agent_and_the_turn_that_waited_for_it() {
    let spawn = |prompt: &str| ("spawn", json!({ "prompt": prompt }));
    let harness = AgentHarness::new(vec![
        Scripted::calls(&[spawn("look"), spawn("listen")]),
        Scripted::calls(&[("echo", json!({}))]),
        Scripted::says("seen"),
        Scripted::says("heard"),
        Scripted::says("both are done"),
    ])
    .await;
    harness.say("hi").await;
    let turn = harness.claim().await;
    let TurnEnd::Waiting(waits) = harness.run(turn).await.unwrap() else { panic!() };
    let mut begun = Vec::new();
    for CallWait { call, request } in waits {
        let WaitRequest { kind, writes, .. } = request;
        let id = harness.store.reserve_wait().await.unwrap();
        let wait = NewWait::new(id, call, kind, Timestamp(i64::MAX));
        begun.push(NewWait { writes, ..wait });
    }
    harness.store.wait(&begun).await.unwrap();
    for NewWait { call, .. } in &begun {
        let session = SessionId::of_child(*call);
        let child = settle(&harness, harness.claim_in(&session).await).await;
        assert!(matches!(child.origin, Origin::Child { .. }));
        assert_same(&harness, &child).await;
    }
    let record = settle(&harness, harness.claim().await).await;
    assert_eq!(record.final_text(), Some("both are done"));
    assert_same(&harness, &record).await;
}

#[tokio::test]
async fn replay_of_a_stopped_turn_ends_where_the_record_ends() {
    let harness = AgentHarness::new(script(1)).await;
    let mut record = recorded(&harness, "hi").await;
    record.steps.pop();
    (record.state, record.notice) = (TurnState::Cancelled, Some("Stopped.".to_owned()));
    let again = replayed(&harness, &record).await;
    assert_eq!(again.outline.end, ReplayEnd::Stopped);
    assert_eq!(again.outline, TurnOutline::of_record(&record));
}

#[tokio::test]
async fn replay_of_changed_messages_shows_them_to_the_model() {
    let harness = AgentHarness::new(script(1)).await;
    let mut record = recorded(&harness, "old words").await;
    let Origin::Messages(messages) = &mut record.origin else { panic!() };
    messages[0].message.inbound.content.text = "new words".to_owned();
    let (_, model) = asked(&harness, &record, vec![Scripted::says("ok")]).await;
    let shown = format!("{:?}", model.requests()[0].messages);
    assert!(shown.contains("new words") && !shown.contains("old words"), "{shown}");
}
