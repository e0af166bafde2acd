use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use avocet_protocol::access::{NewRule, PermissionMode, RuleScope};
use avocet_protocol::chat::{InboundKind, NewInbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{RuleId, TurnId};
use avocet_protocol::model::{Message, MessagePart, Messages, ModelRequest};
use avocet_protocol::store::{
    Actor, BranchSession, BranchedSession, CommandAction, CommandReply, CompactedPast, Inbox,
    Query, SessionBranches, TurnLog,
};
use avocet_protocol::turn::TurnRecord;
use avocet_store::OldRows;
use avocet_testkit::{Scripted, ScriptedModel};
use serde_json::json;

use crate::harness::{AgentHarness, answered, failed, session};
use crate::history::TurnTrim;
use crate::small_models::{refusal, small, texts};
use crate::{AgentLoop, RenderedTurns, TurnContext, make_valid};

#[tokio::test]
async fn f10_fit_keeps_500_turns_in_a_small_window_with_any_summary() {
    let summaries = [
        ("short", 500, Scripted::says("Ann likes tea.")),
        ("empty", 60, Scripted::says("  ")),
        ("endless", 60, Scripted::says(&"blah ".repeat(20_000))),
        ("refused", 60, refusal()),
    ];
    for (kind, turns, summary) in summaries {
        let (harness, model, cheap) =
            small(|_| Scripted::says(&"y".repeat(1000)), move |_| summary.clone()).await;
        for number in 0..turns {
            let text = format!("question {number}: {}", "x".repeat(1000));
            assert_eq!(answered(&harness.turn(&text).await), "y".repeat(1000), "{kind}");
            harness.settle(&"y".repeat(1000)).await;
            let sent = texts(&model.requests()[number]);
            assert!(sent.contains(&format!("question {number}:")), "{kind}: the newest is sent");
        }
        let compacted = cheap.requests().len();
        let (least, most) = (turns / 25, turns / 3);
        assert!((least..most).contains(&compacted), "{kind}: {compacted} for {turns} turns");
        let last = texts(model.requests().last().unwrap());
        assert_eq!(last.contains("Ann likes tea."), kind == "short", "{last}");
        assert_eq!(last.contains("left out"), matches!(kind, "empty" | "refused"), "{last}");
        let first = "question 0:";
        assert!(!last.contains(first), "{kind}");
    }
}

#[tokio::test]
async fn f10_instructions_that_do_not_fit_are_a_clear_error() {
    let (harness, model, cheap) = small(|_| unreachable!(), |_| unreachable!()).await;
    harness.files.put("AGENTS.md", "word ".repeat(4000).as_bytes());
    harness.files.put("SOUL.md", "word ".repeat(4000).as_bytes());
    let notice = failed(harness.turn("hi").await);
    let words = "has room for 6144 tokens, and my instructions alone take about 10";
    assert!(notice.contains(words), "{notice}");
    assert!(notice.contains("Shorten AGENTS.md"), "{notice}");
    assert_eq!((model.requests().len(), cheap.requests().len()), (0, 0));
}

#[tokio::test]
async fn f10_message_that_does_not_fit_is_an_error_and_the_next_is_answered() {
    let (harness, model, _) = small(|_| Scripted::says("ok"), |_| Scripted::says("a flood")).await;
    let notice = failed(harness.turn(&"日".repeat(9000)).await);
    assert!(notice.contains("Send it in parts, or as a file."), "{notice}");
    harness.fail(&notice).await;
    assert_eq!(answered(&harness.turn("hi").await), "ok");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn f33_requests_share_their_prefix_until_the_past_is_compacted() {
    let steps = AtomicUsize::new(0);
    let (harness, model, cheap) = small(
        move |_| match steps.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => Scripted::calls(&[("echo", json!({ "n": "z".repeat(500) }))]),
            _ => Scripted::says(&"y".repeat(500)),
        },
        |_| Scripted::says("They talk."),
    )
    .await;
    for number in 0..60 {
        harness.clock.advance(Duration::from_mins(1));
        harness.turn(&format!("question {number}")).await;
        harness.settle(&"y".repeat(500)).await;
    }
    let requests = model.requests();
    let (mut shared, mut compacted) = (0, 0);
    for pair in requests.windows(2) {
        assert_eq!(pair[0].tools, pair[1].tools);
        let mut later = pair[1].messages.iter();
        let begins = pair[0].messages.iter().all(|message| later.next() == Some(message));
        if begins { shared += 1 } else { compacted += 1 }
    }
    assert_eq!((requests.len(), shared + compacted), (120, 119));
    let summaries = cheap.requests().len();
    assert!(summaries > 1 && compacted <= 2 * summaries + 1, "{compacted}, {summaries} summaries");
    assert!(shared >= 105, "{shared} of 119 share what there was");
}

#[tokio::test]
async fn f10_message_that_does_not_fit_leaves_the_past_uncompacted() {
    let (harness, model, cheap) = small(|_| Scripted::says("ok"), |_| unreachable!()).await;
    harness.turn("question 0").await;
    harness.settle("ok").await;
    let notice = failed(harness.turn(&"日".repeat(9000)).await);
    harness.fail(&notice).await;
    assert_eq!(cheap.requests().len(), 0);
    let past = harness.store.history(&session(), TurnId(9), usize::MAX).await;
    assert_eq!(past.unwrap().compacted, CompactedPast::default());
    drop(model);
}

#[tokio::test]
async fn f10_spent_budget_leaves_the_past_uncompacted() {
    let (mut harness, _, cheap) = small(|_| Scripted::says("ok"), |_| unreachable!()).await;
    for number in 0..4 {
        harness.turn(&format!("question {number} {}", "x".repeat(4000))).await;
        harness.settle("ok").await;
    }
    harness.agent.limits.budgets.day_tokens = Some(1);
    let notice = failed(harness.turn(&"x".repeat(16_000)).await);
    assert!(notice.starts_with("The budget of this day is spent: "), "{notice}");
    assert_eq!(cheap.requests().len(), 0);
    let past = harness.store.history(&session(), TurnId(99), usize::MAX).await;
    assert_eq!(past.unwrap().compacted, CompactedPast::default());
}

#[tokio::test]
async fn make_room_shortens_old_results_before_it_omits_a_turn() {
    let steps = AtomicUsize::new(0);
    let (harness, model, cheap) = small(
        move |_| match steps.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => Scripted::calls(&[("echo", json!({ "n": "z".repeat(1200) }))]),
            _ => Scripted::says("ok"),
        },
        |_| unreachable!("there is room"),
    )
    .await;
    for number in 0..11 {
        harness.turn(&format!("question {number}")).await;
        harness.settle("ok").await;
    }
    let last = texts(model.requests().last().unwrap());
    assert!(last.contains("question 0") && last.contains("[shortened: 400 of "), "{last}");
    assert!(last.contains("read_result with handle"), "{last}");
    assert!(last.contains(&"z".repeat(1200)), "that of this turn is whole");
    assert_eq!(cheap.requests().len(), 0);
    let first = &harness.store.transcript(&session(), 99).await.unwrap()[0];
    let kept = first.steps[0].calls[0].result().unwrap().value.to_string();
    assert!(kept.contains(&"z".repeat(1200)), "the log keeps all of it");
}

