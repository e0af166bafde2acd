//! Runs one case in one sandbox, and checks the result.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_sandbox::{
    Isolation, ProgramEnd, ProgramProxy, ProgramRequest, ProgramResult, ProgramRights,
    ProgramSandbox, ReachedHosts, SandboxError, SandboxLayers, SandboxLimits,
};
use avocet_supervise::SystemClock;
use avocet_testkit::{SystemPart, skip_without};
use futures_util::future::join_all;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::TrialPrograms;
use super::corpus::{Case, Ends, EscapeCorpus, ResourceLoad, SandboxKind};
use super::host::{Host, SECRET};

/// The directories of the system's programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Output of scripts that failed before their attempt.
const BROKEN: [&str; 6] =
    ["SyntaxError", "NameError", "Traceback", "AttributeError", ": not found", "command not found"];

/// A proxy that closes every connection.
#[derive(Debug)]
struct Nowhere;

#[async_trait]
impl ProgramProxy for Nowhere {
    fn hosts_text(&self) -> String {
        "a.example".to_owned()
    }

    fn is_opened_host(&self, _: IpAddr) -> bool {
        false
    }

    async fn serve_connections(
        &self,
        listener: TcpListener,
        _: &ReachedHosts,
    ) -> io::Result<Infallible> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            listener.accept().await?;
        }
    }
}

pub(crate) struct Trials {
    parts: TrialPrograms,
    /// The directory of a Rust toolchain.
    toolchain: Option<PathBuf>,
    /// The `PATH` of the programs in sandboxes.
    path: String,
}

/// The results of the cases.
#[derive(Default)]
struct TrialResults {
    ran: usize,
    skipped: usize,
    wrong: Vec<String>,
}

impl TrialResults {
    fn skip(&mut self, what: &str, why: &str) {
        println!("left out: {what}: {why}");
        self.skipped += 1;
    }

    fn add(mut self, other: Self) -> Self {
        self.ran += other.ran;
        self.skipped += other.skipped;
        self.wrong.extend(other.wrong);
        self
    }

