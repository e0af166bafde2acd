//! Tests of requests to the model for running calls.

use avocet_protocol::model::{NoSample, SampleModel, SampleRequest};

use super::*;
use crate::Sampler;

fn request(turn: i64) -> SampleRequest {
    let message = Message::User { text: "a text".to_owned(), images: Vec::new() };
    let (session, turn) = (session("a"), TurnId(turn));
    SampleRequest { session, turn, messages: vec![message], images: BTreeMap::new() }
}

#[tokio::test]
async fn sampler_asks_the_model_of_the_session_and_records_the_cost_for_its_turn() {
    let model = ScriptedModel::answering(|request| Scripted::says(last_said(request)).costing(0.5));
    let budgets = Budgets {
        turn_cost: Some(avocet_protocol::model::Money::dollars(1.2)),
        ..Budgets::default()
    };
    let harness = SessionHarness::with(model, Setup { budgets, ..Setup::default() }).await;
    harness.say("hello").await;
    harness.channel.texts(1).await;
    let sampler = Sampler::from_parts(&harness.sessions.lanes.parts);
    let sample = sampler.sample(request(1)).await.unwrap();
    assert_eq!((sample.text.as_str(), sample.usage.total()), ("a text", 110));
    // The answer of the turn has cost 0.5, and each sample costs as much.
    sampler.sample(request(1)).await.unwrap();
    let NoSample(why) = sampler.sample(request(1)).await.unwrap_err();
    assert!(why.contains("budgets.turn_usd"), "{why}");
    assert_eq!(harness.model.requests().len(), 3);
}
