//! Tests of the stop of everything: it reaches the processes of tools and the programs in the background,
//! it holds over a kill and a restart, and nothing is lost.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::{SystemPart, skip_without};
use avocet_tests::{Home, program};
use serde_json::json;

use crate::chat::AttachedChat;
use crate::crash::{dies, doomed};
use crate::model::{config, held, held_back};
use crate::patience::{stop, until};

/// Seconds of `sleep` that no other process of this machine has, also in another run of this test.
fn unique_seconds(program: u32) -> String {
    format!("{}.{program}5", 1_000_000 + std::process::id())
}

/// Returns `true` if a process of this machine sleeps so long.
fn sleeps(seconds: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let wanted = format!("sleep\0{seconds}\0");
    lines.into_iter().any(|line| line == wanted.as_bytes())
}

/// A model that starts a program for `background` and `wait`, and otherwise repeats the text.
async fn starting_programs() -> OpenAiFake {
    let [foreground, background] = [1, 2].map(unique_seconds);
    OpenAiFake::start(move |request| match (last_user_text(request), &last_results(request)[..]) {
        ("background", []) => ModelAnswer::call(
            "exec_shell",
            json!({ "command": format!("sleep {background}"), "background": true }),
        ),
        ("wait", []) => {
            ModelAnswer::call("exec_shell", json!({ "command": format!("sleep {foreground}") }))
        }
        (text, _) => ModelAnswer::says(text),
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_all_kills_programs_holds_over_a_restart_and_keeps_what_waits() {
    let model = starting_programs().await;
    let [foreground, background] = [1, 2].map(unique_seconds);
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let mut daemon = home.daemon();
    if daemon.logged("exec_shell is off") > 0 {
        skip_without(SystemPart::ProgramSandbox);
        stop(daemon).await;
        return;
    }
    let ann = AttachedChat::join(&home, "ann").await;
    let bob = AttachedChat::join(&home, "bob").await;
    ann.ask("background").await;
    assert_eq!(ann.reply().await.text, "background");
    bob.ask("wait").await;
    until("both programs run", async || sleeps(&foreground) && sleeps(&background)).await;
    ann.ask("/stop all").await;
    let said = ann.reply().await.text;
    assert!(said.starts_with("Everything is stopped: all answers"), "{said}");
    let told = bob.reply().await.text;
    assert!(told.contains("I do not finish what I was doing here"), "{told}");
    until("no program runs", async || !sleeps(&foreground) && !sleeps(&background)).await;
    let scheduled = home.run(&["schedule", "add", "ann", "--task", "water", "--in", "1s"]);
    assert_eq!(scheduled.code, Some(0), "{scheduled:?}");
    let asked = model.requests().len();
    bob.ask("later").await;
    stop(daemon).await;

    let status = home.run(&["status"]);
    let since = "by terminal:local:";
    assert!(
        status.out.contains("everything is stopped since") && status.out.contains(since),
        "{status:?}"
    );
    let daemon = home.daemon();
    let (ann, bob) =
        (AttachedChat::join(&home, "ann").await, AttachedChat::join(&home, "bob").await);
    let status = home.run(&["status"]);
    assert!(status.out.contains("avocet resume --all, or /resume all"), "{status:?}");
    let doctor = home.run(&["doctor", "--offline"]);
    assert!(doctor.out.contains("everything is stopped since"), "{doctor:?}");
    assert_eq!(
        home.run(&["stop", "--all"]).out,
        "Everything was stopped already. To let it go on: avocet resume --all\n"
    );
    assert_eq!(model.requests().len(), asked, "nothing runs");
    let without = home.run(&["stop"]);
    assert!(
        without.code == Some(2) && without.err.contains("To stop the daemon itself"),
        "{without:?}"
    );
    let resumed = home.run(&["resume", "--all"]);
    let goes_on = "Everything goes on. The messages that waited are answered in their order.\n";
    assert_eq!((resumed.code, resumed.out.as_str()), (Some(0), goes_on));
    assert_eq!(bob.reply().await.text, "later");
    // The time of the schedule was missed, and comes by the rule for missed times.
    ann.reply().await;
    let request = model.requests().pop().unwrap();
    assert!(
        model.requests().iter().any(|request| last_user_text(request).contains("water")),
        "{request}"
    );
    assert_eq!(home.run(&["resume", "--all"]).out, "Nothing was stopped.\n");
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_all_that_is_killed_in_between_ends_the_turns_at_the_next_start() {
    let never = held();
    let model = OpenAiFake::start(move |request| match last_user_text(request) {
        "hang" => held_back(&never, "never"),
        text => ModelAnswer::says(text),
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let mut daemon = doomed(&home, "end-work:before");
    daemon.wait_until_ready();
    let bob = AttachedChat::join(&home, "bob").await;
    bob.ask("hang").await;
    until("the model was asked", async || model.requests().len() == 1).await;
    // The daemon dies while it ends the first turn.
    let stopped = home.run(&["stop", "--all"]);
    assert_ne!(stopped.code, Some(0), "{stopped:?}");
    dies(daemon).await;

    let daemon = home.daemon();
    let bob = AttachedChat::join(&home, "bob").await;
    let told = bob.reply().await.text;
    assert!(told.contains("I do not finish what I was doing here"), "{told}");
    bob.ask("hello").await;
    assert_eq!(model.requests().len(), 1, "nothing runs");
    let resumed = home.run(&["resume", "--all"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(bob.reply().await.text, "hello");
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}
