//! `avocet events`: the event log as lines of JSON, and `avocet subscribers`: the programs that
//! follow it.

use std::time::Duration;

use avocet_gateway::{
    Client, ClientError, ClientMethod, EventBatch, EventList, EventPorts, Incoming, ListEvents,
    ListSubscribers, MOST_ROWS, NoParams, Ping, RemoveSubscriber, RunMethod, Subscribe, Subscribed,
    run_method,
};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::SubscriberName;
use avocet_protocol::store::{EventSeq, LogEvent, Subscriber, event_kinds};
use avocet_store::SqliteStore;
use avocet_supervise::Backoff;
use avocet_text::PlainTable;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::faulty_file::for_daemon;
use crate::cli::reach::{call_daemon_or_log, open_log_read_only};
use crate::cli::values::session_id;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{format_age, print_json_line, print_result, print_text, print_warning};
use crate::redaction;

/// The first and the longest pause before the next attempt to reach the daemon.
const RECONNECT: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Begin behind the event with this number; 0 for all events. Default: all events, or with
    /// --follow only new ones.
    #[arg(long, value_name = "SEQ")]
    from: Option<EventSeq>,
    /// Only events of this conversation: channel:account:chat, or the name of a terminal chat.
    #[arg(long, value_parser = session_id)]
    session: Option<SessionId>,
    /// Only events of these kinds, such as message.queued, or message for all kinds of messages.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    kind: Vec<String>,
    /// Wait for new events until Ctrl-C, also while the daemon restarts.
    #[arg(long)]
    follow: bool,
    /// With --follow: continue where the last run with this name stopped. The daemon keeps the
    /// position; an event may be printed twice after a crash.
    #[arg(long, value_name = "NAME", requires = "follow")]
    name: Option<SubscriberName>,
}

