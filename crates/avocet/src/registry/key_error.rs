//! Errors about a key of a component.

use avocet_config::{ConfigDocument, ConfigError};

/// Creates an error about a key of the table at `path`.
pub(crate) fn key_error(
    document: &ConfigDocument,
    path: &str,
    key: &str,
    error: &str,
) -> ConfigError {
    let path = format!("{path}.{key}");
    document.error_at(&path, format!("`{path}`: {error}"))
}
