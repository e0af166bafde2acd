//! `avocet job`: tasks for an agent in the background. Uses the socket of a running daemon, else
//! the log itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_gateway::{
    CancelJob, ClientMethod, JobPorts, ListJobs, NamedJob, RunMethod, ShowJob, SubmitJob,
    run_method,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, JobId, SenderId};
use avocet_protocol::model::{Money, thousands};
use avocet_protocol::store::{JobLimits, JobRules, JobState, JobStatus, SubmittedJob};
use avocet_session::{JobDesk, no_agent};
use avocet_text::{PlainTable, append_line};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::cli::faulty_file::for_daemon;
use crate::cli::link::new_key;
use crate::cli::reach::{bus_to_log, call_daemon_or_log};
use crate::cli::sessions;
use crate::cli::values::parse_rows;
use crate::components::workspaces::check_job_directory;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::daemon::running::{ChannelIntake, RunningDaemon, StartOptions};
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::output::{format_age, format_moment, format_span, print_json, print_result, print_text};
use crate::redaction;

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Submit a job; it runs until the task is complete or a limit is reached.
    Submit(SubmitArgs),
    /// List jobs, the newest first.
    List {
        /// Maximum number of jobs.
        #[arg(long, default_value_t = 50, value_parser = parse_rows)]
        limit: u32,
        /// Continue behind this job.
        #[arg(long, value_name = "JOB")]
        before: Option<JobId>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the state, the limits and the result of a job.
    Show {
        /// Job, as in the list.
        job: JobId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the messages and tool calls of a job.
    Logs {
        /// Job, as in the list.
        job: JobId,
        /// Print new lines as they come, until the job ends. Exits with 1 if it fails.
        #[arg(long, short)]
        follow: bool,
    },
    /// Cancel a job that has not ended.
    Cancel {
        /// Job, as in the list.
        job: JobId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Profile that does the work, for example builder.
    agent: String,
    /// Task. Default, or `-`: read it from stdin.
    task: Option<String>,
    /// Directory to work in. Default: the workspace of the profile.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Maximum number of requests to the model.
    #[arg(long, value_name = "RUNS", default_value_t = JobLimits::DEFAULT_RUNS,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_inference_runs: u32,
    /// Maximum running time, without the waits for people.
    #[arg(long, value_name = "SECONDS", default_value_t = JobLimits::DEFAULT_SECONDS,
          value_parser = clap::value_parser!(u64).range(1..=604_800))]
    max_seconds: u64,
    /// Maximum cost in dollars. Default: the budget of a turn.
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    max_cost: Option<Money>,
    /// Idempotency key: a second job with the same key is the first one.
    #[arg(long)]
    key: Option<DedupeKey>,
    /// Print new lines as they come, until the job ends. Exits with 1 if it fails.
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
    /// Run the job here, without a daemon, and follow it. Channels stay closed meanwhile; jobs and
    /// messages that wait in the log run, too.
    #[arg(long, conflicts_with = "json")]
    direct: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The time between two looks at a job that is followed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// The most characters of a task in the list.
const SHOWN_TASK: usize = 60;

pub(crate) async fn run(context: &CommandContext, command: JobCommand) -> Result<Exit, Failure> {
    match command {
        JobCommand::Submit(submit_args) => submit_job(context, submit_args).await,
        JobCommand::List { limit, before, json } => {
            let jobs: Vec<JobStatus> =
                call_method::<ListJobs>(context, &ListJobs { limit, before }).await?;
            print_result(json, &jobs, || list_text(&jobs, context.clock.now()))
        }
        JobCommand::Show { job, json } => {
            let job = fetch_status(context, job).await?;
            print_result(json, &job, || job_text(&job, &system_zone()))
        }
        JobCommand::Logs { job, follow: true } => follow_job(context, job).await,
        JobCommand::Logs { job, follow: false } => {
            let job = fetch_status(context, job).await?;
            print_new(context, &job, &mut BTreeSet::new()).await?;
            Ok(Exit::Done)
        }
        JobCommand::Cancel { job } => {
            let () = call_method::<CancelJob>(context, &NamedJob { id: job }).await?;
            print_text(&format!("{job} is cancelled\n"))?;
            Ok(Exit::Done)
        }
    }
}

async fn submit_job(context: &CommandContext, submit: SubmitArgs) -> Result<Exit, Failure> {
    let SubmitArgs { agent, task, workspace, max_inference_runs, max_seconds, max_cost, .. } =
        submit;
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    check_agent(&configuration, &agent)?;
    let workspace = workspace.as_deref().map(absolute_path).transpose()?;
    if let Some(workspace) = &workspace {
        check_job_directory(&configuration, &PathBuf::from(workspace))?;
    }
    let key = match submit.key {
        Some(key) => key,
        None => new_key().map_err(|error| Failure::new(Exit::Failed, error.0))?,
    };
    let daemon =
        if submit.direct { Some(start_direct(context, &configuration).await?) } else { None };
    let limits = JobLimits { max_inference_runs, max_seconds, max_cost };
    let rules = JobRules { agent, workspace, limits };
    let request = SubmitJob { task: text_or_stdin(task)?, rules, key: Some(key) };
    let then = match (submit.json, submit.follow || submit.direct) {
        (true, _) => AfterSubmit::PrintJson,
        (false, true) => AfterSubmit::Follow,
        (false, false) => AfterSubmit::Print,
    };
    let done = submit_and(context, &request, then).await;
    if let Some(daemon) = daemon {
        daemon.stop(Duration::ZERO, &CancellationToken::new()).await;
    }
    done
}

/// The output after a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterSubmit {
    Print,
    PrintJson,
    Follow,
}

