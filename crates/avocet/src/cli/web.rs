//! `avocet web`: opens the web console. Without a daemon, it offers to run one.

use std::io::{self, IsTerminal};
use std::process::{Command, Stdio};

use avocet_gateway::{Client, ListBrowsers, NoParams, OpenWeb, SignOutWeb};
use avocet_protocol::channel::{WebBrowser, WebLink};
use avocet_protocol::clock::Timestamp;
use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::cli::faulty_file::for_daemon;
use crate::cli::reach::join_or_start;
use crate::cli::run::Signals;
use crate::configuration::Configuration;
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::{Desktop, find_desktop};
use crate::exit::{Exit, Failure};
use crate::logging;
use crate::output::{ask_confirmation, format_span, print_result, print_text};

const NO_DAEMON: &str =
    "No daemon runs, and the console is a part of it. Run one here until Ctrl-C?";

#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Print the link without opening a browser.
    #[arg(long)]
    print: bool,
    /// Port of this machine for the console if the HTTP interface is off. Default: the last one,
    /// 8470, or any free port.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// List the browsers that are signed in.
    #[arg(long, conflicts_with_all = ["print", "port", "sign_out"])]
    browsers: bool,
    /// Sign out a browser by its id. Without an id: sign out all browsers, and end all links.
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with_all = ["print", "port"])]
    sign_out: Option<Option<String>>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, web: WebArgs) -> Result<Exit, Failure> {
    let configuration = for_daemon(context)?;
    let client = match connect_daemon(context, &configuration).await? {
        Some(client) => client,
        None if may_ask(&web) && ask_confirmation(NO_DAEMON)? => {
            return with_own_daemon(context, &configuration, &web).await;
        }
        None => {
            let message =
                "no daemon runs, and the console is a part of it; start it with `avocet run`";
            return Err(Failure::new(Exit::NoDaemon, message));
        }
    };
    if web.browsers {
        let browsers = client.call::<ListBrowsers>(&NoParams {}).await?;
        return print_result(web.json, &browsers, || list_browsers(&browsers, context));
    }
    if let Some(browser) = web.sign_out {
        client.call::<SignOutWeb>(&SignOutWeb { browser: browser.clone() }).await?;
        return print_result(web.json, &json!({ "signed_out": true }), || match browser {
            Some(browser) => format!("the browser {browser} is signed out\n"),
            None => "all browsers are signed out; `avocet web` makes a new link\n".to_owned(),
        });
    }
    show_link(context, &client, &web).await
}

/// Returns `true` if a person reads the output, and can answer a question.
fn may_ask(web: &WebArgs) -> bool {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    is_terminal && web.sign_out.is_none() && !web.browsers && !web.json
}

/// Formats the list of browsers, one per line.
fn list_browsers(browsers: &[WebBrowser], context: &CommandContext) -> String {
    if browsers.is_empty() {
        return "no browser is signed in; `avocet web` makes a link\n".to_owned();
    }
    let now = context.clock.now();
    let lines = browsers.iter().map(|browser| {
        let WebBrowser { id, name, sender, signed_in_at, expires_at, seen_at } = browser;
        let ago = |time: Timestamp| format_span(time.until(now).as_secs());
        let left = format_span(now.until(*expires_at).as_secs());
        let seen = match seen_at {
            Some(time) => format!("last request {} ago", ago(*time)),
            None => "no request since the start of the daemon".to_owned(),
        };
        let signed_in = ago(*signed_in_at);
        format!("{id}  {name}, {sender}: signed in {signed_in} ago, for {left} more; {seen}\n")
    });
    lines.collect()
}

/// Runs a daemon until a signal stops it, and opens its console.
async fn with_own_daemon(
    context: &CommandContext,
    configuration: &Configuration,
    web: &WebArgs,
) -> Result<Exit, Failure> {
    let (log, level) = (&configuration.settings.log, context.cli.log.as_deref());
    logging::to_stderr(log, level, &context.clock, &context.root)?;
    let mut signals = Signals::new()?;
    let (client, own) = join_or_start(context, configuration, false).await?;
    show_link(context, &client, web).await?;
    let Some(daemon) = own else { return Ok(Exit::Done) };
    print_text("The daemon runs here until Ctrl-C. `avocet service install` keeps it running.\n")?;
    let name = signals.next().await;
    tracing::info!(signal = name, "stopping; running answers may finish");
    let drain = daemon.reloader().drain();
    daemon.stop(drain, &CancellationToken::new()).await;
    Ok(Exit::Done)
}

/// Prints a new link, and opens it in the browser of this desktop.
async fn show_link(
    context: &CommandContext,
    client: &Client,
    web: &WebArgs,
) -> Result<Exit, Failure> {
    let link: WebLink = client.call::<OpenWeb>(&OpenWeb { port: web.port }).await?;
    print_result(web.json, &link, || link_text(&link, context))?;
    if web.json || web.print || !io::stdout().is_terminal() {
        return Ok(Exit::Done);
    }
    match find_desktop() {
        Desktop::Here { browser } => open(&browser, &link.url),
        Desktop::Remote => print_text(&remote_hint(&link.url)),
        Desktop::None => Ok(()),
    }?;
    Ok(Exit::Done)
}

fn link_text(link: &WebLink, context: &CommandContext) -> String {
    let left = format_span(context.clock.now().until(link.expires_at).as_secs());
    format!("{}\nThe link works once, for {left}.\n", link.url)
}

/// Describes the way to the console from another machine.
fn remote_hint(url: &str) -> String {
    let place = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    match place.and_then(|place| place.rsplit_once(':')) {
        Some((_, port)) => format!(
            "From your own machine, first run: ssh -L {port}:127.0.0.1:{port} HOST\n\
             Then open the link there.\n"
        ),
        // A server with TLS leads to the console.
        None => String::new(),
    }
}

fn open(browser: &str, url: &str) -> Result<(), Failure> {
    let mut command = Command::new(browser);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => {
            print_text(&format!("cannot start {browser} ({error}); open the link yourself\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_names_the_port_of_the_link() {
        let shown = remote_hint("http://127.0.0.1:8471/#code=00");
        assert!(shown.contains("ssh -L 8471:127.0.0.1:8471 HOST\n"), "{shown}");
        assert_eq!(remote_hint("https://bus.example/#code=00"), "");
    }
}
