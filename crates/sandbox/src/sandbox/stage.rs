//! The stages of a sandbox: their names, their start, and the plan that they read.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

/// The first argument of our program when it runs as a stage.
pub(super) const ARGUMENT: &str = "sandbox-stage";

/// The path of our own program, which works even after its file was replaced or hidden.
const OURSELVES: &str = "/proc/self/exe";

/// The stages, in their order.
#[derive(Debug, Clone, Copy)]
pub(super) enum SandboxStage {
    Supervisor,
    Init,
    Exec,
}

impl SandboxStage {
    /// Returns the stage with this name, as in the second argument of our program.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Supervisor, Self::Init, Self::Exec].into_iter().find(|stage| stage.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Supervisor => "supervisor",
            Self::Init => "init",
            Self::Exec => "exec",
        }
    }

    /// Starts the stage with this plan. The child's standard input is its lifeline.
    pub(super) fn start(self, plan: &str) -> std::io::Result<Child> {
        let arguments = [ARGUMENT, self.name()];
        let child = Command::new(OURSELVES).args(arguments).stdin(Stdio::piped()).spawn()?;
        if let Some(mut lifeline) = child.stdin.as_ref() {
            lifeline.write_all(plan.as_bytes())?;
        }
        Ok(child)
    }
}

/// Reads the plan in chunks until one ends with a newline. The lifeline stays silent after that.
pub(super) fn read_plan() -> std::io::Result<String> {
    let mut lifeline = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let (mut line, mut buffer) = (Vec::new(), [0_u8; 4096]);
    while line.last() != Some(&b'\n') {
        match lifeline.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => line.extend_from_slice(&buffer[..read]),
        }
    }
    String::from_utf8(line).map_err(std::io::Error::other)
}