async fn submit_and(
    context: &CommandContext,
    request: &SubmitJob,
    then: AfterSubmit,
) -> Result<Exit, Failure> {
    let submitted: SubmittedJob = call_method::<SubmitJob>(context, request).await?;
    let SubmittedJob { id, is_duplicate, .. } = &submitted;
    let said = match then {
        AfterSubmit::PrintJson => return print_json(&submitted).map(|()| Exit::Done),
        _ if *is_duplicate => format!("{id} was submitted before\n"),
        AfterSubmit::Follow => format!("{id} is in the log\n"),
        AfterSubmit::Print => {
            format!("{id} is in the log; watch it with: avocet job logs -f {id}\n")
        }
    };
    print_text(&said)?;
    if then == AfterSubmit::Follow { follow_job(context, *id).await } else { Ok(Exit::Done) }
}

/// Starts a daemon in this process whose channels receive nothing.
async fn start_direct(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<RunningDaemon, Failure> {
    if connect_daemon(context, configuration).await?.is_some() {
        let message = "a daemon runs already; leave out --direct to give it the job";
        return Err(Failure::new(Exit::Failed, message));
    }
    let whole = Configuration::load(context, ConfigurationUse::Everything)?;
    let options = StartOptions { start_empty: false, intake: ChannelIntake::Closed };
    RunningDaemon::start(context, &whole, options).await
}

/// Refuses a profile that does not exist.
fn check_agent(configuration: &Configuration, name: &str) -> Result<(), Failure> {
    let known: Vec<&str> =
        configuration.agents.iter().map(|agent| agent.profile.name.as_str()).collect();
    if configuration.agents.iter().any(|agent| agent.profile.is_named(name)) {
        return Ok(());
    }
    let message = no_agent(name, &known);
    Err(Failure::new(Exit::Failed, message))
}

/// Returns the directory as an absolute path without links, because the daemon has another working
/// directory.
fn absolute_path(directory: &Path) -> Result<String, Failure> {
    let failed = |why: String| {
        let directory = directory.display();
        Failure::new(Exit::Failed, format!("the workspace {directory} cannot be used: {why}"))
    };
    let path = directory.canonicalize().map_err(|error| failed(error.to_string()))?;
    if !path.is_dir() {
        return Err(failed("it is no directory".to_owned()));
    }
    path.into_os_string().into_string().map_err(|_| failed("its name is not UTF-8".to_owned()))
}

async fn call_method<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = JobPorts<'a>>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let bus = bus_to_log(context, &log.configuration, &log.store).await?;
        let desk = JobDesk::in_log(log.store.clone(), bus.into());
        let peer = SenderId::parse("command");
        let peer = peer.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        let ports = JobPorts { jobs: &desk, redactor: &redaction::shared_redactor(), peer: &peer };
        Ok(run_method::<M>(ports, params).await)
    })
    .await
}

