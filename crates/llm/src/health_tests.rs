use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::model::{FailedAttempt, ModelErrorDetail};
use avocet_testkit::ManualClock;
use futures_util::FutureExt;

use super::*;

fn unauthorized(model: &str) -> ModelError {
    ModelError::Unauthorized {
        model: model.to_owned(),
        detail: ModelErrorDetail::with_status(401, "expired"),
    }
}

fn refused(lasting: bool) -> ModelError {
    ModelError::Refused { model: "a/x".to_owned(), detail: "no".into(), lasting }
}

fn health() -> (Arc<ManualClock>, ModelHealth) {
    let clock = Arc::new(ManualClock::default());
    (clock.clone(), ModelHealth::new(clock))
}

#[test]
fn health_provider_is_down_from_the_first_failure_until_an_answer() {
    let (clock, health) = health();
    assert_eq!(health.provider_status("a").fault, None, "nothing was asked");
    let asked = clock.now();
    health.note_outcome("a/x", Ok(()));
    clock.advance(Duration::from_secs(5));
    let failed = clock.now();
    health.note_outcome("a/x", Err(&unauthorized("a/x")));
    health.note_outcome("ab/x", Ok(()));
    let status = health.provider_status("a");
    assert!(status.fault.as_ref().unwrap().contains("401: expired"), "{status:?}");
    assert_eq!(health.fault_of("a/x"), status.fault);
    assert_eq!(status.requests.success, Some(asked));
    assert_eq!(
        status.requests.failure.as_ref().map(|last| (last.at, last.in_a_row)),
        Some((failed, 1))
    );
    assert_eq!(health.provider_status("ab").fault, None);
    health.note_outcome("a/x", Ok(()));
    let healed = health.provider_status("a");
    assert_eq!((healed.fault, healed.requests.failures_in_a_row()), (None, 0));
    assert!(healed.requests.failure.is_some(), "the last failure stays to be seen");
}

#[test]
fn health_provider_is_down_while_one_of_its_models_is() {
    let (clock, health) = health();
    health.note_outcome("a/bad", Err(&refused(true)));
    clock.advance(Duration::from_secs(1));
    health.note_outcome("a/good", Ok(()));
    let status = health.provider_status("a");
    assert!(status.fault.is_some() && status.requests.success > Some(Timestamp(0)), "{status:?}");
    assert_eq!(health.fault_of("a/good"), None);
}

#[test]
fn health_ignores_single_refusals_and_requests_that_are_too_long() {
    let (_, health) = health();
    let too_long =
        ModelError::TooLong { model: "a/x".to_owned(), detail: String::new().into(), window: None };
    health.note_outcome("a/x", Err(&too_long));
    assert_eq!(health.provider_status("a").requests, LastExchanges::default());
    for (number, is_down) in [(1, false), (2, false), (3, true)] {
        health.note_outcome("a/x", Err(&refused(false)));
        assert_eq!(health.fault_of("a/x").is_some(), is_down, "{number}");
    }
}

/// A model that waits for ever between its first and its second attempt.
#[derive(Debug)]
struct WaitingModel;

#[async_trait]
impl Model for WaitingModel {
    fn name(&self) -> &'static str {
        "a/x"
    }

    async fn facts(&self) -> ModelFacts {
        ModelFacts::default()
    }

    async fn complete(
        &self,
        _: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let (error, began) = (&unauthorized("a/x"), Timestamp(0));
        deltas(Delta::Retry(FailedAttempt { error, began }));
        std::future::pending().await
    }
}

#[test]
fn health_provider_is_down_between_the_attempts_of_a_request() {
    let health = Arc::new(health().1);
    let model = health.watch_model(Arc::new(WaitingModel));
    let request = ModelRequest::default();
    assert!(model.complete(&request, &|_| {}).now_or_never().is_none());
    assert!(health.provider_status("a").fault.unwrap().contains("401: expired"));
}
