//! Tests of schedules with a real daemon: SIGKILL at each step, missed times, questions of
//! scheduled tasks, and the heartbeat.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{FAIL_POINT, Home, program};
use serde_json::{Value, json};

use crate::chat::{AttachedChat, connect};
use crate::crash::{dies, doomed};
use crate::log::{change, number};
use crate::model::{asked, config};
use crate::patience::{stop, until};

const RUNS: &str = "SELECT count(*) FROM schedule_runs";
const SCHEDULES: &str = "SELECT count(*) FROM schedules";

/// A model that answers a scheduled task by its last line in capitals.
async fn diligent() -> OpenAiFake {
    OpenAiFake::start(|request| {
        let task = last_user_text(request).lines().last().unwrap_or_default();
        ModelAnswer::says(task.to_uppercase())
    })
    .await
}

fn printed(home: &Home, arguments: &[&str]) -> String {
    let ran = home.run(arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
    ran.out
}

fn add(home: &Home, arguments: &[&str]) {
    printed(home, &[&["schedule", "add", "ann"], arguments].concat());
}

/// Moves the start of the only schedule to this number of minutes ago.
fn miss(home: &Home, minutes: i64) {
    let first = format!("(made_at - {minutes} * 60000)");
    change(
        home,
        &format!(
            "UPDATE schedules SET next_at = {first}, \
                 rule = json_set(rule, '$.recurrence.every.from', {first})"
        ),
    );
}

/// Makes the only schedule due now. Another one, for later, wakes the daemon, which may die before it
/// answers.
fn come_due(home: &Home) {
    let due = "UPDATE schedules SET next_at = made_at, rule = json_set(rule, '$.recurrence.once', made_at)";
    change(home, due);
    drop(home.run(&["schedule", "add", "ann", "--text", "Later.", "--in", "2h"]));
}

/// Checks that the chat gets these texts, each once and unmarked, and nothing else.
async fn gets(home: &Home, texts: &[&str], what: &str) {
    let unmarked: Vec<_> = texts.iter().map(|text| (*text, false)).collect();
    gets_marked(home, &unmarked, what).await;
}

/// Checks that the chat gets these texts, each once with this mark, and nothing else.
async fn gets_marked(home: &Home, texts: &[(&str, bool)], what: &str) {
    let chat = AttachedChat::join(home, "ann").await;
    for text in texts {
        let reply = chat.reply().await;
        assert_eq!((reply.text.as_str(), reply.repeat), *text, "{what}");
    }
    chat.is_over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f17_crash_at_each_point_of_a_due_time_runs_it_once() {
    // The work, and the points that it passes.
    let text = ["claim-due:before", "claim-due:after", "start-send:before"];
    let task = [
        "claim-due:before",
        "claim-due:after",
        "claim:before",
        "claim:after",
        "settle:before",
        "settle:after",
    ];
    let works = [("--text", "Stretch.", &text[..]), ("--task", "stretch", &task)];
    for (option, work, points) in works {
        for point in points {
            let model = diligent().await;
            let home = Home::new(program!()).with_config(&config(&model, ""));
            add(&home, &[option, work, "--in", "1h"]);
            let mut daemon = doomed(&home, point);
            daemon.wait_until_ready();
            let chat = AttachedChat::join(&home, "ann").await;
            come_due(&home);
            assert_eq!(chat.hear_until_lost().await, [false; 0], "{point}");
            dies(daemon).await;

            let daemon = home.daemon();
            let answer = if option == "--text" { work.to_owned() } else { work.to_uppercase() };
            // The end of the turn has started the send.
            let is_marked = *point == "settle:after";
            gets_marked(&home, &[(&answer, is_marked)], point).await;
            assert_eq!(number(&home, RUNS), 1, "{point}");
            let turns = number(&home, "SELECT count(*) FROM turns WHERE state = 'done'");
            assert_eq!(turns, i64::from(option == "--task"), "{point}");
            let ended = "SELECT count(*) FROM schedules WHERE state = 'ended'";
            assert_eq!(number(&home, ended), 1, "{point}");
            stop(daemon).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f17_missed_times_follow_their_policy_over_a_crash_of_the_claim() {
    // Times every hour; the last was half an hour ago.
    for (policy, runs) in [("skip", 0), ("once", 1), ("all", 4)] {
        for point in ["claim-due:before", "claim-due:after"] {
            let home = Home::new(program!());
            add(&home, &["--text", "Stretch.", "--every", "1h", "--catch-up", policy]);
            miss(&home, 210);
            dies(doomed(&home, point)).await;

            let daemon = home.daemon();
            let claimed = "SELECT count(*) FROM schedules WHERE next_at > made_at";
            until("the claim", async || number(&home, claimed) == 1).await;
            gets(&home, &vec!["Stretch."; runs], &format!("{policy} {point}")).await;
            let sent = number(&home, &format!("{RUNS} WHERE result = 'sent'"));
            assert_eq!(usize::try_from(sent).unwrap(), runs, "{policy} {point}");
            let all = number(&home, "SELECT count(*) + sum(skipped) FROM schedule_runs");
            assert_eq!(all, 4, "{policy} {point}: each missed time is in the log");
            stop(daemon).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_while_a_schedule_is_added_keeps_one_for_its_key() {
    let arguments =
        ["schedule", "add", "ann", "--text", "Stretch.", "--every", "1h", "--key", "k1", "--json"];
    for point in ["add-schedule:before", "add-schedule:after"] {
        // By the daemon, and by the command itself without one.
        for with_daemon in [true, false] {
            let home = Home::new(program!());
            if with_daemon {
                let mut daemon = doomed(&home, point);
                daemon.wait_until_ready();
                assert_ne!(home.run(&arguments).code, Some(0), "{point}");
                dies(daemon).await;
            } else {
                printed(&home, &["schedule", "list"]);
                let died = home.command(&arguments).env(FAIL_POINT, point).output().unwrap();
                assert_eq!(died.status.code(), None, "{point}: {died:?}");
            }
            let kept = i64::from(point.ends_with(":after"));
            assert_eq!(number(&home, SCHEDULES), kept, "{point}");
            let daemon = home.daemon();
            let first: Value = serde_json::from_str(&printed(&home, &arguments)).unwrap();
            let again: Value = serde_json::from_str(&printed(&home, &arguments)).unwrap();
            assert_eq!(first["schedule"]["id"], "s1", "{point}");
            assert_eq!(again["schedule"], first["schedule"], "{point}");
            assert_eq!(number(&home, SCHEDULES), 1, "{point}");
            stop(daemon).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_while_a_schedule_is_changed_leaves_the_old_or_the_new_state() {
    let commands = [("pause", "active", "paused"), ("resume", "paused", "active")];
    for (command, old, new) in commands.into_iter().chain([("remove", "active", "")]) {
        for (point, expected) in [("change-schedule:before", old), ("change-schedule:after", new)] {
            let home = Home::new(program!());
            add(&home, &["--text", "Stretch.", "--every", "1h"]);
            if command == "resume" {
                printed(&home, &["schedule", "pause", "s1"]);
            }
            let mut daemon = doomed(&home, point);
            daemon.wait_until_ready();
            assert_ne!(home.run(&["schedule", command, "s1"]).code, Some(0), "{point}");
            dies(daemon).await;

            let list: Value =
                serde_json::from_str(&printed(&home, &["schedule", "list", "--json"])).unwrap();
            let state = list[0]["schedule"]["state"].as_str().unwrap_or_default();
            assert_eq!(state, expected, "{command} {point}");
            let again = home.run(&["schedule", command, "s1"]);
            assert_eq!(again.code == Some(0), expected == old, "{command} {point}: {again:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_while_configured_schedules_are_stored_leaves_no_half() {
    let table = |name: &str, text: &str| {
        format!(
            "[schedules.{name}]\nchat = \"terminal:local:ann\"\nevery = \"1h\"\ntext = \"{text}\"\n"
        )
    };
    let texts = "SELECT group_concat(body) FROM (SELECT body FROM schedules ORDER BY body)";
    for (point, expected) in
        [("set-schedules:before", "one,two"), ("set-schedules:after", "three,two")]
    {
        let home = Home::new(program!()).with_config(&(table("a", "one") + &table("b", "two")));
        stop(home.daemon()).await;
        let home = home.with_config(&(table("b", "two") + &table("c", "three")));
        dies(doomed(&home, point)).await;
        assert_eq!(crate::log::text(&home, texts), expected, "{point}");
        stop(home.daemon()).await;
        assert_eq!(crate::log::text(&home, texts), "three,two", "{point}");
        let kept = "SELECT id FROM schedules WHERE body = 'two'";
        assert_eq!(number(&home, kept), 2, "{point}: an unchanged schedule stays");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_while_the_agent_adds_a_schedule_keeps_one() {
    let points = [
        "reserve-schedule:before",
        "reserve-schedule:after",
        "finish-call:before",
        "finish-call:after",
    ];
    for point in points {
        let model = OpenAiFake::start(|request| match last_results(request)[..] {
            [] => ModelAnswer::call(
                "schedule",
                json!({
                    "action": "add", "task": "What is due in todo.md?",
                    "cron": "0 8 * * mon-fri", "zone": "Europe/Berlin",
                }),
            ),
            [result, ..] => ModelAnswer::says(result),
        })
        .await;
        let home = Home::new(program!()).with_config(&config(&model, ""));
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        let chat = AttachedChat::join(&home, "ann").await;
        drop(chat.try_ask("every weekday at 8, Berlin time", None).await);
        dies(daemon).await;

        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        let reply = chat.reply().await.text;
        let id = number(&home, "SELECT id FROM schedules");
        assert!(reply.starts_with(&format!("Added s{id}. Next: ")), "{point}: {reply}");
        let times: Vec<&str> = reply.split("; ").collect();
        assert_eq!(times.len(), 3, "{point}: {reply}");
        for time in times {
            assert!(time.contains("day, ") && !time.contains("Sunday"), "{point}: {reply}");
            assert!(!time.contains("Saturday"), "{point}: {reply}");
            assert!(time.contains(", 08:00 (Europe/Berlin)"), "{point}: {reply}");
        }
        chat.is_over().await;
        assert_eq!(number(&home, SCHEDULES), 1, "{point}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_of_a_scheduled_task_is_answered_in_its_chat_even_after_a_restart() {
    let model = OpenAiFake::start(|request| match last_results(request)[..] {
        [] if last_user_text(request) == "hello" => ModelAnswer::says("Hello, Ann."),
        [] => ModelAnswer::call("ask_user", json!({ "question": "Which list?" })),
        [result, ..] => ModelAnswer::says(result),
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    add(&home, &["--task", "sort a list", "--every", "1h"]);
    let daemon = home.daemon();
    printed(&home, &["schedule", "run", "s1"]);
    let chat = AttachedChat::join(&home, "ann").await;
    assert_eq!(chat.reply().await.text, "The scheduled task s1 asks:\n\nWhich list?");
    until("the turn that waits", async || chat.log_status().await["waiting"] == 1).await;
    stop(daemon).await;

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("the long one").await;
    assert_eq!(chat.reply().await.text, r#"{"answer":"the long one"}"#);
    chat.is_over().await;
    chat.ask("hello").await;
    assert_eq!(chat.reply().await.text, "Hello, Ann.");
    stop(daemon).await;
}

/// A job cannot create jobs, not even through a sub-agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f17_child_of_a_scheduled_task_cannot_make_a_schedule() {
    let model = OpenAiFake::start(|request| {
        let results = last_results(request).join(" ");
        let add = json!({ "action": "add", "text": "again", "in": "2m" });
        match last_user_text(request) {
            "add one" if results.is_empty() => ModelAnswer::call("schedule", add),
            _ if results.is_empty() => ModelAnswer::Calls(vec![
                ("schedule".to_owned(), add),
                ("spawn".to_owned(), json!({ "task": "add one" })),
            ]),
            _ => ModelAnswer::says(&results),
        }
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    add(&home, &["--task", "multiply", "--every", "1h"]);
    let daemon = home.daemon();
    printed(&home, &["schedule", "run", "s1"]);
    let chat = AttachedChat::join(&home, "ann").await;
    let reply = chat.reply().await.text;
    assert_eq!(reply.matches("a job cannot create jobs").count(), 2, "{reply}");
    assert_eq!(number(&home, SCHEDULES), 1);
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeat_without_work_is_silent_and_its_cost_is_a_line_of_the_usage() {
    let model = OpenAiFake::start(|request| match last_user_text(request) {
        task if task.contains("HEARTBEAT.md") => ModelAnswer::says("NOTHING_NEW"),
        _ => ModelAnswer::says("ok"),
    })
    .await;
    let heartbeat = "[heartbeat]\nevery = \"1h\"\nchat = \"terminal:local:ann\"\n";
    let home = Home::new(program!()).with_config(&config(&model, ""));
    stop(home.daemon()).await;
    assert_eq!(number(&home, SCHEDULES), 0, "it is off by default");
    let home = home.with_config(&config(&model, heartbeat));
    let daemon = home.daemon();
    let file = home.workspace().join("HEARTBEAT.md");
    let looks =
        [None, Some(""), Some("# Heartbeat\n\n## Daily\n"), Some("# H\n<!-- nothing -->\n- [ ]\n")];
    for (done, look) in (1..).zip(looks) {
        if let Some(text) = look {
            fs::write(&file, text).unwrap();
        }
        printed(&home, &["schedule", "run", "s1"]);
        until("the look", async || number(&home, RUNS) == done).await;
    }
    let empty = number(&home, &format!("{RUNS} WHERE result = 'empty'"));
    assert_eq!((empty, model.requests().len()), (4, 0));
    assert_eq!(printed(&home, &["usage"]), "No costs in the last 30 days.\n");

    fs::write(&file, "# Heartbeat\n- water the plants\n").unwrap();
    printed(&home, &["schedule", "run", "s1"]);
    asked(&model, 1).await;
    gets(&home, &[], "an answer without news").await;
    assert_eq!(number(&home, "SELECT count(*) FROM outbox WHERE turn IS NOT NULL"), 0);
    let usage = printed(&home, &["usage"]);
    let (_, schedules) = usage.split_once("\nOf this, for schedules:\n").unwrap();
    assert!(schedules.lines().nth(1).unwrap().starts_with("heartbeat        1  "), "{usage}");
    let usage: Value = serde_json::from_str(&printed(&home, &["usage", "--json"])).unwrap();
    assert_eq!(usage["schedules"][0]["schedule"], "heartbeat", "{usage}");
    assert_eq!(usage["schedules"][0]["answers"], 1, "{usage}");
    stop(daemon).await;
}

/// The parameters of `schedule.add`, changed by `wrong`.
fn with(wrong: &[(&str, Value)]) -> Value {
    let mut params = json!({
        "chat": "terminal:local:ann", "kind": "private", "times": { "every": "1h" },
        "work": { "text": "Stretch." }, "catch_up": "once", "quiet": true,
    });
    for (key, value) in wrong {
        params[*key] = value.clone();
    }
    params
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_methods_name_the_wrong_parameter() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let client = connect(&home).await;
    let table = [
        ("schedule.add", json!({}), "chat"),
        ("schedule.add", with(&[("chat", json!("nowhere"))]), "chat"),
        ("schedule.add", with(&[("chat", json!("fax:main:1"))]), "on no configured channel"),
        ("schedule.add", with(&[("times", json!({}))]), "exactly one of in, at, every and cron"),
        ("schedule.add", with(&[("times", json!({ "every": "5s" }))]), "at least 60 s"),
        ("schedule.add", with(&[("work", json!({ "text": " " }))]), "the text is empty"),
        (
            "schedule.add",
            with(&[("work", json!({ "dance": "x" }))]),
            "`dance` is not a possible value",
        ),
        ("schedule.add", with(&[("agent", json!("x"))]), "a text needs no agent"),
        ("schedule.add", with(&[("catch_up", json!("never"))]), "`never` is not a possible value"),
        ("schedule.add", with(&[("colour", json!("red"))]), "unknown key `colour`"),
        ("schedule.list", json!({ "ended": "yes" }), "is not true or false"),
        ("schedule.show", json!({ "id": "s7" }), "there is no schedule s7"),
        ("schedule.show", json!({ "id": "x7" }), "x7"),
        ("schedule.change", json!({ "id": "s7", "command": "pause" }), "there is no schedule s7"),
        (
            "schedule.change",
            json!({ "id": "s7", "command": "fly" }),
            "`fly` is not a possible value",
        ),
    ];
    for (method, params, expected) in table {
        let answer = client.call(method, params.clone()).await;
        let Err(avocet_testkit::socket::CallError::Refused(error)) = answer else {
            panic!("{method} {params}: {answer:?}")
        };
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
        assert!(error["message"].as_str().unwrap().contains(expected), "{method}: {error}");
    }
    assert_eq!(number(&home, SCHEDULES), 0);
    assert!(client.call("schedule.add", with(&[])).await.is_ok());
    stop(daemon).await;
}
