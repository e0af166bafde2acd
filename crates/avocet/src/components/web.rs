//! The web for the agents' tools: the guarded client, which knows this host, the search engine, and
//! the hosts that the configuration names.

use std::sync::Arc;

use avocet_config::ConfigError;
use avocet_net::{FetchLimits, GuardedClient, InterfaceAddresses, Url};
use avocet_protocol::clock::Clock;
use avocet_tools::{SearchEngine, WebAccess};

use crate::configuration::Configuration;
use crate::registry::{WEB_SEARCH, open_hosts, web_search};

/// Makes the access to the web, one for all agents.
pub(crate) fn make_web(
    configuration: &Configuration,
    clock: &Arc<dyn Clock>,
    otherwise: fn(GuardedClient) -> GuardedClient,
) -> Result<Arc<WebAccess>, ConfigError> {
    let own = Arc::new(InterfaceAddresses::default());
    let client = otherwise(GuardedClient::new(own, clock.clone(), FetchLimits::default()));
    let document = &configuration.document;
    let search = web_search(document, &configuration.settings)?
        .map(|config| SearchEngine::new(&config, &client, clock.clone()))
        .transpose()
        .map_err(|error| document.error_at(WEB_SEARCH, error.to_string()))?;
    Ok(Arc::new(WebAccess::new(client, search, clock.clone())))
}

/// Returns the hosts that the configuration names: the search engine, the hosts open to programs,
/// and the providers' servers. The agent may connect to them after it has read untrusted text.
pub(crate) fn named_hosts(configuration: &Configuration) -> Result<Arc<[String]>, ConfigError> {
    let Configuration { document, settings, .. } = configuration;
    let search = web_search(document, settings)?;
    let engine = search.as_ref().and_then(|config| config.engine_url());
    let servers = settings
        .providers
        .keys()
        .filter_map(|provider| document.get(&format!("providers.{provider}.base_url"))?.as_str());
    let hosts = engine.into_iter().chain(servers).filter_map(|url| {
        let url = Url::parse(url).ok()?;
        Some(url.host_str()?.trim_end_matches('.').to_owned())
    });
    Ok(hosts.chain(open_hosts(document, settings)?.host_names()).collect())
}
