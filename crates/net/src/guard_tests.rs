use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Any address; special ones are as frequent as public ones.
fn ipv4() -> impl Strategy<Value = Ipv4Addr> {
    let networks = vec![[0, 0], [10, 0], [127, 0], [169, 254], [172, 16], [192, 0], [192, 168]];
    prop_oneof![
        any::<u32>().prop_map(Ipv4Addr::from),
        (select(networks), any::<u8>(), any::<u8>())
            .prop_map(|([a, b], c, d)| Ipv4Addr::new(a, b, c, d)),
    ]
}

/// Spellings of an IPv4 address in a URL: one to four numbers, in any base.
fn spellings(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let all = u32::from(address);
    let (low24, low16) = (all & 0x00ff_ffff, all & 0xffff);
    vec![
        format!("{address}."),
        format!("{all}"),
        format!("{all:#x}"),
        format!("0{all:o}."),
        format!("{a}.{low24}"),
        format!("{a:#x}.0{low24:o}"),
        format!("0{a:o}.{b}.{low16:#X}").replace("0X", "0x"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.000{b:o}.0{c:o}.{d}"),
        address.to_string().replace('.', "\u{3002}"),
        address.to_string().replace('1', "%31"),
        format!("[::ffff:{address}]"),
        format!("[64:ff9b::{address}]"),
    ]
}

/// IPv6 addresses that lead to an IPv4 address. Forms with two embedded addresses have a public one
/// too.
fn embeddings(address: Ipv4Addr) -> Vec<Ipv6Addr> {
    let [a, b, c, d] = address.octets().map(u16::from);
    let (high, low) = (a << 8 | b, c << 8 | d);
    vec![
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 1, 2, 3, 4, 5),
        Ipv6Addr::new(0x2001, 0, high, low, 0x8000, 0x63bf, !0x0808, !0x0808),
        Ipv6Addr::new(0x2001, 0, 0x0808, 0x0808, 0x8000, 0x63bf, !high, !low),
        Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low),
        Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0x0200, 0x5efe, high, low),
    ]
}

proptest! {
    #[test]
    fn guard_target_gives_every_spelling_of_an_address_the_same_verdict(address in ipv4()) {
        let rule = |host: &str| {
            let url = format!("http://{host}/");
            UrlGuard::default().judge_url(&url).map(drop).map_err(|refusal| refusal.rule)
        };
        let verdict = is_public(address.into());
        prop_assert_eq!(rule(&address.to_string()), verdict);
        for spelling in spellings(address) {
            prop_assert_eq!(rule(&spelling), verdict, "{}", spelling);
        }
    }

    #[test]
    fn guard_address_gives_every_embedding_of_an_address_the_same_verdict(address in ipv4()) {
        let own = UrlGuard::new([IpAddr::V4(address)]);
        for embedding in embeddings(address) {
            prop_assert_eq!(is_public(embedding.into()), is_public(address.into()), "{}", embedding);
            let to = SocketAddr::from((embedding, 80));
            prop_assert_eq!(own.judge_address(to), Err(UrlRule::Own), "{}", embedding);
        }
    }

    #[test]
    fn is_public_refuses_unknown_ipv6_embeddings(address in ipv4(), place in 2usize..7) {
        let bits = u128::from(u32::from(address));
        let compatible = Ipv6Addr::from(bits);
        prop_assert!(is_public(compatible.into()).is_err(), "{}", compatible);
        let local = Ipv6Addr::from(0x0064_ff9b_0001_u128 << 80 | bits << (8 * (place - 2)));
        prop_assert!(is_public(local.into()).is_err(), "{}", local);
    }
}

#[test]
fn guard_new_accepts_a_mapped_address_of_this_host() {
    let guard = UrlGuard::new(["::ffff:8.8.8.8".parse().unwrap()]);
    assert_eq!(guard.judge_url("http://8.8.8.8/").unwrap_err().rule, UrlRule::Own);
}

#[test]
fn guard_allowing_permits_one_address_and_port() {
    let guard = UrlGuard::default().with_allowed("127.0.0.1:80".parse().unwrap());
    let table = [
        ("http://127.0.0.1/", true),
        ("http://127.0.0.1:81/", false),
        ("https://127.0.0.1/", false),
        ("http://127.0.0.2/", false),
        ("http://[::ffff:127.0.0.1]/", false),
        ("http://localhost/", false),
    ];
    for (url, passes) in table {
        assert_eq!(guard.judge_url(url).is_ok(), passes, "{url}");
    }
}
