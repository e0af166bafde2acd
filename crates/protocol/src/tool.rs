//! The port of a tool: one action that the model can take.

mod ask_person;
mod background;
mod choice_bits;
mod editor;
mod evidence;
mod files;
mod groups;
mod mcp;
mod outcome;
mod outside_tool;
mod seen;
mod signs_of_life;
mod skills;
mod toolbox;
mod undo;

pub use ask_person::{
    AnswerCheck, AnswerOption, AskPerson, PersonAnswer, PersonQuestion, UnansweredQuestion,
};
pub use background::EndPrograms;
pub use choice_bits::{ChoiceBits, UsedBits};
pub use editor::{EditorError, Editors, NoEditors, SessionEditor};
pub use evidence::Evidence;
pub use files::{DirectoryNames, FileStart, Files, FilesError, PromptFile, Workspaces};
pub use groups::{UPDATE_PLAN, USE_TOOLS, groups_to_load};
pub use mcp::{
    McpError, McpServerStatus, McpServers, McpState, McpToolForm, McpToolHints, McpToolState,
    McpToolView, McpTransport,
};
pub use outcome::{
    ChildMode, LogWrite, NewChild, ToolError, ToolOutcome, ToolOutput, WaitKind, WaitRequest,
};
pub use outside_tool::{OutsideTool, ToolSource};
pub use seen::{Seen, SeenCall};
pub use signs_of_life::SignsOfLife;
pub use skills::{Skill, SkillCall, SkillFile, SkillLimit, Skills, USE_SKILL};
pub use toolbox::{
    HeldForCall, MAX_ABOUT, PreparedCall, ToolSpec, Toolbox, UNTRUSTED_TOOL, is_rare,
};
pub use undo::UndoPlace;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::access::{Asker, Grant, LeastTrust, OwnerRule, PermissionMode, Role, Trust};
use crate::chat::{ChatAddress, ChatKind, SessionId};
use crate::ids::{CallId, ChannelName, ToolName};
use crate::memory::RecalledMemory;

/// The class of a tool. It decides how a call is treated if a crash came between its start and its
/// finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Only reads. The call runs again.
    Pure,
    /// Its effect is a write to the log, in the same transaction as its result, so no gap exists.
    InLog,
    /// The effect can be detected afterwards. Recovery compares the state with the recorded one.
    Verifiable,
    /// Any other tool. The call is never run again; a person decides.
    Effect,
}

/// The description of a tool, for the model and for the registry.
#[derive(Debug, Clone)]
pub struct Description {
    /// The name; unique in the registry.
    pub name: ToolName,
    /// Text for the model: the purpose of the tool and when to use it.
    pub text: Cow<'static, str>,
    /// The group, whose tools are loaded together. Default: the name, a group of one tool.
    pub group: Cow<'static, str>,
    /// The class, which decides about the call after a crash.
    pub class: ToolClass,
    /// `true` if a call may run at the same time as other calls of parallel tools.
    pub parallel: bool,
    /// Time limit of one call.
    pub time_limit: Duration,
    /// Bytes of a result, or of an error, that a model gets at once: 1,024 to
    /// [`Self::MOST_OUTPUT`]. The rest is stored, and the model can read it by handle.
    pub output: usize,
    /// The least role that may use the tool.
    pub role: Role,
    /// Trust level of its results, unless a result sets its own.
    pub trust: Trust,
}

impl Description {
    /// The largest part of any result that a model gets at once, in bytes.
    pub const MOST_OUTPUT: usize = 65_536;
    /// The smallest limit for a result, in bytes. It leaves room for the remark that tells how to
    /// read the rest.
    pub const LEAST_OUTPUT: usize = 1024;

