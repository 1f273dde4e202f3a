//! A curl command, as people have it in their notes and browsers copy it: its options, read as curl 8 reads them.
//!
//! What changes only what curl prints is passed over. What changes the request is in it, or listed as left out where a
//! load has another meaning for it, or refused.

mod body;
mod form;
mod options;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::{Problem, nearest};

use self::body::Data;
use self::form::Part;
use self::options::{CurlOption, Meaning, by_letter, by_name};
use crate::imported::{HttpVersion, Imported, LeftOut};
use crate::shell::{Word, words};

/// What curl accepts with `--compressed`, where it is built with every decoder.
const COMPRESSED: &str = "deflate, gzip, br, zstd";

/// Reads one curl command.
///
/// # Errors
/// Where it isn't one, or holds what can't be loaded: with the line, and what to try.
pub fn read_curl(text: &str) -> Result<Imported, Problem> {
    let words = words(text)?;
    let (first, rest) = words.split_first().ok_or_else(|| not_curl("the text is empty"))?;
    let name = String::from_utf8_lossy(&first.bytes).into_owned();
    if name.rsplit('/').next() != Some("curl") && name != "curl.exe" {
        return Err(not_curl(&format!("`{}` is not curl", shortened(&name))));
    }
    let mut command = Command::default();
    let mut rest = rest.iter();
    let mut options_end = false;
    while let Some(word) = rest.next() {
        let text = word_text(word)?;
        match text.strip_prefix('-') {
            Some("") | None => command.url(text, word.line)?,
            Some(_) if options_end => command.url(text, word.line)?,
            Some("-") => options_end = true,
            Some(long) if long.starts_with('-') => {
                let option = find_long(&long[1..], word.line)?;
                let value = if option.takes { Some(value(&mut rest, word, text)?) } else { None };
                command.option(option, Shown { text, line: word.line }, value)?;
            }
            Some(letters) => command.letters(letters, word, &mut rest)?,
        }
    }
    command.finish()
}

fn not_curl(what: &str) -> Problem {
    Problem::new(
        what.to_owned(),
        "give a whole curl command: --curl \"curl 'http://HOST/' -H 'Name: value'\"",
    )
}

/// `text`, cut to a length that can be shown.
fn shortened(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn word_text(word: &Word) -> Result<&str, Problem> {
    std::str::from_utf8(&word.bytes).map_err(|_| {
        Problem::new(
            format!("line {}: this word is not UTF-8", word.line),
            "only a body may be: put it into a file, --data-binary @FILE",
        )
    })
}

/// The option of that long name; `no-` before it is read as curl does.
fn find_long(name: &str, line: usize) -> Result<&'static CurlOption, Problem> {
    by_name(name).ok_or_else(|| {
        let problem = format!("line {line}: curl's option --{} is not known here", shortened(name));
        let advice = match nearest(name, options::names()) {
            Some(near) => format!("is --{near} meant? Else leave it out"),
            None => "leave it out".to_owned(),
        };
        Problem::new(problem, advice)
    })
}

/// The word behind an option that takes one.
fn value<'a>(rest: &mut std::slice::Iter<'a, Word>, option: &Word, shown: &str) -> Result<&'a Word, Problem> {
    rest.next().ok_or_else(|| {
        Problem::new(format!("line {}: {shown} lacks its value", option.line), "copy the whole command")
    })
}

/// An option as it was written, and its line.
#[derive(Clone, Copy)]
struct Shown<'a> {
    text: &'a str,
    line: usize,
}

/// What the options read so far add up to.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of curl's own")]
struct Command {
    imported: Imported,
    has_url: bool,
    /// The pieces of `-d` and its like, joined by `&`.
    data: Data,
    /// The parts of `-F`.
    parts: Vec<Part>,
    json: bool,
    head: bool,
    upload: Option<Vec<u8>>,
    get: bool,
    compressed: bool,
    glob_off: bool,
    /// Where the version of HTTP stands.
    version_line: usize,
}

