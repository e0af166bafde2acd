//! Requests to a provider: the list of its models, and the facts about one.

use std::time::Duration;

use avocet_llm::{Catalogue, ConfiguredModel, Facts, OfferedModel, Probe};
use avocet_protocol::{Check, ModelError, within};

use super::InitRun;
use super::additions::{AddedProvider, Additions};
use crate::checkup::providers::of_model;
use crate::exit::Failure;
use crate::registry;

/// The timeout of the list of models.
const LIMIT: Duration = Duration::from_secs(30);

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
        let catalogue = Catalogue::default();
        match within(clock.as_ref(), LIMIT, model.offered(&catalogue)).await {
            Ok(listed) => listed.map_err(NoList::from),
            Err(_) => Err(NoList::Failed(format!("no answer within {} s", LIMIT.as_secs()))),
        }
    }

    /// Returns what the model lacks for an agent, and what is untested, each in a sentence.
    pub(super) async fn model_hints(&self, provider: &AddedProvider, model: &str) -> Vec<String> {
        let additions = Additions { provider: Some(provider.clone()), ..self.additions.clone() };
        let Ok((document, _)) = self.candidate(&additions) else { return Vec::new() };
        let (clock, facts) = (&self.context.clock, Facts::default());
        let made = registry::model(&document, &provider.name, model, facts, clock.clone());
        let Ok(ConfiguredModel::Served(served)) = made else { return Vec::new() };
        let (known, probed) = tokio::join!(
            within(clock.as_ref(), LIMIT, served.known()),
            within(clock.as_ref(), LIMIT, served.probe()),
        );
        let table = format!("providers.{}", provider.name);
        let lacks = known.ok().and_then(|known| of_model(model, &table, &known));
        let lacks =
            lacks.map(|Check { says, fix, .. }| format!("{says}; {}", fix.unwrap_or_default()));
        let is_untested =
            provider.api_key.is_some() && matches!(probed, Ok(Ok(Probe::KeyUnchecked)));
        let untested = "the list of models is public, so the first message will show whether the key \
                        is good";
        lacks.into_iter().chain(is_untested.then(|| untested.to_owned())).collect()
    }
}

impl From<ModelError> for NoList {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Unauthorized { detail, .. } => Self::Key(detail),
            ModelError::Refused { detail, .. } if detail.ends_with("no list of models") => {
                Self::Missing
            }
            ModelError::Unreachable { detail, .. } => {
                Self::Failed(format!("{detail}; check the network"))
            }
            ModelError::Refused { detail, .. }
            | ModelError::Busy { detail, .. }
            | ModelError::TimedOut { detail, .. }
            | ModelError::BadAnswer { detail, .. }
            | ModelError::TooLong { detail, .. } => Self::Failed(detail),
        }
    }
}
