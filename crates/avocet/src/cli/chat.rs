//! `avocet chat`: a conversation in the terminal. Joins a running daemon, or runs one during the
//! chat.

use std::io::{self, BufReader, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::{ListSessions, ShowStatus};
use avocet_protocol::daemon::{ChannelStatus, DaemonStatus};
use avocet_protocol::ids::{IdError, SenderId};
use avocet_protocol::ignore_result;
use avocet_terminal::{
    AttentionSign, ChatEnd, Completer, ConversationEntry, EditorAccess, Input, KeyGate, Keyboard,
    Lines, LiveParts, Look, PictureProtocol, Screen, TerminalChat, TerminalChatParts,
    TerminalConfig, TerminalSize,
};
use clap::Args;
use futures_util::FutureExt;
use tokio::signal::unix::SignalKind;
use tokio_util::sync::CancellationToken;

use crate::cli::faulty_file::for_daemon;
use crate::cli::link::{DaemonLink, other_conversations};
use crate::cli::named_pictures::PictureRoots;
use crate::cli::reach::join_or_start;
use crate::cli::text_editor::{edit_text, editor_command};
use crate::cli::values::session_id;
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::environment::{home_directory, moves_cursor, read_variable, wants_colour};
use crate::exit::{Exit, Failure};
use crate::logging;

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Name of the conversation. `--chat` is the same.
    #[arg(
        long,
        alias = "chat",
        value_name = "NAME",
        default_value = DEFAULT_CHAT,
        value_parser = chat_name
    )]
    session: String,
    /// Start with an empty database although the last one is damaged or missing. Nothing is
    /// deleted.
    #[arg(long)]
    start_empty: bool,
}

impl Default for ChatArgs {
    fn default() -> Self {
        Self { session: DEFAULT_CHAT.to_owned(), start_empty: false }
    }
}

const DEFAULT_CHAT: &str = "me";
/// The other conversations that the greeting names.
const RECENT: usize = 3;
const NO_MODEL: &str = "No language model yet. Leave with Ctrl-D and run `avocet init`. `help` shows \
    what works without one.";
const NO_EDITOR: &str = "no editor is set; set $VISUAL or $EDITOR to its command";
/// The time for a running answer to finish after the person leaves.
const DRAIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(context: &CommandContext, chat: ChatArgs) -> Result<Exit, Failure> {
    let configuration = for_daemon(context)?;
    let log = logging::to_remarks(context.cli.log.as_deref())?;
    let session =
        session_id(&chat.session).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let (client, embedded) = join_or_start(context, &configuration, chat.start_empty).await?;
    let show = ShowStatus { session: Some(session.clone()) };
    let status: DaemonStatus = client.call::<ShowStatus>(&show).await?;
    let rows = client.call::<ListSessions>(&ListSessions::default()).await?;
    let others = other_conversations(rows, &session, context.clock.now());
    let greeting = greeting_text(&status, embedded.is_some(), &others);
    let (socket, clock) = (configuration.socket.clone(), context.clock.clone());
    let roots = PictureRoots { home: home_directory(), workspace: workspace(&configuration) };
    let group = context.root.clone();
    let link = DaemonLink::attach(socket, session, client, log, clock, group, roots).await?;
    let left = run_chat(context, &configuration, link, &greeting, status.model).await?;
    if let Some(daemon) = embedded {
        daemon.stop(DRAIN, &CancellationToken::new()).await;
    }
    Ok(match left {
        ChatEnd::AllAnswered => Exit::Done,
        ChatEnd::SomeFailed => Exit::Failed,
    })
}

fn greeting_text(status: &DaemonStatus, embedded: bool, others: &[ConversationEntry]) -> String {
    let DaemonStatus { version, model, pid, .. } = status;
    let place = match pid {
        Some(pid) if !embedded => format!(", joined the daemon (process {pid})"),
        _ => String::new(),
    };
    let mut lines = vec![format!(
        "Avocet {version}, {model}{place}. /help shows the commands, Tab completes, Ctrl-D leaves."
    )];
    if model.starts_with("offline/") {
        lines.push(NO_MODEL.to_owned());
    }
    lines.extend(if embedded { connected_channels(&status.channels) } else { None });
    lines.extend(recent(others));
    lines.join("\n")
}

/// Offers the other conversations; `None` if there are none.
fn recent(others: &[ConversationEntry]) -> Option<String> {
    let names: Vec<&str> = others.iter().take(RECENT).map(|entry| entry.name.as_str()).collect();
    let more = if others.len() > names.len() { ", ..." } else { "" };
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("Other conversations: {names}{more}. /resume opens one."))
}

