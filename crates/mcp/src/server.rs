//! One server: its connection, its state, and the calls of its tools.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ignore_result;
use avocet_protocol::tool::{McpState, ToolContext, ToolError};
use avocet_supervise::{Backoff, Group, RepeatedLines};
use avocet_text::Redactor;
use parking_lot::Mutex;
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};

use crate::McpServerConfig;
use crate::ask::{AskError, send_call};
use crate::calls::RunningCalls;
use crate::errors::describe_request;
use crate::files::ResultFiles;
use crate::handler::ServerRequestHandler;
use crate::http::LoginRefusal;
use crate::link::{START_LIMIT, ServerEndpoint, ServerLink};
use crate::list::ToolList;
use crate::memory::{KnownServer, ListedTool, ServerMemory};
use crate::names::registry_name;
use crate::services::McpServices;
use crate::tools_version::ToolsVersion;
use crate::wait::CallWait;

/// The reason for a server without an endpoint.
pub(crate) const NO_ENDPOINT: &str = "its table has neither a command nor a URL";

/// The pauses between the starts of a server that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// The shortest time between two readings of a list that the server reports as changed.
const LIST_PAUSE: Duration = Duration::from_secs(5);
/// A server that lived so long starts again after the first pause.
const HEALTHY: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct ConfiguredServer {
    pub(crate) name: Arc<str>,
    pub(crate) config: McpServerConfig,
    /// `None` if its table has neither a command nor a URL.
    pub(crate) endpoint: Option<ServerEndpoint>,
    pub(crate) roots: Arc<[PathBuf]>,
    /// Removes secrets from its texts.
    pub(crate) secrets: Option<Redactor>,
    pub(crate) warning: Option<String>,
    pub(crate) memory: Arc<ServerMemory>,
    pub(crate) version: ToolsVersion,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) group: Group,
    pub(crate) repeats: Arc<RepeatedLines>,
    pub(crate) life: tokio::sync::Mutex<ServerLife>,
    pub(crate) state: Mutex<(McpState, Option<String>)>,
    /// Set with the start of the daemon.
    pub(crate) services: Arc<OnceLock<McpServices>>,
}

/// The connection, and the times of its starts.
#[derive(Debug)]
pub(crate) struct ServerLife {
    link: Option<Arc<ServerLink>>,
    backoff: Backoff,
    /// The earliest time of the next start.
    retry_at: Duration,
    started_at: Duration,
}

impl Default for ServerLife {
    fn default() -> Self {
        let backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        Self { link: None, backoff, retry_at: Duration::ZERO, started_at: Duration::ZERO }
    }
}

impl ConfiguredServer {
    /// Returns the state, and the reason of a failure.
    pub(crate) fn current_state(&self) -> (McpState, Option<String>) {
        self.state.lock().clone()
    }

    fn set_state(&self, state: McpState, why: Option<String>) {
        *self.state.lock() = (state, why);
    }

    pub(crate) fn known_server(&self) -> KnownServer {
        self.memory.get(&self.name)
    }

    /// Starts the server with the daemon: to stay, or once to learn its tools.
    pub(crate) fn begin_with_daemon(self: &Arc<Self>) {
        if self.endpoint.is_none() || (self.config.lazy && self.known_server().software.is_some()) {
            return;
        }
        let this = self.clone();
        self.group.spawn(&format!("first start of MCP server {}", self.name), async move {
            if this.open_link().await.is_ok() && this.config.lazy {
                this.stop().await;
            }
        });
    }

    /// Ends the server, whose table has changed or is gone. Its calls fail.
    pub(crate) fn end_server(&self) {
        self.group.cancel_tasks();
    }

