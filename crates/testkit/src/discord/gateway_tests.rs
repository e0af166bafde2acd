use std::time::Duration;

use serde_json::{Value, json};

use super::super::client::{INTENTS, Socket, TOKEN, after, identify, known, resume};
use super::super::{SESSION_KEPT, START_WINDOW};

/// Connects to `resume_gateway_url` and sends RESUME.
async fn resumed(ready: &Value, seq: u64) -> Socket {
    let url = format!("{}/?v=10", ready["resume_gateway_url"].as_str().unwrap());
    let mut socket = Socket::open(&url).await.unwrap();
    assert_eq!(socket.next().await["op"], 10);
    socket.send(&resume(&ready["session_id"], seq)).await;
    socket
}

#[tokio::test]
async fn resume_replays_missed_events() {
    let known = known().await;
    let (mut socket, ready) = Socket::ready(&known.fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    known.fake.say(known.dm, known.user, "heard");
    assert_eq!(socket.next().await["s"], 3);
    known.fake.drop_connections();
    assert_eq!(socket.closed().await, 1006);
    known.fake.wait_for_disconnected().await;
    known.fake.say(known.dm, known.user, "missed");
    let mut socket = resumed(&ready, 3).await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "missed");
    socket.event("RESUMED").await;
    known.fake.say(known.dm, known.user, "live");
    let live = socket.next().await;
    assert_eq!((&live["s"], &live["d"]["content"]), (&json!(6), &json!("live")));
    let [resume] = &known.fake.resumes()[..] else { panic!() };
    assert!(resume.taken && resume.at_resume_url);
    assert_eq!((resume.seq, known.fake.identifies().len()), (3, 1));
}

#[tokio::test]
async fn resume_of_an_ended_session_is_refused() {
    let known = known().await;
    // The client closed it, or came back too late, or the platform forgot the session.
    for round in 0..3 {
        let (socket, ready) = Socket::ready(&known.fake, 0).await;
        if round == 0 {
            socket.close(1000).await;
            known.fake.wait_for_disconnected().await;
            assert_eq!(known.fake.closes().last().unwrap().1, 1000);
        } else {
            drop(socket);
            known.fake.wait_for_disconnected().await;
        }
        match round {
            1 => known.fake.advance(SESSION_KEPT),
            2 => known.fake.forget_sessions(),
            _ => {}
        }
        let mut socket = resumed(&ready, 1).await;
        assert_eq!(socket.next().await, json!({ "op": 9, "t": null, "s": null, "d": false }));
        // An IDENTIFY is accepted afterwards.
        socket.send(&identify(TOKEN, 0)).await;
        socket.event("READY").await;
        drop(socket);
        known.fake.wait_for_disconnected().await;
    }
    assert!(known.fake.resumes().iter().all(|resume| !resume.taken));
}

#[tokio::test]
async fn resume_works_after_another_close_code() {
    let known = known().await;
    let (socket, ready) = Socket::ready(&known.fake, 0).await;
    socket.close(4000).await;
    known.fake.wait_for_disconnected().await;
    known.fake.advance(SESSION_KEPT - Duration::from_millis(1));
    resumed(&ready, 1).await.event("RESUMED").await;
}

#[tokio::test]
async fn resume_at_another_url_or_from_the_future_is_refused() {
    let known = known().await;
    known.fake.resume_only_at_its_url(true);
    let (mut first, ready) = Socket::ready(&known.fake, 0).await;
    let mut socket = after(&known.fake, &resume(&ready["session_id"], 1)).await;
    assert_eq!(socket.next().await["op"], 9);
    assert!(!known.fake.resumes()[0].at_resume_url);
    known.fake.say(known.dm, known.user, "not asked for");
    let mut socket = resumed(&ready, 1).await;
    socket.event("RESUMED").await;
    // The older connection is closed.
    first.send(&json!({ "op": 1, "d": null })).await;
    assert_eq!(first.closed().await, 4000);
    assert_eq!(resumed(&ready, 99).await.closed().await, 4007);
}

#[tokio::test]
async fn identify_above_the_limit_resets_the_token() {
    let known = known().await;
    known.fake.limit_identifies(1);
    let (socket, _) = Socket::ready(&known.fake, 0).await;
    let limit = known.get("/gateway/bot").await.result()["session_start_limit"].clone();
    assert_eq!((&limit["remaining"], &limit["reset_after"]), (&json!(0), &json!(86_400_000)));
    let second = after(&known.fake, &identify(TOKEN, 0)).await;
    assert_eq!((socket.closed().await, second.closed().await), (4004, 4004));
    assert_eq!(known.get("/users/@me").await.status, 401);
    assert_eq!(after(&known.fake, &identify(TOKEN, 0)).await.closed().await, 4004);
}

#[tokio::test]
async fn identify_limit_renews_after_a_day() {
    let known = known().await;
    known.fake.limit_identifies(1);
    Socket::ready(&known.fake, 0).await;
    known.fake.advance(START_WINDOW);
    assert_eq!(known.fake.identifies_left(), 1);
    Socket::ready(&known.fake, 0).await;
    assert_eq!(known.fake.identifies().len(), 2);
}

#[tokio::test]
async fn frozen_connection_sends_and_receives_nothing() {
    let known = known().await;
    let (mut socket, ready) = Socket::ready(&known.fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    known.fake.freeze_connections();
    known.fake.say(known.dm, known.user, "unheard");
    socket.send(&json!({ "op": 1, "d": null })).await;
    // A resume on another connection replays the missed event.
    let mut second = resumed(&ready, 2).await;
    assert_eq!(second.event("MESSAGE_CREATE").await["content"], "unheard");
    assert_eq!(known.fake.heartbeats(), 0);
    assert_eq!(socket.closed().await, 4000);
}

#[tokio::test]
async fn invalid_session_can_be_resumed_only_if_marked_resumable() {
    let known = known().await;
    for resumable in [true, false] {
        let (mut socket, ready) = Socket::ready(&known.fake, 0).await;
        known.fake.invalidate_session(resumable);
        assert_eq!(socket.next().await["d"], resumable);
        let next = resumed(&ready, 1).await.next().await;
        let expected = if resumable { "RESUMED" } else { "null" };
        assert_eq!(next["t"].as_str().unwrap_or("null"), expected);
        if !resumable {
            socket.send(&identify(TOKEN, 0)).await;
            socket.event("READY").await;
        }
    }
}

#[tokio::test]
async fn close_codes_4007_and_4009_end_the_session() {
    let known = known().await;
    for (code, taken) in [(4000, true), (4007, false), (4009, false)] {
        let (socket, ready) = Socket::ready(&known.fake, 0).await;
        known.fake.close_connections(code);
        assert_eq!(socket.closed().await, code);
        resumed(&ready, 1).await.next().await;
        assert_eq!(known.fake.resumes().last().unwrap().taken, taken, "{code}");
    }
}

#[tokio::test]
async fn session_survives_the_close_of_an_older_connection() {
    let known = known().await;
    let (first, ready) = Socket::ready(&known.fake, 0).await;
    let mut second = resumed(&ready, 1).await;
    second.event("RESUMED").await;
    first.close(1000).await;
    drop(second);
    known.fake.wait_for_disconnected().await;
    resumed(&ready, 2).await.event("RESUMED").await;
}
