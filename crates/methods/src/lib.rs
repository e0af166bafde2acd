//! The methods of the socket: for each its name, its parameters, its answer, its rights and what it
//! touches. Clients and servers of the socket share these descriptions; `crates/gateway` runs the methods.

#[macro_use]
mod method;

mod agents;
mod approvals;
mod chat_patterns;
mod config_file;
mod connections;
mod dead_letters;
mod events;
mod files;
mod jobs;
mod list;
mod mcp;
mod memories;
mod messages;
mod pages;
mod people;
mod publish;
mod rules;
mod schedules;
mod search;
mod sessions;
mod stop_all;
mod tasks;
mod touches;
mod untrusted;
mod web;

pub use agents::{AgentSummary, ListAgents};
pub use approvals::{Decide, ListApprovals};
pub use chat_patterns::ChatPatterns;
pub use config_file::{CheckConfig, DiffConfig, FormConfig, SaveConfig, SavedConfig, ShowConfig};
pub use connections::{
    AttachEditor, AttachParams, AttachResult, Capability, Hello, PROTOCOL, Ping, Welcome,
};
pub use dead_letters::{
    DropDeadLetter, ListDeadLetters, NamedDeadLetter, RetryDeadLetter, ShowDeadLetter,
};
pub use events::{
    EventList, ListEvents, ListSubscribers, RemoveSubscriber, Subscribe, Subscribed, Trace,
};
pub use files::{FilePiece, GetFile, PublishedFile};
pub use jobs::{CancelJob, ListJobs, NamedJob, ShowJob, SubmitJob};
pub use list::{METHODS, find_method, method_index};
pub use mcp::{ApproveMcpTools, ListMcpServers, ListMcpTools};
pub use memories::{
    AddMemory, ForgetMemory, ListMemories, ListMemoryChanges, MemoryDetails, ShowMemory,
    SyncMemories, UndoMemoryChange,
};
pub use messages::{Ask, AskResult, Doctor, Send, SendResult, ShowStatus, Wait};
pub use method::{
    ClientMethod, EmptyAnswer, EmptyParams, MethodDescription, NoParams, SocketMethod,
};
use method::{listed_rows, named_target};
pub use pages::MOST_ROWS;
pub use people::{AddLink, Approve, Deny, ListLinks, ListPairings, ListPeople, Remove, RemoveLink};
pub use publish::{MoveCursor, PublishParams, PublishedCursor, WithdrawMessage};
pub use rules::{AddRule, ListRules, RemoveRule};
pub use schedules::{ChangeSchedule, ListSchedules, ShowSchedule};
pub use search::{FoundText, SearchSessions, TextAuthor};
pub use sessions::{
    DeleteSession, GiveServers, ListSent, ListSessions, ListUsage, ShowOptions, ShowSession,
};
pub use stop_all::{ResumeEverything, StopEverything};
pub use tasks::{CancelTask, ListTasks, NamedTask, ShowTask};
pub use touches::{CallTarget, ChatRow, ListParams, ListRows, NamesTarget, ReadTarget, Touches};
pub use untrusted::UntrustedPart;
pub use web::{ListBrowsers, OpenWeb, SignOutWeb};

// The parameters of these methods are types of `avocet-protocol`.
pub use avocet_protocol::memory::ConsolidateRequest;
pub use avocet_protocol::model::JsonQuestion;
pub use avocet_protocol::schedule::AddSchedule;
pub use avocet_protocol::session::SetSessionOption;
pub use avocet_protocol::store::{BranchSession, ChangeSession};
