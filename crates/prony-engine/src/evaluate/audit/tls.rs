//! Signals in the TLS handshakes.

use prony_model::words::{grouped, milliseconds, plural, whole};
use prony_model::{Finding, FindingCode, Handshakes, ServerCertificate, Severity, TlsUse};

use super::Facts;

/// Handshakes dominate where they take more of the response time than all else together.
const HANDSHAKE_SHARE: f64 = 0.5;
/// Connections that were reopened, beyond the first ones, from which on it is no accident that few were resumed.
const REOPENED_LEAST: u64 = 10;
/// A server that resumes takes up almost every session: the client has a ticket from the connection before.
const RESUMED_SHARE: f64 = 0.5;
/// What a signature with an RSA key of 2,048 bits takes a server's core, s: `openssl speed rsa2048` on a server of 2023.
/// One with ECDSA on P-256 takes 0.02 ms.
const RSA_2048_SIGN_S: f64 = 0.000_26;
/// A signature takes about the cube of the key's length: a multiplication its square, and there are as many as bits.
const RSA_EXPONENT: i32 = 3;
const RSA_BITS: f64 = 2048.0;
/// The share of a core from which on signatures are seen in the figures: the default margin of comparisons is 2 %, and
/// the constant above is off by a factor of 2 on other machines.
const RSA_CORE_SHARE: f64 = 0.05;

/// What the rules look at.
#[derive(Debug, Clone, Copy)]
struct Seen<'a> {
    tls: &'a TlsUse,
    /// Whether sessions were to be resumed.
    resumption: bool,
    /// Connections that were to be open at once.
    connections: u64,
    /// Requests that were sent, warm-up included.
    sent: u64,
    /// The mean response time.
    response_ms: Option<f64>,
    /// Warm-up and measured part.
    loaded_s: f64,
}

/// All findings about TLS.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let result = facts.result;
    let (Some(tls), Some(options)) = (&result.tls, &facts.plan().target.tls) else { return Vec::new() };
    let seen = Seen {
        tls,
        resumption: options.resumption,
        connections: result.connections.asked,
        sent: result.traffic.map_or(result.requests.intended, |traffic| traffic.sent()),
        response_ms: result.figures().response.mean_ms,
        loaded_s: facts.plan().warmup.as_secs_f64() + result.timing.measured_s,
    };
    [not_verified, handshakes_dominate, no_resumption, rsa_key_cost]
        .iter()
        .filter_map(|rule| rule(&seen))
        .collect()
}

/// The server may be anybody.
fn not_verified(seen: &Seen<'_>) -> Option<Finding> {
    (!seen.tls.verified).then(|| {
        Finding::new(
            FindingCode::NotVerified,
            Severity::Note,
            &[],
            "the server's certificate was not verified: another server may have answered".to_owned(),
            "trust its CA with --cacert FILE, and leave out --insecure",
        )
    })
}

/// New connections' handshakes take most of the time.
fn handshakes_dominate(seen: &Seen<'_>) -> Option<Finding> {
    let handshakes = &seen.tls.handshakes;
    let made = made(handshakes);
    let mean_ms = mean_ms(handshakes)?;
    let response_ms = seen.response_ms.filter(|response_ms| *response_ms > 0.0)?;
    let per_request = (made as f64 / seen.sent.max(1) as f64).min(1.0);
    // Where it is part of the wait for a connection, it is part of the response time.
    let share = (per_request * mean_ms / response_ms).min(1.0);
    if share <= HANDSHAKE_SHARE {
        return None;
    }
    Some(Finding::new(
        FindingCode::HandshakesDominate,
        Severity::Note,
        &[
            ("handshakes", made as f64, "count"),
            ("handshake_mean", mean_ms, "ms"),
            ("response_mean", response_ms, "ms"),
            ("share", share, "share"),
        ],
        format!(
            "TLS handshakes make up most of the response time: there were {} for {}, {} each on average, and a \
             response took {} with it",
            grouped(made),
            plural(seen.sent, "request"),
            milliseconds(mean_ms),
            milliseconds(response_ms)
        ),
        "this measures handshakes: for the server's work, keep connections open (no --no-keepalive), or run longer",
    ))
}

