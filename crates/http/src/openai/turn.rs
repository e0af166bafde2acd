//! A message to the agent, and the progress of its answer.

use std::pin::Pin;
use std::sync::Arc;

use avocet_gateway::{Ask, ProgramAsk, SocketMethod, check_rights};
use avocet_protocol::bus::ProgramRequest;
use avocet_protocol::ids::{DedupeKey, MessageId};
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::TurnEvent;
use axum::http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::DropGuard;

use super::answer::TurnAnswer;
use super::conversation::ApiSession;
use super::error::OpenAiError;
use super::request_files::{RequestFile, load_files};
use crate::caller::HttpCaller;
use crate::deliveries::confirm_deliveries;
use crate::input::MAX_BODY_BYTES;
use crate::problem::Problem;
use crate::state::{HttpState, LONGEST_WAIT};

/// The outcome of a message.
type Ending = Pin<Box<dyn Future<Output = Result<MessageStatus, Problem>> + Send>>;

/// A request for an answer.
pub(crate) struct ApiQuestion {
    pub(crate) session: ApiSession,
    pub(crate) text: String,
    pub(crate) files: Vec<RequestFile>,
    pub(crate) program: ProgramRequest,
    pub(crate) key: Option<String>,
}

/// An accepted message whose answer is under way.
pub(crate) struct AskedTurn {
    pub(crate) state: Arc<HttpState>,
    /// The number of the message.
    pub(crate) message: MessageId,
    /// The time of acceptance, in seconds since 1970.
    pub(crate) created: i64,
    events: Option<flume::Receiver<TurnEvent>>,
    /// `true` while the turn that answers the message runs.
    is_running: bool,
    /// `true` if the answer has to be JSON.
    wants_json: bool,
    /// The text of the current step that was passed on.
    written: String,
    ending: Option<Ending>,
    ended: Option<TurnAnswer>,
    _place: OwnedSemaphorePermit,
    /// Ends the confirmation of deliveries some time after it is dropped.
    _deliveries: Option<DropGuard>,
}

/// A step of the progress.
#[derive(Debug)]
pub(crate) enum TurnProgress {
    /// The next piece of text. All pieces together end with the reply in the log.
    Text(String),
    /// The message has its answer.
    Done(TurnAnswer),
    /// There is no answer.
    Failed(OpenAiError),
}

impl AskedTurn {
    /// Sends a message. Returns after the commit.
    ///
    /// # Errors
    /// The message is not in the log.
    pub(crate) async fn begin(
        state: Arc<HttpState>,
        caller: HttpCaller,
        question: ApiQuestion,
    ) -> Result<Self, OpenAiError> {
        let ApiQuestion { session: ApiSession { session, is_own, .. }, text, files, program, key } =
            question;
        if !is_own && !files.is_empty() {
            return Err(Problem::bad_request(format!(
                "files cannot be sent to {session}; leave out X-Avocet-Session"
            ))
            .into());
        }
        check_length(&program)?;
        let key = key.map(|key| DedupeKey::parse(&key)).transpose();
        let key = key.map_err(|error| Problem::bad_request(error.to_string()))?;
        let place = state.long_request()?;
        let checked = Ask::new(session.clone(), String::new());
        check_rights::<Ask>(&state.parts, &caller.0, &checked).await.map_err(Problem::from)?;
        let (files, kept) = load_files(&state, &caller, files).await?;
        // Subscribe before the message is sent, so that no text is missed.
        let events = state.follow(&caller, state.linked_session(&session).as_str()).await?;
        let deliveries = is_own.then(|| confirm_deliveries(&state, &session, kept));
        let wants_json = program.answer_schema.is_some();
        let ask = ProgramAsk { session, text, key, files, program };
        let (asking, asked_by) = (state.clone(), caller.0.clone());
        let accepted = state
            .complete(Ask::NAME, async move {
                avocet_gateway::ask_for_program(&asking.parts, &asked_by, ask).await
            })
            .await?;
        let message = accepted.map_err(Problem::from)?.message;
        let created = state.parts.clock.now().0 / 1000;
        let waiting = state.clone();
        let ending: Ending = Box::pin(async move {
            waiting.wait_for_status(&caller, &message.to_string(), LONGEST_WAIT).await
        });
        Ok(Self {
            state,
            message,
            created,
            events: Some(events),
            is_running: false,
            wants_json,
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
                return TurnProgress::Failed(Problem::unavailable("the answer has ended").into());
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
                    match ended.map_err(OpenAiError::from).and_then(answer_of) {
                        Err(error) => return TurnProgress::Failed(error.after_acceptance()),
                        Ok(answer) => match answer.in_json(self.wants_json) {
                            Err(error) => return TurnProgress::Failed(error),
                            Ok(answer) => {
                                let rest = rest_of(&answer.text, &self.written);
                                self.ended = Some(answer);
                                if !rest.is_empty() {
                                    return TurnProgress::Text(rest);
                                }
                            }
                        },
                    }
                }
            }
        }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn finish(mut self) -> Result<TurnAnswer, OpenAiError> {
        loop {
            match self.next().await {
                TurnProgress::Text(_) => {}
                TurnProgress::Done(answer) => return Ok(answer),
                TurnProgress::Failed(error) => return Err(error),
            }
        }
    }

    /// Returns the text that an event adds.
    fn text_of(&mut self, event: TurnEvent) -> Option<String> {
        match event {
            TurnEvent::Started { messages, .. } => {
                self.is_running = messages.iter().any(|started| started.id == self.message);
                None
            }
            // An answer in JSON is passed on when it is known to be whole and valid.
            _ if self.wants_json => None,
            TurnEvent::Text { delta } if self.is_running => {
                self.written.push_str(&delta);
                Some(delta)
            }
            // A new step, or the same one again, begins a new text.
            TurnEvent::Thinking { .. } | TurnEvent::Thought { .. } | TurnEvent::Restarted
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
    if written.trim().is_empty() || reply.is_empty() {
        return reply.to_owned();
    }
    // The log has no blanks at the ends.
    let exact = reply.strip_prefix(written.trim_start());
    match exact.or_else(|| reply.strip_prefix(written.trim())) {
        Some(rest) => rest.to_owned(),
        None => format!("\n\n{reply}"),
    }
}

/// Refuses a request whose texts are longer than the body of any other request may be.
fn check_length(program: &ProgramRequest) -> Result<(), Problem> {
    let bytes: usize = program.texts().map(str::len).sum();
    if bytes <= MAX_BODY_BYTES {
        return Ok(());
    }
    let detail = format!(
        "the texts of the request have {bytes} bytes, and at most {MAX_BODY_BYTES} are possible; \
         send fewer earlier messages"
    );
    Err(Problem::too_large(detail))
}

fn answer_of(status: MessageStatus) -> Result<TurnAnswer, OpenAiError> {
    let Some(outcome) = status.outcome else {
        let detail = format!(
            "{id} has no answer after {LONGEST_WAIT} seconds; read it later at /v1/messages/{id}",
            id = status.id
        );
        let kind = "urn:avocet:problem:no-answer-yet";
        return Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, kind, detail).into());
    };
    TurnAnswer::new(status, outcome)
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
            ("", "x", ""),
        ];
        for (reply, written, rest) in table {
            assert_eq!(rest_of(reply, written), rest, "{reply:?} {written:?}");
        }
    }
}
