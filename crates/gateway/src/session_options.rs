//! The methods about the settings of a conversation that people choose.

use avocet_protocol::{SenderId, SessionId, SessionOptions, SetOptionError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{fitting, read, unavailable};
use crate::wire::RpcError;

/// `sessions.options`: the settings of a conversation. The result is a list of
/// [`SessionOption`](avocet_protocol::SessionOption). `sessions.set_option` takes a
/// [`SetSessionOption`](avocet_protocol::SetSessionOption) and has the same result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowOptions {
    /// The conversation. It may be new.
    pub session: SessionId,
}

/// Answers `sessions.options`, and `sessions.set_option` for `sender`.
pub(crate) async fn answer_about_options(
    options: &dyn SessionOptions,
    sender: &SenderId,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let options = if method == "sessions.options" {
        let ShowOptions { session } = read(method, params)?;
        options.session_options(&session).await.map_err(unavailable)?
    } else {
        let change = read(method, params)?;
        options.set_session_option(sender, &change).await.map_err(|error| refused(&error))?
    };
    Ok(fitting(json!(options)))
}

fn refused(error: &SetOptionError) -> RpcError {
    let code = match error {
        SetOptionError::NotOwner { .. } => RpcError::NOT_ALLOWED,
        SetOptionError::Unknown(_) => RpcError::PARAMS,
        SetOptionError::Log(_) => RpcError::UNAVAILABLE,
    };
    RpcError::new(code, error.to_string())
}
