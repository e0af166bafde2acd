//! Rules of what a session has behind it: whole turns, what stands for older ones, `/compact`.

use avocet_protocol::{
    Claim, CommandAction, CommandReply, Condensed, Past, SessionId, StoreError, ToolClass, TurnId,
    TurnRecord,
};

use super::Backend;
use super::world::{World, planned, session};

/// Answers so many messages of a session, each with a call and a thousand bytes; their turns.
async fn answer(world: &World<'_>, a: &SessionId, texts: &[&str]) -> Vec<TurnId> {
    let mut turns = Vec::new();
    for text in texts {
        world.say(a, text).await;
        let turn = world.take(a).await;
        let calls = world.step(turn.id, 0, &["read"]).await;
        world.start(calls[0], ToolClass::Pure).await;
        world.finish(calls[0]).await;
        world.ports.log.close_step(turn.id, 0).await.unwrap();
        world.reply(turn.id, &"x".repeat(1000)).await;
        turns.push(turn.id);
    }
    turns
}

/// What is seen of a session by the turn that is begun next, and whether something is missing.
async fn seen(world: &World<'_>, a: &SessionId, budget: usize) -> (Vec<String>, bool) {
    let past = world.ports.log.history(a, TurnId(i64::MAX), budget).await.unwrap();
    let text = |turn: &TurnRecord| {
        assert_eq!(turn.steps.len(), 2);
        turn.origin.messages()[0].model_text()
    };
    (past.turns.iter().map(text).collect(), past.has_gap)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Trimming cuts between turns only, and never the newest away.
pub async fn history_is_whole_turns_within_the_budget(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    answer(&world, &a, &["1", "2", "3"]).await;
    assert_eq!(seen(&world, &a, usize::MAX).await, (texts(&["1", "2", "3"]), false));
    assert_eq!(seen(&world, &a, 2900).await, (texts(&["2", "3"]), true));
    assert_eq!(seen(&world, &a, 900).await, (texts(&["3"]), true));
}

/// What was condensed stays so over restarts, stands for its turns, and is forgotten with them.
pub async fn what_is_condensed_stands_for_its_turns(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turns = answer(&world, &a, &["1", "2", "3"]).await;
    let condensed = Condensed {
        summary: Some("they counted".to_owned()),
        summary_to: Some(turns[0]),
        shortened_to: Some(turns[1]),
    };
    world.ports.log.condense(&a, &condensed).await.unwrap();
    let world = world.restart().await;
    let past = world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
    assert_eq!(past.condensed, condensed);
    assert_eq!(seen(&world, &a, usize::MAX).await, (texts(&["2", "3"]), false));

    let forget = world.command(&a, "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(forget, &action, &reply).await.unwrap();
    let past = async || world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
    assert_eq!(past().await, Past::default());
    // Somebody has summarised meanwhile what is forgotten now.
    world.ports.log.condense(&a, &condensed).await.unwrap();
    assert_eq!(past().await.condensed, Condensed::default());
    answer(&world, &a, &["4"]).await;
    assert_eq!(seen(&world, &a, usize::MAX).await, (texts(&["4"]), false));
}

/// A `/compact` is carried out between turns, once, also after a restart.
pub async fn a_compaction_waits_for_its_lane_and_is_not_lost(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let running = world.take(&a).await;
    let compact = world.command(&a, "/compact").await;
    let (action, reply) = (CommandAction::Compact, CommandReply::default());
    world.ports.inbox.settle_command(compact, &action, &reply).await.unwrap();
    assert_eq!(world.claim(&a).await, Claim::Nothing, "a turn runs");
    world.reply(running.id, "ok").await;
    world.say(&a, "2").await;
    let world = world.restart().await;
    assert_eq!(world.ports.turns.open_sessions().await.unwrap(), std::slice::from_ref(&a));
    for _ in 0..2 {
        match world.claim(&a).await {
            Claim::Compact(command) => assert_eq!(command.id, compact),
            other => panic!("{other:?}"),
        }
    }
    world.deliveries(&a.address()).await;
    let notice = planned(&a, &["condensed"]);
    world.ports.turns.compacted(compact, Some(&notice)).await.unwrap();
    assert_eq!(world.delivered_texts(&a).await, ["condensed"]);
    let again = world.ports.turns.compacted(compact, Some(&notice)).await;
    assert!(matches!(again, Err(StoreError::Stale(_))), "{again:?}");
    assert_eq!(world.take(&a).await.origin.messages()[0].model_text(), "2");
}
