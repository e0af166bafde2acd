//! Tests of previews that fill several messages.

use avocet_protocol::channel::SendError;
use avocet_testkit::OnSend;

use super::previews::{INTERVAL, write, written};
use super::*;

const LIMIT: usize = FakeChannel::LIMIT;

/// Returns this number of characters, in words.
fn words(chars: usize) -> String {
    "word ".repeat(chars / 5)
}

impl SessionHarness {
    /// Waits until the chat shows this many messages.
    async fn messages(&self, count: usize) -> Vec<String> {
        self.channel.shows(|texts| texts.len() == count).await
    }

    /// Returns the messages that were made, and those that were edited, in order: `+1` is the first
    /// message.
    async fn requests(&self, count: usize) -> Vec<String> {
        let mut known = Vec::new();
        let mut requests = Vec::new();
        for one in self.channel.taken(count).await {
            if !known.contains(&one.id) {
                known.push(one.id);
            }
            let number = known.iter().position(|id| *id == one.id).unwrap() + 1;
            let sign = if one.shown_as.is_some() { "e" } else { "+" };
            requests.push(format!("{sign}{number}"));
        }
        requests
    }
}

#[tokio::test]
async fn preview_of_a_long_answer_goes_on_in_further_messages() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a long story").await;
    write(&pen, &words(300));
    harness.interval().await;
    assert!(harness.messages(1).await[0].ends_with("word …"));
    write(&pen, &words(250));
    harness.interval().await;
    let whole = words(550);
    harness.channel.shows(|texts| texts == [whole[..LIMIT].to_owned()]).await;
    harness.interval().await;
    let shown = harness.messages(2).await;
    assert_eq!((&shown[0][..], shown[1].ends_with("word …")), (&whole[..LIMIT], true));
    write(&pen, &words(450));
    harness.interval().await;
    harness.channel.shows(|texts| texts[1].len() == LIMIT).await;
    harness.interval().await;
    harness.messages(3).await;
    drop(pen);
    let whole = words(1000);
    let all = harness.channel.shows(|texts| texts.concat() == whole.trim_end()).await;
    assert_eq!(all.len(), 3);
    harness.idle().await;
    harness.delivered().await;
    // Each message is completed once. Complete ones are not touched again.
    assert_eq!(harness.requests(6).await, ["+1", "e1", "+2", "e2", "+3", "e3"]);
}

#[tokio::test]
async fn preview_of_several_messages_is_found_again_after_a_restart() {
    // The second answer is as long as the first, shorter, or longer.
    for (second, messages) in [(750, 2), (100, 1), (1100, 3)] {
        let (harness, pen) = written(Setup::default()).await;
        harness.say("a long story").await;
        write(&pen, &words(700));
        harness.interval().await;
        harness.messages(1).await;
        harness.interval().await;
        harness.messages(2).await;
        write(&pen, &words(50));
        harness.clock.sleeper_within(INTERVAL..=INTERVAL).await;
        let answer = ScriptedModel::new(vec![Scripted::says(&words(second))]);
        let harness = harness.restart(answer).await;
        harness.idle().await;
        harness.delivered().await;
        let whole = words(second);
        let all = harness.channel.shows(|texts| texts.concat() == whole.trim_end()).await;
        assert_eq!(all.len(), messages, "{second}");
        let taken = harness.channel.taken(0).await;
        let sent = taken.iter().filter(|one| one.shown_as.is_none()).count();
        assert_eq!(sent, messages.max(2), "no message is sent again");
        assert!(taken.iter().all(|one| !one.repeat));
    }
}

#[tokio::test]
async fn f5_preview_message_of_unknown_outcome_is_repeated_marked_after_the_earlier_ones() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a long story").await;
    write(&pen, &words(700));
    harness.interval().await;
    harness.messages(1).await;
    harness.channel.script([OnSend::TakeAndReset]);
    harness.interval().await;
    harness.messages(2).await;
    write(&pen, &words(300));
    drop(pen);
    let all = harness.messages(4).await;
    let whole = words(1000);
    assert_eq!(all[0], whole[..LIMIT]);
    assert_eq!(all[2..].concat(), whole[LIMIT..].trim_end());
    harness.delivered().await;
    let repeats: Vec<bool> = harness.channel.taken(4).await.iter().map(|one| one.repeat).collect();
    assert_eq!(repeats, [false, false, true, false]);
}

