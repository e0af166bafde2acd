//! The memory tools, with the log behind them.

use avocet_protocol::access::{Asker, PersonId, Role, Trust};
use avocet_protocol::chat::{ChatKind, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::MemoryId;
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::store::MemoryScope;
use avocet_protocol::tool::{LogWrite, ToolContext, Toolbox};
use avocet_testkit::private_place;
use serde_json::{Value, json};

use crate::finish_call;
use crate::world::{World, call, context};

/// A call in this chat, by the person with the same id.
fn by(role: Role, chat: ChatKind, id: &str) -> ToolContext {
    let person: PersonId = format!("telegram:main:{id}").parse().unwrap();
    let session = SessionId::parse(&format!("telegram:main:{id}")).unwrap();
    let address = session.address();
    let asker = Some(Asker { address, chat, person, session, linked: None });
    ToolContext { asker, role, ..context() }
}

/// Runs a tool, writes its writes to the log, and returns its value or its error.
async fn run(world: &World, context: &ToolContext, name: &str, arguments: Value) -> String {
    match world.run_in(context, name, arguments).await {
        Ok(output) => {
            if !output.writes.is_empty() {
                finish_call(world, None, &output.writes).await;
            }
            match output.value {
                Value::String(text) => text,
                other => other.to_string(),
            }
        }
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn memory_write_remembers_a_trimmed_text_once() {
    let world = World::new().await;
    let owner = by(Role::Owner, ChatKind::Private, "7");
    let text = "the key is under the mat";
    let output =
        world.run_in(&owner, "memory_write", json!({"text": format!(" {text}\n")})).await.unwrap();
    assert_eq!(output.value, json!("remembered (person): the key is under the mat"));
    let scope: MemoryScope = "person telegram:main:7".parse().unwrap();
    assert_eq!(output.writes, [LogWrite::Remember { scope, text: text.to_owned() }]);
    finish_call(&world, None, &output.writes).await;
    let again = json!({"text": "The key is under the mat!"});
    assert_eq!(run(&world, &owner, "memory_write", again.clone()).await, "already known as m1");
    let elsewhere = by(Role::Owner, ChatKind::Private, "8");
    let answer = run(&world, &elsewhere, "memory_write", again).await;
    assert!(answer.starts_with("remembered (person)"), "{answer}");
    let other = json!({"text": "the key is not under the mat"});
    let answer = run(&world, &owner, "memory_write", other).await;
    assert!(answer.starts_with("remembered"), "a contradiction is news: {answer}");

    let error = run(&world, &owner, "memory_write", json!({"text": " "})).await;
    assert!(error.ends_with("text is empty"), "{error}");
    let error = run(&world, &owner, "memory_write", json!({"text": "x".repeat(2049)})).await;
    assert!(error.contains("2049 bytes long"), "{error}");
}

#[tokio::test]
async fn memory_tools_keep_to_the_scopes_of_the_asker() {
    use ChatKind::{Group, Private};
    let world = World::new().await;
    let places = [
        by(Role::Owner, Private, "7"),
        by(Role::User, Private, "8"),
        by(Role::User, Group, "-100"),
        ToolContext { asker: None, ..context() },
    ];
    let write = |text: &str, scope: &str| json!({"text": text, "scope": scope});
    let writes = [
        (0, write("the owner's key", "person"), "remembered"),
        (0, write("everyone's key", "everyone"), "remembered"),
        (1, json!({"text": "the user's key"}), "remembered (person)"),
        (1, write("a key", "everyone"), "permission denied: only owners may write for everyone"),
        (2, json!({"text": "the group's key"}), "remembered (chat)"),
        (2, write("a key", "person"), "permission denied: this is a group"),
        (3, json!({"text": "a key"}), "permission denied: no person asked for this"),
    ];
    for (place, arguments, expected) in writes {
        let answer = run(&world, &places[place], "memory_write", arguments).await;
        assert!(answer.starts_with(expected), "{place}: {answer}");
    }
    let seen = [
        ["m1 (person", "m2 (everyone"].as_slice(),
        &["m2 (everyone", "m3 (person"],
        &["m2 (everyone", "m4 (chat"],
        &["m2 (everyone"],
    ];
    let ids = json!({"ids": ["m1", "m2", "m3", "m4"]});
    for (place, expected) in places.iter().zip(seen) {
        for (name, arguments) in [
            ("memory_search", json!({"query": "key"})),
            ("memory_read", json!({})),
            ("memory_read", ids.clone()),
        ] {
            let answer = run(&world, place, name, arguments).await;
            assert_eq!(answer.matches("key").count(), expected.len(), "{name}: {answer}");
            assert!(expected.iter().all(|part| answer.contains(part)), "{name}: {answer}");
        }
    }
    let forgets = [
        (0, "m3", "execution failed: there is no memory m3 here"),
        (2, "m1", "execution failed: there is no memory m1 here"),
        (1, "m2", "permission denied: m2: only owners"),
        (3, "m2", "permission denied: m2: no person asked"),
        (1, "m3", "forgotten: m3"),
        (1, "m3", "execution failed: there is no memory m3 here"),
        (0, "m2", "forgotten: m2"),
        (0, "12", "invalid arguments: \"12\" is not the id of a memory"),
    ];
    for (place, id, expected) in forgets {
        let answer = run(&world, &places[place], "memory_forget", json!({"id": id})).await;
        assert!(answer.starts_with(expected), "{place} {id}: {answer}");
    }
}

#[tokio::test]
async fn f34_memory_write_refuses_a_text_that_was_only_recalled() {
    let world = World::new().await;
    let recalled = RecalledMemory {
        id: MemoryId(12),
        scope: MemoryScope::Everyone,
        text: "The key is under the mat.".to_owned(),
        trust: Trust::Full,
        written_at: Timestamp(0),
    };
    let owner =
        ToolContext { recalled: [recalled].into(), ..by(Role::Owner, ChatKind::Private, "7") };
    let echo = json!({"text": "the key is under the mat"});
    assert_eq!(run(&world, &owner, "memory_write", echo).await, "already known as m12");
    let copy = json!({"text": "the key is under the mat", "scope": "person"});
    let answer = run(&world, &owner, "memory_write", copy).await;
    assert!(answer.starts_with("remembered (person)"), "a copy on purpose: {answer}");
}

#[tokio::test]
async fn memory_change_after_text_of_others_needs_approval() {
    use Trust::{Full, Low, User};
    let world = World::new().await;
    let (user, owner) = (Role::User, Role::Owner);
    let (write, forget) = (json!({"text": "a"}), json!({"id": "m1"}));
    let table = [
        (owner, Full, false),
        (owner, User, true),
        (owner, Low, true),
        (user, User, false),
        (user, Low, true),
    ];
    let tools = [("memory_write", write), ("memory_forget", forget)];
    for ((role, trust, asks), (name, arguments)) in
        table.into_iter().flat_map(|case| tools.iter().map(move |tool| (case, tool)))
    {
        let context = ToolContext { trust, ..by(role, ChatKind::Private, "7") };
        let call = call(name, arguments);
        let prepared = world.registry.prepare(&call, None, &context).await.unwrap();
        assert_eq!(prepared.approval.is_some(), asks, "{name} {role:?} {trust:?}");
    }
}

/// Every request pays for the descriptions, so that each byte here needs a reason.
#[tokio::test]
async fn memory_tools_add_at_most_1250_bytes_to_a_request() {
    let world = World::new().await;
    let specs = world.registry.specs(Role::Owner, &private_place());
    let size = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name).unwrap();
        spec.name.len() + spec.description.len() + spec.parameters.to_string().len()
    };
    let sizes = ["memory_forget", "memory_read", "memory_search", "memory_write"]
        .map(|name| (name, size(name)));
    let all: usize = sizes.iter().map(|(_, size)| size).sum();
    println!("bytes of the memory tools: {sizes:?}, together {all}");
    assert!(all <= 1250, "{sizes:?}");
}
