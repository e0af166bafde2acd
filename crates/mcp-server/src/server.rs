//! The handler of the protocol's requests.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use avocet_gateway::{AgentSummary, AttachParams, ListAgents, SocketMethod};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Clock;
use avocet_supervise::Group;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use crate::answers::ToolProblem;
use crate::catalogue;
use crate::client_session::client_session;
use crate::host::{McpCaller, McpHost, MethodError, SocketMethods};
use crate::resources::{self, protocol_error};
use crate::rights::ClientRights;
use crate::subscriptions::{ResourceSubscriptions, SubscriptionTasks};
use crate::tools::{self, ToolCallContext};

const INSTRUCTIONS: &str = "Avocet is an agent that runs for months on this machine: it talks to people on \
    Telegram, Discord and other channels, has a memory, and works on files. `ask` talks to it; each \
    other agent is a tool of its own. `sessions` and `history` show conversations, `send` delivers \
    a message to a person.";

/// The newest version of the protocol whose life cycle has sessions.
const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// The parts that all clients of a server share.
#[derive(Debug, Clone)]
pub struct McpServerParts {
    /// The transport's part.
    pub host: Arc<dyn McpHost>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The tasks of subscriptions.
    pub group: Group,
    /// The conversation of `ask`; `None` for one of each client.
    pub session: Option<SessionId>,
}

/// The server of one client.
pub struct McpServer {
    parts: McpServerParts,
    subscriptions: ResourceSubscriptions,
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl McpServer {
    /// Makes the server of one client.
    #[must_use]
    pub fn new(parts: McpServerParts) -> Self {
        Self { parts, subscriptions: ResourceSubscriptions::default() }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<McpCaller, ErrorData> {
        let caller = self.parts.host.caller(&context.extensions);
        caller.ok_or_else(|| ErrorData::invalid_request("the request has no client", None))
    }

    async fn rights(&self, methods: &dyn SocketMethods) -> Result<ClientRights, ErrorData> {
        ClientRights::fetch_rights(methods).await.map_err(|error| protocol_error(&error))
    }

    /// Returns the conversation of a client, and `true` if it belongs to the client alone.
    fn session(
        &self,
        caller: &McpCaller,
        context: &RequestContext<RoleServer>,
    ) -> Result<(SessionId, bool), ErrorData> {
        if let Some(session) = &self.parts.session {
            return Ok((session.clone(), false));
        }
        let name = match &caller.token_name {
            Some(name) => name.clone(),
            None => context.client_info().map(|client| client.name).unwrap_or_default(),
        };
        let session = client_session(&name);
        let session =
            session.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        Ok((session, true))
    }
}

/// Returns the profiles; none if the client may not give them tasks.
async fn profiles(
    methods: &dyn SocketMethods,
    rights: &ClientRights,
) -> Result<Vec<AgentSummary>, MethodError> {
    if !rights.allow(ListAgents::NAME) {
        return Ok(Vec::new());
    }
    let answer = methods.call::<ListAgents>(json!({})).await?;
    serde_json::from_value(answer)
        .map_err(|error| MethodError::Lost(format!("the list of agents cannot be read: {error}")))
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        let program = Implementation::new("avocet", env!("CARGO_PKG_VERSION")).with_title("Avocet");
        ServerConfig::new(capabilities)
            .with_server_info(program)
            .with_protocol_version(NEWEST)
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&NEWEST))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let McpCaller { methods, .. } = self.caller(&context)?;
        let rights = self.rights(methods.as_ref()).await?;
        let profiles = profiles(methods.as_ref(), &rights).await;
        let profiles = profiles.map_err(|error| protocol_error(&error))?;
        let tools = catalogue::list_tools(&rights, &profiles).into_iter().map(|(_, tool)| tool);
        Ok(ListToolsResult { tools: tools.collect(), ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let methods = caller.methods.as_ref();
        let ready = async {
            let rights = ClientRights::fetch_rights(methods).await?;
            let profiles = profiles(methods, &rights).await?;
            Ok::<_, MethodError>((rights, profiles))
        };
        let (rights, profiles) = match ready.await {
            Ok(ready) => ready,
            Err(error) => return Ok(ToolProblem::from(error).into_call_result().into()),
        };
        let (session, is_own) = self.session(&caller, &context)?;
        let name = request.name.clone();
        let call = ToolCallContext {
            caller: &caller,
            rights: &rights,
            context: &context,
            clock: self.parts.clock.as_ref(),
            session,
            is_own: is_own && rights.allow(AttachParams::NAME),
        };
        let answer = tools::call_tool(&call, &profiles, request).await;
        let answer = answer.ok_or_else(|| {
            let message = format!("this client has no tool {name:?}; tools/list shows its tools");
            ErrorData::invalid_params(message, None)
        })?;
        Ok(answer.into())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let McpCaller { methods, .. } = self.caller(&context)?;
        let rights = self.rights(methods.as_ref()).await?;
        resources::list_resources(methods.as_ref(), &rights, page).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let McpCaller { methods, .. } = self.caller(&context)?;
        let rights = self.rights(methods.as_ref()).await?;
        Ok(resources::list_templates(&rights))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let McpCaller { methods, .. } = self.caller(&context)?;
        resources::read(methods.as_ref(), &request.uri).await.map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let McpCaller { methods, .. } = self.caller(&context)?;
        let RequestContext { peer, .. } = context;
        let McpServerParts { group, clock, .. } = &self.parts;
        let tasks = SubscriptionTasks { group, clock };
        self.subscriptions.add_session(request.uri, methods, peer, tasks).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove_session(&request.uri);
        Ok(())
    }

    async fn on_initialized(&self, context: rmcp::service::NotificationContext<RoleServer>) {
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        tracing::debug!(client = client.unwrap_or_default(), "an MCP client has connected");
    }
}
