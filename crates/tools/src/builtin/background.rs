//! Background programs, which outlive the call that started them: their sessions and their limits.

mod program;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::tool::{EndPrograms, ToolContext, ToolError};
use avocet_sandbox::{ProgramRequest, ProgramRights, ProgramSandbox};
use avocet_supervise::Group;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::watched::ProgramWatch;
use program::{BackgroundProgram, ProgramDetails};

/// Running programs per session.
const MOST_OF_ONE: usize = 8;
/// Running programs in total, and also the number of ended programs that are kept.
const MOST: usize = 32;
/// Time for which an ended program is kept without a poll.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// The background programs of one daemon. They end when the daemon ends.
#[derive(Debug)]
pub struct BackgroundPrograms {
    /// The number of this start of the daemon. It is part of each id, so that ids of an earlier
    /// start are recognised.
    start: i64,
    longest: Duration,
    clock: Arc<dyn Clock>,
    group: Group,
    programs: Mutex<ProgramTable>,
}

impl EndPrograms for BackgroundPrograms {
    fn kill_all(&self) {
        let table = self.programs.lock();
        table.programs.values().for_each(|program| program.details.cancel.cancel());
    }
}

#[derive(Debug, Default)]
struct ProgramTable {
    started: u64,
    /// Keyed by the program's number.
    programs: BTreeMap<u64, Arc<BackgroundProgram>>,
}

/// A program to start in the background.
#[derive(Debug)]
pub(super) struct BackgroundTask {
    pub(super) sandbox: Arc<ProgramSandbox>,
    /// The command as a person sees it.
    pub(super) command: String,
    pub(super) program: Vec<String>,
    pub(super) directory: PathBuf,
    /// The model's timeout; the operator's limit caps it.
    pub(super) limit: Option<Duration>,
    pub(super) watched: ProgramWatch,
    pub(super) rights: ProgramRights,
}

impl BackgroundPrograms {
    /// Creates an empty table. `start` differs at each start of the daemon. A program is killed
    /// after `longest`, or when `group` ends.
    #[must_use]
    pub fn new(start: i64, longest: Duration, clock: Arc<dyn Clock>, group: Group) -> Self {
        Self { start, longest, clock, group, programs: Mutex::default() }
    }

    /// Starts a program and returns its id.
    pub(super) fn start(
        self: &Arc<Self>,
        task: BackgroundTask,
        session: &SessionId,
    ) -> Result<Value, ToolError> {
        let BackgroundTask { sandbox, command, program, directory, limit, watched, rights } = task;
        let limit = limit.map_or(self.longest, |limit| limit.min(self.longest));
        let started = self.clock.elapsed();
        let entered = {
            let mut table = self.programs.lock();
            table.forget_ended(started);
            Self::make_room(&table, session)?;
            table.started += 1;
            let number = table.started;
            let details = ProgramDetails {
                id: format!("p{}.{number}", self.start),
                session: session.clone(),
                command,
                started,
                limit,
                cancel: self.group.cancel_token().child_token(),
            };
            let entered = Arc::new(BackgroundProgram::new(details, watched));
            table.programs.insert(number, entered.clone());
            entered
        };
        let (cancel, reached) = (entered.details.cancel.clone(), entered.reached.clone());
        // `output: 0` because `BackgroundProgram` itself keeps the output.
        let request =
            ProgramRequest { program, directory, limit, output: 0, cancel, reached, rights };
        let mut sandbox = ProgramSandbox::clone(&sandbox);
        sandbox.limits.cpu_seconds = sandbox.limits.cpu_seconds.max(self.longest.as_secs());
        let (clock, id) = (self.clock.clone(), entered.details.id.clone());
        let seconds = limit.as_secs();
        self.group.spawn(&id.clone(), async move {
            let ran = sandbox.run_with_output(request, |bytes| entered.add_output(bytes)).await;
            entered.settle_changes().await;
            entered.mark_ended(ran, clock.elapsed());
        });
        Ok(json!({
            "id": id,
            "running": true,
            "killed_after_seconds": seconds,
            "next": "process_poll shows its output and whether it still runs; process_kill ends it",
        }))
    }

    /// Returns the output since the last poll, after waiting at most `wait` for new output.
    pub(super) async fn poll(
        &self,
        id: &str,
        wait: Duration,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let program = self.find_program(id, &context.session)?;
        let waiting = within(self.clock.as_ref(), wait, program.wait_for_news());
        tokio::select! {
            // With or without new output.
            _ = waiting => Ok(self.report_program(&program, context)),
            // A report that is read now would be lost with the cancelled call.
            () = context.cancel.cancelled() => {
                Err(ToolError::ExecutionFailed("the poll was stopped; the program was not".to_owned()))
            }
        }
    }

