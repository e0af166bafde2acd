//! The methods about the web console.

use avocet_protocol::channel::{WebBrowser, WebLink};
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

/// `web.browsers`: the browsers that are signed in to the web console, the last sign-in first.
#[derive(Debug)]
pub enum ListBrowsers {}

/// `web.sign_out`: signs a browser out of the web console.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignOutWeb {
    /// The id of the browser. Default: all browsers, and the links that are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
}

method!(OpenWeb = "web.open": Self => WebLink, Operator, Touches::Everything, optional_params);
method!(ListBrowsers = "web.browsers": NoParams => Vec<WebBrowser>, Operator, Touches::Everything);
method!(SignOutWeb = "web.sign_out": Self => (), Operator, Touches::Everything, optional_params);
