//! The standard streams of a program that the daemon talks to. Stage 3 makes three pipes and sends
//! the daemon's ends through its own standard output, which is a socket.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::descriptors;

/// The daemon's ends of a program's standard streams.
#[derive(Debug)]
pub struct ProgramStreams {
    /// The program's standard input. Dropping this end closes it.
    pub stdin: Sender,
    /// The program's standard output.
    pub stdout: Receiver,
    /// The program's standard error.
    pub stderr: Receiver,
}

/// The program's ends of its standard streams.
pub(super) struct ProgramEnds {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl ProgramEnds {
    /// Makes ends without input. Both outputs go to the standard output of this stage.
    pub(super) fn output_only() -> io::Result<Self> {
        let stdin = File::open("/dev/null")?.into();
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        let stderr = stdout.try_clone()?;
        Ok(Self { stdin, stdout, stderr })
    }
}

/// Makes the streams, and sends the daemon's ends to the other end of standard output.
pub(super) fn hand_over_streams() -> io::Result<ProgramEnds> {
    let (stdin, to_stdin) = io::pipe()?;
    let (from_stdout, stdout) = io::pipe()?;
    let (from_stderr, stderr) = io::pipe()?;
    descriptors::send_files(
        io::stdout(),
        [to_stdin.as_fd(), from_stdout.as_fd(), from_stderr.as_fd()],
    )?;
    Ok(ProgramEnds { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() })
}

/// Receives the streams from stage 3. Fails if the stages end without sending them.
pub(super) async fn take_streams(from: &UnixStream) -> io::Result<ProgramStreams> {
    let [stdin, stdout, stderr] = descriptors::receive_files(from).await?;
    Ok(ProgramStreams {
        stdin: Sender::from_owned_fd(stdin)?,
        stdout: Receiver::from_owned_fd(stdout)?,
        stderr: Receiver::from_owned_fd(stderr)?,
    })
}
