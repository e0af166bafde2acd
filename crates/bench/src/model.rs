//! The process of a model fake, seen from the load generator. Killed on drop.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use avocet_protocol::ignore_result;

/// The behaviour of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelManner {
    /// Time before each answer.
    pub(crate) delay: Duration,
    pub(crate) calls: ToolCalls,
    /// File for the body of the first request.
    pub(crate) keep: Option<PathBuf>,
    /// Each answer has a number, and follows the request's choice of a stream; see `FakeOptions`.
    pub(crate) is_numbered: bool,
}

/// The tool calls of each turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ToolCalls {
    #[default]
    Never,
    /// One `read_file` before the reply.
    ReadFile,
}

/// A running model fake.
#[derive(Debug)]
pub(crate) struct ModelProcess {
    child: Child,
    port: u16,
}

impl ModelProcess {
    pub(crate) fn start(manner: &ModelManner) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["model", "--delay", &manner.delay.as_millis().to_string()]);
        if manner.calls == ToolCalls::ReadFile {
            command.arg("--tool");
        }
        if manner.is_numbered {
            command.arg("--numbered");
        }
        if let Some(file) = &manner.keep {
            command.arg("--keep").arg(file);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("the model fake has no stdout")?;
        let mut model = Self { child, port: 0 };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        model.port = line.trim().parse().context("the model fake has printed no port")?;
        Ok(model)
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for ModelProcess {
    fn drop(&mut self) {
        ignore_result(self.child.kill(), "the process has ended already");
        ignore_result(self.child.wait(), "the process has been waited for already");
    }
}
