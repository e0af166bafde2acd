//! Rules of the long-term memory: search by scope, changes, undo, and the memories of a turn.

use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MemoryId};
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::store::{
    CommandAction, CommandEffect, CommandReply, MemoryAuthor, MemoryChange, MemoryChangeKind,
    MemoryScope, MemoryVector, ScopeFilter, UndoneChange,
};
use avocet_protocol::tool::{LogWrite, ToolClass};

use super::Backend;
use super::world::{World, failure, good, session};

fn scope(text: &str) -> MemoryScope {
    text.parse().unwrap()
}

fn remember(scope: &MemoryScope, text: &str) -> LogWrite {
    LogWrite::Remember { scope: scope.clone(), text: text.to_owned() }
}

/// Finishes a call of a new turn of session `a` with these writes.
async fn write(world: &World<'_>, writes: &[LogWrite]) -> CallId {
    let a = session("a");
    let key =
        format!("write {writes:?}").chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    world.say(&a, &key[..key.len().min(200)]).await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["memory_write"]).await[0];
    world.start(call, ToolClass::InLog).await;
    world.ports.log.finish_call(call, &good(), None, writes).await.unwrap();
    world.reply(turn.id, "ok").await;
    call
}

async fn texts(world: &World<'_>, scopes: &ScopeFilter, query: &str) -> Vec<String> {
    let found = world.ports.memories.search_memories(scopes, query, 9).await.unwrap();
    found.into_iter().map(|found| found.memory.text).collect()
}

async fn changes(world: &World<'_>, id: MemoryId) -> Vec<MemoryChange> {
    world.ports.memories.memory_changes(&ScopeFilter::All, Some(id), 9).await.unwrap()
}

async fn newest(world: &World<'_>) -> MemoryId {
    let found = world.ports.memories.search_memories(&ScopeFilter::All, "", 1).await.unwrap();
    found[0].memory.id
}

/// A search matches any of the words in any language, best match first.
pub async fn search_memories_matches_any_word_best_first(backend: &impl Backend) {
    let world = World::new(backend).await;
    let notes = [
        "The key is under the mat.",
        "Zoë likes tea",
        "the key to Zoë's heart: keys",
        "東京に住む",
    ];
    write(&world, &notes.map(|text| remember(&MemoryScope::Everyone, text))).await;
    let all = ScopeFilter::All;
    assert_eq!(texts(&world, &all, "mat").await, [notes[0]]);
    assert_eq!(texts(&world, &all, "zoe").await.len(), 2, "without regard to accents and case");
    assert_eq!(texts(&world, &all, "key heart").await[0], notes[2]);
    assert_eq!(texts(&world, &all, "東京").await, [notes[3]]);
    assert_eq!(texts(&world, &all, "nothing").await, [""; 0]);
    assert_eq!(texts(&world, &all, "").await, [notes[3], notes[2], notes[1], notes[0]]);
    assert_eq!(texts(&world, &all, "\" OR * NEAR(").await, [""; 0]);
    let found = world.ports.memories.search_memories(&all, "key", 1).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].score > 0.0, "{found:?}");
    let words = ["key".to_owned(), "zoe".to_owned(), "nothing".to_owned()];
    let counts = world.ports.memories.memory_words(&words).await.unwrap();
    assert_eq!((counts.memories, counts.containing), (4, vec![2, 2, 0]));
}

/// A search returns memories of the requested scopes only.
pub async fn search_memories_returns_the_requested_scopes_only(backend: &impl Backend) {
    let world = World::new(backend).await;
    let scopes = ["person telegram:main:7", "person telegram:main:77", "chat a:b:c", "everyone"];
    let writes = scopes.map(|text| remember(&scope(text), &format!("the key of {text}")));
    write(&world, &writes).await;
    for (number, one) in scopes.iter().enumerate() {
        let only = ScopeFilter::Only(vec![scope(one)]);
        let expected = [format!("the key of {one}")];
        assert_eq!(texts(&world, &only, "key").await, expected, "{number}");
        assert_eq!(texts(&world, &only, "").await, expected, "{number}");
        let found = world.ports.memories.memory_changes(&only, None, 9).await.unwrap();
        assert_eq!(found.len(), 1, "{number}");
        let same = world.ports.memories.same_memory(&scope(one), "The KEY, of everyone!").await;
        let is_everyones = *one == "everyone";
        assert_eq!(same.unwrap().is_some(), is_everyones, "{number}");
    }
    assert_eq!(texts(&world, &ScopeFilter::Only(Vec::new()), "key").await, [""; 0]);
}

