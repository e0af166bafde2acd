//! Rules of consolidations: what is left to do, edits with their end in one transaction, and
//! limits.

use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, ConsolidationId, MemoryId};
use avocet_protocol::model::{Spent, Usage};
use avocet_protocol::store::{
    Backlog, ConsolidationEnd, ConsolidationState, EditRefused, Memory, MemoryAuthor, MemoryEdit,
    MemoryScope, MemoryVersion, NewConsolidation, NewStep, Purpose, ScopeFilter, StoreError,
    UndoneChange, UsageBy,
};
use avocet_protocol::tool::{LogWrite, ToolClass};
use avocet_protocol::turn::AnswerEnding;

use super::Backend;
use super::world::{World, call, good, session};

fn scope(text: &str) -> MemoryScope {
    text.parse().unwrap()
}

/// Writes memories in its own turn, with this trust. Returns their ids.
async fn write(
    world: &World<'_>,
    scope: &MemoryScope,
    trust: Trust,
    texts: &[&str],
) -> Vec<MemoryId> {
    let a = session("a");
    world.say(&a, &texts.concat().replace(|c: char| !c.is_alphanumeric(), "-")).await;
    let turn = world.take(&a).await.id;
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![call("memory_write")],
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust,
        spent: Vec::new(),
    };
    world.ports.log.record_step(turn, &step).await.unwrap();
    let call = CallId { turn, step: 0, ordinal: 0 };
    world.start(call, ToolClass::InLog).await;
    let remember = |text: &&str| LogWrite::Remember { scope: scope.clone(), text: (*text).into() };
    let writes: Vec<LogWrite> = texts.iter().map(remember).collect();
    world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    world.reply(turn, "ok").await;
    let only = ScopeFilter::Only(vec![scope.clone()]);
    let limit = u32::try_from(texts.len()).unwrap();
    let found = world.ports.memories.search_memories(&only, "", limit).await.unwrap();
    found.into_iter().rev().map(|found| found.memory.id).collect()
}

async fn memory(world: &World<'_>, id: MemoryId) -> Memory {
    world.ports.memories.memory(id).await.unwrap().unwrap()
}

async fn begin(world: &World<'_>, scope: &MemoryScope) -> ConsolidationId {
    let new =
        NewConsolidation { scope: scope.clone(), day_start: Timestamp(0), most_runs: u32::MAX };
    world.ports.consolidations.begin_consolidation(&new).await.unwrap().unwrap()
}

fn done(edits: Vec<MemoryEdit>) -> ConsolidationEnd {
    ConsolidationEnd { state: ConsolidationState::Done, covered_to: None, edits, error: None }
}

/// Runs with one edit in a scope, and returns the reason if it was left out.
async fn refusal(world: &World<'_>, scope: &MemoryScope, edit: MemoryEdit) -> Option<EditRefused> {
    let run = begin(world, scope).await;
    let ended = world.ports.consolidations.end_consolidation(run, &done(vec![edit])).await;
    let [result] = &ended.unwrap()[..] else { panic!("one result") };
    result.clone().err()
}

fn version(id: MemoryId) -> MemoryVersion {
    MemoryVersion { id, revision: 1 }
}

fn merge(parts: &[MemoryId]) -> MemoryEdit {
    let parts = parts.iter().copied().map(version).collect();
    MemoryEdit::Merge { parts, text: "both".to_owned() }
}

