//! Tests of previews on Telegram: one message that grows and becomes the answer, in spite of faults
//! of the program and of the edits.

use std::sync::Arc;

use avocet_protocol::chat::REPEAT_MARK;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::{InjectedFault, On, SentMessage, TelegramFake};
use tokio::sync::Semaphore;

use crate::crash::{dies, doomed};
use crate::log::number;
use crate::model::{begun, first_and_then, held};
use crate::patience::{stop, until, with_timeout};
use crate::telegram::{ANN, TOKEN, home};

const BEGINNING: &str = "Once upon a time there …";
const STORY: &str = "Once upon a time there was a bird.";

/// Waits until the chat has exactly one message, with this text.
async fn shows(platform: &TelegramFake, text: &str) {
    let one = |sent: &[SentMessage]| matches!(sent, [one] if one.text == text);
    with_timeout(text, platform.wait_for(one)).await;
}

/// A model that writes the beginning of a story at once, and its end when there is a permit.
async fn storyteller(end: &Arc<Semaphore>) -> OpenAiFake {
    let end = end.clone();
    OpenAiFake::start(move |_| begun("Once upon a time there ", &end, "was a bird.")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preview_grows_in_one_message_while_typing_is_shown() {
    let (platform, end) = (TelegramFake::start(TOKEN).await, held());
    let model = storyteller(&end).await;
    let daemon = home(&platform, &model).daemon();
    platform.private_text(ANN, "A story, please.");
    shows(&platform, BEGINNING).await;
    end.add_permits(100);
    shows(&platform, STORY).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert!(platform.calls("sendChatAction") > 0);
    assert_eq!((platform.calls("sendMessage"), platform.refusals()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preview_continues_in_the_same_message_after_a_kill() {
    let (platform, never) = (TelegramFake::start(TOKEN).await, held());
    let model = first_and_then(
        move |_| begun("Once upon a time there ", &never, "never"),
        |_| ModelAnswer::says(STORY),
    )
    .await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "A story, please.");
    shows(&platform, BEGINNING).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    // The daemon logs the outcome of the send after the confirmation.
    until("the preview in the log", async || {
        number(&home, "SELECT count(*) FROM outbox WHERE state = 'preview'") == 1
    })
    .await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;

    let daemon = home.daemon();
    shows(&platform, STORY).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.calls("sendMessage"), platform.refusals()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f5_preview_whose_first_send_met_a_crash_marks_the_answer_as_repeated() {
    // Before and after the platform has the message.
    for (point, copies) in [("begin-preview:after", 0), ("finish-preview:before", 1)] {
        let (platform, end) = (TelegramFake::start(TOKEN).await, held());
        let model = storyteller(&end).await;
        let home = home(&platform, &model);
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        platform.private_text(ANN, "A story, please.");
        dies(daemon).await;
        assert_eq!(platform.sent().len(), copies, "{point}");
        with_timeout("the end of the poll", platform.wait_for_no_poll()).await;

        end.add_permits(100);
        let daemon = home.daemon();
        let sent = with_timeout("the answer", platform.wait_for_sent(copies + 1)).await;
        assert_eq!(sent[copies].text, format!("{REPEAT_MARK}\n{STORY}"), "{point}");
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert_eq!(platform.sent().len(), copies + 1, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f6_preview_with_failing_edits_still_becomes_the_answer() {
    for fault in [InjectedFault::flood(1), InjectedFault::ResetAfter, InjectedFault::ResetBefore] {
        let (platform, end) = (TelegramFake::start(TOKEN).await, held());
        let model = storyteller(&end).await;
        let daemon = home(&platform, &model).daemon();
        platform.private_text(ANN, "A story, please.");
        shows(&platform, BEGINNING).await;
        platform.inject(On::method("editMessageText"), 2, fault.clone());
        end.add_permits(100);
        with_timeout("the edits", platform.wait_for_calls("editMessageText", 3)).await;
        shows(&platform, STORY).await;
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert_eq!(platform.calls("sendMessage"), 1, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f22_preview_and_answer_contain_no_reasoning() {
    let (platform, end) = (TelegramFake::start(TOKEN).await, held());
    let permits = end.clone();
    let model = OpenAiFake::start(move |_| {
        let first = "<think>What a secret, and a long one.</think>Once upon a time there ";
        begun(first, &permits, "was a bird.<|im_end|>")
    })
    .await;
    let daemon = home(&platform, &model).daemon();
    platform.private_text(ANN, "A story, please.");
    shows(&platform, BEGINNING).await;
    end.add_permits(100);
    shows(&platform, STORY).await;
    stop(daemon).await;
    assert_eq!(platform.sent()[0].edits, [BEGINNING]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preview_is_a_draft_if_the_server_knows_drafts_and_the_answer_is_one_message() {
    let (platform, end) = (TelegramFake::start(TOKEN).await, held());
    platform.learn_drafts();
    let model = storyteller(&end).await;
    let daemon = home(&platform, &model).daemon();
    platform.private_text(ANN, "A story, please.");
    with_timeout("the draft", platform.wait_for_calls("sendMessageDraft", 1)).await;
    assert_eq!(platform.draft(ANN).as_deref(), Some(BEGINNING));
    assert_eq!(platform.calls("sendMessage"), 0);
    end.add_permits(100);
    shows(&platform, STORY).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.calls("sendMessage"), platform.calls("editMessageText")), (1, 0));
    assert_eq!((platform.draft(ANN), platform.refusals()), (None, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preview_in_a_draft_survives_a_kill_as_one_unmarked_answer() {
    let (platform, never) = (TelegramFake::start(TOKEN).await, held());
    platform.learn_drafts();
    let model = first_and_then(
        move |_| begun("Once upon a time there ", &never, "never"),
        |_| ModelAnswer::says(STORY),
    )
    .await;
    let home = home(&platform, &model);
    let daemon = home.daemon();
    platform.private_text(ANN, "A story, please.");
    with_timeout("the draft", platform.wait_for_calls("sendMessageDraft", 1)).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
    assert_eq!(number(&home, "SELECT count(*) FROM outbox"), 0);

    let daemon = home.daemon();
    shows(&platform, STORY).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.calls("sendMessage"), platform.refusals()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preview_asks_an_older_server_for_a_draft_once_in_a_run() {
    let (platform, end) = (TelegramFake::start(TOKEN).await, held());
    let model = storyteller(&end).await;
    let daemon = home(&platform, &model).daemon();
    for count in 1..=2 {
        platform.private_text(ANN, "A story, please.");
        let began = |sent: &[SentMessage]| sent.len() == count && sent[count - 1].text == BEGINNING;
        with_timeout("the preview", platform.wait_for(began)).await;
        end.add_permits(100);
        let ended = |sent: &[SentMessage]| sent[count - 1].text == STORY;
        with_timeout("the answer", platform.wait_for(ended)).await;
        end.forget_permits(1000);
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success() && log.contains("the server shows no drafts"), "{log}");
    assert_eq!((platform.calls("sendMessageDraft"), platform.calls("sendMessage")), (1, 2));
}
