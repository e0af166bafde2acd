//! `avocet schedule`, with a running daemon and with a stopped one, and `[schedules]`.

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{Listener, assert_fails, printed, printed_json, run, stop, until};

const CRON: [&str; 9] = [
    "schedule",
    "add",
    "me",
    "--task",
    "list_directory {}",
    "--cron",
    "0 8 * * mon-fri",
    "--zone",
    "Europe/Berlin",
];

fn state(home: &Home, id: &str) -> String {
    let shown = printed_json(home, &["schedule", "show", id]);
    shown["schedule"]["state"].as_str().unwrap().to_owned()
}

#[test]
fn schedule_commands_work_with_and_without_a_daemon() {
    let home = Home::new(program!());
    assert_eq!(printed(&home, &["schedule", "list"]), "There are no schedules.\n");
    // The even rounds are without a daemon.
    let mut daemon = None;
    for round in 1..=2 {
        let id = format!("s{round}");
        let added = printed(&home, &CRON);
        let (first, times) = added.split_once(" Next: ").unwrap();
        assert_eq!(first, format!("Added {id}."));
        assert_eq!(times.matches("day, ").count(), 3, "{added}");
        assert_eq!(times.matches(", 08:00 (Europe/Berlin)").count(), 3, "{added}");

        let all = printed_json(&home, &["schedule", "list"]);
        assert_eq!(all.as_array().unwrap().len(), round, "{all}");
        let shown = printed_json(&home, &["schedule", "show", &id]);
        assert_eq!(shown["schedule"], all[round - 1]["schedule"]);
        assert_eq!(shown["next"].as_array().unwrap().len(), 3, "{shown}");
        let list = printed(&home, &["schedule", "list"]);
        let row = list.lines().last().unwrap();
        for part in [&*id, "terminal:local:me", "cron 0 8 * * mon-fri", "task: list_directory {}"] {
            assert!(row.contains(part), "{part}: {list}");
        }
        let commands = [("pause", "is paused", "paused"), ("resume", "is active again", "active")];
        for (command, done, now) in commands {
            assert_eq!(printed(&home, &["schedule", command, &id]), format!("{id} {done}\n"));
            assert_eq!(state(&home, &id), now);
            let again = run(&home, &["schedule", command, &id]);
            assert_fails(&again, 1, &[&format!("{id} is {now}")]);
        }
        let ran = printed_json(&home, &["schedule", "run", &id]);
        assert_eq!(ran["id"], id);
        let runs = printed_json(&home, &["schedule", "show", &id])["runs"].take();
        assert_eq!(runs[0]["result"], "queued", "{runs}");
        if round == 1 {
            // A run without a daemon begins with the next start.
            daemon = Some(home.daemon());
        }
        until("the end of the run", || {
            let session = format!("schedule:local:{round}");
            let shown = printed(&home, &["sessions", "show", &session]);
            shown
                .contains("The directory")
                .then_some(())
                .or_else(|| (!shown.contains("queued") && !shown.contains("running")).then_some(()))
        });
    }
    for id in ["s1", "s2"] {
        assert_eq!(printed(&home, &["schedule", "remove", id]), format!("{id} is removed\n"));
        if let Some(daemon) = daemon.take() {
            stop(daemon);
        }
    }
    assert_eq!(printed_json(&home, &["schedule", "list"]), Value::Array(Vec::new()));
}

