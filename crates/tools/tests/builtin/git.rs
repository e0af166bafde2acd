//! The git tools, with the system's git in the sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use avocet_protocol::tool::Toolbox;
use avocet_testkit::{SystemPart, skip_without};
use serde_json::{Value, json};

use crate::world::{World, call, context, has};

/// A world with a repository of one commit; `None` if the system has no git.
async fn repository() -> Option<World> {
    if !has("git") {
        skip_without(SystemPart::Git);
        return None;
    }
    let world = World::new().await;
    shell(&world, "git init -q -b main .").await;
    world.put("a.txt", "one\n");
    world.value("git_add", json!({"all": true})).await;
    world.value("git_commit", json!({"message": "fix shutdown"})).await;
    Some(world)
}

async fn shell(world: &World, command: &str) -> String {
    let ran = world.value("exec_shell", json!({ "command": command })).await;
    assert_eq!(ran["exit_code"], 0, "{command}: {ran}");
    ran["output"].as_str().unwrap().to_owned()
}

/// Runs a script outside of the sandbox, as the operator would.
fn outside(world: &World, script: &str) {
    let mut command = Command::new("sh");
    let ran = command.args(["-c", script]).current_dir(world.workspace.path()).output().unwrap();
    assert!(ran.status.success(), "{script}: {ran:?}");
}

#[tokio::test]
async fn git_tools_show_stage_and_commit_changes() {
    let Some(world) = repository().await else { return };
    world.put("a.txt", "one\ntwo\n");
    world.put("sub/ü b.txt", "new\n");
    let status = world.value("git_status", json!({})).await;
    assert_eq!(status["branch"], "main");
    assert_eq!(status["changes"], json!([{"path": "a.txt", "unstaged": "modified"}]));
    assert_eq!(status["untracked"], json!(["sub/ü b.txt"]));
    let diff = world.value("git_diff", json!({})).await;
    assert!(diff["stat"].as_str().unwrap().starts_with(" a.txt | 1 +\n"), "{diff}");
    assert!(diff["diff"].as_str().unwrap().ends_with(" one\n+two\n"), "{diff}");

    // Paths are relative to the given directory.
    let added = json!({"repository": "sub", "files": ["ü b.txt"]});
    let staged = world.value("git_add", added).await;
    assert_eq!(staged["changes"][1], json!({"path": "sub/ü b.txt", "staged": "added"}));
    let of_staged = world.value("git_diff", json!({"staged": true, "path": "sub"})).await;
    assert!(of_staged["diff"].as_str().unwrap().contains("+new"), "{of_staged}");

    let message = "--amend is no option here\n\nBut text, \"quoted\" and $(all).";
    let committed = world.value("git_commit", json!({"message": message, "all": true})).await;
    assert_eq!(committed["subject"], "--amend is no option here");
    assert!(committed["stat"].as_str().unwrap().contains("2 files changed"), "{committed}");
    let log = world.value("git_log", json!({})).await;
    assert_eq!(log.as_array().unwrap().len(), 2);
    assert_eq!(
        (&log[1]["subject"], &log[0]["commit"]),
        (&json!("fix shutdown"), &committed["commit"])
    );
    assert_eq!(log[0]["body"], "But text, \"quoted\" and $(all).");
    let of_sub =
        world.value("git_log", json!({"path": "sub", "count": 1, "since": "1 week ago"})).await;
    assert_eq!(of_sub.as_array().unwrap().len(), 1);
    let between = world.value("git_diff", json!({"from": "HEAD~1", "to": "HEAD"})).await;
    assert!(between["stat"].as_str().unwrap().contains("2 files changed"), "{between}");
    assert_eq!(world.value("git_status", json!({})).await["clean"], true);
}

#[tokio::test]
async fn git_commit_author_is_the_configured_user_or_avocet() {
    let Some(world) = repository().await else { return };
    let commit = async || {
        let arguments = json!({"message": "x", "all": true});
        world.value("git_commit", arguments).await["author"].clone()
    };
    let log = world.value("git_log", json!({})).await;
    assert_eq!(log[0]["author"], "Avocet <avocet@localhost>");
    shell(&world, "git config user.email me@example.org").await;
    world.put("a.txt", "2\n");
    assert_eq!(commit().await, "Avocet <me@example.org>");
    shell(&world, "git config user.name Me").await;
    world.put("a.txt", "3\n");
    assert_eq!(commit().await, "Me <me@example.org>");
}

