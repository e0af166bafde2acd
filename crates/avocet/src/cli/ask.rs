//! `avocet ask`: sends a message to the agent.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_agent::AnswerValidator;
use avocet_gateway::{Ask, AskResult, Client, ClientError, Wait, run_method};
use avocet_protocol::bus::Publish;
use avocet_protocol::chat::{Content, Inbound, Outcome, Sender};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ids::{DedupeKey, MessageId, SenderId};
use avocet_protocol::model::{JsonAnswer, JsonQuestion};
use avocet_protocol::store::{AcceptedAs, MessageStatus};
use avocet_text::plain_io;
use clap::Args;
use serde_json::Value;

use crate::cli::faulty_file::for_daemon;
use crate::cli::link::new_key;
use crate::cli::reach::{OfflineLog, Reached, bus_to_log, call_daemon_or_log, reach_daemon_or_log};
use crate::cli::values::{GivenSession, given_session};
use crate::components::json_answers::JsonAnswers;
use crate::components::models::Models;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::{LOOK_AGAIN, connect_daemon};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::output::{print_json, print_result, print_text};

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Conversation, as channel:account:chat or channel:account:chat:topic. A bare name is a
    /// conversation of the terminal.
    #[arg(value_parser = given_session)]
    session: GivenSession,
    /// Text of the message. Default, or `-`: read it from stdin.
    text: Option<String>,
    /// Idempotency key: a second message with the same key is ignored.
    #[arg(long)]
    key: Option<DedupeKey>,
    /// Wait for the reply and print it.
    #[arg(long)]
    wait: bool,
    /// Stop waiting after this many seconds; the reply still goes to the chat.
    #[arg(long, value_name = "SECONDS", requires = "wait", value_parser = parse_seconds)]
    timeout: Option<u64>,
    /// Ask for an answer that is JSON by the JSON Schema in this file, and print it. The agent's
    /// model answers outside of the conversation and without tools. Exits with 65 if it cannot.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "wait"])]
    schema: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, ask: AskArgs) -> Result<Exit, Failure> {
    let AskArgs { session: given, text, key, wait, timeout, schema, json } = ask;
    if let Some(file) = schema {
        let schema = read_schema(&file)?;
        let text = read_question(&given, text)?;
        let session = given.session;
        return in_json(context, &JsonQuestion { session, text, schema }, json).await;
    }
    let configuration = for_daemon(context)?;
    let text = read_question(&given, text)?;
    let session = given.session;
    let key = match key {
        Some(key) => key,
        None => new_key().map_err(|error| Failure::new(Exit::Failed, error.0))?,
    };
    let ask = Ask { key: Some(key), ..Ask::new(session, text) };
    match reach_daemon_or_log(context, &configuration).await? {
        Reached::Log(_) if wait => Err(Failure::new(
            Exit::NoDaemon,
            "no daemon runs, so there would be no answer; start one with `avocet run`, or leave \
                out --wait to get the answer in the chat after the next start",
        )),
        Reached::Log(log) => {
            let asked = into_log(context, &log, ask).await;
            log.close().await;
            let remark = "; no daemon runs; its next start answers the message";
            report_result(&asked?, json, remark)
        }
        Reached::Daemon(client) => {
            let asked: AskResult = client.call::<Ask>(&ask).await?;
            if !wait {
                return report_result(&asked, json, "");
            }
            let limit = timeout.map_or(Duration::MAX, Duration::from_secs);
            let waiting = await_outcome(context, &configuration, client, asked.message);
            match within(context.clock.as_ref(), limit, waiting).await {
                Ok(status) => report_answer(&status?, json),
                Err(_) => Err(Failure::new(
                    Exit::TryLater,
                    format!("{} has no answer yet; it comes to the chat", asked.message),
                )),
            }
        }
    }
}

/// Returns the text. Without one, explains a bare word: it was taken for the conversation.
fn read_question(given: &GivenSession, text: Option<String>) -> Result<String, Failure> {
    let Some(word) = given.word.as_deref().filter(|_| text.is_none()) else {
        return text_or_stdin(text);
    };
    let text = if io::stdin().is_terminal() { String::new() } else { text_or_stdin(None)? };
    if !text.trim().is_empty() {
        return Ok(text);
    }
    let message = format!(
        "there is no text: {word:?} was taken for the conversation; write `avocet ask me {word:?}`, \
         or give a text after it or on stdin"
    );
    Err(Failure::new(Exit::Failed, message))
}

