//! Rules of a session's past: whole turns, summaries of older ones, `/compact`.

use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::model::Usage;
use avocet_protocol::store::{
    Claim, CommandAction, CommandEffect, CommandReply, CompactedPast, NewStep, Past, StoreError,
};
use avocet_protocol::tool::ToolClass;
use avocet_protocol::turn::{AnswerEnding, CallResult, TurnRecord};

use serde_json::json;

use super::Backend;
use super::world::{World, good, planned, reply, session};

/// Answers these messages, each with a call and a thousand bytes. Returns the turns.
async fn answer(world: &World<'_>, a: &SessionId, texts: &[&str]) -> Vec<TurnId> {
    answer_with(world, a, texts, &good()).await
}

/// Answers messages like `answer`, with this result for each call.
async fn answer_with(
    world: &World<'_>,
    a: &SessionId,
    texts: &[&str],
    result: &CallResult,
) -> Vec<TurnId> {
    let mut turns = Vec::new();
    for text in texts {
        world.say(a, text).await;
        let turn = world.take(a).await;
        let calls = world.step(turn.id, 0, &["read"]).await;
        world.start(calls[0], ToolClass::Pure).await;
        world.ports.log.finish_call(calls[0], result, None, &[]).await.unwrap();
        world.reply(turn.id, &"x".repeat(1000)).await;
        turns.push(turn.id);
    }
    turns
}

