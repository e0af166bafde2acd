//! The steps of a job that the program makes without a model: the branch at the start, the list of
//! commits and the pull request at the end. They follow from the log and the plan, so that a
//! job continues after a crash.

use avocet_protocol::job::{
    JOB_BRANCH, JOB_CALLS, JOB_COMMITS, JOB_PULL_REQUEST, JobBranch, JobCommits,
};
use avocet_protocol::model::{Arguments, ModelReply, ToolCall, Usage};
use avocet_protocol::turn::{CallResult, LoggedCall, Step, TurnRecord};
use avocet_text::end_sentence;
use serde_json::{Map, Value, json};

/// The program's own steps in a job. The default has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPlan {
    /// The branch that the job works on; `None` if it works without one of its own.
    pub branch: Option<String>,
    /// The command that opens a pull request with the branch, and its arguments. Empty: none.
    pub pr_command: Vec<String>,
}

impl JobPlan {
    /// Returns the plan that the recorded steps of a turn follow.
    pub(crate) fn of_record(record: &TurnRecord) -> Self {
        let own = |name: &str| {
            let mut own = record.steps.iter().filter_map(own_call);
            Some(own.find(|made| made.call.name == name)?.call.arguments.to_object())
        };
        let branch =
            own(JOB_BRANCH).and_then(|call| Some(call.get("branch")?.as_str()?.to_owned()));
        let command =
            own(JOB_PULL_REQUEST).and_then(|call| call.get("command")?.as_array().cloned());
        let words = command.unwrap_or_default().into_iter();
        let pr_command = words.filter_map(|word| word.as_str().map(str::to_owned)).collect();
        Self { branch, pr_command }
    }
}

/// The next step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JobStep {
    /// The program makes this call.
    Call(ToolCall),
    /// The job cannot begin.
    Fail(String),
    /// The turn ends with this text, which the model wrote before the last calls.
    End(String),
    /// The model is asked, as in every other turn.
    AskModel,
}

/// Returns the next step of a turn whose steps are all closed.
pub(crate) fn next_job_step(turn: &TurnRecord, plan: &JobPlan) -> JobStep {
    let Some(last) = turn.steps.last() else {
        let call = |branch| call(JOB_BRANCH, json!({ "branch": branch }));
        return plan.branch.as_ref().map_or(JobStep::AskModel, |name| JobStep::Call(call(name)));
    };
    match own_call(last) {
        Some(made) if made.call.name == JOB_BRANCH => match error_of(made) {
            Some(error) => {
                JobStep::Fail(end_sentence(format!("I did not begin this job: {error}")))
            }
            None => JobStep::AskModel,
        },
        // A message has arrived meanwhile, and the model has to answer it.
        Some(_) if !last.steered.is_empty() => JobStep::AskModel,
        Some(made) if made.call.name == JOB_COMMITS && opens_pull_request(turn, made, plan) => {
            JobStep::Call(pull_request(plan))
        }
        Some(_) => JobStep::End(last_text(turn)),
        None => JobStep::AskModel,
    }
}

/// Returns the call that follows the last answer of the model; `None` if the job has no branch.
pub(crate) fn last_call(turn: &TurnRecord, reply: &ModelReply) -> Option<ToolCall> {
    let is_whole = !reply.truncated && !reply.filtered;
    let JobBranch { branch, base, .. } = branch_of(turn).filter(|_| is_whole)?;
    branch.map(|_| call(JOB_COMMITS, json!({ "base": base })))
}

/// Returns the result of a call that only the program may make, if a model made it; else `None`.
pub(crate) fn refusal(turn: &TurnRecord, call: &ToolCall, plan: &JobPlan) -> Option<CallResult> {
    if !is_job_call(call) {
        return None;
    }
    let is_own = turn.steps.last().is_some_and(|step| own_call(step).is_some());
    let may_be_made = is_own
        && match call.name.as_str() {
            JOB_BRANCH => plan.branch.is_some(),
            JOB_PULL_REQUEST => *call == pull_request(plan),
            _ => branch_of(turn).is_some_and(|branch| branch.branch.is_some()),
        };
    let text = format!("{} is not a tool; only the program calls it", call.name);
    (!may_be_made).then(|| CallResult::error(&text))
}

pub(crate) fn is_job_call(call: &ToolCall) -> bool {
    JOB_CALLS.contains(&call.name.as_str())
}

/// Returns `true` if a step belongs to a request to the model.
pub(crate) fn is_round(step: &Step) -> bool {
    own_call(step).is_none_or(|made| made.call.name == JOB_COMMITS)
}

fn call(name: &str, arguments: Value) -> ToolCall {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    ToolCall { name: name.to_owned(), arguments: Arguments::Object(arguments) }
}

fn pull_request(plan: &JobPlan) -> ToolCall {
    call(JOB_PULL_REQUEST, json!({ "command": plan.pr_command }))
}

/// Returns `true` if the branch has commits and no pull request was asked for before.
fn opens_pull_request(turn: &TurnRecord, listed: &LoggedCall, plan: &JobPlan) -> bool {
    let has_commits = JobCommits::from_call(listed).is_some_and(|list| !list.commits.is_empty());
    let mut own = turn.steps.iter().filter_map(own_call);
    has_commits
        && !plan.pr_command.is_empty()
        && !own.any(|made| made.call.name == JOB_PULL_REQUEST)
}

/// Returns the last text of the model.
fn last_text(turn: &TurnRecord) -> String {
    let mut ends = turn
        .steps
        .iter()
        .rev()
        .filter(|step| own_call(step).is_some_and(|made| made.call.name == JOB_COMMITS));
    ends.next().map(|step| step.text.clone()).unwrap_or_default()
}

/// Returns the call of a step that the program made. A step without usage has no request to a
/// model. The list of commits follows an answer of the model, in the same step.
pub(crate) fn own_call(step: &Step) -> Option<&LoggedCall> {
    let [only] = &step.calls[..] else { return None };
    let is_own = step.usage == Usage::default() || only.call.name == JOB_COMMITS;
    Some(only).filter(|only| is_own && is_job_call(&only.call))
}

/// Returns the result of the first step; `None` if the job has no such step.
fn branch_of(turn: &TurnRecord) -> Option<JobBranch> {
    turn.steps.first().and_then(own_call).and_then(JobBranch::from_call)
}

fn error_of(made: &LoggedCall) -> Option<&str> {
    let result = made.result().filter(|result| !result.ok)?;
    Some(
        result.value["error"]
            .as_str()
            .unwrap_or("its branch could not be made")
            .trim_end_matches('.'),
    )
}

#[cfg(test)]
#[path = "job_steps_tests.rs"]
mod tests;
