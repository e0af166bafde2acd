//! The configuration of the offline provider.

use std::sync::Arc;

use avocet_net::NetError;
use avocet_protocol::Clock;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Offline;
use crate::{ConfiguredModel, Facts, ProviderConfig};

/// A provider of kind `offline`: the embedded model. It has no settings.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfflineConfig {}

impl ProviderConfig for OfflineConfig {
    const KIND: &'static str = "offline";

    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }

    fn model(
        self,
        _provider: &str,
        _model: &str,
        _facts: Facts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError> {
        Ok(ConfiguredModel::Embedded(Arc::new(Offline::new(clock))))
    }
}
