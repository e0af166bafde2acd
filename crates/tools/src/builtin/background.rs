//! Background programs, which outlive the call that started them: their sessions, their limits and
//! the output since the last poll.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{Clock, LeastTrust, SessionId, ToolContext, ToolError, Trust, within};
use avocet_sandbox::{Cell, CellError, ProgramEnd, ProgramRequest, ProgramResult, Reached, Rights};
use avocet_supervise::Group;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::watched::{Notes, ProgramWatch};

/// Running programs per session.
const MOST_OF_ONE: usize = 8;
/// Running programs in total, and also the number of ended programs that are kept.
const MOST: usize = 32;
/// Bytes of unread output kept per program; the oldest are dropped first.
const KEPT_BYTES: usize = 64 * 1024;
/// Time for which an ended program is kept without a poll.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// The background programs of one daemon. They end when the daemon ends.
#[derive(Debug)]
pub struct Background {
    /// The number of this start of the daemon. It is part of each id, so that ids of an earlier
    /// start are recognised.
    start: i64,
    longest: Duration,
    clock: Arc<dyn Clock>,
    group: Group,
    programs: Mutex<ProgramTable>,
}

#[derive(Debug, Default)]
struct ProgramTable {
    started: u64,
    /// Keyed by the program's number.
    programs: BTreeMap<u64, Arc<Program>>,
}

/// A program to start in the background.
#[derive(Debug)]
pub(super) struct BackgroundTask {
    pub(super) cell: Arc<Cell>,
    /// The command as a person sees it.
    pub(super) command: String,
    pub(super) program: Vec<String>,
    pub(super) directory: PathBuf,
    /// The model's timeout; the operator's limit caps it.
    pub(super) limit: Option<Duration>,
    pub(super) watched: ProgramWatch,
    pub(super) rights: Rights,
}

#[derive(Debug)]
struct Program {
    id: String,
    session: SessionId,
    command: String,
    /// Measured by the clock's `elapsed`.
    started: Duration,
    limit: Duration,
    cancel: CancellationToken,
    heard: Mutex<UnreadOutput>,
    changed: Notify,
    /// The files that the program reads and changes. `None` once it has ended.
    watched: Mutex<Option<ProgramWatch>>,
    /// Files that it left at protected paths, known once it has ended.
    aside: Mutex<Vec<String>>,
    /// The hosts that it has connected to so far.
    reached: Reached,
    /// The trust level of its output.
    read: LeastTrust,
}

/// Output that was received and is still unread.
#[derive(Debug, Default)]
struct UnreadOutput {
    unread: VecDeque<u8>,
    /// Bytes dropped unread because the buffer was full.
    lost: u64,
    end: Option<BackgroundEnd>,
}

#[derive(Debug, Clone)]
struct BackgroundEnd {
    how: Result<ProgramEnd, CellError>,
    at: Duration,
}

impl Background {
    /// Creates an empty table. `start` differs at each start of the daemon. A program is killed
    /// after `longest`, or when `group` ends.
    #[must_use]
    pub fn new(start: i64, longest: Duration, clock: Arc<dyn Clock>, group: Group) -> Self {
        Self { start, longest, clock, group, programs: Mutex::default() }
    }

    /// Starts a program and returns its id.
    pub(super) fn start(
        self: &Arc<Self>,
        errand: BackgroundTask,
        session: &SessionId,
    ) -> Result<Value, ToolError> {
        let BackgroundTask { cell, command, program, directory, limit, watched, rights } = errand;
        let limit = limit.map_or(self.longest, |limit| limit.min(self.longest));
        let started = self.clock.elapsed();
        let entered = {
            let mut table = self.table();
            table.forget(started);
            Self::make_room(&table, session)?;
            table.started += 1;
            let number = table.started;
            let entered = Arc::new(Program {
                id: format!("p{}.{number}", self.start),
                session: session.clone(),
                command,
                started,
                limit,
                cancel: self.group.token().child_token(),
                heard: Mutex::default(),
                changed: Notify::new(),
                reached: watched.reached(),
                watched: Mutex::new(Some(watched)),
                aside: Mutex::default(),
                read: LeastTrust::default(),
            });
            table.programs.insert(number, entered.clone());
            entered
        };
        let (cancel, reached) = (entered.cancel.clone(), entered.reached.clone());
        // `output: 0` because `Program` itself keeps the output.
        let order =
            ProgramRequest { program, directory, limit, output: 0, cancel, reached, rights };
        let mut cell = Cell::clone(&cell);
        cell.limits.cpu_seconds = cell.limits.cpu_seconds.max(self.longest.as_secs());
        let (clock, id) = (self.clock.clone(), entered.id.clone());
        let seconds = limit.as_secs();
        self.group.spawn(&id.clone(), async move {
            let ran = cell.run_heard(order, |bytes| entered.hear(bytes)).await;
            entered.settle().await;
            entered.end(ran, clock.elapsed());
        });
        Ok(json!({
            "id": id,
            "running": true,
            "killed_after_seconds": seconds,
            "next": "process_poll says what it prints and whether it still runs; process_kill ends it",
        }))
    }

