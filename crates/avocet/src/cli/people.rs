//! `avocet pair`, `avocet people` and `avocet link`: admitted people, and chats that share a
//! session. Uses the socket of a running daemon, else the log itself.

mod export;

use avocet_gateway::{
    AddLink, Approve, ClientMethod, Deny, ListLinks, ListPairings, ListPeople, NoParams, Remove,
    RemoveLink, RunMethod, run_method,
};
use avocet_protocol::access::{AccessControl, ChatLink, Pairing, Person, PersonId};
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::clock::Timestamp;
use avocet_store::EraseSubject;
use avocet_text::{PlainTable, append_line};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use crate::cli::erase::{EraseOptions, erase};
use crate::cli::reach::{all_rows, bus_to_log, call_daemon_or_log};
use crate::cli::values::chat_address;
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{format_moment, format_span, print_result, print_text};

use export::{PeopleExportArgs, export_person};

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Chat whose session is shared, as channel:account:chat. A bare name is a chat of the
    /// terminal.
    #[arg(value_parser = chat_address, requires = "chat")]
    into: Option<ChatAddress>,
    /// Private chat that joins the session; replies go to the chat that asked.
    #[arg(value_parser = chat_address)]
    chat: Option<ChatAddress>,
    /// Give the second chat its own session back.
    #[arg(long, requires = "chat")]
    remove: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// Admit the stranger who got a code, and notify them.
    Approve {
        /// Code that the stranger got; dashes and case do not matter.
        code: String,
        /// Admit the stranger as an owner, with every tool and the right to admit others.
        #[arg(long)]
        owner: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a code; the stranger is not notified.
    Deny {
        /// Code that the stranger got; dashes and case do not matter.
        code: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the codes that can be approved.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeopleCommand {
    /// List people who have access, by the configuration or by pairing.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Erase everything of a person for good: messages, files, memories, schedules and access. Stop
    /// the daemon first.
    Erase {
        /// Person, as channel:account:sender in the list.
        person: PersonId,
        #[command(flatten)]
        options: EraseOptions,
    },
    /// Write everything of a person into a new folder, as JSON, as Markdown and as files.
    Export(PeopleExportArgs),
    /// Remove a person who was admitted by pairing.
    Remove {
        /// Person, as channel:account:sender in the list.
        person: PersonId,
    },
}

pub(crate) async fn run_pair(
    context: &CommandContext,
    command: PairCommand,
) -> Result<Exit, Failure> {
    match command {
        PairCommand::List { json } => {
            let pairings: Vec<Pairing> = call_method::<ListPairings>(context, &NoParams {}).await?;
            let now = context.clock.now();
            print_result(json, &pairings, || pairings_text(&pairings, now))
        }
        PairCommand::Approve { code, owner, json } => {
            let person: Person = call_method::<Approve>(context, &Approve { code, owner }).await?;
            print_result(json, &person, || {
                let role = person.role.as_str();
                format!(
                    "{} may speak now; role: {role}\n",
                    person_text(person.name.as_deref(), &person.id)
                )
            })
        }
        PairCommand::Deny { code, json } => {
            let pairing: Pairing = call_method::<Deny>(context, &Deny { code }).await?;
            print_result(json, &pairing, || {
                let who = person_text(pairing.name.as_deref(), &pairing.person);
                format!("{who} may not speak; the code is deleted\n")
            })
        }
    }
}

pub(crate) async fn run_people(
    context: &CommandContext,
    command: PeopleCommand,
) -> Result<Exit, Failure> {
    match command {
        PeopleCommand::List { json } => {
            let page = async |last: Option<&Person>| {
                let after = last.map(|last| last.id.clone());
                let list = ListPeople { after, ..ListPeople::default() };
                call_method::<ListPeople>(context, &list).await
            };
            let people = all_rows(ListPeople::default().limit, page).await?;
            print_result(json, &people, || people_text(&people, &system_zone()))
        }
        PeopleCommand::Erase { person, options } => {
            erase(context, EraseSubject::Person(person), options).await
        }
        PeopleCommand::Export(export) => export_person(context, export).await,
        PeopleCommand::Remove { person } => {
            let () = call_method::<Remove>(context, &Remove { person: person.clone() }).await?;
            print_text(&format!("{person} may no longer speak\n"))?;
            Ok(Exit::Done)
        }
    }
}

pub(crate) async fn link_session(
    context: &CommandContext,
    link: LinkArgs,
) -> Result<Exit, Failure> {
    let LinkArgs { into, chat, remove, json } = link;
    let (Some(into), Some(chat)) = (into, chat) else {
        let page = async |last: Option<&ChatLink>| {
            let after = last.map(|last| last.chat.clone());
            let list = ListLinks { after, ..ListLinks::default() };
            call_method::<ListLinks>(context, &list).await
        };
        let links = all_rows(ListLinks::default().limit, page).await?;
        return print_result(json, &links, || links_text(&links));
    };
    if remove {
        let link: ChatLink = call_method::<RemoveLink>(context, &RemoveLink { chat }).await?;
        return print_result(json, &link, || format!("{} has its own session again\n", link.chat));
    }
    let link: ChatLink = call_method::<AddLink>(context, &AddLink { into, chat }).await?;
    print_result(json, &link, || {
        format!("{} speaks in the session {} now\n", link.chat, link.session)
    })
}

async fn call_method<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = &'a dyn AccessControl>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let bus = bus_to_log(context, &log.configuration, &log.store).await?;
        Ok(run_method::<M>(&bus, params).await)
    })
    .await
}

fn pairings_text(pairings: &[Pairing], now: Timestamp) -> String {
    if pairings.is_empty() {
        return "No stranger waits for approval.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["code", "who", "name", "expires in"]);
    for Pairing { code, person, name, expires_at, .. } in pairings {
        let left = format_span(now.until(*expires_at).as_secs());
        table.row([code.to_string(), person.to_string(), printable_name(name.as_deref()), left]);
    }
    table.to_string()
}

fn people_text(people: &[Person], zone: &TimeZone) -> String {
    if people.is_empty() {
        return "Only people at the terminal may speak.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["who", "role", "since", "name"]);
    for one in people {
        let since = one.since.map_or_else(|| "configured".to_owned(), |at| format_moment(at, zone));
        let role = one.role.as_str().to_owned();
        table.row([one.id.to_string(), role, since, printable_name(one.name.as_deref())]);
    }
    table.to_string()
}

fn links_text(links: &[ChatLink]) -> String {
    if links.is_empty() {
        return "No chats are linked.\n".to_owned();
    }
    let mut text = String::new();
    for ChatLink { chat, session } in links {
        append_line(&mut text, format_args!("{chat} speaks in the session {session}"));
    }
    text
}

fn person_text(name: Option<&str>, id: &PersonId) -> String {
    match printable_name(name).as_str() {
        "" => id.to_string(),
        name => format!("{name} ({id})"),
    }
}

/// Shortens a name to 64 characters.
fn printable_name(name: Option<&str>) -> String {
    const LENGTH: usize = 64;
    let name = name.unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LENGTH).collect()
}
