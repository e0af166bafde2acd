//! The addresses that metadata of a server names, which is untrusted.

use std::net::IpAddr;

use avocet_net::Url;

/// Returns the URL of a server, which is also the name of the resource: without a fragment.
///
/// # Errors
/// The reason why tokens cannot be sent there.
pub(crate) fn server_url(url: &str) -> Result<Url, String> {
    let mut url = Url::parse(url).map_err(|_| "its `url` is not a URL".to_owned())?;
    if url.scheme() != "https" && !is_loopback(&url) {
        return Err("OAuth needs a `url` that begins with https://".to_owned());
    }
    url.set_fragment(None);
    Ok(url)
}

/// Checks an address from metadata. It has `https`. Only a server on the loopback interface may name
/// addresses on that interface, which may also have `http`.
///
/// # Errors
/// The address and the rule, as a sentence.
pub(crate) fn check_address(server: &Url, address: &str) -> Result<Url, String> {
    let refused =
        |rule: &str| format!("its metadata has the address {}, {rule}", shorten_text(address));
    let url = Url::parse(address).map_err(|_| refused("which is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("which has a user name or a password"));
    }
    match (url.scheme(), is_loopback(&url)) {
        ("https" | "http", true) if is_loopback(server) => Ok(url),
        ("https" | "http", true) => Err(refused("which is on this machine")),
        ("https", false) if url.has_host() => Ok(url),
        _ => Err(refused("which does not begin with https://")),
    }
}

/// Returns `true` if the host is the loopback interface.
fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => address.to_canonical().is_loopback(),
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Returns `true` if the resource of the metadata covers a server: the same origin, and the same path
/// or one above it.
pub(crate) fn covers_server(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path());
    let is_above =
        path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && resource.fragment().is_none() && is_above
}

/// Shortens a text of a server, and removes its control characters.
pub(crate) fn shorten_text(text: &str) -> String {
    const MOST: usize = 200;
    let short: String = text.chars().filter(|c| !c.is_control()).take(MOST).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOTE: &str = "https://mcp.example/mcp";

    #[test]
    fn checked_accepts_https_and_loopback_for_loopback_servers() {
        let local = "http://127.0.0.1:9/mcp";
        for (server, address, is_good) in [
            (REMOTE, "https://login.example/authorize?a=b", true),
            (REMOTE, "http://login.example/authorize", false),
            (REMOTE, "https://127.0.0.1/token", false),
            (REMOTE, "https://[::1]/token", false),
            (REMOTE, "https://[::ffff:127.0.0.1]/token", false),
            (REMOTE, "https://localhost./token", false),
            (REMOTE, "https://a.localhost/token", false),
            (REMOTE, "https://user:word@login.example/", false),
            (REMOTE, "file:///etc/passwd", false),
            (REMOTE, "javascript:alert(1)", false),
            (REMOTE, "/token", false),
            (local, "http://localhost:3/token", true),
            (local, "http://[::1]:3/token", true),
            (local, "https://login.example/", true),
            (local, "http://login.example/", false),
        ] {
            let server = Url::parse(server).unwrap();
            assert_eq!(check_address(&server, address).is_ok(), is_good, "{server} {address}");
        }
    }

    #[test]
    fn server_url_refuses_http_of_another_machine() {
        assert!(server_url("http://mcp.example/mcp").is_err());
        assert_eq!(server_url("https://mcp.example/mcp#a").unwrap().as_str(), REMOTE);
        assert!(server_url("http://localhost:1/mcp").is_ok());
    }

    #[test]
    fn covers_needs_the_same_origin_and_a_path_above() {
        let server = Url::parse("https://mcp.example/a/mcp").unwrap();
        for (resource, is_good) in [
            ("https://mcp.example/a/mcp", true),
            ("https://mcp.example/a/mcp/", true),
            ("https://mcp.example/a", true),
            ("https://mcp.example", true),
            ("https://mcp.example:443/", true),
            ("https://mcp.example/a/m", false),
            ("https://mcp.example/b", false),
            ("https://mcp.example/a/mcp/more", false),
            ("https://mcp.example/a/mcp#part", false),
            ("https://mcp.example.evil/a/mcp", false),
            ("http://mcp.example/a/mcp", false),
            ("mcp", false),
        ] {
            assert_eq!(covers_server(resource, &server), is_good, "{resource}");
        }
    }
}
