//! Tests of the settings that programs show and change.

use avocet_protocol::model::{Effort, ModelFacts};
use avocet_protocol::session::{SessionOption, SessionOptions, SetOptionError, SetSessionOption};

use super::models::says;
use super::*;

const THINKER: &str = "b/thinker";

/// A daemon with two models beside the configured one, of which one can think.
async fn harness() -> (SessionHarness, Arc<ScriptedModel>) {
    let parrot = || ScriptedModel::answering(|request| Scripted::says(last_said(request)));
    let facts = ModelFacts { thinking: Some(true), ..ModelFacts::default() };
    let thinker = Arc::new(parrot().named(THINKER).with_facts(facts));
    let other = Arc::new(parrot().named("a/other"));
    let models = BTreeMap::from([(THINKER, thinker.clone()), ("a/other", other)]);
    let setup = Setup { models, ..Setup::default() };
    (SessionHarness::with(parrot(), setup).await, thinker)
}

async fn set(
    harness: &SessionHarness,
    option: &str,
    value: &str,
) -> Result<Vec<SessionOption>, SetOptionError> {
    let (option, value) = (option.to_owned(), value.to_owned());
    let change = SetSessionOption { session: session("a"), option, value };
    harness.sessions.option_desk().set_session_option(&"me".parse().unwrap(), &change).await
}

/// Writes each option as `name=value: values`, and a value as `value (name)`, below its group.
fn written(options: &[SessionOption]) -> Vec<String> {
    let value = |one: &avocet_protocol::session::SessionOptionValue| {
        let group = one.group.as_ref().map(|group| format!("{group}: ")).unwrap_or_default();
        format!("{group}{} ({})", one.value, one.name)
    };
    let option = |one: &SessionOption| {
        let values: Vec<String> = one.values.iter().map(value).collect();
        format!("{}={}: {}", one.option, one.value, values.join(", "))
    };
    options.iter().map(option).collect()
}

/// Returns the names and values of the options.
fn chosen(options: &[SessionOption]) -> Vec<String> {
    options.iter().map(|one| format!("{}={}", one.option, one.value)).collect()
}

#[tokio::test]
async fn session_options_list_the_models_and_the_efforts_of_a_thinking_model() {
    let (harness, _) = harness().await;
    let options = harness.sessions.option_desk().session_options(&session("a")).await.unwrap();
    let model = "Default: default (Default (test/scripted)), a: a/other (other), \
        b: b/thinker (thinker)";
    assert_eq!(written(&options)[0], format!("model=default: {model}"));
    assert!(options.iter().all(|one| one.option != SessionOption::EFFORT), "{options:?}");
    let options = set(&harness, "model", THINKER).await.unwrap();
    let expected = [
        format!("model={THINKER}: {model}"),
        "effort=default: default (Default), off (Off), low (Low), medium (Medium), high (High)"
            .to_owned(),
    ];
    assert_eq!(written(&options)[..2], expected);
}

#[tokio::test]
async fn set_session_option_changes_the_next_turn_and_shares_its_value_with_the_commands() {
    let (harness, thinker) = harness().await;
    set(&harness, "model", THINKER).await.unwrap();
    let options = set(&harness, "effort", "high").await.unwrap();
    assert_eq!(chosen(&options)[..2], ["model=b/thinker", "effort=high"]);
    let said = says(&harness, &["hi", "/think", "/think low"]).await;
    assert!(said[1].starts_with("Thinking: high, chosen with /think."), "{said:?}");
    assert_eq!(thinker.requests()[0].options.effort, Some(Effort::High));
    let options = harness.sessions.option_desk().session_options(&session("a")).await.unwrap();
    assert_eq!(chosen(&options)[1], "effort=low");
    let options = set(&harness, "effort", "default").await.unwrap();
    assert_eq!(chosen(&options)[1], "effort=default");
    let options = set(&harness, "model", "default").await.unwrap();
    assert_eq!(chosen(&options)[0], "model=default");
    let status = harness.store.session_status(&session("a")).await.unwrap();
    assert_eq!((status.model, status.effort), (None, None));
}

#[tokio::test]
async fn set_session_option_refuses_unknown_values_and_lists_the_others() {
    let (harness, _) = harness().await;
    let error = async |option, value| set(&harness, option, value).await.unwrap_err().to_string();
    assert_eq!(
        error("model", "c/none").await,
        "\"c/none\" is no value of model; choose one of default, a/other, b/thinker"
    );
    let refusal = error("effort", "high").await;
    assert!(refusal.starts_with("this conversation has no setting \"effort\" now; it has model"));
    let status = harness.store.session_status(&session("a")).await.unwrap();
    assert_eq!((status.model, status.effort), (None, None));
}

#[tokio::test]
async fn set_session_option_needs_an_owner() {
    let setup = Setup { allow: users(&["me"]), ..Setup::default() };
    let harness = SessionHarness::with(parrot(), setup).await;
    let refusal = set(&harness, "model", "default").await.unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "me is no owner in terminal:local:a; only owners choose its model"
    );
}
