//! The OAuth 2.1 client of servers over HTTP (MCP specification, "Authorization").
//!
//! - `challenge`: the refusal of a server.
//! - `address`: the rule for addresses from metadata.
//! - `metadata`, `endpoint`: the search for an authorization server, and the requests to it.
//! - `tokens`, `access`: the file with the tokens, and the token of a request.
//! - `sent_tokens`: the tokens that a server may repeat.
//! - `login`, `callback`: the login of a person, and its end in a browser.

mod access;
mod address;
mod callback;
mod challenge;
mod endpoint;
mod exposed_secret;
#[cfg(test)]
mod fake;
mod login;
mod metadata;
mod sent_tokens;
mod tokens;

pub use callback::CallbackListener;
pub use login::{LoginDone, PendingLogin};

pub(crate) use access::{ServerAccess, ServerAccessParts};
pub(crate) use challenge::BearerChallenge;
pub(crate) use endpoint::OAuthHttp;
pub(crate) use tokens::TokenFile;
