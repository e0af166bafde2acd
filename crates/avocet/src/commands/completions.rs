//! `avocet completions`: a completion script.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Exit, Failure};
use crate::output::print;

pub(crate) fn run(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "avocet", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