    fn settle(self) {
        let Self { ran, skipped, wrong } = self;
        println!("{ran} ran, {skipped} skipped, {} went wrong", wrong.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}

impl Trials {
    pub(crate) fn new(parts: TrialPrograms, toolchain: Option<PathBuf>) -> Self {
        let first = toolchain.iter().map(|one| one.join("bin").display().to_string());
        let path = first.chain([PATH.to_owned()]).collect::<Vec<_>>().join(":");
        Self { parts, toolchain, path }
    }

    /// Reports every case that gets out. The kinds of sandboxes run at the same time, except for
    /// the cases that use up resources: the kernel counts the processes of a user in all sandboxes.
    pub(crate) async fn escapes(&self, text: &str) {
        let corpus = EscapeCorpus::read(text);
        let mut results = TrialResults::default();
        let kinds = self.kinds(&mut results).await;
        let (loads, others): (Vec<&Case>, Vec<&Case>) =
            corpus.case.iter().partition(|case| case.load.is_some());
        let attempt = &corpus.attempt;
        let of_kinds = kinds.iter().map(|kind| self.escapes_of(*kind, attempt, &others));
        results = join_all(of_kinds).await.into_iter().fold(results, TrialResults::add);
        for kind in kinds {
            results = results.add(self.escapes_of(kind, attempt, &loads).await);
        }
        results.settle();
    }

    async fn escapes_of(&self, kind: SandboxKind, attempt: &str, cases: &[&Case]) -> TrialResults {
        let mut results = TrialResults::default();
        let mut host = Host::new();
        let has_load = cases.iter().any(|case| case.load.is_some());
        let forks = has_load && self.forks_are_limited(&host, kind).await;
        for case in cases {
            let name = format!("{} ({kind:?})", case.name);
            if let Some(why) = self.why_not(case, kind, forks) {
                results.skip(&name, &why);
                continue;
            }
            let wrong = self.escape(&host, case, attempt, kind).await;
            results.ran += 1;
            if !wrong.is_empty() {
                results.wrong.push(format!("{name}: {}", wrong.join("\n  ")));
                host = Host::new();
            }
        }
        results
    }

    /// Reports every case with other output than expected. The kinds of sandboxes run at the same time.
    pub(crate) async fn works(&self, text: &str) {
        let corpus = EscapeCorpus::read(text);
        let mut results = TrialResults::default();
        let kinds = self.kinds(&mut results).await;
        let of_kinds = kinds.into_iter().map(|kind| self.works_of(kind, &corpus));
        join_all(of_kinds).await.into_iter().fold(results, TrialResults::add).settle();
    }

    async fn works_of(&self, kind: SandboxKind, corpus: &EscapeCorpus) -> TrialResults {
        let mut results = TrialResults::default();
        let host = Host::new();
        for case in &corpus.case {
            let name = format!("{} ({kind:?})", case.name);
            if let Some(why) = self.why_not(case, kind, true) {
                results.skip(&name, &why);
                continue;
            }
            results.ran += 1;
            let workspace = workspace(&corpus.attempt, kind);
            let ran = self.run(&host, kind, workspace.path(), case, &case.script).await;
            let wanted = (ProgramEnd::Code(0), case.prints.as_deref().unwrap_or_default().trim());
            match ran {
                Ok(ran) if (ran.ended, ran.output.to_text().trim()) == wanted => {}
                Ok(ran) => {
                    let (ended, text) = (ran.ended, ran.output.to_text());
                    results.wrong.push(format!("{name}: {ended:?} {text:?}, not {wanted:?}"));
                }
                Err(error) => results.wrong.push(format!("{name}: {error}")),
            }
        }
        results
    }

    /// Returns the kinds of sandboxes that this system provides.
    async fn kinds(&self, results: &mut TrialResults) -> Vec<SandboxKind> {
        let workspace = TempDir::new().unwrap();
        let layers = SandboxLayers::probe_layers(&self.sandbox(
            &Host::new(),
            SandboxKind::Namespaces,
            workspace.path(),
        ))
        .await;
        println!("{layers}");
        assert_ne!(layers.best_isolation(), Isolation::LimitsOnly, "{layers}");
        let kinds = [
            (SandboxKind::Namespaces, SystemPart::Namespaces, layers.namespaces.clone()),
            (SandboxKind::Opened, SystemPart::Namespaces, layers.namespaces),
            (SandboxKind::Landlock, SystemPart::Landlock, layers.landlock),
        ];
        let mut given = Vec::new();
        for (kind, part, layer) in kinds {
            match layer {
                Ok(()) => given.push(kind),
                Err(why) => {
                    skip_without(part);
                    results.skip(&format!("{kind:?}"), &why);
                }
            }
        }
        given
    }

    /// Returns `true` if the number of processes is limited. Tries it with a hundred processes,
    /// which end after 5 seconds.
    async fn forks_are_limited(&self, host: &Host, kind: SandboxKind) -> bool {
        if nix::unistd::geteuid().is_root() {
            return false;
        }
        let workspace = workspace("", kind);
        let mut sandbox = self.sandbox(host, kind, workspace.path());
        sandbox.limits = ResourceLoad::Forks.limits();
        let script = "i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i + 1)); echo $i; done";
        let ran = sandbox.run(request(workspace.path(), script, None)).await.unwrap();
        let text = ran.output.to_text();
        !text.lines().any(|line| line == "100") && text.lines().any(|line| line == "1")
    }

    /// Returns the reason why a case is skipped in this kind of sandbox, or on this machine.
    fn why_not(&self, case: &Case, kind: SandboxKind, forks_are_limited: bool) -> Option<String> {
        if case.only.is_some_and(|only| only.has_namespaces() != kind.has_namespaces()) {
            return Some(case.why.clone());
        }
        if kind == SandboxKind::Opened && case.load.is_some() {
            return Some("what it may use up does not depend on hosts".to_owned());
        }
        if let Some(missing) = case.missing(&self.path) {
            skip_without(SystemPart::Program);
            return Some(format!("no {missing}"));
        }
        let heavy = case.load.is_some_and(ResourceLoad::is_heavy);
        match forks_are_limited {
            false if heavy && nix::unistd::geteuid().is_root() => {
                Some("the limits bind ordinary users, for whom it is run".to_owned())
            }
            false if heavy => {
                skip_without(SystemPart::ProcessLimit);
                Some("there is no limit of processes here".to_owned())
            }
            _ => None,
        }
    }

    async fn escape(
        &self,
        host: &Host,
        case: &Case,
        attempt: &str,
        kind: SandboxKind,
    ) -> Vec<String> {
        let workspace = workspace(attempt, kind);
        let script = match case.ends {
            Ends::Itself => format!("{}\necho tried", case.script),
            _ => case.script.clone(),
        };
        let ran = self.run(host, kind, workspace.path(), case, &script).await;
        let mut wrong = host.harm();
        match ran {
            Ok(ran) => wrong.extend(held_against(case, &ran)),
            Err(error) => wrong.push(format!("it was not run: {error}")),
        }
        wrong
    }

    async fn run(
        &self,
        host: &Host,
        kind: SandboxKind,
        workspace: &Path,
        case: &Case,
        script: &str,
    ) -> Result<ProgramResult, SandboxError> {
        let mut sandbox = self.sandbox(host, kind, workspace);
        sandbox.limits = case.load.map_or_else(SandboxLimits::default, ResourceLoad::limits);
        sandbox.run(request(workspace, script, case.load)).await
    }

    fn sandbox(&self, host: &Host, kind: SandboxKind, workspace: &Path) -> ProgramSandbox {
        let workspace = workspace.to_owned();
        let set_user_id = self.parts.set_user_id.iter();
        let mut hidden = host.hidden();
        let mut environment = host.environment();
        let scratch = match kind {
            SandboxKind::Namespaces | SandboxKind::Opened => {
                hidden.push(workspace.join("hidden"));
                Path::new("/tmp")
            }
            SandboxKind::Landlock => &workspace,
        };
        environment.extend(
            [
                ("PATH", self.path.clone()),
                ("HOME", workspace.display().to_string()),
                ("TMPDIR", scratch.display().to_string()),
                ("LANG", "C.UTF-8".to_owned()),
                (
                    "SET_USER_ID",
                    set_user_id.clone().map(|path| path.display().to_string()).collect(),
                ),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        ProgramSandbox {
            writable: vec![workspace],
            readable: [host.readable.path().to_owned()]
                .into_iter()
                .chain(set_user_id.cloned())
                .chain(self.toolchain.clone())
                .collect(),
            hidden,
            secrets_but: Some(vec!["open.pem".to_owned()]),
            environment,
            proxy: (kind == SandboxKind::Opened)
                .then(|| Arc::new(Nowhere) as Arc<dyn ProgramProxy>),
            ..ProgramSandbox::new(
                self.parts.stage.clone(),
                kind.isolation(),
                Arc::new(SystemClock::new()),
            )
        }
    }
}

/// Returns the directory of `rustc` and `cargo`, if the user of the test can read it.
pub(crate) fn toolchain() -> Option<PathBuf> {
    let ran = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(ran.stdout).ok()?.trim());
    path.join("bin/cargo").exists().then_some(path)
}

fn workspace(attempt: &str, kind: SandboxKind) -> TempDir {
    let workspace = TempDir::new_in("/var/tmp").unwrap();
    fs::write(workspace.path().join("attempt.py"), attempt).unwrap();
    keep_repositories(workspace.path());
    if kind.has_namespaces() {
        fs::create_dir(workspace.path().join("hidden")).unwrap();
        for directory in ["deep/.ssh", "deep/.docker"] {
            fs::create_dir_all(workspace.path().join(directory)).unwrap();
        }
        for name in [
            "hidden/secret.txt",
            ".env",
            "deep/ID_RSA",
            "deep/.ssh/config",
            "deep/.docker/config.json",
            "server.pem",
        ] {
            fs::write(workspace.path().join(name), SECRET).unwrap();
        }
        fs::write(workspace.path().join("open.pem"), "open").unwrap();
        fs::hard_link(workspace.path().join(".env"), workspace.path().join("second-name")).unwrap();
    }
    workspace
}

/// Makes the protected paths of a workspace before a program starts: repositories of every kind,
/// and files of editors and shells.
fn keep_repositories(workspace: &Path) {
    const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
    let put = |path: &str, text: &str| {
        let path = workspace.join("kept").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let git_dirs =
        ["mine/.git", "mine/.git/modules/part", "odd/place", "hookless/.git", "elsewhere/.git"];
    for git_dir in git_dirs {
        put(&format!("{git_dir}/config"), CONFIG);
        put(&format!("{git_dir}/HEAD"), "ref: refs/heads/main\n");
        for directory in ["objects", "refs/heads"] {
            fs::create_dir_all(workspace.join("kept").join(git_dir).join(directory)).unwrap();
        }
        if git_dir != "hookless/.git" {
            put(&format!("{git_dir}/hooks/pre-push"), "#!/bin/sh\n");
        }
    }
    put("mine/part/.git", "gitdir: ../.git/modules/part\n");
    put("mine/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
    put("mine/.git/worktrees/side/commondir", "../..\n");
    put("mine/.git/worktrees/side/locked", "");
    put(
        "elsewhere/.git/config",
        "[core]\n\trepositoryformatversion = 0\n\thooksPath = team/hooks\n[include]\n\tpath = ../shared\n",
    );
    put("elsewhere/team/hooks/pre-commit", "#!/bin/sh\n");
    put("elsewhere/shared", "[user]\n\tname = A\n");
    for path in
        ["mine/.envrc", "mine/.vscode/settings.json", "mine/.idea/a.xml", ".bashrc", "mine/file"]
    {
        put(path, "kept\n");
    }
    fs::hard_link(workspace.join("kept/mine/.git/config"), workspace.join("second-config"))
        .unwrap();
}

fn request(workspace: &Path, script: &str, load: Option<ResourceLoad>) -> ProgramRequest {
    let limit = match load {
        Some(ResourceLoad::Time | ResourceLoad::Forks) => Duration::from_millis(700),
        _ => Duration::from_secs(60),
    };
    ProgramRequest {
        program: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        directory: workspace.to_owned(),
        limit,
        output: 64 * 1024,
        cancel: CancellationToken::new(),
        reached: ReachedHosts::default(),
        rights: ProgramRights::default(),
    }
}

fn held_against(case: &Case, ran: &ProgramResult) -> Vec<String> {
    let text = ran.output.to_text();
    let as_told = match case.ends {
        Ends::Itself => ran.ended == ProgramEnd::Code(0) && text.contains("tried"),
        Ends::TimedOut => ran.ended == ProgramEnd::TimedOut,
        Ends::Signal => matches!(ran.ended, ProgramEnd::Signal(_)),
        Ends::Any => ran.ended != ProgramEnd::TimedOut,
    };
    let mut wrong = Vec::new();
    if !as_told {
        wrong.push(format!("it ended with {:?}: {text}", ran.ended));
    }
    for word in [SECRET, "ESCAPED"].into_iter().chain(BROKEN) {
        wrong.extend(text.contains(word).then(|| format!("it printed {word}: {text}")));
    }
    if let Some(prints) = &case.prints {
        wrong.extend((!text.contains(prints)).then(|| format!("no {prints:?} in {text}")));
    }
    wrong
}
