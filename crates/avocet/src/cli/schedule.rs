//! `avocet schedule`: reminders and tasks at set times. Uses the socket of a running daemon, else
//! the log itself.

use std::sync::Arc;

use avocet_gateway::{
    ChangeSchedule, ClientMethod, ListSchedules, RunMethod, ShowSchedule, run_method,
};
use avocet_jobs::{RunnerParts, ScheduleService, ZoneCalendar};
use avocet_outbox::ChannelRegistry;
use avocet_protocol::bus::WakeLanes;
use avocet_protocol::chat::{ChatAddress, ChatKind, SessionId};
use avocet_protocol::ids::{DedupeKey, ScheduleId, SenderId};
use avocet_protocol::schedule::{
    AddSchedule, CatchUp, Recurrence, Schedule, ScheduleCommand, ScheduleControl, ScheduleRun,
    ScheduledWork, ShownSchedule, TimesRequest,
};
use avocet_text::{PlainTable, append_line};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use crate::cli::reach::{NoOutbox, OfflineLog, bus_to_log, call_daemon_or_log};
use crate::cli::values::chat_address;
use crate::components::schedules::{AdmittedSpeakers, AgentChecklists};
use crate::components::workspaces::{AgentWorkspaces, WorkspaceLogs};
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{format_moment, print_result};
use crate::registry;

#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// Add a reminder or a task.
    Add(Box<ScheduleAddArgs>),
    /// List the schedules with their next times.
    List {
        /// List schedules whose times have all passed, too.
        #[arg(long)]
        ended: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a schedule and its last runs.
    Show(OneSchedule),
    /// Run a schedule once now; its next time stays.
    Run(OneSchedule),
    /// Pause a schedule.
    Pause(OneSchedule),
    /// Resume a paused schedule at its next time.
    Resume(OneSchedule),
    /// Remove a schedule; the session of its runs stays in the log.
    Remove(OneSchedule),
}

#[derive(Debug, Args)]
pub(crate) struct OneSchedule {
    /// Number of the schedule, as in `s3`.
    id: ScheduleId,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("time").required(true).args(["after", "at", "every", "cron"]))]
#[command(group = clap::ArgGroup::new("work").required(true).args(["text", "task"]))]
pub(crate) struct ScheduleAddArgs {
    /// Chat that gets the answers, as channel:account:chat. A bare name is a chat of the terminal.
    #[arg(value_parser = chat_address)]
    chat: ChatAddress,
    /// Send this text as it is.
    #[arg(long)]
    text: Option<String>,
    /// Give the agent this task, and send its answer.
    #[arg(long)]
    task: Option<String>,
    /// Duration from now, as in `2m` or `1h 30m`.
    #[arg(long = "in", value_name = "DURATION")]
    after: Option<String>,
    /// Date and time, as in `2026-11-24 08:00`, or the next `08:00`.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Duration between two times; at least 1m.
    #[arg(long, value_name = "DURATION")]
    every: Option<String>,
    /// Five fields: minute, hour, day, month, weekday, as in `0 8 * * mon-fri`.
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// Time zone, as in `Europe/Berlin`. Default: the zone of the machine.
    #[arg(long)]
    zone: Option<String>,
    /// Person in whose name it runs. Default: the id of the chat.
    #[arg(long, value_name = "SENDER")]
    person: Option<SenderId>,
    /// Treat the chat as a group.
    #[arg(long)]
    group: bool,
    /// Name of the agent that does the task.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Treatment of missed times: skip, once or all.
    #[arg(long, default_value = "once", value_parser = catch_up)]
    catch_up: CatchUp,
    /// Send answers without news, too.
    #[arg(long)]
    always_send: bool,
    /// Idempotency key: a second schedule with the same key is the first one.
    #[arg(long)]
    key: Option<DedupeKey>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn catch_up(text: &str) -> Result<CatchUp, String> {
    let named = CatchUp::ALL.into_iter().find(|policy| policy.as_str() == text);
    named.ok_or_else(|| "write skip, once or all".to_owned())
}

pub(crate) async fn run(
    context: &CommandContext,
    command: SchedulesCommand,
) -> Result<Exit, Failure> {
    let (one, command, done) = match command {
        SchedulesCommand::Add(add) => return add_schedule(context, *add).await,
        SchedulesCommand::List { ended, json } => {
            let all: Vec<ShownSchedule> =
                call_method::<ListSchedules>(context, &ListSchedules { ended }).await?;
            return print_result(json, &all, || list_text(&all));
        }
        SchedulesCommand::Show(OneSchedule { id, json }) => {
            let shown: ShownSchedule =
                call_method::<ShowSchedule>(context, &ShowSchedule { id }).await?;
            return print_result(json, &shown, || shown_text(&shown, &system_zone()));
        }
        SchedulesCommand::Run(one) => (one, ScheduleCommand::Run, "is queued to run now"),
        SchedulesCommand::Pause(one) => (one, ScheduleCommand::Pause, "is paused"),
        SchedulesCommand::Resume(one) => (one, ScheduleCommand::Resume, "is active again"),
        SchedulesCommand::Remove(one) => (one, ScheduleCommand::Remove, "is removed"),
    };
    let OneSchedule { id, json } = one;
    let () = call_method::<ChangeSchedule>(context, &ChangeSchedule { id, command }).await?;
    print_result(json, &serde_json::json!({ "id": id }), || format!("{id} {done}\n"))
}

async fn add_schedule(context: &CommandContext, add: ScheduleAddArgs) -> Result<Exit, Failure> {
    let ScheduleAddArgs { chat, text, task, after, at, every, cron, zone, .. } = add;
    let work = match (text, task) {
        (Some(text), _) => ScheduledWork::Text(text),
        (None, task) => ScheduledWork::Task(task.unwrap_or_default()),
    };
    let request = AddSchedule {
        chat,
        person: add.person,
        kind: if add.group { ChatKind::Group } else { ChatKind::Private },
        times: TimesRequest { after, at, every, cron, zone },
        work,
        agent: add.agent,
        catch_up: add.catch_up,
        quiet: !add.always_send,
        key: add.key,
    };
    let added: ShownSchedule = call_method::<AddSchedule>(context, &request).await?;
    print_result(add.json, &added, || {
        let ShownSchedule { schedule, next, .. } = &added;
        format!("Added {}. Next: {}.\n", schedule.id, next.join("; "))
    })
}

async fn call_method<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = &'a dyn ScheduleControl>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let service = open_service(context, log).await?;
        Ok(run_method::<M>(&service, params).await)
    })
    .await
}

