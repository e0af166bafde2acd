//! The shipped program, with an allocator that counts. A test reads the number of allocations over
//! a connection.

use std::alloc::System;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use avocet::CommandOverrides;
use avocet_tests::ALLOCATIONS;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    if let Some(test) = test_address()
        && let Err(error) = serve(&test)
    {
        eprintln!("cannot connect to the test at {test}: {error}");
        return ExitCode::FAILURE;
    }
    avocet::main(CommandOverrides::default())
}

#[expect(clippy::disallowed_methods, reason = "this is how the test speaks to its program")]
fn test_address() -> Option<String> {
    std::env::var(ALLOCATIONS).ok()
}

/// Connects to the test, and answers each byte with the number of allocations so far.
#[expect(clippy::disallowed_methods, reason = "the program has no groups before its main")]
fn serve(test: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(test)?;
    std::thread::spawn(move || {
        while stream.read_exact(&mut [0]).is_ok() {
            let stats = ALLOCATOR.stats();
            let count = stats.allocations + stats.reallocations;
            if stream.write_all(&(count as u64).to_le_bytes()).is_err() {
                return;
            }
        }
    });
    Ok(())
}