#[tokio::test]
async fn make_room_omits_no_turn_because_of_long_old_results() {
    let mut harness = AgentHarness::new(Vec::new()).await;
    let steps = AtomicUsize::new(0);
    let model = Arc::new(ScriptedModel::answering(move |_| {
        match steps.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => Scripted::calls(&[("echo", json!({ "n": "z".repeat(10_000) }))]),
            _ => Scripted::says("ok"),
        }
    }));
    harness.agent.models.main = model.clone();
    harness.agent.models.cheap =
        Arc::new(ScriptedModel::answering(|_| unreachable!("there is room")));
    harness.agent.limits.turn.context_tokens = 26_000;
    for number in 0..14 {
        assert_eq!(answered(&harness.turn(&format!("question {number}")).await), "ok");
        harness.settle("ok").await;
    }
    let last = texts(&model.requests().pop().unwrap());
    assert!(last.contains("question 0"), "its results are short, but it is there");
}

#[tokio::test]
async fn fit_shortens_a_long_turn_from_its_start_and_keeps_the_question() {
    let steps = AtomicUsize::new(0);
    let (mut harness, model, _) = small(
        move |_| match steps.fetch_add(1, Ordering::Relaxed) {
            number @ 0..40 => {
                let text = format!("{number} {}", "z".repeat(6000));
                Scripted::calls(&[("echo", json!({ "n": text }))])
            }
            _ => Scripted::says("done"),
        },
        |_| Scripted::says("s"),
    )
    .await;
    harness.agent.limits.turn.max_tool_iterations = 100;
    assert_eq!(answered(&harness.turn("the question").await), "done");
    for request in model.requests() {
        assert!(texts(&request).contains("the question"));
    }
    let last = texts(&model.requests().pop().unwrap());
    assert!(last.contains("39 zzz"), "the newest result is seen");
    assert!(last.contains(" earlier steps of this answer are left out; they called echo.]"));
}