/// New memories count for their scope until a run has covered them.
pub async fn backlogs_count_uncovered_memories_by_scope(backend: &impl Backend) {
    let world = World::new(backend).await;
    let log = &world.ports.consolidations;
    let (everyone, chat) = (MemoryScope::Everyone, scope("chat a:b:c"));
    assert_eq!(log.backlogs().await, Ok(vec![]));
    write(&world, &everyone, Trust::Full, &["one", "two", "three"]).await;
    let [of_chat] = write(&world, &chat, Trust::Full, &["four"]).await[..] else { panic!("one") };
    let backlog = |scope: &MemoryScope, memories| {
        let failed_at = None;
        Backlog { scope: scope.clone(), memories, failed_at }
    };
    assert_eq!(log.backlogs().await, Ok(vec![backlog(&everyone, 3), backlog(&chat, 1)]));
    let new = log.backlog_of(&everyone, 2).await.unwrap();
    let texts: Vec<&str> = new.iter().map(|one| one.memory.text.as_str()).collect();
    assert_eq!(texts, ["one", "two"], "the oldest first");
    let related = log.related_memories(&everyone, "three four", 9).await.unwrap();
    let related: Vec<&str> = related.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(related, ["three"], "of the scope only");

    let run = begin(&world, &everyone).await;
    let covered_to = Some(new[1].change);
    let end = ConsolidationEnd { covered_to, ..done(Vec::new()) };
    log.end_consolidation(run, &end).await.unwrap();
    assert_eq!(log.backlogs().await, Ok(vec![backlog(&chat, 1), backlog(&everyone, 1)]));
    world.ports.memories.forget_memory(of_chat, &MemoryAuthor::Process).await.unwrap();
    assert_eq!(
        log.backlogs().await,
        Ok(vec![backlog(&everyone, 1)]),
        "forgotten ones are left out"
    );
    log.memories_changed().await;
}

/// Edits are applied with the end of their run, each can be undone, and an undone one stays.
pub async fn end_consolidation_applies_edits_that_can_be_undone(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    let ids = write(&world, &everyone, Trust::Low, &["one", "two", "tomorrow"]).await;
    let run = begin(&world, &everyone).await;
    let date = MemoryEdit::Date { memory: version(ids[2]), text: "on 2026-11-24".to_owned() };
    let end = done(vec![merge(&ids[..2]), date]);
    let ended = world.ports.consolidations.end_consolidation(run, &end).await.unwrap();
    let [Ok(merged), Ok(dated)] = &ended[..] else { panic!("{ended:?}") };
    assert_eq!((merged.len(), dated.len()), (2, 1));

    let world = world.restart().await;
    let [one, two, third] =
        [memory(&world, ids[0]).await, memory(&world, ids[1]).await, memory(&world, ids[2]).await];
    assert!(one.forgotten && !two.forgotten, "{one:?} {two:?}");
    assert_eq!((two.text.as_str(), two.trust), ("both", Trust::Low));
    assert_eq!(third.text, "on 2026-11-24");
    let memories = &world.ports.memories;
    let changes = memories.memory_changes(&ScopeFilter::All, Some(ids[2]), 1).await.unwrap();
    assert_eq!(changes[0].author, MemoryAuthor::Consolidation);
    let texts = [&changes[0].before, &changes[0].after].map(|text| text.clone().unwrap().text);
    assert_eq!(texts, ["tomorrow", "on 2026-11-24"], "the older text is kept");
    let [last] = &world.ports.consolidations.consolidations(9).await.unwrap()[..] else {
        panic!("one run")
    };
    assert_eq!((last.id, last.applied, last.state), (run, 2, ConsolidationState::Done));
    let status = world.ports.query.log_status().await.unwrap();
    assert_eq!(status.consolidation.as_ref(), Some(last));

    let log = &world.ports.consolidations;
    let again = log.end_consolidation(run, &end).await;
    assert!(matches!(again, Err(StoreError::Stale(_))), "a run ends once: {again:?}");
    for change in [merged[0], merged[1], dated[0]] {
        let undone = memories.undo_memory_change(change, &MemoryAuthor::Process).await.unwrap();
        assert!(matches!(undone, UndoneChange::Done(_)), "{undone:?}");
    }
    assert_eq!(memory(&world, ids[0]).await.text, "one");
    assert_eq!(memory(&world, ids[1]).await.text, "two");
    assert_eq!(log.backlogs().await, Ok(vec![]), "a person decided");
    assert_eq!(log.related_memories(&everyone, "one", 9).await, Ok(vec![]));
    let parts =
        vec![(&memory(&world, ids[0]).await).into(), (&memory(&world, ids[1]).await).into()];
    let again = MemoryEdit::Merge { parts, text: "both".to_owned() };
    assert_eq!(refusal(&world, &everyone, again).await, Some(EditRefused::Undone(ids[0])));
}