/// A memory names its source, and has the trust of the request that led to it.
pub async fn remember_records_source_trust_and_change(backend: &impl Backend) {
    let world = World::new(backend).await;
    let call = write(&world, &[remember(&MemoryScope::Everyone, "the key")]).await;
    let world = world.restart().await;
    let memory = world.ports.memories.memory(newest(&world).await).await.unwrap().unwrap();
    assert_eq!((memory.trust, memory.revision, memory.forgotten), (Trust::Full, 1, false));
    assert_eq!(memory.source.turn, Some(call.turn));
    assert_eq!(memory.source.session, Some(session("a")));
    assert!(memory.source.message.is_some() && memory.source.said_by.is_some(), "{memory:?}");
    let [change] = &changes(&world, memory.id).await[..] else { panic!("one change") };
    assert_eq!(
        (change.kind, &change.author),
        (MemoryChangeKind::Written, &MemoryAuthor::Call(call))
    );
    assert_eq!((&change.before, &change.after.as_ref().unwrap().text), (&None, &memory.text));
}

/// Forgetting hides a memory and can be undone; only the last change can be undone.
pub async fn undo_memory_change_restores_the_state_before_the_last_change(backend: &impl Backend) {
    let world = World::new(backend).await;
    write(&world, &[remember(&MemoryScope::Everyone, "the key")]).await;
    let id = newest(&world).await;
    let person = MemoryAuthor::Person("telegram:main:7".parse().unwrap());
    let memories = &world.ports.memories;
    assert_eq!(memories.forget_memory(id, &person).await, Ok(true));
    assert_eq!(memories.forget_memory(id, &person).await, Ok(false));
    assert_eq!(texts(&world, &ScopeFilter::All, "key").await, [""; 0]);
    assert_eq!(texts(&world, &ScopeFilter::All, "").await, [""; 0]);
    let same = memories.same_memory(&MemoryScope::Everyone, "the key").await;
    assert_eq!(same, Ok(None), "it may be remembered again");

    let [forgotten, written] = &changes(&world, id).await[..] else { panic!("two changes") };
    assert_eq!((forgotten.kind, &forgotten.author), (MemoryChangeKind::Forgotten, &person));
    let refused = memories.undo_memory_change(written.id, &MemoryAuthor::Process).await;
    assert_eq!(refused, Ok(UndoneChange::ChangedSince(forgotten.id)));
    let undone = memories.undo_memory_change(forgotten.id, &MemoryAuthor::Process).await.unwrap();
    let UndoneChange::Done(memory) = undone else { panic!("{undone:?}") };
    assert_eq!((memory.text.as_str(), memory.forgotten, memory.revision), ("the key", false, 3));
    assert_eq!(texts(&world, &ScopeFilter::All, "key").await, ["the key"]);

    let world = world.restart().await;
    let [undo, ..] = &changes(&world, id).await[..] else { panic!("three changes") };
    assert_eq!((undo.kind, undo.before.is_none()), (MemoryChangeKind::Undone, true));
    let memories = &world.ports.memories;
    let undone = memories.undo_memory_change(undo.id, &MemoryAuthor::Process).await.unwrap();
    assert!(matches!(undone, UndoneChange::Done(memory) if memory.forgotten), "an undone undo");
    assert_eq!(texts(&world, &ScopeFilter::All, "key").await, [""; 0]);
    let unknown = avocet_protocol::ids::MemoryChangeId(999);
    let unknown = memories.undo_memory_change(unknown, &MemoryAuthor::Process).await;
    assert_eq!(unknown, Ok(UndoneChange::Unknown));
}

/// A call and a command forget a memory in the transaction of their result.
pub async fn forget_by_call_and_by_command_acts_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    write(&world, &[remember(&everyone, "one"), remember(&everyone, "two")]).await;
    let two = newest(&world).await;
    let call = write(&world, &[LogWrite::Forget { id: two }, LogWrite::Forget { id: two }]).await;
    assert_eq!(texts(&world, &ScopeFilter::All, "").await, ["one"]);
    let [forgotten, _] = &changes(&world, two).await[..] else { panic!("two changes") };
    assert_eq!(forgotten.author, MemoryAuthor::Call(call));

    let by = "terminal:local:u1".parse().unwrap();
    let action = CommandAction::ForgetMemory { id: newest(&world).await, by };
    for (number, expected) in [CommandEffect::Done, CommandEffect::Nothing].into_iter().enumerate()
    {
        let command = world.command(&session("a"), &format!("/memory {number}")).await;
        let inbox = &world.ports.inbox;
        let effect = inbox.settle_command(command, &action, &CommandReply::default()).await;
        assert_eq!(effect, Ok(expected));
    }
    assert_eq!(texts(&world, &ScopeFilter::All, "").await, [""; 0]);
}

/// The memories of a turn are recorded before its first step, and stay part of the past even if the
/// turn has no answer.
pub async fn record_recalled_keeps_the_memories_with_their_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let recalled = vec![RecalledMemory {
        id: MemoryId(1),
        scope: MemoryScope::Everyone,
        text: "the key".to_owned(),
        trust: Trust::Low,
        written_at: Timestamp(5),
    }];
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    assert_eq!(turn.recalled, []);
    world.ports.log.record_recalled(turn.id, &recalled).await.unwrap();
    let world = world.restart().await;
    let turn = world.take(&a).await;
    assert_eq!(turn.recalled, recalled);
    world.reply(turn.id, "ok").await;
    world.ports.log.record_recalled(turn.id, &[]).await.unwrap_err();

    world.say(&a, "2").await;
    let turn = world.take(&a).await;
    world.ports.log.record_recalled(turn.id, &recalled).await.unwrap();
    world.settle(turn.id, &failure("no model")).await.unwrap();
    world.say(&a, "3").await;
    let next = world.take(&a).await.id;
    let past = world.ports.log.history(&a, next, 10_000).await.unwrap();
    assert!(past.turns.iter().all(|turn| turn.recalled == recalled), "{past:?}");
    assert_eq!(past.turns.len(), 2);
}

