//! What an address is, once everything that wraps one address in another is taken off.
//!
//! A refusal that looks at the outer address only is none: `::ffff:169.254.169.254` is the metadata service, and so is
//! `64:ff9b::a9fe:a9fe` wherever there is NAT64. So an address is as bad as the worst of all that it may mean.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is; the later, the less may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// This machine.
    Loopback,
    /// A private network: RFC 1918, RFC 6598, RFC 4193, and RFC 2544's for benchmarks.
    Private,
    /// Anybody's.
    Public,
    /// No single machine's: unspecified, multicast, broadcast, reserved.
    Nobody,
    /// Good on one link only; clouds keep their services there.
    LinkLocal,
    /// A service that gives a machine in a cloud its own credentials.
    Metadata,
}

/// IPv4 addresses of metadata services that are not link-local, or that have a name of their own.
/// AWS, Azure, Google and others; AWS ECS; AWS EKS; Alibaba; Azure's wire server; Oracle.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// IPv6 addresses of metadata services: AWS, AWS EKS, Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// What `address` is: the worst of what it may mean.
pub fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => {
            let (wrapped, way) = wrapped(address);
            let inner = wrapped.iter().map(|inner| kind_v4(*inner)).max();
            match (inner, way) {
                (Some(inner), Way::Same) => inner,
                // Through a translator or a relay, which is nobody's own machine.
                (Some(inner), Way::Translated) => inner.max(Kind::Public).max(kind_v6(address)),
                (None, _) => kind_v6(address),
            }
        }
    }
}

/// Every address that `address` may mean, itself first: what the networks of a policy are compared with.
pub(crate) fn meanings(address: IpAddr) -> Vec<IpAddr> {
    let inner = match address {
        IpAddr::V4(_) => Vec::new(),
        IpAddr::V6(address) => wrapped(address).0,
    };
    std::iter::once(address).chain(inner.into_iter().map(IpAddr::V4)).collect()
}

/// How a wrapped address is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It is the same machine: the kernel takes the wrapping off.
    Same,
    /// Something on the way takes the wrapping off.
    Translated,
}

/// The IPv4 addresses that stand in `address`.
#[expect(clippy::match_same_arms, reason = "each way of wrapping has its own source")]
fn wrapped(address: Ipv6Addr) -> (Vec<Ipv4Addr>, Way) {
    let bytes = address.octets();
    let segments = address.segments();
    let at = |places: [usize; 4]| Ipv4Addr::from(places.map(|place| bytes[place]));
    let last = at([12, 13, 14, 15]);
    match segments {
        // ::ffff:a.b.c.d, IPv4-mapped (RFC 4291 2.5.5.2).
        [0, 0, 0, 0, 0, 0xffff, _, _] => (vec![last], Way::Same),
        // :: and ::1 are addresses of IPv6; every other ::a.b.c.d is IPv4-compatible (RFC 4291 2.5.5.1).
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => (vec![last], Way::Same),
        // ::ffff:0:a.b.c.d, IPv4-translated (RFC 2765).
        [0, 0, 0, 0, 0xffff, 0, _, _] => (vec![last], Way::Translated),
        // 64:ff9b::/96, NAT64 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => (vec![last], Way::Translated),
        // 64:ff9b:1::/48, NAT64 of a network's own (RFC 8215), whose prefix may have any length that RFC 6052 section
        // 2.2 knows from 48 bits on; byte 8 is skipped there.
        [0x64, 0xff9b, 1, ..] => {
            let places = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]];
            (places.map(at).to_vec(), Way::Translated)
        }
        // 2002::/16, 6to4 (RFC 3056).
        [0x2002, ..] => (vec![at([2, 3, 4, 5])], Way::Translated),
        // 2001::/32, Teredo (RFC 4380): the server, and the client with its bits turned over.
        [0x2001, 0, ..] => (vec![at([4, 5, 6, 7]), Ipv4Addr::from_bits(!last.to_bits())], Way::Translated),
        // …:0:5efe:a.b.c.d, ISATAP (RFC 5214), in any network.
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => (vec![last], Way::Translated),
        _ => (Vec::new(), Way::Same),
    }
}

fn kind_v4(address: Ipv4Addr) -> Kind {
    let [first, second, ..] = address.octets();
    if METADATA_V4.contains(&address) {
        Kind::Metadata
    } else if address.is_link_local() {
        Kind::LinkLocal
    } else if first == 0 || address.is_multicast() || first >= 240 {
        Kind::Nobody
    } else if address.is_loopback() {
        Kind::Loopback
    } else if address.is_private()
        || (first == 100 && (64..128).contains(&second))
        || (first == 198 && (18..20).contains(&second))
    {
        Kind::Private
    } else {
        Kind::Public
    }
}

