//! The agent behind two APIs of OpenAI, so that programs for those APIs can speak to it: Chat
//! Completions and Responses.
//!
//! A request passes these steps, each in its own file:
//!
//! 1. `parameters`: every parameter is read, has no effect by decision, or is refused by its name.
//! 2. `conversation`: the session. A request without a user or a conversation gets a session of its
//!    own, whose history is that of the request; in any other the log has the earlier messages.
//! 3. `items` and `parts`: messages and items of both APIs become the same list, and the list
//!    becomes one message for the agent with a [`ProgramRequest`](avocet_protocol::bus::ProgramRequest).
//!    `request_files` reads the files that they name.
//! 4. `turn`: the message is published, its text followed, and its outcome read from the log.
//! 5. `chat_reply` and `response_object` write the answer in the form of the API, whole or as
//!    events.
//!
//! `files` keeps the uploads that requests name by their ids.
//!
//! The tools of a request are run by its client: a call ends the turn, and the result comes with the
//! next request.

mod answer;
pub(crate) mod chat;
mod chat_reply;
mod conversation;
pub(crate) mod error;
pub(crate) mod files;
mod items;
pub(crate) mod models;
mod parameters;
mod parts;
mod request_files;
mod response_object;
pub(crate) mod responses;
pub(crate) mod stored;
mod stream;
mod tools;
mod turn;