    /// Describes a tool for owners that runs alone, has a time limit of one minute, and returns
    /// fully trusted results.
    ///
    /// # Panics
    /// If `name` is invalid as a tool name. Names are literals in the source.
    #[must_use]
    pub fn new(name: &str, class: ToolClass, text: impl Into<Cow<'static, str>>) -> Self {
        let name = match ToolName::parse(name) {
            Ok(name) => name,
            Err(error) => panic!("a tool's name is written in the source: {error}"),
        };
        let (text, parallel, time_limit) = (text.into(), false, Duration::from_mins(1));
        let (output, role, trust) = (Self::MOST_OUTPUT, Role::Owner, Trust::Full);
        let group = name.as_str().to_owned().into();
        Self { name, text, group, class, parallel, time_limit, output, role, trust }
    }

    /// Puts the tool into a group.
    #[must_use]
    pub fn in_group(self, group: impl Into<Cow<'static, str>>) -> Self {
        Self { group: group.into(), ..self }
    }

    /// Appends `more` to the text.
    #[must_use]
    pub fn and(self, more: &str) -> Self {
        Self { text: format!("{}{more}", self.text).into(), ..self }
    }

    /// Limits the part of a result that a model gets at once to `output` bytes.
    #[must_use]
    pub fn at_most(self, output: usize) -> Self {
        Self { output, ..self }
    }

    /// Allows calls to run at the same time as other calls of parallel tools.
    #[must_use]
    pub fn parallel(self) -> Self {
        Self { parallel: true, ..self }
    }

    /// Opens the tool to every admitted user, because it touches nothing that is reserved to
    /// owners.
    #[must_use]
    pub fn for_everyone(self) -> Self {
        Self { role: Role::User, ..self }
    }

    /// Marks results as untrusted: anybody may have written them.
    #[must_use]
    pub fn returns_untrusted_text(self) -> Self {
        Self { trust: Trust::Low, ..self }
    }
}

/// One action that the model can take.
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    /// The arguments that the model passes. The model sees the doc comments of the fields.
    type Arguments: DeserializeOwned + JsonSchema + Send + Sync;

    /// Returns the description of the tool.
    fn describe(&self) -> Description;

    /// Only for verifiable tools: returns the state before the call and the expected state after
    /// it. Both are committed before the call runs.
    ///
    /// # Errors
    /// The same as for [`Tool::execute`]; the call has had no effect yet.
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
    /// [`ToolError`], whose text is written for the model: the mistake and its correction.
    async fn execute(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError>;

    /// Only for verifiable tools: finds out if a call that a crash interrupted has taken effect.
    async fn verify(&self, evidence: &Evidence) -> Verdict {
        let _ = evidence;
        Verdict::Unknown
    }

    /// Returns the degree of caution for a call, used if the operator has no rule for the tool.
    async fn caution(&self, arguments: &Self::Arguments, context: &ToolContext) -> Caution {
        let (_, _) = (arguments, context);
        Caution::ByTrust
    }

    /// Returns the files and directories that a call reads or changes, each by one name. Two calls
    /// with a common path, or with one path inside the other, run one after the other unless both
    /// only read.
    fn paths(&self, arguments: &Self::Arguments) -> Vec<String> {
        let _ = arguments;
        Vec::new()
    }

    /// Returns the places that a call can change, if it changes nothing else and sends nothing away.
    /// The call then needs no approval after untrusted text: copies are kept, and a person decides at
    /// the end of the turn about all changes together.
    async fn undo_places(
        &self,
        arguments: &Self::Arguments,
        context: &ToolContext,
    ) -> Option<Vec<UndoPlace>> {
        let (_, _) = (arguments, context);
        None
    }

    /// Returns the exact data that a call sends away from the machine. If the turn has read
    /// untrusted text, this data is searched for secrets, addresses that carry data, and hosts that
    /// no person has named.
    fn leaving(&self, arguments: &Self::Arguments) -> Vec<Leaving> {
        let _ = arguments;
        Vec::new()
    }

    /// Returns the URLs in a result that come from a search engine of the operator.
    fn found(&self, result: &Value) -> Vec<String> {
        let _ = result;
        Vec::new()
    }

    /// Returns the text in a result that is a person's own answer.
    fn answered(&self, result: &Value) -> Option<String> {
        let _ = result;
        None
    }

    /// Returns the approval question for a call. `None` shows the arguments as they are. The
    /// question is built from the validated arguments alone, without other text of a model.
    async fn question(
        &self,
        arguments: &Self::Arguments,
        context: &ToolContext,
    ) -> Option<Question> {
        let (_, _) = (arguments, context);
        None
    }
}

