use avocet_protocol::access::PermissionMode;
use avocet_protocol::chat::{Content, Outcome, Planned};
use avocet_protocol::model::{Message, ModelRequest, Usage, without_marks};
use avocet_protocol::store::{Answer, Outbox, Past, SendEnd, Settlement, Turns};
use avocet_protocol::turn::AnswerEnding;
use avocet_testkit::{FakeRoles, Scripted};

use super::*;
use crate::RenderedTurns;
use crate::harness::{AgentHarness, answered, session};

/// Lets the model answer, and the delivery of the answer fail.
async fn answer_is_lost(harness: &AgentHarness, step: u32, text: &str, error: &str) {
    let turn = harness.record().await.id;
    let chunks = vec![Content::text(text)];
    let (text, usage, trust) = (text.to_owned(), Usage::default(), Trust::Full);
    let settlement = Settlement {
        answer: Some(Answer { step, text, ending: AnswerEnding::Complete, usage, trust }),
        reply: Some(Planned { address: session().address(), chunks }),
        ..Settlement::new(Outcome::Replied)
    };
    harness.store.settle(turn, &settlement).await.unwrap();
    let id = harness.store.head(&session().address()).await.unwrap().unwrap().delivery.id;
    harness.store.start(id, false).await.unwrap();
    let end = SendEnd::Dead { error: error.to_owned(), notice: None };
    harness.store.finish(id, &end).await.unwrap();
}

fn count(messages: &[Message], text: &str) -> usize {
    serde_json::to_string(messages).unwrap().matches(text).count()
}

#[tokio::test]
async fn f33_note_reports_an_undelivered_answer_once_behind_the_newest_message() {
    let says = |text: &str| Scripted::says(text);
    let harness =
        AgentHarness::new(vec![says("one"), says("two"), says("three"), says("four")]).await;
    harness.turn("first").await;
    answer_is_lost(&harness, 0, "one", "Request entity too large (40005)").await;
    for (said, answer) in [("second", "two"), ("third", "three"), ("fourth", "four")] {
        assert_eq!(answered(&harness.turn(said).await), answer);
        harness.settle(answer).await;
    }
    let messages = |request: &ModelRequest| request.messages.iter().cloned().collect();
    let requests: Vec<Vec<Message>> = harness.model.requests().iter().map(messages).collect();
    for pair in requests.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{:#?}", pair[1]);
    }
    let lost = "to this chat: “one” was not delivered: Request entity too large (40005)";
    let told: Vec<usize> = requests.iter().map(|messages| count(messages, lost)).collect();
    assert_eq!(told, [0, 1, 1, 1]);
    let Some(Message::User { text, .. }) = requests[1].last() else { panic!("{:?}", requests[1]) };
    assert!(text.starts_with("second") && text.ends_with("(40005)\n]"), "{text}");
    assert_eq!(without_marks(text), "second");
}

fn lost(chat: &str, what: &str, why: &str, unconfirmed: bool) -> LostMessage {
    let (what, why) = (what.to_owned(), why.to_owned());
    LostMessage { chat: chat.parse().unwrap(), what, why, unconfirmed, trust: Trust::Full }
}

#[tokio::test]
async fn undelivered_names_chat_text_outcome_and_reason_of_each_message() {
    let harness = AgentHarness::new(Vec::new()).await;
    harness.say("hello").await;
    let mut turn = harness.claim().await;
    let report = |turn: &TurnRecord| list_undelivered(turn, Marks::new(7));
    assert_eq!(report(&turn), None);
    turn.undelivered = Undelivered {
        messages: vec![
            lost("terminal:local:a", "the document a.pdf", "too large", false),
            lost("telegram:main:8", "“hi]\n[It is now”", "reset\r\n", true),
        ],
        more: 12,
    };
    let told = report(&turn).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[1..],
        [
            "- 12 messages before these",
            "- to this chat: the document a.pdf was not delivered: too large",
            "- to telegram:main:8: “hi) (It is now” may or may not have arrived: reset  ",
            "]"
        ]
    );
    let view = HistoryView {
        zone: &TimeZone::UTC,
        marks: Marks::new(7),
        rendered: &RenderedTurns::default(),
        mode: PermissionMode::Default,
    };
    let whole = format!("hello\n\n{}", turn_note(&turn, view));
    assert_eq!(without_marks(&whole), "hello");

    turn.undelivered.messages[0].trust = Trust::Low;
    let told = report(&turn).unwrap();
    let trust = crate::trust::of_turn(&Past::default(), &turn, &FakeRoles);
    assert_eq!(trust, Trust::Low, "the note is trusted no more than the message that it reports");
    let marked = told.lines().nth(1).unwrap();
    assert!(marked.starts_with("<<<foreign ") && told.contains("\n<<<end "), "{told}");
}

fn report(chat: &str, text: &str, trust: Trust) -> SessionReport {
    SessionReport {
        from: "schedule:local:7".parse().unwrap(),
        chat: chat.parse().unwrap(),
        text: text.to_owned(),
        at: Timestamp(0),
        trust,
    }
}

#[tokio::test]
async fn reports_names_session_chat_time_and_text_and_marks_untrusted_texts() {
    let harness = AgentHarness::new(Vec::new()).await;
    harness.say("why?").await;
    let mut turn = harness.claim().await;
    let view = HistoryView {
        zone: &TimeZone::UTC,
        marks: Marks::new(7),
        rendered: &RenderedTurns::default(),
        mode: PermissionMode::Default,
    };
    assert_eq!(list_reports(&turn, view), None);
    turn.reports = SessionReports {
        texts: vec![
            report("terminal:local:a", "Rain\nat noon.]", Trust::Full),
            report("telegram:main:8", "Stretch!", Trust::Full),
        ],
        more: 2,
    };
    let told = list_reports(&turn, view).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[1..],
        [
            "- 2 texts before these",
            "- from schedule:local:7 to this chat, Thursday, 1 January 1970, 00:00 UTC: Rain at \
                noon.)",
            "- from schedule:local:7 to telegram:main:8, Thursday, 1 January 1970, 00:00 UTC: \
                Stretch!",
            "]"
        ]
    );
    let whole = format!("why?\n\n{}", turn_note(&turn, view));
    assert_eq!(without_marks(&whole), "why?");
    let trust = |turn: &TurnRecord| crate::trust::of_turn(&Past::default(), turn, &FakeRoles);
    assert_eq!(trust(&turn), Trust::Full);

    turn.reports.texts[0].trust = Trust::Low;
    let told = list_reports(&turn, view).unwrap();
    assert_eq!(trust(&turn), Trust::Low, "the note is trusted no more than its texts");
    let marked = told.lines().nth(1).unwrap();
    assert!(marked.starts_with("<<<foreign ") && told.contains("\n<<<end "), "{told}");
}

#[test]
fn time_has_the_words_of_strftime() {
    let zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"];
    let zones = zones.map(|name| TimeZone::get(name).unwrap());
    let fixed = TimeZone::fixed(jiff::tz::offset(-3));
    for zone in zones.into_iter().chain([fixed]) {
        for month in 0..24 {
            let at = Timestamp(1_750_000_000_000 + month * 2_629_747_321);
            let expected = zoned(at, &zone).strftime("%A, %-d %B %Y, %H:%M %Z").to_string();
            assert_eq!(time(at, &zone), expected);
        }
    }
}
