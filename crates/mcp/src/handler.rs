//! The answers to a server's own requests and notifications.

#![expect(
    deprecated,
    reason = "roots and sampling are deprecated in the newest protocol, and servers use them"
)]

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::clock::Clock;
use avocet_protocol::model::NoSample;
use avocet_protocol::turn::TurnEvent;
use avocet_supervise::RepeatedLines;
use avocet_text::append_text;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    InitializeRequestParams, ListRootsResult, ProgressNotificationParam, ProtocolVersion, Root,
    RootsCapabilities, SamplingCapability, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

use crate::calls::RunningCalls;
use crate::config::SamplingLimits;
use crate::elicit::{MOST_QUESTIONS, ServerQuestion};
use crate::progress::text_of;
use crate::sampling::answer_sampling;
use crate::services::McpServices;

/// The reason for a request that cannot be answered.
const NO_CALL: &str = "the request belongs to no call, or calls of several conversations run";

/// The client of one server.
#[derive(Debug, Clone)]
pub(crate) struct ServerRequestHandler {
    pub(crate) server: Arc<str>,
    /// Signals that the server has other tools now.
    pub(crate) list_changed: Arc<Notify>,
    /// Signals that a call makes progress.
    pub(crate) progress: Arc<Notify>,
    /// The directories that the server may use.
    pub(crate) roots: Arc<[PathBuf]>,
    /// The limits for requests to the model. `None` if they are refused.
    pub(crate) sampling: Option<SamplingLimits>,
    /// The services of the daemon for the server's own requests.
    pub(crate) services: McpServices,
    /// The calls that run on the connection.
    pub(crate) calls: Arc<RunningCalls>,
    pub(crate) repeats: Arc<RepeatedLines>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ServerRequestHandler {
    /// Logs the reason why a question was not asked or not answered.
    fn note_unanswered(&self, why: &str) {
        let subject = format!("{} question", self.server);
        if let Some(repeated) = self.repeats.note_line(&subject, why, self.clock.elapsed()) {
            let server = &*self.server;
            tracing::warn!(server, repeated, "a question of an MCP server has no answer: {why}");
        }
    }

    /// Logs the reason why a request to the model was refused.
    fn note_unsampled(&self, why: &str) {
        let subject = format!("{} sampling", self.server);
        if let Some(repeated) = self.repeats.note_line(&subject, why, self.clock.elapsed()) {
            let server = &*self.server;
            tracing::warn!(server, repeated, "refused a sampling request: {why}");
        }
    }

    /// Asks the person in the chat of the call.
    ///
    /// # Errors
    /// The answer for the server without a person, and the reason.
    async fn ask_person(
        &self,
        request: ElicitRequestParams,
    ) -> Result<ElicitResult, (ElicitationAction, String)> {
        use ElicitationAction::{Cancel, Decline};
        let refused = |action, why: &str| Err((action, why.to_owned()));
        let Some(people) = self.services.people.as_deref() else {
            return refused(Decline, "no daemon runs");
        };
        let Some(call) = self.calls.of_request() else {
            return refused(Cancel, NO_CALL);
        };
        let Some(chat) = &call.chat else {
            let why = "no chat waits for the turn: it is a job, a schedule or a sub-agent";
            return refused(Decline, why);
        };
        let Some(_open) = call.open_question(MOST_QUESTIONS) else {
            return refused(Cancel, &format!("a call may ask {MOST_QUESTIONS} times"));
        };
        let asked = ServerQuestion { server: &self.server, people, call: &call, chat };
        let answer = tokio::select! {
            biased;
            () = call.over.cancelled() => Ok(ElicitResult::new(Cancel)),
            answer = asked.run(request) => answer.map_err(|why| (Cancel, why)),
        };
        // The time of the call begins again.
        self.progress.notify_waiters();
        answer
    }
}

impl ClientHandler for ServerRequestHandler {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.sampling.is_some() && self.services.models.is_some() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        if self.services.people.is_some() {
            let elicitation =
                ElicitationCapability::new().with_form(FormElicitationCapability::default());
            capabilities.elicitation =
                Some(elicitation.with_url(UrlElicitationCapability::default()));
        }
        let software = Implementation::new("avocet", env!("CARGO_PKG_VERSION"));
        // All servers support the handshake of versions before 2026-07-28.
        InitializeRequestParams::new(capabilities, software)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let (Some(limits), Some(models)) = (self.sampling, &self.services.models) else {
            self.note_unsampled("the key `sampling` of its table is not set");
            return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
        };
        let Some(call) = self.calls.of_request() else {
            self.note_unsampled(NO_CALL);
            return Err(ErrorData::invalid_request(NO_CALL, None));
        };
        let _open = call.open_request();
        // The end of the call does not interrupt the request, so that its cost is recorded.
        let sampled = answer_sampling(models.as_ref(), limits, &call, params).await;
        self.progress.notify_waiters();
        sampled.map_err(|NoSample(why)| {
            self.note_unsampled(&why);
            ErrorData::invalid_request(why, None)
        })
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                Err((ElicitationAction::Cancel, "the server has withdrawn it".to_owned()))
            }
            answer = self.ask_person(request) => answer,
        };
        Ok(answer.unwrap_or_else(|(action, why)| {
            self.note_unanswered(&why);
            ElicitResult::new(action)
        }))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = self.roots.iter().map(|path| Root::new(file_uri(path)));
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.list_changed.notify_one();
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.notify_waiters();
        if let Some(events) = &self.services.events
            && let Some(call) = self.calls.of_request()
            && let Some(text) = text_of(&report)
            && call.may_report(self.clock.elapsed())
        {
            let name = call.tool.clone();
            events.emit(&call.session, TurnEvent::ToolProgress { name, text });
        }
    }
}

/// Returns the URI of a path (RFC 8089), with other bytes than those of RFC 3986, "Unreserved
/// Characters", encoded.
fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            other => append_text(&mut uri, format_args!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uri_encodes_all_but_unreserved_characters() {
        for (path, uri) in [
            ("/srv/files-1.0_a~b", "file:///srv/files-1.0_a~b"),
            ("/srv/my files/100%", "file:///srv/my%20files/100%25"),
            ("/srv/ä?#", "file:///srv/%C3%A4%3F%23"),
        ] {
            assert_eq!(file_uri(Path::new(path)), uri);
        }
    }
}
