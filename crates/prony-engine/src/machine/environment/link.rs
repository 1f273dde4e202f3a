//! How fast the link to a target is: its network interface, by the routing table, and what the interface says.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{Read, file};

/// Of the link to the first of `addresses` (`IP:PORT`), Mbit/s; `None` where the system doesn't say, as for IPv6 and
/// for most virtual machines.
pub(crate) fn mbit_per_s(addresses: &[String]) -> Option<u32> {
    let address: SocketAddr = addresses.first()?.parse().ok()?;
    speed(address.ip().to_canonical(), &file)
}

fn speed(target: IpAddr, read: Read<'_>) -> Option<u32> {
    let IpAddr::V4(target) = target else { return None };
    let interface = interface(target, &read("/proc/net/route")?)?;
    let speed: i64 = read(&format!("/sys/class/net/{interface}/speed"))?.trim().parse().ok()?;
    // Minus one is how the kernel says that it does not know.
    u32::try_from(speed).ok().filter(|speed| *speed > 0)
}

/// The interface of the most specific route to `target`, and of several the one of the lowest metric. Columns of the
/// table are: Iface Destination Gateway Flags RefCnt Use Metric Mask …, addresses in the byte order of the machine.
fn interface(target: Ipv4Addr, table: &str) -> Option<String> {
    let hex = |word: &str| u32::from_str_radix(word, 16).ok();
    let target = u32::from_ne_bytes(target.octets());
    let routes = table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (destination, mask) = (hex(words.get(1)?)?, hex(words.get(7)?)?);
        let metric: u32 = words.get(6)?.parse().ok()?;
        (target & mask == destination)
            .then(|| (mask.count_ones(), std::cmp::Reverse(metric), words[0].to_owned()))
    });
    routes.max().map(|(_, _, interface)| interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a little-endian machine, as nearly all are.
    const TABLE: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        eth1\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
        eth2\t000200C0\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0\n";

    fn check(target: &str, text: &str, expected: Option<u32>) {
        let read = |path: &str| match path {
            "/proc/net/route" => Some(TABLE.to_owned()),
            "/sys/class/net/eth2/speed" => Some(text.to_owned()),
            "/sys/class/net/eth0/speed" => Some("100\n".to_owned()),
            _ => None,
        };
        assert_eq!(speed(target.parse().expect("an address"), &read), expected, "{target} {text}");
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_most_specific_route_decides() {
        check("192.0.2.7", "25000\n", Some(25_000));
        check("198.51.100.1", "25000\n", Some(100));
        check("192.0.2.7", "-1\n", None);
        check("192.0.2.7", "", None);
        check("2001:db8::1", "25000\n", None);
    }
}
