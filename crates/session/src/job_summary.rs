//! The summary at the end of a job: changed files, commands, the last test run, the cost.

use std::collections::BTreeSet;

use avocet_agent::{FailedTurn, TurnEnd, UsageMeter};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::job::{
    JOB_CALLS, JOB_PULL_REQUEST, JOB_SUMMARY, JobBranch, JobCommit, JobCommits,
};
use avocet_protocol::model::thousands;
use avocet_protocol::store::{Answer, StoreError, Total};
use avocet_protocol::turn::{LoggedCall, ResultKind, TurnRecord};
use avocet_text::append_line;
use serde_json::Value;

use crate::SessionParts;

/// Tools that change the file in their argument `path`.
const CHANGES_PATH: [&str; 4] = ["create_directory", "delete_file", "edit_file", "write_file"];
/// The most files or commands that are listed; the rest is counted.
const MOST_LINES: usize = 20;
/// The characters of a commit's id.
const SHORT_ID: usize = 8;
/// The most characters of a command.
const MOST_COMMAND: usize = 120;

/// Appends the summary of a job to the end of its turn; returns other ends unchanged.
pub(crate) async fn add_job_summary(
    parts: &SessionParts,
    turn: &TurnRecord,
    meter: &UsageMeter,
    end: TurnEnd,
) -> Result<TurnEnd, StoreError> {
    let rules = parts.with_retry(|| parts.jobs.job_rules(&turn.session)).await?;
    if rules.is_none() || matches!(end, TurnEnd::Waiting(_)) {
        return Ok(end);
    }
    // The ledger has the whole cost, and the log has the steps since the claim.
    parts.record_usage(meter).await;
    let record = parts.with_retry(|| parts.query.transcript(&turn.session, 1)).await?;
    let Some(record) = record.last().filter(|record| record.id == turn.id) else {
        return Ok(end);
    };
    let spent = || parts.ledger.spent(Some(turn.id), &turn.session, Timestamp(0));
    let spent = parts.with_retry(spent).await?.turn;
    let with = |text: &str, has_answered: bool| {
        let summary = summarise_job(record, &spent, count_requests(record, has_answered));
        format!("{text}\n\n{summary}").trim_start().to_owned()
    };
    Ok(match end {
        TurnEnd::Answered(answer) => {
            let text = with(&answer.text, true);
            TurnEnd::Answered(Answer { text, ..answer })
        }
        TurnEnd::Failed(failed) => {
            TurnEnd::Failed(FailedTurn { notice: with(&failed.notice, false), ..failed })
        }
        waiting @ TurnEnd::Waiting(_) => waiting,
    })
}

/// Returns the summary of a turn in Markdown, with the cost of its whole work. `runs` is the number
/// of requests to the model.
pub(crate) fn summarise_job(turn: &TurnRecord, spent: &Total, runs: usize) -> String {
    let done = || {
        let calls = turn.steps.iter().flat_map(|step| &step.calls);
        calls.filter(|call| call.result().is_some_and(|result| result.ok))
    };
    let mut text = format!("{JOB_SUMMARY}\n");
    let files: BTreeSet<String> = done().flat_map(changed_files).collect();
    push_branch(&mut text, turn);
    push_list(&mut text, "Files changed", files.into_iter().collect());
    push_list(&mut text, "Commands run", done().filter_map(shell_command).collect());
    let tests = done().rev().find_map(test_result);
    if let Some(tests) = tests {
        push_line(&mut text, &format!("- Tests, last run: {tests}"));
    }
    let (cost, tokens) = (spent.price(), thousands(spent.usage.total()));
    let requests = if runs == 1 { "request" } else { "requests" };
    push_line(
        &mut text,
        &format!("- Cost: {cost}; {tokens} tokens in {runs} {requests} to the model"),
    );
    text.trim_end().to_owned()
}

fn changed_files(call: &LoggedCall) -> Vec<String> {
    let arguments = call.call.arguments.to_object();
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let name = call.call.name.as_str();
    if name == "apply_patch" {
        return text("patch").map(patched_files).unwrap_or_default();
    }
    let path = CHANGES_PATH.contains(&name).then(|| text("path")).flatten();
    path.map(str::to_owned).into_iter().collect()
}

/// Returns the files that a unified diff names.
fn patched_files(patch: &str) -> Vec<String> {
    let named = patch.lines().filter_map(|line| {
        let path = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))?.trim();
        let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
        (path != "/dev/null").then(|| path.to_owned())
    });
    named.collect()
}