/// Returns the messages of a turn's first request, from kept turns and made anew. Their trust and
/// their tools must be the same, too.
async fn kept_and_anew(harness: &AgentHarness, turn: &TurnRecord) -> [Messages; 2] {
    let kept = harness.agent.clone();
    let anew = AgentLoop { rendered: RenderedTurns::default(), ..kept.clone() };
    let turn_context = harness.turn_context(Vec::new());
    let mut requests = [Messages::default(), Messages::default()];
    let mut others = Vec::new();
    for (agent, request) in [kept, anew].iter().zip(&mut requests) {
        let context = agent.open_context(turn, &turn_context).await.unwrap();
        let facts = agent.models.main.facts().await;
        let offer = agent.offered_tools(&context, turn, &turn_context, facts);
        others.push((context.trust(turn), offer.tools.clone()));
        *request = make_valid(context.conversation(turn, TurnTrim::default()).messages);
    }
    assert_eq!(others[0], others[1]);
    requests
}

/// Continues the conversation of all turns before this one in a new session. Returns its next turn.
async fn branch_before(harness: &AgentHarness, before: TurnId) -> TurnRecord {
    let into = SessionId::parse("terminal:local:branch").unwrap();
    let (session, before) = (session(), Some(before));
    let branch = BranchSession { session, into: into.clone(), through: None, before };
    let branched = harness.store.branch_session(&branch).await.unwrap();
    assert!(matches!(branched, BranchedSession::Copied { turns: 30.. }), "{branched:?}");
    let mut message = harness.message("said differently");
    message.inbound.address = into.address();
    harness.store.accept(&NewInbound { session: into.clone(), ..message }, None).await.unwrap();
    harness.claim_in(&into).await
}

async fn command(harness: &AgentHarness, action: CommandAction) {
    let command = NewInbound { kind: InboundKind::Command, ..harness.message("/command") };
    let command = harness.store.accept(&command, None).await.unwrap().id;
    harness.store.settle_command(command, &action, &CommandReply::default()).await.unwrap();
}

const RULE: &str = "Answer in French.";