#[tokio::test]
async fn git_switch_creates_and_changes_branches() {
    let Some(world) = repository().await else { return };
    let made = json!({"branch": "side", "create": true});
    assert_eq!(world.value("git_switch", made.clone()).await["branch"], "side");
    let branches = world.value("git_branches", json!({})).await;
    let names: Vec<&Value> =
        branches["branches"].as_array().unwrap().iter().map(|branch| &branch["name"]).collect();
    assert_eq!(
        (&branches["current"], names),
        (&json!("side"), vec![&json!("main"), &json!("side")])
    );
    assert_eq!(world.value("git_switch", json!({"branch": "main"})).await["branch"], "main");
    let error = world.error("git_switch", made).await;
    assert!(error.contains("git switch: fatal: a branch named 'side' already exists"), "{error}");
}

#[tokio::test]
async fn git_push_to_a_workspace_remote_shows_the_commits_for_approval() {
    let Some(world) = repository().await else { return };
    let path = world.workspace.path().canonicalize().unwrap();
    let origin = format!("git remote add origin file://{}/remote.git", path.display());
    for command in
        ["git init -q --bare -b main remote.git", &origin, "git remote add path ./remote.git"]
    {
        shell(&world, command).await;
    }
    shell(&world, "echo 'remote.git' > .git/info/exclude").await;
    // The prompt names the commit, even if the remote seems to have it.
    let push = call("git_push", &json!({"set_upstream": true}));
    let prepared = world.registry.prepare(&push, None, &context()).await.unwrap();
    let commit = shell(&world, "git rev-parse main").await;
    let asked = prepared.approval.unwrap().prompt.unwrap().text;
    assert!(asked.contains(&format!("at {}", commit.trim())), "{asked}");
    let pushed = world.value("git_push", json!({"set_upstream": true})).await;
    assert_eq!((&pushed["branch"], &pushed["result"]), (&json!("main"), &json!("[new branch]")));
    let status = world.value("git_status", json!({})).await;
    assert_eq!((&status["upstream"], &status["ahead"]), (&json!("origin/main"), &json!(0)));
    shell(&world, "echo 2 > a.txt").await;
    world.value("git_commit", json!({"message": "second", "all": true})).await;
    let pushed = world.value("git_push", json!({"remote": "path"})).await;
    assert!(pushed["result"].as_str().unwrap().contains(".."), "{pushed}");
    assert_eq!(
        shell(&world, "git -C remote.git log --format=%s main").await,
        "second\nfix shutdown\n"
    );

    shell(&world, "git clone -q remote.git other && cd other && git -c user.name=a -c user.email=b commit -q --allow-empty -m theirs && git push -q").await;
    world.put("a.txt", "mine\n");
    world.value("git_commit", json!({"message": "mine", "all": true})).await;
    let error = world.error("git_push", json!({})).await;
    assert!(error.contains("the remote has commits that this branch does not have"), "{error}");
}

#[tokio::test]
async fn git_push_runs_no_hook_of_a_workspace_remote() {
    let Some(world) = repository().await else { return };
    outside(
        &world,
        "git init -q --bare -b main remote.git; git remote add origin ./remote.git
        for hook in pre-receive update post-receive post-update reference-transaction
        do printf '#!/bin/sh\nexit 1\n' > remote.git/hooks/$hook; chmod +x remote.git/hooks/$hook; done",
    );
    let pushed = world.value("git_push", json!({})).await;
    assert_eq!(pushed["result"], "[new branch]");
    assert_eq!(shell(&world, "git -C remote.git log --format=%s main").await, "fix shutdown\n");
}