#[tokio::test]
async fn f6_preview_message_that_is_refused_is_sent_with_the_answer() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a long story").await;
    write(&pen, &words(700));
    harness.interval().await;
    harness.messages(1).await;
    harness.channel.script([OnSend::Say(SendError::Refused("no".to_owned()))]);
    harness.interval().await;
    harness.channel.tried(2).await;
    drop(pen);
    let whole = words(700);
    let all = harness.messages(2).await;
    assert_eq!(all.concat(), whole.trim_end());
    assert_eq!(harness.requests(2).await, ["+1", "+2"]);
}

#[tokio::test]
async fn preview_message_is_edited_at_the_end_after_an_edit_of_unknown_outcome() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a long story").await;
    write(&pen, &words(300));
    harness.interval().await;
    harness.messages(1).await;
    harness.channel.script([OnSend::TakeAndReset]);
    write(&pen, &words(400));
    harness.interval().await;
    harness.channel.tried(2).await;
    harness.interval().await;
    harness.channel.tried(3).await;
    harness.interval().await;
    harness.messages(2).await;
    drop(pen);
    let whole = words(700);
    harness.channel.shows(|texts| texts.concat() == whole.trim_end()).await;
    harness.idle().await;
    harness.delivered().await;
    // A late edit could shorten the first message, so its last edit is one of the delivery.
    assert_eq!(harness.requests(6).await, ["+1", "e1", "e1", "+2", "e1", "e2"]);
}

#[tokio::test]
async fn preview_of_a_very_long_answer_has_five_messages() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a very long story").await;
    write(&pen, &words(7 * LIMIT));
    for count in 1..=5 {
        harness.interval().await;
        harness.messages(count).await;
    }
    write(&pen, &words(LIMIT));
    drop(pen);
    harness.messages(8).await;
    let previews = harness.requests(8).await;
    assert_eq!(previews[..5], ["+1", "+2", "+3", "+4", "+5"]);
}

#[tokio::test]
async fn reply_with_long_code_is_omitted_if_the_message_tool_has_sent_it() {
    let code = format!("```rust\n{}```", "let x = 1;\n".repeat(300));
    let say = Scripted::calls(&[("say", json!({ "text": code }))]);
    let model = ScriptedModel::new(vec![say, Scripted::says(&code)]);
    let harness = previews::harness(model, Setup::default()).await;
    let id = harness.say("write it").await;
    while harness.outcome(id).await.is_none() {
        tokio::task::yield_now().await;
    }
    harness.delivered().await;
    let sent = harness.channel.taken(1).await;
    assert!(sent.iter().all(|one| one.content.attachments.is_empty()), "{sent:?}");
}

#[tokio::test]
async fn preview_messages_of_a_longer_step_show_an_ellipsis_and_are_removed() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a long story").await;
    write(&pen, &words(700));
    harness.interval().await;
    harness.messages(1).await;
    harness.interval().await;
    harness.messages(2).await;
    pen.send(None).unwrap();
    write(&pen, "It is seven o'clock ");
    harness.interval().await;
    harness.channel.shows(|texts| texts[0] == "It is seven o'clock …").await;
    harness.interval().await;
    let shown = harness.channel.shows(|texts| texts.get(1).is_some_and(|text| text == "…")).await;
    assert_eq!(shown.len(), 2);
    harness.channel.script_removals([SendError::Failed("no route".to_owned())]);
    drop(pen);
    harness.channel.shows(|texts| texts[0] == "It is seven o'clock").await;
    harness.pass(SECOND / 4).await;
    harness.messages(1).await;
    harness.delivered().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
}

#[tokio::test]
async fn answer_with_long_code_sends_the_code_as_a_file_and_keeps_the_text() {
    let (harness, pen) = written(Setup::default()).await;
    let id = harness.say("write it").await;
    let code = "let x = 1;\n".repeat(300);
    write(&pen, &format!("This is the code:\n\n```rust\n{code}"));
    harness.interval().await;
    harness.shows("This is the code:\n\n[code with 300 lines]\n…").await;
    write(&pen, "```\n\nRun it.");
    drop(pen);
    let shown =
        "This is the code:\n\n[The code is in the file code-1.rs, with 300 lines.]\n\nRun it.";
    harness.channel.shows(|texts| texts.len() == 2 && texts[0] == shown).await;
    assert_eq!(harness.outcome(id).await, Some(Outcome::Replied));
    harness.delivered().await;
    let sent = harness.channel.taken(3).await;
    let sent = sent.iter().find(|one| !one.content.attachments.is_empty()).unwrap();
    let file = &sent.content.attachments[0];
    assert_eq!((file.name.as_deref(), file.bytes), (Some("code-1.rs"), Some(code.len() as u64)));
    assert_eq!(&*sent.files[0].bytes, code.as_bytes());
}