impl Command {
    fn url(&mut self, url: &str, line: usize) -> Result<(), Problem> {
        if std::mem::replace(&mut self.has_url, true) {
            return Err(Problem::new(
                format!("line {line}: `{}` is a second URL", shortened(url)),
                "one command is one request: leave out the others",
            ));
        }
        url.clone_into(&mut self.imported.url);
        Ok(())
    }

    /// `-sSL`, `-XPOST`: several letters, the last of which may have its value behind it.
    fn letters(
        &mut self,
        letters: &str,
        word: &Word,
        rest: &mut std::slice::Iter<'_, Word>,
    ) -> Result<(), Problem> {
        for (at, letter) in letters.char_indices() {
            let option = by_letter(letter).ok_or_else(|| {
                Problem::new(
                    format!("line {}: curl's option -{letter} is not known here", word.line),
                    "leave it out",
                )
            })?;
            let text = format!("-{letter}");
            let shown = Shown { text: &text, line: word.line };
            if !option.takes {
                self.option(option, shown, None)?;
                continue;
            }
            let behind = &letters[at + letter.len_utf8()..];
            if behind.is_empty() {
                let value = value(rest, word, &text)?;
                return self.option(option, shown, Some(value));
            }
            let value = Word { bytes: behind.as_bytes().to_vec(), line: word.line };
            return self.option(option, shown, Some(&value));
        }
        Ok(())
    }

    fn option(&mut self, option: &CurlOption, shown: Shown<'_>, value: Option<&Word>) -> Result<(), Problem> {
        static NONE: Word = Word { bytes: Vec::new(), line: 0 };
        let word = value.unwrap_or(&NONE);
        match option.meaning {
            Meaning::Printed => {}
            Meaning::LeftOut(instead) => self.left_out(shown, &word.bytes, instead),
            Meaning::Refused(advice) => {
                return Err(Problem::new(
                    format!("line {}: {} of curl can't be part of a load", shown.line, shown.text),
                    advice,
                ));
            }
            Meaning::Url => self.url(word_text(word)?, word.line)?,
            Meaning::Method => self.imported.method = Some(word_text(word)?.to_owned()),
            Meaning::Head => self.head = true,
            Meaning::Get => self.get = true,
            Meaning::Header => self.header(word_text(word)?, word.line)?,
            Meaning::NamedHeader(name) => {
                let value = word_text(word)?;
                self.replace_header(name, value);
            }
            Meaning::Cookie => self.cookie(word_text(word)?, word.line)?,
            Meaning::Bearer => {
                let value = format!("Bearer {}", word_text(word)?);
                self.replace_header("Authorization", &value);
            }
            Meaning::User => {
                let user = word_text(word)?;
                let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
                self.replace_header("Authorization", &format!("Basic {}", STANDARD.encode(user)));
            }
            Meaning::Range => {
                let value = format!("bytes={}", word_text(word)?);
                self.replace_header("Range", &value);
            }
            Meaning::Data(how) => self.data.add(how, word)?,
            Meaning::Json => {
                self.json = true;
                self.data.add_json(word)?;
            }
            Meaning::Form { literal } => self.parts.push(Part::read(word, literal)?),
            Meaning::Upload => self.upload = Some(body::file(word_text(word)?, word.line)?),
            Meaning::Compressed => self.compressed = true,
            Meaning::Timeout => self.imported.timeout = Some(seconds(word, shown.text)?),
            Meaning::ConnectTimeout => self.imported.connect_timeout = Some(seconds(word, shown.text)?),
            Meaning::Http10 => self.version(HttpVersion::Http10, shown),
            Meaning::Http11 => self.version(HttpVersion::Http11, shown),
            Meaning::Http2 => self.version(HttpVersion::Http2, shown),
            Meaning::Http2PriorKnowledge => self.version(HttpVersion::Http2PriorKnowledge, shown),
            Meaning::UnixSocket => self.imported.unix = Some(PathBuf::from(word_text(word)?)),
            Meaning::Resolve => {
                // HOST:PORT:ADDRESS[,ADDRESS]…, with `+` before it for entries that time out.
                let (_, behind) = split_host(word_text(word)?.trim_start_matches('+'));
                self.connect_to(behind.split_once(':').map(|(port, to)| (to, port)), word, shown.text)?;
            }
            Meaning::ConnectTo => {
                // HOST:PORT:HOST:PORT
                let (_, behind) = split_host(word_text(word)?);
                let to = behind.split_once(':').map(|(_, to)| split_host(to));
                self.connect_to(to, word, shown.text)?;
            }
            Meaning::GlobOff => self.glob_off = true,
        }
        Ok(())
    }

