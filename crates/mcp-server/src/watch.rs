//! Follows a turn until its message has an outcome: progress, questions to a person, cancellation.

use std::time::Duration;

use avocet_gateway::{Ask, CancelJob, Decide, ListApprovals, RpcError, SocketMethod, Wait};
use avocet_protocol::access::OpenApproval;
use avocet_protocol::chat::{Outcome, SessionId};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::WaitId;
use avocet_protocol::store::{LogEvent, MessageStatus};
use avocet_protocol::tool::WaitKind;
use rmcp::model::{CallToolResult, ClientResult};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle, ServiceError};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};

use crate::answers::{ToolProblem, text_and_data};
use crate::forms::{FormAnswer, TurnQuestion};
use crate::host::{McpCaller, MethodError, SessionFeed};
use crate::progress::CallProgress;
use crate::rights::ClientRights;
use crate::seen::SeenState;

/// The time after which a silent turn is reported as still working.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// The most open approvals in a page, and the most pages.
const APPROVALS: u32 = 100;
const MOST_PAGES: u32 = 100;

/// The turn to follow.
#[derive(Debug, Clone)]
pub(crate) struct WatchedTurn {
    /// The message that the turn answers.
    pub(crate) message: String,
    pub(crate) session: SessionId,
    /// The job that the turn runs; `None` if it runs no job.
    pub(crate) job: Option<String>,
}

/// A form that the client shows.
struct OpenForm {
    question: TurnQuestion,
    handle: RequestHandle<RoleServer>,
}

/// Follows a turn for one call of a tool.
pub(crate) struct TurnWatch<'a> {
    pub(crate) caller: &'a McpCaller,
    pub(crate) rights: &'a ClientRights,
    pub(crate) context: &'a RequestContext<RoleServer>,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) turn: WatchedTurn,
    feed: Option<SessionFeed>,
    progress: CallProgress,
    form: Option<OpenForm>,
    /// Approvals that were decided here. The list of open approvals may still contain them.
    decided: Vec<WaitId>,
    state: SeenState,
}

enum WatchStep {
    Cancelled,
    Ended(Result<Value, MethodError>),
    FormAnswered(Result<ClientResult, ServiceError>),
    Event(Option<Value>),
    Silence,
}

impl<'a> TurnWatch<'a> {
    pub(crate) fn new(
        caller: &'a McpCaller,
        rights: &'a ClientRights,
        context: &'a RequestContext<RoleServer>,
        clock: &'a dyn Clock,
        turn: WatchedTurn,
        feed: SessionFeed,
    ) -> Self {
        let token = context.meta.get_progress_token();
        let progress = CallProgress::new(context.peer.clone(), token);
        Self {
            caller,
            rights,
            context,
            clock,
            turn,
            feed: Some(feed),
            progress,
            form: None,
            decided: Vec::new(),
            state: SeenState::default(),
        }
    }

    /// Waits for the outcome, or for a decision that this client cannot make.
    pub(crate) async fn run(mut self) -> Result<CallToolResult, ToolProblem> {
        let message = self.turn.message.clone();
        let ran = self.follow_turn().await;
        if let Some(form) = self.form.take() {
            withdraw_form(form).await;
        }
        ran.map_err(|problem| problem.while_waiting(&message))
    }

    async fn follow_turn(&mut self) -> Result<CallToolResult, ToolProblem> {
        let caller = self.caller;
        let outcome = caller.methods.call::<Wait>(json!({ "message": self.turn.message }));
        tokio::pin!(outcome);
        // Questions may be older than the feed.
        let mut looks = true;
        loop {
            if looks && let Some(result) = self.look_for_result().await? {
                return Ok(result);
            }
            let step = tokio::select! {
                biased;
                () = self.context.ct.cancelled() => WatchStep::Cancelled,
                ended = &mut outcome => WatchStep::Ended(ended),
                answer = answer_of(&mut self.form) => WatchStep::FormAnswered(answer),
                event = next_event(self.feed.as_ref()) => WatchStep::Event(event),
                () = self.clock.sleep(REPORT_EVERY) => WatchStep::Silence,
            };
            looks = match step {
                WatchStep::Cancelled => return Ok(self.cancel_turn().await),
                WatchStep::Ended(status) => return self.ended_result(status?),
                WatchStep::FormAnswered(answer) => {
                    if let Some(result) = self.forward_answer(answer).await? {
                        return Ok(result);
                    }
                    false
                }
                WatchStep::Event(Some(event)) => self.note_event(event).await,
                WatchStep::Event(None) => {
                    self.feed = None;
                    false
                }
                WatchStep::Silence => {
                    let text = self.state.in_words();
                    self.progress.report_text(&text).await;
                    true
                }
            };
        }
    }