/// Asks for an answer by a JSON Schema. If no daemon runs, this process asks the model.
async fn in_json(
    context: &CommandContext,
    question: &JsonQuestion,
    json: bool,
) -> Result<Exit, Failure> {
    let found: JsonAnswer =
        call_daemon_or_log::<JsonQuestion>(context, question, async |log, params| {
            // Unlike most commands on a log, this one sends a request.
            let configuration = Configuration::load(context, ConfigurationUse::Everything)?;
            let clock = &context.clock;
            let models = Arc::new(Models::from_configuration(&configuration, clock.clone())?);
            let asker = JsonAnswers::new(&configuration, models, log.store.clone(), clock);
            Ok(run_method::<JsonQuestion>(&asker, params).await)
        })
        .await?;
    match &found.answer {
        Some(answer) if !json => print_json(answer)?,
        _ if json => print_json(&found)?,
        _ => {}
    }
    if found.answer.is_some() {
        return Ok(Exit::Done);
    }
    let JsonAnswer { model, requests, faults, .. } = &found;
    let faults = faults.join("; ");
    let message =
        format!("{model} gave no answer by the schema in {requests} requests; the last: {faults}");
    Err(Failure::new(Exit::Data, message))
}

/// Reads a JSON Schema and checks it.
fn read_schema(file: &Path) -> Result<Value, Failure> {
    let unusable = |why: String| {
        Failure::new(Exit::Usage, format!("cannot use the schema {}: {why}", file.display()))
    };
    let text = fs::read_to_string(file).map_err(|error| unusable(plain_io(&error)))?;
    let schema = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    AnswerValidator::new(&schema).map_err(unusable)?;
    Ok(schema)
}

/// Writes the message into the log, as if it had come over the socket.
async fn into_log(
    context: &CommandContext,
    OfflineLog { store, configuration }: &OfflineLog,
    ask: Ask,
) -> Result<AskResult, Failure> {
    let Ask { session, text, key, .. } = ask;
    let failed = |error: String| Failure::new(Exit::Failed, error);
    let sender = SenderId::parse("command").map_err(|error| failed(error.to_string()))?;
    let key = key.ok_or_else(|| failed("a message without a key".to_owned()))?;
    let (address, content) = (session.address(), Content::text(text));
    let inbound = Inbound::new(address, Sender::new(sender), key, content);
    let bus = bus_to_log(context, configuration, store).await?;
    let accepted = bus.publish(inbound, None).await?;
    let duplicate = accepted.what == AcceptedAs::Duplicate;
    Ok(AskResult { message: accepted.id, duplicate })
}

/// Waits for the outcome, also across a restart of the daemon.
async fn await_outcome(
    context: &CommandContext,
    configuration: &Configuration,
    mut client: Client,
    message: MessageId,
) -> Result<MessageStatus, Failure> {
    loop {
        match client.call::<Wait>(&Wait { message, seconds: None }).await {
            Err(ClientError::Lost) => {}
            Err(ClientError::Refused(refusal)) if refusal.is_transient() => {}
            answer => return Ok(answer?),
        }
        client = reconnect_daemon(context, configuration).await?;
    }
}

async fn reconnect_daemon(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Client, Failure> {
    let clock: &dyn Clock = context.clock.as_ref();
    loop {
        clock.sleep(LOOK_AGAIN * 4).await;
        match connect_daemon(context, configuration).await {
            Ok(Some(client)) => return Ok(client),
            Ok(None) => {}
            // The daemon is about to end.
            Err(failure) if failure.exit == Exit::NoDaemon => {}
            Err(failure) => return Err(failure),
        }
    }
}

fn report_result(asked: &AskResult, json: bool, remark: &str) -> Result<Exit, Failure> {
    let AskResult { message, duplicate } = asked;
    print_result(json, asked, || {
        if *duplicate {
            format!("{message} was accepted before\n")
        } else {
            format!("{message} is in the log{remark}\n")
        }
    })
}

fn report_answer(status: &MessageStatus, json: bool) -> Result<Exit, Failure> {
    let said = status.reply.as_deref().unwrap_or_default();
    if json {
        print_json(status)?;
    }
    match status.outcome {
        Some(Outcome::Error | Outcome::Dropped | Outcome::Stopped) => {
            let message = if json { "no answer".to_owned() } else { said.to_owned() };
            Err(Failure::new(Exit::Failed, message))
        }
        _ if json => Ok(Exit::Done),
        _ => print_text(&format!("{said}\n")).map(|()| Exit::Done),
    }
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "must be a whole number of seconds, 0 or more".to_owned())
}
