//! The part of the daemon that a call touches: the chat in its parameters, or the chats of the rows in
//! its answer. The gateway limits a client to its own chats by it.

use avocet_protocol::{
    DeadLetter, JobStatus, OpenApproval, SessionRow, SessionSummary, ShownSchedule, TaskView,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The part of the daemon that a call touches. A client that is limited to chats may call a method
/// only if the chat is one of its own.
#[derive(Debug, Clone, Copy)]
pub enum Touches {
    /// No chat: the call is open to every client.
    Nothing,
    /// More than chats: the call is refused to clients that are limited to chats.
    Everything,
    /// The chat in this parameter.
    Chat(&'static str),
    /// The conversation in the parameter `session`, which linked chats share.
    Session,
    /// The chat, or all chats of the account, in the parameters of `attach`.
    ChatOrAccount,
    /// The conversation of the message in the parameter `message`.
    Message,
    /// The conversation of the approval in the parameter `id`.
    Approval,
    /// The chat of the dead letter in the parameter `id`.
    DeadLetter,
    /// The chat of the job in the parameter `id`.
    Job,
    /// The conversation of the task in the parameter `id`.
    Task,
    /// The chat of the schedule in the parameter `id`.
    Schedule,
    /// The rows of a list. Rows of other chats are left out.
    Rows(ListRows),
    /// Events. Those of other chats are left out; the timeline of another chat is refused.
    Events,
}

/// The rows of a list, as data: see [`ChatRow`].
#[derive(Debug, Clone, Copy)]
pub struct ListRows {
    /// `false` if the list has one page.
    pub has_pages: bool,
    /// Reads a row; `None` for a value of another form.
    pub read: fn(&Value) -> Option<RowScope>,
}

/// The chats that a row belongs to, and the position behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct RowScope {
    /// Chats and conversations. The row belongs to a client that reaches one of them.
    pub chats: Vec<String>,
    /// The parameter that continues the list behind the row, and its value.
    pub next_page: Option<(&'static str, Value)>,
}

/// A row of a list that belongs to a chat.
pub trait ChatRow: DeserializeOwned {
    /// `false` if the list has one page.
    const HAS_PAGES: bool = true;

    /// Returns the chats and conversations of the row. It belongs to a client that reaches one of them.
    fn chats(&self) -> Vec<String>;

    /// Returns the parameter that continues the list behind the row, with its value; `None` if the
    /// list has one page.
    fn next_page(&self) -> Option<(&'static str, Value)>;
}

/// The rows of a list of this type.
pub(crate) const fn rows<R: ChatRow>() -> Touches {
    Touches::Rows(ListRows { has_pages: R::HAS_PAGES, read: read_row::<R> })
}

fn read_row<R: ChatRow>(row: &Value) -> Option<RowScope> {
    let row = R::deserialize(row).ok()?;
    Some(RowScope { chats: row.chats(), next_page: row.next_page() })
}

impl ChatRow for OpenApproval {
    fn chats(&self) -> Vec<String> {
        let chat = self.chat.as_ref().map(ToString::to_string);
        std::iter::once(self.session.to_string()).chain(chat).collect()
    }

    fn next_page(&self) -> Option<(&'static str, Value)> {
        Some(("after", json!(self.id)))
    }
}

impl ChatRow for DeadLetter {
    fn chats(&self) -> Vec<String> {
        vec![self.chat.to_string()]
    }

    fn next_page(&self) -> Option<(&'static str, Value)> {
        Some(("after", json!(self.id)))
    }
}

impl ChatRow for JobStatus {
    fn chats(&self) -> Vec<String> {
        vec![self.chat.to_string()]
    }

    fn next_page(&self) -> Option<(&'static str, Value)> {
        Some(("before", json!(self.id)))
    }
}

impl ChatRow for TaskView {
    fn chats(&self) -> Vec<String> {
        vec![self.session.to_string()]
    }

    fn next_page(&self) -> Option<(&'static str, Value)> {
        Some(("before", json!(self.id)))
    }
}

impl ChatRow for SessionSummary {
    fn chats(&self) -> Vec<String> {
        vec![self.session.to_string()]
    }

    fn next_page(&self) -> Option<(&'static str, Value)> {
        let row = SessionRow { used_at: self.used_at, session: self.session.clone() };
        Some(("after", json!(row)))
    }
}

impl ChatRow for ShownSchedule {
    const HAS_PAGES: bool = false;

    fn chats(&self) -> Vec<String> {
        vec![self.schedule.owner.address.to_string()]
    }

    fn next_page(&self) -> Option<(&'static str, Value)> {
        None
    }
}