fn kind_v6(address: Ipv6Addr) -> Kind {
    let first = address.segments()[0];
    if METADATA_V6.contains(&address) {
        Kind::Metadata
    } else if first & 0xffc0 == 0xfe80 {
        Kind::LinkLocal
    } else if address.is_unspecified() || address.is_multicast() || first & 0xffc0 == 0xfec0 {
        Kind::Nobody
    } else if address.is_loopback() {
        Kind::Loopback
    } else if first & 0xfe00 == 0xfc00 {
        Kind::Private
    } else {
        Kind::Public
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Kind) {
        assert_eq!(kind(text.parse().expect(text)), expected, "{text}");
    }

    #[test]
    fn plain_addresses() {
        check("127.0.0.1", Kind::Loopback);
        check("127.255.0.3", Kind::Loopback);
        check("::1", Kind::Loopback);
        check("10.1.2.3", Kind::Private);
        check("172.31.255.255", Kind::Private);
        check("172.32.0.0", Kind::Public);
        check("192.168.0.1", Kind::Private);
        check("100.64.0.1", Kind::Private);
        check("100.128.0.1", Kind::Public);
        check("198.19.255.255", Kind::Private);
        check("fd12:3456::1", Kind::Private);
        check("8.8.8.8", Kind::Public);
        check("2606:4700::1111", Kind::Public);
        check("0.0.0.0", Kind::Nobody);
        check("0.1.2.3", Kind::Nobody);
        check("::", Kind::Nobody);
        check("224.0.0.1", Kind::Nobody);
        check("255.255.255.255", Kind::Nobody);
        check("240.0.0.1", Kind::Nobody);
        check("ff02::1", Kind::Nobody);
        check("fec0::1", Kind::Nobody);
        check("169.254.1.1", Kind::LinkLocal);
        check("fe80::1", Kind::LinkLocal);
        check("febf::1", Kind::LinkLocal);
    }

    #[test]
    fn metadata_services() {
        for text in ["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"] {
            check(text, Kind::Metadata);
        }
        check("fd00:ec2::254", Kind::Metadata);
        check("fd20:ce::254", Kind::Metadata);
    }

    #[test]
    fn wrapped_addresses() {
        check("::ffff:127.0.0.1", Kind::Loopback);
        check("::ffff:10.0.0.1", Kind::Private);
        check("::ffff:169.254.169.254", Kind::Metadata);
        check("::127.0.0.1", Kind::Loopback);
        check("64:ff9b::169.254.169.254", Kind::Metadata);
        check("64:ff9b::8.8.8.8", Kind::Public);
        // Translated, even loopback and private addresses are those of somebody else's machine.
        check("64:ff9b::127.0.0.1", Kind::Public);
        check("64:ff9b::10.0.0.1", Kind::Public);
        check("64:ff9b:1::169.254.169.254", Kind::Metadata);
        check("64:ff9b:1:a9fe:a9:fe00::", Kind::Metadata);
        check("64:ff9b:1:a9:fe:a9fe::", Kind::Metadata);
        check("64:ff9b:1:0:a9:fea9:fe00:0", Kind::Metadata);
        check("2002:a9fe:a9fe::1", Kind::Metadata);
        check("2002:0808:0808::1", Kind::Public);
        check("2001:0:a9fe:a9fe::1", Kind::Metadata);
        check("2001:0:808:808:0:0:5601:5601", Kind::Metadata);
        check("::ffff:0:169.254.169.254", Kind::Metadata);
        check("2a00::5efe:169.254.169.254", Kind::Metadata);
        check("fe80::5efe:8.8.8.8", Kind::LinkLocal);
    }

    /// Every way of wrapping an IPv4 address.
    fn wrappings(inner: Ipv4Addr) -> Vec<IpAddr> {
        let [a, b, c, d] = inner.octets();
        let [high, low] = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, high, u16::from(c), u16::from(d) << 8, 0, 0),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0, 0),
            Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low),
            Ipv6Addr::new(0x2a00, 1, 2, 3, 0, 0x5efe, high, low),
        ]
        .map(IpAddr::V6)
        .to_vec()
    }

    proptest! {
        #[test]
        fn wrapping_never_helps(bits: u32) {
            let inner = Ipv4Addr::from_bits(bits);
            for outer in wrappings(inner) {
                prop_assert!(kind(outer) >= kind_v4(inner), "{outer} is {:?}", kind(outer));
                prop_assert!(meanings(outer).contains(&IpAddr::V4(inner)));
            }
        }

        #[test]
        fn link_local_stays_refused_in_every_wrapping(low: u16) {
            let [c, d] = low.to_be_bytes();
            for outer in wrappings(Ipv4Addr::new(169, 254, c, d)) {
                prop_assert!(kind(outer) >= Kind::LinkLocal);
            }
        }

        #[test]
        fn any_sixteen_bytes_are_something(bits: u128) {
            let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
            prop_assert!(meanings(address)[0] == address);
            let worst = meanings(address).into_iter().skip(1).map(kind).max();
            prop_assert!(worst.is_none_or(|worst| kind(address) >= worst));
        }
    }
}
