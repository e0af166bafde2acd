use std::time::Duration;

use avocet_protocol::model::{Image, ImageRef, Message, ModelErrorDetail, Usage};
use avocet_testkit::{ManualClock, Scripted, ScriptedModel};
use parking_lot::Mutex;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn request() -> ModelRequest {
    ModelRequest {
        messages: vec![Message::user("hi")].into(),
        tools: Arc::new([]),
        deferred: [].into(),
        images: BTreeMap::new(),
        ..ModelRequest::default()
    }
}

fn busy(retry_after: Option<Duration>) -> Scripted {
    let (model, detail) = ("a/one".to_owned(), ModelErrorDetail::with_status(429, ""));
    Scripted::Error(ModelError::Busy { model, detail, retry_after })
}

fn unauthorized() -> Scripted {
    let (model, detail) = ("a/one".to_owned(), ModelErrorDetail::with_status(401, ""));
    Scripted::Error(ModelError::Unauthorized { model, detail })
}

fn refused() -> Scripted {
    let (model, detail) = ("a/one".to_owned(), ModelErrorDetail::with_status(400, ""));
    Scripted::Error(ModelError::Refused { model, detail, lasting: false })
}

fn no_cool_downs() -> Arc<CoolDowns> {
    Arc::new(CoolDowns::new(Arc::<ManualClock>::default()))
}

/// A chain of models with these answers.
fn chain(answers: Vec<Vec<Scripted>>) -> (ModelChain, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let named = |(one, name)| Arc::new(ScriptedModel::new(one).named(name)) as Arc<dyn Model>;
    let mut models = answers.into_iter().zip(["a/one", "b/two", "c/three"]).map(named);
    let first = models.next().unwrap();
    (ModelChain::new(first, models.collect(), Arc::new(CoolDowns::new(clock.clone()))), clock)
}

async fn ask(chain: &ModelChain) -> Result<String, ModelError> {
    chain.complete(&request(), &|_| {}).await.map(|reply| reply.text)
}

#[tokio::test]
async fn f31_chain_asks_the_next_model_and_doubles_the_cool_down_of_a_failing_first() {
    let first = vec![busy(None), busy(None), Scripted::says("one again")];
    let second = ["two", "still two", "two for long"].map(Scripted::says).to_vec();
    let (chain, clock) = chain(vec![first, second]);
    assert_eq!(ask(&chain).await.unwrap(), "two");
    clock.advance(29 * SECOND);
    assert_eq!(ask(&chain).await.unwrap(), "still two", "the first is not asked");
    clock.advance(SECOND);
    assert_eq!(ask(&chain).await.unwrap(), "two for long", "it fails again");
    clock.advance(60 * SECOND);
    assert_eq!(ask(&chain).await.unwrap(), "one again", "it was left alone twice as long");
}

#[tokio::test]
async fn f31_chain_resets_the_cool_down_after_an_answer() {
    let first = vec![busy(None), Scripted::says("one"), busy(None), Scripted::says("one again")];
    let (chain, clock) = chain(vec![first, ["two", "two"].map(Scripted::says).to_vec()]);
    for answer in ["two", "one", "two", "one again"] {
        assert_eq!(ask(&chain).await.unwrap(), answer);
        clock.advance(30 * SECOND);
    }
}

#[tokio::test]
async fn f31_chain_obeys_retry_after_up_to_an_hour() {
    for (asked, seconds) in [(90, 90), (7200, 3600)] {
        let first = vec![busy(Some(asked * SECOND)), Scripted::says("one")];
        let (chain, clock) = chain(vec![first, ["two", "two"].map(Scripted::says).to_vec()]);
        assert_eq!(ask(&chain).await.unwrap(), "two");
        clock.advance((seconds - 1) * SECOND);
        assert_eq!(ask(&chain).await.unwrap(), "two", "{asked}");
        clock.advance(SECOND);
        assert_eq!(ask(&chain).await.unwrap(), "one", "{asked}");
    }
}

