//! `avocet dead`: failed messages. Uses the socket of a running daemon, else the log itself.

use avocet_gateway::{
    ClientMethod, DeadLetterPorts, DropDeadLetter, ListDeadLetters, MOST_ROWS, NamedDeadLetter,
    RetryDeadLetter, RunMethod, ShowDeadLetter, run_method,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{DeadId, DeadLetter, DeadReason};
use avocet_session::DeadLetterDesk;
use avocet_text::{PlainTable, append_line};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use crate::cli::reach::{all_rows, call_daemon_or_log};
use crate::cli::values::parse_rows;
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{format_moment, format_span, print_result, print_text};
use crate::redaction;

#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// List failed messages, the newest first.
    List {
        /// Maximum number of messages to list.
        #[arg(long, default_value_t = 50, value_parser = parse_rows)]
        limit: u32,
        /// Continue after this one.
        #[arg(long, value_name = "ID")]
        after: Option<DeadId>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a message, its text and the last error.
    Show {
        /// Id of the message, as in the list.
        id: DeadId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Deliver an outgoing message again, or let the agent answer an incoming one again.
    Retry(DeadLetterChoice),
    /// Remove messages from the list for good.
    Drop(DeadLetterChoice),
}

#[derive(Debug, Args)]
pub(crate) struct DeadLetterChoice {
    /// Ids of the messages, as in the list.
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<DeadId>,
    /// All messages in the list.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

pub(crate) async fn run(context: &CommandContext, command: DeadCommand) -> Result<Exit, Failure> {
    match command {
        DeadCommand::List { limit, after, json } => {
            let letters = fetch_page(context, ListDeadLetters { limit, after }).await?;
            let now = context.clock.now();
            print_result(json, &letters, || list_text(&letters, limit, after.is_some(), now))?;
        }
        DeadCommand::Show { id, json } => {
            let letter: DeadLetter =
                call_method::<ShowDeadLetter>(context, &NamedDeadLetter { id }).await?;
            print_result(json, &letter, || letter_text(&letter, &system_zone()))?;
        }
        DeadCommand::Retry(choice) => {
            for_each_letter::<RetryDeadLetter>(context, choice, "is queued again").await?;
        }
        DeadCommand::Drop(choice) => {
            for_each_letter::<DropDeadLetter>(context, choice, "is dropped").await?;
        }
    }
    Ok(Exit::Done)
}

async fn fetch_page(
    context: &CommandContext,
    list: ListDeadLetters,
) -> Result<Vec<DeadLetter>, Failure> {
    call_method::<ListDeadLetters>(context, &list).await
}

/// Calls the method for each chosen message, and prints the result.
async fn for_each_letter<M>(
    context: &CommandContext,
    choice: DeadLetterChoice,
    done: &str,
) -> Result<(), Failure>
where
    M: ClientMethod<Params = NamedDeadLetter, Answer = ()>
        + for<'a> RunMethod<Ports<'a> = DeadLetterPorts<'a>>,
{
    let ids = if choice.all { all_ids(context).await? } else { choice.ids };
    if ids.is_empty() {
        return print_text(NONE);
    }
    for id in ids {
        call_method::<M>(context, &NamedDeadLetter { id }).await?;
        print_text(&format!("{id} {done}\n"))?;
    }
    Ok(())
}

async fn all_ids(context: &CommandContext) -> Result<Vec<DeadId>, Failure> {
    let letters = all_rows(MOST_ROWS, async |last: Option<&DeadLetter>| {
        let after = last.map(|letter| letter.id);
        fetch_page(context, ListDeadLetters { limit: MOST_ROWS, after }).await
    });
    Ok(letters.await?.into_iter().map(|letter| letter.id).collect())
}

async fn call_method<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = DeadLetterPorts<'a>>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let letters = DeadLetterDesk::in_log(log.store.clone());
        let ports = DeadLetterPorts { letters: &letters, redactor: &redaction::shared_redactor() };
        Ok(run_method::<M>(ports, params).await)
    })
    .await
}

const NONE: &str = "There are no failed messages.\n";

fn list_text(letters: &[DeadLetter], limit: u32, is_next_page: bool, now: Timestamp) -> String {
    if letters.is_empty() {
        return if is_next_page { "There are no more.\n" } else { NONE }.to_owned();
    }
    let head = ["id", "why", "age", "chat", "message"].map(str::to_owned);
    let rows = letters.iter().map(|letter| {
        [
            letter.id.to_string(),
            letter.reason.as_str().to_owned(),
            format_span(letter.at.until(now).as_secs()),
            letter.chat.to_string(),
            letter.summary.clone(),
        ]
    });
    let mut text = std::iter::once(head).chain(rows).collect::<PlainTable>().to_string();
    if let Some(last) = letters.last().filter(|_| letters.len() == limit as usize) {
        text.push_str(&format!("There may be more: avocet dead list --after {}\n", last.id));
    }
    text.push_str("Retry or drop them: avocet dead retry ID, avocet dead drop ID\n");
    text
}

fn letter_text(letter: &DeadLetter, zone: &TimeZone) -> String {
    let DeadLetter { id, reason, chat, at, turn, attempts, error, summary, text } = letter;
    let (why, times) = match reason {
        DeadReason::Refused => ("it was not delivered", "sends"),
        DeadReason::Unconfirmed => ("it may have arrived", "sends"),
        DeadReason::Dropped => ("the agent did not answer it", "crashes"),
    };
    let mut shown = format!("{id} {}: {why}\n", reason.as_str());
    let mut line = |name: &str, value: &str| {
        append_line(&mut shown, format_args!("{name}: {value}"));
    };
    line("chat", &chat.to_string());
    line("time", &format_moment(*at, zone));
    if let Some(turn) = turn {
        line("turn", &turn.to_string());
    }
    line(times, &attempts.to_string());
    if let Some(error) = error {
        line("error", error);
    }
    line("message", if text.is_empty() { summary } else { text });
    shown
}
