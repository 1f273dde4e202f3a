//! Local addresses to connect from, as people write them: one, or a range within one family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::problem::shown_as_problem;
use crate::{Problem, Spelling};

/// Each address brings its own range of ports; more than this only makes the plan long.
const ADDRESSES_MAX: u128 = 4096;

/// A text that is no address, and no range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError {
    /// Not an address.
    Address(String),
    /// Not a range.
    Range(String),
    /// More than a run can use.
    TooMany(String),
}

impl SourceError {
    /// What is wrong, and what to try.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        let source = spelled("source");
        match self {
            Self::Address(typed) => Problem::new(
                format!("`{typed}` is not an address to connect from"),
                format!("write {source} 127.0.0.2, or a range: {source} 127.0.0.2-127.0.0.9"),
            ),
            Self::Range(typed) => Problem::new(
                format!("`{typed}` is not a range of addresses"),
                "write the lower address first, both of one family: 127.0.0.2-127.0.0.9",
            ),
            Self::TooMany(typed) => Problem::new(
                format!("`{typed}` makes more than {ADDRESSES_MAX} addresses"),
                "each one has some 28,000 ports of its own: use fewer",
            ),
        }
        .about("source")
    }
}

shown_as_problem!(SourceError);

/// Every address that `typed` names, in order.
pub fn source_addresses(typed: &[String]) -> Result<Vec<IpAddr>, SourceError> {
    let mut addresses = Vec::new();
    for part in typed.iter().map(|part| part.trim()) {
        match part.split_once('-') {
            None => addresses.push(address(part)?),
            Some((first, last)) => addresses.extend(range(part, address(first)?, address(last)?)?),
        }
        if addresses.len() as u128 > ADDRESSES_MAX {
            return Err(SourceError::TooMany(part.to_owned()));
        }
    }
    Ok(addresses)
}

fn address(text: &str) -> Result<IpAddr, SourceError> {
    text.trim().parse().map_err(|_| SourceError::Address(text.to_owned()))
}

fn range(part: &str, first: IpAddr, last: IpAddr) -> Result<Vec<IpAddr>, SourceError> {
    let wrong = || SourceError::Range(part.to_owned());
    let make: fn(u128) -> IpAddr = match (first, last) {
        (IpAddr::V4(_), IpAddr::V4(_)) => |bits| {
            Ipv4Addr::from_bits(u32::try_from(bits).expect("invariant: between two IPv4 addresses")).into()
        },
        (IpAddr::V6(_), IpAddr::V6(_)) => |bits| Ipv6Addr::from_bits(bits).into(),
        _ => return Err(wrong()),
    };
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    let (first, last) = (bits(first), bits(last));
    match last.checked_sub(first) {
        None => Err(wrong()),
        Some(more) if more >= ADDRESSES_MAX => Err(SourceError::TooMany(part.to_owned())),
        Some(_) => Ok((first..=last).map(make).collect()),
    }
}
