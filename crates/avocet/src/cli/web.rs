//! `avocet web`: opens the web console.

use std::io::{self, IsTerminal};
use std::process::{Command, Stdio};

use avocet_gateway::{NoParams, OpenWeb, SignOutWeb};
use avocet_protocol::WebLink;
use clap::Args;
use serde_json::json;

use crate::cli::faulty_file::for_daemon;
use crate::connection::connect;
use crate::context::CommandContext;
use crate::environment::{Desktop, desktop};
use crate::exit::{Exit, Failure};
use crate::output::{print, show, span};

#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Print the link without opening a browser.
    #[arg(long)]
    print: bool,
    /// Port of this machine for the console if the HTTP interface is off. Default: 8470, or any
    /// free port.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Sign out all browsers, and end all links.
    #[arg(long, conflicts_with_all = ["print", "port"])]
    sign_out: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, web: WebArgs) -> Result<Exit, Failure> {
    let WebArgs { print: only_print, port, sign_out, json } = web;
    let configuration = for_daemon(context)?;
    let client = connect(context, &configuration).await?.ok_or_else(|| {
        let message = "no daemon runs, and the console is a part of it; start it with `avocet run`";
        Failure::new(Exit::NoDaemon, message)
    })?;
    if sign_out {
        client.call::<SignOutWeb>(&NoParams {}).await?;
        return show(json, &json!({ "signed_out": true }), || {
            "all browsers are signed out; `avocet web` makes a new link\n".to_owned()
        });
    }
    let link: WebLink = client.call::<OpenWeb>(&OpenWeb { port }).await?;
    show(json, &link, || text(&link, context))?;
    if json || only_print || !io::stdout().is_terminal() {
        return Ok(Exit::Done);
    }
    match desktop() {
        Desktop::Here { browser } => open(&browser, &link.url),
        Desktop::Remote => print(&remote(&link.url)),
        Desktop::None => Ok(()),
    }?;
    Ok(Exit::Done)
}

fn text(link: &WebLink, context: &CommandContext) -> String {
    let left = span(context.clock.now().until(link.expires_at).as_secs());
    format!("{}\nThe link works once, for {left}.\n", link.url)
}

/// Describes the way to the console from another machine.
fn remote(url: &str) -> String {
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
        Err(error) => print(&format!("cannot start {browser} ({error}); open the link yourself\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_names_the_port_of_the_link() {
        let shown = remote("http://127.0.0.1:8471/#code=00");
        assert!(shown.contains("ssh -L 8471:127.0.0.1:8471 HOST\n"), "{shown}");
        assert_eq!(remote("https://bus.example/#code=00"), "");
    }
}
