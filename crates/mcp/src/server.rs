//! One server: its connection, its state, and the calls of its tools.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use avocet_protocol::{Clock, McpState, McpToolState, Redactor, ToolContext, ToolError, within};
use avocet_supervise::{Backoff, Group, Repeats};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};

use crate::McpServerConfig;
use crate::ask::{AskError, ask};
use crate::calls::RunningCalls;
use crate::errors::describe_request;
use crate::files::ResultFiles;
use crate::handler::Handler;
use crate::http::LoginRefusal;
use crate::link::{Link, START_LIMIT, ServerEndpoint};
use crate::list::ToolList;
use crate::memory::{KnownServer, ListedTool, ServerMemory};
use crate::names::registry_name;
use crate::servers::{NO_ENDPOINT, Version};
use crate::services::McpServices;
use crate::wait::CallWait;

/// The pauses between the starts of a server that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// The shortest time between two readings of a list that the server reports as changed.
const LIST_PAUSE: Duration = Duration::from_secs(5);
/// A server that lived so long starts again after the first pause.
const HEALTHY: Duration = Duration::from_mins(1);

/// A server of the configuration.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: Arc<str>,
    pub(crate) config: McpServerConfig,
    /// `None` if its table has neither a command nor a URL.
    pub(crate) endpoint: Option<ServerEndpoint>,
    pub(crate) roots: Arc<[PathBuf]>,
    /// Removes secrets from its texts.
    pub(crate) secrets: Option<Redactor>,
    pub(crate) warning: Option<String>,
    pub(crate) memory: Arc<ServerMemory>,
    pub(crate) version: Version,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) group: Group,
    pub(crate) repeats: Arc<Repeats>,
    pub(crate) life: tokio::sync::Mutex<Life>,
    pub(crate) state: Mutex<(McpState, Option<String>)>,
    /// Set with the start of the daemon.
    pub(crate) services: Arc<OnceLock<McpServices>>,
}

/// The connection, and the times of its starts.
#[derive(Debug)]
pub(crate) struct Life {
    link: Option<Arc<Link>>,
    backoff: Backoff,
    /// The earliest time of the next start.
    retry_at: Duration,
    started_at: Duration,
}

impl Default for Life {
    fn default() -> Self {
        let backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        Self { link: None, backoff, retry_at: Duration::ZERO, started_at: Duration::ZERO }
    }
}

impl Server {
    /// Returns the state, and the reason of a failure.
    pub(crate) fn state(&self) -> (McpState, Option<String>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_state(&self, state: McpState, why: Option<String>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (state, why);
    }

    pub(crate) fn known(&self) -> KnownServer {
        self.memory.get(&self.name)
    }

    /// Starts the server with the daemon: to stay, or once to learn its tools.
    pub(crate) fn begin(self: &Arc<Self>) {
        if self.endpoint.is_none() || (self.config.lazy && self.known().software.is_some()) {
            return;
        }
        let this = self.clone();
        self.group.spawn(&format!("first start of MCP server {}", self.name), async move {
            if this.link().await.is_ok() && this.config.lazy {
                this.stop().await;
            }
        });
    }

    /// Ends the server, whose table has changed or is gone. Its calls fail.
    pub(crate) fn retire(&self) {
        self.group.cancel();
    }

    /// Reads the tools again, and starts the server for that if necessary.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) async fn refresh(self: &Arc<Self>) -> Result<(), String> {
        // A person asks, so there is no pause.
        self.life.lock().await.retry_at = Duration::ZERO;
        let link = self.link().await?;
        self.learn(&link).await
    }

