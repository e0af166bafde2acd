//! The one place that decides which client sends a request, by its token.

use std::fmt;

use avocet_gateway::Caller;
use avocet_protocol::access::ClientRole;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::console::Console;
use crate::problem::Problem;
use crate::secret_bytes::is_equal;

/// A client whose token was checked.
pub(crate) struct CheckedCaller {
    pub(crate) caller: HttpCaller,
    /// For a browser: fires when it is signed out.
    pub(crate) end: Option<CancellationToken>,
}

/// The client that sent a request. The server puts it into the request after the token was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpCaller(
    /// Its rights. The sender of its messages is `http:NAME`, or `uid:N` in the web console.
    pub(crate) Caller,
    /// Its highest role at `/mcp`.
    pub(crate) ClientRole,
);

/// The digest of a client's token. Comparing digests takes the same time for every wrong token of
/// one length, and reveals nothing about the token itself.
#[derive(Clone)]
pub(crate) struct TokenDigest {
    caller: HttpCaller,
    digest: [u8; 32],
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenDigest").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl TokenDigest {
    pub(crate) fn new(caller: HttpCaller, token: &str) -> Self {
        Self { caller, digest: Sha256::digest(token.as_bytes()).into() }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller.0
    }

    pub(crate) fn is_same_token(&self, other: &Self) -> bool {
        is_equal(&self.digest, &other.digest)
    }
}

/// Returns the client whose token a request has.
///
/// # Errors
/// The response to a request without a valid token.
pub(crate) fn caller(
    request: &Parts,
    tokens: &[TokenDigest],
    console: &Console,
) -> Result<CheckedCaller, Problem> {
    let mut values = request.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Problem::unauthorized(
            "send exactly one header `Authorization: Bearer TOKEN`, with a token of \
             [http.tokens.NAME] or of `avocet web`",
        ));
    };
    let token = value.to_str().ok().and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim_matches(' '))
    });
    let Some(token) = token else {
        return Err(Problem::unauthorized("the header Authorization is not `Bearer TOKEN`"));
    };
    let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    // All tokens are compared, so that the time does not depend on the place in the list.
    let known = tokens.iter().fold(None, |found, known| {
        if is_equal(&known.digest, &digest) { Some(&known.caller) } else { found }
    });
    if let Some(caller) = known {
        return Ok(CheckedCaller { caller: caller.clone(), end: None });
    }
    let signed_in = console.verify_token(token).ok_or_else(|| {
        Problem::unauthorized(
            "the token is unknown or has expired; the web console gets one from `avocet web`",
        )
    })?;
    let caller = HttpCaller(Caller::operator(signed_in.sender), ClientRole::Sender);
    Ok(CheckedCaller { caller, end: Some(signed_in.end) })
}

impl<S: Send + Sync> FromRequestParts<S> for HttpCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Option<Self>>().cloned().flatten();
        caller.ok_or_else(|| Problem::unauthorized("this path needs a token"))
    }
}
