//! Swaps a directory or file of the workspace for a link to a victim before each system call of each
//! operation: a second process runs the operation, and this one traces it (ptrace(2)).
//!
//! | this test | the second process |
//! |---|---|
//! | makes a world, and names it | opens the workspace, and sends itself SIGUSR1 |
//! | stops it before its system call N, and swaps the path and the link | waits |
//! | lets it go on | ends the operation, sends itself SIGUSR1, and prints the result |
//! | judges the result and the victim | |
//!
//! N grows until the operation ends before call N. No moment is left to chance.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use avocet_testkit::{SystemPart, skip_without};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::operations::OPERATIONS;
use super::race::{PATHS, SwappedPaths};
use super::world::{CANARY, KINDS, World, open_roots};

/// Tells this test that it is the second process.
const IS_TRACED: &str = "AVOCET_TEST_IS_TRACED";
/// The beginning of the line with a result. The harness prints other lines.
const RESULT: &str = "=> ";
const NAME: &str = "swaps::workspace_withstands_a_swap_before_each_system_call";

#[test]
fn workspace_withstands_a_swap_before_each_system_call() {
    #[expect(clippy::disallowed_methods, reason = "how this test tells itself what to run")]
    if std::env::var_os(IS_TRACED).is_some() {
        return run_operations();
    }
    let Some(mut traced) = TracedProcess::start() else {
        return skip_without(SystemPart::Tracing);
    };
    let (mut swaps, mut done, mut refused) = (0, 0, 0);
    for kind in 0..KINDS.len() {
        for swapped in &PATHS {
            for given in swapped.paths {
                for (operation, (name, _)) in OPERATIONS.iter().enumerate() {
                    let trial = Trial { kind, swapped, given, operation };
                    let mut call = 0;
                    while let Some(result) = trial.swap_before(call, &mut traced) {
                        let TrialResult { shown, before, after } = result;
                        let what =
                            format!("{name} with a swap before call {call}, {trial:?}: {shown}");
                        assert!(!shown.contains(CANARY), "{what}");
                        assert_eq!(before, after, "{what}");
                        let is_done = shown.starts_with("Ok");
                        *(if is_done { &mut done } else { &mut refused }) += 1;
                        call += 1;
                    }
                    assert!(call > 0, "{trial:?} makes no system call");
                    swaps += call;
                }
            }
        }
    }
    println!("{swaps} swaps, {done} operations done, {refused} refused, no harm");
    traced.end();
}

#[test]
fn workspace_of_an_ordinary_user_withstands_a_swap_before_each_system_call() {
    super::as_an_ordinary_user(NAME);
}

/// An operation on a path in a world of one kind. Kind and operation are places in their lists.
#[derive(Debug)]
struct Trial {
    kind: usize,
    swapped: &'static SwappedPaths,
    given: &'static str,
    operation: usize,
}

impl Trial {
    /// Runs the operation, and swaps the paths before this system call of it. Returns the result, and
    /// the states of the victim before and after; `None` if the operation makes fewer calls.
    fn swap_before(&self, call: usize, traced: &mut TracedProcess) -> Option<TrialResult> {
        let world = World::new(true, KINDS[self.kind]);
        self.swapped.steps.iter().try_for_each(|step| world.make(step)).unwrap();
        let given = world.given(&world.filled(self.given));
        let before = world.state();
        let is_swapped = traced.run(self, world.directory(), &given, call, || {
            let (a, b) = (world.root().join("a"), world.root().join("b"));
            // The operation may have removed the path before.
            renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap_or_default();
        });
        let shown = traced.read_result();
        is_swapped.then(|| TrialResult { shown, before, after: world.state() })
    }
}

/// The result of an operation, and the states of the victim around it.
struct TrialResult {
    shown: String,
    before: String,
    after: String,
}

/// The place of [`read_checked`] behind the operations.
const READ_CHECKED: usize = OPERATIONS.len();

/// A check of a path and a read by the same path, which a swap between the two defeats.
fn read_checked(path: &Path) -> Result<String, String> {
    let found = path.symlink_metadata().map_err(|error| error.to_string())?;
    let text = || std::fs::read_to_string(path).map_err(|error| error.to_string());
    if found.is_file() { text() } else { Err("no file".to_owned()) }
}

