//! Tests of `spawn`.

use avocet_protocol::access::{ToolList, Trust};
use avocet_protocol::tool::{
    ChildMode, LogWrite, NewChild, Place, ToolContext, ToolError, ToolOutcome, WaitKind,
};
use avocet_tools::{AgentPolicy, ListedTools};
use serde_json::{Value, json};

use super::world::World;
use super::{call, context};

async fn execute(world: &World, arguments: Value) -> Result<ToolOutcome, ToolError> {
    use avocet_protocol::tool::Toolbox;
    world.registry.execute(&call("spawn", &arguments), &context()).await
}

#[tokio::test]
async fn spawn_waits_for_a_child_with_its_task_label_and_profile() {
    let world = World::new().await;
    let arguments = json!({ "task": "count", "label": "counting", "agent": "reviewer" });
    let ToolOutcome::Waiting(wait) = execute(&world, arguments).await.unwrap() else { panic!() };
    assert_eq!((wait.kind, wait.prompt), (WaitKind::Child, None));
    let (label, agent) = (Some("counting".to_owned()), Some("reviewer".to_owned()));
    assert_eq!(
        wait.writes,
        [LogWrite::Spawn(NewChild { label, agent, ..NewChild::awaited_child("count") })]
    );
}

#[tokio::test]
async fn spawn_in_the_background_returns_the_number_of_the_task() {
    let world = World::new().await;
    for number in [1, 2] {
        let arguments = json!({ "task": "count", "background": true });
        let outcome = execute(&world, arguments).await.unwrap();
        let ToolOutcome::Finished(output) = outcome else { panic!("{outcome:?}") };
        let expected =
            format!("task t{number} is started; its answer will come to the chat as a message");
        assert_eq!(output.value, json!(expected));
        let [LogWrite::Spawn(child)] = &output.writes[..] else { panic!("{output:?}") };
        assert_eq!((child.id.unwrap().0, child.mode), (number, ChildMode::Background));
    }
}

#[tokio::test]
async fn spawn_refuses_an_unknown_profile_and_an_empty_task() {
    let world = World::new().await;
    for (arguments, error) in [
        (json!({ "task": "count", "agent": "reviwer" }), "did you mean reviewer? The profiles are"),
        (json!({ "task": "count", "agent": "x" }), "The profiles are: builder, reviewer"),
        (json!({ "task": " " }), "task is empty"),
        (json!({ "label": "count" }), "task"),
    ] {
        let refusal = execute(&world, arguments).await.unwrap_err().to_string();
        assert!(refusal.contains(error), "{refusal}");
    }
}

#[tokio::test]
async fn spawn_needs_an_approval_after_untrusted_content() {
    use avocet_protocol::tool::Toolbox;
    let world = World::new().await;
    for (trust, asks) in [(Trust::Full, false), (Trust::User, true), (Trust::Low, true)] {
        for background in [false, true] {
            let context = ToolContext { trust, ..context() };
            let call = call("spawn", &json!({ "task": "count", "background": background }));
            let prepared = world.registry.prepare(&call, None, &context).await.unwrap();
            assert_eq!(prepared.approval.is_some(), asks, "{trust:?}");
        }
    }
}

#[tokio::test]
async fn f13_tool_outside_the_list_of_an_ancestor_is_refused_to_a_child() {
    use avocet_protocol::access::Role;
    use avocet_protocol::tool::Toolbox;
    let world = World::new().await;
    let reading = ListedTools {
        table: "[agents.reviewer.tools]".to_owned(),
        above: Some("reviewer".to_owned()),
        channel: None,
        role: None,
        tools: ToolList { allow: vec!["read_*".to_owned()], deny: Vec::new() },
    };
    let world = world.with_policy(AgentPolicy { rules: Vec::new(), lists: vec![reading] });
    let place = Place { within: vec!["reviewer".to_owned()], ..context().place };
    let below = ToolContext { place: place.clone(), ..context() };
    for name in ["write_file", "edit", "EXEC_SHELL"] {
        let call = call(name, &json!({ "path": "a", "content": "", "command": "ls" }));
        for refusal in [
            world.registry.prepare(&call, None, &below).await.unwrap_err().to_string(),
            world.registry.execute(&call, &below).await.unwrap_err().to_string(),
        ] {
            assert!(refusal.contains("[agents.reviewer.tools]"), "{refusal}");
        }
    }
    let offered = world.registry.specs(Role::Owner, &place);
    assert!(offered.iter().all(|tool| tool.name.starts_with("read_")), "{offered:?}");
    let elsewhere = Place { channel: None, ..context().place };
    assert!(world.registry.specs(Role::Owner, &elsewhere).len() > offered.len());
}
