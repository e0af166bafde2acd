//! The proxy of an account.

use avocet_protocol::Secret;
use reqwest::{Proxy, Url};

const SCHEMES: [&str; 3] = ["http", "socks5", "socks5h"];

/// The error for another form, which hides the value, because it may contain a password.
pub(crate) const FORM: &str = "it is not the URL of a proxy: write socks5h://HOST:PORT or \
    socks5h://USER:PASSWORD@HOST:PORT; socks5:// and http:// are possible too";

/// A proxy that does not exist, because no host has this name (RFC 2606).
const UNREACHABLE: &str = "socks5h://proxy.invalid:1080";

/// Reads a URL that was checked before. A command may run without the value of a secret; its bot must
/// not go around the proxy, so it gets one that cannot be reached.
pub(crate) fn parse_or_unreachable(proxy: &Secret) -> Option<Proxy> {
    parse(proxy).or_else(|| Proxy::all(UNREACHABLE).ok())
}

/// Reads the URL of a proxy; `None` for another text.
pub(crate) fn parse(proxy: &Secret) -> Option<Proxy> {
    let url: Url = proxy.expose().parse().ok()?;
    let has_host = url.host_str().is_some_and(|host| !host.is_empty());
    if !has_host || !SCHEMES.contains(&url.scheme()) {
        return None;
    }
    Proxy::all(url).ok()
}
