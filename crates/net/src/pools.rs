//! The connections of an [`HttpClient`](crate::HttpClient): one pool for `http` URLs, one for `https`.
//! Each pool is made at its first request. The certificates of the system cost a third of the time of a
//! start, and a daemon with a model on its own network never needs them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::detail::describe_error;
use crate::error::NetError;
use crate::public::PublicOnly;
use crate::response::client_builder;

/// Idle connections are closed after this time.
const IDLE: Duration = Duration::from_secs(90);

/// The pools; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionPools(Arc<Pools>);

#[derive(Debug)]
struct Pools {
    /// The headers of every request.
    headers: HeaderMap,
    /// Restricts the addresses, if present.
    public: Option<PublicOnly>,
    plain: OnceLock<Result<reqwest::Client, NetError>>,
    encrypted: OnceLock<Result<reqwest::Client, NetError>>,
}

/// The certificates that a pool trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrustedRoots {
    /// For plain connections.
    None,
    /// Those of the system, and those of Mozilla.
    All,
}

impl ConnectionPools {
    pub(crate) fn new(headers: HeaderMap, public: Option<PublicOnly>) -> Self {
        let (plain, encrypted) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Pools { headers, public, plain, encrypted }))
    }

    /// Returns the pool for this URL.
    ///
    /// # Errors
    /// [`NetError::Invalid`] if the system's certificates cannot be used.
    pub(crate) fn pool_for(&self, url: &str) -> Result<&reqwest::Client, NetError> {
        let pools = &self.0;
        let is_plain = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"));
        let (pool, roots) = if is_plain {
            (&pools.plain, TrustedRoots::None)
        } else {
            (&pools.encrypted, TrustedRoots::All)
        };
        pool.get_or_init(|| pools.make_pool(roots)).as_ref().map_err(Clone::clone)
    }
}

impl Pools {
    fn make_pool(&self, roots: TrustedRoots) -> Result<reqwest::Client, NetError> {
        let mut builder = client_builder()
            .tls_built_in_root_certs(roots == TrustedRoots::All)
            .pool_idle_timeout(IDLE)
            .default_headers(self.headers.clone());
        if let Some(public) = &self.public {
            builder = builder.dns_resolver(Arc::new(public.clone()));
        }
        builder.build().map_err(|error| NetError::Invalid(describe_error(error)))
    }
}

#[cfg(test)]
#[path = "pools_tests.rs"]
mod tests;