    /// Notes an event. Returns `true` if a question may be new, or answered.
    async fn note_event(&mut self, event: Value) -> bool {
        let Ok(event) = serde_json::from_value::<LogEvent>(event) else { return false };
        let Some((text, looks)) = self.state.note_event(event) else { return false };
        if let Some(text) = text {
            self.progress.report_text(&text).await;
        }
        looks
    }

    /// Shows the first open question as a form. Returns the result of the call if the client cannot
    /// show it.
    async fn look_for_result(&mut self) -> Result<Option<CallToolResult>, ToolProblem> {
        let questions = self.list_questions().await?;
        if let Some(form) = &self.form {
            if questions.iter().any(|one| one.is_same(&form.question)) {
                return Ok(None);
            }
            if let Some(form) = self.form.take() {
                withdraw_form(form).await;
            }
        }
        let Some(question) = questions.first() else { return Ok(None) };
        if !self.may_ask(question) {
            return Ok(Some(self.waiting_result(&questions, None)));
        }
        let text = question.in_words(self.turn.session.as_str());
        self.progress.report_text(&text).await;
        let options = PeerRequestOptions::no_options();
        match self.context.peer.send_cancellable_request(question.make_request(), options).await {
            Ok(handle) => {
                self.form = Some(OpenForm { question: question.clone(), handle });
                Ok(None)
            }
            Err(error) => Ok(Some(self.waiting_result(&questions, Some(error.to_string())))),
        }
    }

    /// Returns the open questions of the session.
    async fn list_questions(&self) -> Result<Vec<TurnQuestion>, ToolProblem> {
        let mut questions = Vec::new();
        if self.rights.allow(ListApprovals::NAME) {
            let rows = self.open_approvals().await?;
            let own = rows.into_iter().filter(|row| self.concerns(row));
            questions.extend(own.map(|row| TurnQuestion::Approval(Box::new(row))));
        }
        if self.state.waits.iter().any(|kind| matches!(kind, WaitKind::Answer | WaitKind::Choice)) {
            questions.extend(self.state.asked.clone());
        }
        Ok(questions)
    }

