//! `avocet top`: a live view of a running daemon on the whole terminal. It asks the daemon once per
//! second, and only while it is open.

mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use avocet_gateway::{Client, ClientError, ListSessions, ListUsage, MOST_ROWS, ShowStatus};
use avocet_protocol::daemon::DaemonStatus;
use avocet_protocol::store::{SessionSummary, UsageBy, UsageRow};
use avocet_supervise::run_blocking;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::faulty_file::for_daemon;
use crate::configuration::Configuration;
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use view::TopView;

/// The time between two questions to the daemon.
const EVERY: Duration = Duration::from_secs(1);
/// The longest wait for a key. A signal to end is noticed after this time at the latest.
const KEY_WAIT: Duration = Duration::from_millis(100);

/// The answers of the daemon.
#[derive(Debug, Clone, PartialEq)]
struct TopFigures {
    status: DaemonStatus,
    sessions: Vec<SessionSummary>,
    /// Today's costs by model.
    usage: Vec<UsageRow>,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyAction {
    Quit,
    /// Move the list by so many rows.
    Move(isize),
    None,
}

pub(crate) async fn run(context: &CommandContext) -> Result<Exit, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let message = "avocet top needs a terminal; use `avocet status --watch` without one";
        return Err(Failure::new(Exit::Usage, message));
    }
    let configuration = for_daemon(context)?;
    let client = connect_daemon(context, &configuration).await?.ok_or_else(|| {
        Failure::new(Exit::NoDaemon, "no daemon runs; start it with `avocet run`")
    })?;
    let mut terminal = ratatui::try_init()?;
    let shown = run_screen(context, &configuration, client, &mut terminal).await;
    let restored = ratatui::try_restore();
    shown?;
    restored?;
    Ok(Exit::Done)
}

/// Shows the state until a person or a signal ends the view.
async fn run_screen(
    context: &CommandContext,
    configuration: &Configuration,
    client: Client,
    terminal: &mut DefaultTerminal,
) -> Result<(), Failure> {
    let (mut terminate, mut hang_up) =
        (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    let (mut client, mut view) = (Some(client), TopView::new(context.clock.now()));
    // Kept across questions: a wait that is dropped may have taken a key.
    let mut key = Box::pin(next_action());
    loop {
        if client.is_none() {
            client = Client::connect(&configuration.socket, &context.root).await.ok();
        }
        let asked_at = context.clock.elapsed();
        let mut asking = Box::pin(fetch_figures(context, client.as_ref()));
        let (mut is_answered, mut is_lost) = (false, false);
        while !is_answered || context.clock.elapsed().saturating_sub(asked_at) < EVERY {
            terminal.draw(|frame| view.draw(frame))?;
            let action = tokio::select! {
                answer = &mut asking, if !is_answered => {
                    (is_answered, is_lost) = (true, answer.is_err());
                    view.update(answer, context.clock.now());
                    KeyAction::None
                }
                action = &mut key => {
                    key = Box::pin(next_action());
                    action?
                }
                _ = terminate.recv() => KeyAction::Quit,
                _ = hang_up.recv() => KeyAction::Quit,
            };
            match action {
                KeyAction::Quit => return Ok(()),
                KeyAction::Move(rows) => view.move_by(rows),
                KeyAction::None => {}
            }
        }
        drop(asking);
        if is_lost {
            client = None;
        }
    }
}

/// Asks the daemon. Keys work meanwhile, as a busy daemon may answer late.
async fn fetch_figures(
    context: &CommandContext,
    client: Option<&Client>,
) -> Result<TopFigures, ClientError> {
    let client = client.ok_or(ClientError::Lost)?;
    let sessions = ListSessions { limit: MOST_ROWS, ..ListSessions::default() };
    let since = context.clock.now().day_start();
    let usage = ListUsage { by: UsageBy::Model, since, ..ListUsage::default() };
    Ok(TopFigures {
        status: client.call::<ShowStatus>(&ShowStatus::default()).await?,
        sessions: client.call::<ListSessions>(&sessions).await?,
        usage: client.call::<ListUsage>(&usage).await?,
    })
}

/// Waits a short time for a key.
async fn next_action() -> Result<KeyAction, Failure> {
    let key = run_blocking(|| {
        if !event::poll(KEY_WAIT)? {
            return Ok(None);
        }
        event::read().map(Some)
    });
    let key: io::Result<Option<Event>> = key.await?;
    Ok(match key? {
        Some(Event::Key(key)) => action_of(key),
        _ => KeyAction::None,
    })
}

fn action_of(key: KeyEvent) -> KeyAction {
    if key.kind == KeyEventKind::Release {
        return KeyAction::None;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Quit,
        KeyCode::Char('c') if is_control => KeyAction::Quit,
        KeyCode::Up => KeyAction::Move(-1),
        KeyCode::Down => KeyAction::Move(1),
        KeyCode::PageUp => KeyAction::Move(-10),
        KeyCode::PageDown => KeyAction::Move(10),
        KeyCode::Home => KeyAction::Move(isize::MIN),
        KeyCode::End => KeyAction::Move(isize::MAX),
        _ => KeyAction::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_of_a_key_ends_the_view_or_moves_the_list() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut released = plain(KeyCode::Char('q'));
        released.kind = KeyEventKind::Release;
        for (key, action) in [
            (plain(KeyCode::Char('q')), KeyAction::Quit),
            (plain(KeyCode::Esc), KeyAction::Quit),
            (control, KeyAction::Quit),
            (plain(KeyCode::Char('c')), KeyAction::None),
            (released, KeyAction::None),
            (plain(KeyCode::Up), KeyAction::Move(-1)),
            (plain(KeyCode::PageDown), KeyAction::Move(10)),
        ] {
            assert_eq!(action_of(key), action, "{key:?}");
        }
    }
}
