//! Rules of the memory's files: edits of people, and what happens to them if the log has changed.

use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::store::{
    CommandAction, CommandEffect, CommandReply, EditedFile, FileEntry, MemoryAuthor,
    MemoryChangeKind, MemoryScope, NewMemory, ScopeFilter, ShownChange, ShownMemory, TakenEdit,
    TakenEditKind,
};

use super::Backend;
use super::world::{World, session};

fn new(scope: &MemoryScope, text: &str) -> NewMemory {
    let (scope, text) = (scope.clone(), text.to_owned());
    NewMemory { scope, text, trust: Trust::Full, session: None, said_by: None }
}

async fn write(world: &World<'_>, scope: &MemoryScope, text: &str) -> MemoryId {
    let author = MemoryAuthor::Process;
    let new = new(scope, text);
    world.ports.memories.write_memory(&new, &author).await.unwrap().memory.id
}

/// Returns the file of a scope as a person gets it.
async fn file(world: &World<'_>, scope: &MemoryScope, digest: &str) -> EditedFile {
    let shown = world.ports.memory_files.memories_of(scope).await.unwrap();
    let entries = shown.memories.iter().map(|memory| FileEntry {
        shown: Some(ShownMemory { id: memory.id, revision: memory.revision, trust: memory.trust }),
        text: memory.text.clone(),
    });
    let (scope, digest, entries) = (scope.clone(), digest.to_owned(), entries.collect());
    EditedFile { scope, digest, shown_to: Some(shown.last), entries }
}

async fn take_in(world: &World<'_>, file: &EditedFile) -> Vec<(String, TakenEditKind)> {
    let taken = world.ports.memory_files.take_in(file).await.unwrap();
    taken.into_iter().map(|TakenEdit { memory, kind }| (memory.to_string(), kind)).collect()
}

async fn texts(world: &World<'_>, scope: &MemoryScope) -> Vec<String> {
    let shown = world.ports.memory_files.memories_of(scope).await.unwrap();
    shown.memories.into_iter().map(|memory| memory.text).collect()
}

fn added(text: &str) -> FileEntry {
    FileEntry { shown: None, text: text.to_owned() }
}

/// An edited text, a missing entry and a new entry reach the log once, with their history.
pub async fn take_in_changes_forgets_and_adds_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    for text in ["one", "two", "three  \n"] {
        write(&world, &everyone, text).await;
    }
    let mut edited = file(&world, &everyone, "a1").await;
    edited.entries[2].text = "three".to_owned();
    assert_eq!(take_in(&world, &edited).await, [], "the visible text is the same");
    edited.entries[0].text = "ONE: and more".to_owned();
    edited.entries.remove(1);
    edited.entries.push(added("four"));
    let expected = [
        ("m1".to_owned(), TakenEditKind::Changed),
        ("m4".to_owned(), TakenEditKind::Added),
        ("m2".to_owned(), TakenEditKind::Forgotten),
    ];
    assert_eq!(take_in(&world, &edited).await, expected);
    assert_eq!(texts(&world, &everyone).await, ["ONE: and more", "three  \n", "four"]);
    let memories = &world.ports.memories;
    let [change, _] =
        &memories.memory_changes(&ScopeFilter::All, Some(MemoryId(1)), 9).await.unwrap()[..]
    else {
        panic!("two changes")
    };
    assert_eq!(change.kind, MemoryChangeKind::Written);
    assert_eq!(change.author, MemoryAuthor::File("a1".to_owned()));
    assert_eq!(change.before.as_ref().unwrap().text, "one");

    // The process died before it could replace the file.
    let world = world.restart().await;
    assert_eq!(take_in(&world, &edited).await, []);
    let memories = &world.ports.memories;
    assert!(memories.forget_memory(MemoryId(4), &MemoryAuthor::Process).await.unwrap());
    assert_eq!(take_in(&world, &edited).await, [], "a forgotten memory stays forgotten");
    memories.undo_memory_change(change.id, &MemoryAuthor::Process).await.unwrap();
    assert_eq!(texts(&world, &everyone).await, ["one", "three  \n"], "an edit can be undone");
    edited.entries.truncate(1);
    edited.entries[0].text = "one: another edit of the first text".to_owned();
    edited.shown_to = None;
    assert_eq!(take_in(&world, &edited).await, [("m1".to_owned(), TakenEditKind::Changed)]);
}

