//! The web for the agents' tools: the guarded client, which knows this host, and the search engine.

use std::sync::Arc;

use avocet_config::ConfigError;
use avocet_net::{GuardedClient, Interfaces, Limits};
use avocet_protocol::Clock;
use avocet_tools::{Search, Web};

use crate::places::Configuration;
use crate::registry::{WEB_SEARCH, web_search};

/// The way to the web, one for all agents.
pub(crate) fn web(
    configuration: &Configuration,
    clock: &Arc<dyn Clock>,
    otherwise: fn(GuardedClient) -> GuardedClient,
) -> Result<Arc<Web>, ConfigError> {
    let own = Arc::new(Interfaces::default());
    let client = otherwise(GuardedClient::new(own, clock.clone(), Limits::default()));
    let document = &configuration.document;
    let search = web_search(document, &configuration.settings)?
        .map(|config| Search::new(&config, &client, clock.clone()))
        .transpose()
        .map_err(|error| document.error_at(WEB_SEARCH, error.to_string()))?;
    Ok(Arc::new(Web::new(client, search, clock.clone())))
}
