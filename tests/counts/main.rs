//! Counts those parts of a turn's work that do not depend on the load of the machine, and compares
//! the counts with `counts.toml`. A count that differs by more than a tenth fails the test; for a program
//! less is allowed (`allowed_part`). `UPDATE_COUNTS=1` rewrites the file. `avocet-bench` measures times.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod counts;
mod log;
mod packages;
mod release;
mod turns;
mod work;

use std::fs;
use std::io::Write;

use counts::Counts;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts/counts.toml");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_of_a_turn_are_within_a_tenth_of_the_file() {
    let mut counted = work::logged_and_traced().await;
    counted.extend(work::allocated_and_sent().await);
    counted.extend(packages::linked());
    let recorded = Counts::parse(&fs::read_to_string(FILE).unwrap()).unwrap();
    counted.extend(match release::named_program() {
        Some(program) => release::counted(program).await,
        None => recorded.of_work(release::WORK),
    });
    if updates_the_file() {
        fs::write(FILE, counted.to_toml()).unwrap();
        return;
    }
    show(&counted.table(&recorded));
    let faults = counted.compare(&recorded);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[expect(clippy::disallowed_methods, reason = "the person at the terminal decides this")]
fn updates_the_file() -> bool {
    std::env::var_os("UPDATE_COUNTS").is_some_and(|value| value == "1")
}

/// Prints a text even if the test passes.
#[expect(clippy::explicit_write, reason = "what eprintln! prints is kept back by the harness")]
fn show(text: &str) {
    writeln!(std::io::stderr(), "\n{text}").unwrap();
}
