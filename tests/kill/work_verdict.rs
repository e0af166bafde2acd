//! The verdict about work that outlives its answer: compares the log with the messages to planners.

use std::collections::BTreeMap;
use std::fmt;

use rusqlite::Connection;

use crate::failures::{AllowedFailure, unexplained};
use crate::planner::TICK;
use crate::work::{AskedWork, WorkKind};
use crate::world::World;

/// The verdict about the work of a run.
pub(crate) struct WorkVerdict {
    /// Pieces of work, and parts of them that are jobs, tasks of sub-agents and schedules.
    asked: usize,
    jobs: usize,
    tasks: usize,
    schedules: usize,
    /// Due times of the recurring reminder.
    ticks: usize,
    /// Effects that took place.
    effects: usize,
    /// Jobs by their final state.
    job_states: BTreeMap<String, usize>,
    /// Answers or ends that the chat lacks, although the log has no reason for it.
    lost: Vec<String>,
    doubled: Vec<String>,
    marked: usize,
    too_often: Vec<String>,
    /// Effects that took place twice.
    run_twice: Vec<String>,
    /// Effects that are missing, although the log has no reason for it.
    not_run: Vec<String>,
    /// Jobs, tasks or schedules that one request made twice.
    made_twice: Vec<String>,
    /// Work that has not ended in the log, or due times that were not claimed exactly once.
    open: Vec<String>,
    /// Jobs whose state in the log differs from the one in the chat.
    contradicted: Vec<String>,
    failed: usize,
    /// Notices about failed work that the kills do not explain.
    unexplained: Vec<String>,
    others: Vec<String>,
}

impl WorkVerdict {
    /// Judges a run whose daemon has ended. Only these failures may have ended work.
    pub(crate) fn new(world: &World, allowed: &[AllowedFailure]) -> Self {
        let oracle = &world.oracle.work;
        let (all, log, effects) = (oracle.all(), WorkLog::of(world), oracle.effects());
        let of = |which: &dyn Fn(&str, &AskedWork) -> bool| -> Vec<String> {
            let found = all.iter().filter(|(key, asked)| which(key, asked));
            found.map(|(key, asked)| format!("{key} {asked:?} {:?}", log.state(key))).collect()
        };
        let has_reason = |key: &String| effects.contains_key(key) || oracle.was_asked_about(key);
        let missing = all.iter().filter(|(_, asked)| asked.failed.is_empty());
        let missing = missing.flat_map(|(key, asked)| asked.kind.effects(key));
        let failed: Vec<_> = all
            .values()
            .filter(|asked| !asked.failed.is_empty() && asked.kind != WorkKind::CancelledJob)
            .collect();
        let notices = failed.iter().flat_map(|asked| &asked.failed).map(String::as_str);
        let twice = effects.iter().filter(|(_, count)| **count > 1);
        Self {
            asked: all.len(),
            jobs: log.jobs.len(),
            tasks: log.tasks.len(),
            schedules: log.schedules.len(),
            ticks: log.ticks,
            effects: effects.values().map(|count| *count as usize).sum(),
            job_states: log.job_states(),
            lost: of(&|_, asked| asked.failed.is_empty() && !is_told(asked)),
            doubled: of(&|_, asked| asked.replies.0 > 1 || asked.ends.0 > 1),
            marked: of(&|_, asked| asked.replies.1 + asked.ends.1 > 0).len(),
            too_often: of(&|_, asked| sum(asked.replies).max(sum(asked.ends)) > 2),
            run_twice: twice.map(|(key, _)| key.clone()).collect(),
            not_run: missing.filter(|key| !has_reason(key)).collect(),
            made_twice: log.made_twice(),
            open: log.open(oracle.ticks()),
            contradicted: of(&|key, asked| asked.kind.is_job() && !agrees(asked, log.state(key))),
            failed: failed.len(),
            unexplained: unexplained(&open(world), allowed, notices),
            others: oracle.others(),
        }
    }

    /// Panics on every fault.
    pub(crate) fn check(&self) {
        let none: [String; 0] = [];
        assert_eq!(self.lost, none, "lost work");
        assert_eq!(self.doubled, none, "answers about work doubled without a mark");
        assert_eq!(self.too_often, none, "more than two copies");
        assert_eq!(self.run_twice, none, "effects of work twice");
        assert_eq!(self.not_run, none, "effects of work that did not take place");
        assert_eq!(self.made_twice, none, "jobs, tasks or schedules made twice");
        assert_eq!(self.contradicted, none, "another state in the log than in the chat");
        assert_eq!(self.others, none, "texts that name no work");
        assert_eq!(self.open, none, "open work, or due times not claimed exactly once");
        assert_eq!(self.unexplained, none, "failed, and not because of the kills");
        let kinds = [self.jobs, self.tasks, self.schedules, self.effects];
        assert!(!kinds.contains(&0), "some kind of work was never done: {self}");
    }
}