#[test]
fn schedule_commands_name_the_mistake_in_their_arguments() {
    let home = Home::new(program!());
    let times = |option, time| ["add", "me", "--text", "Stretch.", option, time];
    let in_zone = |zone| ["add", "me", "--text", "Stretch.", "--at", "08:00", "--zone", zone];
    let to = |chat| ["add", chat, "--text", "Stretch.", "--in", "2m"];
    let table: [(&[&str], &[&str]); 16] = [
        (&in_zone("Berlin"), &["unknown time zone \"Berlin\"", "did you mean Europe/Berlin?"]),
        (&in_zone("Asia/Tokio"), &["did you mean Asia/Tokyo?"]),
        (
            &times("--cron", "0 0 8 * * *"),
            &["\"0 0 8 * * *\" is no cron expression", "five fields"],
        ),
        (&times("--cron", "0 25 * * *"), &["\"0 25 * * *\" is no cron expression", "five fields"]),
        (&times("--cron", "0 0 30 2 *"), &["never comes"]),
        (&times("--at", "2020-01-01 08:00"), &["1 January 2020, 08:00 (UTC) is in the past"]),
        (&times("--at", "noonish"), &["\"noonish\" is no time", "2026-11-24 08:00"]),
        (&times("--in", "soon"), &["\"soon\" is no duration", "2m, 1h 30m or 2 days"]),
        (&times("--every", "30s"), &["an interval of 30 s is too short", "at least 60 s"]),
        (&to("fax:main:1"), &["fax:main:1 is on no configured channel", "terminal:local"]),
        (&["add", "me", "--text", " ", "--in", "2m"], &["the text is empty"]),
        (
            &["add", "me", "--task", "x", "--in", "2m", "--agent", "bilder"],
            &["there is no agent \"bilder\"; did you mean builder?"],
        ),
        (&["show", "s7"], &["there is no schedule s7", "avocet schedule list"]),
        (&["run", "s7"], &["there is no schedule s7"]),
        (&["remove", "s7"], &["there is no schedule s7"]),
        (&["pause", "s7"], &["there is no schedule s7"]),
    ];
    let check = || {
        for (arguments, names) in table {
            assert_fails(&run(&home, &[&["schedule"], arguments].concat()), 1, names);
        }
        assert_eq!(printed(&home, &["schedule", "list"]), "There are no schedules.\n");
    };
    check();
    let daemon = home.daemon();
    check();
    stop(daemon);
    let usage: [(&[&str], &str); 4] = [
        (&["add", "me", "--in", "2m"], "<--text <TEXT>|--task <TASK>>"),
        (&["add", "me", "--text", "x"], "--in <DURATION>"),
        (&["add", "me", "--text", "x", "--in", "2m", "--every", "1h"], "cannot be used with"),
        (&["show", "7x"], "7x"),
    ];
    for (arguments, names) in usage {
        let ran = run(&home, &[&["schedule"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(names), "{names}: {ran:?}");
    }
}

#[test]
fn configured_schedules_are_made_equal_to_the_configuration_at_each_start() {
    let table = |name: &str, times: &str, text: &str| {
        format!("[schedules.{name}]\nchat = \"terminal:local:me\"\n{times}\ntext = \"{text}\"\n")
    };
    let (hourly, cron) = ("every = \"1h\"", "cron = \"0 8 * * *\"\nzone = \"Europe/Berlin\"");
    let two = table("a", hourly, "one") + &table("b", cron, "two");
    let home = Home::new(program!()).with_config(&two);
    let start = |home: &Home, added: usize| {
        let mut daemon = home.daemon();
        assert_eq!(daemon.logged("added a schedule of the configuration"), added);
        let all = printed_json(home, &["schedule", "list"]);
        let all = all.as_array().unwrap().iter().map(|one| one["schedule"].clone());
        (daemon, all.collect::<Vec<_>>())
    };
    let (daemon, first) = start(&home, 2);
    assert_eq!((first.len(), &first[0]["name"]), (2, &Value::from("a")));
    let refused = run(&home, &["schedule", "remove", "s1"]);
    assert_fails(&refused, 1, &["s1 is [schedules.a]; remove it from the configuration"]);
    printed(&home, &["schedule", "pause", "s1"]);
    stop(daemon);
    // An unchanged schedule keeps its next time and its pause.
    let (daemon, same) = start(&home, 0);
    assert_eq!((&same[0]["state"], &same[1]), (&Value::from("paused"), &first[1]));
    stop(daemon);
    // One is changed, one is removed, one is new.
    let home = home.with_config(&(table("a", hourly, "changed") + &table("c", hourly, "new")));
    let (daemon, changed) = start(&home, 2);
    let names: Vec<_> = changed.iter().map(|one| (one["name"].as_str(), &one["state"])).collect();
    let active = Value::from("active");
    assert_eq!(names, [(Some("a"), &active), (Some("c"), &active)]);
    assert_eq!(changed[0]["work"]["text"], "changed");
    stop(daemon);
    let home = home.with_config("");
    let (daemon, none) = start(&home, 0);
    assert_eq!(none, Vec::<Value>::new());
    stop(daemon);
}

/// The agent does tasks for people with access only. A text needs none.
#[test]
fn schedule_add_refuses_a_task_of_a_person_without_access() {
    let configuration = "[channels.telegram]\ntoken = \"1:a\"\napi_url = \"http://127.0.0.1:9\"\n\
        owners = [7]\n[schedules.own]\nchat = \"telegram:main:7\"\nevery = \"1h\"\ntask = \"x\"\n\
        [schedules.other]\nchat = \"telegram:main:9\"\nevery = \"1h\"\ntask = \"x\"\n";
    let home = Home::new(program!()).with_config(configuration);
    let add = |chat: &str, work: &str| {
        run(&home, &["schedule", "add", chat, work, "look", "--every", "1h"])
    };
    let check = || {
        assert_fails(&add("telegram:main:9", "--task"), 1, &["9 may not speak on telegram"]);
        assert_eq!(add("telegram:main:7", "--task").code, Some(0));
        assert_eq!(add("telegram:main:9", "--text").code, Some(0));
    };
    check();
    let mut daemon = home.daemon();
    assert_eq!(daemon.logged("a schedule of the configuration cannot run its task"), 1);
    check();
    assert_eq!(printed_json(&home, &["schedule", "list"]).as_array().unwrap().len(), 6);
    stop(daemon);
}

#[tokio::test]
async fn offline_model_reminds_after_the_time() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    printed(&home, &["ask", "me", "remind me in 1s to stretch"]);
    let mut heard = [listener.hear_text().await, listener.hear_text().await];
    heard.sort();
    assert!(heard[0].contains("Added s1. Next: ") && heard[0].contains("(UTC)"), "{heard:?}");
    assert_eq!(heard[1], "stretch");
    printed(&home, &["ask", "me", "remind me in 2m to stretch"]);
    let text = listener.hear_text().await;
    assert!(text.contains("Added s2. Next: "), "{text}");
    let shown = printed_json(&home, &["schedule", "show", "s2"]);
    let schedule = &shown["schedule"];
    let after = schedule["next_at"].as_i64().unwrap() - schedule["made_at"].as_i64().unwrap();
    assert!((110_000..=120_000).contains(&after), "{shown}");
    stop(daemon);
}

#[test]
fn schedule_without_a_zone_has_that_of_the_machine() {
    let home = Home::new(program!()).with("TZ", "Asia/Tokyo");
    let daemon = home.daemon();
    let answer = printed(&home, &["ask", "me", "remind me at 08:00 to get up", "--wait"]);
    assert!(answer.contains("Added s1. Next: "), "{answer}");
    assert!(answer.contains(", 08:00 (Asia/Tokyo)"), "{answer}");
    stop(daemon);
}
