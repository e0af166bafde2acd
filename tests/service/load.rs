//! Tests of many sessions at once (F39): a wait for a slow model delays only its own session, and
//! the limit on running turns holds.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};

use crate::chat::AttachedChat;
use crate::model::{asked, config, held, held_back};
use crate::patience::{stop, until};

const OTHERS: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_of_50_sessions_is_not_delayed_by_a_hanging_one() {
    // With the default limit, and with only one place left.
    for more in ["", "[sessions]\nmax_running = 2\n"] {
        let permits = held();
        let on_hold = permits.clone();
        let model = OpenAiFake::start(move |request| match last_user_text(request) {
            "hang" => held_back(&on_hold, "At last."),
            other => ModelAnswer::says(format!("Hello, {other}.")),
        })
        .await;
        let home = Home::new(program!()).with_config(&config(&model, more));
        let daemon = home.daemon();
        let slow = AttachedChat::join(&home, "slow").await;
        slow.ask("hang").await;
        asked(&model, 1).await;
        let mut others = Vec::new();
        for number in 0..OTHERS {
            let chat = AttachedChat::join(&home, &number.to_string()).await;
            chat.ask(&number.to_string()).await;
            others.push(chat);
        }
        for (number, chat) in others.iter().enumerate() {
            assert_eq!(chat.reply().await.text, format!("Hello, {number}."));
        }
        assert_eq!(slow.log_status().await["running"], 1, "the slow one still hangs");
        permits.add_permits(1);
        assert_eq!(slow.reply().await.text, "At last.");
        slow.is_over().await;
        assert_eq!(model.requests().len(), OTHERS + 1);
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_runs_at_most_max_running_turns_at_once() {
    const RUNNING: usize = 3;
    const SESSIONS: usize = 12;
    let permits = held();
    let on_hold = permits.clone();
    let model =
        OpenAiFake::start(move |request| held_back(&on_hold, last_user_text(request))).await;
    let more = format!("[sessions]\nmax_running = {RUNNING}\n");
    let home = Home::new(program!()).with_config(&config(&model, &more));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "watcher").await;
    for number in 0..SESSIONS {
        AttachedChat::join(&home, &number.to_string()).await.ask("Hello.").await;
    }
    for answered in 0..=SESSIONS {
        let left = SESSIONS - answered;
        let running = left.min(RUNNING);
        until("the next turns", async || {
            let status = chat.log_status().await;
            assert!(status["running"].as_u64().unwrap() as usize <= RUNNING, "{status}");
            status["running"] == running && status["queued"] == left - running
        })
        .await;
        asked(&model, answered + running).await;
        assert_eq!(model.requests().len(), answered + running);
        permits.add_permits(1);
    }
    stop(daemon).await;
}