/// If the log has changed since the person was shown a file, both versions are kept.
pub async fn take_in_keeps_both_versions_of_a_conflict(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    for text in ["one", "two", "three", "four"] {
        write(&world, &everyone, text).await;
    }
    let mut old = file(&world, &everyone, "a1").await;
    let mut newer = old.clone();
    newer.entries[0].text = "newer one".to_owned();
    newer.entries[1].text = "newer two".to_owned();
    newer.entries.remove(2);
    "a2".clone_into(&mut newer.digest);
    assert_eq!(take_in(&world, &newer).await.len(), 3);
    write(&world, &everyone, "five").await;

    old.entries[0].text = "my one".to_owned();
    old.entries.remove(1);
    old.entries[1].text = "my three".to_owned();
    let expected = [
        ("m6".to_owned(), TakenEditKind::Conflict(MemoryId(1))),
        ("m7".to_owned(), TakenEditKind::Conflict(MemoryId(3))),
        ("m2".to_owned(), TakenEditKind::Kept),
    ];
    assert_eq!(take_in(&world, &old).await, expected);
    let expected = [
        "newer one",
        "newer two",
        "four",
        "five",
        "Conflict with m1: my one",
        "Conflict with m3: my three",
    ];
    assert_eq!(texts(&world, &everyone).await, expected);
    "a3".clone_into(&mut old.digest);
    assert_eq!(take_in(&world, &old).await, [("m2".to_owned(), TakenEditKind::Kept)], "once");
}

/// Entries of an old copy of a file, and of other scopes, change nothing by mistake.
pub async fn take_in_compares_each_entry_with_its_own_memory(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    let ann: MemoryScope = "person telegram:main:ann".parse().unwrap();
    write(&world, &everyone, "one").await;
    write(&world, &ann, "annsown").await;
    let shown = |id, revision| Some(ShownMemory { id: MemoryId(id), revision, trust: Trust::Full });
    let entry = |shown, text: &str| FileEntry { shown, text: text.to_owned() };
    let table = [
        // The text of a later revision, and another copy of the same text.
        (vec![entry(shown(1, 1), "one"), entry(shown(1, 1), "one")], vec![]),
        // A copy with another text is a separate entry.
        (
            vec![entry(shown(1, 1), "one"), entry(shown(1, 1), "copy")],
            vec![("m3", TakenEditKind::Added)],
        ),
        // A known text.
        (vec![entry(None, "ONE!")], vec![]),
        // A memory that never existed, and one that was moved here from another scope.
        (vec![entry(shown(99, 1), "unknown")], vec![("m4", TakenEditKind::Added)]),
        (vec![entry(shown(2, 1), "annsown")], vec![("m5", TakenEditKind::Added)]),
        // A revision that never existed.
        (vec![entry(shown(1, 7), "future")], vec![("m6", TakenEditKind::Conflict(MemoryId(1)))]),
    ];
    for (number, (entries, expected)) in table.into_iter().enumerate() {
        let (scope, digest) = (everyone.clone(), format!("b{number}"));
        // Without the number of a change, no entry counts as missing.
        let file = EditedFile { scope, digest, shown_to: None, entries };
        let expected: Vec<_> =
            expected.into_iter().map(|(id, kind)| (id.to_owned(), kind)).collect();
        assert_eq!(take_in(&world, &file).await, expected, "{number}");
    }
    assert_eq!(texts(&world, &ann).await, ["annsown"]);
}

/// A log that was restored has other changes of the same numbers: no entry is missing then, and the
/// trust of a lost memory is that of its entry.
pub async fn take_in_forgets_nothing_for_the_file_of_another_log(backend: &impl Backend) {
    let world = World::new(backend).await;
    let everyone = MemoryScope::Everyone;
    write(&world, &everyone, "one").await;
    let mut other = file(&world, &everyone, "a1").await;
    other.shown_to = other.shown_to.map(|shown| ShownChange { at: Timestamp(7), ..shown });
    let lost = ShownMemory { id: MemoryId(9), revision: 2, trust: Trust::Low };
    other.entries = vec![FileEntry { shown: Some(lost), text: "lost".to_owned() }];
    assert_eq!(take_in(&world, &other).await, [("m2".to_owned(), TakenEditKind::Added)]);
    let memories = world.ports.memory_files.memories_of(&everyone).await.unwrap().memories;
    let trusts: Vec<_> = memories.iter().map(|one| (one.text.as_str(), one.trust)).collect();
    assert_eq!(trusts, [("one", Trust::Full), ("lost", Trust::Low)]);
}

