//! The cookies of a session: a jar of one host (RFC 6265), which lives no longer than the session.

/// Cookies of one session; the oldest makes room.
const COOKIES_MAX: usize = 50;
/// Bytes of one cookie's name and value (RFC 6265 section 6.1); a larger one is not kept.
const COOKIE_BYTES_MAX: usize = 4096;

/// The jar.
#[derive(Debug, Default)]
pub(super) struct Cookies(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
}

/// What a `Set-Cookie` field sets.
pub(super) struct SetCookie<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    path: Option<&'a [u8]>,
    domain: Option<&'a [u8]>,
    secure: bool,
    deletes: bool,
}

impl<'a> SetCookie<'a> {
    /// Reads the value of a field (RFC 6265 section 5.2).
    pub(super) fn parse(field: &'a [u8]) -> Option<Self> {
        let mut parts = field.split(|byte| *byte == b';');
        let (name, value) = pair(parts.next()?);
        if name.is_empty() {
            return None;
        }
        let mut cookie =
            Self { name, value: value?, path: None, domain: None, secure: false, deletes: false };
        for part in parts {
            let (attribute, value) = pair(part);
            let value = value.unwrap_or_default();
            let is = |name: &str| attribute.eq_ignore_ascii_case(name.as_bytes());
            if is("path") {
                cookie.path = Some(value).filter(|path| path.starts_with(b"/"));
            } else if is("domain") {
                cookie.domain =
                    Some(value.strip_prefix(b".").unwrap_or(value)).filter(|name| !name.is_empty());
            } else if is("secure") {
                cookie.secure = true;
            } else if is("max-age") {
                cookie.deletes = value == b"0" || value.starts_with(b"-");
            } else if is("expires") {
                cookie.deletes |= is_long_past(value);
            }
        }
        Some(cookie)
    }
}

/// Name and value of a part, without the white space around them.
fn pair(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match part.iter().position(|byte| *byte == b'=') {
        Some(equals) => (part[..equals].trim_ascii(), Some(part[equals + 1..].trim_ascii())),
        None => (part.trim_ascii(), None),
    }
}

/// Whether a date has a year before 2000: how servers delete cookies. Others outlive any session.
fn is_long_past(date: &[u8]) -> bool {
    let words = date.split(|byte| b" -".contains(byte));
    let mut years = words.filter(|word| word.len() == 4 && word.iter().all(u8::is_ascii_digit));
    years.next().is_some_and(|year| year < b"2000".as_slice())
}

impl Cookies {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes what a response to a request for `path` on `host` sets.
    pub(super) fn set(&mut self, cookie: &SetCookie<'_>, host: &str, is_secure: bool, path: &[u8]) {
        if cookie.domain.is_some_and(|domain| !covers(domain, host.as_bytes())) || cookie.secure && !is_secure
        {
            return;
        }
        let has_control = [cookie.name, cookie.value].concat().iter().any(u8::is_ascii_control);
        if cookie.name.len() + cookie.value.len() > COOKIE_BYTES_MAX || has_control {
            return;
        }
        let path = cookie.path.unwrap_or_else(|| default_path(path));
        let known = self.0.iter().position(|known| known.name == cookie.name && known.path == path);
        match known {
            Some(known) if cookie.deletes => drop(self.0.remove(known)),
            Some(known) => {
                let known = &mut self.0[known].value;
                known.clear();
                known.extend_from_slice(cookie.value);
            }
            None if cookie.deletes => {}
            None => {
                if self.0.len() == COOKIES_MAX {
                    self.0.remove(0);
                }
                self.0.push(Cookie {
                    name: cookie.name.into(),
                    value: cookie.value.into(),
                    path: path.into(),
                });
            }
        }
    }

