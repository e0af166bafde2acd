//! Decides which addresses are globally routable unicast, by IANA's special-purpose address
//! registries (RFC 6890). Also finds the IPv4 addresses that are embedded in an IPv6 address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::UrlRule;

/// Networks outside the public Internet: address, prefix length, description. 192.0.0.0/24 is
/// refused as a whole. The registry calls two of its anycast addresses global, but they lead to the
/// nearest router.
const IPV4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network (0.0.0.0/8)"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private (10.0.0.0/8)"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier (100.64.0.0/10)"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback (127.0.0.0/8)"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "metadata service (168.63.129.16)"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local (169.254.0.0/16)"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private (172.16.0.0/12)"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments (192.0.0.0/24)"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation (192.0.2.0/24)"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay (192.88.99.0/24)"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private (192.168.0.0/16)"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking (198.18.0.0/15)"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation (198.51.100.0/24)"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation (203.0.113.0/24)"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast (224.0.0.0/4)"),
    (Ipv4Addr::new(255, 255, 255, 255), 32, "broadcast (255.255.255.255)"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved (240.0.0.0/4)"),
];

/// The IPv6 networks, in the form of [`IPV4`]. Any other address is public only within 2000::/3.
/// The NAT64 prefix for local use is refused as a whole, because the operator chooses the position
/// of the IPv4 address (RFC 8215).
const IPV6: [(Ipv6Addr, u32, &str); 14] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified (::)"),
    (Ipv6Addr::LOCALHOST, 128, "loopback (::1)"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible (::/96)"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "local NAT64 (64:ff9b:1::/48)"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard (100::/64)"),
    (Ipv6Addr::new(0x100, 0, 0, 1, 0, 0, 0, 0), 64, "dummy (100:0:0:1::/64)"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments (2001::/23)"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation (2001:db8::/32)"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation (3fff::/20)"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "segment routing (5f00::/16)"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local (fc00::/7)"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local (fe80::/10)"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local (fec0::/10)"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast (ff00::/8)"),
];

/// Checks that an address, and every address that is embedded in it, belongs to the public
/// Internet.
///
/// # Errors
/// [`UrlRule::Special`] names the network of the address.
pub fn is_public(address: IpAddr) -> Result<(), UrlRule> {
    reached_addresses(address).into_iter().try_for_each(|address| match special_network(address) {
        Some(what) => Err(UrlRule::Special(what)),
        None => Ok(()),
    })
}

/// Returns the addresses that a packet to this one reaches or passes: the address itself, or
/// embedded addresses that a translator or a tunnel takes out.
pub(super) fn reached_addresses(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(address) = address else { return vec![address] };
    let s = address.segments();
    let ipv4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    let mut reached = match s {
        // IPv4-mapped (RFC 4291), and the well-known prefix of NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            return vec![ipv4(s[6], s[7])];
        }
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => vec![ipv4(high, low)],
        // Teredo (RFC 4380): the server, and the client with inverted bits.
        [0x2001, 0, high, low, ..] => vec![ipv4(high, low), ipv4(!s[6], !s[7])],
        _ => vec![IpAddr::V6(address)],
    };
    // ISATAP (RFC 5214), with any prefix.
    if matches!(s[4], 0 | 0x0200) && s[5] == 0x5efe {
        reached.push(ipv4(s[6], s[7]));
    }
    reached
}

/// Describes the network of an address; `None` if the address is public.
fn special_network(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let within = |network: Ipv4Addr, bits| {
                (u32::from(address) ^ u32::from(network)) >> (u32::BITS - bits) == 0
            };
            IPV4.iter().find(|(network, bits, _)| within(*network, *bits)).map(|(.., what)| *what)
        }
        IpAddr::V6(address) => {
            let within = |network: Ipv6Addr, bits| {
                (u128::from(address) ^ u128::from(network)) >> (u128::BITS - bits) == 0
            };
            let found = IPV6.iter().find(|(network, bits, _)| within(*network, *bits));
            let global = within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
            found.map(|(.., what)| *what).or((!global).then_some("not global unicast (2000::/3)"))
        }
    }
}
