//! A test world: the built-in tools with a workspace and a log of their own.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{FetchLimits, GuardedClient, OpenedHosts, ResolveNames};
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::{ToolContext, ToolError, ToolOutcome, ToolOutput, Toolbox};
use avocet_sandbox::{
    Isolation, PathProtection, ProgramProxy, ProgramSandbox, Workspace, WorkspaceRoots,
};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_supervise::Group;
use avocet_testkit::{
    FakeCalendar, FakeDestinations, FakeEditor, FakeRoles, FakeSkills, ManualClock, tool_context,
};
use avocet_tools::{
    AgentPolicy, BackgroundPrograms, BuiltinParts, OpenHosts, ProgramSettings, ToolRegistry,
    WebAccess, add_builtin,
};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) registry: ToolRegistry,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) skills: Arc<FakeSkills>,
    /// No session has it before `attach`.
    pub(crate) editor: FakeEditor,
    pub(crate) workspace: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    _log: TempStore,
}

#[derive(Default)]
struct Has<'h> {
    commands: &'h [&'h str],
    hosts: &'h [String],
    beside: Vec<Workspace>,
    is_without_programs: bool,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::allowing(&[]).await
    }

    /// A world in which the operator has allowed these programs.
    pub(crate) async fn allowing(commands: &[&str]) -> Self {
        Self::having(Has { commands, ..Has::default() }).await
    }

    /// A world with these directories beside the workspace.
    pub(crate) async fn beside(beside: Vec<Workspace>) -> Self {
        Self::having(Has { beside, ..Has::default() }).await
    }

    /// A world in which the operator has opened these hosts to programs.
    pub(crate) async fn opening(hosts: &[String]) -> Self {
        Self::having(Has { hosts, ..Has::default() }).await
    }

    /// A world in which no program is found.
    pub(crate) async fn without_programs() -> Self {
        Self::having(Has { is_without_programs: true, ..Has::default() }).await
    }

    async fn having(has: Has<'_>) -> Self {
        let clock = Arc::new(ManualClock::default());
        let client =
            GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default());
        Self::made(WebAccess::new(client, None, clock.clone()), clock, has).await
    }

    pub(crate) async fn on_the_web(web: WebAccess, clock: Arc<ManualClock>) -> Self {
        Self::made(web, clock, Has::default()).await
    }

    async fn made(web: WebAccess, clock: Arc<ManualClock>, has: Has<'_>) -> Self {
        let Has { commands, hosts, beside, is_without_programs } = has;
        let (workspace, log) = (TempDir::new().unwrap(), TempStore::new());
        let store = log.open(clock.clone()).await;
        let protection = Arc::<PathProtection>::default();
        let root = Workspace::open(workspace.path()).unwrap().with_protection(protection.clone());
        let mut sandbox =
            ProgramSandbox { protection, ..sandbox(root.root(), hosts, clock.clone()) };
        if is_without_programs {
            sandbox.environment.retain(|(name, _)| name != "PATH");
            sandbox.environment.push(("PATH".to_owned(), "/none".to_owned()));
        }
        let outside = ProgramSandbox { isolation: Isolation::LimitsOnly, ..sandbox.clone() };
        let shell = ProgramSettings {
            sandbox: Arc::new(sandbox),
            longest: Duration::from_mins(10),
            commands: commands.iter().map(|name| (*name).to_owned()).collect(),
            background: Arc::new(BackgroundPrograms::new(
                7,
                Duration::from_hours(2),
                clock.clone(),
                Group::new("test"),
            )),
            outside: Arc::new(outside),
        };
        let (skills, editor) = (Arc::new(FakeSkills::default()), FakeEditor::default());
        let parts = BuiltinParts {
            roots: Arc::new(WorkspaceRoots::new(root, beside)),
            editors: Arc::new(editor.clone()),
            memories: store.clone(),
            history: store.clone(),
            kept_results: store.clone(),
            destinations: Arc::new(FakeDestinations::default()),
            roles: Arc::new(FakeRoles),
            skills: skills.clone(),
            shell: Some(shell),
            web: Arc::new(web),
            zone: jiff::tz::TimeZone::UTC,
            tasks: store.clone(),
            profiles: ["builder".to_owned(), "reviewer".to_owned()].into(),
            schedules: store.clone(),
            calendar: Arc::new(FakeCalendar),
            clock: clock.clone(),
        };
        let mut registry = ToolRegistry::new(clock.clone());
        add_builtin(&mut registry, &parts).unwrap();
        Self { registry, store, skills, editor, workspace, clock, _log: log }
    }

    pub(crate) fn with_policy(self, policy: AgentPolicy) -> Self {
        let registry = self.registry.with_policy(policy, Duration::from_hours(1));
        Self { registry, ..self }
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
        self.run_in(&context(), name, arguments).await
    }

    pub(crate) async fn run_in(
        &self,
        context: &ToolContext,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let call = call(name, &arguments);
        self.registry.prepare(&call, None, context).await?;
        match self.registry.execute(&call, context).await? {
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

/// A sandbox with namespaces; the sandbox crate tests the other layers itself.
fn sandbox(workspace: &Path, hosts: &[String], clock: Arc<ManualClock>) -> ProgramSandbox {
    let toolchain = toolchain();
    let path = toolchain.iter().map(|one| one.join("bin").display().to_string());
    let path =
        path.chain(["/usr/local/bin:/usr/bin:/bin".to_owned()]).collect::<Vec<_>>().join(":");
    let environment = [("PATH", path.as_str()), ("HOME", "/tmp"), ("LANG", "C.UTF-8")];
    ProgramSandbox {
        secrets_but: None,
        writable: vec![workspace.to_owned()],
        readable: toolchain.into_iter().collect(),
        environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        proxy: (!hosts.is_empty()).then(|| proxy(hosts, clock.clone())),
        ..ProgramSandbox::new(
            env!("CARGO_BIN_EXE_avocet-tools-stage"),
            Isolation::Namespaces,
            clock,
        )
    }
}

fn proxy(hosts: &[String], clock: Arc<ManualClock>) -> Arc<dyn ProgramProxy> {
    let proxy = avocet_net::HostsProxy::new(
        OpenedHosts::parse_entries(hosts).unwrap(),
        Arc::new(Vec::new()),
        clock,
    );
    // Names are never looked up.
    Arc::new(OpenHosts::from_proxy(proxy.with_resolver(Arc::new(NoResolver))))
}

/// A resolver that finds no addresses.
#[derive(Debug)]
struct NoResolver;

#[async_trait]
impl ResolveNames for NoResolver {
    async fn resolve_name(&self, _: &str) -> Vec<IpAddr> {
        Vec::new()
    }
}

/// The directory of the Rust toolchain; `None` if it has no `cargo`.
pub(crate) fn toolchain() -> Option<PathBuf> {
    let ran = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(ran.stdout).ok()?.trim());
    path.join("bin/cargo").exists().then_some(path)
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

/// Waits until a condition holds. Busy, because a running program gives no signal to wait on.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

/// Returns `true` if the system has a program in a directory that the sandbox searches.
pub(crate) fn has(program: &str) -> bool {
    let places = ["/usr/local/bin", "/usr/bin", "/bin"];
    places.iter().any(|place| Path::new(place).join(program).exists())
}