fn shell_command(call: &LoggedCall) -> Option<String> {
    (call.call.name == "exec_shell").then_some(())?;
    let arguments = call.call.arguments.to_object();
    let command = arguments.get("command")?.as_str()?;
    let words = command.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
    Some(match words.char_indices().nth(MOST_COMMAND) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    })
}

/// Returns the counts of a test run: of `run_tests`, or of a command that printed the results of
/// cargo.
fn test_result(call: &LoggedCall) -> Option<String> {
    let value = &call.result()?.value;
    let [passed, failed, skipped] = match call.call.name.as_str() {
        "run_tests" => ["passed", "failed", "skipped"].map(|name| value[name].as_u64()),
        "exec_shell" => of_cargo(value["output"].as_str()?)?.map(Some),
        _ => return None,
    };
    let (passed, failed) = (passed?, failed?);
    Some(match skipped {
        None | Some(0) => format!("{passed} passed, {failed} failed"),
        Some(skipped) => format!("{passed} passed, {failed} failed, {skipped} skipped"),
    })
}

/// Returns the sums of the passed, failed and ignored tests in the output of `cargo test`.
fn of_cargo(output: &str) -> Option<[u64; 3]> {
    let results = output.lines().filter_map(|line| line.trim().strip_prefix("test result: "));
    let counts = results.map(|result| {
        ["passed", "failed", "ignored"].map(|name| {
            let mut parts = result.split([';', '.']);
            let number = parts.find_map(|part| part.trim().strip_suffix(name)?.trim().parse().ok());
            number.unwrap_or(0)
        })
    });
    counts.reduce(|sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]])
}

/// Returns the number of requests to the model.
pub(crate) fn count_requests(turn: &TurnRecord, has_answered: bool) -> usize {
    let of_program = |name: &str| {
        let calls = turn.steps.iter().flat_map(|step| &step.calls);
        calls.filter(|call| call.call.name == name).count()
    };
    // The list of commits follows an answer in the same step, and the turn ends without another.
    let own = JOB_CALLS.map(of_program).iter().sum();
    (turn.steps.len() + usize::from(has_answered)).saturating_sub(own)
}

/// Adds the branch of a job, its commits and its pull request.
fn push_branch(text: &mut String, turn: &TurnRecord) {
    let calls = || turn.steps.iter().flat_map(|step| &step.calls);
    let Some(JobBranch { branch, from, note, .. }) = calls().find_map(JobBranch::from_call) else {
        return;
    };
    let Some(branch) = branch else {
        return push_line(text, &format!("- Branch: none, because {note}"));
    };
    let from = from.map(|from| format!(", begun at `{from}`")).unwrap_or_default();
    push_line(text, &format!("- Branch: `{branch}`{from}"));
    if let Some(JobCommits { commits, uncommitted }) = calls().rev().find_map(JobCommits::from_call)
    {
        if commits.is_empty() {
            push_line(text, "- Commits: none");
        }
        let shown = |commit: &JobCommit| {
            let id: String = commit.commit.chars().take(SHORT_ID).collect();
            format!("{id} {}", commit.subject.replace('`', "'"))
        };
        push_list(text, "Commits", commits.iter().map(shown).collect());
        if uncommitted > 0 {
            let files = if uncommitted == 1 { "file" } else { "files" };
            push_line(text, &format!("- Not committed: {uncommitted} {files}"));
        }
    }
    if let Some(result) = calls().rev().find(|call| call.call.name == JOB_PULL_REQUEST) {
        pull_request(text, result);
    }
}

fn pull_request(text: &mut String, call: &LoggedCall) {
    let Some(result) = call.result() else { return };
    let of = |key: &str| result.value[key].as_str().unwrap_or_default().replace('\n', " ");
    if result.ok {
        let output = of("output");
        let output = if output.is_empty() { "the command printed nothing" } else { &output };
        push_line(text, &format!("- Pull request: {output}"));
    } else {
        let error = of("error");
        let fate = match result.kind {
            ResultKind::OutcomeUnknown => "may have been opened",
            _ => "not opened",
        };
        push_line(text, &format!("- Pull request: {fate}: {error}"));
    }
}

