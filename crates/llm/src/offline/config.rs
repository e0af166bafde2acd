//! The configuration of the offline provider.

use std::sync::Arc;

use avocet_net::NetError;
use avocet_protocol::clock::Clock;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OfflineModel;
use crate::{ConfiguredModel, ProviderConfig, SourcedFacts};

/// A provider of kind `offline`: the embedded model. It has no settings.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfflineConfig {}

impl ProviderConfig for OfflineConfig {
    const KIND: &'static str = "offline";

    fn check_config(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }

    fn create_model(
        self,
        _provider: &str,
        _model: &str,
        _facts: SourcedFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError> {
        Ok(ConfiguredModel::Embedded(Arc::new(OfflineModel::new(clock))))
    }
}