/// Data that a call sends away from the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// Text for people, who may follow the links in it.
    Text(String),
    /// Text for a program or a server, which takes it as it is.
    Data(String),
    /// The words of a search. The choice of each word tells something.
    Query(String),
    /// A URL to connect to. Its host name alone reveals something to the operators of the name
    /// servers.
    Url(String),
}

impl Leaving {
    /// The text of any variant.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Data(text) | Self::Query(text) | Self::Url(text) => text,
        }
    }
}

/// The degree of caution that the policy applies to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caution {
    /// The call is harmless, even after the model has read untrusted text.
    Never,
    /// A call that does more than read needs approval if the model has read text whose trust is too
    /// low for the tool.
    ByTrust,
    /// The call always needs approval.
    Always,
    /// Like [`Caution::Always`], with a reason that the approver sees.
    Because(String),
    /// Each such call needs approval, even if the operator's rules allow it. The approver sees the
    /// reason.
    EachTime(String),
}

/// The approval question for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The effect of the call in Markdown: the exact command, the address, the change of a file.
    pub shown: String,
    /// The scope of an approval for the session, for example the command or the host. The approval
    /// covers calls of the same tool with the same scope. The prompt shows its first 60 characters.
    /// With an empty scope it covers all calls of the tool. After untrusted text it covers only calls
    /// whose arguments name no new recipient or value.
    pub scope: String,
    /// The shape of a command, if the approval for the session covers the same command with other
    /// arguments, too.
    pub shape: Option<String>,
}

/// The context in which a call runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The call. Tools can pass this id to servers as an idempotency key.
    pub call: CallId,
    /// The conversation of the call.
    pub session: SessionId,
    /// The chat that gets the reply; `None` for a turn without a waiting chat.
    pub chat: Option<ChatAddress>,
    /// Fires when the call is cancelled.
    pub cancel: CancellationToken,
    /// The least role of the authors whose text the turn works on.
    pub role: Role,
    /// The least trust of everything that the model had read when it made the call.
    pub trust: Trust,
    /// The place of the request that started the root turn.
    pub place: Place,
    /// The author of the request; `None` for a turn without one.
    pub asker: Option<Asker>,
    /// The memories that the requests of the turn contain.
    pub recalled: Arc<[RecalledMemory]>,
    /// Approvals that a person gave for the session.
    pub grants: Arc<[Grant]>,
    /// The mode of the turn, which can narrow the policy.
    pub mode: PermissionMode,
    /// The rules of the owners that hold in the turn, which can narrow the policy, too.
    pub rules: Arc<[OwnerRule]>,
    /// `true` if the model wrote the call as text although it supports native tool calls.
    pub as_text: bool,
    /// Everything that the model has read. Empty if all of it is trusted.
    pub seen: Arc<Seen>,
    /// The least trust of everything that the call has read. It applies to the result and to an
    /// error.
    pub read: LeastTrust,
    /// The calls of the turn before this one that may have loaded a skill, in order.
    pub skills: Vec<SkillCall>,
    /// The same of each ancestor of the turn, before it started the next descendant.
    pub skills_above: Arc<[Vec<SkillCall>]>,
    /// For a sub-agent: the bits that its choices may tell without a question. `None` for the budget
    /// of the configuration.
    pub bits: Option<ChoiceBits>,
}

/// The place of a request, as far as the policy needs it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The channel; `None` for a turn that was not requested in a chat.
    pub channel: Option<ChannelName>,
    /// The kind of chat, which says if other people can read it.
    pub chat: ChatKind,
    /// `true` in a session of an editor, which shows plans.
    pub is_editor: bool,
    /// For a child: the profiles of its ancestors. Their lists of tools apply as well.
    pub within: Vec<String>,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The call took effect. The value is its result.
    Happened(Value),
    /// The call had no effect and can run again.
    DidNotHappen,
    /// The state differs from both the one before and the one after.
    Unknown,
}
