//! TLS in words: what was asked for, what was negotiated, what became of the handshakes.

use prony_model::{
    Handshakes, LatencySummary, ProbedTls, RunResult, ServerCertificate, Target, TlsUse, TlsVersions,
};

use crate::number::{cell, count};

/// What stands for a certificate that nobody verified.
const NOT_VERIFIED: &str = "NOT VERIFIED (--insecure)";

/// What was asked for beyond `https://`; each part is one choice.
pub(crate) fn choices(target: &Target) -> Vec<String> {
    let Some(tls) = &target.tls else { return Vec::new() };
    let mut parts = Vec::new();
    if tls.insecure {
        parts.push(format!("certificate {NOT_VERIFIED}"));
    }
    parts.extend(tls.ca_files.iter().map(|file| format!("trusting {}", file.display())));
    if tls.client_certificate.is_some() {
        parts.push("with a client certificate".to_owned());
    }
    parts.extend(tls.server_name.as_ref().map(|name| format!("TLS for {name}")));
    match tls.versions {
        TlsVersions::Any => {}
        TlsVersions::Tls12 => parts.push("TLS 1.2 only".to_owned()),
        TlsVersions::Tls13 => parts.push("TLS 1.3 only".to_owned()),
    }
    if !tls.resumption {
        parts.push("without TLS resumption".to_owned());
    }
    parts
}

/// What a run negotiated, and its handshakes; a line each.
pub(crate) fn lines(result: &RunResult) -> Vec<String> {
    let Some(tls) = &result.tls else { return Vec::new() };
    let TlsUse { version, cipher_suite, key_exchange, certificate, verified, handshakes, .. } = tls;
    let key_exchange = key_exchange.as_deref();
    vec![
        agreed(version, cipher_suite, key_exchange, certificate.as_ref(), *verified),
        self::handshakes(handshakes),
    ]
}

/// What a probe negotiated.
pub(crate) fn probed(tls: &ProbedTls) -> Vec<String> {
    let ProbedTls { version, cipher_suite, key_exchange, certificate, verified, alpn, resumed } = tls;
    let key_exchange = key_exchange.as_deref();
    let agreed = agreed(version, cipher_suite, key_exchange, certificate.as_ref(), *verified);
    let handshake = if *resumed { "resumed" } else { "full handshake" };
    let protocol = alpn.as_ref().map_or_else(|| "no ALPN".to_owned(), |protocol| format!("ALPN {protocol}"));
    let first = format!("{agreed}, {handshake}, {protocol}");
    let mut lines = vec![first];
    lines.extend(certificate.as_ref().and_then(described));
    lines
}

/// "TLS 1.3, TLS13_AES_128_GCM_SHA256, X25519, ECDSA P-256, verified"
fn agreed(
    version: &str,
    cipher_suite: &str,
    key_exchange: Option<&str>,
    certificate: Option<&ServerCertificate>,
    verified: bool,
) -> String {
    let mut parts = vec![version.to_owned(), cipher_suite.to_owned()];
    parts.extend(key_exchange.map(str::to_owned));
    parts.extend(certificate.map(key));
    parts.push(if verified { "verified" } else { NOT_VERIFIED }.to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// "RSA 2048", "ECDSA P-256", "Ed25519"
fn key(certificate: &ServerCertificate) -> String {
    match (certificate.key.as_str(), certificate.key_bits) {
        ("ECDSA", Some(bits)) => format!("ECDSA P-{bits}"),
        ("RSA", Some(bits)) => format!("RSA {bits}"),
        (key, _) => key.to_owned(),
    }
}

/// Whom a certificate is for, who signed it, and until when it is valid.
fn described(certificate: &ServerCertificate) -> Option<String> {
    let ServerCertificate { subject, issuer, not_after, .. } = certificate;
    let parts: Vec<String> = [
        subject.as_ref().map(|subject| format!("for {subject}")),
        issuer.as_ref().map(|issuer| format!("issued by {issuer}")),
        not_after.as_ref().map(|moment| format!("valid until {moment}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// "12 full handshakes (mean 1.21 ms), 990 resumed (mean 0.52 ms), 2 failed"
fn handshakes(handshakes: &Handshakes) -> String {
    let of = |number: u64, what: &str, latency: &LatencySummary| {
        let mean = latency.mean_ms.map(|mean_ms| format!(" (mean {} ms)", cell(mean_ms)));
        format!("{} {what}{}", count(number), mean.unwrap_or_default())
    };
    let full = if handshakes.full == 1 { "full handshake" } else { "full handshakes" };
    let mut parts = vec![
        of(handshakes.full, full, &handshakes.full_latency),
        of(handshakes.resumed, "resumed", &handshakes.resumed_latency),
    ];
    if handshakes.failed > 0 {
        parts.push(format!("{} failed", count(handshakes.failed)));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_usual_names() {
        let check = |name: &str, key_bits: Option<u32>, expected: &str| {
            let certificate =
                ServerCertificate { key: name.to_owned(), key_bits, ..ServerCertificate::default() };
            assert_eq!(key(&certificate), expected);
        };
        check("ECDSA", Some(256), "ECDSA P-256");
        check("ECDSA", None, "ECDSA");
        check("RSA", Some(2048), "RSA 2048");
        check("Ed25519", Some(256), "Ed25519");
    }

    #[test]
    fn what_is_not_verified_stands_out() {
        assert_eq!(agreed("TLS 1.2", "X", None, None, true), "TLS 1.2, X, verified");
        assert_eq!(agreed("TLS 1.2", "", None, None, false), "TLS 1.2, NOT VERIFIED (--insecure)");
        let mut target = Target::parse("https://h/").expect("a URL");
        assert_eq!(choices(&target), Vec::<String>::new());
        if let Some(tls) = &mut target.tls {
            tls.insecure = true;
        }
        assert_eq!(choices(&target), ["certificate NOT VERIFIED (--insecure)"]);
        assert_eq!(choices(&Target::parse("http://h/").expect("a URL")), Vec::<String>::new());
    }
}