/// Returns the service for the log of a stopped daemon. The next start does the work.
async fn open_service(
    context: &CommandContext,
    log: &OfflineLog,
) -> Result<ScheduleService, Failure> {
    let OfflineLog { store, configuration } = log;
    let channels =
        registry::make_channels(&configuration.document, &configuration.settings, &context.clock)?;
    let channels = channels.channels.into_iter().map(|one| one.channel).collect();
    let logs = WorkspaceLogs { turns: store.clone(), jobs: store.clone() };
    let workspaces = AgentWorkspaces::open(configuration, logs)?;
    let runner = RunnerParts {
        schedules: store.clone(),
        destinations: Arc::new(ChannelRegistry::new(channels)),
        deliveries: Arc::new(NoOutbox),
        lanes: Arc::new(NoLanes),
        checklists: Arc::new(AgentChecklists::new(configuration, &workspaces)?),
        clock: context.clock.clone(),
    };
    let calendar = Arc::new(ZoneCalendar::new(&system_zone()));
    let bus = bus_to_log(context, configuration, store).await?;
    let speakers = Arc::new(AdmittedSpeakers(Arc::new(bus)));
    Ok(ScheduleService { runner, calendar, agents: configuration.agent_names(), speakers })
}

/// Ignores wake-ups: a daemon looks for work when it starts.
#[derive(Debug)]
struct NoLanes;

impl WakeLanes for NoLanes {
    fn wake_lane(&self, _session: SessionId) {}
}

fn list_text(all: &[ShownSchedule]) -> String {
    if all.is_empty() {
        return "There are no schedules.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["id", "chat", "times", "next", "work"]);
    for ShownSchedule { schedule, times, next, .. } in all {
        let Schedule { id, owner, state, work, .. } = schedule;
        let next = next.first().map_or_else(|| state.as_str().to_owned(), Clone::clone);
        let work = format!("{}: {}", work.kind(), first_line(work.body()));
        // A single time is in the next column.
        let times = match schedule.rule.recurrence {
            Recurrence::Once(_) if schedule.next_at.is_some() => "once",
            _ => times,
        };
        table.row([id.to_string(), owner.address.to_string(), times.to_owned(), next, work]);
    }
    table.to_string()
}

fn shown_text(shown: &ShownSchedule, zone: &TimeZone) -> String {
    let ShownSchedule { schedule, times, next, runs } = shown;
    let Schedule { id, state, reason, owner, work, agent, catch_up, trust, .. } = schedule;
    let row = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
    let mut rows = vec![
        row("id", &id.to_string()),
        row("state", state.as_str()),
        row("chat", &owner.address.to_string()),
        row("person", owner.sender.id.as_str()),
        row("times", times),
        row(work.kind(), work.body()),
        row("catch up", catch_up.as_str()),
        row("trust", trust.as_str()),
        row("session", SessionId::of_schedule(*id).as_str()),
    ];
    rows.extend(schedule.table().iter().map(|table| row("configured", table)));
    rows.extend(reason.iter().map(|reason| row("paused", reason)));
    rows.extend(agent.iter().map(|agent| row("agent", agent)));
    rows.extend(next.iter().map(|next| row("next", next)));
    let mut text = rows.into_iter().collect::<PlainTable>().to_string();
    for ScheduleRun { due, result, skipped, .. } in runs {
        let (due, result) = (format_moment(*due, zone), result.as_str());
        let skipped =
            if *skipped > 0 { format!(", {skipped} missed before") } else { String::new() };
        append_line(&mut text, format_args!("{due}  {result}{skipped}"));
    }
    text
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(60).collect()
}
