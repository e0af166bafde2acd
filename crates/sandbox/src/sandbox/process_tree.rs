//! Kills everything in a sandbox.

use std::fs;
use std::io::Read;

use avocet_protocol::ignore_result;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::report::{StageContext, StageError};

/// Watches the lifeline. When the other end of standard input is closed, calls `kill` to kill the
/// started processes, and ends this process.
pub(super) fn watch_lifeline(kill: fn()) -> Result<(), StageError> {
    let wait = move || {
        let mut rest = [0_u8; 64];
        while !matches!(std::io::stdin().read(&mut rest), Ok(0) | Err(_)) {}
        kill();
        #[expect(clippy::disallowed_methods, reason = "nothing of this process is worth keeping")]
        std::process::exit(1)
    };
    #[expect(clippy::disallowed_methods, reason = "this process has no tasks, and ends with it")]
    let started = std::thread::Builder::new().name("lifeline".to_owned()).spawn(wait);
    started.map(drop).context("the lifeline")
}

/// Kills all descendants of this process, which reaps the orphans among them, until none is left.
pub(super) fn kill_below() {
    let own = Pid::this();
    loop {
        for pid in processes_below(own.as_raw()).into_iter().chain(children_of("self")) {
            ignore_result(
                kill(Pid::from_raw(pid), Signal::SIGKILL),
                "the process may have ended by itself",
            );
        }
        // This reaps dead processes, waits for dying ones, and fails when none is left.
        match waitpid(None, None::<WaitPidFlag>) {
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => {}
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}

/// Returns the children of a process. The kernel lists them even if `/proc` hides them.
fn children_of(parent: &str) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let listed =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let parsed = |list: String| list.split_whitespace().flat_map(str::parse).collect::<Vec<_>>();
    listed.flat_map(parsed).collect()
}

/// Returns this process, which reaps the orphans below it, and all processes below it.
pub(super) fn below_and_self() -> Vec<i32> {
    let mut all = vec![Pid::this().as_raw()];
    let mut next = 0;
    while let Some(parent) = all.get(next) {
        all.extend(children_of(&parent.to_string()));
        next += 1;
    }
    all
}

/// Returns the processes below `root`, by their parents in `/proc`.
fn processes_below(root: i32) -> Vec<i32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The line is "pid (name) state parent ...", and a name may have brackets and spaces.
        let parent =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parents.extend(parent.map(|parent: i32| (pid, parent)));
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}
