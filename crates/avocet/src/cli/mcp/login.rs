//! `avocet mcp login` and `logout`: the tokens of a server with OAuth. The login runs in this process,
//! and the daemon reads the file that it writes.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::{Client, ListMcpTools};
use avocet_mcp::{CallbackListener, LoginDone, McpClient, PendingLogin};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ignore_result;
use avocet_supervise::run_blocking;
use clap::Args;
use serde::Serialize;

use crate::components::mcp;
use crate::components::shell::Shells;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::output::{format_moment, print_result, print_text, print_warning};
use crate::{registry, stderr};

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Name of the server in the configuration.
    server: String,
    /// Read the final address of the browser from stdin, for a browser on another machine.
    #[arg(long)]
    paste: bool,
    /// Time to wait for the browser, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Name of the server in the configuration.
    server: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The result of a logout.
#[derive(Debug, Serialize)]
struct LoggedOut {
    server: String,
    /// `false` if there were no tokens.
    deleted: bool,
    /// The reason why the authorization server could not revoke the tokens.
    not_revoked: Option<String>,
}

pub(crate) async fn log_in(context: &CommandContext, args: LoginArgs) -> Result<Exit, Failure> {
    let LoginArgs { server, paste, timeout } = args;
    let (configuration, client) = open_client(context, &server).await?;
    let (clock, port) = (&context.clock, client.redirect_port(&server)?);
    let listener = CallbackListener::open(port, clock.clone(), context.root.clone()).await;
    let listener = listener.map_err(|error| {
        let message = format!("cannot open port {port} of 127.0.0.1 for the browser: {error}");
        Failure::new(Exit::Failed, message)
    })?;
    let login = client.begin_login(&server, &listener.redirect_address()).await?;
    let limit = Duration::from_secs(timeout);
    print_text(&format!(
        "Open this address in a browser, and log in:\n\n  {}\n\n",
        login.browser_address()
    ))?;
    let done = if paste {
        await_pasted(clock.as_ref(), limit, &login).await?
    } else {
        let returned = await_callback(clock, limit, &listener, &login).await?;
        login.finish_login(&returned).await?
    };
    print_text(&login_text(&server, &done))?;
    use_in_daemon(context, &configuration, &server).await;
    Ok(Exit::Done)
}

/// Makes the client of the daemon in this process.
async fn open_client(
    context: &CommandContext,
    server: &str,
) -> Result<(Configuration, Arc<McpClient>), Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let table = format!("{}.{server}.", registry::MCP_SERVERS);
    let mut unresolved = configuration.document.unresolved_values().iter();
    if let Some(one) = unresolved.find(|one| one.key.starts_with(&table)) {
        return Err(one.error.clone().into());
    }
    let (clock, group) = (&context.clock, &context.root);
    let shells = Shells::probe(&configuration, clock, group).await?;
    let client = mcp::client_with(None, &configuration, &shells, clock, group)?;
    Ok((configuration, client))
}

/// Waits for the browser, with a line that counts down on a terminal.
async fn await_callback(
    clock: &Arc<dyn Clock>,
    limit: Duration,
    listener: &CallbackListener,
    login: &PendingLogin,
) -> Result<String, Failure> {
    let until = clock.elapsed() + limit;
    let on_terminal = io::stderr().is_terminal();
    let count = async {
        loop {
            let left = until.saturating_sub(clock.elapsed()).as_millis().div_ceil(1000);
            let line = format!("waiting for the browser for up to {left} s; Ctrl-C cancels");
            if !on_terminal {
                stderr::write(&format!("{line}\n"));
                return std::future::pending::<()>().await;
            }
            // Carriage return, and the rest of the line (ECMA-48: EL).
            stderr::write(&format!("\r{line}\u{1b}[K"));
            clock.sleep(Duration::from_secs(1)).await;
        }
    };
    let waited = async {
        tokio::select! {
            returned = listener.receive_query(login) => returned,
            () = count => Err(io::ErrorKind::TimedOut.into()),
        }
    };
    let returned = within(clock.as_ref(), limit, waited).await;
    if on_terminal {
        stderr::write("\r\u{1b}[K");
    }
    Ok(returned.map_err(|_| too_late(limit))??)
}

fn too_late(limit: Duration) -> Failure {
    let message = format!(
        "no login within {} s; run the command again, with --paste if the browser runs on \
         another machine",
        limit.as_secs()
    );
    Failure::new(Exit::TryLater, message)
}

/// Reads addresses from stdin until one ends the login.
async fn await_pasted(
    clock: &dyn Clock,
    limit: Duration,
    login: &PendingLogin,
) -> Result<LoginDone, Failure> {
    stderr::write(
        "The browser then shows an error, because it looks for this machine.\n\
         Paste its address here, which begins with http://127.0.0.1, and press Enter:\n",
    );
    let until = clock.elapsed() + limit;
    loop {
        let read = run_blocking(|| {
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|_| line)
        });
        let line = match within(clock, until.saturating_sub(clock.elapsed()), read).await {
            Err(_) => return Err(too_late(limit)),
            Ok(Err(panicked)) => return Err(panicked.into()),
            Ok(Ok(line)) => line?,
        };
        if line.is_empty() {
            let message = "the input ended before an address of this login; run the command again";
            return Err(Failure::new(Exit::Failed, message));
        }
        match login.finish_login(&line).await {
            Ok(done) => return Ok(done),
            Err(error) => print_warning(&format!("{error}; paste the address again")),
        }
    }
}

fn login_text(server: &str, LoginDone { scopes, expires_at, is_renewed }: &LoginDone) -> String {
    let mut text = format!("logged in at {server}");
    if !scopes.is_empty() {
        text.push_str(&format!(", with the scopes {}", scopes.join(", ")));
    }
    if let (Some(end), false) = (expires_at, is_renewed) {
        text.push_str(&format!(", until {}", format_moment(*end, &system_zone())));
    }
    text + "\n"
}

/// Lets a running daemon connect with the new tokens.
async fn use_in_daemon(context: &CommandContext, configuration: &Configuration, server: &str) {
    let list = ListMcpTools { server: server.to_owned(), refresh: true };
    let read = async |client: Client| Ok::<_, Failure>(client.call::<ListMcpTools>(&list).await?);
    let tools = match connect_daemon(context, configuration).await {
        Ok(None) => return,
        Ok(Some(client)) => read(client).await,
        Err(failure) => Err(failure),
    };
    match tools {
        Ok(tools) => {
            let text = format!("the daemon uses the login; tools of {server}: {}\n", tools.len());
            ignore_result(
                print_text(&text),
                "the login is stored, also if nothing reads this line",
            );
        }
        Err(failure) => print_warning(&format!(
            "the daemon cannot use the login yet: {}; try `avocet mcp tools {server} --refresh`",
            failure.error
        )),
    }
}

pub(crate) async fn log_out(context: &CommandContext, args: LogoutArgs) -> Result<Exit, Failure> {
    let LogoutArgs { server, json } = args;
    let (_, client) = open_client(context, &server).await?;
    let (deleted, not_revoked) = client.log_out(&server).await?;
    if let Some(why) = &not_revoked {
        print_warning(&format!("the tokens are deleted, but could not be revoked: {why}"));
    }
    let logged_out = LoggedOut { server, deleted, not_revoked };
    print_result(json, &logged_out, || {
        let begin = if deleted { "logged out of" } else { "there was no login at" };
        format!("{begin} {}\n", logged_out.server)
    })
}
