//! The part of the daemon that a call touches: the chat in its parameters, or the chats of the rows in
//! its answer. The gateway limits a client to its own chats by it.

use avocet_protocol::access::OpenApproval;
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::{
    AccountName, ChannelName, JobId, MessageId, ScheduleId, TurnId, WaitId,
};
use avocet_protocol::schedule::ShownSchedule;
use avocet_protocol::store::{DeadId, DeadLetter, JobStatus, SessionSummary, TaskView};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The part of the daemon that a call touches. A client that is limited to chats may call a method
/// only if the chat is one of its own.
#[derive(Debug, Clone, Copy)]
pub enum Touches {
    /// No chat: the call is open to every client.
    Nothing,
    /// More than chats: the call is refused to clients that are limited to chats.
    Everything,
    /// The target that the parameters name.
    Target(ReadTarget),
    /// The rows of a list. Rows of other chats are left out.
    Rows(ListRows),
    /// Events. Those of other chats are left out; the timeline of another chat is refused.
    Events,
}

/// The thing that the parameters of one call name. It belongs to a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallTarget {
    /// This chat.
    Chat(ChatAddress),
    /// All chats of the account.
    Account(ChannelName, AccountName),
    /// This conversation, which linked chats share.
    Session(SessionId),
    /// The conversation of the message.
    Message(MessageId),
    /// The conversation of the approval, or the chat that was asked.
    Approval(WaitId),
    /// The chat of the dead letter.
    DeadLetter(DeadId),
    /// The chat of the job.
    Job(JobId),
    /// The conversation of the task.
    Task(TurnId),
    /// The chat of the schedule.
    Schedule(ScheduleId),
    /// The parameters lack it. The call is refused.
    Unnamed,
}

/// Parameters that name what a call touches.
pub trait NamesTarget: DeserializeOwned {
    /// Returns the target of a call with these parameters.
    fn call_target(&self) -> CallTarget;
}

/// Reads the target out of the parameters of a request: see [`NamesTarget`].
#[derive(Debug, Clone, Copy)]
pub struct ReadTarget {
    /// Reads all parameters, and refuses those that the method refuses.
    pub read: fn(Value) -> Result<CallTarget, serde_json::Error>,
}

impl ReadTarget {
    /// Reads parameters of this type.
    pub(crate) const fn new<P: NamesTarget>() -> Self {
        Self { read: read_target::<P> }
    }
}

fn read_target<P: NamesTarget>(params: Value) -> Result<CallTarget, serde_json::Error> {
    P::deserialize(params).map(|params| params.call_target())
}

/// A list of rows that belong to chats, as data: see [`ListParams`].
#[derive(Debug, Clone, Copy)]
pub struct ListRows {
    /// Reads the most rows of a page out of the parameters; `None` if the list has one page.
    pub page_limit: fn(Value) -> Result<Option<u32>, serde_json::Error>,
    /// Returns the chats and conversations of a row; `None` for a value of another form. The row belongs
    /// to a client that reaches one of them.
    pub chats: fn(&Value) -> Option<Vec<String>>,
    /// Returns the parameters of the page behind a row; `None` for values of another form.
    pub next_page: fn(Value, &Value) -> Option<Value>,
}

/// A row of a list that belongs to a chat.
pub trait ChatRow: DeserializeOwned {
    /// Returns the chats and conversations of the row. It belongs to a client that reaches one of them.
    fn chats(&self) -> Vec<String>;
}

/// Parameters of a method whose answer is a list of rows.
pub trait ListParams: DeserializeOwned + Serialize {
    /// The rows.
    type Row: ChatRow;

    /// Returns the most rows of a page; `None` if the list has one page.
    fn page_limit(&self) -> Option<u32> {
        None
    }

    /// Asks for the page behind this row.
    fn continue_behind(&mut self, _row: Self::Row) {}
}

impl ListRows {
    /// Describes the list that parameters of this type ask for.
    pub(crate) const fn new<P: ListParams>() -> Self {
        Self {
            page_limit: read_page_limit::<P>,
            chats: read_chats::<P::Row>,
            next_page: write_next_page::<P>,
        }
    }
}

fn read_page_limit<P: ListParams>(params: Value) -> Result<Option<u32>, serde_json::Error> {
    P::deserialize(params).map(|params| params.page_limit())
}

fn read_chats<R: ChatRow>(row: &Value) -> Option<Vec<String>> {
    R::deserialize(row).ok().map(|row| row.chats())
}

fn write_next_page<P: ListParams>(params: Value, row: &Value) -> Option<Value> {
    let mut params = P::deserialize(params).ok()?;
    params.continue_behind(P::Row::deserialize(row).ok()?);
    serde_json::to_value(params).ok()
}

impl ChatRow for OpenApproval {
    fn chats(&self) -> Vec<String> {
        let chat = self.chat.as_ref().map(ToString::to_string);
        std::iter::once(self.session.to_string()).chain(chat).collect()
    }
}

impl ChatRow for DeadLetter {
    fn chats(&self) -> Vec<String> {
        vec![self.chat.to_string()]
    }
}

impl ChatRow for JobStatus {
    fn chats(&self) -> Vec<String> {
        vec![self.chat.to_string()]
    }
}

impl ChatRow for TaskView {
    fn chats(&self) -> Vec<String> {
        vec![self.session.to_string()]
    }
}

impl ChatRow for SessionSummary {
    fn chats(&self) -> Vec<String> {
        vec![self.session.to_string()]
    }
}

impl ChatRow for ShownSchedule {
    fn chats(&self) -> Vec<String> {
        vec![self.schedule.owner.address.to_string()]
    }
}

#[cfg(test)]
#[path = "touches_tests.rs"]
mod tests;
