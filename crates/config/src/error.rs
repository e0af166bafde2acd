//! An error in a configuration.

use std::fmt;
use std::path::PathBuf;

/// An error in a configuration, with its position. Free of secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// Line and column, counted from 1, in characters.
    pub place: Option<(usize, usize)>,
    /// The path of the key: `agents.defaults.model`; `None` if the error is not about one key.
    pub key: Option<String>,
    /// `true` if the key does not exist.
    pub is_unknown_key: bool,
    /// The fault, and how to correct it.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}", path.display())?,
            None => f.write_str("the configuration")?,
        }
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}
