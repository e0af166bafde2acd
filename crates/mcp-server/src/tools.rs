//! Answers calls of tools.

use avocet_gateway::{
    AgentSummary, Ask, AttachParams, CancelJob, ListJobs, ListSessions, Send, ShowJob, ShowSession,
    SocketMethod, SubmitJob, Wait,
};
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::clock::Clock;
use avocet_protocol::store::{
    EventSeq, JobLimits, JobRules, JobStatus, MessageStatus, SessionSummary, SubmittedJob,
};
use avocet_protocol::turn::TurnRecord;
use rmcp::model::{CallToolResult, ClientResult, ContentBlock, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, model::CallToolRequestParams};
use serde_json::{Value, json};

use crate::answers::{ToolProblem, text_and_data};
use crate::arguments::{
    AskArguments, HistoryArguments, JobAction, JobsArguments, ProfileArguments, SendArguments,
    SessionsArguments, check_limit, parse_chat, parse_session, read,
};
use crate::catalogue::{ToolKind, list_tools};
use crate::forms::{allows_message, message_form};
use crate::host::McpCaller;
use crate::rights::ClientRights;
use crate::transcript;
use crate::watch::{TurnWatch, WatchedTurn, shows_forms};

/// The events of the whole log in which an open question is looked for.
const RECENT_EVENTS: i64 = 2000;

pub(crate) struct ToolCallContext<'a> {
    pub(crate) caller: &'a McpCaller,
    pub(crate) rights: &'a ClientRights,
    pub(crate) context: &'a RequestContext<RoleServer>,
    pub(crate) clock: &'a dyn Clock,
    /// The conversation of this client.
    pub(crate) session: SessionId,
    /// `true` if the conversation belongs to this client alone.
    pub(crate) is_own: bool,
}

/// Calls a tool; `None` if the client has no tool of this name.
pub(crate) async fn call_tool(
    call: &ToolCallContext<'_>,
    profiles: &[AgentSummary],
    request: CallToolRequestParams,
) -> Option<CallToolResult> {
    let tools = list_tools(call.rights, profiles);
    let (kind, tool) = tools.into_iter().find(|(_, tool)| tool.name == request.name)?;
    let (name, arguments) = (tool.name.as_ref(), request.arguments);
    let answer = match kind {
        ToolKind::Ask => call.ask(read_then(name, arguments)).await,
        ToolKind::Send => call.send(read_then(name, arguments)).await,
        ToolKind::Sessions => call.sessions(read_then(name, arguments)).await,
        ToolKind::History => call.history(read_then(name, arguments)).await,
        ToolKind::Jobs => call.jobs(read_then(name, arguments)).await,
        ToolKind::Profile(profile) => call.profile(&profile, read_then(name, arguments)).await,
    };
    Some(answer.unwrap_or_else(ToolProblem::into_call_result))
}

type ReadArguments<T> = Result<T, ToolProblem>;
type ToolAnswer = Result<CallToolResult, ToolProblem>;

fn read_then<T: serde::de::DeserializeOwned>(
    tool: &str,
    arguments: Option<JsonObject>,
) -> ReadArguments<T> {
    read(tool, arguments)
}

fn parse_result<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, ToolProblem> {
    serde_json::from_value(answer)
        .map_err(|error| ToolProblem::new(format!("the daemon's answer cannot be read: {error}")))
}

