//! `avocet send`: delivers a text to a chat.

use avocet_gateway::{
    Client, ClientError, ListSent, ListSessions, MOST_ROWS, Send, SendResult, ShowSession,
    ShowStatus,
};
use avocet_protocol::bus::Publish;
use avocet_protocol::chat::{ChatAddress, Content, Outbound, SessionId};
use avocet_protocol::daemon::DaemonStatus;
use avocet_protocol::ids::DedupeKey;
use avocet_protocol::store::{Query, SessionSummary};
use clap::Args;
use serde_json::Value;

use crate::cli::faulty_file::for_daemon;
use crate::cli::link::new_key;
use crate::cli::reach::{OfflineLog, Reached, bus_to_log, reach_daemon_or_log};
use crate::cli::values::{GivenSession, given_session};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::output::print_result;

/// The name of the conversation that `avocet chat` opens by default. It counts as a chat from the
/// start.
const OWN_CHAT: &str = "me";
/// The most chats in an error.
const MAX_NEAR: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Chat, as channel:account:chat or channel:account:chat:topic. A bare name is a chat of the
    /// terminal that has messages.
    #[arg(value_parser = given_session)]
    chat: GivenSession,
    /// Text of the message. Default, or `-`: read it from stdin.
    text: Option<String>,
    /// Idempotency key: a second message with the same key is not sent.
    #[arg(long)]
    key: Option<DedupeKey>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, send: SendArgs) -> Result<Exit, Failure> {
    let SendArgs { chat: given, text, key, json } = send;
    let configuration = for_daemon(context)?;
    let text = text_or_stdin(text)?;
    let key = match key {
        Some(key) => key,
        None => new_key().map_err(|error| Failure::new(Exit::Failed, error.0))?,
    };
    let chat = given.session.address();
    let reached = reach_daemon_or_log(context, &configuration).await?;
    let checked = check_word(&reached, &given).await;
    let (sent, remark): (SendResult, _) = match reached {
        Reached::Daemon(client) => {
            checked?;
            let send = Send { chat: chat.clone(), text, key: Some(key) };
            (client.call::<Send>(&send).await?, "")
        }
        Reached::Log(log) => {
            let sent = match checked {
                Ok(()) => into_log(context, &log, &chat, text, key).await,
                Err(failure) => Err(failure),
            };
            log.close().await;
            (sent?, "; no daemon runs; its next start delivers the message")
        }
    };
    let SendResult { delivery, duplicate } = &sent;
    print_result(json, &sent, || {
        if *duplicate {
            format!("{delivery} was accepted before\n")
        } else {
            format!("queued for {chat} ({delivery}){remark}\n")
        }
    })
}

/// Writes the message into the log, as if it had come over the socket.
async fn into_log(
    context: &CommandContext,
    log: &OfflineLog,
    chat: &ChatAddress,
    text: String,
    key: DedupeKey,
) -> Result<SendResult, Failure> {
    let bus = bus_to_log(context, &log.configuration, &log.store).await?;
    let message = Outbound { address: chat.clone(), content: Content::text(text) };
    let sent = bus.send(message, key).await?;
    Ok(SendResult { delivery: sent.id, duplicate: sent.duplicate })
}

/// Refuses a bare word without a conversation. Its text would wait for a person to open that
/// conversation in the terminal, which a person who meant another chat never does.
async fn check_word(reached: &Reached, given: &GivenSession) -> Result<(), Failure> {
    let Some(word) = given.word.as_deref().filter(|word| *word != OWN_CHAT) else { return Ok(()) };
    let near = match reached {
        Reached::Daemon(client) => match near_by_daemon(client, word, &given.session).await {
            // The daemon refuses the message itself, if the client has too few rights.
            Err(ClientError::Refused(_)) => None,
            near => near?,
        },
        Reached::Log(log) => near_in_log(log, word, &given.session).await?,
    };
    near.map_or(Ok(()), |near| Err(Failure::new(Exit::Failed, no_chat(word, &near))))
}

/// Returns chats near a word; `None` if the session of the word has messages.
async fn near_by_daemon(
    client: &Client,
    word: &str,
    session: &SessionId,
) -> Result<Option<Vec<String>>, ClientError> {
    let turns = ShowSession { session: session.clone(), turns: 1, before: None };
    let sent = ListSent { session: session.clone(), limit: 1, before: None };
    let turns = client.call::<ShowSession>(&turns).await?;
    let sent = client.call::<ListSent>(&sent).await?;
    if !(turns.is_empty() && sent.is_empty()) {
        return Ok(None);
    }
    let list = ListSessions { limit: MOST_ROWS, ..ListSessions::default() };
    let sessions: Vec<SessionSummary> = client.call::<ListSessions>(&list).await?;
    let status: DaemonStatus = client.call::<ShowStatus>(&ShowStatus::default()).await?;
    let accounts = status.channels.into_iter().map(|channel| channel.account);
    Ok(Some(similar_chats(word, &sessions, accounts)))
}

/// Works as [`near_by_daemon`], on the log of a stopped daemon.
async fn near_in_log(
    OfflineLog { store, configuration }: &OfflineLog,
    word: &str,
    session: &SessionId,
) -> Result<Option<Vec<String>>, Failure> {
    let is_known = !store.transcript(session, 1).await?.is_empty()
        || !store.sent(session, 1, None).await?.is_empty();
    if is_known {
        return Ok(None);
    }
    let sessions = store.sessions(MOST_ROWS, None).await?;
    let channels = configuration.document.get("channels").and_then(Value::as_object);
    let accounts = channels.into_iter().flatten().flat_map(|(channel, accounts)| {
        let accounts = accounts.as_object().into_iter().flatten();
        let accounts = accounts.filter(|(_, account)| account.is_object());
        accounts.map(move |(account, _)| format!("{channel}:{account}"))
    });
    Ok(Some(similar_chats(word, &sessions, accounts)))
}

/// Returns the sessions whose names contain the word, and such accounts without a session.
fn similar_chats(
    word: &str,
    sessions: &[SessionSummary],
    accounts: impl Iterator<Item = String>,
) -> Vec<String> {
    let word = word.to_lowercase();
    let sessions = sessions.iter().map(|summary| summary.session.to_string());
    let mut near: Vec<String> =
        sessions.filter(|session| session.to_lowercase().contains(&word)).collect();
    for account in accounts.filter(|account| account.to_lowercase().contains(&word)) {
        let prefix = format!("{account}:");
        if !near.iter().any(|session| session.starts_with(&prefix)) {
            near.push(format!("{prefix}CHAT"));
        }
    }
    near.truncate(MAX_NEAR);
    near
}

fn no_chat(word: &str, near: &[String]) -> String {
    let near = match near {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(", ")),
    };
    let separator = if near.is_empty() { "; give" } else { " Give" };
    format!(
        "there is no chat {word:?}{near}{separator} a chat as channel:account:chat, as `avocet \
         sessions list` shows it; terminal:local:{word} is a new conversation of the terminal"
    )
}
