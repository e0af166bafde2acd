//! The gateway for other processes: JSON-RPC 2.0, one message per line, on a Unix socket. The daemon's
//! own user may do everything, and other programs what the configuration permits.

mod agents;
mod approvals;
mod ask_json;
mod attached;
mod caller;
mod channel_program;
mod client;
mod client_files;
mod clients;
mod config_file;
mod connection;
mod consolidate;
mod dead_letters;
mod deletion;
mod editor;
mod editor_client;
mod event_feed;
mod events;
mod file_pieces;
mod jobs;
mod kept_files;
mod lines;
mod lists;
mod mcp;
mod memories;
mod methods;
mod parts;
mod people;
mod places;
mod program_ask;
mod programs;
mod publish;
mod schedules;
#[cfg(test)]
mod schema_tests;
mod scope;
mod search;
mod server;
mod session_options;
mod session_servers;
mod socket_place;
mod subscribe;
mod table;
mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod values;
mod wait;
mod web;
mod wire;

pub use agents::AgentSummary;
pub use approvals::{Decide, ListApprovals, answer_about_approvals};
pub use ask_json::answer_in_json;
pub use caller::{Caller, ChatPatterns};
pub use channel_program::{Capability, HealthReport, PROTOCOL};
pub use client::{ChunkConfirmation, Client, ClientError, Incoming};
pub use client_files::PublishedFile;
pub use clients::{ClientIdentity, Clients, Hello, NamedClient, SystemUsers, Welcome};
pub use config_file::{CheckConfig, SaveConfig, SavedConfig};
pub use consolidate::answer_about_consolidation;
pub use dead_letters::{ListDeadLetters, NamedDeadLetter, answer_about_dead_letters};
pub use deletion::{DeleteSession, answer_about_deletion};
pub use editor::{AttachEditor, AttachedEditors, OutputPiece};
pub use editor_client::{EditorAction, EditorCall, EditorReply};
pub use event_feed::{EventFeed, FeedPage};
pub use events::{EventList, ListEvents, RemoveSubscriber, Trace, answer_about_events};
pub use file_pieces::{FilePiece, GetFile};
pub use jobs::{ListJobs, NamedJob, SubmitJob, answer_about_jobs};
pub use lists::{ListSent, ListSessions, ListUsage, ShowSession};
pub use mcp::{ApproveMcpTools, ListMcpTools};
pub use memories::{
    AddMemory, ForgetMemory, ListMemories, ListMemoryChanges, MemoryDetails, ShowMemory,
    UndoMemoryChange, answer_about_memories,
};
pub use methods::{
    Ask, AskResult, Attached, DeliveryChunk, Doctor, Send, SendResult, SentFile, ShowStatus, Wait,
    answer, check_rights, refusal,
};
pub use parts::GatewayParts;
pub use people::{
    AddLink, Approve, Deny, ListLinks, ListPeople, Remove, RemoveLink, answer_about_people,
};
pub use program_ask::{ProgramAsk, ask_for_program, check_method_rights};
pub use programs::{ChildConnection, Programs, RunningProgram};
pub use publish::{MoveCursor, PublishParams, PublishedCursor};
pub use schedules::{ChangeSchedule, ListSchedules, ShowSchedule, answer_about_schedules};
pub use search::{FoundText, SearchSessions, TextAuthor};
pub use server::{Gateway, GatewayError};
pub use session_options::ShowOptions;
pub use socket_place::{SocketGroup, SocketPlace};
pub use subscribe::{EventBatch, Subscribe, Subscribed};
pub use table::{ListRows, METHODS, SocketMethod, Touches};
pub use tasks::{ListTasks, NamedTask, answer_about_tasks};
pub use values::{MOST_ROWS, presentable};
pub use web::OpenWeb;
pub use wire::{MAX_LINE_BYTES, RpcError};