fn push_list(text: &mut String, title: &str, mut items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    let more = items.len().saturating_sub(MOST_LINES);
    items.truncate(MOST_LINES);
    let quoted: Vec<String> = items.iter().map(|item| format!("`{item}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    push_line(text, &format!("- {title}: {}{more}", quoted.join(", ")));
}

fn push_line(text: &mut String, line: &str) {
    append_line(text, format_args!("{line}"));
}

#[cfg(test)]
mod tests {
    use avocet_protocol::access::Trust;
    use avocet_protocol::clock::Timestamp;
    use avocet_protocol::ids::{CallId, TurnId};
    use avocet_protocol::job::JOB_BRANCH;
    use avocet_protocol::model::{Arguments, Money, ToolCall, Usage};
    use avocet_protocol::turn::{
        AnswerEnding, CallResult, CallState, Origin, SessionReports, Step, TurnState, Undelivered,
    };
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value, result: CallResult) -> LoggedCall {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        LoggedCall {
            id: CallId { turn: TurnId(1), step: 0, ordinal: 0 },
            call: ToolCall { name: name.to_owned(), arguments: Arguments::Object(arguments) },
            state: CallState::Finished(result),
            allowed: None,
        }
    }

    fn turn(calls: Vec<LoggedCall>) -> TurnRecord {
        let step = Step {
            number: 0,
            text: String::new(),
            ending: AnswerEnding::Complete,
            usage: Usage::default(),
            trust: Trust::Full,
            calls,
            written: None,
            reasoning: None,
            closed: true,
            steered: Vec::new(),
        };
        TurnRecord {
            id: TurnId(1),
            session: "job:local:1".parse().unwrap(),
            state: TurnState::Running,
            started_at: Timestamp(0),
            origin: Origin::Messages(Vec::new()),
            steps: vec![step],
            notice: None,
            undelivered: Undelivered::default(),
            recalled: Vec::new(),
            reports: SessionReports::default(),
        }
    }

    #[test]
    fn summary_lists_files_commands_tests_and_cost() {
        let ok = || CallResult::ok(json!("done"));
        let tests = |passed: u64, failed: u64| {
            CallResult::ok(json!({
                "passed": passed, "failed": failed, "skipped": 0
            }))
        };
        let patch = "--- /dev/null\n+++ b/src/b.rs\n@@ -0,0 +1 @@\n+b\n";
        let turn = turn(vec![
            call("edit_file", json!({ "path": "src/a.rs" }), ok()),
            call("edit_file", json!({ "path": "src/a.rs" }), ok()),
            call("edit_file", json!({ "path": "src/failed.rs" }), CallResult::error("no match")),
            call("read_file", json!({ "path": "README.md" }), ok()),
            call("apply_patch", json!({ "patch": patch }), ok()),
            call("exec_shell", json!({ "command": "cargo  build\n --locked" }), ok()),
            call("run_tests", json!({}), tests(1, 2)),
            call("run_tests", json!({}), tests(3, 0)),
        ]);
        let spent = Total { usage: Usage::new(1200, 34), cost: Money(5_000_000), unpriced: 0 };
        assert_eq!(
            summarise_job(&turn, &spent, 2),
            "**Summary**\n\
             - Files changed: `src/a.rs`, `src/b.rs`\n\
             - Commands run: `cargo build --locked`\n\
             - Tests, last run: 3 passed, 0 failed\n\
             - Cost: $0.0050; 1,234 tokens in 2 requests to the model"
        );
    }

    #[test]
    fn summary_tells_the_fate_of_a_pull_request_by_the_kind_of_its_result() {
        let branch = CallResult::ok(json!({ "branch": "job/1", "note": "" }));
        for (kind, fate) in [
            (ResultKind::OutcomeUnknown, "may have been opened"),
            (ResultKind::Usual, "not opened"),
        ] {
            let failed = CallResult::error("interrupted by its command").with_kind(kind);
            let calls = vec![
                call(JOB_BRANCH, json!({}), branch.clone()),
                call(JOB_PULL_REQUEST, json!({}), failed),
            ];
            let text = summarise_job(&turn(calls), &Total::default(), 1);
            let line = format!("- Pull request: {fate}: interrupted by its command");
            assert!(text.contains(&line), "{text}");
        }
    }

    #[test]
    fn summary_of_a_job_without_calls_has_its_cost_only() {
        let text = summarise_job(&turn(Vec::new()), &Total::default(), 1);
        assert_eq!(text, "**Summary**\n- Cost: $0.00; 0 tokens in 1 request to the model");
    }
}
