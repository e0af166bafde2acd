use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Sender, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::model::Usage;
use avocet_protocol::tool::ChildMode;
use avocet_protocol::turn::{AnswerEnding, SessionReports, Step, TurnState, Undelivered};

use super::*;

fn message(id: i64, text: &str) -> LoggedInbound {
    let session = SessionId::parse("terminal:local:me").unwrap();
    let (sender, key) = (Sender::new("me".parse().unwrap()), "k".parse().unwrap());
    let inbound = Inbound::new(session.address(), sender, key, Content::text(text));
    let (kind, removed, trust) = (InboundKind::Text, 0, Trust::Full);
    let message = NewInbound { session, kind, inbound, removed, trust };
    LoggedInbound { id: MessageId(id), received_at: Timestamp(0), message }
}

fn turn(origin: Origin) -> TurnRecord {
    TurnRecord {
        id: TurnId(1),
        session: "terminal:local:me".parse().unwrap(),
        state: TurnState::Done,
        started_at: Timestamp(0),
        origin,
        steps: Vec::new(),
        notice: None,
        undelivered: Undelivered::default(),
        recalled: Vec::new(),
        reports: SessionReports::default(),
    }
}

/// A turn with two messages, and one that steered it.
fn steered() -> TurnRecord {
    let messages = vec![message(1, "first\n\nline"), message(2, "second")];
    let step = Step {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        usage: Usage::default(),
        trust: Trust::Full,
        calls: Vec::new(),
        written: None,
        reasoning: None,
        closed: true,
        steered: vec![message(3, "third")],
    };
    TurnRecord { steps: vec![step], ..turn(Origin::Messages(messages)) }
}

const TEXT: &str = "=== m1 me ===\nfirst\n\nline\n=== m2 me ===\nsecond\n\
    === m3 me, after step 0 ===\nthird\n";

#[test]
fn to_text_and_from_text_leave_an_unchanged_turn_as_it_is() {
    let mut turn = steered();
    assert_eq!(to_text(&mut turn), TEXT);
    from_text(&mut turn, TEXT).unwrap();
    assert_eq!(turn, steered());
}

#[test]
fn from_text_puts_changed_texts_into_their_messages() {
    let mut turn = steered();
    let edited = TEXT.replace("first\n\nline", "new\u{202e} words\n").replace("third", "3");
    from_text(&mut turn, &edited).unwrap();
    let texts: Vec<String> =
        editable_texts(&mut turn).into_iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(texts, ["new words", "second", "3"]);
}

#[test]
fn from_text_of_a_task_changes_its_prompt() {
    let prompt = "look".to_owned();
    let (parent, trust, label, mode) = (TurnId(1), Trust::Full, None, ChildMode::Awaited);
    let mut turn = turn(Origin::Child { parent, prompt, trust, label, mode });
    let text = to_text(&mut turn);
    from_text(&mut turn, &text.replace("look", "look again")).unwrap();
    assert!(matches!(turn.origin, Origin::Child { prompt, .. } if prompt == "look again"));
}

#[test]
fn from_text_names_a_missing_heading_and_refuses_an_empty_text() {
    for (edited, error) in [
        ("", "\"=== m1 me ===\" is missing"),
        (&TEXT.replace("=== m2 me ===", "=== m2 ==="), "\"=== m2 me ===\" is missing"),
        (&TEXT.replace(['f', 's', 't'], ""), "\"=== m3 me, after step 0 ===\" is missing"),
        (
            "=== m1 me ===\n\n=== m2 me ===\n=== m3 me, after step 0 ===\n\n",
            "the edited text is empty",
        ),
    ] {
        let why = from_text(&mut steered(), edited).unwrap_err();
        assert!(why.contains(error), "{why}");
    }
}