    /// Connects once, without a restart after a failure, so that the server states its requirements.
    pub(crate) async fn probe(&self) {
        if let Some(endpoint) = &self.endpoint {
            drop(self.open(endpoint, Arc::default()).await);
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
    pub(crate) async fn link(self: &Arc<Self>) -> Result<Arc<Link>, String> {
        let (this, (sender, opened)) = (self.clone(), oneshot::channel());
        // A caller that stops waiting does not interrupt the start.
        self.group.spawn(&format!("start of MCP server {}", self.name), async move {
            drop(sender.send(this.connect().await));
        });
        opened.await.unwrap_or_else(|_| Err("the server or the daemon is stopping".to_owned()))
    }

    async fn connect(self: Arc<Self>) -> Result<Arc<Link>, String> {
        let mut life = self.life.lock().await;
        if let Some(link) = &life.link
            && !link.is_closed()
        {
            return Ok(link.clone());
        }
        let Some(endpoint) = &self.endpoint else {
            return Err(NO_ENDPOINT.to_owned());
        };
        let now = self.clock.elapsed();
        if now < life.retry_at {
            let pause = (life.retry_at - now).as_secs() + 1;
            let why = self.state().1.unwrap_or_default();
            return Err(format!("{why}; it can be started again in {pause} s"));
        }
        self.set_state(McpState::Starting, None);
        let list_changed = Arc::new(Notify::new());
        let opened = self.open(endpoint, list_changed.clone()).await;
        match opened {
            Ok(link) => {
                let link = Arc::new(link);
                (life.link, life.started_at) = (Some(link.clone()), self.clock.elapsed());
                self.set_state(McpState::Ready, None);
                drop(life);
                self.watch(&link, list_changed);
                Ok(link)
            }
            Err(why) => {
                self.fail(&mut life, &why);
                Err(why)
            }
        }
    }

    async fn open(
        &self,
        endpoint: &ServerEndpoint,
        list_changed: Arc<Notify>,
    ) -> Result<Link, String> {
        let handler = Handler {
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
            let link = Link::open(endpoint, handler, limit, &self.clock, &self.group).await?;
            self.learn(&link).await?;
            Ok(link)
        };
        opened.await.map_err(|why| endpoint.refusal().unwrap_or(why))
    }

    /// The time for the first answers of the server: that of a call, up to a limit.
    fn start_limit(&self) -> Duration {
        self.config.time_limit().min(START_LIMIT)
    }

    /// Reads the list of tools.
    async fn learn(&self, link: &Link) -> Result<(), String> {
        let read = ToolList::read(link.peer(), &self.config.tools);
        let list = match within(self.clock.as_ref(), self.start_limit(), read).await {
            Ok(Ok(list)) => list,
            Ok(Err(error @ ServiceError::TransportClosed)) => {
                return Err(link.reason(&self.clock, &self.text_of(&error)).await);
            }
            Ok(Err(error)) => return Err(self.text_of(&error)),
            Err(_) => {
                return Err(format!(
                    "it did not list its tools within {} s",
                    self.start_limit().as_secs()
                ));
            }
        };
        let (software, remarks) = (link.software(), link.remarks());
        self.change(|known| {
            known.software = Some(software);
            known.tools = list.tools;
            known.left_out = [remarks, list.left_out].concat();
            known.keep_forms();
        });
        self.warn_of_changes();
        Ok(())
    }

    /// Changes what is known of the server. The registry reads its tools again if that makes a
    /// difference.
    pub(crate) fn change(&self, change: impl FnOnce(&mut KnownServer)) {
        let changed = self.memory.change(&self.name, change).unwrap_or_else(|error| {
            tracing::warn!(
                server = &*self.name, %error,
                "cannot store the tools and approvals of an MCP server; they last until the restart"
            );
            true
        });
        if changed {
            self.version.increase();
        }
    }

    fn warn_of_changes(&self) {
        let known = self.known();
        let changed = known.tools.iter().filter(|tool| known.state(tool) == McpToolState::Changed);
        let names: Vec<String> =
            changed.map(|tool| registry_name(&self.name, &tool.name)).collect();
        if !names.is_empty() {
            self.warn(
                "changed",
                &format!(
                    "tools have changed since their approval, and are disabled: {}; `avocet mcp \
                     tools {}` shows the changes and the commands that approve them",
                    names.join(", "),
                    self.name
                ),
            );
        }
        for why in &known.left_out {
            self.warn(&format!("left out: {why}"), why);
        }
    }

    fn warn(&self, subject: &str, text: &str) {
        let subject = format!("{} {subject}", self.name);
        if let Some(repeated) = self.repeats.note(&subject, text, self.clock.elapsed()) {
            tracing::warn!(server = &*self.name, repeated, "MCP server: {text}");
        }
    }

    /// Follows a connection: reads the tools again when the server says so, and notes its end.
    fn watch(self: &Arc<Self>, link: &Arc<Link>, list_changed: Arc<Notify>) {
        let (this, stopping, mut ended) = (self.clone(), self.group.token(), link.ended());
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
                        if let Err(why) = this.learn(&link).await {
                            let text = format!("cannot read its list of tools again: {why}");
                            this.warn("list", &text);
                        }
                    }
                }
            }
        });
    }

    async fn note_end(self: &Arc<Self>, link: &Weak<Link>, why: &str) {
        let mut life = self.life.lock().await;
        if life.link.as_ref().is_some_and(|now| Weak::ptr_eq(&Arc::downgrade(now), link)) {
            self.fail(&mut life, why);
        }
    }

    /// Notes a failure, and schedules a restart unless the server is lazy and its tools are known.
    fn fail(self: &Arc<Self>, life: &mut Life, why: &str) {
        let now = self.clock.elapsed();
        if life.link.take().is_some() && now.saturating_sub(life.started_at) >= HEALTHY {
            life.backoff.reset();
        }
        let pause = life.backoff.next_wait();
        // A call after a login succeeds at once.
        life.retry_at = if self.refusal().is_some() { now } else { now + pause };
        self.set_state(McpState::Failed, Some(why.to_owned()));
        if self.group.token().is_cancelled() {
            return;
        }
        self.warn("failed", &format!("it failed: {why}"));
        if self.config.lazy && self.known().software.is_some() {
            return;
        }
        let (this, stopping) = (self.clone(), self.group.token());
        self.group.spawn(&format!("restart of MCP server {}", self.name), async move {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = this.clock.sleep(pause) => {}
            }
            let started = this.link().await;
            if started.is_ok() && this.config.lazy {
                this.stop().await;
            }
        });
    }

    /// Calls a tool.
    pub(crate) async fn call(
        self: &Arc<Self>,
        listed: &ListedTool,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let name = &self.name;
        let failed =
            |why: &str| ToolError::ExecutionFailed(format!("the MCP server {name} failed: {why}"));
        let link = self.link().await.map_err(|why| failed(&why))?;
        self.pin(listed)?;
        let limit = self.config.time_limit();
        let handler = link.service.service();
        let tool = registry_name(name, &listed.name);
        let entered = handler.calls.enter(context, tool);
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
        match wait.answer(ask(link.peer(), listed, arguments, files)).await {
            // Dropping the request sends its cancellation.
            None => Err(ToolError::Timeout(limit.as_secs())),
            Some(Err(AskError::Service(error)))
                if let Some(refusal) = LoginRefusal::find(&error) =>
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
                let why = link.reason(&self.clock, &self.text_of(&error)).await;
                self.note_end(&Arc::downgrade(&link), &why).await;
                Err(failed(&format!("{why}, during the call; its effect is unknown")))
            }
            Some(Err(AskError::Service(error))) => {
                Err(ToolError::ExecutionFailed(self.text_of(&error)))
            }
            Some(Err(AskError::Tool(ToolError::ExecutionFailed(text)))) => {
                Err(ToolError::ExecutionFailed(self.redacted(&text)))
            }
            Some(Err(AskError::Tool(error))) => Err(error),
            Some(Ok(mut value)) => {
                if let Some(endpoint) = &self.endpoint {
                    endpoint.redact(&mut value);
                }
                if let Some(secrets) = &self.secrets {
                    secrets.redact_json(&mut value);
                }
                Ok(value)
            }
        }
    }

    /// Returns the reason why the server refused the last request, if it needs another token.
    fn refusal(&self) -> Option<String> {
        self.endpoint.as_ref().and_then(ServerEndpoint::refusal)
    }

    /// Describes an error of a request, without the secrets of our own requests.
    fn text_of(&self, error: &ServiceError) -> String {
        if let Some(refusal) = LoginRefusal::find(error) {
            return refusal.why;
        }
        self.redacted(&describe_request(error))
    }

    fn redacted(&self, text: &str) -> String {
        let endpoint = self.endpoint.as_ref();
        let text = endpoint.map_or_else(|| text.to_owned(), |endpoint| endpoint.redacted(text));
        match &self.secrets {
            Some(secrets) => secrets.redact(&text).into_owned(),
            None => text,
        }
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