    /// Returns the output since the last poll, after waiting at most `wait` for new output.
    pub(super) async fn poll(
        &self,
        id: &str,
        wait: Duration,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let program = self.find(id, &context.session)?;
        let waiting = within(self.clock.as_ref(), wait, program.news());
        tokio::select! {
            // With or without new output.
            _ = waiting => Ok(self.report(&program, context)),
            // A report that is read now would be lost with the cancelled call.
            () = context.cancel.cancelled() => {
                Err(ToolError::ExecutionFailed("the poll was stopped; the program was not".to_owned()))
            }
        }
    }

    /// Kills a program and all its children.
    pub(super) async fn kill(&self, id: &str, context: &ToolContext) -> Result<Value, ToolError> {
        let program = self.find(id, &context.session)?;
        program.cancel.cancel();
        program.ended().await;
        Ok(self.report(&program, context))
    }

    pub(super) fn list(&self, context: &ToolContext) -> Value {
        let now = self.clock.elapsed();
        let mut table = self.table();
        table.forget(now);
        let own = table.programs.values().filter(|program| program.session == context.session);
        own.map(|program| {
            // The command carries the trust level of the turn that wrote it.
            context.read.lower(program.trust());
            let mut listed = program.state(now);
            listed.insert("unread_bytes".to_owned(), program.heard().unread.len().into());
            Value::Object(listed)
        })
        .collect()
    }

    /// The command of a program, to show to a person.
    pub(super) fn command(&self, id: &str, session: &SessionId) -> Option<String> {
        self.find(id, session).ok().map(|program| program.command.clone())
    }

    fn find(&self, id: &str, session: &SessionId) -> Result<Arc<Program>, ToolError> {
        let mut table = self.table();
        table.forget(self.clock.elapsed());
        let numbers = id.strip_prefix('p').and_then(|rest| rest.split_once('.'));
        let number = |text: &str| text.parse::<u64>().ok();
        let why = match numbers.and_then(|(start, one)| Some((number(start)?, number(one)?))) {
            Some((start, one)) if u64::try_from(self.start) == Ok(start) => {
                let found = table.programs.get(&one);
                if let Some(program) = found.filter(|program| program.session == *session) {
                    return Ok(program.clone());
                }
                "it was never started in this conversation, or it has ended and its end was told \
                 or is more than an hour ago"
            }
            Some(_) => "it ended with a restart of the daemon, and what it had not told is lost",
            None => "ids are those that exec_shell gives, such as p1.2",
        };
        Err(ToolError::ExecutionFailed(format!(
            "there is no program {id}: {why}. process_poll without an id lists what there is"
        )))
    }

    /// Returns the new output and the state of a program, and forgets the program if it has ended.
    fn report(&self, program: &Arc<Program>, context: &ToolContext) -> Value {
        let mut report = program.state(self.clock.elapsed());
        // The state was read before the output, so a report of the end includes all output. Read
        // the output before its trust, too.
        report.insert("output".to_owned(), program.read().into());
        context.read.lower(program.trust());
        if report["running"] == false {
            self.table().programs.retain(|_, kept| !Arc::ptr_eq(kept, program));
        }
        Value::Object(report)
    }

