//! The built-in tools on a workspace and a log of their own.

use std::fs;
use std::sync::Arc;

use avocet_net::{GuardedClient, Limits};
use avocet_protocol::{
    Arguments, SessionId, ToolCall, ToolContext, ToolError, ToolOutcome, ToolOutput, Toolbox,
};
use avocet_sandbox::Workspace;
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeDestinations, FakeRoles, ManualClock, tool_context};
use avocet_tools::{Parts, Registry, Web, add_builtin};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) registry: Registry,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) workspace: TempDir,
    _log: TempStore,
}

impl World {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let client = GuardedClient::new(Arc::new(Vec::new()), clock.clone(), Limits::default());
        Self::on_the_web(Web::new(client, None, clock.clone()), clock).await
    }

    /// One in which the web is this.
    pub(crate) async fn on_the_web(web: Web, clock: Arc<ManualClock>) -> Self {
        let (workspace, log) = (TempDir::new().unwrap(), TempStore::new());
        let store = log.open(clock.clone()).await;
        let parts = Parts {
            workspace: Arc::new(Workspace::open(workspace.path()).unwrap()),
            notes: store.clone(),
            kept_results: store.clone(),
            destinations: Arc::new(FakeDestinations::default()),
            roles: Arc::new(FakeRoles),
            shell: None,
            web: Arc::new(web),
        };
        let mut registry = Registry::new(clock);
        add_builtin(&mut registry, &parts).unwrap();
        Self { registry, store, workspace, _log: log }
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.workspace.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.path().join(path)).unwrap()
    }

    pub(crate) async fn run(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let call = call(name, &arguments);
        self.registry.prepare(&call, false, &context()).await?;
        match self.registry.execute(&call, &context()).await? {
            ToolOutcome::Finished(output) => Ok(output),
            ToolOutcome::Waiting(request) => panic!("{request:?}"),
        }
    }

    pub(crate) async fn value(&self, name: &str, arguments: Value) -> Value {
        self.run(name, arguments).await.unwrap().value
    }

    pub(crate) async fn error(&self, name: &str, arguments: Value) -> String {
        self.run(name, arguments).await.unwrap_err().to_string()
    }
}

pub(crate) fn call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::parse(&arguments.to_string()) }
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("terminal:local:a").unwrap()
}

pub(crate) fn context() -> ToolContext {
    ToolContext { session: session(), chat: Some(session().address()), ..tool_context() }
}
