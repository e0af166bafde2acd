//! The channel `tests/e2e/channel.py` as a child of the daemon.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::Home;

/// The Python of the system, which sandboxes show.
pub const PYTHON: &str = "/usr/bin/python3";
/// The directory of the files that are the platform of the channel.
pub const PLATFORM: &str = "platform";
/// The inbox and the outbox.
pub const FILES: [&str; 2] = ["platform/inbox", "platform/outbox"];

/// Returns the keys of the channel's table that start the program.
#[must_use]
pub fn keys_of_channel_py(home: &Home) -> String {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e");
    let [inbox, outbox] = FILES.map(|file| home.path(file));
    format!(
        "command = [{PYTHON:?}, \"{sources}/channel.py\", \"-\", \"files\", {inbox:?}, {outbox:?}]\n\
         read = [{sources:?}]\nwrite = [{:?}]\n",
        home.path(PLATFORM)
    )
}

/// Kills the Python programs that a process has started. Returns their number.
pub fn kill_python_below(process: u32) -> usize {
    let killed = descendants(process).into_iter().filter(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let program = arguments.split(|byte| *byte == 0).next().unwrap_or_default();
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        // A program may have ended meanwhile.
        program == PYTHON.as_bytes()
            && pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    });
    killed.count()
}

fn descendants(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
        let children: Vec<String> = children.flatten().collect();
        let children = children.iter().flat_map(|line| line.split_whitespace());
        found.extend(children.filter_map(|pid| pid.parse::<u32>().ok()).collect::<Vec<_>>());
        next += 1;
    }
    found.split_off(1)
}