#[tokio::test]
async fn f31_chain_skips_a_model_that_failed_in_another_chain_with_the_same_cool_downs() {
    let cool_downs = no_cool_downs();
    let first = Arc::new(ScriptedModel::new(vec![busy(None)]).named("a/one"));
    let other =
        |name, answer| Arc::new(ScriptedModel::new(vec![Scripted::says(answer)]).named(name));
    let one = ModelChain::new(first.clone(), vec![other("b/two", "two")], cool_downs.clone());
    let another = ModelChain::new(first, vec![other("c/three", "three")], cool_downs);
    assert_eq!(ask(&one).await.unwrap(), "two");
    assert_eq!(ask(&another).await.unwrap(), "three");
}

#[tokio::test]
async fn chain_returns_the_first_error_if_all_fail_and_next_asks_the_shortest_cool_down() {
    let first = vec![busy(Some(90 * SECOND))];
    let second = vec![unauthorized(), Scripted::says("two")];
    let (chain, _) = chain(vec![first, second]);
    assert!(matches!(ask(&chain).await, Err(ModelError::Busy { .. })));
    assert_eq!(ask(&chain).await.unwrap(), "two");
}

#[tokio::test]
async fn chain_asks_the_next_model_after_a_refusal_without_a_cool_down() {
    let first = vec![refused(), Scripted::says("one")];
    let (chain, _) = chain(vec![first, vec![Scripted::says("two")]]);
    assert_eq!(ask(&chain).await.unwrap(), "two");
    assert_eq!(ask(&chain).await.unwrap(), "one");
}

#[tokio::test]
async fn chain_restarts_the_shown_text_of_an_answer_that_broke_off() {
    let broken = Breaks(ScriptedModel::new(vec![Scripted::says("half an ")]));
    let second = Arc::new(ScriptedModel::new(vec![Scripted::says("a whole answer")]));
    let chain = ModelChain::new(Arc::new(broken), vec![second], no_cool_downs());
    let shown = Mutex::new(String::new());
    let deltas = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().push_str(text),
        Delta::Restart => shown.lock().push('<'),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    chain.complete(&request(), &deltas).await.unwrap();
    assert_eq!(shown.into_inner(), "half an <a whole answer");
}

/// Sends the text of its model, then breaks off.
#[derive(Debug)]
struct Breaks(ScriptedModel);

#[async_trait]
impl Model for Breaks {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        self.0.complete(request, deltas).await?;
        let (model, detail) = (self.name().to_owned(), "reset".to_owned());
        Err(ModelError::BadAnswer { model, detail: detail.into() })
    }
}

#[tokio::test]
async fn chain_reports_the_lost_usage_of_each_failed_model() {
    let broken = |model: &str| {
        let (model, detail) = (model.to_owned(), "reset".to_owned());
        Scripted::Error(ModelError::BadAnswer { model, detail: detail.into() })
    };
    let answers = vec![vec![broken("a/one")], vec![broken("b/two")], vec![Scripted::says("three")]];
    let (chain, _) = chain(answers);
    let lost = Mutex::new(Vec::new());
    let deltas = |delta: Delta<'_>| {
        if let Delta::Lost(spent) = delta {
            lost.lock().push((spent.model.clone(), spent.usage));
        }
    };
    let reply = chain.complete(&request(), &deltas).await.unwrap();
    assert_eq!(reply.spent.len(), 1);
    let read = Usage::new(request().estimated_tokens(), 0);
    let expected = ["a/one", "b/two"].map(|model| (model.to_owned(), read));
    assert_eq!(lost.into_inner(), expected);
}

#[tokio::test]
async fn chain_drops_images_for_a_model_without_image_support() {
    let first = Arc::new(ScriptedModel::new(vec![busy(None)]).with_eyes());
    let second = Arc::new(ScriptedModel::new(vec![Scripted::says("two")]));
    let chain = ModelChain::new(first.clone(), vec![second.clone()], no_cool_downs());
    assert!(chain.facts().await.images);
    let image = Image { media_type: "image/png", bytes: Arc::from(&b"png"[..]) };
    let images = BTreeMap::from([(ImageRef { path: "inbox/a.png".to_owned() }, image)]);
    chain.complete(&ModelRequest { images, ..request() }, &|_| {}).await.unwrap();
    let seen = |model: &ScriptedModel| model.requests()[0].images.len();
    assert_eq!((seen(&first), seen(&second)), (1, 0));
}

