//! The shell of all model API fakes: it listens, records requests and refusals, and streams the
//! answers. An API adds its wire format and its checks.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::answer::{ModelAnswer, Spoken, Wire, pieces};
use crate::http::{HttpFake, HttpRequest, Piece, whole};
use crate::request_log::{FakeRefusal, RequestLog};

/// The API that a [`ModelFake`] speaks.
pub trait ModelApi: fmt::Debug + Send + Sync + 'static {
    /// The path of `base_url`.
    const BASE_PATH: &'static str = "";
    /// The media type of a streamed answer.
    const MEDIA_TYPE: &'static str = "text/event-stream";
    /// A refusal in the words of the real API.
    type Refusal: Into<FakeRefusal>;

    /// Checks a request as the real API does, and returns the body that reaches the model.
    fn check(&self, request: &HttpRequest) -> Result<Value, Self::Refusal>;

    /// Answers a request that is not for the model. By default there is no list of models.
    fn aside(&self, request: &HttpRequest) -> Option<Vec<Piece>> {
        lists_models(request).then(|| whole(404, &[], ""))
    }

    /// Changes an answer as its request demands.
    fn adapt(&self, _request: &Value, answer: ModelAnswer) -> ModelAnswer {
        answer
    }

    /// Returns the events of a streamed answer.
    fn events(spoken: &Spoken) -> Vec<String>;
}

/// A model behind an HTTP API on loopback. Requests that the API refuses stay away from the model.
pub struct ModelFake<A> {
    pub(crate) api: Arc<A>,
    server: HttpFake,
    log: RequestLog<Value>,
}

impl<A: fmt::Debug> fmt::Debug for ModelFake<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.server.address();
        f.debug_struct("ModelFake").field("api", &self.api).field("address", &address).finish()
    }
}

impl<A: ModelApi + Default> ModelFake<A> {
    /// Starts a server. `answer` is called for each request that the API accepts.
    pub async fn start(answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static) -> Self {
        Self::start_with(A::default(), RequestLog::default(), answer).await
    }
}

impl<A: ModelApi> ModelFake<A> {
    pub(crate) async fn start_with(
        api: A,
        log: RequestLog<Value>,
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let wire = Wire { media_type: A::MEDIA_TYPE, events: A::events };
        let api = Arc::new(api);
        let (served, kept) = (api.clone(), log.clone());
        let server = HttpFake::start(move |request| {
            served.aside(&request).unwrap_or_else(|| {
                let checked = served.check(&request).map_err(Into::into);
                kept.answer(checked, |body| pieces(served.adapt(body, answer(body)), wire))
            })
        })
        .await;
        Self { api, server, log }
    }

    /// Returns the value for `base_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}{}", self.server.address(), A::BASE_PATH)
    }

    /// Returns the bodies of the requests that reached the model.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.log.accepted()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.log.refusals()
    }
}

/// Returns `true` for a request for the list of models.
pub(crate) fn lists_models(request: &HttpRequest) -> bool {
    request.method == "GET" && request.path.ends_with("/models")
}

/// Returns the texts of the results at the end of a list, in order. `result` returns `None` for an
/// item that is no result.
pub(crate) fn results_at_end<'v>(
    list: &'v Value,
    result: impl Fn(&'v Value) -> Option<&'v Value>,
) -> Vec<&'v str> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    let results = items.iter().rev().map_while(result);
    let mut texts: Vec<&str> = results.map(|result| result.as_str().unwrap()).collect();
    texts.reverse();
    texts
}

/// Returns a field of an object that is none of these.
pub(crate) fn unknown_field<'v>(object: &'v Value, known: &[&str]) -> Option<&'v str> {
    let mut keys = object.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    keys.find(|key| !known.contains(key))
}
