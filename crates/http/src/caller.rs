//! The one place that decides which client sends a request, by its token.

use std::fmt;

use avocet_gateway::{Caller, ChatPatterns, MCP_CHATS};
use avocet_protocol::access::ClientRole;
use avocet_protocol::ids::SenderId;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::console::Console;
use crate::problem::Problem;
use crate::secret_bytes::is_equal;

/// The name at `/mcp` of a browser that is signed in to the web console.
const CONSOLE: &str = "console";

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

impl HttpCaller {
    /// Returns the rights of the client at `/mcp`. Another model has written the texts there, so they
    /// are no words of the operator who made the token: a higher role than permitted is lowered, and
    /// the sender becomes `mcp:NAME`, which is nobody's owner.
    pub(crate) fn over_mcp(&self) -> Caller {
        let Self(caller, highest) = self;
        if caller.role <= *highest {
            return caller.clone();
        }
        let name = caller.sender.as_str().strip_prefix("http:");
        let sender = SenderId::parse(&format!("mcp:{}", name.unwrap_or(CONSOLE)));
        Caller {
            // A part of an id is an id.
            sender: sender.unwrap_or_else(|_| caller.sender.clone()),
            role: *highest,
            chats: name.map_or_else(own_chats, |_| caller.chats.clone()),
            methods: caller.methods.clone(),
        }
    }
}

/// The chats of an MCP client that no table names: the conversations that it names itself.
fn own_chats() -> ChatPatterns {
    ChatPatterns::new(vec![MCP_CHATS.to_owned()])
}

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