/// The reply of a chain, and the usage of its failed attempts.
async fn ask_and_count(chain: &ModelChain) -> (ModelReply, Usage) {
    let lost = Mutex::new(Usage::default());
    let deltas = |delta: Delta<'_>| {
        if let Delta::Lost(spent) = delta {
            let mut lost = lost.lock();
            *lost = *lost + spent.usage;
        }
    };
    let reply = chain.complete(&request(), &deltas).await.unwrap();
    (reply, lost.into_inner())
}

#[tokio::test]
async fn f40_chain_asks_the_next_model_after_an_empty_answer_and_counts_both() {
    for empty in ["", " \n"] {
        let first = vec![Scripted::says(empty), Scripted::says("one")];
        let (chain, _) = chain(vec![first, vec![Scripted::says("two")]]);
        let (reply, lost) = ask_and_count(&chain).await;
        assert_eq!((reply.text.as_str(), reply.usage()), ("two", Usage::new(100, 10)));
        assert_eq!(lost, Usage::new(100, 10));
        assert_eq!(ask(&chain).await.unwrap(), "one", "it is not left alone for it");
    }
}

#[tokio::test]
async fn f40_chain_returns_the_empty_answer_if_no_model_gives_text_and_counts_all() {
    let nothing = || vec![Scripted::says("")];
    for answers in [vec![nothing(), nothing()], vec![nothing(), nothing(), vec![busy(None)]]] {
        let (chain, _) = chain(answers);
        let (reply, lost) = ask_and_count(&chain).await;
        assert_eq!((reply.text.as_str(), reply.spent), ("", vec![]));
        assert_eq!(lost, Usage::new(200, 20));
    }
}

#[tokio::test]
async fn f40_chain_accepts_an_answer_with_calls_only() {
    let first = vec![Scripted::calls(&[("look", serde_json::json!({}))])];
    let (chain, _) = chain(vec![first, vec![]]);
    let reply = chain.complete(&request(), &|_| {}).await.unwrap();
    assert_eq!(reply.calls.len(), 1);
}

/// A model with a context window of this many tokens.
fn with_window(context: u64, answers: Vec<Scripted>) -> Arc<ScriptedModel> {
    let facts = ModelFacts { context: Some(context), ..ModelFacts::default() };
    Arc::new(ScriptedModel::new(answers).with_facts(facts))
}

#[tokio::test]
async fn chain_skips_a_model_whose_context_window_is_too_small() {
    let tokens = request().estimated_tokens();
    let small = with_window(tokens - 1, vec![]);
    let exact = with_window(tokens, vec![Scripted::says("two")]);
    let chain = ModelChain::new(small, vec![exact], no_cool_downs());
    assert_eq!(ask(&chain).await.unwrap(), "two");
}