/// An edit that breaks a rule is left out as a whole.
pub async fn end_consolidation_leaves_out_edits_that_break_a_rule(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (everyone, chat) = (MemoryScope::Everyone, scope("chat a:b:c"));
    let full = write(&world, &everyone, Trust::Full, &["one", "two", "three"]).await;
    let low = write(&world, &everyone, Trust::Low, &["four"]).await[0];
    let other = write(&world, &chat, Trust::Full, &["five"]).await[0];
    let person = MemoryAuthor::Process;
    world.ports.memories.forget_memory(full[2], &person).await.unwrap();
    let replace = |old, new| MemoryEdit::Replace { old: version(old), new: version(new) };
    let table = [
        (merge(&[full[0], full[2]]), EditRefused::Changed(full[2])),
        (merge(&[full[0], MemoryId(999)]), EditRefused::Changed(MemoryId(999))),
        (merge(&[full[0], other]), EditRefused::OtherScope(other)),
        (merge(&[full[0], low]), EditRefused::Trust(full[0], low)),
        (merge(&[full[0], full[0]]), EditRefused::OneMemory),
        (merge(&[full[0]]), EditRefused::OneMemory),
        (replace(full[0], low), EditRefused::Trust(full[0], low)),
        (replace(full[0], full[0]), EditRefused::OneMemory),
        (replace(full[0], full[1]), EditRefused::Older { old: full[0], new: full[1] }),
    ];
    for (edit, expected) in table {
        assert_eq!(refusal(&world, &everyone, edit).await, Some(expected));
    }
    let date = MemoryEdit::Date { memory: version(other), text: "x".to_owned() };
    assert_eq!(refusal(&world, &everyone, date).await, Some(EditRefused::OtherScope(other)));
    for id in [full[0], full[1], low, other] {
        assert_eq!(memory(&world, id).await.revision, 1, "{id}");
    }
}

/// A run counts from its beginning, and a crash before its end changes nothing.
pub async fn begin_consolidation_counts_runs_that_never_ended(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    write(&world, &everyone, Trust::Full, &["one"]).await;
    let new = NewConsolidation { scope: everyone.clone(), day_start: Timestamp(0), most_runs: 2 };
    let begun = world.ports.consolidations.begin_consolidation(&new).await.unwrap();
    assert!(begun.is_some());
    let world = world.restart().await;
    let log = &world.ports.consolidations;
    let [backlog] = &log.backlogs().await.unwrap()[..] else { panic!("one scope") };
    assert!(backlog.memories == 1 && backlog.failed_at.is_some(), "{backlog:?}");
    assert!(log.begin_consolidation(&new).await.unwrap().is_some());
    assert_eq!(log.begin_consolidation(&new).await, Ok(None), "the limit");
    let tomorrow = NewConsolidation { day_start: Timestamp(i64::MAX), ..new };
    assert!(log.begin_consolidation(&tomorrow).await.unwrap().is_some());
}

/// Work without a conversation counts towards the day, in lines of its own.
pub async fn record_upkeep_counts_towards_the_day(backend: &impl Backend) {
    let world = World::new(backend).await;
    let spent = |model: &str| Spent {
        model: model.to_owned(),
        usage: Usage::new(100, 10),
        cost: Some(avocet_protocol::model::Money(5)),
    };
    let upkeep = &world.ports.upkeep;
    upkeep.record_upkeep(Purpose::Consolidation, &[spent("m"), spent("m")]).await.unwrap();
    upkeep.record_upkeep(Purpose::Embedding, &[spent("e")]).await.unwrap();
    upkeep.record_upkeep(Purpose::Embedding, &[]).await.unwrap();
    let world = world.restart().await;
    let day = world.ports.upkeep.spent_since(Timestamp(0)).await.unwrap();
    assert_eq!((day.usage.total(), day.cost.0), (330, 15));
    let of_session = world.ports.ledger.spent(None, &session("a"), Timestamp(0)).await.unwrap();
    assert_eq!((of_session.day, of_session.session.usage.total()), (day, 0));
    for by in [UsageBy::Purpose, UsageBy::Session] {
        let rows = world.ports.query.usage(by, Timestamp(0)).await.unwrap();
        let rows: Vec<_> = rows.iter().map(|row| (row.of.as_str(), row.answers)).collect();
        assert_eq!(rows, [("consolidation", 2), ("embedding", 1)], "{by:?}");
    }
}