fn kind(pattern: &str) -> Result<String, String> {
    event_kinds(pattern).map(|_| pattern.to_owned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubscribersCommand {
    /// List the programs that follow the events under a name.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Forget the positions of programs. A program that comes back begins with new events.
    Remove {
        /// Names of the programs, as in the list.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<SubscriberName>,
    },
}

pub(crate) async fn run(context: &CommandContext, args: EventsArgs) -> Result<Exit, Failure> {
    let configuration = for_daemon(context)?;
    if args.follow {
        return Follower::new(context, &configuration, args).run().await;
    }
    let EventsArgs { from, session, kind, .. } = args;
    let Some(log) = open_log_read_only(context, &configuration)? else { return Ok(Exit::Done) };
    let after = from.unwrap_or_default();
    let mut list = ListEvents { after, limit: MOST_ROWS, session, kinds: kind };
    loop {
        let page: EventList = answer_from_log::<ListEvents>(&log, &list).await?;
        if list.after == after {
            warn_of_removed(page.removed, from);
        }
        if !print_all(&page.events)? || page.next >= page.newest {
            return Ok(Exit::Done);
        }
        list.after = page.next;
    }
}

/// Answers a method from the log.
pub(crate) async fn answer_from_log<M>(
    log: &SqliteStore,
    params: &M::Params,
) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = EventPorts<'a>>,
{
    let redactor = redaction::shared_redactor();
    let answered = run_method::<M>(EventPorts::new(log, &redactor), json!(params)).await;
    let value = answered.map_err(ClientError::Refused)?;
    Ok(serde_json::from_value(value).map_err(std::io::Error::from)?)
}

/// Prints events as lines of JSON. Returns `false` if the reader has gone.
fn print_all(events: &[LogEvent]) -> Result<bool, Failure> {
    for event in events {
        if !print_json_line(event)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn warn_of_removed(removed: i64, from: Option<EventSeq>) {
    if removed > 0 && from.is_some() {
        print_warning(&format!(
            "up to {removed} events were removed because of their age ([retention] events)"
        ));
    }
}

/// Follows the events of a daemon over its restarts.
struct Follower<'c> {
    context: &'c CommandContext,
    configuration: &'c Configuration,
    subscribe: Subscribe,
    /// The identity of the log; `None` before the first connection.
    log: Option<String>,
    /// `true` if the person knows that there is no connection.
    has_said: bool,
}

/// The reason for the end of a connection.
enum FollowEnd {
    ReaderGone,
    Lost,
}

impl<'c> Follower<'c> {
    fn new(
        context: &'c CommandContext,
        configuration: &'c Configuration,
        EventsArgs { from, session, kind, name, .. }: EventsArgs,
    ) -> Self {
        let subscribe = Subscribe { name, from, session, kinds: kind };
        Self { context, configuration, subscribe, log: None, has_said: false }
    }

    async fn run(mut self) -> Result<Exit, Failure> {
        let mut waits = Backoff::new(RECONNECT[0], RECONNECT[1]);
        loop {
            if let Some(client) = connect_daemon(self.context, self.configuration).await? {
                waits = Backoff::new(RECONNECT[0], RECONNECT[1]);
                match self.follow(&client).await? {
                    FollowEnd::ReaderGone => return Ok(Exit::Done),
                    FollowEnd::Lost => {}
                }
            }
            if !std::mem::replace(&mut self.has_said, true) {
                print_warning("no daemon runs; waiting for it");
            }
            self.context.clock.sleep(waits.next_wait()).await;
        }
    }

    async fn follow(&mut self, client: &Client) -> Result<FollowEnd, Failure> {
        let Subscribed { log, from, removed } =
            match client.call::<Subscribe>(&self.subscribe).await {
                Err(ClientError::Lost) => return Ok(FollowEnd::Lost),
                answer => answer?,
            };
        self.has_said = false;
        warn_of_removed(removed, self.subscribe.from);
        if self.log.replace(log.clone()).is_some_and(|earlier| earlier != log) {
            print_warning("the log was rolled back or replaced; some events may be missing");
        }
        self.subscribe.from = Some(from);
        while let Ok(incoming) = client.incoming().recv_async().await {
            let Incoming::Events { batch, confirmation } = incoming else { continue };
            let EventBatch { events, next } = batch;
            if !print_all(&events)? {
                return Ok(FollowEnd::ReaderGone);
            }
            self.subscribe.from = Some(next);
            confirmation.confirm().await;
        }
        // The daemon may have closed the connection for a reason.
        match client.call::<Ping>(&NoParams {}).await {
            Err(ClientError::Refused(reason)) if !reason.is_transient() => {
                Err(ClientError::Refused(reason).into())
            }
            _ => Ok(FollowEnd::Lost),
        }
    }
}

pub(crate) async fn run_subscribers(
    context: &CommandContext,
    command: SubscribersCommand,
) -> Result<Exit, Failure> {
    match command {
        SubscribersCommand::List { json } => {
            let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
            let found: Vec<Subscriber> = match open_log_read_only(context, &configuration)? {
                Some(log) => answer_from_log::<ListSubscribers>(&log, &NoParams {}).await?,
                None => Vec::new(),
            };
            let now = context.clock.now();
            print_result(json, &found, || subscribers_text(&found, now))
        }
        SubscribersCommand::Remove { names } => {
            for name in names {
                remove_subscriber(context, &name).await?;
                print_text(&format!("{name} is removed\n"))?;
            }
            Ok(Exit::Done)
        }
    }
}

async fn remove_subscriber(context: &CommandContext, name: &SubscriberName) -> Result<(), Failure> {
    let params = RemoveSubscriber { name: name.clone() };
    call_daemon_or_log::<RemoveSubscriber>(context, &params, async |log, params| {
        let redactor = redaction::shared_redactor();
        let ports = EventPorts::new(log.store.as_ref(), &redactor);
        Ok(run_method::<RemoveSubscriber>(ports, params).await)
    })
    .await
}

fn subscribers_text(found: &[Subscriber], now: Timestamp) -> String {
    if found.is_empty() {
        return "No program follows the events under a name.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["name", "confirmed up to", "last confirmation"]);
    for Subscriber { name, seq, at } in found {
        table.row([name.to_string(), seq.to_string(), format_age(*at, now)]);
    }
    table.to_string()
}
