//! The vocabulary of Avocet and its ports. Free of I/O.
//!
//! Each module is one subject: its types stand beside the ports that use them.
//!
//! | module | subject |
//! |---|---|
//! | [`access`] | people, roles, rules for groups, trust levels, policies, approvals |
//! | [`bus`] | publishing a message, and the requests of programs |
//! | [`channel`] | one account on one platform, its clients, its web console |
//! | [`chat`] | messages in both directions: addresses, contents, deliveries |
//! | [`clock`] | time |
//! | [`daemon`] | the configuration file, the status, the health and the measurements of the daemon |
//! | [`ids`] | ids that are parsed once |
//! | [`job`] | long work in a branch of a repository |
//! | [`memory`] | search, mirror and consolidation of memories |
//! | [`model`] | a language model, its messages, its prices; speech, pictures and vectors |
//! | [`schedule`] | work at set times |
//! | [`session`] | the settings of one conversation |
//! | [`store`] | the durable log, one port for each role |
//! | [`tool`] | a tool, its outcome, and what it may use |
//! | [`turn`] | a turn in the log, its events, its failure, its timeline |

pub mod access;
pub mod bus;
pub mod channel;
pub mod chat;
pub mod clock;
pub mod daemon;
pub mod ids;
mod ignore_result;
pub mod job;
mod lru_map;
pub mod memory;
pub mod model;
pub mod schedule;
pub mod session;
pub mod store;
pub mod tool;
pub mod turn;

pub use ignore_result::ignore_result;
pub use lru_map::LruMap;
