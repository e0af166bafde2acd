//! The input is open while a turn runs or waits.

use super::*;
use crate::key::Key;

/// Keys that the test presses.
struct Keys(flume::Receiver<TypedEvent>);

#[async_trait]
impl Input for Keys {
    async fn next(&mut self) -> TypedLine {
        match self.0.recv_async().await {
            Ok(typed) => TypedLine(typed),
            Err(_) => std::future::pending().await,
        }
    }
}

/// A conversation at a terminal whose keys the test presses.
pub(super) struct AtTerminal {
    pub(super) link: Arc<FakeLink>,
    emulator: TerminalEmulator,
    pub(super) keys: flume::Sender<TypedEvent>,
    pub(super) interrupt: flume::Sender<()>,
}

impl AtTerminal {
    pub(super) fn open(link: FakeLink) -> (Self, TerminalChat) {
        let (link, emulator) = (Arc::new(link), TerminalEmulator::new(50, 150));
        let (keys, pressed) = flume::bounded(9);
        let (interrupt, interrupts) = flume::bounded(1);
        let parts = parts(&link, Box::new(Keys(pressed)), &emulator);
        let chat = TerminalChat::new(TerminalChatParts { interrupts, ..parts });
        (Self { link, emulator, keys, interrupt }, chat)
    }

