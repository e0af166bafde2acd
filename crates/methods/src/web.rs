//! The methods about the web console.

use avocet_protocol::channel::WebLink;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NoParams, Touches};

/// `web.open`: makes a link that opens the web console once. The result is a
/// [`WebLink`](avocet_protocol::channel::WebLink).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenWeb {
    /// The port to open if the HTTP interface is off. Default: 8470, or any free port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// `web.sign_out`: ends all sign-ins of the web console.
#[derive(Debug)]
pub enum SignOutWeb {}

method!(OpenWeb = "web.open": Self => WebLink, Operator, Touches::Everything, optional_params);
method!(SignOutWeb = "web.sign_out": NoParams => (), Operator, Touches::Everything);
