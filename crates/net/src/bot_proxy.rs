//! The proxy of a bot's account.

use avocet_text::Secret;
use reqwest::{Proxy, Url};

const SCHEMES: [&str; 3] = ["http", "socks5", "socks5h"];

/// The error for another form, which hides the value, because it may contain a password.
pub const FORM: &str = "it is not the URL of a proxy: write socks5h://HOST:PORT or \
    socks5h://USER:PASSWORD@HOST:PORT; socks5:// and http:// are possible too";

/// The error for a login that does not fit into the protocol. It hides the value, too.
const LONG_LOGIN: &str = "the user and the password of a SOCKS5 proxy have at most 255 bytes each";

/// Bytes of a user and of a password (RFC 1929).
const MAX_LOGIN: usize = 255;

/// A proxy that does not exist, because no host has this name (RFC 2606).
const UNREACHABLE: &str = "socks5h://proxy.invalid:1080";

/// Parses a URL that was checked before. A command may run without the value of a secret. Its bot
/// must not bypass the proxy, so the bot gets a proxy that cannot be reached.
#[must_use]
pub fn parse_or_unreachable(proxy: &Secret) -> Option<Proxy> {
    parse_proxy(proxy).or_else(|_| Proxy::all(UNREACHABLE)).ok()
}

/// Reads the URL of a proxy.
///
/// # Errors
/// The fault, without the value.
pub fn parse_proxy(proxy: &Secret) -> Result<Proxy, &'static str> {
    let url: Url = proxy.expose().parse().map_err(|_| FORM)?;
    let has_host = url.host_str().is_some_and(|host| !host.is_empty());
    if !has_host || !SCHEMES.contains(&url.scheme()) {
        return Err(FORM);
    }
    let login = [url.username(), url.password().unwrap_or_default()];
    if url.scheme() != "http" && login.iter().any(|part| decoded_bytes(part) > MAX_LOGIN) {
        return Err(LONG_LOGIN);
    }
    Proxy::all(url).map_err(|_| FORM)
}

/// The length of a part of a URL after its `%` escapes are decoded.
fn decoded_bytes(part: &str) -> usize {
    let is_escape =
        |three: &&[u8]| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit);
    part.len() - 2 * part.as_bytes().windows(3).filter(is_escape).count()
}