/// Names the accounts that this program serves beside the chat; `None` if there are none.
fn connected_channels(channels: &[ChannelStatus]) -> Option<String> {
    let accounts = channels.iter().map(|channel| channel.account.as_str());
    let is_here = |name: &str| name.starts_with("terminal:") || name.starts_with("web:");
    let accounts: Vec<&str> = accounts.filter(|name| !is_here(name)).collect();
    let (verb, them) = match accounts.len() {
        0 => return None,
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let names = accounts.join(", ");
    Some(format!("{names} {verb} connected while this chat is open; `avocet run` keeps {them} on."))
}

async fn run_chat(
    context: &CommandContext,
    configuration: &Configuration,
    link: DaemonLink,
    greeting: &str,
    model: String,
) -> Result<ChatEnd, Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let (input, screen, editor): (Box<dyn Input>, _, _) = if is_terminal && moves_cursor() {
        let keyboard = Keyboard::new(&context.root)?;
        let editor = editor_access(configuration, keyboard.gate());
        (Box::new(keyboard), Screen::live(live_parts(configuration)?), Some(editor))
    } else {
        let lines = Lines::new(BufReader::new(io::stdin()), &context.root)?;
        (Box::new(lines), Screen::pipe(Box::new(io::stdout()), Box::new(io::stderr())), None)
    };
    let greeting = if is_terminal { greeting } else { "" };
    let (interrupt, interrupts) = flume::bounded(1);
    let mut pressed = tokio::signal::unix::signal(SignalKind::interrupt())?;
    context.root.spawn("interrupts", async move {
        while pressed.recv().await.is_some() {
            ignore_result(
                interrupt.try_send(()),
                "several presses before the first is handled count as one",
            );
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
        model,
        clock: context.clock.clone(),
        interrupts,
        editor,
    });
    let mut terminate = tokio::signal::unix::signal(SignalKind::terminate())?;
    let mut hang_up = tokio::signal::unix::signal(SignalKind::hangup())?;
    Ok(tokio::select! {
        left = chat.run(greeting) => left,
        _ = terminate.recv() => ChatEnd::AllAnswered,
        _ = hang_up.recv() => ChatEnd::AllAnswered,
    })
}

fn live_parts(configuration: &Configuration) -> Result<LiveParts, Failure> {
    let config: TerminalConfig = configuration.document.table("channels.terminal")?;
    Ok(LiveParts {
        out: Box::new(io::stdout()),
        size: Box::new(terminal_size),
        reflows: does_reflow(read_variable),
        look: if wants_colour() { Look::Styled } else { Look::Plain },
        history: (configuration.data_dir.join("terminal.history"), config.history_lines),
        completer: Completer::new(avocet_session::commands(), workspace(configuration)),
        sign: attention_sign(read_variable),
        pictures: picture_protocol(read_variable),
    })
}

fn workspace(configuration: &Configuration) -> Option<PathBuf> {
    configuration.agents.first().map(|agent| agent.workspace.clone())
}

/// Returns the editor for long messages. Its file is in the data directory, which only this user
/// can read.
fn editor_access(configuration: &Configuration, gate: KeyGate) -> EditorAccess {
    let directory = configuration.data_dir.clone();
    let edit = move |text: String| {
        let file = directory.join(format!("message-{}.md", uuid::Uuid::new_v4()));
        let edited = async move {
            let editor = editor_command().ok_or_else(|| NO_EDITOR.to_owned())?;
            edit_text(editor, file, text).await
        };
        edited.boxed()
    };
    EditorAccess { edit: Box::new(edit), gate }
}

/// Returns the way in which the terminal calls a person. Some terminals make a notification of the
/// desktop from OSC 9. tmux and GNU screen would swallow it, and pass the bell on.
fn attention_sign(variable: impl Fn(&str) -> Option<String>) -> AttentionSign {
    let is_inside = ["TMUX", "STY"].into_iter().any(|name| variable(name).is_some());
    let names = ["TERM", "TERM_PROGRAM"].map(|name| variable(name).unwrap_or_default());
    let known = ["iTerm", "WezTerm", "ghostty", "kitty"];
    let is_known = known.iter().any(|known| names.iter().any(|name| name.contains(known)));
    if is_known && !is_inside { AttentionSign::Notification } else { AttentionSign::Bell }
}

/// Returns the way in which the terminal draws pictures; `None` if it shows none. tmux and GNU screen
/// pass no pictures on.
fn picture_protocol(variable: impl Fn(&str) -> Option<String>) -> Option<PictureProtocol> {
    if ["TMUX", "STY"].into_iter().any(|name| variable(name).is_some()) {
        return None;
    }
    let [term, program] = ["TERM", "TERM_PROGRAM"].map(|name| variable(name).unwrap_or_default());
    let is_kitty = variable("KITTY_WINDOW_ID").is_some()
        || ["kitty", "ghostty"].iter().any(|name| term.contains(name) || program == *name);
    match program.as_str() {
        "iTerm.app" | "WezTerm" => Some(PictureProtocol::Inline),
        _ => is_kitty.then_some(PictureProtocol::Kitty),
    }
}

/// The size of the terminal, or a usual one if the terminal does not know its own.
fn terminal_size() -> TerminalSize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let size = size.filter(|size| size.ws_col > 1 && size.ws_row > 1);
    let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    TerminalSize { columns: columns.into(), rows: rows.into() }
}

