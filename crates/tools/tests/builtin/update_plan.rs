//! `update_plan`: a tool of the sessions of editors.

use avocet_protocol::access::Role;
use avocet_protocol::tool::{Place, ToolContext, Toolbox, UPDATE_PLAN};
use avocet_testkit::private_place;
use serde_json::{Value, json};

use crate::world::{World, call, context};

fn editor() -> Place {
    Place { is_editor: true, ..private_place() }
}

/// Runs a call with these entries in the session of an editor. Returns its result or its error.
async fn update(world: &World, entries: Value) -> Result<Value, String> {
    let context = ToolContext { place: editor(), ..context() };
    let call = call(UPDATE_PLAN, &json!({ "entries": entries }));
    let prepared = world.registry.prepare(&call, None, &context).await;
    let prepared = prepared.map_err(|error| error.to_string())?;
    assert!(prepared.approval.is_none() && prepared.evidence.is_none());
    match world.registry.execute(&call, &context).await {
        Ok(avocet_protocol::tool::ToolOutcome::Finished(output)) => {
            assert!(output.writes.is_empty());
            Ok(output.value)
        }
        Ok(waiting) => panic!("{waiting:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn update_plan_takes_a_plan_without_an_effect() {
    let world = World::new().await;
    let step = |content: &str, status: &str| json!({ "content": content, "status": status });
    let plan = json!([step("look", "completed"), step("change", "in_progress")]);
    assert_eq!(update(&world, plan).await, Ok(json!("The plan is shown.")));
    let first = json!([{ "content": "look", "status": "pending", "priority": "high" }]);
    assert!(update(&world, first).await.is_ok());
    for (entries, wrong) in [
        (json!([]), "entries"),
        (json!([step("look", "begun")]), "begun"),
        (json!([step("look", "pending"), step(" ", "pending")]), "entry 2 is empty"),
    ] {
        let error = update(&world, entries).await.unwrap_err();
        assert!(error.contains(wrong), "{error}");
    }
}

#[tokio::test]
async fn update_plan_is_offered_and_runs_only_in_sessions_of_editors() {
    let world = World::new().await;
    for role in [Role::Owner, Role::User] {
        for (place, expected) in [(editor(), true), (private_place(), false)] {
            let specs = world.registry.specs(role, &place);
            let is_offered = specs.iter().any(|spec| spec.name == UPDATE_PLAN);
            assert_eq!(is_offered, expected, "{role:?} {place:?}");
        }
    }
    let error = world.error(UPDATE_PLAN, json!({ "entries": [] })).await;
    assert!(error.contains("is only for sessions of editors"), "{error}");
}