async fn fetch_status(context: &CommandContext, id: JobId) -> Result<JobStatus, Failure> {
    call_method::<ShowJob>(context, &NamedJob { id }).await
}

/// Prints what a job does until it ends.
async fn follow_job(context: &CommandContext, id: JobId) -> Result<Exit, Failure> {
    let mut printed = BTreeSet::new();
    loop {
        // The state first: what happened before it is printed below.
        let job = fetch_status(context, id).await?;
        print_new(context, &job, &mut printed).await?;
        if job.state.is_final() {
            let word = job.state.as_str();
            print_text(&format!("{id} {word}\n"))?;
            return Ok(if job.state == JobState::Completed { Exit::Done } else { Exit::Failed });
        }
        context.clock.sleep(LOOK_AGAIN).await;
    }
}

/// Prints the lines of a job's session that are not in `printed`, and adds them there.
async fn print_new(
    context: &CommandContext,
    job: &JobStatus,
    printed: &mut BTreeSet<String>,
) -> Result<(), Failure> {
    let configuration = for_daemon(context)?;
    for line in sessions::finished_lines(context, &configuration, &job.session).await? {
        if printed.insert(line.key) {
            print_text(&line.text)?;
        }
    }
    Ok(())
}

fn list_text(jobs: &[JobStatus], now: Timestamp) -> String {
    if jobs.is_empty() {
        return "There are no jobs.\n".to_owned();
    }
    let mut table =
        PlainTable::with_head(&["job", "state", "agent", "submitted", "runs", "cost", "task"]);
    for job in jobs {
        table.row([
            job.id.to_string(),
            job.state.as_str().to_owned(),
            job.rules.agent.clone(),
            format_age(job.submitted_at, now),
            job.inference_runs.to_string(),
            job.usage.price(),
            in_line(&job.task),
        ]);
    }
    table.to_string()
}

fn job_text(job: &JobStatus, zone: &TimeZone) -> String {
    let JobStatus { id, state, rules, usage, .. } = job;
    let limits = &rules.limits;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        append_line(&mut text, format_args!("{name:<11}{value}"));
    };
    line(&id.to_string(), state.as_str());
    line("agent", &rules.agent);
    line("workspace", rules.workspace.as_deref().unwrap_or("that of the agent"));
    line("chat", &job.chat.to_string());
    line("session", job.session.as_str());
    line(
        "submitted",
        &format!("{} by {}", format_moment(job.submitted_at, zone), job.submitted_by),
    );
    if let Some(started) = job.started_at {
        line("started", &format_moment(started, zone));
        if let Some(ended) = job.ended_at {
            let took = format_span(started.until(ended).as_secs());
            line("ended", &format!("{}, after {took}", format_moment(ended, zone)));
        }
    }
    line("runs", &format!("{} of at most {}", job.inference_runs, limits.max_inference_runs));
    line("tokens", &thousands(usage.usage.total()));
    line("cost", &usage.price());
    line("task", &job.task.replace('\n', "\n           "));
    if let Some(result) = &job.result {
        line("result", &result.replace('\n', "\n           "));
    }
    text
}

fn in_line(task: &str) -> String {
    let words = task.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN_TASK) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

fn parse_dollars(text: &str) -> Result<Money, String> {
    match text.parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(Money::dollars(dollars)),
        _ => Err("must be a number of dollars above 0, for example 0.50".to_owned()),
    }
}
