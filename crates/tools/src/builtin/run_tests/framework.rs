//! Finds the test framework of a directory and the command that runs it.

use avocet_protocol::tool::ToolError;
use avocet_sandbox::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::builtin::files::tool_error;

/// A test framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TestFramework {
    Cargo,
    Go,
    Npm,
    Pnpm,
    Yarn,
    Pytest,
}

/// A command that runs tests.
#[derive(Debug)]
pub(super) struct TestCommand {
    pub(super) framework: TestFramework,
    pub(super) command: Vec<String>,
    /// Other frameworks for which the directory has tests.
    pub(super) also: Vec<TestFramework>,
}

/// The hint for a program that is not found.
pub(super) const WHERE_PROGRAMS_ARE: &str = "What is installed in somebody's home is not seen by \
    programs here: the operator can name its directories in [sandbox] read, and has to have it in PATH";
const NO_NETWORK: &str = "Programs have no network here beyond the hosts that the operator has opened \
    ([sandbox] hosts in the configuration): dependencies have to be there before, fetched by the user or kept in the \
    workspace (cargo vendor, go mod vendor, node_modules, a virtual environment)";

/// Output of programs that lacked the network or a home directory, with the hint for each.
const HINTS: [(&str, &str); 18] = [
    ("[sandbox] hosts does not", NO_NETWORK),
    ("connect tunnel failed", NO_NETWORK),
    ("could not resolve host", NO_NETWORK),
    ("couldn't resolve host", NO_NETWORK),
    ("failed to download", NO_NETWORK),
    ("download of config.json failed", NO_NETWORK),
    ("failed to get `", NO_NETWORK),
    ("dial tcp", NO_NETWORK),
    ("getaddrinfo", NO_NETWORK),
    ("temporary failure in name resolution", NO_NETWORK),
    ("network is unreachable", NO_NETWORK),
    ("rustup could not choose a version", WHERE_PROGRAMS_ARE),
    ("could not create home directory", WHERE_PROGRAMS_ARE),
    ("error: could not execute process `rustc", WHERE_PROGRAMS_ARE),
    (
        "no module named pytest",
        "pytest is not installed for this python: the user can install it, or keep a virtual environment in .venv of the directory",
    ),
    ("missing script: \"test\"", "package.json has no test script"),
    (
        "sh: 1: ",
        "the test script calls a program that is not there: are the dependencies installed (node_modules)?",
    ),
    (
        "sh: line 1: ",
        "the test script calls a program that is not there: are the dependencies installed (node_modules)?",
    ),
];

/// The hint for an output that reports something missing.
pub(super) fn hint_for_missing(output: &str) -> Option<&'static str> {
    let output = output.to_lowercase();
    HINTS.iter().find(|(said, _)| output.contains(said)).map(|(_, hint)| *hint)
}

/// Environment variables for all frameworks: no colours, and no wait for the network.
pub(super) fn test_environment() -> Vec<(String, String)> {
    let variables = [
        ("CARGO_NET_RETRY", "0"),
        ("CARGO_TERM_COLOR", "never"),
        ("CI", "1"),
        ("FORCE_COLOR", "0"),
        ("NO_COLOR", "1"),
        ("PY_COLORS", "0"),
        ("RUST_BACKTRACE", "0"),
        ("npm_config_update_notifier", "false"),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

impl TestFramework {
    pub(super) fn program_name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Pytest => "python3",
        }
    }
}

