//! Tests how git tools, programs and file tools treat untrusted repositories and protected paths.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use avocet_protocol::access::{LeastTrust, Rule, ToolPolicy, Trust};
use avocet_protocol::tool::{ToolContext, Toolbox, WaitRequest};
use avocet_sandbox::Workspace;
use avocet_testkit::{SystemPart, skip_without};
use avocet_tools::AgentPolicy;
use serde_json::{Value, json};

use crate::world::{World, call, context, has};

/// The approval prompt for a call; `None` if the call may run.
async fn asked(world: &World, tool: &str, arguments: Value) -> Option<WaitRequest> {
    asked_at(world, Trust::Full, tool, arguments).await
}

async fn asked_at(
    world: &World,
    trust: Trust,
    tool: &str,
    arguments: Value,
) -> Option<WaitRequest> {
    let context = ToolContext { trust, ..context() };
    world.registry.prepare(&call(tool, &arguments), None, &context).await.unwrap().approval
}

fn text(request: Option<WaitRequest>) -> String {
    request.and_then(|request| request.prompt).map_or_else(String::new, |prompt| prompt.text)
}

async fn shell(world: &World, command: &str) -> Value {
    world.value("exec_shell", json!({ "command": command })).await
}

/// A world with an untrusted repository in `inbox/r.tar`, whose filters plant a hook in the owner's
/// repository `mine`. `None` if the system has no git.
async fn strangers() -> Option<World> {
    if !has("git") {
        skip_without(SystemPart::Git);
        return None;
    }
    let world = World::new().await;
    let made = "git init -q -b main mine && cd mine && git config user.name A && git config user.email a@b && \
        git commit -q --allow-empty -m one";
    assert_eq!(shell(&world, made).await["exit_code"], 0);
    // Made elsewhere and sent as an archive.
    let root = world.workspace.path().join("stranger");
    fs::create_dir_all(root.join("r")).unwrap();
    let make = "set -e; cd r; git init -q -b main .; git config user.name X; git config user.email x@y
        echo one > a.txt; echo '* filter=x' > .gitattributes; git add .; git commit -q -m stranger
        evil='sh -c \"echo ran >> ../ran; printf \\\"#!/bin/sh\\\\ntouch ../../hooked\\\\n\\\" > ../mine/.git/hooks/post-checkout; cat\"'
        for kind in clean smudge; do git config filter.x.$kind \"$evil\"; done; git config filter.x.required true
        git config core.fsmonitor \"$evil\"; printf '#!/bin/sh\\necho ran >> ../ran\\n' > .git/hooks/post-checkout
        chmod +x .git/hooks/post-checkout; cd ..; mkdir -p ../inbox; tar -cf ../inbox/r.tar r";
    let ran =
        std::process::Command::new("sh").args(["-c", make]).current_dir(&root).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    fs::remove_dir_all(&root).unwrap();
    Some(world)
}

#[tokio::test]
async fn exec_shell_has_low_trust_only_if_it_reads_an_untrusted_git_config() {
    let Some(world) = strangers().await else { return };
    shell(&world, "tar -xf inbox/r.tar").await;
    fs::remove_dir_all(world.workspace.path().join("inbox")).unwrap();
    let trust = async |command: &str| {
        let context = ToolContext { read: LeastTrust::default(), ..context() };
        let ran = world.run_in(&context, "exec_shell", json!({ "command": command })).await;
        assert_eq!(ran.unwrap().value["exit_code"], 0, "{command}");
        context.read.get()
    };
    for (command, expected) in [
        ("true", Trust::Full),
        ("echo mine > notes", Trust::Full),
        ("cat r/.git/config > /dev/null", Trust::Low),
        ("cd r && git config -l > /dev/null", Trust::Low),
        ("touch -a r/.git/config; true", Trust::Low),
        ("true", Trust::Full),
    ] {
        assert_eq!(trust(command).await, expected, "{command}");
    }
    // Another program begins and ends while a program runs.
    let context = ToolContext { read: LeastTrust::default(), ..context() };
    let command = "echo; until [ -e go ]; do :; done; echo done";
    let begun = json!({ "command": command, "background": true });
    let id = world.run_in(&context, "exec_shell", begun).await.unwrap().value["id"].clone();
    assert_eq!(trust("touch go").await, Trust::Full);
    let poll = || world.run_in(&context, "process_poll", json!({ "id": id, "wait": 30 }));
    while poll().await.unwrap().value["running"] == true {}
    assert_eq!(context.read.get(), Trust::Full);
}

