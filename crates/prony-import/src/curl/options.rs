//! curl's options: which take a value, and what becomes of each.

/// How a piece of data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataKind {
    /// `-d`: a file loses its line ends.
    Text,
    /// `--data-binary`: a file as it is.
    Binary,
    /// `--data-raw`: never a file.
    Raw,
    /// `--data-urlencode`: `name=content`, with the content encoded.
    UrlEncoded,
}

/// What an option means for a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It changes what curl prints, writes or waits for: nothing to a load.
    Printed,
    /// The load does without it, and this happens instead.
    LeftOut(&'static str),
    /// Without it the request would be another one; and what to try.
    Refused(&'static str),
    Url,
    Method,
    Head,
    Get,
    Header,
    NamedHeader(&'static str),
    Cookie,
    Bearer,
    User,
    Range,
    Data(DataKind),
    Json,
    Form {
        literal: bool,
    },
    Upload,
    Compressed,
    Timeout,
    ConnectTimeout,
    Http10,
    Http11,
    Http2,
    Http2PriorKnowledge,
    UnixSocket,
    Resolve,
    ConnectTo,
    GlobOff,
}

/// An option of curl.
#[derive(Debug)]
pub(super) struct CurlOption {
    letter: Option<char>,
    name: &'static str,
    /// Whether a value follows.
    pub(super) takes: bool,
    pub(super) meaning: Meaning,
}

const fn flag(letter: Option<char>, name: &'static str, meaning: Meaning) -> CurlOption {
    CurlOption { letter, name, takes: false, meaning }
}

const fn with(letter: Option<char>, name: &'static str, meaning: Meaning) -> CurlOption {
    CurlOption { letter, name, takes: true, meaning }
}

const REDIRECTS: Meaning = Meaning::LeftOut("redirects are not followed, each response counts as it is");
const HTTP3: Meaning = Meaning::LeftOut("HTTP/3 is not spoken");
const RETRIES: Meaning = Meaning::LeftOut("a failure is counted, not sent again");
const ADDRESSES: Meaning = Meaning::LeftOut("every address of the name is used");
const LIMITS: Meaning = Meaning::LeftOut("transfers are not slowed down");
const OTHER_LOGIN: Meaning =
    Meaning::Refused("only Basic is sent: leave it out, or write the header with -H");
const PROXY: Meaning = Meaning::Refused("load the server itself, or the proxy by its own URL");
const ANOTHER_REQUEST: Meaning = Meaning::Refused("one command is one request: load each on its own");
const CONFIGURED: Meaning = Meaning::Refused("write the options of that file into the command");

/// All that are known here.
const OPTIONS: [CurlOption; 94] = [
    flag(None, "anyauth", OTHER_LOGIN),
    flag(None, "basic", Meaning::Printed),
    with(None, "url", Meaning::Url),
    with(Some('X'), "request", Meaning::Method),
    flag(Some('I'), "head", Meaning::Head),
    flag(Some('G'), "get", Meaning::Get),
    with(Some('H'), "header", Meaning::Header),
    with(Some('A'), "user-agent", Meaning::NamedHeader("User-Agent")),
    with(Some('e'), "referer", Meaning::NamedHeader("Referer")),
    with(Some('b'), "cookie", Meaning::Cookie),
    with(Some('c'), "cookie-jar", Meaning::Printed),
    flag(Some('j'), "junk-session-cookies", Meaning::Printed),
    with(Some('u'), "user", Meaning::User),
    with(None, "oauth2-bearer", Meaning::Bearer),
    with(Some('r'), "range", Meaning::Range),
    with(Some('d'), "data", Meaning::Data(DataKind::Text)),
    with(None, "data-ascii", Meaning::Data(DataKind::Text)),
    with(None, "data-binary", Meaning::Data(DataKind::Binary)),
    with(None, "data-raw", Meaning::Data(DataKind::Raw)),
    with(None, "data-urlencode", Meaning::Data(DataKind::UrlEncoded)),
    with(None, "json", Meaning::Json),
    with(Some('F'), "form", Meaning::Form { literal: false }),
    with(None, "form-string", Meaning::Form { literal: true }),
    with(Some('T'), "upload-file", Meaning::Upload),
    flag(None, "compressed", Meaning::Compressed),
    with(Some('m'), "max-time", Meaning::Timeout),
    with(None, "connect-timeout", Meaning::ConnectTimeout),
    flag(Some('0'), "http1.0", Meaning::Http10),
    flag(None, "http1.1", Meaning::Http11),
    flag(None, "http2", Meaning::Http2),
    flag(None, "http2-prior-knowledge", Meaning::Http2PriorKnowledge),
    flag(None, "http3", HTTP3),
    flag(None, "http3-only", HTTP3),
    flag(None, "alpn", Meaning::Printed),
    with(None, "unix-socket", Meaning::UnixSocket),
    with(None, "resolve", Meaning::Resolve),
    with(None, "connect-to", Meaning::ConnectTo),
    flag(Some('g'), "globoff", Meaning::GlobOff),
    flag(None, "path-as-is", Meaning::LeftOut("/../ and /./ in the path are resolved")),
    flag(Some('L'), "location", REDIRECTS),
    flag(None, "location-trusted", REDIRECTS),
    with(None, "max-redirs", Meaning::Printed),
    flag(None, "post301", Meaning::Printed),
    flag(None, "post302", Meaning::Printed),
    flag(None, "post303", Meaning::Printed),
    with(None, "retry", RETRIES),
    with(None, "retry-delay", Meaning::Printed),
    with(None, "retry-max-time", Meaning::Printed),
    flag(None, "retry-all-errors", Meaning::Printed),
    flag(None, "retry-connrefused", Meaning::Printed),
    flag(Some('4'), "ipv4", ADDRESSES),
    flag(Some('6'), "ipv6", ADDRESSES),
    with(None, "limit-rate", LIMITS),
    with(None, "rate", LIMITS),
    with(Some('y'), "speed-time", Meaning::Printed),
    with(Some('Y'), "speed-limit", Meaning::Printed),
    with(None, "keepalive-time", Meaning::Printed),
    flag(None, "tcp-nodelay", Meaning::Printed),
    flag(None, "tcp-fastopen", Meaning::LeftOut("connections open as usual")),
    with(None, "expect100-timeout", Meaning::Printed),
    flag(Some('s'), "silent", Meaning::Printed),
    flag(Some('S'), "show-error", Meaning::Printed),
    flag(Some('v'), "verbose", Meaning::Printed),
    flag(Some('i'), "include", Meaning::Printed),
    flag(None, "show-headers", Meaning::Printed),
    flag(Some('f'), "fail", Meaning::Printed),
    flag(None, "fail-with-body", Meaning::Printed),
    flag(None, "fail-early", Meaning::Printed),
    with(Some('o'), "output", Meaning::Printed),
    with(None, "output-dir", Meaning::Printed),
    flag(Some('O'), "remote-name", Meaning::Printed),
    flag(Some('J'), "remote-header-name", Meaning::Printed),
    flag(None, "create-dirs", Meaning::Printed),
    with(Some('w'), "write-out", Meaning::Printed),
    with(Some('D'), "dump-header", Meaning::Printed),
    flag(Some('#'), "progress-bar", Meaning::Printed),
    flag(None, "no-progress-meter", Meaning::Printed),
    flag(Some('N'), "no-buffer", Meaning::Printed),
    flag(Some('R'), "remote-time", Meaning::Printed),
    with(None, "stderr", Meaning::Printed),
    with(None, "trace", Meaning::Printed),
    with(None, "trace-ascii", Meaning::Printed),
    flag(None, "trace-time", Meaning::Printed),
    flag(Some('q'), "disable", Meaning::Printed),
    flag(None, "digest", OTHER_LOGIN),
    flag(None, "ntlm", OTHER_LOGIN),
    flag(None, "negotiate", OTHER_LOGIN),
    with(None, "aws-sigv4", OTHER_LOGIN),
    flag(Some('n'), "netrc", OTHER_LOGIN),
    with(Some('x'), "proxy", PROXY),
    with(None, "socks5", PROXY),
    flag(Some(':'), "next", ANOTHER_REQUEST),
    flag(Some('Z'), "parallel", ANOTHER_REQUEST),
    with(Some('K'), "config", CONFIGURED),
];

/// The option of this letter.
pub(super) fn by_letter(letter: char) -> Option<&'static CurlOption> {
    OPTIONS.iter().find(|option| option.letter == Some(letter))
}

/// The option of this name, or of an unambiguous beginning of one, as curl has it.
pub(super) fn by_name(name: &str) -> Option<&'static CurlOption> {
    if let Some(whole) = OPTIONS.iter().find(|option| option.name == name) {
        return Some(whole);
    }
    let mut beginning = OPTIONS.iter().filter(|option| !name.is_empty() && option.name.starts_with(name));
    beginning.next().filter(|_| beginning.next().is_none())
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|option| option.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_letters_are_unique() {
        let names: BTreeSet<&str> = names().collect();
        let letters: Vec<char> = OPTIONS.iter().filter_map(|option| option.letter).collect();
        assert_eq!(names.len(), OPTIONS.len());
        assert_eq!(letters.iter().collect::<BTreeSet<_>>().len(), letters.len());
    }

    #[test]
    fn beginnings_are_enough_where_only_one_fits() {
        assert_eq!(by_name("compr").map(|option| option.name), Some("compressed"));
        assert_eq!(by_name("data").map(|option| option.name), Some("data"));
        assert!(by_name("data-").is_none() && by_name("").is_none() && by_name("nothing").is_none());
    }
}
