//! `avocet send`: delivers a text to a chat.

use avocet_gateway::{Send, SendResult};
use avocet_protocol::{ChatAddress, Content, DedupeKey, Outbound, Publish};
use clap::Args;

use crate::commands::faulty_file::for_daemon;
use crate::commands::{Reached, bus_to_log, reach, text_or_stdin};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::link::new_key;
use crate::output::show;
use crate::values::chat_address;

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Chat, as channel:account:chat or channel:account:chat:topic. A bare name is a chat of the
    /// terminal.
    #[arg(value_parser = chat_address)]
    chat: ChatAddress,
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
    let SendArgs { chat, text, key, json } = send;
    let configuration = for_daemon(context)?;
    let text = text_or_stdin(text)?;
    let key = match key {
        Some(key) => key,
        None => new_key().map_err(|error| Failure::new(Exit::Failed, error.0))?,
    };
    let (sent, remark): (SendResult, _) = match reach(context, &configuration).await? {
        Reached::Daemon(client) => {
            let send = Send { chat, text, key: Some(key) };
            (client.call("send", &send).await?, "")
        }
        Reached::Log(log) => {
            let bus = bus_to_log(context, &log.configuration, &log.store).await?;
            let message = Outbound { address: chat, content: Content::text(text) };
            let sent = bus.send(message, key).await;
            drop(bus);
            log.close().await;
            let sent = sent?;
            let sent = SendResult { delivery: sent.id, duplicate: sent.duplicate };
            (sent, "; no daemon runs; its next start delivers the message")
        }
    };
    let SendResult { delivery, duplicate } = &sent;
    show(json, &sent, || {
        if *duplicate {
            format!("{delivery} was accepted before\n")
        } else {
            format!("{delivery} is in the outbox{remark}\n")
        }
    })
}
