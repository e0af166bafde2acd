//! The program.

fn main() -> std::process::ExitCode {
    avocet::main(avocet::CommandOverrides::default())
}
