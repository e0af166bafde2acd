//! Exit codes for scripts. The numbers above 63 are those of sysexits.h.

use std::process::ExitCode;

use avocet_config::ConfigError;
use avocet_gateway::{ClientError, GatewayError};
use avocet_http::ListenError;
use avocet_protocol::bus::PublishError;
use avocet_protocol::store::StoreError;
use avocet_sandbox::WorkspaceError;
use avocet_store::{CopyError, OpenError};
use avocet_supervise::CaughtPanic;

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done = 0,
    /// Failure; the message has the reason.
    Failed = 1,
    /// A file or a value in the arguments is unusable.
    Usage = 2,
    /// The database or its audit table is damaged, or of a newer version; or a model gave no answer
    /// by the JSON Schema. A retry does not help.
    Data = 65,
    /// No daemon answers.
    NoDaemon = 69,
    /// A replayed turn differs from its record. Only `avocet replay` ends so.
    Different = 70,
    /// This system has no sandbox layers for programs. Only `avocet doctor` ends so.
    NoSandbox = 71,
    /// The data directory was deleted or replaced while the daemon ran.
    Lost = 74,
    /// A temporary failure; a retry may succeed.
    TryLater = 75,
    /// A daemon runs, or could, but a provider, a channel or the disk is down. Only `avocet status`
    /// and `avocet doctor` end so.
    Down = 76,
    /// The configuration, or something that it names, is unusable. A retry does not help.
    Configuration = 78,
}

/// The help text about exit codes.
pub(crate) const HELP: &str = "Exit codes: 0 success, 1 failure, 2 wrong usage, 65 the database or its audit \
    table is damaged or of a newer version, or a model gave no answer by the schema (ask), 69 no \
    daemon answers, 70 a replay differs from its record (replay), 71 this system has no sandbox \
    layers for programs (doctor), 74 the data directory was deleted or replaced while the daemon \
    ran, 75 temporary failure (try again later), 76 a provider, a channel or the disk is down \
    (status, doctor), 78 the configuration cannot be used.";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The reason why a command failed, and its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(message.into()) }
    }
}

macro_rules! fails_with {
    ($($error:ty => |$it:ident| $exit:expr;)*) => {
        $(impl From<$error> for Failure {
            fn from($it: $error) -> Self {
                Self { exit: $exit, error: $it.into() }
            }
        })*
    };
}

fails_with! {
    ConfigError => |error| Exit::Configuration;
    WorkspaceError => |error| Exit::Configuration;
    GatewayError => |error| Exit::Configuration;
    ListenError => |error| if error.is_transient() { Exit::TryLater } else { Exit::Configuration };
    std::io::Error => |error| Exit::Failed;
    StoreError => |error| log_exit(&error);
    OpenError => |error| match &error {
        OpenError::Locked { .. } | OpenError::Older { .. } => Exit::TryLater,
        OpenError::Directory { .. } | OpenError::Pragma { .. } => Exit::Configuration,
        OpenError::Newer { .. } | OpenError::Damaged { .. } | OpenError::Undecided { .. } => {
            Exit::Data
        }
        OpenError::Store(error) => log_exit(error),
    };
    CaughtPanic => |error| Exit::Failed;
    ClientError => |error| match &error {
        ClientError::Refused(refusal) if refusal.is_transient() => Exit::TryLater,
        ClientError::Refused(_) | ClientError::Unreadable(_) => Exit::Failed,
        ClientError::Lost => Exit::NoDaemon,
    };
    PublishError => |error| match &error {
        PublishError::Log(log) => log_exit(log),
        _ => Exit::Failed,
    };
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Open(error) => error.into(),
            CopyError::NotWhole { .. } => Self { exit: Exit::Data, error: error.into() },
            error => Self { exit: Exit::Failed, error: error.into() },
        }
    }
}

fn log_exit(error: &StoreError) -> Exit {
    match error {
        StoreError::Damaged { .. } => Exit::Data,
        StoreError::Replaced { .. } => Exit::Lost,
        error if error.is_transient() => Exit::TryLater,
        _ => Exit::Failed,
    }
}