/// Stores vectors of the memories with these texts.
async fn add_vectors(world: &World<'_>, model: &str, vectors: &[(&str, &[f32])]) {
    let all = world.ports.memories.search_memories(&ScopeFilter::All, "", 99).await.unwrap();
    let of = |text: &str| all.iter().find(|found| found.memory.text == text).unwrap();
    let vectors = vectors.iter().map(|(text, vector)| MemoryVector {
        memory: of(text).memory.id,
        revision: of(text).memory.revision,
        vector: vector.to_vec(),
    });
    world.ports.vectors.add_vectors(model, vectors.collect()).await.unwrap();
}

async fn missing(world: &World<'_>, model: &str) -> Vec<String> {
    let missing = world.ports.vectors.without_vector(model, 9).await.unwrap();
    missing.into_iter().map(|memory| memory.text).collect()
}

async fn nearest(world: &World<'_>, scopes: &ScopeFilter, vector: &[f32]) -> Vec<String> {
    let found = world.ports.vectors.nearest(scopes, "m", vector, 9).await.unwrap();
    found.into_iter().map(|found| found.memory.text).collect()
}

/// The nearest vectors come first; those of other scopes, models and lengths are not compared.
pub async fn nearest_compares_vectors_of_the_requested_scopes_and_model(backend: &impl Backend) {
    let world = World::new(backend).await;
    let ann = scope("person telegram:main:ann");
    let texts = ["north", "east", "north-east", "other"];
    let writes = texts.map(|text| remember(&MemoryScope::Everyone, text));
    write(&world, &writes).await;
    write(&world, &[remember(&ann, "anns north")]).await;
    assert_eq!(missing(&world, "m").await.len(), 5);
    let north: &[f32] = &[0.0, 2.0];
    add_vectors(
        &world,
        "m",
        &[
            ("north", north),
            ("east", &[3.0, 0.0]),
            ("north-east", &[1.0, 1.5]),
            ("anns north", north),
        ],
    )
    .await;
    assert_eq!(missing(&world, "m").await, ["other"]);
    let world = world.restart().await;
    let everyone = ScopeFilter::Only(vec![MemoryScope::Everyone]);
    assert_eq!(nearest(&world, &everyone, north).await, ["north", "north-east", "east"]);
    assert_eq!(nearest(&world, &everyone, &[1.0, 0.0]).await, ["east", "north-east", "north"]);
    assert_eq!(nearest(&world, &ScopeFilter::Only(vec![ann]), north).await, ["anns north"]);
    assert_eq!(nearest(&world, &ScopeFilter::All, north).await.len(), 4);
    assert_eq!(nearest(&world, &everyone, &[1.0, 0.0, 0.0]).await, [""; 0], "another length");
    assert_eq!(nearest(&world, &everyone, &[0.0, 0.0]).await, [""; 0], "no direction");
    let found = world.ports.vectors.nearest(&everyone, "m", north, 1).await.unwrap();
    assert!((found[0].similarity.unwrap() - 1.0).abs() < 0.01, "{found:?}");

    assert_eq!(missing(&world, "n").await.len(), 5, "another model");
    add_vectors(&world, "n", &[("north", north)]).await;
    assert_eq!(nearest(&world, &everyone, north).await, ["north-east", "east"]);
}

/// A vector never outlives its text.
pub async fn vector_of_a_changed_memory_is_removed(backend: &impl Backend) {
    let world = World::new(backend).await;
    write(&world, &[remember(&MemoryScope::Everyone, "north")]).await;
    add_vectors(&world, "m", &[("north", &[0.0, 1.0])]).await;
    let id = newest(&world).await;
    let memories = &world.ports.memories;
    let before = memories.memory(id).await.unwrap().unwrap();
    assert!(memories.forget_memory(id, &MemoryAuthor::Process).await.unwrap());
    assert_eq!(nearest(&world, &ScopeFilter::All, &[0.0, 1.0]).await, [""; 0]);
    assert_eq!(missing(&world, "m").await, [""; 0], "a forgotten memory needs none");
    let change = changes(&world, id).await[0].id;
    memories.undo_memory_change(change, &MemoryAuthor::Process).await.unwrap();
    assert_eq!(missing(&world, "m").await, ["north"]);
    // The vector of an older revision comes too late.
    let late = MemoryVector { memory: id, revision: before.revision, vector: vec![0.0, 1.0] };
    world.ports.vectors.add_vectors("m", vec![late]).await.unwrap();
    assert_eq!(missing(&world, "m").await, ["north"]);
}
