//! `avocet chat`: a conversation in the terminal. Joins a running daemon, or runs one during the
//! chat.

use std::io::{self, BufReader, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{DaemonStatus, IdError, SenderId};
use avocet_terminal::{
    ChatStyle, Dimming, Input, Left, LineEditor, Lines, Screen, TerminalChat, TerminalChatParts,
};
use clap::Args;
use serde_json::json;
use tokio::signal::unix::SignalKind;
use tokio_util::sync::CancellationToken;

use crate::commands::join_or_start;
use crate::context::CommandContext;
use crate::environment::wants_colour;
use crate::exit::{Exit, Failure};
use crate::link::DaemonLink;
use crate::logging;
use crate::places::{Configuration, Uses};
use crate::values::session_id;

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Name of the conversation.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_CHAT, value_parser = chat_name)]
    chat: String,
    /// Start with an empty database although the last one is damaged or missing. Nothing is
    /// deleted.
    #[arg(long)]
    start_empty: bool,
}

impl Default for ChatArgs {
    fn default() -> Self {
        Self { chat: DEFAULT_CHAT.to_owned(), start_empty: false }
    }
}

const DEFAULT_CHAT: &str = "me";
/// The time for a running answer to finish after the person leaves.
const DRAIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(context: &CommandContext, chat: ChatArgs) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, Uses::Daemon)?;
    let log = logging::to_remarks(context.cli.log.as_deref())?;
    let session =
        session_id(&chat.chat).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let (client, embedded) = join_or_start(context, &configuration, chat.start_empty).await?;
    let status: DaemonStatus = client.call("status", &json!({})).await?;
    let greeting = greeting(&status, embedded.is_some());
    let (socket, clock) = (configuration.socket.clone(), context.clock.clone());
    let link =
        DaemonLink::attach(socket, session, client, log, clock, context.root.clone()).await?;
    let left = talk(context, &configuration, link, &greeting).await?;
    if let Some(daemon) = embedded {
        daemon.stop(DRAIN, &CancellationToken::new()).await;
    }
    Ok(match left {
        Left::Content => Exit::Done,
        Left::Disappointed => Exit::Failed,
    })
}

fn greeting(status: &DaemonStatus, embedded: bool) -> String {
    let DaemonStatus { version, model, pid, .. } = status;
    let place = match pid {
        Some(pid) if !embedded => format!(", joined the daemon (process {pid})"),
        _ => String::new(),
    };
    let hint = if model.starts_with("offline/") {
        "\nNo language model is configured: `help` shows what works without one."
    } else {
        ""
    };
    format!("Avocet {version}, {model}{place}. /help shows the commands, Ctrl-D leaves.{hint}")
}

async fn talk(
    context: &CommandContext,
    configuration: &Configuration,
    link: DaemonLink,
    greeting: &str,
) -> Result<Left, Failure> {
    let interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    let (style, input, above): (_, Box<dyn Input>, _) = if interactive {
        let config = configuration.document.table("channels.terminal")?;
        let history = configuration.data_dir.join("terminal.history");
        let (prompt, above) = LineEditor::new(&config, history, &context.root)
            .map_err(|error| Failure::new(Exit::Failed, error))?;
        (ChatStyle::Interactive, Box::new(prompt), Some(above))
    } else {
        let lines = Lines::new(BufReader::new(io::stdin()), &context.root)?;
        (ChatStyle::Plain, Box::new(lines), None)
    };
    let dimming = if interactive && wants_colour() { Dimming::On } else { Dimming::Off };
    let mut screen = Screen::new(Box::new(io::stdout()), above, dimming);
    if !interactive {
        screen = screen.with_remarks_to(Box::new(io::stderr()));
    }
    let (interrupt, interrupts) = flume::bounded(1);
    let mut pressed = tokio::signal::unix::signal(SignalKind::interrupt())?;
    context.root.spawn("interrupts", async move {
        while pressed.recv().await.is_some() {
            // Several presses before the first is handled count as one.
            interrupt.try_send(()).unwrap_or_default();
        }
    });
    // The daemon names the users of its socket by their user id.
    let me = format!("uid:{}", rustix::process::geteuid().as_raw());
    let me = SenderId::parse(&me).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let chat = TerminalChat::new(TerminalChatParts {
        link: Arc::new(link),
        me,
        input,
        screen,
        style,
        clock: context.clock.clone(),
        interrupts,
    });
    let mut terminate = tokio::signal::unix::signal(SignalKind::terminate())?;
    let mut hang_up = tokio::signal::unix::signal(SignalKind::hangup())?;
    Ok(tokio::select! {
        left = chat.run(greeting) => left,
        _ = terminate.recv() => Left::Content,
        _ = hang_up.recv() => Left::Content,
    })
}

fn chat_name(text: &str) -> Result<String, IdError> {
    session_id(text).map(|_| text.to_owned())
}