impl fmt::Display for WorkVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, jobs, tasks, schedules, ticks, effects, job_states, .. } = self;
        writeln!(
            f,
            "{asked} pieces of work: {jobs} jobs {job_states:?}, {tasks} tasks of sub-agents, \
             {schedules} schedules, {ticks} times of a recurring one, {effects} effects."
        )?;
        writeln!(f, "{:5} lost", self.lost.len())?;
        writeln!(f, "{:5} doubled without a mark", self.doubled.len())?;
        writeln!(f, "{:5} sent again with the mark", self.marked)?;
        writeln!(
            f,
            "{:5} effects twice, {} without cause missing",
            self.run_twice.len(),
            self.not_run.len()
        )?;
        writeln!(f, "{:5} made twice", self.made_twice.len())?;
        writeln!(f, "{:5} open, or due times not claimed exactly once", self.open.len())?;
        writeln!(
            f,
            "{:5} with another state in the log than in the chat",
            self.contradicted.len()
        )?;
        write!(f, "{:5} ended in an error", self.failed)
    }
}

/// Opens the log of a run.
fn open(world: &World) -> Connection {
    Connection::open(world.home.data_dir().join("avocet.db")).unwrap()
}

/// The work in the log of a run.
struct WorkLog {
    /// Each job with the first word of its task, and its state.
    jobs: Vec<(String, String)>,
    /// Each task of a sub-agent with its state.
    tasks: Vec<(String, String)>,
    /// Each one-shot schedule with its state.
    schedules: Vec<(String, String)>,
    /// Claimed times of the recurring reminder.
    ticks: usize,
    open: Vec<String>,
}

impl WorkLog {
    fn of(world: &World) -> Self {
        let log = open(world);
        let rows = |query: &str| -> Vec<(String, String)> {
            let mut statement = log.prepare(query).unwrap();
            let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        Self {
            jobs: rows(JOBS),
            tasks: rows("SELECT prompt, state FROM turns WHERE parent IS NOT NULL"),
            schedules: rows("SELECT body, state FROM schedules WHERE body <> 'tick'"),
            ticks: rows(TICKS).len(),
            open: rows(OPEN).into_iter().map(|(name, id)| format!("{name} {id}")).collect(),
        }
    }

    /// Returns the state of the job with this key.
    fn state(&self, key: &str) -> Option<&str> {
        self.jobs.iter().find(|(job, _)| job == key).map(|(_, state)| state.as_str())
    }

    fn job_states(&self) -> BTreeMap<String, usize> {
        let mut states = BTreeMap::new();
        for (_, state) in &self.jobs {
            *states.entry(state.clone()).or_default() += 1;
        }
        states
    }

    fn made_twice(&self) -> Vec<String> {
        [&self.jobs, &self.tasks, &self.schedules]
            .into_iter()
            .flat_map(|rows| twice(rows))
            .collect()
    }

    /// Returns the work that is not over. The chat has read `ticks` copies of the recurring
    /// reminder: without the mark, and with the mark or as a report that the reminder may not have
    /// arrived.
    fn open(&self, ticks: (u32, u32)) -> Vec<String> {
        let mut open = self.open.clone();
        if !(ticks.0 as usize..=sum(ticks) as usize).contains(&self.ticks) {
            open.push(format!("{} runs of {TICK}, {ticks:?} copies", self.ticks));
        }
        open
    }
}

/// The final state of each job, by the first word of its task.
const JOBS: &str = "SELECT substr(task, 1, instr(task, ' ') - 1), outcome FROM \
    (SELECT json_extract(content, '$.text') || ' ' AS task, coalesce(outcome, 'open') AS outcome \
     FROM jobs JOIN inbound ON inbound.id = jobs.message)";

const TICKS: &str = "SELECT 'tick', CAST(due AS TEXT) FROM schedule_runs \
    JOIN schedules ON schedules.id = schedule_runs.schedule WHERE body = 'tick'";

/// Everything that is not over, and one-shot schedules without exactly one claimed time.
const OPEN: &str = "SELECT 'message ' || id, coalesce(json_extract(content, '$.text'), '') FROM inbound \
        WHERE outcome IS NULL \
    UNION ALL SELECT state || ' turn in ' || session, CAST(id AS TEXT) FROM turns \
        WHERE state IN ('queued', 'running', 'waiting') \
    UNION ALL SELECT state || ' delivery ' || id || ' to ' || chat, \
        coalesce(json_extract(content, '$.text'), '') FROM outbox \
        WHERE state IN ('pending', 'sending', 'unknown', 'preview') \
    UNION ALL SELECT 'schedule ' || body, CAST(count(due) AS TEXT) FROM schedules \
        LEFT JOIN schedule_runs ON schedules.id = schedule WHERE body <> 'tick' \
        GROUP BY schedules.id HAVING count(due) <> 1 OR state <> 'ended'";

/// Returns the names that occur more than once.
fn twice(rows: &[(String, String)]) -> Vec<String> {
    let mut names: Vec<&String> = rows.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect()
}

fn sum((plain, marked): (u32, u32)) -> u32 {
    plain + marked
}

/// Returns `true` if the chat has read all that belongs to finished work.
fn is_told(asked: &AskedWork) -> bool {
    let is_answered = asked.kind.is_job() || sum(asked.replies) > 0;
    is_answered && (!asked.kind.ends_later() || sum(asked.ends) > 0)
}

/// Returns `true` if the final state of a job in the log is the one in the chat.
fn agrees(asked: &AskedWork, outcome: Option<&str>) -> bool {
    match outcome {
        Some("replied") => sum(asked.ends) > 0 || !asked.failed.is_empty(),
        Some("stopped") => asked.kind == WorkKind::CancelledJob && sum(asked.ends) == 0,
        Some("error" | "dropped") => sum(asked.ends) == 0 && !asked.failed.is_empty(),
        _ => false,
    }
}
