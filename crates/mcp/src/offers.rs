//! The resources and prompts that a server offers, for a person who tests it.

use avocet_protocol::clock::within;
use avocet_protocol::tool::McpError;
use rmcp::model::PaginatedRequestParams;
use rmcp::service::ServiceError;
use serde::Serialize;

use crate::McpClient;
use crate::errors::describe_request;
use crate::link::START_LIMIT;

/// The first page of a server's resources and prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct McpOffers {
    /// The URIs of its resources.
    pub resources: Vec<String>,
    /// The names of its prompts.
    pub prompts: Vec<String>,
}

impl McpClient {
    /// Asks a server for its resources and prompts, and starts it if necessary.
    ///
    /// # Errors
    /// [`McpError`], if the server is unknown or fails.
    pub async fn ask_offers(&self, server: &str) -> Result<McpOffers, McpError> {
        let found = self.find_server(server)?;
        let failed = |why: String| McpError::Failed { server: server.to_owned(), why };
        let link = found.open_link().await.map_err(failed)?;
        let (peer, info) = (link.client_peer(), link.client_peer().peer_info());
        let capabilities = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
        let page = || Some(PaginatedRequestParams::default());
        let read = async {
            let mut offers = McpOffers::default();
            if capabilities.resources.is_some() {
                let list = peer.list_resources(page()).await?;
                let uris = list.resources.into_iter().map(|resource| resource.uri);
                offers.resources = uris.collect();
            }
            if capabilities.prompts.is_some() {
                let list = peer.list_prompts(page()).await?;
                let names = list.prompts.into_iter().map(|prompt| prompt.name);
                offers.prompts = names.collect();
            }
            Ok::<_, ServiceError>(offers)
        };
        match within(found.clock.as_ref(), START_LIMIT, read).await {
            Ok(offers) => offers.map_err(|error| failed(describe_request(&error))),
            Err(_) => {
                let limit = START_LIMIT.as_secs();
                Err(failed(format!("it did not list its resources and prompts in {limit} s")))
            }
        }
    }
}
