//! The port of a tool: one thing that the model can do.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CallId, ChannelName, ChatAddress, ChatKind, Content, LeastTrust, Planned, Role, Seen,
    SessionId, ToolName, Trust,
};

/// What a crash between start and finish of a call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Reads only: it runs again.
    Pure,
    /// Its effect is a write to the log, in the same transaction as its result: there is no gap.
    InLog,
    /// Whether it happened can be seen afterwards: it is compared.
    Verifiable,
    /// Anything else: it is never run again; a person decides.
    Effect,
}

/// What a tool is, for the model and for the registry.
#[derive(Debug, Clone)]
pub struct Description {
    /// Its name; unique in the registry.
    pub name: ToolName,
    /// What it does and when to use it, for the model.
    pub text: Cow<'static, str>,
    /// What a crash in the middle of it means.
    pub class: ToolClass,
    /// Whether it may run beside other calls that say the same.
    pub parallel: bool,
    /// How long one call may take.
    pub time_limit: Duration,
    /// Bytes of a result, or of an error, that a model is given at once, 1,024 to [`Self::MOST_OUTPUT`]; what is beyond
    /// them is kept and can be read by handle.
    pub output: usize,
    /// For whom it is: whoever has at least this role.
    pub role: Role,
    /// How far what it returns may be believed, unless a result says otherwise.
    pub trust: Trust,
}

impl Description {
    /// The most that a model is given at once of any result, in bytes.
    pub const MOST_OUTPUT: usize = 65_536;
    /// The least that a result can be cut to and still say how the rest is read, in bytes.
    pub const LEAST_OUTPUT: usize = 1024;

    /// A tool for owners that runs alone, has a minute, and returns what is the owners' own.
    ///
    /// # Panics
    /// If `name` is not a tool name; it is written in the source.
    #[must_use]
    pub fn new(name: &str, class: ToolClass, text: impl Into<Cow<'static, str>>) -> Self {
        let name = match ToolName::parse(name) {
            Ok(name) => name,
            Err(error) => panic!("a tool's name is written in the source: {error}"),
        };
        let (text, parallel, time_limit) = (text.into(), false, Duration::from_mins(1));
        let (output, role, trust) = (Self::MOST_OUTPUT, Role::Owner, Trust::Full);
        Self { name, text, class, parallel, time_limit, output, role, trust }
    }

    /// With this behind its text.
    #[must_use]
    pub fn and(self, more: &str) -> Self {
        Self { text: format!("{}{more}", self.text).into(), ..self }
    }

    /// A model is given at most so many bytes of a result at once.
    #[must_use]
    pub fn at_most(self, output: usize) -> Self {
        Self { output, ..self }
    }

    /// It may run beside other calls that say the same.
    #[must_use]
    pub fn parallel(self) -> Self {
        Self { parallel: true, ..self }
    }

    /// It is for whoever may speak: it shows and does nothing that is the owner's alone.
    #[must_use]
    pub fn for_everyone(self) -> Self {
        Self { role: Role::User, ..self }
    }

    /// It returns what anybody may have written.
    #[must_use]
    pub fn returns_foreign_text(self) -> Self {
        Self { trust: Trust::Low, ..self }
    }
}

