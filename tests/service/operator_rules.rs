//! Tests of the operator's rules: `avocet rules`, with and without a daemon, and `[rules]` in the
//! configuration.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{DaemonProcess, Home, program};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::model::config;
use crate::patience::{logged, stop};

/// Runs a command of the program that must succeed.
fn printed(home: &Home, arguments: &[&str]) -> String {
    let ran = home.run(arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {}", ran.out);
    ran.out
}

/// Runs a command of the program that must fail with this text.
fn assert_refused(home: &Home, arguments: &[&str], expected: &str) {
    let ran = home.run(arguments);
    assert_ne!(ran.code, Some(0), "{arguments:?}: {}", ran.out);
    assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
}

fn instructions(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

/// Sends a text, and returns the reply.
async fn tell(chat: &AttachedChat, text: &str) -> String {
    chat.ask(text).await;
    chat.reply().await.text
}

/// Lets the daemon read a changed configuration.
async fn reload(home: &Home, daemon: &mut DaemonProcess, config: &str) {
    let text = "changed keys of the configuration are in use";
    let before = daemon.logged(text);
    let new = home.path(".config/avocet/new.toml");
    fs::write(&new, config).unwrap();
    fs::rename(new, home.path(".config/avocet/config.toml")).unwrap();
    daemon.signal(Signal::HUP);
    logged(daemon, text, before + 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_command_adds_lists_and_removes_rules_with_and_without_a_daemon() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("ok")).await;
    let home = Home::new(program!()).with_config(&config(&model, "[agents.coder]\n"));
    assert_eq!(printed(&home, &["rules"]), "There are no rules.\n");
    assert_eq!(printed(&home, &["rules", "list", "--json"]).trim(), "[]");
    let added = printed(&home, &["rules", "add", "speak  \"French\""]);
    assert_eq!(added, "r1 holds from now on (everyone); given to the model only\n");

    let daemon = home.daemon();
    let add = ["rules", "add", "never git push", "--scope", "agent coder", "--json"];
    let added: Value = serde_json::from_str(&printed(&home, &add)).unwrap();
    let enforced = "refuses each call of `git_push`, and each program with `git push`";
    for (key, expected) in [
        ("name", "r2"),
        ("text", "never git push"),
        ("scope", "agent coder"),
        ("by", "host"),
        ("enforces", enforced),
    ] {
        assert_eq!(added[key], expected, "{added}");
    }
    for scope in ["chat terminal:local:bob", "chat terminal:local:ann", "person telegram:main:7"] {
        printed(&home, &["rules", "add", "be brief", "--scope", scope]);
    }
    let chat = AttachedChat::join(&home, "ann").await;
    tell(&chat, "hello").await;
    let request = model.requests().pop().unwrap();
    let system = instructions(&request);
    assert!(system.ends_with("\n- r1: speak  \"French\"\n- r4: be brief"), "{system}");

    let table = printed(&home, &["rules"]);
    let rows = [
        "r1    everyone                 host  speak \"French\"  given to the model only",
        &format!("r2    agent coder              host  never git push  the program {enforced}"),
        "r3    chat terminal:local:bob  host  be brief        given to the model only",
    ];
    for row in rows {
        assert!(table.contains(row), "{table}");
    }
    let listed: Value = serde_json::from_str(&printed(&home, &["rules", "--json"])).unwrap();
    assert_eq!(listed[1], added);
    let refusals: [(&[&str], &str); 6] = [
        (
            &["rules", "add", "speak  \"French\""],
            "the rule is not added: rule r1 says that already",
        ),
        (&["rules", "add", " "], "the rule is not added: a rule needs a text"),
        (
            &["rules", "add", "no salt", "--scope", "agent cook"],
            "the rule is not added: there is no agent \"cook\"; there are: default, builder, coder, ",
        ),
        (&["rules", "add", "no salt", "--scope", "all"], "\"all\" is not the scope of a rule"),
        (&["rules", "remove", "r9"], "there is no rule r9; `avocet rules` shows them"),
        (&["rules", "remove", "config-1"], "there is no rule config-1"),
    ];
    for (arguments, expected) in refusals {
        assert_refused(&home, arguments, expected);
    }
    assert_eq!(printed(&home, &["rules", "remove", "r1"]), "r1 no longer holds\n");
    stop(daemon).await;
    assert_refused(&home, &["rules", "remove", "r1"], "there is no rule r1");
    printed(&home, &["rules", "remove", "r5"]);
    let listed: Value = serde_json::from_str(&printed(&home, &["rules", "--json"])).unwrap();
    let names = listed.as_array().unwrap().iter().map(|rule| rule["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), [json!("r2"), json!("r3"), json!("r4")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_of_the_configuration_hold_stay_and_change_with_a_reload() {
    let arguments = json!({ "path": "notes/a.md", "content": "x" });
    let model = OpenAiFake::start(move |request| match &last_results(request)[..] {
        [] if last_user_text(request) == "write" => {
            ModelAnswer::call("write_file", arguments.clone())
        }
        [] => ModelAnswer::says("ok"),
        results => ModelAnswer::says(results.join(" ")),
    })
    .await;
    let base = config(&model, "");
    let rules = "\n[rules]\neveryone = [\"be  brief\", \"never change files in notes/\"]\n\
                 chats = { \"terminal:local:bob\" = [\"speak English\"] }\n";
    let home = Home::new(program!()).with_config(&format!("{base}{rules}"));
    let file = home.path(".config/avocet/config.toml");
    let place = format!("config-2 is `rules.everyone[1]` of {}; remove it there", file.display());
    assert_refused(&home, &["rules", "remove", "config-2"], &place);

    let mut daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    tell(&chat, "/rule add no salt").await;
    tell(&chat, "hello").await;
    let request = model.requests().pop().unwrap();
    let system = instructions(&request);
    let all = "\n- config-1: be  brief\n- config-2: never change files in notes/\n- r1: no salt";
    assert!(system.ends_with(all), "{system}");
    let refused = tell(&chat, "write").await;
    let says = "write_file is not allowed here: rule config-2 says: never change files in notes/";
    assert!(refused.contains(says), "{refused}");

    let shown = "config-1 (everyone, from the configuration): be  brief\n\n\
                 config-2 (everyone, from the configuration): never change files in notes/\n\n\
                 config-3 (chat terminal:local:bob, from the configuration): speak English\n\n\
                 r1 (everyone): no salt";
    assert_eq!(tell(&chat, "/rules").await, shown);
    let table = printed(&home, &["rules"]);
    assert!(table.contains("config-2  everyone                 rules.everyone[1]"), "{table}");
    assert_refused(&home, &["rules", "remove", "config-2"], &place);
    let refused = tell(&chat, "/rule remove config-2").await;
    let only =
        "config-2 is in the configuration, as `rules.everyone[1]`. It can be removed only there.";
    assert_eq!(refused, only);
    assert_eq!(
        tell(&chat, "/rule add be  brief").await.lines().next().unwrap(),
        "I did not add the rule: rule config-1 says that already."
    );

    reload(&home, &mut daemon, &format!("{base}\n[rules]\neveryone = [\"be kind\"]\n")).await;
    tell(&chat, "hello again").await;
    let request = model.requests().pop().unwrap();
    let system = instructions(&request);
    assert!(system.ends_with("\n- config-1: be kind\n- r1: no salt"), "{system}");
    tell(&chat, "write").await;
    assert!(home.workspace().join("notes/a.md").exists());
    let listed = printed(&home, &["rules"]);
    assert!(listed.contains("be kind") && !listed.contains("notes/"), "{listed}");
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}
