//! What the head of a response says.

use prony_http::{Framing, Head, ServerTiming, h2};
use prony_model::{BodyFraming, ProbedResponse, ServerMetric, ServerTimes, Target, Version};

/// Everything that `head` says in answer to a request of `target`; of the body nothing is known yet.
pub(super) fn read(head: &Head<'_>, target: &Target) -> ProbedResponse {
    let (version, reason) = status_line(head.raw);
    ProbedResponse {
        version,
        status: head.status,
        reason,
        headers: head.headers().map(|(name, value)| (name.to_owned(), text(value))).collect(),
        head_bytes: head.raw.len() as u64,
        framing: match head.framing {
            Framing::Empty => BodyFraming::None,
            Framing::Length(_) => BodyFraming::Length,
            Framing::Chunked => BodyFraming::Chunked,
            Framing::UntilClose => BodyFraming::UntilClose,
        },
        location: location(head.header("location"), head.status, target),
        server_timing: server_times(head.headers()),
        ..ProbedResponse::default()
    }
}

/// The same of a head in HTTP/2.
pub(super) fn read_http2(head: &h2::Head<'_>, target: &Target) -> ProbedResponse {
    ProbedResponse {
        version: Version::Http2.name().to_owned(),
        status: head.status,
        headers: head.headers().map(|(name, value)| (name.to_owned(), text(value))).collect(),
        // As sent it is shorter: names and values that came before are not repeated.
        head_bytes: head.headers().map(|(name, value)| name.len() as u64 + value.len() as u64).sum(),
        framing: if head.content_length.is_some() { BodyFraming::Length } else { BodyFraming::Stream },
        location: location(head.header("location"), head.status, target),
        server_timing: server_times(head.headers()),
        ..ProbedResponse::default()
    }
}

/// Where a redirect points to.
fn location(field: Option<&[u8]>, status: u16, target: &Target) -> Option<String> {
    let location = field.filter(|_| (300..400).contains(&status)).map(text)?;
    Some(target.redirected(&location).unwrap_or(location))
}

/// The `Server-Timing` fields, where there is one.
fn server_times<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Option<ServerTimes> {
    let values: Vec<&[u8]> = headers
        .filter(|(name, _)| name.eq_ignore_ascii_case("server-timing"))
        .map(|(_, value)| value)
        .collect();
    if values.is_empty() {
        return None;
    }
    let ServerTiming { metrics, problems } = ServerTiming::parse(values);
    let metrics = metrics.into_iter().map(|metric| ServerMetric {
        name: metric.name,
        duration_ms: metric.duration_ms,
        description: metric.description,
    });
    Some(ServerTimes {
        metrics: metrics.collect(),
        problems: problems.iter().map(ToString::to_string).collect(),
    })
}

/// The version and the reason phrase (RFC 9112, section 4). The parser has checked the line.
fn status_line(head: &[u8]) -> (String, String) {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = text(line.strip_suffix(b"\r").unwrap_or(line));
    let mut parts = line.splitn(3, ' ');
    let version = parts.next().unwrap_or_default().to_owned();
    (version, parts.nth(1).unwrap_or_default().trim().to_owned())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines() {
        let check = |head: &[u8], version: &str, reason: &str| {
            assert_eq!(status_line(head), (version.to_owned(), reason.to_owned()), "{head:?}");
        };
        check(b"HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1", "Not Found");
        check(b"HTTP/1.0 200\n\n", "HTTP/1.0", "");
        check(b"HTTP/1.1 200 \r\n", "HTTP/1.1", "");
        check(b"HTTP/1.1 200 Gr\xfc\xdfe\r\n", "HTTP/1.1", "Gr\u{fffd}\u{fffd}e");
    }

    #[test]
    fn only_redirects_point_somewhere() {
        let target = Target::parse("http://h/a").expect("a URL");
        let check = |status: u16, location: &str, expected: Option<&str>| {
            let raw = format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\n\r\n");
            let head = Head {
                status,
                framing: Framing::Empty,
                keep_alive: true,
                has_session_fields: false,
                raw: raw.as_bytes(),
            };
            assert_eq!(read(&head, &target).location.as_deref(), expected, "{raw}");
        };
        check(302, "/b", Some("http://h/b"));
        check(308, "https://h/a", Some("https://h/a"));
        check(302, "http://[", Some("http://["));
        check(201, "/b", None);
    }
}
