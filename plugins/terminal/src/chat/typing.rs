//! The keys and lines of the person.

use std::ops::ControlFlow;

use super::conversations::{ConversationWish, read_wish};
use super::{ChatEnd, ChatLoop, HOW_TO_ANSWER, HOW_TO_LEAVE, STOP};
use crate::key::Key;
use crate::keys::suspend;
use crate::line::{LineEffect, OWN_COMMANDS};
use crate::live::LiveScreen;
use crate::receive::TypedEvent;

/// The command whose answer lists the commands of the daemon.
const HELP: &str = "/help";
const HINT: &str = "Esc again: say an earlier message differently";

/// Names the commands that this program answers itself.
fn own_help() -> String {
    let names: Vec<String> = OWN_COMMANDS.iter().map(|own| format!("/{}", own.name)).collect();
    format!("In this terminal also: {}. Tab says what they do.", names.join(", "))
}

impl ChatLoop {
    pub(super) fn take_typed(&mut self, typed: TypedEvent) -> ControlFlow<()> {
        if typed != TypedEvent::Key(Key::Interrupt) {
            self.is_leaving = false;
        }
        if typed != TypedEvent::Key(Key::Escape) {
            self.is_rewinding = false;
        }
        match typed {
            TypedEvent::Key(key) => return self.press_key(&key),
            TypedEvent::End => return ControlFlow::Break(()),
            TypedEvent::Unreadable(error) => {
                self.display.screen.show_remark(&format!("not sent: {error}"));
                self.end = ChatEnd::SomeFailed;
            }
            TypedEvent::Line(line) => return self.take_line(&line),
        }
        ControlFlow::Continue(())
    }

    fn press_key(&mut self, key: &Key) -> ControlFlow<()> {
        let Some(live) = self.display.live_screen() else { return ControlFlow::Continue(()) };
        let effect = live.press_key(key);
        if effect == LineEffect::OpenEditor {
            self.open_editor();
        }
        if *key == Key::OpenEditor && !self.is_editing() {
            self.let_keys_in();
        }
        self.apply_effect(effect)
    }

    fn apply_effect(&mut self, effect: LineEffect) -> ControlFlow<()> {
        let Some(live) = self.display.live_screen() else { return ControlFlow::Continue(()) };
        match effect {
            LineEffect::Line(line) => return self.take_line(&line),
            LineEffect::End => return ControlFlow::Break(()),
            LineEffect::Interrupt => return self.interrupt_answer(),
            LineEffect::Escape if self.own.is_working() => self.stop(),
            LineEffect::Suspend => {
                live.hide_region();
                if let Err(error) = suspend() {
                    live.show_remark(&format!("cannot suspend the chat: {error}"));
                }
            }
            LineEffect::Escape => self.press_escape(),
            LineEffect::Edited | LineEffect::ClearScreen | LineEffect::OpenEditor => {}
        }
        ControlFlow::Continue(())
    }

    fn take_line(&mut self, line: &str) -> ControlFlow<()> {
        let text = match line.trim() {
            "" => return ControlFlow::Continue(()),
            "/quit" | "/exit" => return ControlFlow::Break(()),
            text => text,
        };
        if self.is_interactive()
            && let Some(wanted) = read_wish(text)
        {
            if let Some(live) = self.display.live_screen() {
                live.show_typed_line(text, false);
            }
            self.take_wish(wanted);
            return ControlFlow::Continue(());
        }
        let waits = self.is_loading()
            || self.link.is_lost()
            || (self.own.is_working() && !text.starts_with('/'));
        if let Some(live) = self.display.live_screen() {
            live.show_typed_line(text, waits);
        }
        if text == HELP {
            self.display.show_remark(&own_help());
        }
        self.to_send.push_back(text.to_owned());
        ControlFlow::Continue(())
    }

    /// Esc in an empty line. Twice, it lists the earlier messages.
    fn press_escape(&mut self) {
        let is_second = std::mem::take(&mut self.is_rewinding);
        let Some(live) = self.display.live_screen() else { return };
        if !live.line_text().is_empty() {
            return;
        }
        if is_second {
            self.take_wish(ConversationWish::ListMessages);
        } else {
            live.show_hint(HINT);
            self.is_rewinding = true;
        }
    }

    /// Ctrl-C stops the answer or removes the typed text. Twice, it leaves.
    fn interrupt_answer(&mut self) -> ControlFlow<()> {
        if std::mem::replace(&mut self.is_leaving, true) {
            return ControlFlow::Break(());
        }
        if self.own.is_asked() {
            // A turn that waits for an answer must not be discarded.
            self.display.show_remark(HOW_TO_ANSWER);
        } else if !self.link.is_lost() && (self.own.is_working() || self.is_busy()) {
            self.stop();
        } else if self.display.live_screen().is_some_and(LiveScreen::clear_line) {
            self.is_leaving = false;
        } else {
            self.display.show_remark(HOW_TO_LEAVE);
        }
        ControlFlow::Continue(())
    }

    /// Sends `/stop`, unless one is under way: a second one would end the next message's turn.
    pub(super) fn stop(&mut self) {
        let is_stopping = self.is_sending_stop() || self.own.is_stopping();
        if !is_stopping && !self.to_send.iter().any(|text| text == STOP) {
            self.to_send.push_back(STOP.to_owned());
        }
    }
}
