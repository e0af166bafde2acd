//! The end of a conversation: the last lines are sent, and the last answers arrive.

use std::time::Duration;

use super::own::GRACE;
use super::{ChatEnd, ChatLoop};

impl ChatLoop {
    /// Sends the lines that wait, names those that cannot be sent, and waits for the last answers.
    pub(super) async fn leave_chat(&mut self) -> ChatEnd {
        self.send_last_lines().await;
        self.name_unsent();
        self.receive_last_answers().await;
        self.end
    }

    /// Sends the lines that wait, for the grace period at most. A lost connection ends the wait.
    async fn send_last_lines(&mut self) {
        let clock = self.clock.clone();
        let deadline = clock.elapsed() + GRACE;
        let left = || deadline.saturating_sub(clock.elapsed());
        while !self.link.is_lost() && !self.is_loading() && left() > Duration::ZERO {
            self.send_next();
            if !self.is_sending() {
                return;
            }
            let link = self.link.clone();
            tokio::select! {
                sent = &mut self.sending => self.note_sent(sent),
                text = link.remark() => self.show_remark(&text),
                () = clock.sleep(left()) => {}
            }
        }
    }

    /// Waits for the answers of finished turns, for the grace period at most. The daemon would send
    /// an answer that this terminal does not confirm again, with a mark.
    async fn receive_last_answers(&mut self) {
        let (link, clock) = (self.link.clone(), self.clock.clone());
        while let Some(deadline) = self.own.answers_due(clock.elapsed()) {
            tokio::select! {
                (turn, event) = &mut self.calls => self.note_calls(turn.as_ref(), event),
                notice = link.hear(), if !self.is_reading_calls() => self.handle_notice(notice).await,
                () = clock.sleep(deadline.saturating_sub(clock.elapsed())) => {}
            }
        }
    }
}