    /// Reads the tools again, and starts the server for that if necessary.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) async fn refresh_tools(self: &Arc<Self>) -> Result<(), String> {
        // A person asks, so there is no pause.
        self.life.lock().await.retry_at = Duration::ZERO;
        let link = self.open_link().await?;
        self.learn_tools(&link).await
    }

    /// Connects once, without a restart after a failure, so that the server states its requirements.
    pub(crate) async fn connect_once(&self) {
        if let Some(endpoint) = &self.endpoint {
            let opened = self.open(endpoint, Arc::default()).await;
            ignore_result(opened, "a failed attempt shows the requirements, too");
        }
    }

    async fn stop(&self) {
        let mut life = self.life.lock().await;
        life.link = None;
        self.set_state(McpState::Stopped, None);
    }

    /// Returns the connection, and opens it if necessary.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) async fn open_link(self: &Arc<Self>) -> Result<Arc<ServerLink>, String> {
        let (this, (sender, opened)) = (self.clone(), oneshot::channel());
        self.group.spawn(&format!("start of MCP server {}", self.name), async move {
            let opened = this.connect_now().await;
            ignore_result(sender.send(opened), "a start goes on if its caller stops waiting");
        });
        opened.await.unwrap_or_else(|_| Err("the server or the daemon is stopping".to_owned()))
    }

    async fn connect_now(self: Arc<Self>) -> Result<Arc<ServerLink>, String> {
        let mut life = self.life.lock().await;
        if let Some(link) = &life.link
            && !link.is_closed()
        {
            return Ok(link.clone());
        }
        let Some(endpoint) = &self.endpoint else { return Err(NO_ENDPOINT.to_owned()) };
        let now = self.clock.elapsed();
        if now < life.retry_at {
            let pause = (life.retry_at - now).as_secs() + 1;
            let why = self.current_state().1.unwrap_or_default();
            return Err(format!("{why}; it can be started again in {pause} s"));
        }
        self.set_state(McpState::Starting, None);
        let list_changed = Arc::new(Notify::new());
        match self.open(endpoint, list_changed.clone()).await {
            Ok(link) => {
                let link = Arc::new(link);
                (life.link, life.started_at) = (Some(link.clone()), self.clock.elapsed());
                self.set_state(McpState::Ready, None);
                drop(life);
                self.watch_link(&link, list_changed);
                Ok(link)
            }
            Err(why) => {
                self.note_failure(&mut life, &why);
                Err(why)
            }
        }
    }

    async fn open(
        &self,
        endpoint: &ServerEndpoint,
        list_changed: Arc<Notify>,
    ) -> Result<ServerLink, String> {
        let handler = ServerRequestHandler {
            server: self.name.clone(),
            list_changed,
            progress: Arc::new(Notify::new()),
            roots: self.roots.clone(),
            sampling: self.config.sampling,
            services: self.services.get().cloned().unwrap_or_default(),
            calls: Arc::new(RunningCalls::default()),
            repeats: self.repeats.clone(),
            clock: self.clock.clone(),
        };
        let opened = async {
            let limit = self.start_limit();
            let link = ServerLink::open(endpoint, handler, limit, &self.clock, &self.group).await?;
            self.learn_tools(&link).await?;
            Ok(link)
        };
        opened.await.map_err(|why| endpoint.last_refusal().unwrap_or(why))
    }

    /// The time for the first answers of the server: that of a call, up to a limit.
    fn start_limit(&self) -> Duration {
        self.config.time_limit().min(START_LIMIT)
    }

    /// Reads the list of tools.
    async fn learn_tools(&self, link: &ServerLink) -> Result<(), String> {
        let read = ToolList::read(link.client_peer(), &self.config.tools);
        let list = match within(self.clock.as_ref(), self.start_limit(), read).await {
            Ok(Ok(list)) => list,
            Ok(Err(error @ ServiceError::TransportClosed)) => {
                return Err(link.end_reason(&self.clock, &self.text_of(&error)).await);
            }
            Ok(Err(error)) => return Err(self.text_of(&error)),
            Err(_) => {
                return Err(format!(
                    "it did not list its tools within {} s",
                    self.start_limit().as_secs()
                ));
            }
        };
        let (software, remarks) = (link.software_name(), link.server_remarks());
        self.change_known(|known| {
            known.software = Some(software);
            known.tools = list.tools;
            known.left_out = [remarks, list.left_out].concat();
            known.keep_forms();
            known.approve_first_list(self.config.trusted);
        });
        self.warn_of_changes();
        Ok(())
    }

    /// Changes what is known of the server. The registry reads its tools again if that makes a
    /// difference.
    pub(crate) fn change_known(&self, change: impl FnOnce(&mut KnownServer)) {
        let changed = self.memory.change_server(&self.name, change).unwrap_or_else(|error| {
            tracing::warn!(
                server = &*self.name, %error,
                "cannot store the tools and approvals of an MCP server; they last until the restart"
            );
            true
        });
        if changed {
            self.version.increase_version();
        }
    }

    fn warn_of_changes(&self) {
        let known = self.known_server();
        let changed = known.tools.iter().filter(|tool| known.tool_state(tool).is_disabled());
        let names = changed.map(|tool| registry_name(&self.name, &tool.name)).collect::<Vec<_>>();
        if !names.is_empty() {
            self.warn_once(
                "changed",
                &format!(
                    "tools are new or changed, and are disabled: {}; `avocet mcp tools {}` shows \
                     the changes and the commands that approve them",
                    names.join(", "),
                    self.name
                ),
            );
        }
        for why in &known.left_out {
            self.warn_once(&format!("left out: {why}"), why);
        }
    }

    fn warn_once(&self, subject: &str, text: &str) {
        let subject = format!("{} {subject}", self.name);
        if let Some(repeated) = self.repeats.note_line(&subject, text, self.clock.elapsed()) {
            tracing::warn!(server = &*self.name, repeated, "MCP server: {text}");
        }
    }

    /// Follows a connection: reads the tools again when the server says so, and notes its end.
    fn watch_link(self: &Arc<Self>, link: &Arc<ServerLink>, list_changed: Arc<Notify>) {
        let (this, stopping, mut ended) =
            (self.clone(), self.group.cancel_token(), link.wait_for_end());
        // The connection closes when its last user drops it.
        let link = Arc::downgrade(link);
        self.group.spawn(&format!("watch of MCP server {}", self.name), async move {
            let mut not_before = Duration::ZERO;
            loop {
                // Several signals during a pause are one.
                let changed = async {
                    list_changed.notified().await;
                    this.clock.sleep(not_before.saturating_sub(this.clock.elapsed())).await;
                };
                tokio::select! {
                    () = stopping.cancelled() => return,
                    why = &mut ended => return this.note_end(&link, &why).await,
                    () = changed => {
                        let Some(link) = link.upgrade() else { return };
                        not_before = this.clock.elapsed() + LIST_PAUSE;
                        if let Err(why) = this.learn_tools(&link).await {
                            let text = format!("cannot read its list of tools again: {why}");
                            this.warn_once("list", &text);
                        }
                    }
                }
            }
        });
    }

    async fn note_end(self: &Arc<Self>, link: &Weak<ServerLink>, why: &str) {
        let mut life = self.life.lock().await;
        if life.link.as_ref().is_some_and(|now| Weak::ptr_eq(&Arc::downgrade(now), link)) {
            self.note_failure(&mut life, why);
        }
    }

    /// Notes a failure, and schedules a restart unless the server is lazy and its tools are known.
    fn note_failure(self: &Arc<Self>, life: &mut ServerLife, why: &str) {
        let now = self.clock.elapsed();
        if life.link.take().is_some() && now.saturating_sub(life.started_at) >= HEALTHY {
            life.backoff.reset_delay();
        }
        let pause = life.backoff.next_wait();
        // A call after a login succeeds at once.
        life.retry_at = if self.last_refusal().is_some() { now } else { now + pause };
        self.set_state(McpState::Failed, Some(why.to_owned()));
        if self.group.cancel_token().is_cancelled() {
            return;
        }
        self.warn_once("failed", &format!("it failed: {why}"));
        if self.config.lazy && self.known_server().software.is_some() {
            return;
        }
        let (this, stopping) = (self.clone(), self.group.cancel_token());
        self.group.spawn(&format!("restart of MCP server {}", self.name), async move {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = this.clock.sleep(pause) => {}
            }
            let started = this.open_link().await;
            if started.is_ok() && this.config.lazy {
                this.stop().await;
            }
        });
    }

    pub(crate) async fn call_tool(
        self: &Arc<Self>,
        listed: &ListedTool,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let name = &self.name;
        let failed =
            |why: &str| ToolError::ExecutionFailed(format!("the MCP server {name} failed: {why}"));
        let link = self.open_link().await.map_err(|why| failed(&why))?;
        self.pin_tool(listed)?;
        let limit = self.config.time_limit();
        let handler = link.service.service();
        let tool = registry_name(name, &listed.name);
        let entered = handler.calls.enter_call(context, tool);
        let workspaces = handler.services.workspaces.as_deref();
        let (call, read) = (context.call, &context.read);
        let files = workspaces.map(|workspaces| ResultFiles { workspaces, call, read });
        let wait = CallWait {
            clock: self.clock.as_ref(),
            limit,
            progress: &handler.progress,
            call: &entered.call,
            turns: handler.services.turns.as_deref(),
        };
        match wait.wait_for_answer(send_call(link.client_peer(), listed, arguments, files)).await {
            // Dropping the request sends its cancellation.
            None => Err(ToolError::Timeout(limit.as_secs())),
            Some(Err(AskError::Service(error)))
                if let Some(refusal) = LoginRefusal::find_in_causes(&error) =>
            {
                let LoginRefusal { why, ends_link } = refusal;
                if ends_link {
                    self.note_end(&Arc::downgrade(&link), &why).await;
                }
                Err(failed(&why))
            }
            Some(Err(AskError::Service(
                error @ (ServiceError::TransportClosed | ServiceError::TransportSend(_)),
            ))) => {
                let why = link.end_reason(&self.clock, &self.text_of(&error)).await;
                self.note_end(&Arc::downgrade(&link), &why).await;
                Err(failed(&format!("{why}, during the call; its effect is unknown")))
            }
            Some(Err(AskError::Service(error))) => {
                Err(ToolError::ExecutionFailed(self.text_of(&error)))
            }
            Some(Err(AskError::Tool(ToolError::ExecutionFailed(text)))) => {
                Err(ToolError::ExecutionFailed(self.redact_secrets(&text)))
            }
            Some(Err(AskError::Tool(error))) => Err(error),
            Some(Ok(mut value)) => {
                if let Some(endpoint) = &self.endpoint {
                    endpoint.redact_value(&mut value);
                }
                if let Some(secrets) = &self.secrets {
                    secrets.redact_json(&mut value);
                }
                Ok(value)
            }
        }
    }

    /// Returns the reason why the server refused the last request, if it needs another token.
    fn last_refusal(&self) -> Option<String> {
        self.endpoint.as_ref().and_then(ServerEndpoint::last_refusal)
    }

    /// Describes an error of a request, without the secrets of our own requests.
    fn text_of(&self, error: &ServiceError) -> String {
        if let Some(refusal) = LoginRefusal::find_in_causes(error) {
            return refusal.why;
        }
        self.redact_secrets(&describe_request(error))
    }

    fn redact_secrets(&self, text: &str) -> String {
        let endpoint = self.endpoint.as_ref();
        let text =
            endpoint.map_or_else(|| text.to_owned(), |endpoint| endpoint.redact_secrets(text));
        match &self.secrets {
            Some(secrets) => secrets.redact(&text).into_owned(),
            None => text,
        }
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
