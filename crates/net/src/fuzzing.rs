//! Entry points for the fuzz targets in `fuzz/` and for ordinary tests. Each accepts any bytes and
//! panics if an invariant is broken.

use std::net::IpAddr;

use crate::guard::{UrlGuard, UrlHost, UrlTarget, is_public};
use crate::hosts::format_host;
use crate::proxy::head::{RequestKind, parse_head};

/// Parses bytes, and panics if the result breaks an invariant.
pub type NetEntryPoint = fn(&[u8]);

/// Every entry point, with the name of its fuzz target.
pub const TARGETS: [(&str, NetEntryPoint); 2] = [("proxy", fuzz_proxy), ("url", fuzz_url)];

/// Checks a URL: an accepted one is HTTP to a public address or to a name, and is accepted again
/// when it is parsed a second time.
pub fn fuzz_url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let guard = UrlGuard::default();
    match guard.judge_url(text) {
        Ok(target) => check_passed(&guard, &target),
        Err(refusal) => assert!(!refusal.to_string().contains('@'), "{refusal} of {text:?}"),
    }
    for from in ["http://avocet.dev/a/b?c", "https://avocet.dev/"] {
        let from = guard.judge_url(from).expect("a public name");
        if let Ok(target) = guard.judge_redirect(&from, text) {
            check_passed(&guard, &target);
        }
    }
}

/// Checks the head of a request to the proxy. A forwarded head names its target exactly once, as
/// the proxy has understood it, states its length at most once, and is parsed in the same way
/// again.
pub fn fuzz_proxy(data: &[u8]) {
    let Ok(request) = parse_head(data) else { return };
    let RequestKind::Forward { head, length } = &request.kind else { return };
    let to = format_host(&request.host, request.port);
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let (lines, end) = text.split_once("\r\n\r\n").expect("a head ends");
    assert_eq!(end, "", "{text}");
    let values = |name: &str| -> Vec<&str> {
        lines.split("\r\n").filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect()
    };
    assert_eq!(values("host"), [to.strip_suffix(":80").unwrap_or(&to)], "{text}");
    assert_eq!(values("connection"), ["close"], "{text}");
    assert!(values("transfer-encoding").is_empty(), "{text}");
    match values("content-length")[..] {
        [] => assert_eq!(*length, 0, "{text}"),
        [said] => assert_eq!(said, length.to_string(), "{text}"),
        _ => panic!("two lengths: {text}"),
    }
    // Put the target back into the request line: only a proxy receives it there.
    let first = head.iter().position(|byte| *byte == b' ').expect("a method") + 1;
    let again = [&head[..first], b"http://", to.as_bytes(), &head[first..]].concat();
    assert_eq!(parse_head(&again), Ok(request), "read again");
}

fn check_passed(guard: &UrlGuard, target: &UrlTarget) {
    let url = target.url();
    assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    assert!(url.username().is_empty() && url.password().is_none(), "{url}");
    match target.host() {
        UrlHost::Address(address) => assert_eq!(is_public(*address), Ok(()), "{url}"),
        UrlHost::Name(name) => {
            assert!(name.parse::<IpAddr>().is_err(), "{url}");
            let name = name.trim_end_matches('.');
            assert!(name.contains('.') && !name.ends_with(".localhost"), "{url}");
        }
    }
    assert_eq!(guard.judge_url(url.as_str()).as_ref(), Ok(target), "read again");
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
