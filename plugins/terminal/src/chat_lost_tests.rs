//! The connection is lost while lines are typed.

use std::sync::atomic::Ordering;

use super::open::AtTerminal;
use super::*;
use crate::key::Key;

impl AtTerminal {
    async fn press(&self, typed: TypedEvent) {
        self.keys.send_async(typed).await.unwrap();
    }

    /// Types a line that is not sent yet.
    async fn type_ahead(&self, line: &str) {
        self.press(TypedEvent::Line(line.to_owned())).await;
        self.wait_for(&format!("> {line}\n")).await;
    }

    pub(super) async fn lose(&self) {
        self.link.set_lost(true);
        self.wait_for("It was lost.").await;
    }
}

#[tokio::test]
async fn chat_left_without_its_connection_names_each_unsent_line() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let typing = async {
        terminal.lose().await;
        terminal.type_ahead("one").await;
        terminal.type_ahead("/status").await;
        // The first press does not stop anything.
        terminal.press(TypedEvent::Key(Key::Interrupt)).await;
        terminal.wait_for(HOW_TO_LEAVE).await;
        terminal.press(TypedEvent::End).await;
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!((end, terminal.link.said()), (ChatEnd::SomeFailed, Vec::new()));
    let reason = "the connection to the daemon was lost";
    let shown = format!(
        "hello\nIt was lost.\n{HOW_TO_LEAVE}\nnot sent: \"one\": {reason}\n\
         not sent: \"/status\": {reason}\n"
    );
    assert_eq!(terminal.shown(), shown);
}

#[tokio::test]
async fn chat_names_a_line_as_unconfirmed_if_the_connection_is_lost_during_the_send() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let typing = async {
        terminal.link.holds.store(true, Ordering::Relaxed);
        terminal.type_ahead("one").await;
        terminal.lose().await;
        terminal.press(TypedEvent::End).await;
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!(end, ChatEnd::SomeFailed);
    let shown = "hello\n> one\nIt was lost.\n\
                 not confirmed: \"one\": the connection to the daemon was lost\n";
    assert_eq!(terminal.shown(), shown);
}

#[tokio::test]
async fn chat_sends_the_lines_of_a_lost_connection_once_it_is_back() {
    let answers = vec![vec![chunk(1, None, "first")], vec![chunk(2, None, "second")]];
    let (terminal, chat) = AtTerminal::open(FakeLink::new(answers, Some(Outcome::Replied)));
    let typing = async {
        terminal.lose().await;
        terminal.type_ahead("/one").await;
        terminal.type_ahead("/two").await;
        terminal.link.set_lost(false);
        terminal.wait_for("second").await;
        terminal.press(TypedEvent::End).await;
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!(end, ChatEnd::AllAnswered);
    assert_eq!(terminal.link.said(), ["/one", "/two"]);
    let shown = terminal.shown();
    assert!(shown.starts_with("hello\nIt was lost.\nIt is back.\n> /one\n"), "{shown}");
    assert_eq!(shown.matches("> /two").count(), 1, "{shown}");
}

#[tokio::test]
async fn chat_left_at_once_still_sends_its_lines() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let typing = async {
        terminal.type_line("first").await;
        for line in ["one", "two"] {
            terminal.press(TypedEvent::Line(line.to_owned())).await;
        }
        terminal.press(TypedEvent::End).await;
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!(end, ChatEnd::AllAnswered);
    assert_eq!(terminal.link.said(), ["first", "one", "two"]);
}

#[tokio::test]
async fn chat_ctrl_c_outside_of_raw_mode_leaves_while_the_connection_is_lost() {
    let (terminal, chat) = AtTerminal::open(FakeLink::new(Vec::new(), None));
    let typing = async {
        terminal.lose().await;
        terminal.type_ahead("one").await;
        terminal.interrupt.send_async(()).await.unwrap();
    };
    let (end, ()) = tokio::join!(chat.run("hello"), typing);
    assert_eq!(end, ChatEnd::SomeFailed);
    assert!(terminal.shown().contains("not sent: \"one\": "), "{}", terminal.shown());
}