impl ToolCallContext<'_> {
    async fn call<M: SocketMethod>(&self, params: Value) -> Result<Value, ToolProblem> {
        Ok(self.caller.methods.call::<M>(params).await?)
    }

    async fn ask(&self, arguments: ReadArguments<AskArguments>) -> ToolAnswer {
        let AskArguments { text, session: named, message } = arguments?;
        let named = named.map(|named| parse_session(&named)).transpose()?;
        let is_own = self.is_own && named.as_ref().is_none_or(|named| *named == self.session);
        let wanted = named.unwrap_or_else(|| self.session.clone());
        let mut feed = self.caller.methods.follow(&wanted, None, is_own).await?;
        let message = match (text, message) {
            (Some(text), None) => {
                let asked = self.call::<Ask>(json!({ "session": wanted, "text": text })).await?;
                asked["message"].as_str().unwrap_or_default().to_owned()
            }
            (None, Some(message)) => {
                // A question may be older than this call.
                let from = EventSeq((feed.from.0 - RECENT_EVENTS).max(0));
                feed = self.caller.methods.follow(&wanted, Some(from), is_own).await?;
                message
            }
            _ => return Err(ToolProblem::new("ask: give either `text` or `message`")),
        };
        let status = self.call::<Wait>(json!({ "message": message, "seconds": 0 })).await;
        let status: MessageStatus =
            parse_result(status.map_err(|problem| problem.while_waiting(&message))?)?;
        // Linked chats share one session, and an earlier message may be of another one.
        if status.session != wanted {
            let from = Some(feed.from);
            feed = self.caller.methods.follow(&status.session, from, false).await?;
        }
        let turn = WatchedTurn { message, session: status.session, job: None };
        self.watch(turn, feed).await
    }

    async fn watch(&self, turn: WatchedTurn, feed: crate::SessionFeed) -> ToolAnswer {
        let Self { caller, rights, context, clock, .. } = *self;
        TurnWatch::new(caller, rights, context, clock, turn, feed).run().await
    }

    async fn send(&self, arguments: ReadArguments<SendArguments>) -> ToolAnswer {
        let SendArguments { chat: to, text } = arguments?;
        let to = parse_chat(&to)?;
        if !self.is_own || to != self.session.address() {
            self.ask_to_send(&to, &text).await?;
        }
        let sent = self.call::<Send>(json!({ "chat": to, "text": text })).await?;
        let delivery = sent["delivery"].as_str().unwrap_or_default();
        let said = format!("{delivery} is in the outbox of {to}.");
        Ok(text_and_data(said, json!({ "delivery": delivery, "chat": to })))
    }

    /// Asks the client's person whether a text may be delivered: another model has written it.
    ///
    /// # Errors
    /// [`ToolProblem`] if the person refuses, or the client cannot ask.
    async fn ask_to_send(&self, to: &ChatAddress, text: &str) -> Result<(), ToolProblem> {
        let peer = &self.context.peer;
        if !shows_forms(peer) {
            return Err(ToolProblem::new(format!(
                "send: a person has to allow each message to {to}, and this client shows no forms \
                 (elicitation); tell the user to send it: avocet send {to} TEXT"
            )));
        }
        let asked = peer.send_request(message_form(to, text));
        let answer = tokio::select! {
            () = self.context.ct.cancelled() => return Err(ToolProblem::new("send: cancelled")),
            answer = asked => answer,
        };
        match answer {
            Ok(ClientResult::ElicitResult(result)) if allows_message(&result) => Ok(()),
            Ok(_) => Err(ToolProblem::new(format!(
                "send: the person has not allowed this message to {to}"
            ))),
            Err(error) => Err(ToolProblem::new(format!("send: the form failed: {error}"))),
        }
    }

    async fn sessions(&self, arguments: ReadArguments<SessionsArguments>) -> ToolAnswer {
        let limit = check_limit(arguments?.limit, 20)?;
        let rows = self.call::<ListSessions>(json!({ "limit": limit })).await?;
        let rows: Vec<SessionSummary> = parse_result(rows)?;
        let line = |row: &SessionSummary| {
            let title = row.title.as_deref().unwrap_or("no messages");
            format!("- {} ({} turns): {title}", row.session, row.turns)
        };
        let text: Vec<String> = rows.iter().map(line).collect();
        let text = if text.is_empty() { "There are none.".to_owned() } else { text.join("\n") };
        Ok(text_and_data(text, json!({ "sessions": rows })))
    }

    async fn history(&self, arguments: ReadArguments<HistoryArguments>) -> ToolAnswer {
        let HistoryArguments { session: named, limit: turns, before } = arguments?;
        let named = named.map(|named| parse_session(&named)).transpose()?;
        let named = named.unwrap_or_else(|| self.session.clone());
        let params =
            json!({ "session": named, "turns": check_limit(turns, 10)?, "before": before });
        let turns: Vec<TurnRecord> = parse_result(self.call::<ShowSession>(params).await?)?;
        let text = match turns.as_slice() {
            [] if before.is_none() => format!("{named} has no messages yet."),
            [] => format!("{named} has no turns before this one."),
            turns => transcript::write_markdown(turns),
        };
        let summaries: Vec<Value> = turns.iter().map(transcript::summarise_turn).collect();
        Ok(text_and_data(text, json!({ "session": named, "turns": summaries })))
    }

    async fn jobs(&self, arguments: ReadArguments<JobsArguments>) -> ToolAnswer {
        let JobsArguments { action, job, profile, task, limit: rows } = arguments?;
        let job = job.ok_or_else(|| ToolProblem::new("jobs: this action needs `job`, such as j3"));
        match action {
            JobAction::List => {
                let jobs =
                    self.call::<ListJobs>(json!({ "limit": check_limit(rows, 20)? })).await?;
                let text: Vec<String> =
                    parse_result::<Vec<JobStatus>>(jobs.clone())?.iter().map(job_line).collect();
                let text =
                    if text.is_empty() { "There are none.".to_owned() } else { text.join("\n") };
                Ok(text_and_data(text, json!({ "jobs": jobs })))
            }
            JobAction::Status => {
                let job = self.call::<ShowJob>(json!({ "id": job? })).await?;
                let status: JobStatus = parse_result(job.clone())?;
                let result = status.result.as_deref().unwrap_or("There is no result yet.");
                Ok(text_and_data(
                    format!("{}\n\n{result}", job_line(&status)),
                    json!({ "job": job }),
                ))
            }
            JobAction::Start => {
                let missing = || {
                    ToolProblem::new(
                        "jobs: `start` needs `profile` and `task`; `avocet agents list` shows the \
                         profiles",
                    )
                };
                let (profile, task) = profile.zip(task).ok_or_else(missing)?;
                let job = self.submit(&profile, task, None).await?;
                let text =
                    format!("{} is in the log; look at it with the action `status`.", job.id);
                Ok(text_and_data(
                    text,
                    json!({ "job": { "id": job.id, "message": job.message, "session": job.session } }),
                ))
            }
            JobAction::Cancel => {
                let job = job?;
                self.call::<CancelJob>(json!({ "id": job })).await?;
                let text = format!("{job} is cancelled.");
                Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
            }
        }
    }

    async fn submit(
        &self,
        profile: &str,
        task: String,
        workspace: Option<String>,
    ) -> Result<SubmittedJob, ToolProblem> {
        let limits = JobLimits::default();
        let rules = JobRules { agent: profile.to_owned(), workspace, limits };
        parse_result(self.call::<SubmitJob>(json!(SubmitJob { task, rules, key: None })).await?)
    }

    async fn profile(
        &self,
        profile: &str,
        arguments: ReadArguments<ProfileArguments>,
    ) -> ToolAnswer {
        let ProfileArguments { task, workspace } = arguments?;
        let from: EventSeq = self.caller.methods.follow(&self.session, None, false).await?.from;
        let SubmittedJob { id, message, session, .. } =
            self.submit(profile, task, workspace).await?;
        let message = message.to_string();
        let feed = self
            .caller
            .methods
            .follow(&session, Some(from), self.rights.allow(AttachParams::NAME))
            .await;
        let feed = feed.map_err(|error| ToolProblem::from(error).while_waiting(&message))?;
        self.watch(WatchedTurn { message, session, job: Some(id.to_string()) }, feed).await
    }
}

fn job_line(job: &JobStatus) -> String {
    let task: String = job.task.chars().take(80).collect();
    format!("- {} {} ({}): {task}", job.id, job.state.as_str(), job.rules.agent)
}
