//! Requests to a provider: the list of its models, and the facts about one.

use std::sync::Arc;
use std::time::Duration;

use avocet_llm::{
    ConfiguredModel, KnownModel, ModelCatalogue, ModelListError, OfferedModel, ProbeResult,
    SourcedFacts,
};
use avocet_protocol::clock::within;
use avocet_protocol::daemon::Check;
use avocet_protocol::model::{Message, Model as _, ModelError, ModelRequest, Retries};

use super::InitRun;
use super::additions::{AddedProvider, Additions};
use crate::components::checkup::providers::of_model;
use crate::exit::Failure;
use crate::registry;

/// The timeout of the list of models.
const LIMIT: Duration = Duration::from_secs(30);
/// The timeout of a short answer. A server of one's own may have to load the model first.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const OWN_ANSWER_LIMIT: Duration = Duration::from_secs(180);

/// The most tokens of the answer to a test, without thoughts. OpenAI's Responses API takes no smaller
/// limit.
const TEST_TOKENS: u64 = 16;

/// The result of a short request to a model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ModelTest {
    Passed,
    /// The reason why the request says nothing about the model.
    Unknown(String),
    /// The key is wrong. The text is that of the provider.
    Key(String),
    /// The provider refuses the model. The text is its own.
    Refused(String),
}

/// The reason why there is no list of models.
#[derive(Debug)]
pub(super) enum NoList {
    /// The key is wrong. The text is that of the provider.
    Key(String),
    /// The server has no list, but may work.
    Missing,
    /// The server is unreachable, or refuses the request.
    Failed(String),
}

impl InitRun<'_> {
    /// Asks a provider for its models.
    pub(super) async fn offered(
        &self,
        provider: &AddedProvider,
    ) -> Result<Vec<OfferedModel>, NoList> {
        let failed = |failure: Failure| NoList::Failed(format!("{:#}", failure.error));
        let additions = Additions { provider: Some(provider.clone()), ..self.additions.clone() };
        let (document, _) = self.candidate(&additions).map_err(failed)?;
        let clock = &self.context.clock;
        let made = registry::unnamed_model(&document, &provider.name, clock.clone());
        let model = match made.map_err(|error| NoList::Failed(error.message))? {
            ConfiguredModel::Served(model) => model,
            ConfiguredModel::Embedded(_) => return Ok(Vec::new()),
        };
        let catalogue = ModelCatalogue::default();
        match within(clock.as_ref(), LIMIT, model.list_models(&catalogue)).await {
            Ok(listed) => listed.map_err(NoList::from),
            Err(_) => Err(NoList::Failed(format!("no answer within {} s", LIMIT.as_secs()))),
        }
    }

    /// Makes a model of a provider that is not in the file yet.
    fn serve_model(
        &self,
        provider: &AddedProvider,
        model: &str,
        facts: SourcedFacts,
    ) -> Option<Arc<KnownModel>> {
        let additions = Additions { provider: Some(provider.clone()), ..self.additions.clone() };
        let (document, _) = self.candidate(&additions).ok()?;
        let clock = self.context.clock.clone();
        match registry::make_model(&document, &provider.name, model, facts, clock).ok()? {
            ConfiguredModel::Served(served) => Some(served),
            ConfiguredModel::Embedded(_) => None,
        }
    }

    /// Asks a model for a word. The answer costs a few tokens.
    pub(super) async fn test_model(&self, provider: &AddedProvider, model: &str) -> ModelTest {
        let facts = SourcedFacts { max_output: Some(TEST_TOKENS), ..SourcedFacts::default() };
        let Some(served) = self.serve_model(provider, model, facts) else {
            return ModelTest::Passed;
        };
        let mut request = ModelRequest {
            messages: vec![Message::user("Say ok")].into(),
            ..ModelRequest::default()
        };
        request.options.retries = Retries::Few;
        let asked = served.complete(&request, &|_| {});
        let limit = if provider.api_key.is_some() { ANSWER_LIMIT } else { OWN_ANSWER_LIMIT };
        match within(self.context.clock.as_ref(), limit, asked).await {
            Ok(Ok(_)) => ModelTest::Passed,
            // Only the key of a public list is not known to be good.
            Ok(Err(ModelError::Unauthorized { detail, .. })) => match served.probe_model().await {
                Ok(ProbeResult::KeyUnchecked) => ModelTest::Key(detail.to_string()),
                _ => ModelTest::Refused(detail.to_string()),
            },
            Ok(Err(error)) => ModelTest::from(error),
            Err(_) => ModelTest::Unknown(format!("no answer within {} s", limit.as_secs())),
        }
    }

    /// Returns what the model lacks for an agent, and what is untested, each in a sentence.
    pub(super) async fn model_hints(
        &self,
        provider: &AddedProvider,
        model: &str,
        is_tested: bool,
    ) -> Vec<String> {
        let served = self.serve_model(provider, model, SourcedFacts::default());
        let (Some(served), clock) = (served, &self.context.clock) else { return Vec::new() };
        let (known, probed) = tokio::join!(
            within(clock.as_ref(), LIMIT, served.known_facts()),
            within(clock.as_ref(), LIMIT, served.probe_model()),
        );
        let table = format!("providers.{}", provider.name);
        let lacks = known.ok().and_then(|known| of_model(model, &table, &known));
        let lacks =
            lacks.map(|Check { says, fix, .. }| format!("{says}; {}", fix.unwrap_or_default()));
        let is_untested = !is_tested
            && provider.api_key.is_some()
            && matches!(probed, Ok(Ok(ProbeResult::KeyUnchecked)));
        let untested = "the list of models is public, so the key is untested; to test it: avocet ask \
                        me hello --wait";
        lacks.into_iter().chain(is_untested.then(|| untested.to_owned())).collect()
    }
}

impl From<ModelError> for ModelTest {
    fn from(error: ModelError) -> Self {
        match error {
            // A model that thinks may need more tokens than the test allows.
            ModelError::Refused { detail, .. } if detail.text.contains("output limit") => {
                Self::Passed
            }
            ModelError::Unauthorized { detail, .. } | ModelError::Refused { detail, .. } => {
                Self::Refused(detail.to_string())
            }
            // The model has answered.
            ModelError::TooLong { .. } | ModelError::BadAnswer { .. } => Self::Passed,
            ModelError::Busy { detail, .. }
            | ModelError::TimedOut { detail, .. }
            | ModelError::Unreachable { detail, .. } => Self::Unknown(detail.to_string()),
        }
    }
}

impl From<ModelListError> for NoList {
    fn from(error: ModelListError) -> Self {
        let error = match error {
            ModelListError::Missing { .. } => return Self::Missing,
            ModelListError::Failed(error) => error,
        };
        match error {
            ModelError::Unauthorized { detail, .. } => Self::Key(detail.to_string()),
            ModelError::Unreachable { detail, .. } => {
                Self::Failed(format!("{detail}; check the network"))
            }
            ModelError::Refused { detail, .. }
            | ModelError::Busy { detail, .. }
            | ModelError::TimedOut { detail, .. }
            | ModelError::BadAnswer { detail, .. }
            | ModelError::TooLong { detail, .. } => Self::Failed(detail.to_string()),
        }
    }
}
