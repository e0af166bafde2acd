//! A message to the agent, and the progress of its answer.

use std::pin::Pin;
use std::sync::Arc;

use avocet_protocol::{MessageId, TurnEvent};
use axum::http::StatusCode;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::DropGuard;

use super::question::ApiSession;
use crate::caller::HttpCaller;
use crate::deliveries::confirm_deliveries;
use crate::problem::Problem;
use crate::routes::messages::{MessageProgress, add_key};
use crate::state::{HttpState, LONGEST_WAIT};

/// The outcome of a message.
type Ending = Pin<Box<dyn Future<Output = Result<MessageProgress, Problem>> + Send>>;

/// An accepted message whose answer is under way.
pub(crate) struct AskedTurn {
    pub(crate) state: Arc<HttpState>,
    /// The number of the message.
    pub(crate) message: String,
    /// The time of acceptance, in seconds since 1970.
    pub(crate) created: i64,
    events: Option<flume::Receiver<TurnEvent>>,
    /// `true` while the turn that answers the message runs.
    is_running: bool,
    /// The text of the current step that was passed on.
    written: String,
    ending: Option<Ending>,
    ended: Option<MessageProgress>,
    _place: OwnedSemaphorePermit,
    /// Ends the confirmation of deliveries some time after it is dropped.
    _deliveries: Option<DropGuard>,
}

/// A step of the progress.
#[derive(Debug)]
pub(crate) enum TurnProgress {
    /// The next piece of text. All pieces together end with the reply in the log.
    Text(String),
    /// The message has its outcome.
    Done(MessageProgress),
    /// There is no outcome.
    Failed(Problem),
}

impl AskedTurn {
    /// Sends a message. Returns after the commit.
    ///
    /// # Errors
    /// The message is not in the log.
    pub(crate) async fn begin(
        state: Arc<HttpState>,
        caller: HttpCaller,
        ApiSession { session, is_own }: ApiSession,
        text: String,
        key: Option<String>,
    ) -> Result<Self, Problem> {
        let place = state.long_request()?;
        // Subscribe before the message is sent, so that no text is missed.
        let events = state.follow(&caller, state.linked(&session).as_str()).await?;
        let deliveries = is_own.then(|| confirm_deliveries(&state, &session));
        let mut params = json!({ "session": session, "text": text });
        add_key(&mut params, key);
        let accepted = state.call(&caller, "ask", params).await?;
        let message = accepted["message"].as_str().unwrap_or_default().to_owned();
        let created = state.parts.clock.now().0 / 1000;
        let (waiting, id) = (state.clone(), message.clone());
        let ending: Ending = Box::pin(async move {
            let status = waiting.wait(&caller, &id, LONGEST_WAIT).await?;
            serde_json::from_value(status).map_err(|error| Problem::unavailable(error.to_string()))
        });
        Ok(Self {
            state,
            message,
            created,
            events: Some(events),
            is_running: false,
            written: String::new(),
            ending: Some(ending),
            ended: None,
            _place: place,
            _deliveries: deliveries,
        })
    }

    /// Waits for the next step. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> TurnProgress {
        loop {
            if let Some(ended) = self.ended.take() {
                return TurnProgress::Done(ended);
            }
            let Some(ending) = &mut self.ending else {
                return TurnProgress::Failed(Problem::unavailable("the answer has ended"));
            };
            let event = async {
                match &self.events {
                    Some(events) => events.recv_async().await.ok(),
                    None => std::future::pending().await,
                }
            };
            // Text that was written before the outcome comes first.
            tokio::select! {
                biased;
                event = event => match event {
                    Some(event) => if let Some(text) = self.text_of(event) {
                        return TurnProgress::Text(text);
                    },
                    None => self.events = None,
                },
                ended = ending => {
                    self.ending = None;
                    match ended.and_then(with_outcome) {
                        Err(problem) => return TurnProgress::Failed(problem),
                        Ok(ended) => {
                            let reply = ended.reply.clone().unwrap_or_default();
                            self.ended = Some(ended);
                            let rest = rest_of(&reply, &self.written);
                            if !rest.is_empty() {
                                return TurnProgress::Text(rest);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// There is no outcome.
    pub(crate) async fn finish(mut self) -> Result<MessageProgress, Problem> {
        loop {
            match self.next().await {
                TurnProgress::Text(_) => {}
                TurnProgress::Done(ended) => return Ok(ended),
                TurnProgress::Failed(problem) => return Err(problem),
            }
        }
    }

    /// Returns the text that an event adds.
    fn text_of(&mut self, event: TurnEvent) -> Option<String> {
        match event {
            TurnEvent::Started { messages, .. } => {
                let message = self.message.parse::<MessageId>().ok();
                self.is_running = messages.iter().any(|started| Some(started.id) == message);
                None
            }
            TurnEvent::Text { delta } if self.is_running => {
                self.written.push_str(&delta);
                Some(delta)
            }
            // A new step, or the same one again, begins a new text.
            TurnEvent::Thinking { .. } | TurnEvent::Restarted
                if self.is_running && !self.written.is_empty() =>
            {
                self.written.clear();
                Some("\n\n".to_owned())
            }
            TurnEvent::Ended { .. } => {
                self.is_running = false;
                None
            }
            _ => None,
        }
    }
}

/// Returns the part of the reply that was not written yet; all of it if another text was written.
fn rest_of(reply: &str, written: &str) -> String {
    if written.trim().is_empty() {
        return reply.to_owned();
    }
    // The log has no blanks at the ends.
    let exact = reply.strip_prefix(written.trim_start());
    match exact.or_else(|| reply.strip_prefix(written.trim())) {
        Some(rest) => rest.to_owned(),
        None => format!("\n\n{reply}"),
    }
}

fn with_outcome(ended: MessageProgress) -> Result<MessageProgress, Problem> {
    if ended.outcome.is_some() {
        return Ok(ended);
    }
    Err(Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "urn:avocet:problem:no-answer-yet",
        format!(
            "{} has no answer after {LONGEST_WAIT} seconds; read it later at /v1/messages/{}",
            ended.id, ended.id
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_completes_the_written_text_to_the_reply() {
        let table = [
            ("1, 2.", "", "1, 2."),
            ("1, 2.", "1,", " 2."),
            ("1, 2.", "\n1, ", "2."),
            ("1, 2.", "1, 2.", ""),
            ("1, 2.", "\n1, 2. ", ""),
            ("1, 2.", "let me see", "\n\n1, 2."),
            ("", "", ""),
            ("", "x", "\n\n"),
        ];
        for (reply, written, rest) in table {
            assert_eq!(rest_of(reply, written), rest, "{reply:?} {written:?}");
        }
    }
}