    /// The last option of its kind decides, as in curl.
    fn version(&mut self, version: HttpVersion, shown: Shown<'_>) {
        self.imported.version = version;
        self.version_line = shown.line;
    }

    fn left_out(&mut self, shown: Shown<'_>, value: &[u8], instead: &'static str) {
        let value = String::from_utf8_lossy(value);
        let what = format!("{} {}", shown.text, shortened(&value)).trim_end().to_owned();
        self.imported.left_out.push(LeftOut { line: shown.line, what, instead });
    }

    /// `Name: value`; `Name;` has no value; `Name:` takes a header of curl's own away, of which there are none here.
    fn header(&mut self, text: &str, line: usize) -> Result<(), Problem> {
        if text.starts_with('@') {
            return Err(Problem::new(
                format!("line {line}: headers from a file (-H @…) are not read"),
                "write each with -H 'Name: value'",
            ));
        }
        if let Some((name, value)) = text.split_once(':') {
            let (name, value) = (name.trim(), value.trim());
            // Browsers once wrote HTTP/2's own fields so.
            if name.is_empty() || (value.is_empty() && !text.trim_end().ends_with(';')) {
                self.left_out(Shown { text: "-H", line }, text.as_bytes(), "it has no name or no value");
            } else {
                self.imported.headers.push((name.to_owned(), value.to_owned()));
            }
            return Ok(());
        }
        match text.trim_end().strip_suffix(';') {
            Some(name) => self.imported.headers.push((name.to_owned(), String::new())),
            None => {
                return Err(Problem::new(
                    format!("line {line}: `{}` is not a header", shortened(text)),
                    "write a name, a colon and a value: -H 'Accept: text/html'",
                ));
            }
        }
        Ok(())
    }

    fn replace_header(&mut self, name: &str, value: &str) {
        self.imported.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.imported.headers.push((name.to_owned(), value.to_owned()));
    }

    /// `name=value; …`; without an equals sign it is a file of cookies.
    fn cookie(&mut self, text: &str, line: usize) -> Result<(), Problem> {
        if !text.contains('=') {
            return Err(Problem::new(
                format!("line {line}: cookies from a file (-b {}) are not read", shortened(text)),
                "write them out: -b 'name=value; other=value'",
            ));
        }
        let text = text.trim();
        let cookie = self.imported.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        match cookie {
            Some((_, value)) => {
                value.push_str("; ");
                value.push_str(text);
            }
            None => self.imported.headers.push(("Cookie".to_owned(), text.to_owned())),
        }
        Ok(())
    }

