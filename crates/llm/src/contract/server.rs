//! A strict fake server for any wire, and models that use it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::model::{Model, ModelReply};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::Value;

use super::{ModelSetup, ProviderWire};
use crate::testing::{ShownReply, ask_model};

/// Produces the answer to a request body.
pub(super) type Answering = Box<dyn Fn(&Value) -> ModelAnswer + Send + Sync>;

/// A fake server, with the operations common to all of them.
pub(super) struct WireServer {
    pub(super) base_url: String,
    requests: Box<dyn Fn() -> Vec<Value>>,
    refusals: Box<dyn Fn() -> Vec<String>>,
}

impl fmt::Debug for WireServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl WireServer {
    /// Wraps the fake of one API.
    pub(super) fn new<F: 'static>(
        fake: F,
        base_url: fn(&F) -> String,
        requests: fn(&F) -> Vec<Value>,
        refusals: fn(&F) -> Vec<String>,
    ) -> Self {
        let (base_url, fake) = (base_url(&fake), Arc::new(fake));
        let other = fake.clone();
        let requests = Box::new(move || requests(&fake));
        Self { base_url, requests, refusals: Box::new(move || refusals(&other)) }
    }

    /// The bodies of the accepted requests.
    pub(super) fn accepted_requests(&self) -> Vec<Value> {
        (self.requests)()
    }

    /// The reasons of the refused requests.
    pub(super) fn refusal_reasons(&self) -> Vec<String> {
        (self.refusals)()
    }
}

/// A model, its fake server and its clock.
pub(super) struct WireModel<W> {
    pub(super) server: WireServer,
    pub(super) model: Arc<dyn Model>,
    pub(super) clock: Arc<ManualClock>,
    wire: PhantomData<W>,
}

impl<W: ProviderWire> WireModel<W> {
    /// Starts a model that gives these answers, one per request. The last one is repeated.
    pub(super) async fn start(answers: Vec<ModelAnswer>, setup: ModelSetup) -> Self {
        let next = AtomicUsize::new(0);
        let last = answers.len() - 1;
        let answer =
            move |_: &Value| answers[next.fetch_add(1, Ordering::SeqCst).min(last)].clone();
        let server = W::start(Box::new(answer), &setup).await;
        let clock = Arc::<ManualClock>::default();
        let model = W::create_model(server.base_url.clone(), &setup, clock.clone());
        // Fetch the facts now, so that the test's clock measures only the request.
        model.facts().await;
        Self { server, model, clock, wire: PhantomData }
    }

    /// Starts a model with the default configuration.
    pub(super) async fn new(answers: Vec<ModelAnswer>) -> Self {
        Self::start(answers, ModelSetup::from_wire::<W>()).await
    }
}

/// Asks a model that gives this answer, once. The clock stands still.
pub(super) async fn ask_once<W: ProviderWire>(answer: ModelAnswer) -> ShownReply {
    let served = WireModel::<W>::start(vec![answer], ModelSetup::without_retries::<W>()).await;
    ask_model(served.model.as_ref()).await
}

/// The reply of a model that gives this answer.
pub(super) async fn reply_of<W: ProviderWire>(answer: ModelAnswer) -> ModelReply {
    ask_once::<W>(answer).await.reply.unwrap()
}
