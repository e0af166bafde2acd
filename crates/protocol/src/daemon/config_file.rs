//! The port for the configuration file of the daemon.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigEdit, FormAddition, FormGroup, FormTable};

/// The longest text of a configuration, in bytes. With its frame it fits into a line of the socket.
pub const MAX_CONFIG_BYTES: usize = 512 * 1024;

/// Reads, checks and writes the configuration file.
#[async_trait]
pub trait ConfigFile: fmt::Debug + Send + Sync {
    /// Reads the file, which may differ from the configuration in use.
    async fn show(&self) -> Result<ShownConfig, ConfigFileError>;

    /// Checks a text as `avocet config check` checks the file, with the environment of the daemon.
    /// The file stays as it is.
    async fn check(&self, text: ConfigText) -> Result<ConfigCheck, ConfigFileError>;

    /// Applies changes to a text, and describes the result as a form. The file stays as it is.
    async fn describe_form(
        &self,
        text: ConfigText,
        edits: Vec<ConfigEdit>,
    ) -> Result<ConfigForm, ConfigFileError>;

    /// Compares the file with the configuration that the daemon uses.
    async fn diff(&self) -> Result<ConfigDiff, ConfigFileError>;

    /// Replaces the file, and keeps the last version beside it. Returns the digest of the new file.
    async fn save(&self, text: ConfigText, digest: &str) -> Result<String, ConfigFileError>;
}

/// The text of a configuration. It may contain secrets, so `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ConfigText(pub String);

impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigText({} bytes)", self.0.len())
    }
}

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownConfig {
    /// The file, or the place where it would be.
    pub path: String,
    /// The text; empty if there is no file.
    pub text: ConfigText,
    /// SHA-256 of the text, in hexadecimal digits.
    pub digest: String,
    /// `true` if the daemon can replace the file.
    pub is_writable: bool,
}

/// The difference between the configuration file and the configuration that the daemon uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDiff {
    /// The file, or the place where it would be.
    pub path: String,
    /// The keys whose values differ, by name.
    pub changes: Vec<ConfigChange>,
}

/// A key whose value in the file is not in use. Secrets are hidden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// The key: `sessions.max_running`.
    pub key: String,
    /// The value in use, as JSON; `None` if the key has its default.
    pub running: Option<String>,
    /// The value in the file, as JSON; `None` if the file does not have the key.
    pub file: Option<String>,
    /// `true` if only the next start uses the value of the file.
    pub needs_restart: bool,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigCheck {
    /// The faults that prevent a start of the daemon. A check ends at the first one.
    pub faults: Vec<ConfigFault>,
    /// References that have no value for the daemon that runs now.
    pub warnings: Vec<ConfigFault>,
}

/// A fault of a configuration, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigFault {
    /// The line, from 1; `None` if the fault has no line.
    pub line: Option<usize>,
    /// The key: `providers.local.api_key`; `None` if the fault is not about one key.
    pub key: Option<String>,
    /// The fault, and its correction.
    pub message: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// A text after changes, its check, and the form that shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigForm {
    /// The text with the changes. Comments, order and all other keys are as before.
    pub text: ConfigText,
    /// The check of that text.
    pub check: ConfigCheck,
    /// The parts of the form, in the order of the reference; empty if the text is no TOML.
    pub groups: Vec<FormGroup>,
    /// The tables, in the order of the reference and of the text.
    pub tables: Vec<FormTable>,
    /// The tables that can be added.
    pub additions: Vec<FormAddition>,
}

/// The reason why the configuration file was not read or replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFileError {
    /// The file has changed since it was read.
    #[error("{0} has changed since it was read; read it again, and repeat your changes")]
    Changed(String),
    /// A daemon cannot start with the text.
    #[error("the configuration cannot be used: {}", in_line(.0))]
    Unusable(Vec<ConfigFault>),
    /// A change cannot be made in the text.
    #[error("{0}")]
    BadEdit(String),
    /// The text is too long.
    #[error("the text has {0} bytes; a configuration has at most {MAX_CONFIG_BYTES}")]
    TooLong(usize),
    /// The file cannot be read or written. The message names the path, the reason and the remedy.
    #[error("{0}")]
    Failed(String),
}

fn in_line(faults: &[ConfigFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