    /// Addresses to connect to, with the port: as curl writes both.
    fn connect_to(&mut self, to: Option<(&str, &str)>, word: &Word, shown: &str) -> Result<(), Problem> {
        let wrong = || {
            Problem::new(
                format!("line {}: {shown} needs an IP address and a port at its end", word.line),
                "or leave it out, and use --connect-to ADDRESS:PORT",
            )
        };
        let (addresses, port) = to.ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        for address in addresses.split(',') {
            let address: IpAddr =
                address.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| wrong())?;
            self.imported.connect_to.push(SocketAddr::new(address, port));
        }
        Ok(())
    }

    /// Everything together.
    fn finish(mut self) -> Result<Imported, Problem> {
        if !self.has_url || self.imported.url.is_empty() {
            return Err(not_curl("this curl command has no URL"));
        }
        self.check_glob()?;
        self.settle_version();
        let bodies = usize::from(!self.data.is_empty())
            + usize::from(!self.parts.is_empty())
            + usize::from(self.upload.is_some());
        if bodies > 1 {
            return Err(Problem::new(
                "-d, -F and -T each make a body of their own",
                "one request has one: leave out the others",
            ));
        }
        let mut request = std::mem::take(&mut self.imported);
        if self.head {
            request.method.get_or_insert_with(|| "HEAD".to_owned());
        }
        if self.get {
            let query = String::from_utf8(std::mem::take(&mut self.data).joined()).map_err(|_| {
                Problem::new("-G puts data into the URL that is not UTF-8", "write it with %XX")
            })?;
            append_query(&mut request.url, &query);
        } else if !self.data.is_empty() {
            if self.json {
                request.default_header("Content-Type", "application/json");
                request.default_header("Accept", "application/json");
            } else {
                request.default_header("Content-Type", "application/x-www-form-urlencoded");
            }
            request.body = Some(self.data.joined());
        } else if !self.parts.is_empty() {
            let (boundary, body) = form::encode(&self.parts);
            request.default_header("Content-Type", &format!("multipart/form-data; boundary={boundary}"));
            request.body = Some(body);
        } else if let Some(bytes) = self.upload {
            request.method.get_or_insert_with(|| "PUT".to_owned());
            request.body = Some(bytes);
        }
        if self.compressed {
            request.default_header("Accept-Encoding", COMPRESSED);
        }
        Ok(request)
    }

    /// What the options for HTTP/2 mean for this URL. With `--http2` curl asks a server without TLS to upgrade, which
    /// RFC 9113 no longer has and hardly any server does; with TLS, prior knowledge only leaves out HTTP/1.1 as an offer.
    fn settle_version(&mut self) {
        const NO_UPGRADE: &str = "it is sent by HTTP/1.1, as to a server that does not upgrade; HTTP/2 without TLS is --http2-prior-knowledge";
        let has_tls =
            self.imported.url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
        match (self.imported.version, has_tls) {
            (HttpVersion::Http2, false) => {
                self.imported.version = HttpVersion::Http11;
                self.left_out(Shown { text: "--http2", line: self.version_line }, b"", NO_UPGRADE);
            }
            (HttpVersion::Http2PriorKnowledge, true) => self.imported.version = HttpVersion::Http2,
            _ => {}
        }
    }

    /// curl takes `{a,b}` and `[1-3]` in a URL for several URLs.
    fn check_glob(&self) -> Result<(), Problem> {
        let url = &self.imported.url;
        let behind_host = url.find("://").map_or(url.as_str(), |at| &url[at + 3..]);
        let behind_host = behind_host.find('/').map_or("", |at| &behind_host[at..]);
        if !self.glob_off && behind_host.contains(['{', '[']) {
            return Err(Problem::new(
                "this URL stands for several ({…} or […])",
                "write one URL, or add -g if the brackets are meant as they stand",
            ));
        }
        Ok(())
    }
}

/// A host in front, in brackets or not, and what stands behind its colon.
fn split_host(text: &str) -> (&str, &str) {
    let bracketed = text.starts_with('[').then(|| text.find(']')).flatten().map(|at| at + 1);
    let end = bracketed.or_else(|| text.find(':')).unwrap_or(text.len());
    (&text[..end], text[end..].strip_prefix(':').unwrap_or_default())
}

/// A time in seconds, decimals included; 0 stands for none in curl.
fn seconds(word: &Word, shown: &str) -> Result<Duration, Problem> {
    let wrong = || {
        Problem::new(
            format!("line {}: {shown} needs a number of seconds above 0", word.line),
            "write it as 10 or 2.5",
        )
    };
    let seconds: f64 = word_text(word)?.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

/// Adds `query` to `url`, in front of a fragment.
fn append_query(url: &mut String, query: &str) {
    if query.is_empty() {
        return;
    }
    let fragment = url.find('#').map(|at| url.split_off(at)).unwrap_or_default();
    let separator = match url.find('?') {
        Some(at) if at + 1 == url.len() => "",
        Some(_) => "&",
        None => "?",
    };
    url.push_str(separator);
    url.push_str(query);
    url.push_str(&fragment);
}

#[cfg(test)]
mod tests;
