use std::io::{self, Write};

use async_trait::async_trait;
use avocet_protocol::chat::Choice;
use avocet_protocol::ids::{DeliveryId, TurnId};
use avocet_protocol::store::Total;
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::StartedMessage;
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use parking_lot::Mutex;

use super::own::GRACE;
use super::*;
use crate::receive::{Lines, TypedEvent, TypedLine};
use crate::styled::Look;
use crate::testing::TerminalEmulator;
use fake_link::FakeLink;

#[path = "chat_fake_link.rs"]
mod fake_link;

/// A person who types the next line when the last one is answered.
struct TypingPerson {
    link: Arc<FakeLink>,
    lines: std::str::Lines<'static>,
    typed: usize,
}

#[async_trait]
impl Input for TypingPerson {
    async fn next(&mut self) -> TypedLine {
        while !self.link.has_answered(self.typed) {
            tokio::task::yield_now().await;
        }
        // The last event still has to be shown.
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
        self.typed += 1;
        TypedLine(
            self.lines.next().map_or(TypedEvent::End, |line| TypedEvent::Line(line.to_owned())),
        )
    }
}

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The reader of a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChatReader {
    Person,
    Pipe,
}

/// The output of a conversation in which these lines are typed.
async fn talk(link: &Arc<FakeLink>, typed: &'static str, reader: ChatReader) -> (String, ChatEnd) {
    let (paper, emulator) = (Paper::default(), TerminalEmulator::new(50, 100));
    let group = Group::new("test");
    let (input, screen): (Box<dyn Input>, _) = match reader {
        ChatReader::Pipe => {
            let lines = Lines::new(typed.as_bytes(), &group).unwrap();
            (Box::new(lines), Screen::pipe(Box::new(paper.clone()), Box::new(paper.clone())))
        }
        ChatReader::Person => {
            let person = TypingPerson { link: link.clone(), lines: typed.lines(), typed: 0 };
            (Box::new(person), Screen::live(emulator.parts(Look::Styled)))
        }
    };
    let (_interrupt, interrupts) = flume::bounded(1);
    let clock = Arc::new(ManualClock::default());
    let chat = TerminalChat::new(TerminalChatParts {
        link: link.clone(),
        me: me(),
        input,
        screen,
        model: "a/b".to_owned(),
        clock: clock.clone(),
        interrupts,
        editor: None,
    });
    let greeting = if reader == ChatReader::Person { "hello" } else { "" };
    let (left, ()) = tokio::select! {
        left = chat.run(greeting) => (left, ()),
        // No test takes longer than `GRACE`.
        () = async {
            loop {
                clock.sleeper_within(GRACE..=GRACE).await;
                clock.advance(GRACE);
            }
        } => unreachable!(),
    };
    let paper = String::from_utf8(paper.0.lock().clone()).unwrap();
    match reader {
        ChatReader::Person => (rows(&emulator), left),
        ChatReader::Pipe => (paper, left),
    }
}

/// The rows that are not empty.
fn rows(emulator: &TerminalEmulator) -> String {
    let all = emulator.all();
    let rows = all.lines().filter(|row| !row.is_empty());
    rows.map(|row| format!("{row}\n")).collect()
}

fn me() -> SenderId {
    "uid:0".parse().unwrap()
}

fn chunk(id: i64, turn: Option<i64>, text: &str) -> DaemonNotice {
    DaemonNotice::Said(SaidChunk {
        id: DeliveryId(id),
        turn: turn.map(TurnId),
        text: text.to_owned(),
        choices: Vec::new(),
        repeat: false,
    })
}

fn started(turn: i64, message: i64, text: &str) -> DaemonNotice {
    let one = StartedMessage {
        id: MessageId(message),
        sender: "uid:7".to_owned(),
        text: text.to_owned(),
    };
    DaemonNotice::Event(TurnEvent::Started { turn: TurnId(turn), messages: vec![one] })
}

fn thinking() -> DaemonNotice {
    DaemonNotice::Event(TurnEvent::Thinking { step: 0 })
}

fn text(delta: &str) -> DaemonNotice {
    DaemonNotice::Event(TurnEvent::Text { delta: delta.to_owned() })
}

fn tool(name: &str) -> [DaemonNotice; 2] {
    let name = name.to_owned();
    let finished = TurnEvent::ToolFinished { name: name.clone(), ok: true, call: None };
    [
        DaemonNotice::Event(TurnEvent::ToolStarted { name, about: None, call: None }),
        DaemonNotice::Event(finished),
    ]
}

#[tokio::test]
async fn chat_through_a_pipe_prints_only_answers() {
    let [start, end] = tool("read_file");
    let link = Arc::new(FakeLink::new(
        vec![
            vec![
                started(1, 1, "one"),
                thinking(),
                start,
                end,
                text("fir"),
                chunk(1, Some(1), "first"),
            ],
            vec![chunk(2, Some(2), "second\nline")],
        ],
        Some(Outcome::Replied),
    ));
    let (paper, left) = talk(&link, "one\n\n  two  \r\n", ChatReader::Pipe).await;
    assert_eq!((paper.as_str(), left), ("first\nsecond\nline\n", ChatEnd::AllAnswered));
    assert_eq!(*link.said.lock(), ["one", "two"]);
    assert_eq!(*link.shown.lock(), [DeliveryId(1), DeliveryId(2)]);
}

