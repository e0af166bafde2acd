use avocet_agent::Budgets;
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{ModelErrorDetail, ModelFacts, Money, Price};
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeModels, ManualClock, Scripted, ScriptedModel};
use serde_json::{Value, json};

use super::*;

const GOOD: &str = "{\"city\": \"Porto\"}";

fn schema() -> Value {
    json!({ "type": "object", "required": ["city"], "properties": { "city": { "type": "string" } } })
}

/// The result of a question whose model gives these answers, and the model.
async fn asked(
    answers: Vec<Scripted>,
    schema: Value,
    day_cost: Option<Money>,
) -> (Result<JsonAnswer, AskJsonError>, Arc<ScriptedModel>) {
    let budgets = Budgets { day_cost, ..Budgets::default() };
    asked_with(budgets, ScriptedModel::new(answers), schema).await
}

async fn asked_with(
    budgets: Budgets,
    model: ScriptedModel,
    schema: Value,
) -> (Result<JsonAnswer, AskJsonError>, Arc<ScriptedModel>) {
    let clock = Arc::<ManualClock>::default();
    let directory = TempStore::new();
    let log = directory.open(clock.clone()).await;
    let model = Arc::new(model);
    let own = ProfileModels {
        profile: "default".to_owned(),
        model: "a/b".to_owned(),
        fallbacks: Vec::new(),
    };
    let asker = JsonAnswers {
        profiles: BySession::new(own, Vec::new()),
        models: Arc::new(FakeModels([("a/b", model.clone())].into())),
        log: log.clone(),
        budget: Arc::new(UpkeepMeter::new(budgets, log, clock)),
    };
    let session = SessionId::parse("terminal:local:a").unwrap();
    let question = JsonQuestion { session, text: "where?".to_owned(), schema };
    (asker.ask_json(&question).await, model)
}

fn refusal() -> Scripted {
    let (model, detail) = ("a/b".to_owned(), ModelErrorDetail::with_status(400, "unknown field"));
    Scripted::Error(ModelError::Refused { model, detail, lasting: false })
}

#[tokio::test]
async fn ask_json_keeps_the_budget_of_models_without_a_price() {
    let free = ModelFacts { price: Some(Price::default()), ..ModelFacts::default() };
    for (facts, is_refused) in [(ModelFacts::default(), true), (free, false)] {
        let model = ScriptedModel::new(vec![Scripted::says(GOOD)]).with_facts(facts);
        let budgets = Budgets { unpriced_day_tokens: Some(0), ..Budgets::default() };
        let (found, model) = asked_with(budgets, model, schema()).await;
        assert_eq!(model.requests().is_empty(), is_refused, "{facts:?}");
        match found {
            Err(AskJsonError::Refused(why)) if is_refused => {
                assert!(why.contains("models without a known price is spent"), "{why}");
            }
            found => assert!(!is_refused && found.is_ok(), "{facts:?}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn ask_json_corrects_an_answer_twice_at_most() {
    let says = Scripted::says;
    let table = [
        (vec![says(GOOD)], 1, None),
        (vec![says("```json\n{\"city\": \"Porto\"}\n```")], 1, None),
        (vec![says("Porto"), says(GOOD)], 2, None),
        (vec![says("{}"), says("[1]"), says(GOOD)], 3, None),
        (
            vec![says("{}"), says("{}"), says("{\"city\": 7}")],
            3,
            Some("at /city: 7 is not of type"),
        ),
        (vec![refusal(), says("{}"), says(GOOD)], 3, None),
    ];
    for (place, (answers, requests, fault)) in table.into_iter().enumerate() {
        let (found, model) = asked(answers, schema(), None).await;
        let found = found.unwrap();
        assert_eq!(found.requests, requests, "{place}");
        assert_eq!(model.requests().len(), requests as usize, "{place}");
        match fault {
            None => assert_eq!(found.answer, Some(json!({ "city": "Porto" })), "{place}"),
            Some(fault) => assert!(found.faults[0].starts_with(fault), "{:?}", found.faults),
        }
    }
}

#[tokio::test]
async fn ask_json_sends_the_schema_and_the_faults_of_the_last_answer() {
    let (found, model) =
        asked(vec![Scripted::says("{}"), Scripted::says(GOOD)], schema(), None).await;
    assert!(found.unwrap().answer.is_some());
    let [first, second] = model.requests().try_into().unwrap();
    assert_eq!(first.answer_schema.as_deref(), Some(&schema()));
    assert!(first.tools.is_empty() && first.messages.len() == 2);
    let [.., said, fix] = &second.messages.iter().collect::<Vec<_>>()[..] else {
        panic!("{second:?}")
    };
    assert_eq!(**said, Message::assistant("{}", Vec::new()));
    let Message::User { text, .. } = fix else { panic!("{fix:?}") };
    assert!(text.contains("\"city\" is a required property"), "{text}");
}

#[tokio::test]
async fn ask_json_without_structured_output_asks_with_the_schema_in_the_text_only() {
    let (found, model) = asked(vec![refusal(), Scripted::says(GOOD)], schema(), None).await;
    assert!(found.unwrap().answer.is_some());
    let [first, second] = model.requests().try_into().unwrap();
    assert!(first.answer_schema.is_some() && second.answer_schema.is_none());
    assert_eq!(first.messages, second.messages);
    let (refused, _) = asked(vec![refusal(), refusal()], schema(), None).await;
    let error = refused.unwrap_err().to_string();
    assert_eq!(error, "a/b refused the request: 400: unknown field");
}

#[tokio::test]
async fn ask_json_refuses_a_bad_schema_or_a_spent_budget_without_a_request() {
    let bad = json!({ "type": "object", "properties": { "a": { "type": "text" } } });
    let (refused, model) = asked(vec![], bad, None).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.starts_with("the JSON Schema is invalid: /properties/a/type: "), "{error}");
    assert_eq!(model.requests().len(), 0);
    let (refused, _) = asked(vec![], schema(), Some(Money::dollars(0.0))).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.starts_with("The budget of this day is spent"), "{error}");
    for (bad, place) in [(json!([]), "the whole: "), (json!({ "type": 1 }), "/type: ")] {
        let error = AnswerValidator::new(&bad).unwrap_err();
        assert!(error.starts_with(place), "{error}");
    }
}