    /// Reads all open approvals, page by page.
    async fn open_approvals(&self) -> Result<Vec<OpenApproval>, ToolProblem> {
        let mut all: Vec<OpenApproval> = Vec::new();
        for _ in 0..MOST_PAGES {
            let mut params = json!({ "limit": APPROVALS });
            if let Some(last) = all.last() {
                params["after"] = json!(last.id);
            }
            let rows = self.caller.methods.call::<ListApprovals>(params).await?;
            let rows: Vec<OpenApproval> = serde_json::from_value(rows)
                .map_err(|error| ToolProblem::new(format!("approvals: {error}")))?;
            let is_last = rows.len() < APPROVALS as usize;
            all.extend(rows);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// Returns `true` for an approval of the turn or of one of its sub-agents.
    fn concerns(&self, row: &OpenApproval) -> bool {
        let session = &self.turn.session;
        let is_here = row.session == *session || row.chat.as_ref() == Some(&session.address());
        is_here && !self.decided.contains(&row.id)
    }

    /// Returns `true` if the client shows forms, and its role may answer this one.
    fn may_ask(&self, question: &TurnQuestion) -> bool {
        let needed = match question {
            TurnQuestion::Approval(_) => Decide::NAME,
            TurnQuestion::Answer { .. } => Ask::NAME,
        };
        shows_forms(&self.context.peer) && self.rights.allow(needed)
    }

    /// Forwards the answer of a form. Returns the result of the call if the question stays open.
    async fn forward_answer(
        &mut self,
        answer: Result<ClientResult, ServiceError>,
    ) -> Result<Option<CallToolResult>, ToolProblem> {
        let Some(OpenForm { question, .. }) = self.form.take() else { return Ok(None) };
        let answer = match answer {
            Ok(ClientResult::ElicitResult(result)) => question.read_answer(result),
            Ok(_) => FormAnswer::Open,
            Err(error) => {
                return Ok(Some(self.waiting_result(&[question], Some(error.to_string()))));
            }
        };
        let methods = &self.caller.methods;
        let done = match (answer, &question) {
            (FormAnswer::Decision(decision), TurnQuestion::Approval(approval)) => {
                self.decided.push(approval.id);
                methods.call::<Decide>(decision).await
            }
            (FormAnswer::Text(text), _) => {
                self.state.waits.clear();
                self.state.asked = None;
                let params = json!({ "session": self.turn.session, "text": text });
                methods.call::<Ask>(params).await
            }
            _ => return Ok(Some(self.waiting_result(&[question], None))),
        };
        match done {
            Ok(_) => Ok(None),
            // Another person was faster.
            Err(MethodError::Refused(refusal)) if refusal.code == RpcError::NOT_FOUND => Ok(None),
            Err(MethodError::Refused(refusal)) => {
                Ok(Some(self.waiting_result(&[question], Some(refusal.to_string()))))
            }
            Err(lost) => Err(lost.into()),
        }
    }

    /// Stops the turn as `/stop` does, or cancels the job.
    async fn cancel_turn(&mut self) -> CallToolResult {
        let stopped = match &self.turn.job {
            Some(job) => self.caller.methods.call::<CancelJob>(json!({ "id": job })).await,
            // `/stop` would end the turn of another message.
            None if self.is_queued().await => {
                let why = "the call was cancelled; its message waits behind another one, and is \
                           answered in the session";
                return ToolProblem::new(why).into_call_result();
            }
            None => {
                let stop = json!({ "session": self.turn.session, "text": "/stop" });
                self.caller.methods.call::<Ask>(stop).await
            }
        };
        if let Err(error) = stopped {
            tracing::debug!(%error, message = self.turn.message, "cannot stop a cancelled call");
        }
        ToolProblem::new("the call was cancelled").into_call_result()
    }

    /// Returns `true` if no turn answers the message yet.
    async fn is_queued(&self) -> bool {
        let params = json!({ "message": self.turn.message, "seconds": 0 });
        let status = self.caller.methods.call::<Wait>(params).await;
        status.is_ok_and(|status| status["turn"].is_null() && status["outcome"].is_null())
    }

    /// Returns the result for a turn that waits for a person.
    fn waiting_result(&self, questions: &[TurnQuestion], fault: Option<String>) -> CallToolResult {
        let session = self.turn.session.as_str();
        let open: Vec<String> = questions.iter().map(|one| one.in_words(session)).collect();
        let message = &self.turn.message;
        let fault = fault.map_or(String::new(), |fault| format!(" ({fault})"));
        let text = format!(
            "The agent waits for a person: {}{fault}. Afterwards, call ask with message {message} \
             to get the answer.",
            open.join("; ")
        );
        let mut structured = self.status_data("waiting");
        structured["waits_for"] = json!(open);
        text_and_data(text, structured)
    }

    fn status_data(&self, status: &str) -> Value {
        let WatchedTurn { message, session, job } = &self.turn;
        let mut object = json!({ "message": message, "session": session, "status": status });
        if let Some(job) = job {
            object["job"] = json!(job);
        }
        object
    }

    fn ended_result(&self, status: Value) -> Result<CallToolResult, ToolProblem> {
        let status: MessageStatus = serde_json::from_value(status)
            .map_err(|error| ToolProblem::new(format!("wait: {error}")))?;
        let message = &self.turn.message;
        let reply = status.reply.filter(|reply| !reply.trim().is_empty());
        match status.outcome {
            Some(outcome @ (Outcome::Replied | Outcome::Merged)) => {
                let mut structured = self.status_data("answered");
                structured["reply"] = json!(reply.as_deref().unwrap_or_default());
                let without_text = match outcome {
                    Outcome::Merged => {
                        "The answer to another message covers this one; see history."
                    }
                    _ => "The agent answered without a text.",
                };
                Ok(text_and_data(reply.unwrap_or_else(|| without_text.to_owned()), structured))
            }
            Some(Outcome::Stopped) => {
                Err(ToolProblem::new(format!("{message} was stopped before its answer")))
            }
            Some(Outcome::Error | Outcome::Dropped) => {
                Err(ToolProblem::new(reply.unwrap_or_else(|| {
                    format!("{message} has failed; see `avocet trace {message}`")
                })))
            }
            None => Err(ToolProblem::new(format!(
                "{message} has no answer yet: call ask with message {message}"
            ))),
        }
    }
}

/// Returns `true` if the client can show forms.
pub(crate) fn shows_forms(peer: &Peer<RoleServer>) -> bool {
    peer.supported_elicitation_modes().contains(&rmcp::service::ElicitationMode::Form)
}

async fn answer_of(form: &mut Option<OpenForm>) -> Result<ClientResult, ServiceError> {
    match form {
        Some(form) => match (&mut form.handle.rx).await {
            Ok(answer) => answer,
            Err(_) => Err(ServiceError::TransportClosed),
        },
        None => std::future::pending().await,
    }
}

async fn next_event(feed: Option<&SessionFeed>) -> Option<Value> {
    match feed {
        Some(feed) => feed.events.recv_async().await.ok(),
        None => std::future::pending().await,
    }
}

/// Cancels a form whose question was answered elsewhere or has ended.
async fn withdraw_form(form: OpenForm) {
    let why = Some("the question was answered elsewhere, or has ended".to_owned());
    if let Err(error) = form.handle.cancel(why).await {
        tracing::debug!(%error, "cannot withdraw a form from the MCP client");
    }
}
