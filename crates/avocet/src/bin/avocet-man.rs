//! Writes the manual pages into a directory, for packages:
//! `cargo run --features man --bin avocet-man -- DIRECTORY`.

use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let Some(directory) = env::args_os().nth(1) else {
        eprintln!("give the directory for the manual pages");
        return ExitCode::FAILURE;
    };
    let written = fs::create_dir_all(&directory)
        .and_then(|()| clap_mangen::generate_to(avocet::command_line(), &directory));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write the manual pages: {error}");
            ExitCode::FAILURE
        }
    }
}
