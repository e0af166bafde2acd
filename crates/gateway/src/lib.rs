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
mod delivery_chunk;
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
mod messages;
mod methods;
mod parts;
mod people;
mod places;
mod program_ask;
mod programs;
mod publish;
mod run;
mod schedules;
#[cfg(test)]
mod schema_tests;
mod scope;
mod search;
mod server;
mod session_options;
mod session_servers;
mod socket_place;
#[cfg(test)]
mod socket_schema_tests;
mod subscribe;
mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod values;
mod wait;
mod web;
mod wire;

pub use approvals::ApprovalPorts;
// A server or a client of the socket needs the descriptions of the methods, too.
pub use avocet_methods::*;
pub use caller::Caller;
pub use channel_program::HealthReport;
pub use client::{ChunkConfirmation, Client, ClientError, Incoming};
pub use clients::{ClientIdentity, Clients, NamedClient, SystemUsers};
pub use dead_letters::DeadLetterPorts;
pub use delivery_chunk::{DeliveryChunk, SentFile};
pub use editor::{AttachedEditors, OutputPiece};
pub use editor_client::{EditorAction, EditorCall, EditorReply};
pub use event_feed::{EventFeed, FeedPage};
pub use events::EventPorts;
pub use jobs::JobPorts;
pub use memories::MemoryPorts;
pub use messages::refusal;
pub use methods::{answer, answer_by_name, check_rights};
pub use parts::GatewayParts;
pub use program_ask::{ProgramAsk, ask_for_program, check_method_rights};
pub use programs::{ChildConnection, Programs, RunningProgram};
pub use run::{Answered, MethodCall, Reply, RunMethod, run_method};
pub use server::{Gateway, GatewayError};
pub use socket_place::{SocketGroup, SocketPlace};
pub use subscribe::EventBatch;
pub use tasks::TaskPorts;
pub use values::presentable;
pub use wire::{MAX_LINE_BYTES, RpcError};