#[tokio::test]
async fn git_tools_run_nothing_of_a_received_repository_and_ask() {
    let Some(world) = strangers().await else { return };
    let unpacked = shell(&world, "tar -xf inbox/r.tar").await;
    let aside = unpacked["set_aside"].to_string();
    for part in [
        "r/.git/config: removed: core.fsmonitor, filter.x.clean, filter.x.smudge, \
            filter.x.required",
        "r/.git/hooks/post-checkout: set aside as post-checkout.avocet-quarantine",
    ] {
        assert!(aside.contains(part), "{aside}");
    }
    // Somebody puts the quarantined configuration back by mistake.
    let git = world.workspace.path().join("r/.git");
    fs::copy(git.join("config.avocet-quarantine"), git.join("config")).unwrap();
    shell(&world, "cat inbox/r.tar > /dev/null; touch r/.git/config; echo two > r/a.txt").await;
    let r = || json!({"repository": "r"});
    for (tool, arguments) in [
        ("git_status", r()),
        ("git_diff", r()),
        ("git_log", r()),
        ("git_branches", r()),
        ("git_add", json!({"repository": "r", "all": true})),
        ("git_commit", json!({"repository": "r", "message": "x", "all": true})),
        ("git_switch", json!({"repository": "r", "branch": "side", "create": true})),
    ] {
        let question = text(asked(&world, tool, arguments.clone()).await);
        let why =
            "`r/.git/config` of this repository is untrusted; its filters and hooks do not run";
        assert!(question.contains(why), "{tool}: {question}");
        // As after an approval.
        let done = world.run(tool, arguments).await;
        assert!(done.is_ok(), "{tool}: {done:?}");
    }
    for place in ["ran", "mine/.git/hooks/post-checkout", "r/ran"] {
        assert!(!world.workspace.path().join(place).exists(), "{place}");
    }
    let log = world.value("git_log", json!({"repository": "r"})).await;
    assert_eq!((log.as_array().unwrap().len(), &log[1]["subject"]), (2, &json!("stranger")));
    // The owner's repository is unchanged.
    assert_eq!(asked(&world, "git_status", json!({"repository": "mine"})).await, None);
    // Programs cannot plant a hook in it by themselves, either.
    let ran = shell(
        &world,
        "cd r && touch a.txt && git add -A 2>&1; cat ../ran; ls \
        ../mine/.git/hooks | grep -c post-checkout$",
    )
    .await;
    assert!(
        ran["output"].as_str().unwrap().contains("ran"),
        "the filter ran in the sandbox: {ran}"
    );
    assert!(!world.workspace.path().join("mine/.git/hooks/post-checkout").exists());
    assert!(ran["read_only"].as_str().unwrap().contains("mine/.git/hooks"), "{ran}");
}

