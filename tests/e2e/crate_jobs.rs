//! Jobs of the shipped profiles on a small real crate, through the daemon and with `--direct`. The
//! model fakes decide by the real output of `cargo test` in the sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use avocet_testkit::openai::OpenAiFake;
use avocet_tests::{Home, ProgramOutput, program};
use tempfile::TempDir;

use crate::coder;
use crate::support::{printed, printed_json, run_compiler, stop};

const MANIFEST: &str = "[package]\nname = \"ruler\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
    [profile.dev]\ndebug = false\nincremental = false\n";
const LIB: &str = "/// Returns the number of words of a text.\npub fn words(text: &str) -> usize {\n    \
    text.split(' ').count()\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    \
    fn words_counts_two_words() {\n        assert_eq!(super::words(\"one two\"), 2);\n    }\n}\n";
/// A test that the crate fails.
const FAILING: &str = "    #[test]\n    fn words_ignores_double_spaces() {\n        \
    assert_eq!(super::words(\"one  two\"), 2);\n    }\n}\n";

/// The process that runs a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobRunner {
    Daemon,
    Direct,
}

/// A repository with a crate, and a home whose programs find the toolchain.
struct Project {
    home: Home,
    directory: TempDir,
    model: OpenAiFake,
}

impl Project {
    fn new(model: OpenAiFake, lib: &str) -> Self {
        let toolchain = toolchain();
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", toolchain.display());
        let config = format!(
            "[models.\"fake/*\"]\ncontext = 65_536\n\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n[agents.defaults]\n\
             model = \"fake/fake\"\n[sandbox]\nread = [{:?}]\n",
            model.base_url(),
            toolchain.display().to_string(),
        );
        let home = Home::new(program!()).with("PATH", &path).with_config(&config);
        let directory = TempDir::new().unwrap();
        for (name, text) in
            [("Cargo.toml", MANIFEST), ("src/lib.rs", lib), (".gitignore", "target\n")]
        {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let project = Self { home, directory, model };
        // The lock file belongs to the repository, so that a run of the tests changes nothing.
        let mut lock = Command::new(toolchain.join("bin/cargo"));
        lock.args(["generate-lockfile", "--offline"]).current_dir(project.path());
        assert!(lock.output().unwrap().status.success());
        project.git("init -q -b main");
        project.git("add --all");
        project.git("-c user.name=Ann -c user.email=ann@localhost commit -q -m begin");
        project
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs git outside of the sandbox, as the operator would.
    fn git(&self, words: &str) -> String {
        let mut git = Command::new("git");
        git.args(words.split(' ')).current_dir(self.path());
        let ran = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(ran.status.success(), "git {words}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Runs a job to its end.
    fn job(&self, runner: JobRunner, agent: &str, task: &str) -> ProgramOutput {
        let place = self.path().to_str().unwrap();
        let submit = ["job", "submit", agent, task, "--workspace", place];
        match runner {
            JobRunner::Direct => run_compiler(&self.home, &[&submit[..], &["--direct"]].concat()),
            JobRunner::Daemon => {
                let daemon = self.home.daemon();
                let ran = run_compiler(&self.home, &[&submit[..], &["--follow"]].concat());
                stop(daemon);
                ran
            }
        }
    }

    /// Runs a job that has to complete. Returns its result.
    fn completed(&self, runner: JobRunner, agent: &str, task: &str) -> String {
        let ran = self.job(runner, agent, task);
        let refusals = self.model.refusals();
        assert_eq!(ran.code, Some(0), "{agent}: {ran:?} {refusals:?}");
        assert!(ran.out.ends_with("j1 completed\n"), "{}", ran.out);
        let job = printed_json(&self.home, &["job", "show", "j1"]);
        assert_eq!(job["inference_runs"], self.model.requests().len(), "{job}");
        job["result"].as_str().unwrap().to_owned()
    }

    /// The files of the working directory with their contents, without those of builds.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let listed = self.git("ls-files --cached --others --exclude-standard");
        let path = |name: &str| self.path().join(name);
        listed.lines().map(|name| (name.into(), fs::read(path(name)).unwrap())).collect()
    }
}

/// The directory of the Rust toolchain.
fn toolchain() -> PathBuf {
    let ran = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    PathBuf::from(String::from_utf8(ran.stdout).unwrap().trim())
}

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builder_ends_green_on_its_own_branch_after_a_failed_test() {
    const BRANCH: &str = "avocet/job-1-add-longest-with-a-test";
    for runner in [JobRunner::Daemon, JobRunner::Direct] {
        let project = Project::new(coder::builder().await, LIB);
        let result = project.completed(runner, "builder", "add longest with a test");
        let branch = format!("- Branch: `{BRANCH}`, begun at `main`");
        let parts = [
            "Added `longest` with a test.",
            &branch,
            "- Commits: `",
            " add longest`",
            "- Files changed: `src/lib.rs`",
            "- Commands run: `cargo test --offline`, `cargo test --offline`",
            "- Tests, last run: 2 passed, 0 failed",
            "- Cost: ",
        ];
        contains(&result, &parts);
        assert_eq!(project.git("branch --show-current"), BRANCH);
        assert_eq!(project.git("log --format=%s main.."), "add longest");
        assert_eq!(project.git("status --porcelain"), "");
        assert_eq!(project.git("log --format=%s main"), "begin", "main is as it was");
        assert!(!project.git("show main:src/lib.rs").contains("longest"));
        assert!(project.git("show HEAD:src/lib.rs").contains("max_by_key"));
        // Every round is saved, with the failure that the model has read.
        let logs = printed(&project.home, &["job", "logs", "j1"]);
        contains(&logs, &["job_branch", "list_directory", "git_commit", "job_commits"]);
        assert!(!logs.contains("go_on_with_job"), "its first answer says that it is done: {logs}");
        let turns = printed_json(&project.home, &["sessions", "show", "terminal:local:job-1"]);
        contains(&turns.to_string(), &["test result: FAILED", "test result: ok. 2 passed"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debugger_reproduces_the_failure_before_it_repairs_the_cause() {
    let lib = format!("{}\n{FAILING}", LIB.strip_suffix("}\n").unwrap());
    for runner in [JobRunner::Daemon, JobRunner::Direct] {
        let project = Project::new(coder::debugger().await, &lib);
        let result = project.completed(runner, "debugger", "words counts double spaces");
        let parts = ["Cause: `split(' ')`", "- Tests, last run: 2 passed, 0 failed"];
        contains(&result, &parts);
        assert_eq!(project.git("diff --stat --name-only"), "src/lib.rs");
        assert_eq!(project.git("branch --show-current"), "main");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reviewer_and_triager_answer_and_change_nothing() {
    for runner in [JobRunner::Daemon, JobRunner::Direct] {
        for (agent, model, answer) in [
            ("reviewer", coder::reviewer().await, "1. src/lib.rs:3: double spaces"),
            ("triager", coder::triager().await, "1. Repair src/lib.rs line 3."),
        ] {
            let project = Project::new(model, LIB);
            let before = (project.files(), project.git("rev-parse HEAD"));
            let result = project.completed(runner, agent, "words counts double spaces");
            contains(&result, &[answer]);
            assert!(!result.contains("Files changed"), "{result}");
            assert_eq!((project.files(), project.git("rev-parse HEAD")), before, "{agent}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builder_refuses_a_dirty_workspace_and_keeps_it() {
    let project = Project::new(coder::builder().await, LIB);
    fs::write(project.path().join("src/lib.rs"), "// mine\n").unwrap();
    let ran = project.job(JobRunner::Direct, "builder", "add longest");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    contains(
        &ran.out,
        &["I did not begin this job", "uncommitted changes (src/lib.rs)", "j1 failed"],
    );
    assert_eq!(fs::read_to_string(project.path().join("src/lib.rs")).unwrap(), "// mine\n");
    assert_eq!(project.git("branch --format=%(refname:short)"), "main");
    assert_eq!(project.model.requests().len(), 0);
}
