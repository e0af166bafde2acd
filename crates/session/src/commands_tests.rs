//! Tests of commands that bypass the lane.

use super::*;

#[tokio::test]
async fn commands_answer_without_the_lane() {
    let harness = SessionHarness::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    harness.say("hang").await;
    harness.asked(1).await;
    harness.clock.advance(5 * SECOND);
    let table = [
        ("/status", "I have been working on an answer for 5 seconds."),
        ("/id", "This chat is terminal:local:a. Its session is terminal:local:a. You are me."),
        (
            "/queue",
            "The queue mode is queue: messages that arrive while I work are answered one by one \
                afterwards.",
        ),
        (
            "/queue never",
            "There is no queue mode \"never\"; there are queue, collect, steer, interrupt.",
        ),
        (
            "/retry",
            "There is nothing to repeat: no answer failed here in the last day, or I am still \
                working. If I asked after you wrote, name the question, for example /retry w7.",
        ),
        ("/skip w", "wait id \"w\" is not a number with the prefix `w`."),
        ("/resend", "There is nothing to send again."),
        ("/dance", "I do not know the command /dance. /help shows them all."),
        (
            "/stauts",
            "I do not know the command /stauts. Did you mean /status? /help shows them all.",
        ),
        ("/new", "This is a new conversation: I have forgotten the earlier one in this chat."),
        ("/clear", "This is a new conversation: I have forgotten the earlier one in this chat."),
    ];
    for (count, (command, reply)) in (1..).zip(table) {
        harness.say(command).await;
        assert_eq!(harness.channel.texts(count).await[count - 1], reply, "{command}");
    }
}

#[tokio::test]
async fn start_welcomes_with_name_abilities_and_the_next_step() {
    let harness = SessionHarness::new(parrot()).await;
    for (count, command) in (1..).zip(["/start", "/start@avocet_bot invited"]) {
        harness.say(command).await;
        let welcome = harness.channel.texts(count).await.remove(count - 1);
        for part in ["I am Avocet", "files", "/help"] {
            assert!(welcome.contains(part), "{part}: {welcome}");
        }
    }
    assert_eq!(harness.model.requests().len(), 0);
}

#[tokio::test]
async fn new_acts_before_later_messages_are_answered() {
    let harness = SessionHarness::new(parrot()).await;
    for round in 0..50 {
        harness.say(&format!("secret {round}")).await;
        let (new, hello) = (format!("/new {round}"), format!("hello {round}"));
        let (_, hello) = tokio::join!(harness.say(&new), harness.say(&hello));
        while harness.outcome(hello).await.is_none() {
            tokio::task::yield_now().await;
        }
        let again = harness.say(&format!("again {round}")).await;
        while harness.outcome(again).await.is_none() {
            tokio::task::yield_now().await;
        }
        let requests = harness.model.requests();
        let told = |request: &ModelRequest, text: &str| {
            request.messages.iter().any(
                |message| matches!(message, Message::User { text: said, .. } if said.contains(text)),
            )
        };
        let last = requests.last().unwrap();
        assert!(told(last, &format!("hello {round}")), "round {round}: {last:#?}");
        assert!(!told(last, &format!("secret {round}")), "round {round}: {last:#?}");
        let hello = &requests[requests.len() - 2];
        assert!(!told(hello, &format!("secret {round}")), "round {round}: {hello:#?}");
    }
}

#[tokio::test]
async fn f11_stop_ends_the_turn_at_once_and_the_next_message_is_answered() {
    let harness =
        SessionHarness::new(ScriptedModel::answering(|request| match last_said(request) {
            "hang" => Scripted::Hang,
            "hang in a tool" => Scripted::calls(&[("hang", json!({}))]),
            text => Scripted::says(text),
        }))
        .await;
    for (asked, text) in [(1, "hang"), (2, "hang in a tool")] {
        let stopped = harness.say(text).await;
        harness.asked(asked).await;
        let next = harness.say(&format!("after {text}")).await;
        harness.say(&format!("/stop {asked}")).await;
        while harness.outcome(next).await.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(harness.outcome(stopped).await, Some(Outcome::Stopped));
    }
    let texts = harness.channel.texts(4).await;
    assert_eq!(texts, ["Stopped.", "after hang", "Stopped.", "after hang in a tool"]);
    harness.say("/stop 3").await;
    assert_eq!(harness.channel.texts(5).await[4], "There was nothing to stop.");
}

/// Timeout of a test.
const TIMEOUT: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
async fn stop_ends_a_turn_that_is_just_being_claimed() {
    let harness = SessionHarness::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    for round in 0..100 {
        let (hang, stop) = (format!("hang {round}"), format!("/stop {round}"));
        let stopping = async {
            for _ in 0..round % 40 {
                tokio::task::yield_now().await;
            }
            harness.say(&stop).await
        };
        let (hanging, _) = tokio::join!(harness.say(&hang), stopping);
        while !harness.open_commands().await.is_empty() {
            tokio::task::yield_now().await;
        }
        let before = harness.outcome(hanging).await;
        if before.is_none() {
            // The command came before the turn began.
            while harness.outcome(hanging).await.is_none() {
                harness.say(&format!("/stop {round} {}", harness.model.requests().len())).await;
                tokio::task::yield_now().await;
            }
            harness.idle().await;
            continue;
        }
        let idle = tokio::time::timeout(TIMEOUT, harness.idle()).await;
        assert!(idle.is_ok(), "round {round}: the lane works on a turn that was ended");
    }
}

#[tokio::test]
async fn start_acts_on_commands_accepted_before_a_crash_before_the_lanes_run() {
    let harness = SessionHarness::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    let hanging = harness.say("hang").await;
    harness.asked(1).await;
    let command = harness.sessions.lanes.parts.inbox.clone();
    harness.sessions.group.abort_tasks();
    harness.say("/stop").await;
    assert_eq!(command.open_commands().await.unwrap().len(), 1, "the command is still open");
    drop(command);
    let harness = harness.restart(ScriptedModel::new(Vec::new())).await;
    assert_eq!(harness.channel.texts(1).await, ["Stopped."]);
    assert_eq!(harness.outcome(hanging).await, Some(Outcome::Stopped));
}
