//! Tests of an orderly stop (F25): work that can be finished is finished, and the rest continues at
//! the next start. Everything is done exactly once.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::socket::CallError;
use avocet_tests::{DaemonProcess, Home, SINK, program};
use rustix::process::Signal;
use serde_json::Value;

use crate::chat::AttachedChat;
use crate::log::number;
use crate::model::{asked, begun, config, first_and_then, held, held_back};
use crate::patience::{end, logged, stop};
use crate::sink::{Sink, posts_once};

const STOPPING: &str = "stopping; running answers may finish";
/// Longer than the timeout of any test, so a stop that waits for it fails.
const DRAIN_FOR_EVER: &str = "[daemon]\ndrain_seconds = 3600\n";
const DO_NOT_DRAIN: &str = "[daemon]\ndrain_seconds = 0\n";

/// Tells the daemon to stop, and waits until it has begun to.
async fn begin_to_stop(daemon: &mut DaemonProcess) {
    daemon.signal(Signal::TERM);
    logged(daemon, STOPPING, 1).await;
}

async fn ends_well(daemon: DaemonProcess) -> String {
    let (status, log) = end(daemon).await;
    assert!(status.success(), "{status}:\n{log}");
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f25_drain_finishes_and_delivers_a_streaming_answer() {
    let permits = held();
    let on_hold = permits.clone();
    let model = OpenAiFake::start(move |_| begun("Half of it, ", &on_hold, "and all.")).await;
    let home = Home::new(program!()).with_config(&config(&model, DRAIN_FOR_EVER));
    let mut daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("Tell me.").await;
    assert_eq!(chat.event("text").await["delta"], "Half of it, ");
    begin_to_stop(&mut daemon).await;
    permits.add_permits(1);
    let said = chat.reply().await;
    assert_eq!((said.text.as_str(), said.repeat), ("Half of it, and all.", false));
    let log = ends_well(daemon).await;
    assert!(!log.contains("interrupted"), "{log}");
    assert_eq!(number(&home, "SELECT count(*) FROM inbound WHERE outcome = 'replied'"), 1);

    let daemon = home.daemon();
    AttachedChat::join(&home, "ann").await.is_over().await;
    assert_eq!(model.requests().len(), 1);
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f25_drain_finishes_a_running_tool_and_its_answer() {
    let (sink, model) = (Sink::start().await, OpenAiFake::start(posts_once).await);
    let home = Home::new(program!()).with(SINK, &sink.address);
    let home = home.with_config(&config(&model, DRAIN_FOR_EVER));
    let mut daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("Post a leaflet.").await;
    sink.posted().await;
    begin_to_stop(&mut daemon).await;
    sink.gate.add_permits(1);
    assert_eq!(chat.reply().await.text, "The world said: thanks");
    ends_well(daemon).await;
    assert_eq!(sink.posts(), ["leaflet"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_timeout_does_not_rerun_a_tool_and_asks_the_chat() {
    let (sink, model) = (Sink::start().await, OpenAiFake::start(posts_once).await);
    let home = Home::new(program!()).with(SINK, &sink.address);
    let home = home.with_config(&config(&model, DO_NOT_DRAIN));
    let daemon = home.daemon();
    AttachedChat::join(&home, "ann").await.ask("Post a leaflet.").await;
    sink.posted().await;
    daemon.signal(Signal::TERM);
    ends_well(daemon).await;

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let said = chat.reply().await;
    assert!(said.text.starts_with("I was interrupted while running `post`"), "{said:?}");
    chat.ask(&said.choices[1]).await;
    let skipped = [chat.reply().await.text, chat.reply().await.text];
    assert_eq!(skipped[0], "I continue without it.");
    assert!(skipped[1].contains("outcome unknown"), "{skipped:?}");
    assert_eq!(sink.posts(), ["leaflet"]);
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f25_drain_waits_for_a_delivery_and_does_not_repeat_it() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("Here.")).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let mut daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("Tell me.").await;
    let said = chat.hear().await;
    begin_to_stop(&mut daemon).await;
    assert_eq!(daemon.ended(), None, "the delivery is unconfirmed");
    chat.confirm(&said).await;
    ends_well(daemon).await;

    let daemon = home.daemon();
    AttachedChat::join(&home, "ann").await.is_over().await;
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_repeats_an_unconfirmed_delivery_with_a_mark() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("Here.")).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("Tell me.").await;
    assert!(!chat.hear().await.repeat);
    daemon.signal(Signal::TERM);
    ends_well(daemon).await;

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let said = chat.reply().await;
    assert_eq!((said.text.as_str(), said.repeat), ("Here.", true));
    chat.is_over().await;
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f25_drain_timeout_returns_a_turn_that_is_answered_once_at_the_next_start() {
    for seconds in [0, 1] {
        let never = held();
        let model =
            first_and_then(move |_| begun("I ", &never, "never"), |_| ModelAnswer::says("Now."));
        let model = model.await;
        let drain = format!("[daemon]\ndrain_seconds = {seconds}\n");
        let home = Home::new(program!()).with_config(&config(&model, &drain));
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        chat.ask("Tell me.").await;
        chat.event("text").await;
        daemon.signal(Signal::TERM);
        ends_well(daemon).await;
        is_answered_once(&home, &model).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_ends_at_a_second_signal() {
    for second in [Signal::TERM, Signal::INT] {
        let never = held();
        let model =
            first_and_then(move |_| held_back(&never, "Never"), |_| ModelAnswer::says("Now."));
        let model = model.await;
        let home = Home::new(program!()).with_config(&config(&model, DRAIN_FOR_EVER));
        let mut daemon = home.daemon();
        AttachedChat::join(&home, "ann").await.ask("Tell me.").await;
        asked(&model, 1).await;
        begin_to_stop(&mut daemon).await;
        daemon.signal(second);
        let log = ends_well(daemon).await;
        assert!(log.contains("stopping at once"), "{log}");
        is_answered_once(&home, &model).await;
    }
}

/// Checks that the next daemon answers the released message, and counts no failed attempt.
async fn is_answered_once(home: &Home, model: &OpenAiFake) {
    assert_eq!(number(home, "SELECT count(*) FROM turns WHERE state = 'queued'"), 1);
    let daemon = home.daemon();
    let chat = AttachedChat::join(home, "ann").await;
    let said = chat.reply().await;
    assert_eq!((said.text.as_str(), said.repeat), ("Now.", false));
    chat.is_over().await;
    assert_eq!(number(home, "SELECT attempts FROM turns"), 0);
    assert_eq!(model.requests().len(), 2);
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_refuses_new_messages_temporarily_and_keeps_queued_ones() {
    let permits = held();
    let on_hold = permits.clone();
    let model = first_and_then(
        move |_| held_back(&on_hold, "First."),
        |request| ModelAnswer::says(avocet_testkit::openai::last_user_text(request)),
    );
    let model = model.await;
    let home = Home::new(program!()).with_config(&config(&model, DRAIN_FOR_EVER));
    let mut daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("first").await;
    asked(&model, 1).await;
    chat.ask("second").await;
    begin_to_stop(&mut daemon).await;
    is_refused_for_now(&chat.try_ask("third", Some("key-3")).await);
    is_refused_for_now(&chat.try_send("fourth", "key-4").await);
    let asks = home.run(&["ask", "terminal:local:bob", "fifth"]);
    assert_eq!((asks.code, asks.out.as_str()), (Some(75), ""), "{asks:?}");
    permits.add_permits(1);
    assert_eq!(chat.reply().await.text, "First.");
    ends_well(daemon).await;
    assert_eq!(model.requests().len(), 1, "the second waits for the next start");

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    assert_eq!(chat.reply().await.text, "second");
    // A refused client tries again.
    chat.try_ask("third", Some("key-3")).await.unwrap();
    assert_eq!(chat.reply().await.text, "third");
    chat.try_send("fourth", "key-4").await.unwrap();
    assert_eq!(chat.reply().await.text, "fourth");
    chat.is_over().await;
    stop(daemon).await;
}

fn is_refused_for_now(answer: &Result<Value, CallError>) {
    let Err(CallError::Refused(error)) = answer else { panic!("not refused: {answer:?}") };
    assert_eq!(error["code"], -32003);
    assert_eq!(error["message"], "the daemon is stopping; send it again when it is back");
}
