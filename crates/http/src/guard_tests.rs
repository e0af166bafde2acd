use axum::http::Request;

use super::*;

fn guard() -> HostGuard {
    let hosts = ["bus.example", "10.0.0.7:8443"].map(|host| AllowedHost::parse(host).unwrap());
    HostGuard { port: 8470, hosts: hosts.into() }
}

fn check(target: &str, headers: &[(&str, &str)]) -> Result<RequestedHost, u16> {
    let mut request = Request::get(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    guard().check(&parts).map_err(|problem| problem.status)
}

#[test]
fn guard_accepts_loopback_and_listed_hosts_and_their_own_origin() {
    let table = [
        ("127.0.0.1:8470", None, RequestedHost::Loopback),
        ("127.8.4.7:8470", None, RequestedHost::Loopback),
        ("localhost:8470", Some("http://localhost:8470"), RequestedHost::Loopback),
        ("LocalHost:8470", Some("http://localhost:8470"), RequestedHost::Loopback),
        ("[::1]:8470", Some("http://[::1]:8470"), RequestedHost::Loopback),
        ("bus.example", Some("https://bus.example"), RequestedHost::Listed),
        ("bus.example", Some("http://bus.example"), RequestedHost::Listed),
        ("bus.example:443", Some("https://bus.example"), RequestedHost::Listed),
        ("BUS.example:9000", Some("https://bus.example:9000"), RequestedHost::Listed),
        ("10.0.0.7:8443", None, RequestedHost::Listed),
    ];
    for (host, origin, kind) in table {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        assert_eq!(check("/v1/status", &headers), Ok(kind), "{headers:?}");
    }
    let absolute = check("http://127.0.0.1:8470/healthz", &[("host", "127.0.0.1:8470")]);
    assert_eq!(absolute, Ok(RequestedHost::Loopback));
}

#[test]
fn guard_refuses_other_hosts_and_names_that_point_here() {
    let hosts = [
        "evil.example",
        "evil.example:8470",
        "localhost.evil.example:8470",
        "127.0.0.1.nip.io:8470",
        "localhost",
        "localhost:80",
        "127.0.0.1",
        "127.0.0.1:8471",
        "[::1]",
        "[::1]:1",
        "[::]:8470",
        "0.0.0.0:8470",
        "127.1:8470",
        "2130706433:8470",
        "0x7f.0.0.1:8470",
        "[::ffff:127.0.0.1]:8470",
        "localhost.:8470",
        "a.localhost:8470",
        "10.0.0.7",
        "10.0.0.7:1",
        "sub.bus.example",
        "bus.example.evil.example",
        "127.0.0.1:8470@evil.example",
        "evil.example@127.0.0.1:8470",
        "127.0.0.1:8470 evil.example",
        "127.0.0.1:84700",
        "127.0.0.1:",
        "127.0.0.1:+8470",
        "",
        ":8470",
        "//127.0.0.1:8470",
        "127.0.0.1:8470/",
    ];
    for host in hosts {
        assert!(check("/healthz", &[("host", host)]).is_err(), "{host:?}");
    }
    let two = [("host", "127.0.0.1:8470"), ("host", "evil.example")];
    assert_eq!(check("/healthz", &two), Err(400));
    assert_eq!(check("/healthz", &[]), Err(400));
    let absolute = check("http://evil.example/healthz", &[("host", "127.0.0.1:8470")]);
    assert_eq!(absolute, Err(403));
    let absolute = check("http://evil.example/healthz", &[("host", "evil.example")]);
    assert_eq!(absolute, Err(403));
}

#[test]
fn guard_refuses_other_origins() {
    let origins = [
        "null",
        "",
        "http://evil.example",
        "https://evil.example",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:8471",
        "https://127.0.0.1:8470",
        "http://localhost:8470",
        "http://127.0.0.1:8470.evil.example",
        "http://127.0.0.1:8470/",
        "http://127.0.0.1:8470/path",
        "http://evil@127.0.0.1:8470",
        "file://",
        "127.0.0.1:8470",
        "http:127.0.0.1:8470",
        "HTTP://127.0.0.1:8470",
        "http://[::1]:8470",
        "http://bus.example",
        "chrome-extension://abcdef",
        "http://127.0.0.1:8470, http://evil.example",
    ];
    for origin in origins {
        let headers = [("host", "127.0.0.1:8470"), ("origin", origin)];
        assert_eq!(check("/healthz", &headers), Err(403), "{origin:?}");
    }
    let own = "http://127.0.0.1:8470";
    let two = [("host", "127.0.0.1:8470"), ("origin", own), ("origin", own)];
    assert_eq!(check("/healthz", &two), Err(403));
}
