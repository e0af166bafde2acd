//! `avocet completions`: a completion script.

use clap::Command;
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::output::print_text;

pub(crate) fn run(shell: Shell, command: &mut Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "avocet", &mut script);
    print_text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
