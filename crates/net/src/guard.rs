//! Decides which URLs and addresses people, models and pages may request: only HTTP to the public
//! Internet. Opens no socket.

mod special;

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

pub use special::is_public;

/// Domains whose names mean the host or its network: special-use names (RFC 6761, 6762, 7686, 8375,
/// 9476), `internal`, which clouds use for their metadata services, and domains that routers and
/// offices use.
const LOCAL_DOMAINS: [&str; 17] = [
    "alt",
    "corp",
    "domain",
    "example",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
    "svc",
    "test",
];

/// Decides about URLs and addresses.
#[derive(Debug, Clone, Default)]
pub struct UrlGuard {
    own: HashSet<IpAddr>,
    #[cfg(any(test, feature = "testing"))]
    allowed: Option<SocketAddr>,
}

/// A rule that a refused request would have broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlRule {
    /// The text is not a URL, or its host is neither a name nor an address.
    #[error("no URL")]
    NoUrl,
    /// The scheme is neither `http` nor `https`.
    #[error("neither http nor https")]
    Scheme,
    /// A user name or a password before the host, which looks like another host.
    #[error("a user name in the URL")]
    UserInfo,
    /// The name means the host or its network. Its addresses are irrelevant.
    #[error("a local name")]
    LocalName,
    /// The name has no address, or the lookup failed.
    #[error("no address")]
    NoAddress,
    /// The address belongs to this host.
    #[error("an address of this host")]
    Own,
    /// The address is outside the public Internet. The text names its network.
    #[error("{0}")]
    Special(&'static str),
    /// A redirect from `https` to `http`.
    #[error("a redirect from https to http")]
    Downgrade,
    /// The limit of redirects is exceeded.
    #[error("too many redirects")]
    Redirects,
}

/// A request that is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlRefusal {
    /// Scheme, host and port of the URL. Other parts may be secret. `None` if the URL is invalid.
    pub origin: Option<String>,
    /// The forbidden address, if the rule is about an address.
    pub address: Option<IpAddr>,
    /// The broken rule.
    pub rule: UrlRule,
}

const NO_URL: UrlRefusal = UrlRefusal { origin: None, address: None, rule: UrlRule::NoUrl };

impl fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, address, rule } = self;
        write!(f, "{} is refused: ", origin.as_deref().unwrap_or("the URL"))?;
        match address {
            Some(address) => write!(f, "{address} is not public: {rule}"),
            None => write!(f, "{rule}"),
        }
    }
}

impl std::error::Error for UrlRefusal {}

/// A URL that may be requested, once its addresses have been judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlTarget {
    url: Url,
    host: UrlHost,
    port: u16,
}

/// The host part of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlHost {
    /// An address, already judged.
    Address(IpAddr),
    /// A name. Its addresses are judged after it has been resolved.
    Name(String),
}

impl UrlTarget {
    /// Only its form and its host are judged so far.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the URL by value.
    #[must_use]
    pub fn into_url(self) -> Url {
        self.url
    }

    /// The server.
    #[must_use]
    pub fn host(&self) -> &UrlHost {
        &self.host
    }

    /// Names the origin only: the rest of a URL may carry secrets.
    #[must_use]
    pub fn refuse_by(&self, rule: UrlRule) -> UrlRefusal {
        UrlRefusal { origin: Some(origin_of(&self.url)), address: None, rule }
    }
}

impl UrlGuard {
    /// Returns a guard for a host that has these addresses.
    #[must_use]
    pub fn new(own: impl IntoIterator<Item = IpAddr>) -> Self {
        let own = own.into_iter().map(|address| address.to_canonical()).collect();
        Self {
            own,
            #[cfg(any(test, feature = "testing"))]
            allowed: None,
        }
    }