#[tokio::test]
async fn git_tools_run_nothing_of_an_untrusted_submodule() {
    let Some(world) = strangers().await else { return };
    shell(
        &world,
        "cd mine && tar -xf ../inbox/r.tar && git add r 2>/dev/null && git commit -qm link",
    )
    .await;
    let git = world.workspace.path().join("mine/r/.git");
    fs::copy(git.join("config.avocet-quarantine"), git.join("config")).unwrap();
    shell(&world, "cat inbox/r.tar > /dev/null; touch mine/r/.git/config; echo two > mine/r/a.txt")
        .await;
    let mine = || json!({"repository": "mine"});
    for (tool, arguments) in [
        ("git_status", mine()),
        ("git_diff", mine()),
        ("git_switch", json!({"repository": "mine", "branch": "side", "create": true})),
        ("git_add", json!({"repository": "mine", "all": true})),
        ("git_commit", json!({"repository": "mine", "message": "x", "all": true})),
    ] {
        assert_eq!(asked(&world, tool, arguments.clone()).await, None, "{tool}");
        world.run(tool, arguments).await.ok();
        assert!(!world.workspace.path().join("mine/ran").exists(), "{tool}");
    }
    shell(&world, "cd mine && git config --local -l").await;
    let path = world.workspace.path().join("mine/.git/config");
    let own = format!("{}[filter \"own\"]\n\tclean = cat\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, own).unwrap();
    let error = world.error("git_add", json!({"repository": "mine", "all": true})).await;
    assert!(
        error.contains("mine/r/.git/config is untrusted") && error.contains("avocet trust"),
        "{error}"
    );
}

#[tokio::test]
async fn git_tools_run_the_filters_of_the_owners_repository() {
    let Some(world) = strangers().await else { return };
    world.put("mine/.gitattributes", "*.txt filter=up\n");
    world.put("mine/a.txt", "small\n");
    let path = world.workspace.path().join("mine/.git/config");
    let own = format!(
        "{}[filter \"up\"]\n\tclean = tr a-z A-Z\n\trequired\n",
        fs::read_to_string(&path).unwrap()
    );
    fs::write(&path, own).unwrap();
    world.value("git_add", json!({"repository": "mine", "all": true})).await;
    assert_eq!(shell(&world, "git -C mine show :a.txt").await["output"], "SMALL\n");
}

#[tokio::test]
async fn exec_shell_changes_a_repository_only_with_a_command_of_only_git() {
    let Some(world) = strangers().await else { return };
    let get = "git -C mine config remote.origin.url";
    for (command, works) in [
        ("git -C mine remote add origin https://example.org/r.git", true),
        ("cd mine && git config user.name B && git checkout -q -b side", true),
        ("true && git -C mine branch --set-upstream-to=main side", true),
        ("sh -c 'git -C mine config user.name C'", false),
        ("touch x; git -C mine config user.name C", false),
        ("git -C mine config user.name C > out", false),
    ] {
        let ran = shell(&world, command).await;
        assert_eq!(ran["exit_code"] == 0, works, "{command}: {ran}");
        assert_eq!(ran["read_only"].is_string(), !works, "{command}: {ran}");
        assert_eq!(ran["set_aside"], Value::Null, "{command}: {ran}");
    }
    assert_eq!(shell(&world, get).await["output"], "https://example.org/r.git\n");
    // A setting that makes git run a program is removed.
    let ran = shell(&world, "git -C mine config core.fsmonitor evil").await;
    assert!(
        ran["set_aside"].to_string().contains("mine/.git/config: removed: core.fsmonitor"),
        "{ran}"
    );
    assert_eq!(shell(&world, "git -C mine config core.fsmonitor").await["exit_code"], 1);
    assert_eq!(shell(&world, get).await["output"], "https://example.org/r.git\n");
    // Files that git itself checks out are left in place.
    world.put("mine/.vscode/settings.json", "{}\n");
    for command in [
        "cd mine && git add . && git commit -qm vscode",
        "cd mine && git checkout -q main",
        "cd mine && git checkout -q side",
    ] {
        let ran = shell(&world, command).await;
        assert_eq!(
            (&ran["exit_code"], &ran["set_aside"]),
            (&json!(0), &Value::Null),
            "{command}: {ran}"
        );
    }
    assert_eq!(world.get("mine/.vscode/settings.json"), "{}\n");
    world.value("git_switch", json!({"repository": "mine", "branch": "main"})).await;
    assert!(!world.workspace.path().join("mine/.vscode").exists());
}

#[tokio::test]
async fn protected_path_written_by_a_program_is_set_aside_and_reported() {
    let world = World::new().await;
    let ran = shell(
        &world,
        "mkdir -p a/.vscode; echo x > a/.vscode/tasks.json; echo y > .envrc; \
        seq 20 | while read n; do echo > a/.vscode/$n; done",
    )
    .await;
    let aside: Vec<&str> =
        ran["set_aside"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(aside[0].ends_with("/.envrc: set aside as .envrc.avocet-quarantine"), "{aside:?}");
    assert_eq!((aside.len(), aside[10]), (11, "and 12 more"));
    assert!(ran["set_aside_because"].as_str().unwrap().contains("outside of the sandbox"));
    assert_eq!(world.get(".envrc.avocet-quarantine"), "y\n");
    let script = "echo x > .profile; echo ready; until [ -e go ]; do sleep 0.01; done";
    let started = world.value("exec_shell", json!({"command": script, "background": true})).await;
    world.value("process_poll", json!({"id": started["id"], "wait": 30})).await;
    let killed = world.value("process_kill", json!({"id": started["id"]})).await;
    assert!(killed["set_aside"].to_string().contains(".profile.avocet-quarantine"), "{killed}");
}

fn patch(path: &str) -> Value {
    json!({"patch": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-one\n+two\n")})
}

/// Calls that change a protected path, each with that path.
fn protected_changes() -> Vec<(&'static str, Value, &'static str)> {
    let rename = "diff --git a/plain.txt b/a/.bashrc\nrename from plain.txt\nrename to a/.bashrc\n";
    vec![
        (
            "write_file",
            json!({"path": "a/.git/hooks/pre-commit", "content": "evil"}),
            "a/.git/hooks/pre-commit",
        ),
        ("write_file", json!({"path": "./a/.ENVRC", "content": "evil"}), "a/.ENVRC"),
        (
            "write_file",
            json!({"path": "b/.vscode/tasks.json", "content": "evil"}),
            "b/.vscode/tasks.json",
        ),
        (
            "edit_file",
            json!({"path": "a/.git/config", "find": "core", "replace": "user"}),
            "a/.git/config",
        ),
        ("apply_patch", patch("a/.envrc"), "a/.envrc"),
        ("apply_patch", json!({ "patch": rename }), "a/.bashrc"),
        ("create_directory", json!({"path": "c/.git/hooks"}), "c/.git/hooks"),
        ("delete_file", json!({"path": "a/.envrc"}), "a/.envrc"),
        ("delete_file", json!({"path": "a", "recursive": true}), "a/"),
    ]
}

#[tokio::test]
async fn protected_path_is_changed_by_file_tools_only_after_a_question() {
    let allow = ToolPolicy {
        default: Some(Rule::Allow),
        low_trust: Some(Rule::Allow),
        ..ToolPolicy::default()
    };
    let rules = vec![("*".to_owned(), allow)];
    let world = World::new().await.with_policy(AgentPolicy { rules, ..AgentPolicy::default() });
    world.put("a/.git/config", "[core]\n");
    world.put("a/.git/objects/x", "");
    world.put("a/.git/refs/x", "");
    world.put("a/.envrc", "one\n");
    world.put("plain.txt", "one\n");
    for trust in [Trust::Full, Trust::Low] {
        for (tool, arguments, place) in protected_changes() {
            let asked = asked_at(&world, trust, tool, arguments.clone()).await;
            let request = asked.unwrap_or_else(|| panic!("{tool} {arguments}"));
            // A grant for the session is impossible here.
            assert_eq!(request.grant, None, "{tool}");
            let question = text(Some(request));
            assert!(
                question.contains("I ask because git, a shell or an editor runs the content of `"),
                "{question}"
            );
            assert!(
                question.contains(place) && question.contains("[sandbox] protected"),
                "{question}"
            );
        }
        for (tool, arguments) in [
            ("write_file", json!({"path": "a/src/main.rs", "content": "x"})),
            ("edit_file", json!({"path": "plain.txt", "find": "one", "replace": "two"})),
            ("apply_patch", patch("plain.txt")),
            ("delete_file", json!({"path": "plain.txt"})),
            ("create_directory", json!({"path": "a/src"})),
        ] {
            assert_eq!(
                asked_at(&world, trust, tool, arguments.clone()).await,
                None,
                "{tool} {arguments}"
            );
        }
    }
    // The prompt shows the exact change.
    let asked = asked(&world, "write_file", json!({"path": "a/.envrc", "content": "evil\n"})).await;
    assert!(text(asked).contains("-one\n+evil"));
}

#[tokio::test]
async fn protected_path_keeps_an_approved_change_when_a_program_ends() {
    let world = World::new().await;
    let script = "echo ready; until [ -e go ]; do sleep 0.01; done";
    let started = world.value("exec_shell", json!({"command": script, "background": true})).await;
    world.value("process_poll", json!({"id": started["id"], "wait": 30})).await;
    world.value("write_file", json!({"path": ".envrc", "content": "allowed"})).await;
    world.value("process_kill", json!({"id": started["id"]})).await;
    assert_eq!(world.get(".envrc"), "allowed");
}

#[tokio::test]
async fn protected_paths_exist_beside_the_workspace_too() {
    let directory = tempfile::TempDir::new().unwrap();
    let beside =
        Workspace::open_beside(directory.path(), avocet_sandbox::RootAccess::Change).unwrap();
    let world = World::beside(vec![beside]).await;
    let path = directory.path().canonicalize().unwrap().join(".envrc").display().to_string();
    let question = text(asked(&world, "write_file", json!({"path": path, "content": "x"})).await);
    assert!(question.contains("[sandbox] protected"), "{question}");
}

#[tokio::test]
async fn protected_path_is_written_as_approved_for_a_hook() {
    let world = World::new().await;
    world.put("a/.git/config", "[core]\n");
    world
        .value("write_file", json!({"path": "a/.git/hooks/pre-commit", "content": "#!/bin/sh\n"}))
        .await;
    assert_eq!(world.get("a/.git/hooks/pre-commit"), "#!/bin/sh\n");
    let mode = fs::metadata(world.workspace.path().join("a/.git/hooks/pre-commit"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0, "the file is not executable yet");
}
