//! `avocet completions`: a completion script.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Exit;

pub(crate) fn run(shell: Shell) -> Exit {
    clap_complete::generate(shell, &mut Cli::command(), "avocet", &mut io::stdout());
    Exit::Done
}
