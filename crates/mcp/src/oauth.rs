//! The OAuth 2.1 client of servers over HTTP (MCP specification, "Authorization").
//!
//! `challenge` is the refusal of a server, `address` the rule for addresses from metadata, `endpoint`
//! the requests to an authorization server, `metadata` the search for it, `tokens` the file with the
//! tokens, `access` the token of a request, `sent_tokens` the tokens that a server may repeat, `login`
//! the login of a person, and `callback` the end of a login in a browser.

mod access;
mod address;
mod callback;
mod challenge;
mod endpoint;
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