/// Returns `true` if the terminal may reflow its rows when it becomes narrower. The Linux console,
/// xterm, st, GNU screen, and terminals like the VT100 cut the rows.
fn does_reflow(variable: impl Fn(&str) -> Option<String>) -> bool {
    let term = variable("TERM").unwrap_or_default();
    let cuts = ["linux", "st-", "vt1", "vt2"].iter().any(|name| term.starts_with(name));
    // Inside of tmux, the variables of the terminal around it may remain.
    variable("TMUX").is_some()
        || !(cuts || variable("XTERM_VERSION").is_some() || variable("STY").is_some())
}

fn chat_name(text: &str) -> Result<String, IdError> {
    session_id(text).map(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use avocet_protocol::daemon::{ChannelStatus, LastExchanges};

    use super::{
        AttentionSign, PictureProtocol, attention_sign, connected_channels, does_reflow,
        picture_protocol,
    };

    #[test]
    fn connected_names_the_accounts_besides_the_terminal_and_the_web_console() {
        let table = [
            (&[][..], None),
            (
                &["irc:main"],
                Some("irc:main is connected while this chat is open; `avocet run` keeps it on."),
            ),
            (
                &["discord:main", "irc:main"],
                Some(
                    "discord:main, irc:main are connected while this chat is open; `avocet run` keeps them on.",
                ),
            ),
        ];
        for (accounts, expected) in table {
            let accounts = [&["terminal:local", "web:console"], accounts].concat();
            let channels = accounts.iter().map(|account| ChannelStatus {
                account: (*account).to_owned(),
                fault: None,
                exchanges: LastExchanges::default(),
            });
            let channels: Vec<ChannelStatus> = channels.collect();
            assert_eq!(connected_channels(&channels).as_deref(), expected);
        }
    }

    #[test]
    fn attention_sign_is_the_bell_unless_the_terminal_has_notifications() {
        let cases: [(&[(&str, &str)], AttentionSign); 5] = [
            (&[], AttentionSign::Bell),
            (&[("TERM", "xterm-256color")], AttentionSign::Bell),
            (&[("TERM", "xterm-kitty")], AttentionSign::Notification),
            (&[("TERM_PROGRAM", "iTerm.app")], AttentionSign::Notification),
            (&[("TERM_PROGRAM", "ghostty"), ("TMUX", "/tmp/t,1,0")], AttentionSign::Bell),
        ];
        for (variables, expected) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(attention_sign(variable), expected, "{variables:?}");
        }
    }

    #[test]
    fn picture_protocol_is_that_of_the_terminal() {
        let (kitty, inline) = (Some(PictureProtocol::Kitty), Some(PictureProtocol::Inline));
        let cases = [
            (&[("TERM", "xterm-256color")][..], None),
            (&[("TERM", "xterm-kitty")], kitty),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], kitty),
            (&[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty")], kitty),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], inline),
            (&[("TERM_PROGRAM", "WezTerm")], inline),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/t,1,0")], None),
        ];
        for (variables, expected) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(picture_protocol(variable), expected, "{variables:?}");
        }
    }

    #[test]
    fn reflows_knows_the_terminals_that_cut_their_rows() {
        let cases: [(&[(&str, &str)], bool); 8] = [
            (&[("TERM", "xterm-256color")], true),
            (&[("TERM", "xterm-256color"), ("XTERM_VERSION", "XTerm(379)")], false),
            (&[("TERM", "linux")], false),
            (&[("TERM", "st-256color")], false),
            (&[("TERM", "vt220")], false),
            (&[("TERM", "screen"), ("STY", "12.pts-0.host")], false),
            (&[("TERM", "screen"), ("TMUX", "/tmp/t,1,0"), ("XTERM_VERSION", "XTerm(379)")], true),
            (&[], true),
        ];
        for (variables, expected) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(does_reflow(variable), expected, "{variables:?}");
        }
    }
}