impl TestCommand {
    /// The command, quoted for display.
    pub(super) fn quoted_text(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        let quoted = |word: &String| {
            if !word.is_empty() && word.chars().all(is_plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        };
        self.command.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// Chooses the command that runs the tests of a directory.
pub(super) fn plan_tests(
    workspace: &Workspace,
    directory: &str,
    wanted: Option<TestFramework>,
    filter: Option<String>,
) -> Result<TestCommand, ToolError> {
    let place = TestDirectory { workspace, directory };
    let found = place.find_frameworks()?;
    let framework = wanted.or(found.first().copied()).ok_or_else(|| {
        ToolError::ExecutionFailed(format!(
            "no tests are known in {}: it has no Cargo.toml, go.mod, package.json with a test script, \
             nor anything of pytest. Give another directory, or framework, or use exec_shell",
            if directory.is_empty() { "the workspace" } else { directory }
        ))
    })?;
    if let Some(filter) = filter.as_deref().filter(|filter| filter.starts_with('-')) {
        let why = format!("the filter {filter:?} begins with -, which a name must not");
        return Err(ToolError::InvalidArgs(why));
    }
    let also = found.into_iter().filter(|one| *one != framework).collect();
    Ok(TestCommand { framework, command: place.test_command(framework, filter)?, also })
}

struct TestDirectory<'a> {
    workspace: &'a Workspace,
    directory: &'a str,
}

impl TestDirectory<'_> {
    fn find_frameworks(&self) -> Result<Vec<TestFramework>, ToolError> {
        let path = self.workspace.resolve_path(self.directory).map_err(tool_error)?;
        let names = self.workspace.examine_apart().list_entries(&path).map_err(tool_error)?;
        let has = |name: &str| names.iter().any(|entry| entry.name == name);
        let mut found = Vec::new();
        found.extend(has("Cargo.toml").then_some(TestFramework::Cargo));
        found.extend(has("go.mod").then_some(TestFramework::Go));
        if self.test_script().is_some() {
            found.push(match (has("pnpm-lock.yaml"), has("yarn.lock")) {
                (true, _) => TestFramework::Pnpm,
                (false, true) => TestFramework::Yarn,
                (false, false) => TestFramework::Npm,
            });
        }
        let configured = ["pyproject.toml", "setup.cfg", "tox.ini"];
        let of_pytest = has("pytest.ini")
            || has("conftest.py")
            || configured.iter().any(|name| has(name) && self.read_text(name).contains("pytest"))
            || names.iter().any(|entry| is_python_test(&entry.name))
            || ["tests", "test"].iter().any(|name| has(name) && self.has_python_tests(name));
        found.extend(of_pytest.then_some(TestFramework::Pytest));
        Ok(found)
    }

    fn test_command(
        &self,
        framework: TestFramework,
        filter: Option<String>,
    ) -> Result<Vec<String>, ToolError> {
        let mut command: Vec<String> = match framework {
            TestFramework::Cargo => vec!["cargo", "test", "--no-fail-fast"],
            TestFramework::Go => vec!["go", "test", "-json", "./..."],
            TestFramework::Npm => vec!["npm", "test"],
            TestFramework::Pnpm => vec!["pnpm", "test"],
            TestFramework::Yarn => vec!["yarn", "test"],
            TestFramework::Pytest => {
                let options = ["-m", "pytest", "-ra", "--tb=short", "--color=no"];
                [&[self.python_path()], &options[..]].concat()
            }
        }
        .into_iter()
        .map(str::to_owned)
        .collect();
        let Some(filter) = filter else { return Ok(command) };
        let more = match framework {
            TestFramework::Cargo => vec![filter],
            TestFramework::Go => vec!["-run".to_owned(), filter],
            TestFramework::Pytest => vec!["-k".to_owned(), filter],
            TestFramework::Npm => vec!["--".to_owned(), self.name_option()?, filter],
            TestFramework::Pnpm | TestFramework::Yarn => vec![self.name_option()?, filter],
        };
        // Options of go come before the packages.
        let at = if framework == TestFramework::Go { command.len() - 1 } else { command.len() };
        command.splice(at..at, more);
        Ok(command)
    }

    /// The runner's option that selects tests by name.
    fn name_option(&self) -> Result<String, ToolError> {
        let script = self.test_script().unwrap_or_default();
        let options = [("vitest", "-t"), ("jest", "-t"), ("mocha", "-g"), ("ava", "-m")];
        let option = options.iter().find(|(runner, _)| script.contains(runner));
        option.map(|(_, option)| (*option).to_owned()).ok_or_else(|| {
            ToolError::InvalidArgs(format!(
                "this test script takes no filter that is known: {script}. Leave filter out, or use \
                 exec_shell"
            ))
        })
    }

    /// The test script of `package.json`, unless it is the placeholder.
    fn test_script(&self) -> Option<String> {
        let package: Value = serde_json::from_str(&self.read_text("package.json")).ok()?;
        let script = package["scripts"]["test"].as_str()?;
        // The placeholder that `npm init` writes.
        (!script.contains("no test specified")).then(|| script.to_owned())
    }

    /// The python of a virtual environment in the directory, or else the system's.
    fn python_path(&self) -> &'static str {
        let own = [".venv/bin/python", "venv/bin/python"];
        let is_there = |path: &str| {
            let path = self.workspace.resolve_path(&self.path_below(path));
            path.and_then(|path| self.workspace.kind(&path)).is_ok_and(|kind| kind.is_some())
        };
        own.into_iter().find(|path| is_there(path)).unwrap_or("python3")
    }

    fn has_python_tests(&self, name: &str) -> bool {
        let path = self.workspace.resolve_path(&self.path_below(name));
        let entries = path
            .and_then(|path| self.workspace.examine_apart().list_entries(&path))
            .unwrap_or_default();
        entries.iter().any(|entry| is_python_test(&entry.name))
    }

    /// The text of a file; empty if it cannot be read.
    fn read_text(&self, name: &str) -> String {
        let path = self.workspace.resolve_path(&self.path_below(name));
        let bytes = path.and_then(|path| self.workspace.read(&path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn path_below(&self, name: &str) -> String {
        match self.directory {
            "" => name.to_owned(),
            directory => format!("{}/{name}", directory.trim_end_matches('/')),
        }
    }
}

fn is_python_test(name: &str) -> bool {
    let stem = name.strip_suffix(".py");
    stem.is_some_and(|stem| {
        stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest"
    })
}
