//! The methods about the configuration file. Its text stays out of the log. The redactor leaves the
//! text as it is, because an operator who saves a redacted text would lose the secrets.

use avocet_protocol::{ConfigFile, ConfigFileError, ConfigText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::read;
use crate::wire::RpcError;

/// `config.check`: checks a text without touching the file. The result is a
/// [`ConfigCheck`](avocet_protocol::ConfigCheck).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// The text of a configuration.
    pub text: ConfigText,
}

/// `config.save`: replaces the file if the text can be used. The result is [`SavedConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaveConfig {
    /// The new text.
    pub text: ConfigText,
    /// The digest of the text that was edited. A file with another digest stays as it is.
    pub digest: String,
}

/// The result of [`SaveConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedConfig {
    /// SHA-256 of the new text, in hexadecimal digits.
    pub digest: String,
}

/// Answers one of these methods. `config.show` returns a
/// [`ShownConfig`](avocet_protocol::ShownConfig), `config.diff` a
/// [`ConfigDiff`](avocet_protocol::ConfigDiff).
pub(crate) async fn answer(
    file: &dyn ConfigFile,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    match method {
        "config.show" => Ok(json!(file.show().await.map_err(|error| refusal(&error))?)),
        "config.diff" => Ok(json!(file.diff().await.map_err(|error| refusal(&error))?)),
        "config.check" => {
            let CheckConfig { text } = read(method, params)?;
            Ok(json!(file.check(text).await.map_err(|error| refusal(&error))?))
        }
        _ => {
            let SaveConfig { text, digest } = read(method, params)?;
            let digest = file.save(text, &digest).await.map_err(|error| refusal(&error))?;
            Ok(json!(SavedConfig { digest }))
        }
    }
}

fn refusal(error: &ConfigFileError) -> RpcError {
    let code = match error {
        ConfigFileError::Changed(_) => RpcError::CONFLICT,
        ConfigFileError::Unusable(_) | ConfigFileError::TooLong(_) => RpcError::PARAMS,
        ConfigFileError::Failed(_) => RpcError::UNAVAILABLE,
    };
    RpcError::new(code, error.to_string())
}
