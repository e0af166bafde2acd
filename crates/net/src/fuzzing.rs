//! What is run on any bytes, by the fuzz targets in `fuzz/` and by ordinary tests: it panics where
//! what always has to hold does not.

use std::net::IpAddr;

use crate::guard::{Guard, Host, Target, is_public};

/// Reads bytes, and panics if that is wrong.
pub type EntryPoint = fn(&[u8]);

/// Every entry point by the name of its fuzz target.
pub const TARGETS: [(&str, EntryPoint); 1] = [("url", url)];

/// A URL: what passes is HTTP to a public address or to a name, and stays so when it is read again.
pub fn url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let guard = Guard::default();
    match guard.target(text) {
        Ok(target) => passed(&guard, &target),
        Err(refusal) => assert!(!refusal.to_string().contains('@'), "{refusal} of {text:?}"),
    }
    for from in ["http://avocet.dev/a/b?c", "https://avocet.dev/"] {
        let from = guard.target(from).expect("a public name");
        if let Ok(target) = guard.redirected(&from, text) {
            passed(&guard, &target);
        }
    }
}

fn passed(guard: &Guard, target: &Target) {
    let url = target.url();
    assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    assert!(url.username().is_empty() && url.password().is_none(), "{url}");
    match target.host() {
        Host::Address(address) => assert_eq!(is_public(*address), Ok(()), "{url}"),
        Host::Name(name) => {
            assert!(name.parse::<IpAddr>().is_err(), "{url}");
            let name = name.trim_end_matches('.');
            assert!(name.contains('.') && !name.ends_with(".localhost"), "{url}");
        }
    }
    assert_eq!(guard.target(url.as_str()).as_ref(), Ok(target), "read again");
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
