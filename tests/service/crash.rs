//! Tests of SIGKILL at the worst moments: accepted messages are answered once, or with a mark. A
//! message that kills the daemon repeatedly is dropped with a notice.

use std::os::unix::process::ExitStatusExt;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{DaemonProcess, FAIL_POINT, Home, program};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::log::number;
use crate::model::{asked, begun, config, first_and_then, held};
use crate::patience::{end, stop};

/// Starts a daemon that dies at a fail point.
pub(crate) fn doomed(home: &Home, point: &str) -> DaemonProcess {
    DaemonProcess::spawn(home.command(&["run"]).env(FAIL_POINT, point))
}

pub(crate) async fn dies(daemon: DaemonProcess) {
    let (status, log) = end(daemon).await;
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{status}:\n{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_during_an_answer_delivers_it_once_after_the_restart() {
    let never = held();
    let model =
        first_and_then(move |_| begun("I ", &never, "never"), |_| ModelAnswer::says("Now.")).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("Tell me.").await;
    assert_eq!(chat.event("text").await["delta"], "I ");
    daemon.kill();

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let said = chat.reply().await;
    assert_eq!((said.text.as_str(), said.repeat), ("Now.", false));
    chat.is_over().await;
    assert_eq!(model.requests().len(), 2);
    assert_eq!(number(&home, "SELECT attempts FROM turns"), 1);
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_daemon_refuses_to_start_and_names_the_first() {
    let home = Home::new(program!());
    let first = home.daemon();
    let second = home.run(&["run"]);
    assert_eq!(second.code, Some(75), "{second:?}");
    let holder = format!("process {} (daemon)", first.pid());
    assert!(second.err.contains(&holder), "{second:?}");
    // The first daemon is unaffected.
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("help").await;
    chat.reply().await;
    let (status, log) = stop(first).await;
    assert!(status.success(), "{log}");
    // The next start is unaffected, too.
    stop(home.daemon()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_each_point_delivers_a_sent_message_once_or_marked() {
    // Each row: the fail point, the marks of the messages before the crash, and of those after the
    // restart. `true` means that the message is marked as a repetition.
    let table: [(&str, &[bool], &[bool]); 6] = [
        ("enqueue:before", &[], &[false]),
        ("enqueue:after", &[], &[false]),
        ("start-send:before", &[], &[false]),
        ("start-send:after", &[], &[true]),
        ("finish-send:before", &[false], &[true]),
        ("finish-send:after", &[false], &[]),
    ];
    for (point, before, after) in table {
        let home = Home::new(program!());
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        let chat = AttachedChat::join(&home, "ann").await;
        // The sender gets no confirmation, so the result is unknown.
        drop(chat.try_send("The bread is ready.", "bread").await);
        assert_eq!(chat.hear_until_lost().await, before, "{point}");
        dies(daemon).await;

        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        chat.try_send("The bread is ready.", "bread").await.unwrap();
        for repeat in after {
            let said = chat.reply().await;
            assert_eq!(
                (said.text.as_str(), said.repeat),
                ("The bread is ready.", *repeat),
                "{point}"
            );
        }
        chat.is_over().await;
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_keeps_a_message_sent_to_an_empty_chat() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let sent = home.run(&["send", "terminal:local:ann", "The bread is ready."]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    daemon.kill();

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let said = chat.reply().await;
    assert_eq!((said.text.as_str(), said.repeat), ("The bread is ready.", false));
    chat.is_over().await;
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_loop_drops_a_message_that_kills_three_times_and_notifies_the_chat() {
    // At this point, the complete answer is only in memory.
    const POINT: &str = "settle:before";
    let model = OpenAiFake::start(|_| ModelAnswer::says("Survived.")).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let mut daemon = doomed(&home, POINT);
    daemon.wait_until_ready();
    // The daemon accepts the message, but may die before it confirms.
    drop(AttachedChat::join(&home, "ann").await.try_ask("Kill me.", None).await);
    dies(daemon).await;
    dies(doomed(&home, POINT)).await;
    dies(doomed(&home, POINT)).await;

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    is_told(&chat, "Kill me.", 3).await;
    assert_eq!(model.requests().len(), 3, "there is no fourth try");
    // The chat works otherwise.
    chat.ask("Kill me.").await;
    assert_eq!(chat.reply().await.text, "Survived.");
    // The operator retries the dropped message.
    let listed = home.run(&["dead", "list"]).out;
    let dropped = listed.lines().nth(1).unwrap();
    assert!(dropped.starts_with("m1 ") && dropped.contains(" dropped "), "{listed}");
    assert_eq!(home.run(&["dead", "retry", "m1"]).out, "m1 is queued again\n");
    assert_eq!(chat.reply().await.text, "Survived.");
    chat.is_over().await;
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_loop_answers_messages_that_ran_beside_the_fatal_one() {
    const INNOCENTS: [&str; 3] = ["bob", "cid", "dan"];
    // Only a turn that runs a tool passes this point.
    const POINT: &str = "finish-call:before";
    let (poison, innocents) = (held(), held());
    let (poison_held, innocents_held) = (poison.clone(), innocents.clone());
    let model = OpenAiFake::start(move |request| match last_user_text(request) {
        "poison" => ModelAnswer::When(poison_held.clone(), Box::new(lists_files(request))),
        name => {
            let answer = ModelAnswer::says(format!("Hello, {name}."));
            ModelAnswer::When(innocents_held.clone(), Box::new(answer))
        }
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let mut daemon = doomed(&home, POINT);
    daemon.wait_until_ready();
    for (name, text) in [("ann", "poison")].into_iter().chain(INNOCENTS.map(|name| (name, name))) {
        AttachedChat::join(&home, name).await.ask(text).await;
    }
    // All turns run when the daemon dies. Then it finds the fatal one, while the others wait.
    asked(&model, 4).await;
    poison.add_permits(100);
    dies(daemon).await;
    innocents.add_permits(100);
    dies(doomed(&home, POINT)).await;
    dies(doomed(&home, POINT)).await;

    let mut daemon = doomed(&home, POINT);
    daemon.wait_until_ready();
    let ann = AttachedChat::join(&home, "ann").await;
    is_told(&ann, "poison", 3).await;
    for name in INNOCENTS {
        let said = AttachedChat::join(&home, name).await.reply().await;
        assert_eq!((said.text, said.repeat), (format!("Hello, {name}."), false));
    }
    ann.is_over().await;
    let worst = "SELECT max(attempts) FROM turns WHERE session NOT LIKE '%ann'";
    assert_eq!(number(&home, worst), 1, "the harmless turn died once with it");
    stop(daemon).await;

    let daemon = home.daemon();
    let ann = AttachedChat::join(&home, "ann").await;
    ann.ask("poison").await;
    assert_eq!(ann.reply().await.text, "Survived.");
    ann.is_over().await;
    stop(daemon).await;
}

/// Checks that the chat gets the notice of the drop, with its reason and the remedy.
async fn is_told(chat: &AttachedChat, message: &str, deaths: u32) {
    let said = chat.reply().await;
    let notice = format!(
        "I dropped this message because I crashed {deaths} times while working on it: \
         “{message}”. /retry tries it again."
    );
    assert_eq!((said.text, said.repeat), (notice, false));
}

fn lists_files(request: &Value) -> ModelAnswer {
    match last_results(request)[..] {
        [] => ModelAnswer::call("list_directory", json!({})),
        [..] => ModelAnswer::says("Survived."),
    }
}