/// One thing that the model can do.
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    /// What the model gives. The doc comments of its fields are what the model is told about them.
    type Arguments: DeserializeOwned + schemars::JsonSchema + Send + Sync;

    /// What the tool is.
    fn describe(&self) -> Description;

    /// For verifiable tools: what will be true before and after the call, committed before it runs.
    ///
    /// # Errors
    /// As [`Tool::execute`]; nothing has happened yet.
    async fn prepare(
        &self,
        arguments: &Self::Arguments,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        let (_, _) = (arguments, context);
        Ok(None)
    }

    /// Runs one call.
    ///
    /// # Errors
    /// [`ToolError`], whose text is written for the model: what is wrong and how to do it right.
    async fn execute(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError>;

    /// For verifiable tools: whether a call that a crash interrupted has happened.
    async fn verify(&self, evidence: &Evidence) -> Verdict {
        let _ = evidence;
        Verdict::Unknown
    }

    /// How careful the policy is with a call, where the operator says nothing about the tool.
    async fn caution(&self, arguments: &Self::Arguments, context: &ToolContext) -> Caution {
        let (_, _) = (arguments, context);
        Caution::ByTrust
    }

    /// The files and directories that a call reads or changes, each by one name: calls that share one, or of
    /// which one is in the other, do not run at the same time unless both only read.
    fn paths(&self, arguments: &Self::Arguments) -> Vec<String> {
        let _ = arguments;
        Vec::new()
    }

    /// What a call sends away from the machine, word for word. Where the turn has read untrusted text, it is
    /// searched for secrets, for addresses that carry data, and for hosts that no person has named.
    fn leaving(&self, arguments: &Self::Arguments) -> Vec<Leaving> {
        let _ = arguments;
        Vec::new()
    }

    /// The URLs in a result that a search engine of the operator's has found.
    fn found(&self, result: &Value) -> Vec<String> {
        let _ = result;
        Vec::new()
    }

    /// The words in a result that are a person's own answer.
    fn answered(&self, result: &Value) -> Option<String> {
        let _ = result;
        None
    }

    /// What a person is asked who has to allow a call; none to show the arguments as they are. Not
    /// called before the arguments are known to fit, and draws from them alone: no model's words.
    async fn question(
        &self,
        arguments: &Self::Arguments,
        context: &ToolContext,
    ) -> Option<Question> {
        let (_, _) = (arguments, context);
        None
    }
}

/// Something that a call sends away from the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// Text for people, who may follow the links in it.
    Text(String),
    /// Text for a program or a server, which takes it as it is.
    Data(String),
    /// A URL that is connected to. The name of its host alone tells something to those who serve the name.
    Url(String),
}

impl Leaving {
    /// The text itself.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Data(text) | Self::Url(text) => text,
        }
    }
}

/// How careful the policy is with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caution {
    /// It does no harm, whatever the model has read.
    Never,
    /// If it does more than read, a person has to allow it where the model has read what is not to be
    /// believed as far as the tool reaches.
    ByTrust,
    /// A person has to allow it in any case.
    Always,
    /// As [`Caution::Always`], for a reason that the person is told.
    Because(String),
    /// A person has to allow each such call, whatever the operator's rules allow, for a reason that the person is told.
    EachTime(String),
}

/// What a person is asked who has to allow a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What the call would do, in Markdown: the exact command, the address, the change of a file.
    pub shown: String,
    /// What else is allowed with it if it is allowed for the session: calls of the same tool with the
    /// same scope, for example the command, or the host. Short enough for a button.
    pub scope: String,
}

/// What a call knows about where it runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The call; an idempotency key for whatever the tool talks to.
    pub call: CallId,
    /// The conversation.
    pub session: SessionId,
    /// Where the reply goes; none for a turn that nobody waits for.
    pub chat: Option<ChatAddress>,
    /// Fires when the call is no longer wanted.
    pub cancel: CancellationToken,
    /// The least role of all whose words the turn works on.
    pub role: Role,
    /// The least trust of all that the model had before it when it made the call.
    pub trust: Trust,
    /// Where the turn at the root was asked.
    pub place: Place,
    /// What a person has allowed for the session.
    pub grants: Arc<[Grant]>,
    /// The model wrote the call as text, although it calls tools natively.
    pub as_text: bool,
    /// What the model has read. Empty where all of it is trusted.
    pub seen: Arc<Seen>,
    /// How far what the call has read may be believed: it goes with the result, and with an error too.
    pub read: LeastTrust,
}

/// Where a turn was asked, as far as the policy goes by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The channel; none for a turn that nobody asked for in a chat.
    pub channel: Option<ChannelName>,
    /// Who reads along.
    pub chat: ChatKind,
}

/// Calls that need no approval any more in a session: those of a tool with the same scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grant {
    /// The tool, by the name that it has here.
    pub tool: ToolName,
    /// As in [`Question::scope`].
    pub scope: String,
}

/// What a verifiable tool notes before it acts, so that it can tell afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What is acted upon, for example a path relative to the workspace.
    pub subject: String,
    /// A digest of its state before; none if it did not exist.
    pub before: Option<String>,
    /// A digest of its state after.
    pub after: String,
}

/// What verifying found.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The call happened; this is its result.
    Happened(Value),
    /// The call did not happen: it can run again.
    DidNotHappen,
    /// Neither the state before nor the state after.
    Unknown,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// It is done.
    Finished(ToolOutput),
    /// Its result comes from outside, maybe much later: the turn waits.
    Waiting(WaitRequest),
}

