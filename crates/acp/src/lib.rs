//! Speaks the Agent Client Protocol (version 1) to an editor, and to the daemon through its socket.
//! A session of the editor is a chat of the terminal.

mod agent;
mod approval;
mod daemon;
mod delete;
mod editor;
mod editor_text;
mod history;
mod list;
mod options;
mod patch;
mod place;
mod plan;
mod prompt;
mod question;
mod servers;
mod session;
mod session_queue;
mod stdio;
mod terminals;
mod tool_calls;

pub use agent::{AcpParts, serve};
pub use daemon::ConnectDaemon;
pub use place::{EditorProfile, session_pattern};
pub use stdio::StdioLines;