    /// Also allows requests to this address and port, so that a test can answer them.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn with_allowed(self, address: SocketAddr) -> Self {
        Self { allowed: Some(address), ..self }
    }

    /// Judges a URL as the URL standard reads it. If its host is an address, the address is judged
    /// too.
    ///
    /// # Errors
    /// [`UrlRefusal`] if the URL is forbidden regardless of the addresses of its name.
    pub fn judge_url(&self, url: &str) -> Result<UrlTarget, UrlRefusal> {
        self.judge_parsed(Url::parse(url).map_err(|_| NO_URL)?)
    }

    /// Judges the target of a redirect, in the same way as [`Self::judge_url`].
    ///
    /// # Errors
    /// [`UrlRefusal`], also if the redirect leads from `https` to `http`: an encrypted request must
    /// not be repeated in clear text.
    pub fn judge_redirect(
        &self,
        from: &UrlTarget,
        location: &str,
    ) -> Result<UrlTarget, UrlRefusal> {
        let target = self.judge_parsed(from.url.join(location).map_err(|_| NO_URL)?)?;
        match (from.url.scheme(), target.url.scheme()) {
            ("https", "http") => Err(target.refuse_by(UrlRule::Downgrade)),
            _ => Ok(target),
        }
    }

    fn judge_parsed(&self, url: Url) -> Result<UrlTarget, UrlRefusal> {
        let refuse = |rule| Err(UrlRefusal { origin: Some(origin_of(&url)), address: None, rule });
        if !matches!(url.scheme(), "http" | "https") {
            return refuse(UrlRule::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse(UrlRule::UserInfo);
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return refuse(UrlRule::NoUrl);
        };
        // The parser has normalised every spelling of an address.
        let host = match host.trim_matches(['[', ']']).parse() {
            Ok(address) => UrlHost::Address(address),
            Err(_) if is_local(host) => return refuse(UrlRule::LocalName),
            Err(_) => UrlHost::Name(host.to_owned()),
        };
        let target = UrlTarget { url, host, port };
        if let UrlHost::Address(address) = target.host {
            self.judge_addresses(&target, &[address])?;
        }
        Ok(target)
    }

    /// Judges the addresses of a URL's host and returns the socket addresses to connect to. A
    /// single forbidden address refuses the whole host: the owner of a name has no honest reason
    /// for it.
    ///
    /// # Errors
    /// [`UrlRefusal`] if `found` is empty; otherwise it names the first forbidden address.
    pub fn judge_addresses(
        &self,
        target: &UrlTarget,
        found: &[IpAddr],
    ) -> Result<Vec<SocketAddr>, UrlRefusal> {
        if found.is_empty() {
            return Err(target.refuse_by(UrlRule::NoAddress));
        }
        let judged = found.iter().map(|address| {
            let socket = SocketAddr::new(*address, target.port);
            self.judge_address(socket)
                .map(|()| socket)
                .map_err(|rule| UrlRefusal { address: Some(*address), ..target.refuse_by(rule) })
        });
        judged.collect()
    }

    /// Judges the addresses of a name, for any port, in the same way as [`Self::judge_addresses`].
    ///
    /// # Errors
    /// [`UrlRefusal`] if `found` is empty, or if an address is forbidden.
    pub(crate) fn judge_resolved(&self, name: &str, found: &[IpAddr]) -> Result<(), UrlRefusal> {
        let target = self.judge_url(&format!("http://{name}"))?;
        self.judge_addresses(&target, found).map(drop)
    }

    pub(crate) fn judge_address(&self, to: SocketAddr) -> Result<(), UrlRule> {
        #[cfg(any(test, feature = "testing"))]
        if self.allowed == Some(to) {
            return Ok(());
        }
        let address = to.ip();
        if special::reached_addresses(address)
            .iter()
            .chain([&address])
            .any(|it| self.own.contains(it))
        {
            return Err(UrlRule::Own);
        }
        is_public(address)
    }
}

/// Returns `true` if a name means the host or its network. The host's own search list completes
/// names of one label. A name with an empty label is invalid.
fn is_local(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let below = |domain: &&str| {
        name.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !name.contains('.') || name.split('.').any(str::is_empty) || LOCAL_DOMAINS.iter().any(below)
}

/// Returns scheme, host and port.
fn origin_of(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
