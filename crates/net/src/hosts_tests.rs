use super::*;

fn hosts(entries: &[&str]) -> Result<OpenedHosts, BadHost> {
    OpenedHosts::parse_entries(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>())
}

type HostPorts = &'static [(&'static str, u16)];

/// Entries, each with hosts that it opens and hosts that it leaves closed.
const ENTRIES: &[(&str, HostPorts, HostPorts)] = &[
    (
        "crates.io",
        &[("crates.io", 443), ("crates.io", 80), ("CRATES.IO.", 443), ("cratEs\u{3002}io", 80)],
        &[
            ("crates.io", 8443),
            ("static.crates.io", 443),
            ("crates.io.evil.example", 443),
            ("xcrates.io", 443),
            ("io", 443),
            ("crates.i\u{43e}", 443),
        ],
    ),
    (
        "*.crates.io",
        &[("static.crates.io", 443), ("a.b.crates.io.", 80)],
        &[
            ("crates.io", 443),
            ("xcrates.io", 443),
            (".crates.io", 443),
            ("a..crates.io", 443),
            ("a.crates.io.x.example", 443),
            ("*.crates.io", 443),
        ],
    ),
    ("Registry.Local.:8443", &[("registry.local", 8443)], &[("registry.local", 443)]),
    ("*.a.example:81", &[("b.a.example", 81)], &[("b.a.example", 80), ("a.example", 81)]),
    (
        "127.0.0.1:3000",
        &[
            ("127.0.0.1", 3000),
            ("127.1", 3000),
            ("0x7f000001", 3000),
            ("127.0.0.1.", 3000),
            ("[::ffff:127.0.0.1]", 3000),
        ],
        &[
            ("127.0.0.1", 80),
            ("127.0.0.2", 3000),
            ("localhost", 3000),
            ("0.0.0.0", 3000),
            ("[::1]", 3000),
            ("[::127.0.0.1]", 3000),
        ],
    ),
    ("10.0.0.7", &[("10.0.0.7", 443), ("10.0.0.7", 80)], &[("10.0.0.7", 22)]),
    ("::1", &[("[::1]", 80)], &[("[::1]", 3000), ("127.0.0.1", 80)]),
    ("[::1]:3000", &[("[0:0::1]", 3000)], &[("[::1]", 80)]),
    ("[::1]", &[("[::1]", 80)], &[("[::2]", 80)]),
    ("::ffff:10.0.0.7", &[("10.0.0.7", 80)], &[("10.0.0.8", 80)]),
    ("bücher.example", &[("xn--bcher-kva.example", 443), ("BÜCHER.example", 443)], &[]),
    ("a_b", &[("a_b", 80)], &[("a", 80)]),
];

#[test]
fn hosts_entry_opens_one_host_and_no_other() {
    for (entry, open, closed) in ENTRIES {
        let hosts = hosts(&[*entry]).unwrap();
        let is_open = |(text, port): &(&str, u16)| {
            parse_host(text).is_some_and(|host| hosts.open(&host, *port))
        };
        for asked in *open {
            assert!(is_open(asked), "{entry} opens {asked:?}");
        }
        for asked in *closed {
            assert!(!is_open(asked), "{entry} does not open {asked:?}");
        }
    }
    assert!(!hosts(&[]).unwrap().open(&UrlHost::Name("crates.io".to_owned()), 443));
}

#[test]
fn hosts_parse_refuses_an_invalid_entry_with_the_expected_form() {
    for (entry, why) in [
        ("", "only a host"),
        ("*", "only a host"),
        ("*.", "only a host"),
        ("a.*.example", "only a host"),
        ("*.*.example", "only a host"),
        ("https://crates.io", "only a host"),
        ("https://crates.io:443", "only a host"),
        ("crates.io/x", "only a host"),
        ("user@crates.io", "only a host"),
        ("crates.io ", "only a host"),
        ("crates\t.io", "only a host"),
        ("a..example", "only a host"),
        (".", "only a host"),
        ("a%2eexample", "only a host"),
        ("1.2.3.4.5", "only a host"),
        ("[::1", "only a host"),
        ("[::1]x", "its port"),
        ("crates.io:https", "its port"),
        ("10.0.0.0/8", "only a host"),
        ("crates.io:", "its port"),
        ("crates.io:0", "its port"),
        ("crates.io:+1", "its port"),
        ("crates.io:65536", "its port"),
        ("*.10.0.0.7", "no subdomains"),
        ("localhost:3000", "127.0.0.1:3000"),
        ("*.LOCALHOST", "127.0.0.1:3000"),
    ] {
        let error = hosts(&["crates.io", entry]).unwrap_err();
        assert_eq!((error.number, error.entry.as_str()), (1, entry));
        assert!(error.why.contains(why), "{error}");
    }
}

#[test]
fn hosts_display_is_the_normalised_list() {
    let hosts = hosts(&["Crates.IO.", "*.Bücher.example:8443", "::1", "127.0.0.1:3000"]).unwrap();
    let shown = "crates.io, *.xn--bcher-kva.example:8443, [::1], 127.0.0.1:3000";
    assert_eq!(hosts.to_string(), shown);
    let named = |address: &str| hosts.name(address.parse().unwrap());
    assert!(named("127.0.0.1") && named("::1") && named("::ffff:127.0.0.1"));
    assert!(!named("127.0.0.2"));
}