/// The result of a call and what it writes to the log, committed together.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub value: Value,
    /// What the store applies in the same transaction.
    pub writes: Vec<LogWrite>,
    /// How far the value may be believed; none for what the tool's description says.
    pub trust: Option<Trust>,
}

impl ToolOutput {
    /// A result that goes with writes to the log.
    #[must_use]
    pub fn with_writes(value: Value, writes: Vec<LogWrite>) -> Self {
        Self { value, writes, trust: None }
    }
}

impl From<Value> for ToolOutcome {
    fn from(value: Value) -> Self {
        Self::Finished(ToolOutput::with_writes(value, Vec::new()))
    }
}

/// A write to the log that a tool asks for; only the store applies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogWrite {
    /// A message to a chat.
    Message(Planned),
    /// Something to remember.
    Note {
        /// The text of the note.
        text: String,
    },
    /// A child turn of its own session, whose final text answers the call that waits for it. Goes
    /// with [`WaitRequest::writes`] only.
    Spawn {
        /// What the child is to do.
        prompt: String,
    },
}

/// Why a turn waits, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRequest {
    /// What it waits for.
    pub kind: WaitKind,
    /// What the chat is asked; `None` if no person has to act. For an approval or a choice it has
    /// [`crate::WAIT`] wherever it names the wait.
    pub prompt: Option<Box<Content>>,
    /// How long; after that it counts as denied, unanswered or skipped.
    pub expires_after: Duration,
    /// Committed together with the wait.
    pub writes: Vec<LogWrite>,
    /// For an approval: what is allowed with the call if it is allowed for the session.
    pub grant: Option<Grant>,
    /// For an approval: a digest of what the person is shown. The call runs if it would be shown the same then.
    pub shown: Option<String>,
}

impl WaitRequest {
    /// Whether a person who was shown this has allowed just that.
    #[must_use]
    pub fn is_allowed(&self, allowed: Option<&str>) -> bool {
        allowed.is_some() && self.shown.as_deref() == allowed
    }
}

/// What a turn can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitKind {
    /// A person allows or denies a call.
    Approval,
    /// A person answers a question; the next plain text is the answer.
    Answer,
    /// A child turn ends.
    Child,
    /// A person decides whether a call whose outcome is unknown is run again.
    Choice,
}

impl WaitKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Approval, Self::Answer, Self::Child, Self::Choice];

    /// The word in the log and in what the CLI prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Answer => "answer",
            Self::Child => "child",
            Self::Choice => "choice",
        }
    }
}

/// Why a call failed, in words for the model. Says the thing, the value and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// No tool has this name.
    #[error("tool not found: {0}")]
    NotFound(String),
    /// The arguments do not fit the tool's schema.
    #[error("invalid arguments: {0}")]
    InvalidArgs(String),
    /// The tool ran and failed.
    #[error("execution failed: {0}")]
    ExecutionFailed(String),
    /// A rule, a person or the system does not allow it.
    #[error("permission denied: {0}")]
    PermissionDenied(String),
    /// A file or directory does not exist.
    #[error("file not found: {0}")]
    FileNotFound(String),
    /// A path that leads out of the workspace, or is none.
    #[error("invalid path: {0}")]
    InvalidPath(String),
    /// It took longer than it may, in seconds.
    #[error("command timed out after {0}s")]
    Timeout(u64),
    /// A program took longer than it may.
    #[error("command timed out after {seconds}s; the end of its output:\n{output}")]
    TimedOut {
        /// How long it may take.
        seconds: u64,
        /// The last of what it printed.
        output: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_text() {
        let text = |error: ToolError| error.to_string();
        let x = || "x".to_owned();
        assert_eq!(text(ToolError::NotFound(x())), "tool not found: x");
        assert_eq!(text(ToolError::InvalidArgs(x())), "invalid arguments: x");
        assert_eq!(text(ToolError::ExecutionFailed(x())), "execution failed: x");
        assert_eq!(text(ToolError::PermissionDenied(x())), "permission denied: x");
        assert_eq!(text(ToolError::FileNotFound(x())), "file not found: x");
        assert_eq!(text(ToolError::InvalidPath(x())), "invalid path: x");
        assert_eq!(text(ToolError::Timeout(30)), "command timed out after 30s");
        assert_eq!(
            text(ToolError::TimedOut { seconds: 30, output: x() }),
            "command timed out after 30s; the end of its output:\nx"
        );
    }
}