#[tokio::test]
async fn chat_interactive_shows_progress_and_each_word_once() {
    let [start, end] = tool("read_file");
    let link = Arc::new(FakeLink::new(
        vec![vec![
            started(1, 1, "read it"),
            thinking(),
            text("Let me "),
            text("look."),
            start,
            end,
            thinking(),
            text("It says "),
            text("hello"),
            chunk(1, Some(1), "It says hello."),
        ]],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "read it\n/quit\nnever said\n", ChatReader::Person).await;
    let expected = "hello\n> read it\nLet me look.\n✓ read_file  0.0 s\nIt says hello.\n";
    assert_eq!(paper, expected);
    assert_eq!(link.said.lock().len(), 1);
}

#[tokio::test]
async fn chat_prints_an_answer_whole_if_it_differs_from_the_stream() {
    let restarted = DaemonNotice::Event(TurnEvent::Restarted);
    let link = Arc::new(FakeLink::new(
        vec![
            vec![
                started(1, 1, "a"),
                thinking(),
                text("half"),
                restarted,
                text("all"),
                chunk(1, Some(1), "all"),
            ],
            vec![
                started(2, 2, "b"),
                thinking(),
                text("lost some"),
                chunk(2, Some(2), "lost nothing"),
            ],
        ],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "a\nb\n", ChatReader::Person).await;
    let expected = "hello\n> a\nhalf\n(starting over)\nall\n> b\nlost some\nlost nothing\n";
    assert_eq!(paper, expected);
}

#[tokio::test]
async fn chat_prints_the_whole_answer_after_a_reconnect() {
    let back = DaemonNotice::Remark("back".to_owned());
    let link = Arc::new(FakeLink::new(
        vec![vec![
            started(1, 1, "count"),
            thinking(),
            text("1, 2, "),
            back,
            text("2, 3."),
            chunk(1, Some(1), "1, 2, 3."),
        ]],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "count\n", ChatReader::Person).await;
    assert_eq!(paper, "hello\n> count\n1, 2,\nback\n1, 2, 3.\n");
}

#[tokio::test]
async fn chat_streams_the_text_so_far_after_a_reconnect_and_each_word_once() {
    for (answer, shown) in [("1, 2, 3.", "1, 2, 3.\n"), ("4.", "1, 2, 3.\n4.\n")] {
        let back = DaemonNotice::Remark("back".to_owned());
        let link = Arc::new(FakeLink::new(
            vec![vec![
                started(1, 1, "count"),
                thinking(),
                text("1, 2, "),
                back,
                started(1, 1, "count"),
                text("1, 2, 3"),
                text("."),
                chunk(1, Some(1), answer),
            ]],
            Some(Outcome::Replied),
        ));
        let (paper, _) = talk(&link, "count\n", ChatReader::Person).await;
        assert_eq!(paper, format!("hello\n> count\n1, 2,\nback\n{shown}"));
    }
}

#[tokio::test]
async fn chat_acknowledges_a_repeated_chunk_without_showing_it_again() {
    let link = Arc::new(FakeLink::new(
        vec![
            vec![chunk(1, Some(1), "once"), chunk(1, Some(1), "once")],
            vec![chunk(2, None, "help")],
        ],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "a\n/help\n", ChatReader::Pipe).await;
    assert_eq!(paper, "once\nhelp\n");
    assert_eq!(link.shown.lock().len(), 3);
}

#[tokio::test]
async fn chat_shows_messages_of_other_senders() {
    let link = Arc::new(FakeLink::new(
        vec![vec![
            started(7, 70, "good \u{1b}[31mmorning"),
            chunk(1, Some(7), "and to you"),
            DaemonNotice::Remark("the connection was lost".to_owned()),
            started(8, 1, "a"),
            chunk(2, Some(8), "answer"),
        ]],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "a\n", ChatReader::Person).await;
    let expected = "hello\n> a\nuid:7 says: good [31mmorning\nand to you\n\
                    the connection was lost\nanswer\n";
    assert_eq!(paper, expected);
}

#[tokio::test]
async fn chat_question_reads_the_next_line() {
    let waiting = DaemonNotice::Event(TurnEvent::Waiting { kind: WaitKind::Answer });
    let mut question = chunk(1, Some(1), "What colour?");
    if let DaemonNotice::Said(chunk) = &mut question {
        chunk.choices = vec![Choice::new("Blue", "blue")];
        chunk.repeat = true;
    }
    let link = Arc::new(FakeLink::new(
        vec![
            vec![started(1, 1, "paint"), waiting.clone(), question],
            vec![chunk(2, None, "blue it is")],
        ],
        None,
    ));
    // No outcome arrives; the second line is still requested.
    let talking = talk(&link, "paint\nblue\n", ChatReader::Pipe);
    tokio::select! {
        _ = talking => panic!("the second answer has no end"),
        () = async {
            while link.shown.lock().len() < 2 {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    assert_eq!(*link.said.lock(), ["paint", "blue"]);
}

#[tokio::test]
async fn chat_reports_a_refused_message_and_ends_with_a_failure() {
    let link = Arc::new(FakeLink::new(Vec::new(), Some(Outcome::Replied)));
    let (paper, left) = talk(&link, "refuse\n", ChatReader::Pipe).await;
    assert_eq!(
        (paper.as_str(), left),
        ("not sent: \"refuse\": the disk is full\n", ChatEnd::SomeFailed)
    );
    let link = Arc::new(FakeLink::new(vec![vec![chunk(1, Some(1), "no")]], Some(Outcome::Error)));
    let (_, left) = talk(&link, "go\n", ChatReader::Pipe).await;
    assert_eq!(left, ChatEnd::SomeFailed);
}

#[path = "chat_open_tests.rs"]
mod open;

#[path = "chat_past_tests.rs"]
mod past;

#[path = "chat_lost_tests.rs"]
mod lost;
