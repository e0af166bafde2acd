//! Runs one turn with `AgentLoop`, from its context over models and tools to the final text. Every
//! step is in the log before the next one begins, and a turn resumes at the end of its log.

mod agent_loop;
mod agent_parts;
mod answer_view;
mod answers;
mod ask;
#[cfg(feature = "testing")]
pub mod benching;
mod block_trust;
mod budget_limits;
mod budgets;
mod calls;
mod context;
#[cfg(test)]
mod harness;
mod history;
mod history_view;
mod images;
mod instructions;
mod job;
mod job_steps;
mod json_answer;
mod limits;
mod marks;
mod models_by_task;
mod note;
mod offer;
mod owner_rules;
mod program;
mod prompt;
mod recall;
mod recorded_model;
mod recorded_toolbox;
mod rendered;
mod repeats;
mod replay;
mod replay_log;
mod sample;
mod shorten;
#[cfg(test)]
mod small_models;
mod summary;
mod tasks;
mod truncate;
mod trust;
mod turn_context;
mod turn_end;
mod usage_meter;
mod used_bits;
mod valid;
mod window;
mod withheld;
mod withhold;

pub use agent_parts::{AgentLimits, AgentLogs, AgentLoop, AgentModels, PromptSettings};
pub use budget_limits::Budgets;
pub use budgets::UpkeepMeter;
pub use job_steps::JobPlan;
pub use json_answer::{AnswerValidator, ask_for_correction};
pub use limits::{LimitNotice, TurnLimits};
pub use marks::{ABOUT_MARKS, Marks};
pub use models_by_task::ModelsByTask;
pub use offer::CoreTools;
pub use owner_rules::AgentRules;
pub use prompt::{NoPrompt, PromptPart, PromptReport};
pub use recall::AgentRecall;
pub use recorded_toolbox::NOT_RECORDED;
pub use rendered::RenderedTurns;
pub use replay::{OutlineStep, ReplayAnswers, ReplayEnd, ReplayedTurn, TurnOutline};
pub use summary::Compaction;
pub use tasks::ModelTask;
pub use turn_context::TurnContext;
pub use turn_end::{CallWait, FailedTurn, PlainNotice, TurnEnd};
pub use usage_meter::UsageMeter;
pub use valid::make_valid;