    pub(super) async fn type_line(&self, line: &str) {
        self.keys.send_async(TypedEvent::Line(line.to_owned())).await.unwrap();
        let is_sent = || self.link.said().last().is_some_and(|last| last == line);
        while !is_sent() || !self.link.is_quiet() {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn wait_for(&self, text: &str) {
        while !self.shown().contains(text) {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn shown(&self) -> String {
        rows(&self.emulator)
    }
}

/// The parts of a conversation on a screen, with a clock that stands still.
fn parts(
    link: &Arc<FakeLink>,
    input: Box<dyn Input>,
    emulator: &TerminalEmulator,
) -> TerminalChatParts {
    TerminalChatParts {
        link: link.clone(),
        me: me(),
        input,
        screen: Screen::live(emulator.parts(Look::Styled)),
        model: "a/b".to_owned(),
        clock: Arc::new(ManualClock::default()),
        interrupts: flume::bounded(1).1,
        editor: None,
    }
}

/// A person who writes a line, and leaves as soon as it has an outcome.
struct HurriedPerson {
    link: Arc<FakeLink>,
    has_typed: bool,
}

#[async_trait]
impl Input for HurriedPerson {
    async fn next(&mut self) -> TypedLine {
        if !std::mem::replace(&mut self.has_typed, true) {
            return TypedLine(TypedEvent::Line("hi".to_owned()));
        }
        while !self.link.has_ended(1) {
            tokio::task::yield_now().await;
        }
        TypedLine(TypedEvent::End)
    }
}

#[tokio::test]
async fn chat_that_is_left_confirms_an_answer_that_arrives_within_the_grace_period() {
    // (the notice after the outcome, the confirmed chunks, `true` if the grace period has to pass)
    let table = [
        (chunk(1, Some(1), "hello"), vec![DeliveryId(1)], false),
        (end(Some(1), 1), Vec::new(), true),
    ];
    for (late, confirmed, waits) in table {
        let link = FakeLink::new(vec![vec![started(1, 1, "hi")]], Some(Outcome::Replied));
        link.late.lock().push(late);
        let (link, emulator) = (Arc::new(link), TerminalEmulator::new(50, 20));
        let input = Box::new(HurriedPerson { link: link.clone(), has_typed: false });
        let clock = Arc::new(ManualClock::default());
        let parts = parts(&link, input, &emulator);
        let chat = TerminalChat::new(TerminalChatParts { clock: clock.clone(), ..parts });
        let grace = async {
            if waits {
                clock.sleeper_within(GRACE..=GRACE).await;
                clock.advance(GRACE);
            }
        };
        let (end, ()) = tokio::join!(chat.run(""), grace);
        assert_eq!(end, ChatEnd::AllAnswered);
        assert_eq!(*link.shown.lock(), confirmed);
    }
}

fn waiting() -> DaemonNotice {
    DaemonNotice::Event(TurnEvent::Waiting { kind: WaitKind::Approval })
}

fn end(turn: Option<i64>, message: i64) -> DaemonNotice {
    let (turn, messages, outcome) = (turn.map(TurnId), vec![MessageId(message)], Outcome::Replied);
    DaemonNotice::Event(TurnEvent::Ended { turn, messages, outcome })
}

#[tokio::test]
async fn chat_accepts_input_while_a_turn_runs_or_waits() {
    let link = FakeLink::new(
        vec![
            vec![started(1, 1, "run it"), thinking(), text("Let me")],
            vec![chunk(1, None, "One turn is running.")],
            vec![waiting(), chunk(2, Some(1), "May I?")],
            vec![chunk(3, None, "One turn waits.")],
            vec![chunk(4, None, "Allowed."), DaemonNotice::Event(TurnEvent::Resumed)],
        ],
        None,
    );
    let (terminal, chat) = AtTerminal::open(link);
    let typing = async {
        for line in ["run it", "/status", "and then stop", "/status"] {
            terminal.type_line(line).await;
        }
        // Ctrl-C discards nothing while a question is open.
        terminal.keys.send_async(TypedEvent::Key(Key::Interrupt)).await.unwrap();
        terminal.wait_for(HOW_TO_ANSWER).await;
        terminal.type_line("yes").await;
        terminal.keys.send_async(TypedEvent::Key(Key::Interrupt)).await.unwrap();
        while terminal.link.said().len() < 6 {
            tokio::task::yield_now().await;
        }
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    tokio::join!(chat.run("hello"), typing);
    let said = ["run it", "/status", "and then stop", "/status", "yes", "/stop"];
    assert_eq!(terminal.link.said(), said);
    let shown = format!(
        "hello\n> run it\n> /status\nOne turn is running.\nLet me\nMay I?\n> /status\n\
         One turn waits.\n{HOW_TO_ANSWER}\n> yes\nAllowed.\n> and then stop\n"
    );
    assert_eq!(terminal.shown(), shown);
}

#[tokio::test]
async fn chat_shows_own_messages_once_when_their_turn_resumes() {
    let mut own = started(1, 1, "run it");
    let mut elsewhere = started(2, 70, "what is new?");
    for heard in [&mut own, &mut elsewhere] {
        if let DaemonNotice::Event(TurnEvent::Started { messages, .. }) = heard {
            messages[0].sender = "uid:0".to_owned();
        }
    }
    let link = Arc::new(FakeLink::new(
        vec![
            vec![own.clone(), own, chunk(1, Some(1), "done")],
            vec![elsewhere.clone(), elsewhere, chunk(2, Some(2), "nothing")],
        ],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "run it\n/help\n", ChatReader::Person).await;
    let expected = "hello\n> run it\ndone\n> /help\n\
        In this terminal also: /quit, /resume, /rewind, /sessions, /title. Tab says what they do.\n\
        you wrote earlier or elsewhere: what is new?\nnothing\n";
    assert_eq!(paper, expected);
}

#[tokio::test]
async fn chat_prints_an_answer_once_with_other_text_between_its_pieces() {
    let link = Arc::new(FakeLink::new(
        vec![vec![
            started(1, 1, "a"),
            thinking(),
            text("one\n"),
            chunk(9, None, "a status"),
            text("two\nthree"),
            chunk(1, Some(1), "one\n"),
            chunk(2, Some(1), "two\nthree"),
        ]],
        Some(Outcome::Replied),
    ));
    let (paper, _) = talk(&link, "a\n", ChatReader::Person).await;
    assert_eq!(paper, "hello\n> a\na status\none\ntwo\nthree\n");
}

#[tokio::test]
async fn chat_pipe_continues_after_an_approval_once_the_turn_has_answered() {
    let go_on = DaemonNotice::Event(TurnEvent::Resumed);
    let mut link = FakeLink::new(
        vec![
            vec![started(1, 1, "run"), waiting(), chunk(1, Some(1), "May I?")],
            vec![chunk(2, None, "Allowed."), go_on, end(None, 2), chunk(3, Some(1), "done")],
            vec![chunk(4, Some(3), "bye")],
        ],
        Some(Outcome::Replied),
    );
    link.sent_first = 2;
    let link = Arc::new(link);
    let (paper, left) = talk(&link, "run\nyes\nbye\n", ChatReader::Pipe).await;
    assert_eq!((paper.as_str(), left), ("May I?\nAllowed.\ndone\nbye\n", ChatEnd::AllAnswered));
}

#[tokio::test]
async fn chat_pipe_continues_after_a_line_that_does_not_answer_the_question() {
    let mut link = FakeLink::new(
        vec![
            vec![started(1, 1, "run"), waiting(), chunk(1, Some(1), "May I?")],
            vec![chunk(2, None, "I am waiting for an answer.")],
        ],
        Some(Outcome::Replied),
    );
    link.sent_first = usize::MAX;
    let (paper, _) = talk(&Arc::new(link), "run\nmaybe\nhm\n", ChatReader::Pipe).await;
    assert_eq!(paper, "May I?\nI am waiting for an answer.\n");
}

#[tokio::test]
async fn f11_chat_ctrl_c_sends_stop_for_the_running_turn() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let typing = async {
        terminal.type_line("hang").await;
        terminal.interrupt.send_async(()).await.unwrap();
        while terminal.link.said().len() < 2 {
            tokio::task::yield_now().await;
        }
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    tokio::join!(chat.run("hello"), typing);
    assert_eq!(terminal.link.said(), ["hang", "/stop"]);
}

#[tokio::test]
async fn chat_second_escape_sends_no_second_stop() {
    let answers = vec![Vec::new(), Vec::new(), Vec::new(), vec![chunk(1, None, "still here")]];
    let (terminal, chat) = AtTerminal::open(FakeLink::new(answers, None));
    let press = |key| terminal.keys.send_async(TypedEvent::Key(key));
    let typing = async {
        terminal.type_line("hang").await;
        terminal.type_line("next").await;
        for _ in 0..3 {
            press(Key::Escape).await.unwrap();
        }
        terminal.type_line("/status").await;
        press(Key::Escape).await.unwrap();
        terminal.wait_for("still here").await;
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    tokio::join!(chat.run("hello"), typing);
    assert_eq!(terminal.link.said(), ["hang", "next", "/stop", "/status"]);
}

#[tokio::test]
async fn chat_opens_another_conversation_once_the_last_answer_is_confirmed() {
    let answers = vec![
        vec![started(1, 1, "hi"), thinking(), text("hello")],
        vec![started(2, 2, "count"), chunk(2, Some(2), "1, 2, 3")],
    ];
    let (terminal, chat) = AtTerminal::open(FakeLink::new(answers, Some(Outcome::Replied)));
    let resume = TypedEvent::Line("/resume work".to_owned());
    let typing = async {
        terminal.type_line("hi").await;
        while !terminal.link.has_ended(1) {
            tokio::task::yield_now().await;
        }
        terminal.keys.send_async(resume).await.unwrap();
        terminal.wait_for("> /resume work").await;
        // What is typed now is for the other conversation.
        terminal.keys.send_async(TypedEvent::Line("count".to_owned())).await.unwrap();
        terminal.wait_for("> count").await;
        assert_eq!(*terminal.link.opened.lock(), [""; 0], "the answer is still to come");
        terminal.link.send_notice(chunk(1, Some(1), "hello"));
        terminal.wait_for("This is the conversation work.").await;
        assert_eq!(terminal.link.shown.lock().first(), Some(&DeliveryId(1)));
        assert_eq!(*terminal.link.opened.lock(), ["work"]);
        while terminal.link.said().len() < 2 {
            tokio::task::yield_now().await;
        }
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    tokio::join!(chat.run("hello"), typing);
    assert_eq!(terminal.link.said(), ["hi", "count"]);
}

#[tokio::test]
async fn chat_puts_a_line_that_was_not_sent_back_into_the_input() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let typing = async {
        terminal.type_line("hang").await;
        terminal.keys.send_async(TypedEvent::Line("refuse".to_owned())).await.unwrap();
        terminal.wait_for("not sent: \"refuse\": the disk is full").await;
        terminal.keys.send_async(TypedEvent::Key(Key::Text("d".to_owned()))).await.unwrap();
        terminal.wait_for("> refused").await;
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!(end, ChatEnd::SomeFailed);
    assert_eq!(terminal.shown(), "hello\n> hang\nnot sent: \"refuse\": the disk is full\n");
}

#[tokio::test]
async fn chat_can_be_left_before_the_last_turn_is_known() {
    let mut link = FakeLink::new(Vec::new(), None);
    link.is_silent = true;
    let (terminal, chat) = AtTerminal::open(link);
    let typing = async {
        terminal.keys.send_async(TypedEvent::Line("too early".to_owned())).await.unwrap();
        terminal.wait_for("> too early").await;
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!(terminal.link.said(), [""; 0]);
    assert_eq!(end, ChatEnd::SomeFailed);
    let shown = "hello\nnot sent: \"too early\": the chat was left first\n";
    assert_eq!(terminal.shown(), shown);
}

#[tokio::test]
async fn chat_status_line_shows_the_model_after_a_command_changes_it() {
    let answers = vec![vec![chunk(1, None, "c/d answers here."), end(None, 1)]];
    let (terminal, chat) = AtTerminal::open(FakeLink::new(answers, None));
    let typing = async {
        terminal.wait_for("a/b").await;
        *terminal.link.model.lock() = Some("c/d".to_owned());
        terminal.type_line("/model c/d").await;
        terminal.wait_for("c/d · 1.5k tokens · $0.020").await;
        // An answer that is late keeps the last known model.
        *terminal.link.model.lock() = None;
        terminal.lose().await;
        assert!(terminal.shown().contains("c/d · "), "{}", terminal.shown());
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    tokio::join!(chat.run("hello"), typing);
}

#[tokio::test]
async fn chat_shows_the_progress_of_a_running_tool() {
    let [start, _] = tool("shell");
    let (name, text) = ("shell".to_owned(), "2 of 3".to_owned());
    let progress = DaemonNotice::Event(TurnEvent::ToolProgress { name, text });
    let answers = vec![vec![started(1, 1, "run"), thinking(), start, progress]];
    let (terminal, chat) = AtTerminal::open(FakeLink::new(answers, None));
    let typing = async {
        terminal.type_line("run").await;
        terminal.wait_for("• shell  2 of 3  0 s").await;
        terminal.keys.send_async(TypedEvent::End).await.unwrap();
    };
    tokio::join!(chat.run("hello"), typing);
    assert_eq!(terminal.shown(), "hello\n> run\n◦ shell\n");
}

#[tokio::test]
async fn chat_escape_stops_the_turn_and_ctrl_c_twice_leaves() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let press = |key| terminal.keys.send_async(TypedEvent::Key(key));
    let typing = async {
        press(Key::Escape).await.unwrap();
        terminal.type_line("hang").await;
        press(Key::Escape).await.unwrap();
        while terminal.link.said().len() < 2 {
            tokio::task::yield_now().await;
        }
        for _ in 0..2 {
            press(Key::Interrupt).await.unwrap();
        }
    };
    tokio::join!(chat.run("hello"), typing);
    assert_eq!(terminal.link.said(), ["hang", "/stop"]);
}