#[test]
fn swap_before_each_system_call_finds_a_check_that_a_swap_defeats() {
    let Some(mut traced) = TracedProcess::start() else {
        return skip_without(SystemPart::Tracing);
    };
    let trial = Trial { kind: 0, swapped: &PATHS[1], given: "a", operation: READ_CHECKED };
    let mut shown = Vec::new();
    while let Some(result) = trial.swap_before(shown.len(), &mut traced) {
        shown.push(result.shown);
    }
    traced.end();
    let found = |text: &str| shown.iter().any(|shown| shown.contains(text));
    assert!(found("no file") && found(CANARY) && found("plain"), "{shown:?}");
}

/// The second process: runs the operations that its standard input names.
fn run_operations() {
    if ptrace::traceme().is_err() {
        return;
    }
    raise(Signal::SIGSTOP).unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let [kind, operation, directory, given] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let roots = open_roots(Path::new(directory), KINDS[kind.parse::<usize>().unwrap()]);
        let operation = OPERATIONS.get(operation.parse::<usize>().unwrap());
        let path = Path::new(directory).join("workspace").join(given);
        let one = roots.root_of(given).unwrap();
        raise(Signal::SIGUSR1).unwrap();
        let result = match operation {
            Some((_, operation)) => one
                .resolve_path(given)
                .map_err(|error| error.to_string())
                .and_then(|path| operation(one, &path)),
            None => read_checked(&path),
        };
        raise(Signal::SIGUSR1).unwrap();
        println!("{RESULT}{:?}", format!("{result:?}"));
    }
}

/// The second process, seen from this one. Only the thread that started it may trace it.
struct TracedProcess {
    child: Child,
    /// The thread of the test in it.
    thread: Pid,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl TracedProcess {
    /// Returns `None` if this system does not let a process trace its child.
    fn start() -> Option<Self> {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(IS_TRACED, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let WaitStatus::Stopped(thread, Signal::SIGSTOP) = wait() else {
            drop(child.wait());
            return None;
        };
        let options = ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(thread, options).unwrap();
        ptrace::cont(thread, None).unwrap();
        Some(Self { child, thread, input, output: BufReader::new(output).lines() })
    }

    /// Runs an operation, and calls `swap` before this system call of it. Returns `false` if the
    /// operation ended before.
    fn run(
        &mut self,
        trial: &Trial,
        directory: &Path,
        given: &str,
        call: usize,
        swap: impl FnOnce(),
    ) -> bool {
        let Trial { kind, operation, .. } = trial;
        let line = format!("{kind}\t{operation}\t{}\t{given}\n", directory.display());
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.until_mark();
        for stop in 0.. {
            ptrace::syscall(self.thread, None).unwrap();
            match wait() {
                // A call stops the process twice: before it and after it.
                WaitStatus::PtraceSyscall(_) if stop == 2 * call => break,
                WaitStatus::PtraceSyscall(_) => {}
                WaitStatus::Stopped(_, Signal::SIGUSR1) => {
                    ptrace::cont(self.thread, None).unwrap();
                    return false;
                }
                other => panic!("{other:?}"),
            }
        }
        swap();
        ptrace::cont(self.thread, None).unwrap();
        self.until_mark();
        ptrace::cont(self.thread, None).unwrap();
        true
    }

    /// Waits until the process has sent itself the signal that marks an operation.
    fn until_mark(&self) {
        let status = wait();
        assert_eq!(status, WaitStatus::Stopped(self.thread, Signal::SIGUSR1));
    }

    fn read_result(&mut self) -> String {
        loop {
            let line = self.output.next().unwrap().unwrap();
            if let Some(result) = line.strip_prefix(RESULT) {
                return result.trim_matches('"').to_owned();
            }
        }
    }

    /// Ends the process, which must have passed its test.
    fn end(mut self) {
        drop(self.input.take());
        let leader = Pid::from_raw(self.child.id().cast_signed());
        loop {
            match wait() {
                WaitStatus::Exited(process, code) if process == leader => {
                    assert_eq!(code, 0);
                    break;
                }
                WaitStatus::Exited(..) => {}
                other => panic!("{other:?}"),
            }
        }
        drop(self.child.wait());
    }
}

/// Waits for a child or a traced thread of this thread.
fn wait() -> WaitStatus {
    waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)).unwrap()
}
