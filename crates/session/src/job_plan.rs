//! The workspace, the limits and the own branch of a job's turn.

use std::path::Path;
use std::time::Duration;

use avocet_agent::{AgentLimits, AgentLoop, Budgets, JobPlan, TurnLimits};
use avocet_protocol::ids::JobId;
use avocet_protocol::store::{JobLimits, JobRules, JobState, JobStatus, LineageTurn, StoreError};
use avocet_protocol::turn::TurnRecord;

use crate::NoDirectory;
use crate::SessionParts;
use crate::agents::Agents;

/// The most words of a task in the name of a branch.
const NAMED_WORDS: usize = 5;
/// The most characters of them.
const NAMED_CHARS: usize = 40;
/// The newest jobs among which one in the same workspace is looked for.
const LOOKED_AT: u32 = 200;

/// The agent of a turn, and the program's own steps in it.
pub(crate) struct PlannedTurn {
    pub(crate) agent: AgentLoop,
    pub(crate) job: JobPlan,
    /// The job whose own turn it is, with its limit of requests; `None` for other turns.
    pub(crate) shown: Option<ShownJob>,
}

/// A job whose progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShownJob {
    pub(crate) id: JobId,
    /// The limit of requests to the model.
    pub(crate) most_rounds: u32,
    /// Steps that come before the first request.
    pub(crate) own_steps: u32,
}

impl Agents {
    /// Returns the agent of a turn with the rules of the turn's job: the workspace, and for the
    /// job's own turns the limits.
    ///
    /// # Errors
    /// [`NoDirectory`] if the workspace of the job cannot be used.
    pub fn for_job(
        &self,
        agent: AgentLoop,
        lineage: &[LineageTurn],
        rules: JobRules,
    ) -> Result<AgentLoop, NoDirectory> {
        let JobRules { workspace, limits, .. } = rules;
        let agent = if lineage.len() == 1 { with_limits(agent, limits) } else { agent };
        let (Some(workspace), Ok(of)) = (workspace, self.of_turn(lineage)) else {
            return Ok(agent);
        };
        self.directories.in_directory(of.shown_name(), Path::new(&workspace), agent)
    }
}

/// Applies the rules of the turn's job, if there is one: the workspace, and for the job's own
/// turns the limits and the branch. The inner error is the reason why the turn
/// cannot run.
pub(crate) async fn plan_job_turn(
    parts: &SessionParts,
    agent: AgentLoop,
    turn: &TurnRecord,
    lineage: &[LineageTurn],
) -> Result<Result<PlannedTurn, String>, StoreError> {
    let plain = |agent| Ok(Ok(PlannedTurn { agent, job: JobPlan::default(), shown: None }));
    let Some(root) = lineage.last() else { return plain(agent) };
    let rules = parts.with_retry(|| parts.jobs.job_rules(&root.session)).await?;
    let Some(rules) = rules else { return plain(agent) };
    let most_rounds = rules.limits.max_inference_runs;
    let agent = match parts.agents.now().for_job(agent, lineage, rules) {
        Ok(agent) => agent,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if lineage.len() != 1 {
        return plain(agent);
    }
    let job = match job_plan(parts, turn).await? {
        Ok(job) => job,
        Err(reason) => return Ok(Err(reason)),
    };
    let own_steps = u32::from(job.branch.is_some());
    let shown = turn.session.job().map(|id| ShownJob { id, most_rounds, own_steps });
    Ok(Ok(PlannedTurn { agent, job, shown }))
}

/// Returns the program's own steps in a job's turn. Later turns of the conversation have none.
async fn job_plan(
    parts: &SessionParts,
    turn: &TurnRecord,
) -> Result<Result<JobPlan, String>, StoreError> {
    let none = Ok(Ok(JobPlan::default()));
    let Some(id) = turn.session.job() else { return none };
    let Some(job) = parts.with_retry(|| parts.jobs.job(id)).await? else { return none };
    let agents = parts.agents.now();
    let agent = agents.named(&job.rules.agent);
    let Some(agent) = agent.filter(|agent| agent.jobs.own_branch) else { return none };
    if job.turn != Some(turn.id) {
        return none;
    }
    if turn.steps.is_empty()
        && let Some(other) = on_branch_there(parts, &job).await?
    {
        return Ok(Err(format!(
            "{other} works in this workspace on a branch of its own; submit this job again \
                after it"
        )));
    }
    let pr_command = agent.jobs.pr_command.clone();
    Ok(Ok(JobPlan { branch: Some(branch_name(id, &job.task)), pr_command }))
}

/// Returns a job that has begun earlier and works on a branch in the same workspace.
async fn on_branch_there(
    parts: &SessionParts,
    job: &JobStatus,
) -> Result<Option<JobId>, StoreError> {
    let others = parts.with_retry(|| parts.jobs.jobs(LOOKED_AT, None)).await?;
    let agents = parts.agents.now();
    let has_branch = |other: &JobStatus| {
        let agent = agents.named(&other.rules.agent);
        agent.is_some_and(|agent| agent.jobs.own_branch)
    };
    let is_there = |other: &&JobStatus| {
        matches!(other.state, JobState::Running | JobState::Waiting)
            && other.rules.workspace == job.rules.workspace
            && (other.started_at, other.id) < (job.started_at, job.id)
            && has_branch(other)
    };
    Ok(others.iter().find(is_there).map(|other| other.id))
}

/// Returns the name of a job's branch: its number, and the first words of its task.
fn branch_name(id: JobId, task: &str) -> String {
    let words = task.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = format!("avocet/job-{}", id.0);
    let mut left = NAMED_CHARS;
    for word in words.take(NAMED_WORDS) {
        let word = word.to_ascii_lowercase();
        let Some(rest) = left.checked_sub(word.len()) else { break };
        left = rest;
        name.push('-');
        name.push_str(&word);
    }
    name
}

fn with_limits(agent: AgentLoop, limits: JobLimits) -> AgentLoop {
    let JobLimits { max_inference_runs, max_seconds, max_cost } = limits;
    let AgentLimits { turn, budgets, .. } = agent.limits;
    let turn = TurnLimits {
        max_tool_iterations: max_inference_runs,
        max_duration: Duration::from_secs(max_seconds),
        ..turn
    };
    let turn_cost = match (budgets.turn_cost, max_cost) {
        (Some(budget), Some(own)) => Some(budget.min(own)),
        (budget, own) => own.or(budget),
    };
    let budgets = Budgets { turn_cost, ..budgets };
    AgentLoop { limits: AgentLimits { turn, budgets, ..agent.limits }, ..agent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_name_has_the_number_and_the_first_words_of_the_task() {
        for (task, name) in [
            ("Add tests for the parser, please", "avocet/job-3-add-tests-for-the-parser"),
            ("fix: src/lib.rs", "avocet/job-3-fix-src-lib-rs"),
            ("../../HEAD~1 --force", "avocet/job-3-head-1-force"),
            ("добавь тесты", "avocet/job-3"),
            (&"x".repeat(50), "avocet/job-3"),
            ("", "avocet/job-3"),
        ] {
            assert_eq!(branch_name(JobId(3), task), name, "{task}");
        }
    }
}
