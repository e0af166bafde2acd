//! Tests of tasks with a real daemon: SIGKILL at each step of a task, and the commands.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::crash::{dies, doomed};
use crate::log::number;
use crate::model::{asked, config, held, held_back};
use crate::patience::{stop, until, with_timeout};
use crate::telegram::{self, ANN, TOKEN};

/// A model whose root turn starts these tasks and then repeats their results. A task is answered by
/// its text in capitals.
async fn delegating(calls: Vec<Value>) -> OpenAiFake {
    OpenAiFake::start(move |request| {
        let results = last_results(request).join(" ");
        match last_user_text(request) {
            "go" if results.is_empty() => {
                let calls = calls.iter().map(|call| ("spawn".to_owned(), call.clone()));
                ModelAnswer::Calls(calls.collect())
            }
            "go" => ModelAnswer::says(&results),
            task => ModelAnswer::says(task.to_uppercase()),
        }
    })
    .await
}

/// Sends the message, and lets the daemon die at the fail point.
async fn killed_at(home: &Home, point: &str) {
    let mut daemon = doomed(home, point);
    daemon.wait_until_ready();
    let chat = AttachedChat::join(home, "ann").await;
    drop(chat.try_ask("go", None).await);
    dies(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_each_step_of_two_tasks_keeps_both_and_ends_each_once() {
    let points = [
        "record-step:after",
        "start-call:after",
        "start-call:after:2",
        "reserve-wait:after:2",
        "wait:before",
        "wait:after",
        "claim:after:2",
        "settle:before",
        "settle:after",
        "settle:before:2",
        "settle:after:2",
        "close-step:before",
        "close-step:after",
    ];
    for point in points {
        let model = delegating(vec![json!({ "task": "one" }), json!({ "task": "two" })]).await;
        let home = Home::new(program!()).with_config(&config(&model, ""));
        killed_at(&home, point).await;

        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        let reply = chat.reply().await;
        assert_eq!(reply.text, r#"{"answer":"ONE"} {"answer":"TWO"}"#, "{point}");
        assert!(!reply.repeat, "{point}");
        chat.is_over().await;
        assert_eq!(number(&home, "SELECT count(*) FROM turns WHERE state = 'done'"), 3, "{point}");
        assert_eq!(number(&home, "SELECT count(*) FROM turns"), 3, "{point}");
        assert_eq!(number(&home, "SELECT count(*) FROM waits WHERE resolved = 0"), 0, "{point}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_each_step_of_a_background_task_reports_its_end_once() {
    let points = [
        "reserve-task:after",
        "finish-call:before",
        "finish-call:after",
        "settle:before",
        "settle:after",
        "settle:before:2",
        "settle:after:2",
    ];
    for point in points {
        let call = json!({ "task": "watch", "label": "watching", "background": true });
        let model = delegating(vec![call]).await;
        let home = Home::new(program!()).with_config(&config(&model, ""));
        killed_at(&home, point).await;

        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        let mut texts = [chat.reply().await.text, chat.reply().await.text];
        texts.sort();
        assert_eq!(texts[0], "Task “watching” is done:\n\nWATCH", "{point}");
        assert!(texts[1].contains("is started; its answer will come"), "{point}: {texts:?}");
        chat.is_over().await;
        let ended = "SELECT count(*) FROM turns WHERE state = 'done'";
        assert_eq!(number(&home, ended), 2, "{point}");
        assert_eq!(number(&home, "SELECT count(*) FROM turns"), 2, "{point}");
        let reports =
            "SELECT count(*) FROM reports WHERE text LIKE 'Task “watching” is done:%WATCH'";
        assert_eq!(number(&home, reports), 1, "{point}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_commands_list_show_and_cancel_with_and_without_a_daemon() {
    let never = held();
    let model = OpenAiFake::start(move |request| {
        let results = last_results(request).join(" ");
        match last_user_text(request) {
            "go" if results.is_empty() => ModelAnswer::Calls(vec![
                (
                    "spawn".to_owned(),
                    json!({ "task": "look around", "label": "survey", "agent": "reviewer" }),
                ),
                ("spawn".to_owned(), json!({ "task": "wait" })),
            ]),
            "go" => ModelAnswer::says(&results),
            _ => held_back(&never, "never"),
        }
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("go").await;
    let running = "SELECT count(*) FROM turns WHERE state = 'running'";
    until("both tasks run", async || number(&home, running) == 2).await;
    let listed = home.run(&["tasks", "list", "--json"]);
    let tasks: Value = serde_json::from_str(&listed.out).unwrap();
    let ids: Vec<&str> =
        tasks.as_array().unwrap().iter().filter_map(|t| t["id"].as_str()).collect();
    assert_eq!((ids.len(), &tasks[1]["agent"]), (2, &json!("reviewer")), "{listed:?}");
    let listed = home.run(&["tasks", "list", "ann"]);
    assert!(listed.out.contains("survey") && listed.out.contains("running"), "{listed:?}");
    let shown = home.run(&["tasks", "show", ids[1]]);
    assert!(shown.out.contains("task: look around\n"), "{shown:?}");
    let cancelled = home.run(&["tasks", "cancel", ids[1]]);
    assert_eq!(cancelled.out, format!("{} is cancelled\n", ids[1]), "{cancelled:?}");
    let again = home.run(&["tasks", "cancel", ids[1]]);
    assert!(again.err.contains("there is no open task"), "{again:?}");
    drop(chat);
    stop(daemon).await;

    let cancelled = home.run(&["tasks", "cancel", ids[0]]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let reply = chat.reply().await;
    assert_eq!(reply.text.matches("cancelled by the user").count(), 2, "{}", reply.text);
    stop(daemon).await;
}

/// Writes a skill that allows these tools.
fn write_skill(home: &Home, name: &str, allowed: &str) {
    let folder = home.workspace().join("skills").join(name);
    fs::create_dir_all(&folder).unwrap();
    let text =
        format!("---\nname: {name}\ndescription: d\nallowed-tools: {allowed}\n---\nDo it.\n");
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_skill_of_a_turn_limits_its_children_at_execution_also_after_a_crash() {
    let model = OpenAiFake::start(move |request| {
        let results = last_results(request).join(" ");
        match last_user_text(request) {
            "go" if results.is_empty() => {
                ModelAnswer::call("use_skill", json!({ "name": "reading" }))
            }
            "go" if results.starts_with("[skill reading") => {
                ModelAnswer::call("spawn", json!({ "task": "write" }))
            }
            // The child tries to free itself with another skill.
            "write" if results.is_empty() => {
                ModelAnswer::call("use_skill", json!({ "name": "writing" }))
            }
            "write" if results.starts_with("[skill writing") => {
                ModelAnswer::call("write_file", json!({ "path": "made", "content": "x" }))
            }
            _ => ModelAnswer::says(&results),
        }
    })
    .await;
    for point in ["wait:after", "claim:after:2", "record-step:after:4"] {
        let home = Home::new(program!()).with_config(&config(&model, ""));
        write_skill(&home, "reading", "read_file spawn");
        write_skill(&home, "writing", "write_file");
        killed_at(&home, point).await;
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        let reply = chat.reply().await;
        let refusal = "is not one of the tools of the skill reading, which the agent above uses";
        assert!(reply.text.contains(refusal), "{point}: {}", reply.text);
        assert!(!home.workspace().join("made").exists(), "{point}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_list_of_an_agent_or_of_a_child_refuses_tools_that_were_not_offered() {
    let write = || ModelAnswer::call("write_file", json!({ "path": "made", "content": "x" }));
    let model = OpenAiFake::start(move |request| {
        let results = last_results(request).join(" ");
        match last_user_text(request) {
            task if results.is_empty() => match task.strip_prefix("as ") {
                Some(agent) => {
                    ModelAnswer::call("spawn", json!({ "task": "write", "agent": agent }))
                }
                None => write(),
            },
            _ => ModelAnswer::says(&results),
        }
    })
    .await;
    // The configuration, the message, and the table that refuses the call.
    let table = [
        ("tools = [\"read_file\"]\n", "write", "[agents.defaults.tools]"),
        ("", "as reviewer", "[agents.reviewer.tools]"),
        ("", "as triager", "[agents.triager.tools]"),
        // The child of a narrow agent is as narrow, whatever its profile has.
        ("tools = [\"read_file\", \"spawn\"]\n", "as builder", "[agents.defaults.tools]"),
    ];
    for (keys, message, refusal) in table {
        let home = Home::new(program!()).with_config(&config(&model, keys));
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        chat.ask(message).await;
        let reply = chat.reply().await.text;
        assert!(reply.contains(refusal), "{keys:?} {message}: {reply}");
        assert!(!home.workspace().join("made").exists(), "{keys:?} {message}");
        stop(daemon).await;
    }
    let offered = |request: &Value| request["tools"].to_string();
    let requests = model.requests();
    assert!(requests.iter().any(|request| offered(request).contains("read_file")));
    assert!(!offered(&requests[0]).contains("write_file"), "{}", requests[0]["tools"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_of_a_background_task_stays_one_message_after_a_kill() {
    let platform = TelegramFake::start(TOKEN).await;
    let end = held();
    let permits = end.clone();
    let model = OpenAiFake::start(move |request| match last_user_text(request) {
        "go" if last_results(request).is_empty() => ModelAnswer::call(
            "spawn",
            json!({ "task": "watch", "label": "survey", "background": true }),
        ),
        "go" => ModelAnswer::says("started"),
        _ => held_back(&permits, "seen"),
    })
    .await;
    let home = telegram::home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "go");
    let progress = "t2 survey: running, step 1";
    let shows = |sent: &[SentMessage]| sent.iter().any(|one| one.text == progress);
    with_timeout("the progress", platform.wait_for(shows)).await;
    until("the progress in the log", async || {
        number(&home, "SELECT count(*) FROM outbox WHERE state = 'preview'") == 1
    })
    .await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;

    let daemon = home.daemon();
    asked(&model, 4).await;
    end.add_permits(100);
    let is_told = |sent: &[SentMessage]| sent.iter().any(|one| one.text.ends_with("\n\nseen"));
    with_timeout("the answer", platform.wait_for(is_told)).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    let texts: Vec<String> = platform.sent().into_iter().map(|one| one.text).collect();
    assert_eq!(texts, ["started", "t2 survey: done", "Task “survey” is done:\n\nseen"]);
    assert_eq!(platform.refusals(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profile_of_a_person_answers_their_private_chat_from_its_prompt_file() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|request| {
        let system = request["messages"][0]["content"].as_str().unwrap_or_default();
        let word = |word| if system.contains(word) { word } else { "" };
        ModelAnswer::says(format!("answer {}{}", word("HEDGEHOG"), word("BADGER")))
    })
    .await;
    let profile = format!(
        "[agents.ann]\npeople = [\"telegram:main:{ANN}\"]\nprompt_file = \"ann.md\"\n\
         workspace = \"of-ann\"\n"
    );
    let home = telegram::home_with(&platform, &model, &profile);
    let file = home.path(".config/avocet/ann.md");
    let missing = home.run(&["run"]);
    assert_eq!(missing.code, Some(78), "{missing:?}");
    assert!(missing.err.contains("`agents.ann.prompt_file`: cannot read"), "{missing:?}");
    fs::write(&file, "Say HEDGEHOG.").unwrap();
    let daemon = home.daemon();
    let answers = async |count: usize| {
        let sent = with_timeout("an answer", platform.wait_for_sent(count)).await;
        sent[count - 1].text.clone()
    };
    platform.private_text(ANN, "hi");
    assert_eq!(answers(1).await, "answer HEDGEHOG");
    fs::write(&file, "Say BADGER.").unwrap();
    platform.private_text(ANN, "hi");
    assert_eq!(answers(2).await, "answer BADGER");
    let shown = home.run(&["prompt", &format!("telegram:main:{ANN}")]);
    assert!(shown.out.contains("Say BADGER.") && shown.out.contains("prompt_file"), "{shown:?}");
    fs::remove_file(&file).unwrap();
    platform.private_text(ANN, "hi");
    let notice = answers(3).await;
    assert!(notice.contains("agents.ann.prompt_file: cannot read"), "{notice}");
    let chat = AttachedChat::join(&home, "bob").await;
    chat.ask("hi").await;
    assert_eq!(chat.reply().await.text.trim(), "answer");
    stop(daemon).await;
    assert!(home.path(".config/avocet/of-ann").is_dir(), "a workspace of its own");
}

#[test]
fn agents_commands_list_and_show_shipped_and_own_profiles() {
    let own = "[agents.work]\nprompt = \"Be brief.\"\ntools = [\"read_file\"]\n";
    let home = Home::new(program!()).with_config(own);
    let listed = home.run(&["agents", "list"]);
    for name in ["default", "builder", "debugger", "reviewer", "triager", "work"] {
        assert!(listed.out.contains(name), "{listed:?}");
    }
    let shown = home.run(&["agents", "show", "work", "--json"]);
    let profile: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(
        (&profile["prompt"], &profile["tools"]),
        (&json!("Be brief."), &json!(["read_file"]))
    );
    for name in ["default", "defaults"] {
        let shown = home.run(&["agents", "show", name]);
        assert!(shown.out.contains("conversations: all others\n"), "{shown:?}");
    }
    let unknown = home.run(&["agents", "show", "wrok"]);
    assert!(unknown.err.contains("the profiles are default, builder"), "{unknown:?}");
}
