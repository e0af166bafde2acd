//! Test helper: models with small windows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use avocet_protocol::model::{Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest};
use avocet_testkit::{Scripted, ScriptedModel};

use crate::harness::AgentHarness;

pub(crate) const WINDOW: u64 = 8192;

pub(crate) fn facts(context: u64) -> ModelFacts {
    ModelFacts { context: Some(context), ..ModelFacts::default() }
}

/// A model with a window of `context` tokens, which refuses longer requests as providers do.
pub(crate) fn with_window(
    context: u64,
    answer: impl Fn(&ModelRequest) -> Scripted + Send + Sync + 'static,
) -> Arc<ScriptedModel> {
    let model = ScriptedModel::answering(move |request| {
        let tokens = request.estimated_tokens();
        assert!(tokens <= context, "{tokens} tokens");
        answer(request)
    });
    Arc::new(model.with_facts(facts(context)))
}

pub(crate) fn texts(request: &ModelRequest) -> String {
    serde_json::to_string(&request.messages).unwrap()
}

/// A harness whose model has this window, and whose cheap model gives these answers.
pub(crate) async fn small(
    answer: impl Fn(&ModelRequest) -> Scripted + Send + Sync + 'static,
    cheap: impl Fn(&ModelRequest) -> Scripted + Send + Sync + 'static,
) -> (AgentHarness, Arc<ScriptedModel>, Arc<ScriptedModel>) {
    let mut harness = AgentHarness::new(Vec::new()).await;
    let (model, cheap) = (with_window(WINDOW, answer), with_window(WINDOW, cheap));
    harness.agent.models.main = model.clone();
    harness.agent.models.cheap = cheap.clone();
    (harness, model, cheap)
}

pub(crate) fn refusal() -> Scripted {
    let (model, detail) = ("test/scripted".to_owned(), "503".to_owned());
    Scripted::Error(ModelError::Unreachable { model, detail: detail.into() })
}

/// A model that refuses requests above so many tokens, without having announced the limit. If it
/// stands for a chain, the window of the answering model is known.
#[derive(Debug)]
pub(crate) struct NarrowModel {
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) takes: u64,
    pub(crate) is_chain: bool,
    pub(crate) refused: AtomicU32,
}

#[async_trait::async_trait]
impl Model for NarrowModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        if request.estimated_tokens() > self.takes {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let (model, detail) = ("b/narrow".to_owned(), "too many tokens".to_owned());
            let window = self.is_chain.then_some(self.takes);
            return Err(ModelError::TooLong { model, detail: detail.into(), window });
        }
        self.model.complete(request, deltas).await
    }
}
