use avocet_agent::OutlineStep;
use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MessageId, TurnId};
use avocet_protocol::model::{Arguments, Money, Usage};
use avocet_protocol::turn::{
    AnswerEnding, CallResult, CallState, LoggedCall, Origin, SessionReports, Step, TurnRecord,
    TurnState, Undelivered,
};

use super::*;

fn call(name: &str, path: &str) -> ToolCall {
    let arguments = Arguments::parse(&json!({ "path": path }).to_string());
    ToolCall { name: name.to_owned(), arguments }
}

fn spent(model: &str, input: u64, cost: Option<u64>) -> Spent {
    Spent { model: model.to_owned(), usage: Usage::new(input, 20), cost: cost.map(Money) }
}

/// A turn with two calls and an answer of several lines.
fn recorded() -> RecordedTurn {
    let logged = |ordinal, call| LoggedCall {
        id: CallId { turn: TurnId(12), step: 0, ordinal },
        call,
        state: CallState::Finished(CallResult::ok(json!("x"))),
        allowed: None,
    };
    let step = |number, text: &str, calls| Step {
        number,
        text: text.to_owned(),
        ending: AnswerEnding::Complete,
        usage: Usage::new(700, 20),
        trust: Trust::Full,
        calls,
        written: None,
        reasoning: None,
        closed: true,
        steered: Vec::new(),
    };
    let calls = vec![logged(0, call("read_file", "a.txt")), logged(1, call("read_file", "b.txt"))];
    let answer = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine";
    RecordedTurn {
        turn: TurnRecord {
            id: TurnId(12),
            session: "terminal:local:me".parse().unwrap(),
            state: TurnState::Done,
            started_at: Timestamp(0),
            origin: Origin::Messages(Vec::new()),
            steps: vec![step(0, "I look.", calls), step(1, answer, Vec::new())],
            notice: None,
            undelivered: Undelivered::default(),
            recalled: Vec::new(),
            reports: SessionReports::default(),
        },
        spent: vec![spent("a/old", 1200, Some(4_200_000)), spent("a/old", 200, Some(0))],
        has_removed_results: false,
        is_forgotten: true,
    }
}

/// A replay with another second call, another end of the text, and a message that it left out.
fn other() -> ReplayedTurn {
    let calls = vec![call("read_file", "a.txt"), call("delete_file", "b.txt")];
    let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nten";
    ReplayedTurn {
        outline: TurnOutline {
            steps: vec![OutlineStep { text: "I look.".to_owned(), calls }],
            end: ReplayEnd::Answered(text.to_owned()),
        },
        new_calls: vec![CallId { turn: TurnId(12), step: 0, ordinal: 1 }],
        unread: vec![MessageId(7)],
        spent: vec![spent("b/new", 1500, None)],
    }
}

fn shown(report: &ReplayReport<'_>) -> String {
    report.lines().into_iter().map(|line| format!("{}\n", line.text)).collect()
}

#[test]
fn report_of_a_different_replay_shows_calls_texts_tokens_and_cost() {
    let (recorded, replayed) = (recorded(), other());
    let report = ReplayReport::new(&recorded, &replayed, ReplayAnswers::Asked);
    assert!(!report.is_same());
    insta::assert_snapshot!(shown(&report));
    insta::assert_snapshot!(format!("{:#}", report.as_json()));
}

#[test]
fn report_of_an_equal_replay_says_so() {
    let recorded = recorded();
    let outline = TurnOutline::of_record(&recorded.turn);
    let spent = vec![spent("the record", 1400, Some(0))];
    let replayed = ReplayedTurn { outline, new_calls: Vec::new(), unread: Vec::new(), spent };
    let report = ReplayReport::new(&recorded, &replayed, ReplayAnswers::Recorded);
    assert!(report.is_same());
    insta::assert_snapshot!(shown(&report));
}

#[test]
fn report_shows_ends_without_an_answer() {
    for (end, line) in [
        (ReplayEnd::Failed("It failed.".to_owned()), "+ ! It failed."),
        (ReplayEnd::Stopped, "+ ! stopped by a person"),
    ] {
        let recorded = recorded();
        let outline = TurnOutline { end, ..TurnOutline::of_record(&recorded.turn) };
        let replayed = ReplayedTurn { outline, ..other() };
        let shown = shown(&ReplayReport::new(&recorded, &replayed, ReplayAnswers::Asked));
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
}
