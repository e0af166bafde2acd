//! The program under test: the shipped one with fail points, tools whose effects the test can
//! count, and the test's web.

mod foreign;
mod post;

use std::path::Path;
use std::process::ExitCode;

use avocet::CommandOverrides;
use avocet_net::GuardedClient;
use avocet_supervise::fail_point;
use avocet_tests::{FAIL_POINT, FOREIGN, LOOKED_UP, SINK, WEB};
use avocet_tools::{AlreadyRegistered, ToolRegistry};

fn main() -> ExitCode {
    if let Some(point) = environment(FAIL_POINT)
        && let Err(error) = fail_point::arm_fail_point(&point)
    {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    avocet::main(CommandOverrides { add_tools, web })
}

fn add_tools(registry: &mut ToolRegistry) -> Result<(), AlreadyRegistered> {
    if let Some(sink) = environment(SINK) {
        registry.add_tool(post::Post { sink })?;
    }
    match environment(FOREIGN) {
        Some(directory) => foreign::add(registry, directory.into()),
        None => Ok(()),
    }
}

/// Replaces the web by one server of the test, for all names.
fn web(client: GuardedClient) -> GuardedClient {
    match environment(WEB).and_then(|address| address.parse().ok()) {
        Some(address) => {
            let listed = environment(FOREIGN).map(|foreign| Path::new(&foreign).join(LOOKED_UP));
            foreign::web(client, address, listed)
        }
        None => client,
    }
}

#[expect(clippy::disallowed_methods, reason = "this is how the test speaks to its program")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
