use std::sync::Arc;

use avocet_protocol::model::{Model, Money, Price};
use avocet_testkit::ManualClock;
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake, delta_event};
use avocet_text::Secret;
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::testing::{SECOND, sample_request, serve_model};
use crate::{OpenAiConfig, SourcedFacts};

fn errors() -> [(ModelError, bool); 7] {
    let of = || ("a/b".to_owned(), "so it is".to_owned());
    let [unauthorized, refused, too_long, busy, away, late, broken] = [(); 7].map(|()| of());
    let (model, detail) = busy;
    let busy = ModelError::Busy { model, detail: detail.into(), retry_after: None };
    [
        (ModelError::Unauthorized { model: unauthorized.0, detail: unauthorized.1.into() }, false),
        (ModelError::Refused { model: refused.0, detail: refused.1.into(), lasting: false }, false),
        (ModelError::TooLong { model: too_long.0, detail: too_long.1.into(), window: None }, false),
        (busy, false),
        (ModelError::Unreachable { model: away.0, detail: away.1.into() }, false),
        (ModelError::TimedOut { model: late.0, detail: late.1.into() }, true),
        (ModelError::BadAnswer { model: broken.0, detail: broken.1.into() }, true),
    ]
}

/// The usage that is reported as lost by an attempt with a request of 100 tokens. The attempt shows
/// `text` before its end. Without an end, it is dropped.
fn lost(text: &str, end: Option<Result<ModelReply, ModelError>>) -> Vec<Usage> {
    lost_of(|shown| shown.show_delta(Delta::Text(text)), end)
}

/// The same for an attempt with these events before its end.
fn lost_of(
    comes: impl Fn(&ShownDeltas<'_>),
    end: Option<Result<ModelReply, ModelError>>,
) -> Vec<Usage> {
    let lost = Mutex::new(Vec::new());
    let deltas = |delta: Delta<'_>| {
        if let Delta::Lost(spent) = delta {
            lost.lock().push(spent.usage);
        }
    };
    let shown = ShownDeltas::new(&deltas);
    let asking = async {
        comes(&shown);
        match end {
            Some(end) => end,
            None => std::future::pending().await,
        }
    };
    // An attempt that would wait is dropped.
    shown.run_attempt("a/b", 100, asking).now_or_never();
    lost.into_inner()
}

#[test]
fn attempt_reports_lost_usage_of_an_answer_that_may_have_begun() {
    for (error, is_lost) in errors() {
        let expected = if is_lost { vec![Usage::new(100, 0)] } else { vec![] };
        assert_eq!(lost("", Some(Err(error.clone()))), expected, "{error}");
        assert_eq!(lost("four", Some(Err(error.clone()))), [Usage::new(100, 1)], "{error}");
        assert_eq!(
            lost_of(
                |shown| {
                    shown.mark_begun();
                },
                Some(Err(error.clone()))
            ),
            [Usage::new(100, 0)],
            "{error}"
        );
    }
    assert_eq!(lost("four", Some(Ok(ModelReply::default()))), []);
    assert_eq!(lost("four", None), [Usage::new(100, 1)], "given up");
}

#[tokio::test]
async fn retrying_reports_each_broken_attempt_with_its_price() {
    let half = ModelAnswer::Events(vec![delta_event(&json!({ "content": "so far" }), None)]);
    let answers = Mutex::new(vec![ModelAnswer::says("good"), half.clone(), half]);
    let fake = OpenAiFake::start(move |_| answers.lock().pop().unwrap()).await;
    let config = OpenAiConfig {
        base_url: fake.base_url(),
        api_key: Some(Secret::new(KEY.to_owned()).into()),
        ..OpenAiConfig::default()
    };
    let clock = Arc::<ManualClock>::default();
    let price = Price { input: 1.0, output: 1.0, ..Price::default() };
    let said = SourcedFacts { price: Some(price), context: Some(1000), ..SourcedFacts::default() };
    let model = serve_model(config, "local/qwen3", said, clock.clone());
    model.facts().await;
    let lost = Mutex::new(Vec::new());
    let deltas = |delta: Delta<'_>| {
        if let Delta::Lost(spent) = delta {
            lost.lock().push(spent.clone());
        }
    };
    let request = sample_request();
    let passing = async {
        for _ in 0..2 {
            clock.sleeper_within(..45 * SECOND).await;
            clock.advance(45 * SECOND);
        }
    };
    let asking = model.complete(&request, &deltas);
    let (reply, ()) = tokio::join!(asking, passing);
    assert_eq!(reply.unwrap().spent.len(), 1);
    let lost = lost.into_inner();
    assert_eq!(lost.len(), 2);
    for Spent { model, usage, cost } in lost {
        assert_eq!((model.as_str(), usage.output), ("local/qwen3", 1));
        assert_eq!(cost, Some(Money::dollars(usage.total() as f64 / 1e6)));
    }
}
