//! The head of a request to the proxy (RFC 9112): where it goes, and what the server is told. No I/O.

use httparse::{EMPTY_HEADER, Header, Status};

use super::Refused;
use crate::guard::Host;
use crate::hosts::{host, port, shown};

/// Headers of one request.
const MOST_HEADERS: usize = 100;
const HTTP: u16 = 80;
/// Headers that are meant for the next one alone (RFC 9110, 7.6.1), or that are said anew.
const DROPPED: [&str; 10] = [
    // What `Connection: close`, which goes on, would name.
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
/// How headers begin that are meant for a proxy.
const FOR_PROXIES: &str = "proxy-";

/// What is asked of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes in both directions, whatever they are.
    Tunnel,
    /// One request, with this head and as many bytes behind it.
    Forward { head: Vec<u8>, length: u64 },
}

/// Reads a head, with the empty line at its end and nothing behind it.
///
/// # Errors
/// [`Refused`] if it can be read in two ways, or in none.
pub(crate) fn parse(bytes: &[u8]) -> Result<Request, Refused> {
    if !has_whole_line_ends(bytes) {
        return Err(Refused::bad("a line ends in half of a line end"));
    }
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut read = httparse::Request::new(&mut headers);
    match read.parse(bytes) {
        Ok(Status::Complete(length)) if length == bytes.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Refused::long()),
        Ok(_) | Err(_) => return Err(Refused::bad("this is no HTTP/1.1")),
    }
    let (Some(method), Some(target), Some(version)) = (read.method, read.path, read.version) else {
        return Err(Refused::bad("this is no HTTP/1.1"));
    };
    if values(read.headers, "host").count() > 1 {
        return Err(Refused::bad("there are two Host headers"));
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Request { host, port, kind: Kind::Tunnel });
    }
    let length = length(read.headers)?;
    let (authority_of_target, path) = absolute(target)?;
    let (host, port) = authority(authority_of_target, Some(HTTP))?;
    let to = shown(&host, port);
    let to = to.strip_suffix(":80").unwrap_or(&to);
    let mut head = format!("{method} {path} HTTP/1.{version}\r\nHost: {to}\r\n").into_bytes();
    for Header { name, value } in kept(read.headers) {
        head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    if let Some(length) = length {
        head.extend(format!("Content-Length: {length}\r\n").into_bytes());
    }
    head.extend(b"Connection: close\r\n\r\n");
    Ok(Request { host, port, kind: Kind::Forward { head, length: length.unwrap_or_default() } })
}

/// Whether no byte of a line end stands alone: some servers take one for a line end, and some do not.
fn has_whole_line_ends(bytes: &[u8]) -> bool {
    let behind = |at: usize| bytes.get(at + 1);
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at));
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'\r' => behind(at) == Some(&b'\n'),
        b'\n' => before(at) == Some(&b'\r'),
        _ => true,
    })
}

/// A host and a port, without which `otherwise` is meant.
fn authority(text: &str, otherwise: Option<u16>) -> Result<(Host, u16), Refused> {
    if text.contains('@') {
        return Err(Refused::bad("there is a user name before the host"));
    }
    let split = text.rsplit_once(':').filter(|_| !text.ends_with(']'));
    let (name, number) = match split {
        Some((name, digits)) => (name, port(digits)),
        None => (text, otherwise),
    };
    host(name).zip(number).ok_or_else(|| Refused::bad("the target is no host with a port"))
}

/// What stands between `http://` and the path, and the path with its query, as they were written.
fn absolute(target: &str) -> Result<(&str, String), Refused> {
    let (scheme, rest) = target.split_once("://").unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Refused::bad(
            "this is a proxy: ask for http://HOST/PATH, or CONNECT HOST:PORT",
        ));
    }
    if rest.contains(['\\', '#']) {
        return Err(Refused::bad("the target has a character that no URL has"));
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((authority, format!("{slash}{path}")))
}

/// How many bytes are behind the head, if it says so: in digits, once, and in no other way.
fn length(headers: &[Header<'_>]) -> Result<Option<u64>, Refused> {
    let mut lengths = values(headers, "content-length");
    let length = lengths.next();
    if values(headers, "transfer-encoding").next().is_some() {
        return Err(match length {
            Some(_) => Refused::bad("Content-Length and Transfer-Encoding say different things"),
            None => Refused::no_length(),
        });
    }
    let Some(length) = length else { return Ok(None) };
    let digits = std::str::from_utf8(length)
        .ok()
        .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    match (digits.and_then(|digits| digits.parse().ok()), lengths.next()) {
        (Some(length), None) => Ok(Some(length)),
        _ => Err(Refused::bad("Content-Length is not one number")),
    }
}

fn values<'h>(headers: &'h [Header<'h>], name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}

/// The headers that go on.
fn kept<'h>(headers: &'h [Header<'h>]) -> impl Iterator<Item = &'h Header<'h>> {
    let named: Vec<String> = values(headers, "connection")
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