    fn make_room(table: &ProgramTable, session: &SessionId) -> Result<(), ToolError> {
        let running = || table.programs.values().filter(|program| program.runs());
        let own: Vec<&str> = running()
            .filter(|program| program.session == *session)
            .map(|program| program.id.as_str())
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

    fn table(&self) -> MutexGuard<'_, ProgramTable> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgramTable {
    /// Forgets programs that ended long ago, and the oldest ended ones above the limit.
    fn forget(&mut self, now: Duration) {
        let ended = |program: &Program| program.heard().end.as_ref().map(|end| end.at);
        self.programs
            .retain(|_, program| ended(program).is_none_or(|at| now.saturating_sub(at) < KEPT_FOR));
        let mut over: Vec<(Duration, u64)> = self
            .programs
            .iter()
            .filter_map(|(number, program)| Some((ended(program)?, *number)))
            .collect();
        over.sort_unstable();
        for (_, number) in over.iter().take(over.len().saturating_sub(MOST)) {
            self.programs.remove(number);
        }
    }
}

impl Program {
    fn heard(&self) -> MutexGuard<'_, UnreadOutput> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, bytes: &[u8]) {
        self.heard().push(bytes);
        self.changed.notify_waiters();
    }

    fn end(&self, ran: Result<ProgramResult, CellError>, at: Duration) {
        self.heard().end = Some(BackgroundEnd { how: ran.map(|ran| ran.ended), at });
        self.changed.notify_waiters();
    }

    /// The lowest trust level of the data that it has read so far.
    fn trust(&self) -> Trust {
        if let Some(watched) = &*self.watched() {
            self.read.lower(watched.least());
        }
        self.read.get()
    }

    /// Marks the files that the program changed, once all its processes have ended.
    async fn settle(&self) {
        self.read.lower(self.trust());
        let Some(watched) = self.watched().take() else { return };
        let (read, aside) = watched.settle().await;
        self.read.lower(read);
        *self.aside.lock().unwrap_or_else(PoisonError::into_inner) = aside;
    }

    fn watched(&self) -> MutexGuard<'_, Option<ProgramWatch>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> bool {
        self.heard().end.is_none()
    }

    /// Waits for unread output or for the end.
    async fn news(&self) {
        self.until(|heard| heard.end.is_some() || !heard.unread.is_empty()).await;
    }

    async fn ended(&self) {
        self.until(|heard| heard.end.is_some()).await;
    }

    async fn until(&self, holds: impl Fn(&UnreadOutput) -> bool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Register first, so that a change during the check below wakes us.
            changed.as_mut().enable();
            if holds(&self.heard()) {
                return;
            }
            changed.await;
        }
    }

    fn read(&self) -> String {
        self.heard().read()
    }

    /// The program's id, command and state, for the model.
    fn state(&self, now: Duration) -> Map<String, Value> {
        let end = self.heard().end.clone();
        let until = end.as_ref().map_or(now, |end| end.at);
        let mut state = Map::new();
        let mut put = |key: &str, value: Value| state.insert(key.to_owned(), value);
        put("id", self.id.clone().into());
        put("command", self.command.clone().into());
        put("running", end.is_none().into());
        put("seconds", until.saturating_sub(self.started).as_secs().into());
        match end.map(|end| end.how) {
            None => {}
            Some(Ok(ProgramEnd::Code(code))) => drop(put("exit_code", code.into())),
            Some(Ok(ProgramEnd::Signal(signal))) => drop(put("killed_by_signal", signal.into())),
            Some(Ok(ProgramEnd::TimedOut)) => {
                let why = format!("killed: its {} seconds were up", self.limit.as_secs());
                put("ended", why.into());
            }
            Some(Ok(ProgramEnd::Cancelled)) => drop(put("ended", "killed".into())),
            Some(Err(error)) => drop(put("ended", format!("never started: {error}").into())),
        }
        let aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Notes { reached: self.reached.hosts(), aside, read_only: Vec::new() }.add_to(&mut state);
        state
    }
}

impl UnreadOutput {
    fn push(&mut self, bytes: &[u8]) {
        self.unread.extend(bytes);
        let surplus = self.unread.len().saturating_sub(KEPT_BYTES);
        self.unread.drain(..surplus);
        self.lost += surplus as u64;
    }

    /// Takes all unread output, except an incomplete character at its end.
    fn read(&mut self) -> String {
        let unread = self.unread.make_contiguous();
        let whole = match std::str::from_utf8(unread) {
            Err(error) if error.error_len().is_none() && self.end.is_none() => error.valid_up_to(),
            _ => unread.len(),
        };
        let bytes: Vec<u8> = self.unread.drain(..whole).collect();
        let text = String::from_utf8_lossy(&bytes);
        match std::mem::take(&mut self.lost) {
            0 => text.into_owned(),
            lost => format!("[… {lost} bytes were not read in time and fell out …]\n{text}"),
        }
    }
}

#[cfg(test)]
#[path = "background_tests.rs"]
mod tests;