/// Returns the texts that the next turn reads, and `true` if the past has a gap.
async fn seen(world: &World<'_>, a: &SessionId, budget: usize) -> (Vec<String>, bool) {
    let past = world.ports.log.history(a, TurnId(i64::MAX), budget).await.unwrap();
    let text = |turn: &Arc<TurnRecord>| {
        assert_eq!(turn.steps.len(), 2);
        turn.origin.messages()[0].model_text()
    };
    (past.turns.iter().map(text).collect(), past.has_gap)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Trimming cuts between turns and always keeps the newest one.
pub async fn history_returns_whole_turns_within_the_budget(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    answer(&world, &a, &["1", "2", "3"]).await;
    assert_eq!(seen(&world, &a, usize::MAX).await, (texts(&["1", "2", "3"]), false));
    assert_eq!(seen(&world, &a, 2900).await, (texts(&["2", "3"]), true));
    assert_eq!(seen(&world, &a, 900).await, (texts(&["3"]), true));
}

/// Turns count with their shortened size, but the bytes read have a limit of their own.
pub async fn history_counts_long_results_at_their_shortened_size(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let long = CallResult::ok(json!("x".repeat(4000)));
    let turns = answer_with(&world, &a, &["1", "2", "3", "4", "5"], &long).await;
    let all = texts(&["1", "2", "3", "4", "5"]);
    assert_eq!(seen(&world, &a, 18_000).await, (all.clone(), false));
    assert_eq!(seen(&world, &a, 12_500).await, (texts(&["3", "4", "5"]), true));
    let shortened_to = turns.last().copied();
    let compacted = CompactedPast { shortened_to, ..CompactedPast::default() };
    world.ports.log.record_compaction(&a, &compacted).await.unwrap();
    assert_eq!(seen(&world, &a, 9000).await, (all, false));

    let longest = CallResult::ok(json!("x".repeat(100_000)));
    answer_with(&world, &a, &["6", "7", "8"], &longest).await;
    let compacted =
        CompactedPast { shortened_to: Some(TurnId(i64::MAX)), ..CompactedPast::default() };
    world.ports.log.record_compaction(&a, &compacted).await.unwrap();
    assert_eq!(seen(&world, &a, 19_000).await, (texts(&["6", "7", "8"]), true));
}

/// A summary survives restarts, replaces its turns, and is forgotten with them.
pub async fn compaction_replaces_turns_by_their_summary_until_new(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turns = answer(&world, &a, &["1", "2", "3"]).await;
    let compacted = CompactedPast {
        summary: Some("they counted".to_owned()),
        summary_to: Some(turns[0]),
        shortened_to: Some(turns[1]),
        trust: Trust::User,
    };
    world.ports.log.record_compaction(&a, &compacted).await.unwrap();
    let world = world.restart().await;
    let past = world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
    assert_eq!(past.compacted, compacted);
    assert_eq!(seen(&world, &a, usize::MAX).await, (texts(&["2", "3"]), false));

    let forget = world.command(&a, "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(forget, &action, &reply).await.unwrap();
    let past = async || world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
    assert_eq!(past().await, Past::default());
    // This compaction began before the `/new`.
    world.ports.log.record_compaction(&a, &compacted).await.unwrap();
    assert_eq!(past().await.compacted, CompactedPast::default());
    answer(&world, &a, &["4"]).await;
    assert_eq!(seen(&world, &a, usize::MAX).await, (texts(&["4"]), false));
}

/// Sends `/compact` and settles it. The effect tells whether it was accepted.
async fn compact(world: &World<'_>, a: &SessionId) -> (MessageId, CommandEffect) {
    compact_by(world, a, "/compact").await
}

async fn compact_by(world: &World<'_>, a: &SessionId, text: &str) -> (MessageId, CommandEffect) {
    let command = world.command(a, text).await;
    let (action, reply) = (CommandAction::Compact, CommandReply::default());
    (command, world.ports.inbox.settle_command(command, &action, &reply).await.unwrap())
}

/// Returns the compaction that the lane finds, and `true` if it was begun before.
async fn found(world: &World<'_>, a: &SessionId) -> (MessageId, bool) {
    match world.claim(a).await {
        Claim::Compact { command, begun } => (command.id, begun),
        other => panic!("{other:?}"),
    }
}

fn is_stale<T>(done: &Result<T, StoreError>) -> bool {
    matches!(done, Err(StoreError::Stale(_)))
}

/// Returns a summary of these turns, including the last.
fn all_of(turns: &[TurnId]) -> CompactedPast {
    let summary_to = turns.last().copied();
    CompactedPast {
        summary: Some("they counted".to_owned()),
        summary_to,
        ..CompactedPast::default()
    }
}

/// A `/compact` runs between turns, once, even after a restart.
pub async fn compact_waits_for_the_running_turn_and_survives_a_restart(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let running = world.take(&a).await;
    let (command, effect) = compact(&world, &a).await;
    assert_eq!(effect, CommandEffect::Done);
    assert_eq!(
        compact_by(&world, &a, "/compact now").await.1,
        CommandEffect::Nothing,
        "it is wanted already"
    );
    assert_eq!(world.claim(&a).await, Claim::Nothing, "a turn runs");
    world.reply(running.id, "ok").await;
    world.say(&a, "2").await;
    let world = world.restart().await;
    assert_eq!(world.ports.turns.open_sessions().await.unwrap(), std::slice::from_ref(&a));
    assert_eq!(found(&world, &a).await, (command, false));
    world.ports.turns.begin_compaction(command).await.unwrap();
    world.deliveries(&a.address()).await;
    let (compacted, notice) = (all_of(&[running.id]), planned(&a, &["compacted"]));
    let turns = &world.ports.turns;
    turns.compacted(command, Some(&compacted), Some(&notice)).await.unwrap();
    assert_eq!(world.delivered_texts(&a).await, ["compacted"]);
    let past = world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
    assert_eq!(past.compacted, compacted);
    assert!(is_stale(&turns.compacted(command, None, Some(&notice)).await));
    assert_eq!(world.take(&a).await.origin.messages()[0].model_text(), "2");
}

/// A compaction that a crash interrupted is found as begun and begins only once.
pub async fn begin_compaction_succeeds_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let (command, _) = compact(&world, &a).await;
    world.ports.turns.begin_compaction(command).await.unwrap();
    let world = world.restart().await;
    assert_eq!(world.ports.turns.open_sessions().await.unwrap(), std::slice::from_ref(&a));
    assert_eq!(found(&world, &a).await, (command, true));
    assert!(is_stale(&world.ports.turns.begin_compaction(command).await));
    world.ports.turns.compacted(command, None, None).await.unwrap();
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// `/stop` and `/new` cancel a compaction, even a begun one; its late result is refused.
pub async fn stop_and_new_cancel_a_compaction(backend: &impl Backend) {
    for (chat, action, begun) in [
        ("a", CommandAction::Stop(None), false),
        ("b", CommandAction::Stop(None), true),
        ("c", CommandAction::Forget, true),
    ] {
        let world = World::new(backend).await;
        let a = session(chat);
        let turns = answer(&world, &a, &["1"]).await;
        let (command, _) = compact(&world, &a).await;
        if begun {
            world.ports.turns.begin_compaction(command).await.unwrap();
        }
        let (stop, reply) = (world.command(&a, "/stop").await, CommandReply::default());
        let effect = world.ports.inbox.settle_command(stop, &action, &reply).await.unwrap();
        assert_eq!(effect, CommandEffect::Stopped(Vec::new()), "{action:?}");
        assert!(is_stale(&world.ports.turns.begin_compaction(command).await), "{action:?}");
        let compacted = all_of(&turns);
        let ended = world.ports.turns.compacted(command, Some(&compacted), None).await;
        assert!(is_stale(&ended), "{action:?}");
        let past = world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
        assert_eq!(past.compacted, CompactedPast::default(), "{action:?}");
        assert_eq!(world.claim(&a).await, Claim::Nothing, "{action:?}");
    }
}

/// A summary of a forgotten past is discarded without a notice.
pub async fn compacted_discards_a_summary_of_a_forgotten_past(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turns = answer(&world, &a, &["1"]).await;
    let forget = world.command(&a, "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(forget, &action, &reply).await.unwrap();
    let (command, _) = compact(&world, &a).await;
    world.ports.turns.begin_compaction(command).await.unwrap();
    world.deliveries(&a.address()).await;
    let (compacted, notice) = (all_of(&turns), planned(&a, &["compacted"]));
    world.ports.turns.compacted(command, Some(&compacted), Some(&notice)).await.unwrap();
    assert_eq!(world.delivered_texts(&a).await, [] as [String; 0]);
    let past = world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
    assert_eq!(past, Past::default());
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// A step is recorded even if the provider reports nonsense usage.
pub async fn record_step_and_settle_accept_nonsense_usage(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let nonsense = Usage::new(u64::MAX, u64::MAX);
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: Vec::new(),
        written: None,
        reasoning: None,
        usage: nonsense,
        trust: Trust::Full,
        spent: Vec::new(),
    };
    world.ports.log.record_step(turn, &step).await.unwrap();
    let mut end = reply("ok");
    if let Some(answer) = &mut end.answer {
        answer.step = 1;
        answer.usage = nonsense;
    }
    world.settle(turn, &end).await.unwrap();
}
