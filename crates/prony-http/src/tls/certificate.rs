//! What a certificate says of itself, for people: a small reader of DER (X.690) and X.509 (RFC 5280 section 4.1).
//!
//! Nothing is verified here, and nothing that is verified depends on it.

/// The short story of a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Certificate {
    /// `RSA`, `ECDSA`, `Ed25519`, `Ed448`, or `unknown`.
    pub key: &'static str,
    /// Length of the key, bits.
    pub key_bits: Option<u32>,
    /// Common name of whom it is for.
    pub subject: Option<String>,
    /// Common name, or else organization, of who signed it.
    pub issuer: Option<String>,
    /// Until when it is valid, RFC 3339 in UTC.
    pub not_after: Option<String>,
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0]` around the version of a certificate.
const VERSION: u8 = 0xa0;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const P384: &[u8] = &[0x2b, 0x81, 4, 0, 34];
const P521: &[u8] = &[0x2b, 0x81, 4, 0, 35];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const ED448: &[u8] = &[0x2b, 0x65, 0x71];

/// Letters of a name that are shown.
const NAME_MAX: usize = 64;

/// The parts of a certificate that are read.
struct Parts<'a> {
    issuer: &'a [u8],
    validity: &'a [u8],
    subject: &'a [u8],
    key: &'a [u8],
}

impl Certificate {
    /// Reads `der`; `None` where it is no certificate.
    pub fn read(der: &[u8]) -> Option<Self> {
        let parts = parts(der)?;
        let (_, _not_before, rest) = value(parts.validity)?;
        let not_after = value(rest);
        let (key, key_bits) = key(parts.key).unwrap_or(("unknown", None));
        Some(Self {
            key,
            key_bits,
            subject: name(parts.subject, COMMON_NAME),
            issuer: name(parts.issuer, COMMON_NAME).or_else(|| name(parts.issuer, ORGANIZATION)),
            not_after: not_after.and_then(|(tag, text, _)| moment(tag, text)),
        })
    }
}

/// Whether the certificate names itself as its issuer.
pub(super) fn is_self_issued(der: &[u8]) -> bool {
    parts(der).is_some_and(|parts| parts.issuer == parts.subject)
}

fn parts(der: &[u8]) -> Option<Parts<'_>> {
    let (certificate, _) = expect(der, SEQUENCE)?;
    let (mut rest, _) = expect(certificate, SEQUENCE)?;
    if let Some((_, after)) = expect(rest, VERSION) {
        rest = after;
    }
    let (_serial, rest) = expect(rest, INTEGER)?;
    let (_algorithm, rest) = expect(rest, SEQUENCE)?;
    let (issuer, rest) = expect(rest, SEQUENCE)?;
    let (validity, rest) = expect(rest, SEQUENCE)?;
    let (subject, rest) = expect(rest, SEQUENCE)?;
    let (key, _) = expect(rest, SEQUENCE)?;
    Some(Parts { issuer, validity, subject, key })
}

/// Tag and content of the first value in `input`, and what follows it.
fn value(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = input.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // A certificate is shorter than 16 MiB (RFC 8446 section 4.4.2).
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// The content of the first value in `input`, if it has this tag, and what follows it.
fn expect(input: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    value(input).and_then(|(found, content, rest)| (found == tag).then_some((content, rest)))
}

/// The first attribute `wanted` of a name.
fn name(mut names: &[u8], wanted: &[u8]) -> Option<String> {
    while let Some((set, rest)) = expect(names, SET) {
        names = rest;
        let (attribute, _) = expect(set, SEQUENCE)?;
        let (id, attribute) = expect(attribute, OBJECT_ID)?;
        if id == wanted {
            let (_, text, _) = value(attribute)?;
            let text = String::from_utf8_lossy(text);
            return Some(text.chars().filter(|letter| !letter.is_control()).take(NAME_MAX).collect());
        }
    }
    None
}

/// Kind and bits of a public key.
fn key(key: &[u8]) -> Option<(&'static str, Option<u32>)> {
    let (algorithm, rest) = expect(key, SEQUENCE)?;
    let (id, parameters) = expect(algorithm, OBJECT_ID)?;
    Some(match id {
        RSA => ("RSA", rsa_bits(rest)),
        EC => {
            let curve = expect(parameters, OBJECT_ID).map(|(curve, _)| curve);
            let bits = match curve {
                Some(P256) => Some(256),
                Some(P384) => Some(384),
                Some(P521) => Some(521),
                _ => None,
            };
            ("ECDSA", bits)
        }
        ED25519 => ("Ed25519", Some(256)),
        ED448 => ("Ed448", Some(456)),
        _ => ("unknown", None),
    })
}

/// Length of the modulus (RFC 8017 appendix A.1.1).
fn rsa_bits(key: &[u8]) -> Option<u32> {
    let (bits, _) = expect(key, BIT_STRING)?;
    // The first byte counts unused bits: there are none.
    let (sequence, _) = expect(bits.get(1..)?, SEQUENCE)?;
    let (modulus, _) = expect(sequence, INTEGER)?;
    let modulus = &modulus[modulus.iter().position(|byte| *byte != 0)?..];
    let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
    u32::try_from(bits).ok()
}

/// A time in a certificate (RFC 5280 section 4.1.2.5) as RFC 3339 has it.
fn moment(tag: u8, text: &[u8]) -> Option<String> {
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let all = match tag {
        UTC_TIME if digits.len() == 12 => {
            let century = if digits.as_bytes()[0] < b'5' { "20" } else { "19" };
            format!("{century}{digits}")
        }
        GENERALIZED_TIME if digits.len() == 14 => digits.to_owned(),
        _ => return None,
    };
    if !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize| &all[from..from + 2];
    Some(format!("{}-{}-{}T{}:{}:{}Z", &all[..4], part(4), part(6), part(8), part(10), part(12)))
}

/// Seconds since 1970 as RFC 3339, in UTC.
pub(super) fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of year 0, in the proleptic Gregorian calendar: 400 years have 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (era * 400 + year + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let check = |tag: u8, text: &str, expected: Option<&str>| {
            assert_eq!(moment(tag, text.as_bytes()).as_deref(), expected, "{text}");
        };
        check(UTC_TIME, "491231235959Z", Some("2049-12-31T23:59:59Z"));
        check(UTC_TIME, "500101000000Z", Some("1950-01-01T00:00:00Z"));
        check(GENERALIZED_TIME, "20991231235959Z", Some("2099-12-31T23:59:59Z"));
        check(GENERALIZED_TIME, "2099123123595Z", None);
        check(UTC_TIME, "4912312359é", None);
        check(UTC_TIME, "", None);
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(4_102_444_799), "2099-12-31T23:59:59Z");
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        for length in 0..40 {
            for byte in [0, 2, 3, 6, 0x30, 0x31, 0x7f, 0x80, 0x81, 0x82, 0x83, 0x84, 0xff] {
                let _any = Certificate::read(&vec![byte; length]);
            }
        }
    }
}
