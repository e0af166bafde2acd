//! The table of the socket's methods: the part of the gateway that answers each, the role that it
//! needs, and the chat that it touches.

use avocet_protocol::ClientRole;

use ClientRole::{Channel, Observer, Operator, Sender};
use MethodGroup as Group;

/// A method of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketMethod {
    /// The name in requests.
    pub name: &'static str,
    /// The least role that may call it.
    pub least: ClientRole,
    /// The part of the daemon that a call touches.
    pub touches: Touches,
    pub(crate) group: MethodGroup,
}

impl SocketMethod {
    /// Returns `true` for the methods that need no rights, so that every client can find out its own.
    pub(crate) fn is_basic(&self) -> bool {
        matches!(self.group, Group::Basic)
    }

    /// Returns `true` for the methods that enter messages. Those of one connection take effect in the
    /// order in which they were read.
    pub(crate) fn is_in_order(&self) -> bool {
        matches!(self.name, "ask" | "cursor.move" | "job.submit" | "publish" | "send")
    }
}

/// The module that answers a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MethodGroup {
    /// `hello` and `ping`.
    Basic,
    /// Methods that only a connection of the socket has.
    Connection,
    Messages,
    Publish,
    Lists,
    Search,
    Options,
    Agents,
    Approvals,
    Config,
    Mcp,
    Memories,
    AskJson,
    Consolidation,
    Jobs,
    Tasks,
    DeadLetters,
    Deletion,
    Events,
    Schedules,
    People,
    Web,
}

/// The part of the daemon that a call touches. A client that is limited to chats may call a method
/// only if the chat is one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Events. Those of other chats are left out.
    Events,
}

/// The form of the rows of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListRows {
    /// JSON pointers (RFC 6901) of the chats and conversations of a row. The row belongs to a client
    /// that reaches one of them.
    pub(crate) chats: &'static [&'static str],
    /// The position behind a row, from which the next page continues.
    pub(crate) position: RowPosition,
}

/// The position behind a row of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPosition {
    /// The list has one page.
    OnePage,
    /// The `id` of the row, in this parameter.
    Id(&'static str),
    /// `after`: time and name of the session, as in a `SessionRow`.
    SessionRow,
}

const fn rows(chats: &'static [&'static str], position: RowPosition) -> Touches {
    Touches::Rows(ListRows { chats, position })
}

const fn method(
    name: &'static str,
    group: MethodGroup,
    least: ClientRole,
    touches: Touches,
) -> SocketMethod {
    SocketMethod { name, least, touches, group }
}

