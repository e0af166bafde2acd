//! Counts the packages of the program: each costs time of a build, bytes, and trust.

use std::collections::BTreeSet;
use std::process::Command;

use crate::counts::Counts;

/// Counts the packages that the whole program and the slim one are linked from.
pub(crate) fn linked() -> Counts {
    let mut counts = Counts::default();
    for (program, features) in [("program", "full"), ("slim_program", "")] {
        counts.add(program, "packages", count_packages(features));
    }
    counts
}

fn count_packages(features: &str) -> u64 {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--package", "avocet", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--no-default-features", "--features", features, "--no-dedupe"]);
    let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // A line is `name v1.2.3`, with a path or a mark behind it.
    let packages = text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    packages.collect::<BTreeSet<_>>().len() as u64
}
