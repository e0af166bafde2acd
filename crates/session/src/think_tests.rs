//! Tests of the thinking effort that a session chooses.

use avocet_protocol::model::{Effort, ModelFacts};

use super::models::says;
use super::*;

/// A session whose model has this ability to think.
async fn session_of(thinking: Option<bool>) -> (SessionHarness, Arc<ScriptedModel>) {
    let context = Some(ModelFacts::ASSUMED_CONTEXT);
    let facts = ModelFacts { thinking, context, ..ModelFacts::default() };
    let model = ScriptedModel::answering(|request| Scripted::says(last_said(request)));
    let model = Arc::new(model.named("b/new").with_facts(facts));
    let setup = Setup { models: BTreeMap::from([("b/new", model.clone())]), ..Setup::default() };
    let harness = SessionHarness::with(parrot(), setup).await;
    says(&harness, &["/model b/new"]).await;
    (harness, model)
}

/// Sends these texts one by one, after one earlier command, and returns the replies to them.
async fn says_next(harness: &SessionHarness, texts: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    for text in texts {
        harness.say(text).await;
        said = harness.channel.texts(said.len().max(1) + 1).await;
    }
    said.split_off(1)
}

#[tokio::test]
async fn think_command_sets_the_effort_of_a_session_until_default() {
    let (harness, model) = session_of(Some(true)).await;
    let said =
        says_next(&harness, &["/think", "hi", "/think high", "a", "/think default", "b"]).await;
    let expected = [
        "Thinking: the default of the model. /think off, low, medium, high, default chooses another.",
        "hi",
        "Thinking: high from now on; /think default goes back.",
        "a",
        "Thinking: the default of the model.",
        "b",
    ];
    assert_eq!(said, expected);
    let efforts: Vec<_> = model.requests().iter().map(|request| request.options.effort).collect();
    assert_eq!(efforts, [None, Some(Effort::High), None]);
}

#[tokio::test]
async fn think_command_refuses_a_model_that_cannot_think_and_an_unknown_word() {
    let (harness, model) = session_of(Some(false)).await;
    let said = says_next(&harness, &["/think low", "/think much", "/think off", "hi"]).await;
    let expected = [
        "b/new cannot think before it answers; /model chooses another model.",
        "Unknown effort \"much\"; choose one of off, low, medium, high, default.",
        "Thinking: off from now on; /think default goes back.",
        "hi",
    ];
    assert_eq!(said, expected);
    assert_eq!(model.requests()[0].options.effort, Some(Effort::Off));
}

#[tokio::test]
async fn think_choice_survives_a_restart_and_is_part_of_the_status() {
    let (harness, _) = session_of(None).await;
    let said = says_next(&harness, &["/think low"]).await;
    assert!(said[0].ends_with("I do not know whether this model can think."), "{}", said[0]);
    harness.sent().await;
    let harness = harness.restart(parrot()).await;
    harness.say("/status").await;
    let status = harness.channel.texts(3).await.remove(2);
    assert!(status.contains(" Thinking: low, chosen with /think."), "{status}");
}

#[tokio::test]
async fn think_command_lets_only_owners_choose() {
    let setup = Setup { allow: users(&["me"]), ..Setup::default() };
    let harness = SessionHarness::with(parrot(), setup).await;
    let said = says(&harness, &["/think low", "/think"]).await;
    assert_eq!(said[0], "Only my owner can choose how much I think; /think shows it.");
    assert_eq!(said[1], "Thinking: the default of the model.");
}
