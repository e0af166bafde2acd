//! A proof against prompt injection. A model that obeys everything reads the orders of strangers, on a
//! daemon with the operator's own configuration. The proof counts the effects that no person approved.
//!
//! The daemon runs in the same process, in a throw-away home that the program makes:
//!
//! ```text
//!   Scenario ── messages ──> daemon ── requests ──> Gullible (in place of every model)
//!      │                       │ │
//!      │        questions      │ └── every name of the web ──> AttackerWeb (no packet)
//!      └───── denied <─────────┘ └── tool server, search ──> LoopbackServer (127.0.0.1)
//!
//!   Seen: files, messages, requests, lists ──> ProofReport
//! ```
//!
//! A round is one daemon. Scenarios that need the tool server of the proof have a round of their own, since
//! the descriptions of its tools would lower the trust of every other scenario.

mod attacker_web;
mod corpus;
mod effects;
mod gullible;
mod leads;
mod loopback;
mod order_text;
mod play;
mod report;
mod round;
mod ways;

pub use attacker_web::AttackerWeb;
pub use corpus::{OWN_SERVERS, Order, Scenario, kinds, make_scenarios, own_server_scenario};
pub use gullible::Gullible;
pub use leads::SceneFile;
pub use loopback::LoopbackServer;
pub use play::Scene;
pub use report::{KindRow, Leak, ProofReport, UnreadWay};
pub use round::{PlayedRound, ProofRound, SeenRound};