/// Every method of the socket, by name.
pub const METHODS: &[SocketMethod] = &[
    method("agents.list", Group::Agents, Observer, Touches::Nothing),
    method("approval.decide", Group::Approvals, Sender, Touches::Approval),
    method("approval.list", Group::Approvals, Observer, APPROVALS),
    method("ask", Group::Messages, Sender, Touches::Chat("session")),
    method("ask.json", Group::AskJson, Sender, Touches::Chat("session")),
    method("attach", Group::Connection, Sender, Touches::ChatOrAccount),
    method("config.check", Group::Config, Operator, Touches::Everything),
    method("config.diff", Group::Config, Operator, Touches::Everything),
    method("config.save", Group::Config, Operator, Touches::Everything),
    method("config.show", Group::Config, Operator, Touches::Everything),
    method("cursor.move", Group::Publish, Channel, Touches::ChatOrAccount),
    method("dead.drop", Group::DeadLetters, Operator, Touches::DeadLetter),
    method("dead.list", Group::DeadLetters, Observer, rows(&["/chat"], RowPosition::Id("after"))),
    method("dead.retry", Group::DeadLetters, Sender, Touches::DeadLetter),
    method("dead.show", Group::DeadLetters, Observer, Touches::DeadLetter),
    method("doctor", Group::Messages, Operator, Touches::Everything),
    method("editor.attach", Group::Connection, Operator, Touches::Chat("chat")),
    method("events.list", Group::Events, Observer, Touches::Events),
    method("file.get", Group::Connection, Sender, Touches::Nothing),
    method("hello", Group::Basic, Observer, Touches::Nothing),
    method("job.cancel", Group::Jobs, Sender, Touches::Job),
    method("job.list", Group::Jobs, Observer, rows(&["/chat"], RowPosition::Id("before"))),
    method("job.show", Group::Jobs, Observer, Touches::Job),
    method("job.submit", Group::Jobs, Operator, Touches::Everything),
    method("link.add", Group::People, Operator, Touches::Everything),
    method("link.list", Group::People, Operator, Touches::Everything),
    method("link.remove", Group::People, Operator, Touches::Everything),
    method("mcp.approve", Group::Mcp, Operator, Touches::Everything),
    method("mcp.list", Group::Mcp, Observer, Touches::Everything),
    method("mcp.tools", Group::Mcp, Observer, Touches::Everything),
    method("memory.add", Group::Memories, Operator, Touches::Everything),
    method("memory.consolidate", Group::Consolidation, Operator, Touches::Everything),
    method("memory.forget", Group::Memories, Operator, Touches::Everything),
    method("memory.list", Group::Memories, Observer, Touches::Everything),
    method("memory.log", Group::Memories, Observer, Touches::Everything),
    method("memory.show", Group::Memories, Observer, Touches::Everything),
    method("memory.sync", Group::Memories, Operator, Touches::Everything),
    method("memory.undo", Group::Memories, Operator, Touches::Everything),
    method("pair.approve", Group::People, Operator, Touches::Everything),
    method("pair.deny", Group::People, Operator, Touches::Everything),
    method("pair.list", Group::People, Operator, Touches::Everything),
    method("people.list", Group::People, Operator, Touches::Everything),
    method("people.remove", Group::People, Operator, Touches::Everything),
    method("ping", Group::Basic, Observer, Touches::Nothing),
    method("publish", Group::Publish, Channel, Touches::Chat("chat")),
    method("schedule.add", Group::Schedules, Operator, Touches::Everything),
    method("schedule.change", Group::Schedules, Operator, Touches::Schedule),
    method("schedule.list", Group::Schedules, Observer, SCHEDULES),
    method("schedule.show", Group::Schedules, Observer, Touches::Schedule),
    method("send", Group::Messages, Sender, Touches::Chat("chat")),
    method("session.servers", Group::Connection, Operator, Touches::Everything),
    method("sessions.delete", Group::Deletion, Operator, Touches::Session),
    method("sessions.list", Group::Lists, Observer, SESSIONS),
    method("sessions.options", Group::Options, Observer, Touches::Session),
    method("sessions.search", Group::Search, Observer, FOUND_TEXTS),
    method("sessions.sent", Group::Lists, Observer, Touches::Session),
    method("sessions.set_option", Group::Options, Sender, Touches::Session),
    method("sessions.show", Group::Lists, Observer, Touches::Session),
    method("status", Group::Messages, Observer, Touches::Everything),
    method("subscribe", Group::Connection, Observer, Touches::Events),
    method("subscriber.list", Group::Events, Operator, Touches::Everything),
    method("subscriber.remove", Group::Events, Operator, Touches::Everything),
    method("task.cancel", Group::Tasks, Sender, Touches::Task),
    method("task.list", Group::Tasks, Observer, rows(&["/session"], RowPosition::Id("before"))),
    method("task.show", Group::Tasks, Observer, Touches::Task),
    method("trace", Group::Events, Observer, Touches::Message),
    method("usage", Group::Lists, Observer, Touches::Everything),
    method("wait", Group::Messages, Observer, Touches::Message),
    method("web.open", Group::Web, Operator, Touches::Everything),
    method("web.sign_out", Group::Web, Operator, Touches::Everything),
];

const APPROVALS: Touches = rows(&["/session", "/chat"], RowPosition::Id("after"));
const FOUND_TEXTS: Touches = rows(&["/session"], RowPosition::OnePage);
const SCHEDULES: Touches = rows(&["/schedule/owner/address"], RowPosition::OnePage);
const SESSIONS: Touches = rows(&["/session"], RowPosition::SessionRow);

/// Finds a method by its name.
pub(crate) fn find(name: &str) -> Option<&'static SocketMethod> {
    let place = METHODS.binary_search_by_key(&name, |method| method.name).ok()?;
    METHODS.get(place)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
