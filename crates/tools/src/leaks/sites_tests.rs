use super::*;

#[test]
fn site_is_the_registered_domain() {
    let table = [
        ("docs.rs", "docs.rs"),
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("ab.docs.evil-site.com", "evil-site.com"),
        ("a.b.ac.sh", "ac.sh"),
        ("me.github.io", "me.github.io"),
        ("x.me.github.io", "me.github.io"),
        ("stranger.dev", "stranger.dev"),
        ("a.b.nowhere", "b.nowhere"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("203.0.113.7", "203.0.113.7"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ];
    for (host, expected) in table {
        assert_eq!(site_of_host(host), expected, "{host}");
    }
}

#[test]
fn is_site_is_false_where_a_label_can_carry_data() {
    for host in ["docs.rs", "www.rust-lang.org", "bbc.co.uk", "www.bbc.co.uk", "evil.example"] {
        assert!(is_site(host), "{host}");
    }
    let long = "a".repeat(53);
    let carrying = [
        &format!("{long}.ac.sh"),
        &format!("{long}.com"),
        &format!("{long}.co.uk"),
        "ab.docs.evil-site.com",
        "en.wikipedia.org",
        "www.x.evil.com",
        "project.github.io",
        "xn--80ak6aa92e.com",
        "203.0.113.7",
        "co.uk",
        "localhost",
        "a_b.com",
        "",
    ];
    for host in carrying {
        assert!(!is_site(host), "{host}");
    }
}

#[test]
fn is_top_level_knows_the_top_level_domains() {
    for label in ["com", "rs", "sh", "uk", "dev", "zip", "xn--p1ai", "aaa", "zw"] {
        assert!(is_top_level(label), "{label}");
    }
    for label in ["", "js", "toml", "cpp", "txt", "example", "7"] {
        assert!(!is_top_level(label), "{label}");
    }
}
