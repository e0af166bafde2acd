use super::*;

/// Parses a head and shows it in one line: target, forwarded head, length of the body.
fn read(head: &str) -> Result<String, ProxyRefusal> {
    let ProxyRequest { host, port, kind } = parse_head(head.as_bytes())?;
    let to = format_host(&host, port);
    Ok(match kind {
        RequestKind::Tunnel => to,
        RequestKind::Forward { head, length } => {
            format!("{to} | {} | {length}", String::from_utf8(head).unwrap().replace("\r\n", "\\"))
        }
    })
}

#[test]
fn head_parse_returns_the_target_and_the_head_for_the_server() {
    for (head, expected) in [
        ("CONNECT crates.io:443 HTTP/1.1\r\nHost: crates.io:443\r\n\r\n", "crates.io:443"),
        ("CONNECT Crates.IO.:443 HTTP/1.0\r\n\r\n", "crates.io:443"),
        ("CONNECT [::1]:80 HTTP/1.1\r\n\r\n", "[::1]:80"),
        ("CONNECT 0x7f.1:80 HTTP/1.1\r\nHost: other.example\r\n\r\n", "127.0.0.1:80"),
        (
            "GET http://a.example/x/../y?q=%2e HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n",
            "a.example:80 | GET /x/../y?q=%2e HTTP/1.1\\Host: a.example\\Accept: */*\\Connection: close\\\\ | 0",
        ),
        // The target takes precedence over the `Host` header.
        (
            "GET http://a.example:8080 HTTP/1.0\r\nHost: b.example\r\n\r\n",
            "a.example:8080 | GET / HTTP/1.0\\Host: a.example:8080\\Connection: close\\\\ | 0",
        ),
        (
            "POST HTTP://a.example?q HTTP/1.1\r\nContent-Length: 05\r\nExpect: 100-continue\r\n\r\n",
            "a.example:80 | POST /?q HTTP/1.1\\Host: a.example\\Expect: 100-continue\\\
             Content-Length: 5\\Connection: close\\\\ | 5",
        ),
        // Headers for the proxy alone are removed, also those that only `Connection` names.
        (
            "GET http://a.example/ HTTP/1.1\r\nConnection: keep-alive, X-One\r\nconnection: x-two\r\n\
             X-One: 1\r\nX-TWO: 2\r\nX-Three: 3\r\nProxy-Authorization: Basic eDp5\r\n\
             Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: websocket\r\nKeep-Alive: 5\r\n\r\n",
            "a.example:80 | GET / HTTP/1.1\\Host: a.example\\X-Three: 3\\Connection: close\\\\ | 0",
        ),
        (
            "PUT http://a.example/ HTTP/1.1\r\nConnection: content-length, host\r\nContent-Length: 3\r\n\r\n",
            "a.example:80 | PUT / HTTP/1.1\\Host: a.example\\Content-Length: 3\\Connection: close\\\\ | 3",
        ),
    ] {
        assert_eq!(read(head).as_deref(), Ok(expected), "{head}");
    }
}

/// Heads with the status and a part of the reason of their refusal.
const REFUSED: &[(&str, u16, &str)] = &[
    ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "this is a proxy"),
    ("GET https://a.example/ HTTP/1.1\r\n\r\n", 400, "this is a proxy"),
    ("GET ftp://a.example/ HTTP/1.1\r\n\r\n", 400, "this is a proxy"),
    ("OPTIONS * HTTP/1.1\r\n\r\n", 400, "this is a proxy"),
    ("GET http://a.example/\r\n\r\n", 400, "not HTTP/1.1"),
    ("GET http://a.example/ HTTP/2.0\r\n\r\n", 400, "not HTTP/1.1"),
    ("\r\n\r\n", 400, "not HTTP/1.1"),
    ("\u{16}\u{3}\u{1}\r\n\r\n", 400, "not HTTP/1.1"),
    ("CONNECT a.example HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT a.example: HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT a.example:0 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT a.example:443:443 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT a.example:65979 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT ::1:80 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT a.example/b.example:443 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT http://a.example:443 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT a%2eexample:443 HTTP/1.1\r\n\r\n", 400, "not a host with a port"),
    ("CONNECT crates.io:443@b.example:443 HTTP/1.1\r\n\r\n", 400, "a user name"),
    ("CONNECT user:word@crates.io:443 HTTP/1.1\r\n\r\n", 400, "a user name"),
    ("GET http://crates.io@b.example/ HTTP/1.1\r\n\r\n", 400, "a user name"),
    ("GET http://crates.io:80@b.example/ HTTP/1.1\r\n\r\n", 400, "a user name"),
    ("GET http://b.example\\@crates.io/ HTTP/1.1\r\n\r\n", 400, "not allowed in a URL"),
    ("GET http://b.example#@crates.io/ HTTP/1.1\r\n\r\n", 400, "not allowed in a URL"),
    ("GET http:///x HTTP/1.1\r\n\r\n", 400, "not a host"),
    ("GET http://a.example:/ HTTP/1.1\r\n\r\n", 400, "not a host"),
    (
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
        400,
        "two Host",
    ),
    ("GET http://a.example/ HTTP/1.1\nX: 1\r\n\r\n", 400, "half of a line end"),
    ("GET http://a.example/ HTTP/1.1\r\nX: 1\nHost: b.example\r\n\r\n", 400, "half of a line end"),
    ("GET http://a.example/ HTTP/1.1\r\nX: 1\rHost: b.example\r\n\r\n", 400, "half of a line end"),
    ("GET http://a.example/ HTTP/1.1\r\nX: 1\n\nGET /\r\n\r\n", 400, "half of a line end"),
    ("GET http://a.example/ HTTP/1.1\r\nX: 1\r\n folded\r\n\r\n", 400, "not HTTP/1.1"),
    ("GET http://a.example/ HTTP/1.1\r\nX : 1\r\n\r\n", 400, "not HTTP/1.1"),
    ("GET http://a.example/ HTTP/1.1\r\nX: \0\r\n\r\n", 400, "not HTTP/1.1"),
    (
        "POST http://a.example/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
        "contradict each other",
    ),
    (
        "POST http://a.example/ HTTP/1.1\r\ntransfer-encoding: x\r\ncontent-length: 4\r\n\r\n",
        400,
        "contradict each other",
    ),
    (
        "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        411,
        "Content-Length",
    ),
    ("POST http://a.example/ HTTP/1.1\r\nContent-Length: 4, 4\r\n\r\n", 400, "not one number"),
    (
        "POST http://a.example/ HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
        400,
        "not one number",
    ),
    ("POST http://a.example/ HTTP/1.1\r\nContent-Length: +4\r\n\r\n", 400, "not one number"),
    ("POST http://a.example/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "not one number"),
    ("POST http://a.example/ HTTP/1.1\r\nContent-Length:\r\n\r\n", 400, "not one number"),
    (
        "POST http://a.example/ HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
        400,
        "not one number",
    ),
];

#[test]
fn head_parse_refuses_an_ambiguous_or_invalid_head() {
    let many = (0..=MOST_HEADERS).map(|number| format!("X-{number}: 1\r\n")).collect::<String>();
    let many = format!("GET http://a.example/ HTTP/1.1\r\n{many}\r\n");
    for (head, status, why) in REFUSED.iter().chain([&(&*many, 431, "too long")]) {
        let refused = read(head).expect_err(head);
        assert_eq!(refused.status, *status, "{head}: {refused:?}");
        assert!(refused.why.contains(why), "{head}: {refused:?}");
    }
}
