//! The fake model: answers that a test holds back, before or after their beginning, and its
//! configuration.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_testkit::http::Piece;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, delta_event, event, stream_head};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::patience::until;

/// Returns a configuration whose agent asks this model.
pub(crate) fn config(model: &OpenAiFake, more: &str) -> String {
    format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n[agents.defaults]\n\
         model = \"fake/fake\"\n{more}",
        model.base_url()
    )
}

/// Holds an answer back until the test adds permits.
pub(crate) fn held() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// An answer that begins once there is a permit.
pub(crate) fn held_back(permits: &Arc<Semaphore>, text: &str) -> ModelAnswer {
    ModelAnswer::When(permits.clone(), Box::new(ModelAnswer::says(text)))
}

/// An answer that begins at once, and continues once there is a permit.
pub(crate) fn begun(first: &str, permits: &Arc<Semaphore>, rest: &str) -> ModelAnswer {
    let delta = |text: &str| delta_event(&json!({ "content": text }), None);
    let [first, rest] = [first, rest].map(delta);
    let (finish, done) = (delta_event(&json!({}), Some("stop")), event("[DONE]"));
    let mut pieces = vec![stream_head(), Piece::chunk(first.as_bytes())];
    pieces.push(Piece::Permit(permits.clone()));
    pieces.extend([rest, finish, done].map(|event| Piece::chunk(event.as_bytes())));
    pieces.push(Piece::end());
    ModelAnswer::Raw(pieces)
}

/// A model with one behaviour for the first request, and another for all later ones.
pub(crate) async fn first_and_then(
    first: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    then: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
) -> OpenAiFake {
    let asked = AtomicUsize::new(0);
    OpenAiFake::start(move |request| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => first(request),
        _ => then(request),
    })
    .await
}

/// Waits until the model has had `times` requests.
pub(crate) async fn asked(model: &OpenAiFake, times: usize) {
    until(&format!("the model asked {times} times"), async || model.requests().len() >= times)
        .await;
}
