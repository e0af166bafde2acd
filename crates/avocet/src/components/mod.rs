//! The parts of a daemon, made from the configuration. The daemon wires them together; commands use some
//! of them without a daemon.

pub(crate) mod agents;
pub(crate) mod audit;
pub(crate) mod budgets;
pub(crate) mod catalogue;
pub(crate) mod checklist;
pub(crate) mod checkup;
pub(crate) mod clients;
pub(crate) mod config_changes;
pub(crate) mod config_file;
pub(crate) mod config_form;
pub(crate) mod config_text;
pub(crate) mod consolidation;
pub(crate) mod json_answers;
pub(crate) mod kept_copies;
pub(crate) mod mcp;
pub(crate) mod memories;
pub(crate) mod mistakes;
pub(crate) mod models;
pub(crate) mod pictures;
pub(crate) mod places;
pub(crate) mod policy;
pub(crate) mod ports;
pub(crate) mod probed;
pub(crate) mod prompt_file;
pub(crate) mod roots;
pub(crate) mod rule_desk;
pub(crate) mod schedules;
pub(crate) mod shell;
pub(crate) mod stop_text;
pub(crate) mod telemetry;
pub(crate) mod web;
pub(crate) mod workspaces;