#[tokio::test]
async fn git_tools_errors_explain_the_cause_and_the_next_step() {
    let Some(world) = repository().await else { return };
    fs::create_dir(world.workspace.path().join("plain")).unwrap();
    shell(&world, "mkdir empty && cd empty && git init -q").await;
    shell(&world, "git remote add far https://me:secret@127.0.0.1:9/r.git").await;
    for (tool, arguments, why) in [
        ("git_commit", json!({"message": "x"}), "nothing to commit: no change is staged"),
        ("git_commit", json!({"message": " "}), "message is empty"),
        ("git_add", json!({"paths": ["none.txt"]}), "pathspec 'none.txt' did not match any files"),
        ("git_add", json!({}), "give paths, or all"),
        ("git_add", json!({"paths": ["../x"]}), "is outside repository"),
        ("git_log", json!({"revision": "--output=stolen"}), "begins with -"),
        ("git_log", json!({"revision": "none"}), "git log: fatal: bad revision 'none'"),
        ("git_diff", json!({"from": "-x"}), "begins with -"),
        ("git_diff", json!({"to": "HEAD"}), "to goes with from"),
        ("git_diff", json!({"from": "/dev/null", "to": "a.txt"}), "git diff: fatal: bad revision"),
        ("git_switch", json!({"branch": "--orphan"}), "begins with -"),
        ("git_switch", json!({"branch": "none"}), "invalid reference: none"),
        ("git_switch", json!({"branch": "x", "create": true, "from": "-f"}), "begins with -"),
        ("git_push", json!({}), "there is no remote origin"),
        ("git_push", json!({"remote": "--exec=x"}), "begins with -"),
        ("git_push", json!({"remote": "ext::sh -c x"}), "contains ':'"),
        ("git_push", json!({"remote": "far", "branch": "a:b"}), "contains ':'"),
        ("git_push", json!({"remote": "far", "branch": "a..b"}), "contains '..'"),
        ("git_switch", json!({"branch": "ma*"}), "contains '*'"),
        ("git_push", json!({"remote": "far"}), "https://127.0.0.1:9/r.git cannot be reached"),
        ("git_push", json!({"remote": "far", "branch": "-d"}), "begins with -"),
        ("git_status", json!({"repository": "../x"}), "outside the workspace"),
        ("git_status", json!({"repository": "none"}), "none does not exist"),
    ] {
        let error = world.error(tool, arguments.clone()).await;
        assert!(error.contains(why) && !error.contains("secret"), "{tool} {arguments}: {error}");
    }
    assert!(!world.workspace.path().join("stolen").exists());
    assert_eq!(world.value("git_log", json!({"repository": "empty"})).await, json!([]));
    let outside = World::new().await;
    outside.put("secret.txt", "secret\n");
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({"from": "/dev/null", "to": "secret.txt"})),
        ("git_diff", json!({"from": "/dev/null", "path": "secret.txt"})),
    ] {
        let error = outside.error(tool, arguments).await;
        assert!(
            error.contains("the workspace is not a git repository") && error.contains("git init"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn git_tools_run_no_program_that_a_repository_names() {
    let Some(world) = repository().await else { return };
    let trap = world.workspace.path().join("trap");
    world.put("trap", "#!/bin/sh\necho \"$0 $*\" >> \"$(dirname \"$0\")/sprung\"\ncat\n");
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    outside(
        &world,
        "git init -q --bare remote.git; git remote add origin ./remote.git
        git remote add helper ./remote.git; git config remote.helper.vcs ext
        for hook in pre-commit prepare-commit-msg commit-msg post-commit post-checkout pre-push post-index-change reference-transaction
        do cp trap .git/hooks/$hook; done
        t=$PWD/trap
        for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass diff.external pager.log pager.status \
            pager.diff gpg.program gpg.ssh.program diff.x.command diff.x.textconv core.alternateRefsCommand \
            remote.origin.receivepack remote.origin.uploadpack credential.helper core.gitProxy sequence.editor
        do git config $key $t; done
        for key in commit.gpgSign push.gpgSign tag.gpgSign log.showSignature; do git config $key true; done
        git config alias.status \"!$t\"; git config alias.log \"!$t\"; git config protocol.ext.allow always
        git config core.hooksPath \"$PWD/.git/hooks\"
        echo '*.txt diff=x' > .gitattributes; printf 'trap\\nsprung\\nremote.git\\n' > .git/info/exclude",
    );
    // Setting the trap may have sprung it already.
    fs::remove_file(world.workspace.path().join("sprung")).unwrap_or_default();
    world.put("a.txt", "two\n");
    world.value("git_status", json!({})).await;
    assert!(world.value("git_diff", json!({})).await["diff"].as_str().unwrap().contains("+two"));
    world.value("git_add", json!({"all": true})).await;
    world.value("git_commit", json!({"message": "second"})).await;
    world.value("git_log", json!({})).await;
    world.value("git_switch", json!({"branch": "side", "create": true})).await;
    world.value("git_branches", json!({})).await;
    world.value("git_push", json!({})).await;
    let error = world.error("git_push", json!({"remote": "helper"})).await;
    assert!(error.contains("transport 'ext' not allowed"), "{error}");
    let sprung = fs::read_to_string(world.workspace.path().join("sprung")).unwrap_or_default();
    assert_eq!(sprung, "");
}

#[tokio::test]
async fn git_tools_are_refused_if_git_is_no_allowed_command() {
    let world = World::allowing(&["ls", "cargo*"]).await;
    let error = world.error("git_status", json!({})).await;
    let refused = "permission denied: git is not among the allowed commands: ls, cargo*";
    assert_eq!(error, refused);
}

#[tokio::test]
async fn git_tools_report_a_missing_git() {
    let world = World::without_programs().await;
    let error = world.error("git_status", json!({})).await;
    assert!(error.contains("git is not installed on this system"), "{error}");
}
