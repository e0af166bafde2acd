//! The way of a typed line to the daemon.

use avocet_protocol::ids::MessageId;
use futures_util::FutureExt;
use futures_util::future::{Fuse, FusedFuture};

use super::{ChatEnd, ChatLoop, LinkError, STOP};

/// Characters of a line in the remark that it was not sent.
const NAMED: usize = 60;
const UNSENT: &str = "not sent";
/// The daemon may or may not have the message.
const UNCONFIRMED: &str = "not confirmed";
const LOST: &str = "the connection to the daemon was lost";
const LEFT: &str = "the chat was left first";

pub(super) type SentLine = (String, Result<MessageId, LinkError>);

/// A line that is being sent.
#[derive(Debug)]
pub(super) struct LineInFlight {
    text: String,
    /// `true` if the connection was lost before the request, so that the line only waits.
    waits: bool,
}

impl ChatLoop {
    pub(super) fn is_sending(&self) -> bool {
        !self.sending.is_terminated()
    }

    pub(super) fn is_sending_stop(&self) -> bool {
        self.in_flight.as_ref().is_some_and(|line| line.text == STOP)
    }

    pub(super) fn send_next(&mut self) {
        if !self.is_sending()
            && !self.is_loading()
            && !self.is_choosing()
            && self.wanted.is_none()
            && let Some(text) = self.to_send.pop_front()
        {
            let waits = self.link.is_lost();
            self.in_flight = Some(LineInFlight { text: text.clone(), waits });
            let link = self.link.clone();
            let send = async move {
                let sent = link.say(&text).await;
                (text, sent)
            };
            self.sending = send.boxed().fuse();
        }
    }

    pub(super) fn note_sent(&mut self, (text, sent): SentLine) {
        self.in_flight = None;
        let message = match sent {
            Ok(message) => message,
            Err(LinkError(error)) => return self.not_sent(UNSENT, &text, &error),
        };
        self.display.mark_shown(message);
        let now = self.clock.elapsed();
        // Such a line has waited for the connection only.
        let is_next = text.starts_with('/') || !self.own.is_busy(now);
        if let Some(live) = self.display.live_screen() {
            live.note_sent(&text, message);
            if is_next {
                live.release_lines(&[message]);
            }
        }
        self.own.add_sent(message, &text, now);
        let link = self.link.clone();
        self.outcomes.push(async move { (message, link.outcome(message).await) }.boxed());
    }

    /// Names the lines that the chat can no longer send.
    pub(super) fn name_unsent(&mut self) {
        let reason = if self.link.is_lost() { LOST } else { LEFT };
        self.sending = Fuse::terminated();
        if let Some(LineInFlight { text, waits }) = self.in_flight.take() {
            self.not_sent(if waits { UNSENT } else { UNCONFIRMED }, &text, reason);
        }
        while let Some(text) = self.to_send.pop_front() {
            self.not_sent(UNSENT, &text, reason);
        }
    }

    /// Names a line that the daemon does not have, and puts it back into the input.
    fn not_sent(&mut self, how: &str, text: &str, reason: &str) {
        let mut named: String = text.chars().take(NAMED).collect();
        if named.len() < text.len() {
            named.push('…');
        }
        self.display.screen.show_remark(&format!("{how}: \"{named}\": {reason}"));
        self.end = ChatEnd::SomeFailed;
        if text != STOP
            && let Some(live) = self.display.live_screen()
        {
            live.take_back(text);
        }
    }
}