/// An edit never raises the trust of a text.
pub async fn take_in_keeps_the_trust_of_an_edited_memory(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (everyone, author) = (MemoryScope::Everyone, MemoryAuthor::Process);
    let ann: MemoryScope = "person telegram:main:ann".parse().unwrap();
    let untrusted = NewMemory { trust: Trust::Low, ..new(&everyone, "web page") };
    world.ports.memories.write_memory(&untrusted, &author).await.unwrap();
    let mut edited = file(&world, &everyone, "a1").await;
    edited.entries[0].text = "a web page".to_owned();
    edited.entries.push(added("own words"));
    take_in(&world, &edited).await;
    let mut stale = edited.clone();
    stale.entries[0].text = "another page".to_owned();
    "a2".clone_into(&mut stale.digest);
    take_in(&world, &stale).await;
    let moved = EditedFile { scope: ann.clone(), shown_to: None, ..stale };
    take_in(&world, &moved).await;
    let found = world.ports.memories.search_memories(&ScopeFilter::All, "", 9).await.unwrap();
    for found in found {
        let is_own = found.memory.text == "own words";
        let expected = if is_own { Trust::Full } else { Trust::Low };
        assert_eq!(found.memory.trust, expected, "{:?}", found.memory);
    }
    assert_eq!(texts(&world, &ann).await, ["another page", "own words"]);
}

/// Scopes are reported after their changes, and the waiter wakes.
pub async fn changed_scopes_follow_every_change(backend: &impl Backend) {
    let world = World::new(backend).await;
    let ann: MemoryScope = "person telegram:main:ann".parse().unwrap();
    let files = &world.ports.memory_files;
    let none = files.changed_scopes(MemoryChangeId(0)).await.unwrap();
    assert_eq!((none.scopes, none.last), (vec![], MemoryChangeId(0)));
    write(&world, &MemoryScope::Everyone, "one").await;
    files.memories_changed().await;
    let id = write(&world, &ann, "two").await;
    files.memories_changed().await;
    let both = files.changed_scopes(MemoryChangeId(0)).await.unwrap();
    assert_eq!(both.scopes, [MemoryScope::Everyone, ann.clone()]);
    assert_eq!(files.changed_scopes(both.last).await.unwrap().scopes, []);
    world.ports.memories.forget_memory(id, &MemoryAuthor::Process).await.unwrap();
    files.memories_changed().await;
    let changed = files.changed_scopes(both.last).await.unwrap();
    assert_eq!(changed.scopes, std::slice::from_ref(&ann));
    let shown = files.memories_of(&ann).await.unwrap();
    assert_eq!((shown.memories, shown.last.id), (vec![], changed.last));
    let everyone = files.memories_of(&MemoryScope::Everyone).await.unwrap();
    assert_eq!(everyone.last.id, MemoryChangeId(1));
}

/// A text that is known in its scope is not stored again, by the command line or by a chat.
pub async fn write_memory_stores_a_text_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let ann: MemoryScope = "person telegram:main:ann".parse().unwrap();
    let (memories, by) = (&world.ports.memories, MemoryAuthor::Process);
    let first = memories.write_memory(&new(&ann, "The key"), &by).await.unwrap();
    assert!(first.is_new);
    let again = memories.write_memory(&new(&ann, "the KEY!"), &by).await.unwrap();
    assert_eq!((again.is_new, again.memory.id), (false, first.memory.id));
    assert!(
        memories.write_memory(&new(&MemoryScope::Everyone, "The key"), &by).await.unwrap().is_new
    );

    let by = "terminal:local:u1".parse().unwrap();
    let memory = NewMemory { trust: Trust::User, session: Some(session("a")), ..new(&ann, "tea") };
    let action = CommandAction::WriteMemory { memory, by };
    for (number, expected) in [CommandEffect::Done, CommandEffect::Nothing].into_iter().enumerate()
    {
        let command = world.command(&session("a"), &format!("/memory {number}")).await;
        let inbox = &world.ports.inbox;
        let effect = inbox.settle_command(command, &action, &CommandReply::default()).await;
        assert_eq!(effect, Ok(expected));
    }
    let tea = world.ports.memory_files.memories_of(&ann).await.unwrap().memories.remove(1);
    assert_eq!((tea.trust, tea.source.session), (Trust::User, Some(session("a"))));
}
