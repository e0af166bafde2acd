//! The program.

fn main() -> std::process::ExitCode {
    avocet::main(|_| Ok(()))
}