/// Connections were reopened, and few sessions resumed.
fn no_resumption(seen: &Seen<'_>) -> Option<Finding> {
    let handshakes = &seen.tls.handshakes;
    let reopened = made(handshakes).saturating_sub(seen.connections);
    if !seen.resumption || reopened < REOPENED_LEAST {
        return None;
    }
    let share = handshakes.resumed as f64 / reopened as f64;
    if share >= RESUMED_SHARE {
        return None;
    }
    let (what, advice) = if handshakes.resumed == 0 {
        (
            "none resumed a session".to_owned(),
            "enable session tickets on the server (nginx: ssl_session_tickets on), as browsers use them",
        )
    } else {
        (
            format!("only {} resumed a session", grouped(handshakes.resumed)),
            "let all processes of the server share the key of its tickets (nginx: ssl_session_ticket_key)",
        )
    };
    Some(Finding::new(
        FindingCode::NoResumption,
        Severity::Note,
        &[
            ("reopened", reopened as f64, "count"),
            ("resumed", handshakes.resumed as f64, "count"),
            ("full", handshakes.full as f64, "count"),
        ],
        format!("{} were reopened, and {what}: each took a full TLS handshake", connections(reopened)),
        advice,
    ))
}

/// Signatures with an RSA key take the server's time.
fn rsa_key_cost(seen: &Seen<'_>) -> Option<Finding> {
    let ServerCertificate { key, key_bits, .. } = seen.tls.certificate.as_ref()?;
    let bits = f64::from((*key_bits)?);
    if key != "RSA" || seen.loaded_s <= 0.0 {
        return None;
    }
    let sign_s = RSA_2048_SIGN_S * (bits / RSA_BITS).powi(RSA_EXPONENT);
    let full_per_s = seen.tls.handshakes.full as f64 / seen.loaded_s;
    let share = full_per_s * sign_s;
    if share <= RSA_CORE_SHARE {
        return None;
    }
    Some(Finding::new(
        FindingCode::RsaKeyCost,
        Severity::Note,
        &[
            ("key_bits", bits, "bits"),
            ("full_handshakes", full_per_s, "per_s"),
            ("signature", sign_s * 1e3, "ms"),
            ("core_share", share, "share"),
        ],
        format!(
            "the server signed {} full handshakes per second with an RSA key of {} bits, which takes about {} % of a core",
            whole(full_per_s),
            grouped(u64::from(key_bits.unwrap_or_default())),
            whole(share * 100.0)
        ),
        "an ECDSA certificate (P-256) takes a tenth of that; resumption and open connections avoid it",
    ))
}

/// Handshakes that came to an end.
fn made(handshakes: &Handshakes) -> u64 {
    handshakes.full + handshakes.resumed
}

/// What they took on average.
fn mean_ms(handshakes: &Handshakes) -> Option<f64> {
    let sum =
        |latency: &prony_model::LatencySummary| latency.mean_ms.unwrap_or_default() * latency.count as f64;
    let count = handshakes.full_latency.count + handshakes.resumed_latency.count;
    (count > 0).then(|| (sum(&handshakes.full_latency) + sum(&handshakes.resumed_latency)) / count as f64)
}

fn connections(count: u64) -> String {
    plural(count, "connection")
}

#[cfg(test)]
mod tests {
    use prony_model::LatencySummary;

    use super::*;

    /// So many handshakes of so many milliseconds each.
    fn used(full: (u64, f64), resumed: (u64, f64)) -> TlsUse {
        let latency = |(count, mean_ms): (u64, f64)| LatencySummary {
            count,
            mean_ms: (count > 0).then_some(mean_ms),
            ..LatencySummary::default()
        };
        TlsUse {
            verified: true,
            certificate: Some(ServerCertificate {
                key: "ECDSA".to_owned(),
                key_bits: Some(256),
                ..ServerCertificate::default()
            }),
            handshakes: Handshakes {
                full: full.0,
                resumed: resumed.0,
                full_latency: latency(full),
                resumed_latency: latency(resumed),
                ..Handshakes::default()
            },
            ..TlsUse::default()
        }
    }

