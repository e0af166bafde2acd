//! The methods about the web console.

use avocet_protocol::{WebConsole, WebError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::values::{or_empty, read};
use crate::wire::RpcError;

/// `web.open`: makes a link that opens the web console once. The result is a
/// [`WebLink`](avocet_protocol::WebLink).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenWeb {
    /// The port to open if the HTTP interface is off. Default: 8470, or any free port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// Answers `web.open` and `web.sign_out`.
pub(crate) async fn answer_about_console(
    web: &dyn WebConsole,
    caller: &Caller,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    if method == "web.sign_out" {
        return web.sign_out().await.map(|()| Value::Null).map_err(refusal);
    }
    let OpenWeb { port } = read(method, or_empty(params))?;
    // The configuration limits named clients, and a token of the console would outlive their tables.
    if !caller.sender.as_str().starts_with("uid:") {
        let message = format!(
            "{method}: the console is for a user of this system, and {} is a client of the \
             configuration; connect without `hello` of a client",
            caller.sender
        );
        return Err(RpcError::new(RpcError::PARAMS, message));
    }
    web.open(&caller.sender, port).await.map(|link| json!(link)).map_err(refusal)
}

fn refusal(error: WebError) -> RpcError {
    match error {
        WebError::Refused(message) => RpcError::new(RpcError::PARAMS, message),
        WebError::Failed(message) => RpcError::new(RpcError::UNAVAILABLE, message),
    }
}
