//! Checks the host and the origin of every request first. This stops web pages of other sites that
//! run in a browser on this machine, even under a name that resolves to this machine (DNS
//! rebinding).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::HeaderValue;
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;

use crate::problem::Problem;

const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// A host under which clients may reach the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    name: String,
    /// `None` allows every port.
    port: Option<u16>,
}

/// The hosts that a server accepts.
#[derive(Debug, Clone)]
pub(crate) struct HostGuard {
    /// The port that the server listens on.
    pub(crate) port: u16,
    /// Hosts in addition to the loopback names and addresses.
    pub(crate) hosts: Vec<AllowedHost>,
}

/// The kind of host that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedHost {
    /// A loopback name or address.
    Loopback,
    /// A host of the configuration.
    Listed,
}

impl AllowedHost {
    /// Parses a host of the configuration; `None` if it is not a name or address.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        HostAndPort::parse(text).map(|HostAndPort { name, port }| Self { name, port })
    }
}

/// `NAME`, or `NAME:PORT`.
impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, port } = self;
        match port {
            Some(port) => write!(f, "{name}:{port}"),
            None => f.write_str(name),
        }
    }
}

/// The host of a request in lower case, and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostAndPort {
    name: String,
    port: Option<u16>,
}

impl HostAndPort {
    fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let name = authority.host().to_ascii_lowercase();
        // Refuse a user name before the host, and a port that is not a number.
        let port = match text.get(name.len()..)? {
            "" => None,
            rest => Some(port(rest.strip_prefix(':')?)?),
        };
        (!name.is_empty()).then_some(Self { name, port })
    }

    fn is_loopback(&self) -> bool {
        let v6 = self.name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        self.name == "localhost"
            || self.name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
            || v6.is_some_and(|v6| v6.parse::<Ipv6Addr>().is_ok_and(|v6| v6.is_loopback()))
    }

    fn or_default(self, port: u16) -> Self {
        Self { port: self.port.or(Some(port)), ..self }
    }
}

impl HostGuard {
    /// Checks the host and the origin of a request.
    ///
    /// # Errors
    /// [`Problem`] if the host is missing, invalid or another one, or the origin is another one.
    pub(crate) fn check(&self, request: &Parts) -> Result<RequestedHost, Problem> {
        let host = only(request.headers.get_all(HOST).iter())
            .and_then(|host| HostAndPort::parse(host.to_str().ok()?))
            .ok_or_else(|| Problem::bad_request("send exactly one valid header Host"))?;
        if let Some(target) = request.uri.authority()
            && HostAndPort::parse(target.as_str()).as_ref() != Some(&host)
        {
            return Err(Problem::foreign(
                "the target of the request is another host than its Host",
            ));
        }
        let kind = self.kind(&host).ok_or_else(|| {
            Problem::foreign(format!(
                "the host {} is not served here; add it to [http] hosts if clients reach the \
                 daemon under this name",
                host.name
            ))
        })?;
        let mut origins = request.headers.get_all(ORIGIN).iter().peekable();
        if origins.peek().is_some() && !only(origins).is_some_and(|one| is_own(one, &host, kind)) {
            return Err(Problem::foreign("pages of other origins may not use this interface"));
        }
        Ok(kind)
    }

    /// Returns `true` if requests for this host are answered.
    pub(crate) fn serves(&self, host: &str) -> bool {
        HostAndPort::parse(host).is_some_and(|host| self.kind(&host).is_some())
    }

    fn kind(&self, host: &HostAndPort) -> Option<RequestedHost> {
        if host.is_loopback() && host.port.unwrap_or(HTTP_PORT) == self.port {
            return Some(RequestedHost::Loopback);
        }
        let is_listed = self.hosts.iter().any(|allowed| {
            allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port)
        });
        is_listed.then_some(RequestedHost::Listed)
    }
}

/// Parses a port. Refuses a sign, which `parse` alone accepts.
fn port(digits: &str) -> Option<u16> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Returns `true` if an origin is the server itself, under the host of the request. `https` is
/// accepted only for a listed host, because only there can a reverse proxy add TLS.
fn is_own(origin: &HeaderValue, host: &HostAndPort, kind: RequestedHost) -> bool {
    let Some((scheme, authority)) = origin.to_str().ok().and_then(|one| one.split_once("://"))
    else {
        return false;
    };
    let port = match (scheme, kind) {
        ("http", _) => HTTP_PORT,
        ("https", RequestedHost::Listed) => HTTPS_PORT,
        _ => return false,
    };
    let origin = HostAndPort::parse(authority).map(|origin| origin.or_default(port));
    origin == Some(host.clone().or_default(port))
}

/// Returns the only value; `None` if there is none, or several.
fn only<'h>(mut values: impl Iterator<Item = &'h HeaderValue>) -> Option<&'h HeaderValue> {
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
