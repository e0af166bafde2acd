//! A toolbox that runs no tool: a call has the result that the record has for it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::access::{Role, Trust};
use avocet_protocol::chat::{Content, SessionId};
use avocet_protocol::model::ToolCall;
use avocet_protocol::tool::{
    Evidence, HeldForCall, Place, PreparedCall, ToolClass, ToolContext, ToolError, ToolOutcome,
    ToolOutput, ToolSpec, Toolbox, Verdict, WaitKind, WaitRequest,
};
use avocet_protocol::turn::CallResult;

use crate::replay_log::ReplayLog;

/// The error of a call that the record does not have.
pub const NOT_RECORDED: &str = "not recorded: a replay runs no tools";

/// Offers the tools of another toolbox, and answers calls from a record.
#[derive(Debug)]
pub(crate) struct RecordedToolbox {
    /// The toolbox whose tools are offered. None of them is run.
    pub(crate) offered: Arc<dyn Toolbox>,
    pub(crate) log: Arc<ReplayLog>,
}

#[async_trait]
impl Toolbox for RecordedToolbox {
    fn specs(&self, role: Role, place: &Place) -> Arc<[ToolSpec]> {
        self.offered.specs(role, place)
    }

    fn skill_allows(&self, pattern: &str, name: &str) -> bool {
        self.offered.skill_allows(pattern, name)
    }

    /// Lets each call through: the record has the outcome of the checks, too.
    async fn prepare(
        &self,
        _call: &ToolCall,
        _allowed: Option<&str>,
        _context: &ToolContext,
    ) -> Result<PreparedCall, ToolError> {
        Ok(PreparedCall {
            class: ToolClass::Pure,
            parallel: false,
            evidence: None,
            trust: Trust::Full,
            // The recorded result is cut already.
            output: usize::MAX,
            approval: None,
            held: HeldForCall::default(),
        })
    }

    async fn execute(
        &self,
        _call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        match self.log.result_of(context.call) {
            Some(CallResult { ok: true, value, trust, .. }) => {
                let (writes, trust) = (Vec::new(), Some(trust));
                Ok(ToolOutcome::Finished(ToolOutput { value, writes, trust }))
            }
            // The loop would reword a recorded error. The end of a wait leaves it as it is.
            Some(CallResult { ok: false, .. }) => Ok(ToolOutcome::Waiting(wait(WaitKind::Child))),
            None => Err(ToolError::ExecutionFailed(NOT_RECORDED.to_owned())),
        }
    }

    fn hold(&self, text: &str, _context: &ToolContext) -> Option<WaitRequest> {
        self.log.withholds_answer(text).then(|| wait(WaitKind::Approval))
    }

    fn has_changes(&self, _session: &SessionId) -> bool {
        self.log.has_reviews()
    }

    async fn review_changes(&self, text: &str, _context: &ToolContext) -> Option<WaitRequest> {
        self.log.reviews_changes(text).then(|| wait(WaitKind::Approval))
    }

    async fn interrupted(&self, _call: &ToolCall, _context: &ToolContext) -> Content {
        Content::default()
    }

    async fn verify(&self, _call: &ToolCall, _evidence: &Evidence) -> Verdict {
        Verdict::Unknown
    }
}

/// Returns a wait that ends with the recorded result.
fn wait(kind: WaitKind) -> WaitRequest {
    let (prompt, writes, grant, shown) = (None, Vec::new(), None, None);
    WaitRequest { kind, prompt, expires_after: Duration::ZERO, writes, grant, shown, remark: None }
}
