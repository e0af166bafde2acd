//! The server of all model API fakes. It records the requests that reached the model, and the
//! reasons of refusals.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::answer::{EVENTS, ModelAnswer, Spoken, Wire, pieces};
use crate::http::{HttpFake, HttpRequest, Piece, whole};

/// The answer to a request that the API refuses.
pub(crate) struct ModelRefusal {
    pub(crate) message: String,
    pub(crate) pieces: Vec<Piece>,
}

/// A model behind an HTTP API. Requests that `check` refuses stay away from the model.
pub(crate) struct ModelServer {
    server: HttpFake,
    requests: Arc<Mutex<Vec<Value>>>,
    refusals: Arc<Mutex<Vec<String>>>,
}

impl fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServer").field("address", &self.server.address()).finish()
    }
}

impl ModelServer {
    pub(crate) async fn start(
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
        events: fn(&Spoken) -> Vec<String>,
        check: impl Fn(&HttpRequest) -> Result<Value, ModelRefusal> + Send + Sync + 'static,
    ) -> Self {
        Self::start_on(Wire { media_type: EVENTS, events }, answer, no_list, check).await
    }

    /// Starts like [`Self::start`], with another streaming format. `beside` answers requests that
    /// are not for the model.
    pub(crate) async fn start_on(
        wire: Wire,
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
        beside: impl Fn(&HttpRequest) -> Option<Vec<Piece>> + Send + Sync + 'static,
        check: impl Fn(&HttpRequest) -> Result<Value, ModelRefusal> + Send + Sync + 'static,
    ) -> Self {
        let kept = Arc::<Mutex<Vec<Value>>>::default();
        let requests = kept.clone();
        let keep_and_answer = move |body: &Value| {
            kept.lock().unwrap().push(body.clone());
            answer(body)
        };
        Self { requests, ..Self::serve(wire, keep_and_answer, beside, check).await }
    }

    /// Starts like [`Self::start`], without recording the requests.
    pub(crate) async fn start_forgetful(
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
        events: fn(&Spoken) -> Vec<String>,
        check: impl Fn(&HttpRequest) -> Result<Value, ModelRefusal> + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Wire { media_type: EVENTS, events }, answer, no_list, check).await
    }

    async fn serve(
        wire: Wire,
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
        beside: impl Fn(&HttpRequest) -> Option<Vec<Piece>> + Send + Sync + 'static,
        check: impl Fn(&HttpRequest) -> Result<Value, ModelRefusal> + Send + Sync + 'static,
    ) -> Self {
        let (requests, refusals) = <(Arc<Mutex<Vec<Value>>>, Arc<Mutex<Vec<String>>>)>::default();
        let refused = refusals.clone();
        let server = HttpFake::start(move |request| {
            if let Some(pieces) = beside(&request) {
                return pieces;
            }
            match check(&request) {
                Ok(body) => pieces(answer(&body), wire),
                Err(refusal) => {
                    refused.lock().unwrap().push(refusal.message);
                    refusal.pieces
                }
            }
        })
        .await;
        Self { server, requests, refusals }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap().clone()
    }
}

/// Answers a request for the list of models with 404, which does not count as a refusal.
fn no_list(request: &HttpRequest) -> Option<Vec<Piece>> {
    let lists = request.method == "GET" && request.path.ends_with("/models");
    lists.then(|| whole(404, &[], ""))
}