    /// Adds the header field of a request for `path` to `out`; nothing if no cookie is for it.
    pub(super) fn write(&self, path: &[u8], out: &mut Vec<u8>) {
        let before = out.len();
        out.extend_from_slice(b"Cookie: ");
        let start = out.len();
        self.write_pairs(path, out);
        if out.len() == start {
            out.truncate(before);
        } else {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Adds the value of that field to `out`.
    pub(super) fn write_pairs(&self, path: &[u8], out: &mut Vec<u8>) {
        let mut separator: &[u8] = b"";
        for cookie in self.0.iter().filter(|cookie| is_below(path, &cookie.path)) {
            out.extend_from_slice(separator);
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
            separator = b"; ";
        }
    }
}

/// Whether `domain` is `host` or one above it (RFC 6265 section 5.1.3).
fn covers(domain: &[u8], host: &[u8]) -> bool {
    let Some(at) = host.len().checked_sub(domain.len()) else { return false };
    host[at..].eq_ignore_ascii_case(domain) && (at == 0 || host[at - 1] == b'.')
}

/// The path of a cookie that names none (RFC 6265 section 5.1.4).
fn default_path(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(last) => &path[..last],
    }
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'?').next().unwrap_or_default()
}

/// Whether a cookie of `cookie_path` goes with a request for `path` (RFC 6265 section 5.1.4).
fn is_below(path: &[u8], cookie_path: &[u8]) -> bool {
    let path = without_query(path);
    path.strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || cookie_path.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes with a request for `path` after a response to `/shop/cart?x=/y` on a.example set these.
    fn check(fields: &[&str], path: &str, expected: &str) {
        let mut cookies = Cookies::default();
        for field in fields {
            if let Some(cookie) = SetCookie::parse(field.as_bytes()) {
                cookies.set(&cookie, "a.example", false, b"/shop/cart?x=/y");
            }
        }
        let mut out = Vec::new();
        cookies.write(path.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "{fields:?} {path}");
    }

    #[test]
    fn cookies_as_in_rfc_6265() {
        check(&[], "/", "");
        check(&["a=1; Path=/", "b = 2 ;path=/; HttpOnly"], "/x", "Cookie: a=1; b=2\r\n");
        check(&["a=1", "a=2"], "/shop/pay", "Cookie: a=2\r\n");
        check(&["a=1"], "/shopping", "");
        check(&["a=1; Path=/shop"], "/shop?q", "Cookie: a=1\r\n");
        check(&["a=1; Path=/", "a=; Path=/; Max-Age=0"], "/", "");
        check(&["a=1; Path=/", "a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", "");
        check(&["a=1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT"], "/", "Cookie: a=1\r\n");
        check(&["a=1; Path=/; Domain=.example", "b=1; Path=/; Domain=other.example"], "/", "Cookie: a=1\r\n");
        check(&["a=1; Path=/; Domain=le"], "/", "");
        check(&["a=1; Path=/; Secure", "=x", "nothing", "", "a\u{1}=1"], "/", "");
    }

    proptest::proptest! {
        /// Whatever a server sets, what goes out is one line of printable bytes, or nothing.
        #[test]
        fn no_field_is_too_odd(fields in proptest::collection::vec("[=; ,a-c\\x00-\\x1f]{0,20}(;(path|domain|expires|max-age)=[/a. 0-9-]{0,9}){0,2}", 0..4)) {
            let mut cookies = Cookies::default();
            for field in &fields {
                if let Some(cookie) = SetCookie::parse(field.as_bytes()) {
                    cookies.set(&cookie, "a", false, b"/a");
                }
            }
            let mut out = Vec::new();
            cookies.write(b"/a", &mut out);
            let line = out.strip_suffix(b"\r\n").unwrap_or(&out);
            proptest::prop_assert!(line.iter().all(|byte| !byte.is_ascii_control()), "{:?} {:?}", fields, out);
        }
    }

    #[test]
    fn a_jar_is_bounded() {
        let mut cookies = Cookies::default();
        for number in 0..1000 {
            let field = format!("c{number}={}; Path=/", "x".repeat(number * 5));
            let cookie = SetCookie::parse(field.as_bytes()).expect("a cookie");
            cookies.set(&cookie, "a", false, b"/");
        }
        let mut out = Vec::new();
        cookies.write(b"/", &mut out);
        assert!(cookies.0.len() == COOKIES_MAX && out.len() < COOKIES_MAX * (COOKIE_BYTES_MAX + 3));
    }
}