    /// Kills a program and all its children.
    pub(super) async fn kill_program(
        &self,
        id: &str,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let program = self.find_program(id, &context.session)?;
        program.details.cancel.cancel();
        program.wait_for_end().await;
        Ok(self.report_program(&program, context))
    }

    pub(super) fn list_programs(&self, context: &ToolContext) -> Value {
        let now = self.clock.elapsed();
        let mut table = self.programs.lock();
        table.forget_ended(now);
        let own =
            table.programs.values().filter(|program| program.details.session == context.session);
        own.map(|program| {
            // The command carries the trust level of the turn that wrote it.
            context.read.lower_to(program.least_trust());
            let mut listed = program.state_json(now);
            listed.insert("unread_bytes".to_owned(), program.unread_bytes().into());
            Value::Object(listed)
        })
        .collect()
    }

    /// The command of a program, to show to a person.
    pub(super) fn command_of(&self, id: &str, session: &SessionId) -> Option<String> {
        self.find_program(id, session).ok().map(|program| program.details.command.clone())
    }

    fn find_program(
        &self,
        id: &str,
        session: &SessionId,
    ) -> Result<Arc<BackgroundProgram>, ToolError> {
        let mut table = self.programs.lock();
        table.forget_ended(self.clock.elapsed());
        let numbers = id.strip_prefix('p').and_then(|rest| rest.split_once('.'));
        let number = |text: &str| text.parse::<u64>().ok();
        let why = match numbers.and_then(|(start, one)| Some((number(start)?, number(one)?))) {
            Some((start, one)) if u64::try_from(self.start) == Ok(start) => {
                let found = table.programs.get(&one);
                if let Some(program) = found.filter(|program| program.details.session == *session) {
                    return Ok(program.clone());
                }
                "it was not started in this conversation, or its end was reported already, or it \
                    ended more than an hour ago"
            }
            Some(_) => "it ended at a restart of the daemon, and its unread output is lost",
            None => "ids are those that exec_shell gives, such as p1.2",
        };
        Err(ToolError::ExecutionFailed(format!(
            "there is no program {id}: {why}. process_poll without an id lists the programs"
        )))
    }

    /// Returns the new output and the state of a program, and forgets the program if it has ended.
    fn report_program(&self, program: &Arc<BackgroundProgram>, context: &ToolContext) -> Value {
        let mut report = program.state_json(self.clock.elapsed());
        // The state was read before the output, so a report of the end includes all output. Read
        // the output before its trust, too.
        report.insert("output".to_owned(), program.read().into());
        context.read.lower_to(program.least_trust());
        if report["running"] == false {
            self.programs.lock().programs.retain(|_, kept| !Arc::ptr_eq(kept, program));
        }
        Value::Object(report)
    }

    fn make_room(table: &ProgramTable, session: &SessionId) -> Result<(), ToolError> {
        let running = || table.programs.values().filter(|program| program.is_running());
        let own: Vec<&str> = running()
            .filter(|program| program.details.session == *session)
            .map(|program| program.details.id.as_str())
            .collect();
        if own.len() >= MOST_OF_ONE {
            return Err(ToolError::ExecutionFailed(format!(
                "{MOST_OF_ONE} programs run in the background of this conversation already ({}); \
                 end one with process_kill first",
                own.join(", ")
            )));
        }
        if running().count() >= MOST {
            return Err(ToolError::ExecutionFailed(format!(
                "{MOST} programs run in the background already, most of them of other \
                 conversations; run it in the foreground, or later"
            )));
        }
        Ok(())
    }
}

impl ProgramTable {
    /// Forgets programs that ended long ago, and the oldest ended ones above the limit.
    fn forget_ended(&mut self, now: Duration) {
        self.programs.retain(|_, program| {
            program.ended_at().is_none_or(|at| now.saturating_sub(at) < KEPT_FOR)
        });
        let mut over: Vec<(Duration, u64)> = self
            .programs
            .iter()
            .filter_map(|(number, program)| Some((program.ended_at()?, *number)))
            .collect();
        over.sort_unstable();
        for (_, number) in over.iter().take(over.len().saturating_sub(MOST)) {
            self.programs.remove(number);
        }
    }
}

#[cfg(test)]
#[path = "background_tests.rs"]
mod tests;
