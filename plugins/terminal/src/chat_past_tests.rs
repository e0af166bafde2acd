//! The last exchange at the beginning of a chat.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, LoggedInbound, NewInbound, Sender, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::turn::{Origin, SessionReports, TurnState, Undelivered};

use super::*;

/// A turn 5 for the message 70, with this answer.
fn past(question: &str, answer: &str) -> TurnRecord {
    let session = SessionId::parse("terminal:local:me").unwrap();
    let key = "k".parse().unwrap();
    let inbound = Inbound::new(session.address(), Sender::new(me()), key, Content::text(question));
    let (kind, removed, trust) = (InboundKind::Text, 0, Trust::Full);
    let message = NewInbound { session: session.clone(), kind, inbound, removed, trust };
    let message = LoggedInbound { id: MessageId(70), received_at: Timestamp(0), message };
    TurnRecord {
        id: TurnId(5),
        session,
        state: TurnState::Done,
        started_at: Timestamp(0),
        origin: Origin::Messages(vec![message]),
        steps: Vec::new(),
        notice: Some(answer.to_owned()),
        undelivered: Undelivered::default(),
        recalled: Vec::new(),
        reports: SessionReports::default(),
    }
}

async fn shown(past: TurnRecord, notices: Vec<DaemonNotice>) -> String {
    let mut link = FakeLink::new(vec![notices], Some(Outcome::Replied));
    link.past = Some(past);
    talk(&Arc::new(link), "a\n", ChatReader::Person).await.0
}

#[tokio::test]
async fn chat_shows_an_undelivered_last_answer_and_its_question_once() {
    let notices = vec![
        chunk(1, Some(5), "It is done."),
        started(5, 70, "do it"),
        chunk(2, Some(5), "And more."),
        started(6, 1, "a"),
        chunk(3, Some(6), "ok"),
    ];
    let expected = "hello\n> do it\nIt is done.\n> a\nAnd more.\nok\n";
    assert_eq!(shown(past("do it", "It is done."), notices).await, expected);
}

#[tokio::test]
async fn chat_shows_the_rest_of_a_last_turn_that_resumes_once() {
    let notices = vec![
        started(5, 70, "do it"),
        thinking(),
        text("Do"),
        text("ne."),
        chunk(1, Some(5), "Done."),
    ];
    let expected = "hello\n> do it\nMay I?\n> a\nDone.\n";
    assert_eq!(shown(past("do it", "May I?"), notices).await, expected);
}

#[tokio::test]
async fn chat_shows_a_last_answer_whole_if_only_its_end_was_shown() {
    let answer: String = (0..30).map(|line| format!("{line}.\n\n")).collect();
    let shown = shown(past("count", &answer), vec![chunk(1, Some(5), &answer)]).await;
    assert!(shown.starts_with("hello\n> count\n…\n20."), "{shown}");
    assert!(shown.contains("\n0.\n1.\n2.\n"), "{shown}");
}

#[tokio::test]
async fn chat_says_once_that_answers_from_before_the_last_exchange_are_old() {
    let notices = vec![
        chunk(1, Some(3), "It was sunny."),
        chunk(2, Some(4), "It was four."),
        chunk(3, Some(5), "It is done."),
        started(6, 1, "a"),
        chunk(4, Some(2), "A task has ended."),
        chunk(5, Some(6), "ok"),
    ];
    let expected = "hello\n> do it\nIt is done.\n> a\nwhile you were away:\nIt was sunny.\n\
                    It was four.\nA task has ended.\nok\n";
    assert_eq!(shown(past("do it", "It is done."), notices).await, expected);
}