#[tokio::test]
async fn f33_request_from_kept_turns_equals_one_that_is_made_anew_after_each_change_of_the_past() {
    let answer = |request: &ModelRequest| match request.messages.last() {
        Some(Message::User { text, .. }) if text.contains("with a call") => {
            Scripted::calls(&[("echo", json!({ "text": "x".repeat(600) }))])
        }
        _ => Scripted::says("ok"),
    };
    let (mut harness, ..) = small(answer, |_| Scripted::says("They talk.")).await;
    let compact = async |compacted: CompactedPast| {
        harness.store.record_compaction(&session(), &compacted).await.unwrap();
    };
    let (mut before, mut shared, mut with_blocks) = (Messages::default(), 0, 0);
    for number in 0..150 {
        match number {
            40 => {
                let shortened_to = Some(TurnId(10));
                compact(CompactedPast { shortened_to, ..CompactedPast::default() }).await;
            }
            46 => {
                let (summary, summary_to) = (Some("They met.".to_owned()), Some(TurnId(4)));
                compact(CompactedPast { summary, summary_to, ..CompactedPast::default() }).await;
            }
            52 => {
                let everything = Timestamp(i64::MAX);
                harness.store.remove_old(OldRows::Results, 0, everything).await.unwrap();
            }
            58 => command(&harness, CommandAction::TrustPast).await,
            64 => {
                let (id, text) = (RuleId(1), RULE.to_owned());
                let rule = NewRule { id, text, scope: RuleScope::Everyone, by: Actor::Host };
                command(&harness, CommandAction::AddRule(rule)).await;
            }
            70 => {
                let by = "terminal:local:me".parse().unwrap();
                command(&harness, CommandAction::RemoveRule { id: RuleId(1), by }).await;
            }
            76 => {
                let facts = harness.agent.models.main.facts().await;
                let renamed = ScriptedModel::answering(answer).named("test/renamed");
                harness.agent.models.main = Arc::new(renamed.with_facts(facts));
            }
            82 => {
                let turn = branch_before(&harness, TurnId(60)).await;
                let [kept, anew] = kept_and_anew(&harness, &turn).await;
                assert_eq!(kept, anew, "a branch");
            }
            90 => command(&harness, CommandAction::Forget).await,
            _ => {}
        }
        let call = if number % 5 == 0 { ", with a call" } else { "" };
        harness.say(&format!("question {number}{call}")).await;
        if [12, 44, 110].contains(&number) {
            harness.claim().await;
            harness.fail("it broke").await;
            command(&harness, CommandAction::Retry { wait: None, sender: None }).await;
        }
        let turn = harness.claim().await;
        let [kept, anew] = kept_and_anew(&harness, &turn).await;
        assert_eq!(kept, anew, "turn {number}");
        let has_rule = kept.first().is_some_and(|first| format!("{first:?}").contains(RULE));
        assert_eq!(has_rule, (64..70).contains(&number), "turn {number}");
        let pairs = kept.shared().zip(before.shared());
        shared = shared.max(pairs.filter(|(one, other)| Arc::ptr_eq(one, other)).count());
        with_blocks += usize::from(kept.parts().any(|part| matches!(part, MessagePart::Block(_))));
        before = kept;
        answered(&harness.run(turn).await.unwrap());
        harness.settle("ok").await;
    }
    assert!(shared > 60, "{shared} messages are shared by two requests");
    assert!(with_blocks > 30, "{with_blocks} requests have blocks");
}

#[tokio::test]
async fn conversation_tells_the_mode_read_to_the_model_in_the_turn_that_has_it() {
    let harness = AgentHarness::new(vec![Scripted::says("yes")]).await;
    harness.say("look").await;
    let turn = harness.claim().await;
    let context = harness.turn_context(Vec::new());
    let last = async |mode| {
        let context = TurnContext { mode, ..context.clone() };
        let request = harness.agent.prompt(&turn, &context).await.unwrap().request;
        let Some(Message::User { text, .. }) = request.messages.last() else { panic!() };
        text.clone()
    };
    let default = last(PermissionMode::Default).await;
    assert_eq!(last(PermissionMode::Ask).await, default, "the person is asked, not the model");
    let read = last(PermissionMode::Read).await;
    let line = read.strip_prefix(&default).unwrap();
    assert!(line.trim().starts_with("[Mode: read. "), "{line}");
}
