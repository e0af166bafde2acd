//! Parses the head of a request to the proxy (RFC 9112) and makes the head for the server. No I/O.

use httparse::{EMPTY_HEADER, Header, Status};

use super::ProxyRefusal;
use crate::guard::UrlHost;
use crate::hosts::{format_host, parse_host, parse_port};

/// Maximum number of headers of one request.
const MOST_HEADERS: usize = 100;
const HTTP: u16 = 80;
/// Headers that are meant for the proxy alone (RFC 9110, 7.6.1), or that the proxy writes itself.
const DROPPED: [&str; 10] = [
    // The forwarded `Connection: close` would name this header.
    "close",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];
/// The prefix of headers that are meant for a proxy.
const FOR_PROXIES: &str = "proxy-";

/// A parsed request to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyRequest {
    pub(crate) host: UrlHost,
    pub(crate) port: u16,
    pub(crate) kind: RequestKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// `CONNECT`: any bytes in both directions.
    Tunnel,
    /// One request: this head, followed by `length` bytes of body.
    Forward { head: Vec<u8>, length: u64 },
}

/// Parses a head. `bytes` ends with the empty line.
///
/// # Errors
/// [`ProxyRefusal`] if the head is ambiguous or invalid.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<ProxyRequest, ProxyRefusal> {
    if !has_whole_line_ends(bytes) {
        return Err(ProxyRefusal::bad_request("a line ends in half of a line end"));
    }
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut read = httparse::Request::new(&mut headers);
    match read.parse(bytes) {
        Ok(Status::Complete(length)) if length == bytes.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(ProxyRefusal::long_head()),
        Ok(_) | Err(_) => return Err(ProxyRefusal::bad_request("this is not HTTP/1.1")),
    }
    let (Some(method), Some(target), Some(version)) = (read.method, read.path, read.version) else {
        return Err(ProxyRefusal::bad_request("this is not HTTP/1.1"));
    };
    if header_values(read.headers, "host").count() > 1 {
        return Err(ProxyRefusal::bad_request("there are two Host headers"));
    }
    if method == "CONNECT" {
        let (host, port) = parse_authority(target, None)?;
        return Ok(ProxyRequest { host, port, kind: RequestKind::Tunnel });
    }
    let length = body_length(read.headers)?;
    let (authority_of_target, path) = split_absolute(target)?;
    let (host, port) = parse_authority(authority_of_target, Some(HTTP))?;
    let to = format_host(&host, port);
    let to = to.strip_suffix(":80").unwrap_or(&to);
    let mut head = format!("{method} {path} HTTP/1.{version}\r\nHost: {to}\r\n").into_bytes();
    for Header { name, value } in forwarded_headers(read.headers) {
        head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    if let Some(length) = length {
        head.extend(format!("Content-Length: {length}\r\n").into_bytes());
    }
    head.extend(b"Connection: close\r\n\r\n");
    Ok(ProxyRequest {
        host,
        port,
        kind: RequestKind::Forward { head, length: length.unwrap_or_default() },
    })
}

/// Returns `true` if every CR and LF belongs to a CRLF. Servers disagree about single ones.
fn has_whole_line_ends(bytes: &[u8]) -> bool {
    let behind = |at: usize| bytes.get(at + 1);
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at));
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'\r' => behind(at) == Some(&b'\n'),
        b'\n' => before(at) == Some(&b'\r'),
        _ => true,
    })
}

/// Parses a host and a port. Without a port, `otherwise` applies.
fn parse_authority(text: &str, otherwise: Option<u16>) -> Result<(UrlHost, u16), ProxyRefusal> {
    if text.contains('@') {
        return Err(ProxyRefusal::bad_request("there is a user name before the host"));
    }
    let split = text.rsplit_once(':').filter(|_| !text.ends_with(']'));
    let (name, number) = match split {
        Some((name, digits)) => (name, parse_port(digits)),
        None => (text, otherwise),
    };
    parse_host(name)
        .zip(number)
        .ok_or_else(|| ProxyRefusal::bad_request("the target is not a host with a port"))
}

/// Splits an absolute URL into the authority, and the path with its query, both as written.
fn split_absolute(target: &str) -> Result<(&str, String), ProxyRefusal> {
    let (scheme, rest) = target.split_once("://").unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(ProxyRefusal::bad_request(
            "this is a proxy: ask for http://HOST/PATH, or CONNECT HOST:PORT",
        ));
    }
    if rest.contains(['\\', '#']) {
        return Err(ProxyRefusal::bad_request(
            "the target has a character that is not allowed in a URL",
        ));
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((authority, format!("{slash}{path}")))
}

/// Returns the length of the body. Only a single `Content-Length` in digits is accepted.
fn body_length(headers: &[Header<'_>]) -> Result<Option<u64>, ProxyRefusal> {
    let mut lengths = header_values(headers, "content-length");
    let length = lengths.next();
    if header_values(headers, "transfer-encoding").next().is_some() {
        return Err(match length {
            Some(_) => ProxyRefusal::bad_request(
                "Content-Length and Transfer-Encoding contradict each other",
            ),
            None => ProxyRefusal::no_length(),
        });
    }
    let Some(length) = length else { return Ok(None) };
    let digits = std::str::from_utf8(length)
        .ok()
        .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    match (digits.and_then(|digits| digits.parse().ok()), lengths.next()) {
        (Some(length), None) => Ok(Some(length)),
        _ => Err(ProxyRefusal::bad_request("Content-Length is not one number")),
    }
}

fn header_values<'h>(
    headers: &'h [Header<'h>],
    name: &'static str,
) -> impl Iterator<Item = &'h [u8]> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}

fn forwarded_headers<'h>(headers: &'h [Header<'h>]) -> impl Iterator<Item = &'h Header<'h>> {
    let named: Vec<String> = header_values(headers, "connection")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase())
        .collect();
    headers.iter().filter(move |header| {
        let name = header.name.to_ascii_lowercase();
        !DROPPED.contains(&name.as_str())
            && !name.starts_with(FOR_PROXIES)
            && !named.contains(&name)
    })
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