    /// 1,000 requests of 10 ms over 10 connections in 10 s.
    fn seen(tls: &TlsUse) -> Seen<'_> {
        Seen { tls, resumption: true, connections: 10, sent: 1000, response_ms: Some(10.0), loaded_s: 10.0 }
    }

    fn check(found: Option<Finding>, expected: Option<(FindingCode, &str)>) {
        assert_eq!(found.as_ref().map(|found| found.code), expected.map(|(code, _)| code), "{found:?}");
        if let (Some(found), Some((_, words))) = (found, expected) {
            assert!(found.message.contains(words), "{} has no `{words}`", found.message);
            assert_eq!(found.severity, Severity::Note);
        }
    }

    #[test]
    fn an_unverified_certificate_is_in_every_report() {
        let verified = used((10, 1.0), (0, 0.0));
        check(not_verified(&seen(&verified)), None);
        let tls = TlsUse { verified: false, ..verified };
        check(not_verified(&seen(&tls)), Some((FindingCode::NotVerified, "was not verified")));
    }

    #[test]
    fn handshakes_of_most_of_the_response_time_dominate() {
        let dominate = |full, resumed, expected: Option<&str>| {
            let tls = used(full, resumed);
            let expected = expected.map(|words| (FindingCode::HandshakesDominate, words));
            check(handshakes_dominate(&seen(&tls)), expected);
        };
        dominate((0, 0.0), (0, 0.0), None);
        // One for each request: 5.1 of 10 ms are more than half, 4.9 are not.
        dominate((1000, 5.1), (0, 0.0), Some("1,000 for 1,000 requests"));
        dominate((1000, 4.9), (0, 0.0), None);
        dominate((500, 9.0), (500, 1.4), Some("5.20 ms each on average"));
        // Kept open: ten handshakes, however long.
        dominate((10, 400.0), (0, 0.0), None);
        // More handshakes than requests count once each.
        dominate((5000, 4.9), (0, 0.0), None);
        let tls = used((1000, 5.1), (0, 0.0));
        check(handshakes_dominate(&Seen { response_ms: None, ..seen(&tls) }), None);
        check(handshakes_dominate(&Seen { response_ms: Some(0.0), ..seen(&tls) }), None);
    }

    #[test]
    fn reopened_connections_that_are_not_resumed_are_noted() {
        let resumption = |full, resumed, expected: Option<&str>| {
            let tls = used((full, 1.0), (resumed, 1.0));
            let expected = expected.map(|words| (FindingCode::NoResumption, words));
            check(no_resumption(&seen(&tls)), expected);
        };
        // The first ten connections can't resume anything.
        resumption(10, 0, None);
        resumption(19, 0, None);
        resumption(20, 0, Some("10 connections were reopened, and none resumed a session"));
        resumption(10, 990, None);
        // Half of the 990 that were reopened.
        resumption(505, 495, None);
        resumption(506, 494, Some("990 connections were reopened, and only 494 resumed a session"));
        let tls = used((1000, 1.0), (0, 0.0));
        check(no_resumption(&Seen { resumption: false, ..seen(&tls) }), None);
        check(no_resumption(&Seen { connections: 1000, ..seen(&tls) }), None);
    }

    #[test]
    fn many_signatures_with_an_rsa_key_are_noted() {
        let cost = |key: &str, bits: u32, full: u64, expected: Option<&str>| {
            let certificate = ServerCertificate {
                key: key.to_owned(),
                key_bits: Some(bits),
                ..ServerCertificate::default()
            };
            let tls = TlsUse { certificate: Some(certificate), ..used((full, 1.0), (0, 0.0)) };
            check(rsa_key_cost(&seen(&tls)), expected.map(|words| (FindingCode::RsaKeyCost, words)));
        };
        // 0.26 ms each: 5 % of a core are 192 per second, 1,923 in 10 s.
        cost("RSA", 2048, 1900, None);
        cost("RSA", 2048, 1950, Some("195 full handshakes per second with an RSA key of 2,048 bits"));
        // Eight times that, each.
        cost("RSA", 4096, 230, None);
        cost("RSA", 4096, 250, Some("about 5 % of a core"));
        cost("ECDSA", 256, 1_000_000, None);
        let tls = TlsUse { certificate: None, ..used((1_000_000, 1.0), (0, 0.0)) };
        check(rsa_key_cost(&seen(&tls)), None);
        let rsa =
            ServerCertificate { key: "RSA".to_owned(), key_bits: Some(2048), ..ServerCertificate::default() };
        let tls = TlsUse { certificate: Some(rsa), ..used((1000, 1.0), (0, 0.0)) };
        check(rsa_key_cost(&Seen { loaded_s: 0.0, ..seen(&tls) }), None);
    }
}