/// The model that reports a request as too long, and its window.
fn narrow(answered: Result<String, ModelError>) -> (String, Option<u64>) {
    match answered {
        Err(ModelError::TooLong { model, window, .. }) => (model, window),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn chain_reports_the_largest_window_if_only_smaller_models_are_left() {
    let tokens = request().estimated_tokens();
    for first in [busy(None), unauthorized(), refused()] {
        let roomy = Arc::new(ScriptedModel::new(vec![first]).named("a/roomy"));
        let small = |window| -> Arc<dyn Model> { with_window(window, vec![]) };
        let large: Arc<dyn Model> = {
            let facts = ModelFacts { context: Some(tokens - 1), ..ModelFacts::default() };
            Arc::new(ScriptedModel::new(vec![]).named("b/large").with_facts(facts))
        };
        let chain = ModelChain::new(roomy, vec![small(1), large, small(2)], no_cool_downs());
        assert_eq!(narrow(ask(&chain).await), ("b/large".to_owned(), Some(tokens - 1)));
    }
}

#[tokio::test]
async fn chain_asks_a_smaller_model_for_less_only_while_the_first_cools_down() {
    let tokens = request().estimated_tokens();
    let first = Arc::new(ScriptedModel::new(vec![busy(None)]).named("a/one"));
    let small = with_window(tokens, vec![Scripted::says("two")]);
    let chain = ModelChain::new(first, vec![small], no_cool_downs());
    let long =
        ModelRequest { messages: vec![Message::user("hi ".repeat(100))].into(), ..request() };
    for _ in 0..2 {
        let answered = chain.complete(&long, &|_| {}).await.map(|reply| reply.text);
        assert_eq!(narrow(answered).1, Some(tokens));
    }
    assert_eq!(ask(&chain).await.unwrap(), "two");
}

#[tokio::test]
async fn chain_prefers_a_models_own_too_long_error_to_a_smaller_window_and_other_errors() {
    let too_long = || {
        let (model, detail) = ("b/two".to_owned(), "400".to_owned());
        Scripted::Error(ModelError::TooLong { model, detail: detail.into(), window: None })
    };
    let first = Arc::new(ScriptedModel::new(vec![busy(None)]).named("a/one"));
    let second = Arc::new(ScriptedModel::new(vec![too_long()]).named("b/two"));
    let chain = ModelChain::new(first, vec![second, with_window(1, vec![])], no_cool_downs());
    assert_eq!(narrow(ask(&chain).await), ("b/two".to_owned(), None));
}

#[tokio::test]
async fn chain_cools_down_a_lasting_refusal_for_ten_minutes_and_returns_its_reason() {
    let useless = || {
        let (model, detail) = ("a/one".to_owned(), ModelErrorDetail::with_status(402, "no credit"));
        Scripted::Error(ModelError::Refused { model, detail, lasting: true })
    };
    let second = ["two", "still two"].map(Scripted::says).to_vec();
    let (chain, clock) = chain(vec![vec![useless(), Scripted::says("one")], second]);
    assert_eq!(ask(&chain).await.unwrap(), "two");
    clock.advance(599 * SECOND);
    assert_eq!(ask(&chain).await.unwrap(), "still two");
    clock.advance(SECOND);
    assert_eq!(ask(&chain).await.unwrap(), "one");

    let (alone, _) = self::chain(vec![vec![useless()], vec![busy(None)]]);
    let error = ask(&alone).await.unwrap_err().to_string();
    assert_eq!(error, "a/one refused the request: 402: no credit");
}

/// A model with a server that reports nothing about its abilities.
#[derive(Debug)]
struct Mute(ScriptedModel);

#[async_trait]
impl Model for Mute {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn facts(&self) -> ModelFacts {
        std::future::pending().await
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        self.0.complete(request, deltas).await
    }
}

#[tokio::test]
async fn chain_does_not_wait_for_facts_of_a_fallback_model_that_it_does_not_need() {
    let first = Arc::new(ScriptedModel::new(vec![Scripted::says("one")]).named("a/one"));
    let mute = Arc::new(Mute(ScriptedModel::new(vec![]).named("b/mute")));
    let chain = ModelChain::new(first, vec![mute], no_cool_downs());
    assert!(!chain.facts().await.images);
    assert_eq!(ask(&chain).await.unwrap(), "one");
}

#[tokio::test]
async fn chain_facts_are_those_of_the_next_model_while_the_first_cools_down() {
    let first = Arc::new(ScriptedModel::new(vec![busy(None)]).named("a/blind"));
    let sees = ScriptedModel::new(vec![Scripted::says("two")]).named("b/sees").with_eyes();
    let chain = ModelChain::new(first, vec![Arc::new(sees)], no_cool_downs());
    assert!(!chain.facts().await.images);
    assert_eq!(ask(&chain).await.unwrap(), "two");
    assert!(chain.facts().await.images);
}

#[tokio::test]
async fn chain_asks_for_few_retries_of_all_models_but_the_last() {
    let first = Arc::new(ScriptedModel::new(vec![busy(None)]).named("a/one"));
    let last = Arc::new(ScriptedModel::new(vec![Scripted::says("ok")]));
    let chain = ModelChain::new(first.clone(), vec![last.clone()], no_cool_downs());
    chain.complete(&request(), &|_| {}).await.unwrap();
    assert_eq!(first.requests()[0].options.retries, Retries::Few);
    assert_eq!(last.requests()[0].options.retries, Retries::Configured);
}
