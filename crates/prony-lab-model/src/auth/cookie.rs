//! The cookie of a session.

use std::time::Duration;

use super::{SESSION_LIFE, Secret};

/// The name where the connection is secure, or the browser takes it for such: the prefix makes browsers refuse it from
/// another host, from plain HTTP and with another path (RFC 6265bis, 4.1.3.2).
const SECURE_NAME: &str = "__Host-prony-lab";
/// The name on plain HTTP on loopback. Chromium 156 and curl 7.88 keep `__Host-` cookies of http://127.0.0.1, w3m 0.5.3
/// keeps no `Secure` one; and there the prefix would guard nothing, since every port of a machine has the same cookies.
const PLAIN_NAME: &str = "prony-lab";

/// How the cookie of a session is written and found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCookie {
    secure: bool,
}

impl SessionCookie {
    /// For a lab that is reached by HTTPS (`secure`), or by plain HTTP on loopback.
    pub fn new(secure: bool) -> Self {
        Self { secure }
    }

    fn name(self) -> &'static str {
        if self.secure { SECURE_NAME } else { PLAIN_NAME }
    }

    /// The value of `Set-Cookie` that hands over `secret`.
    pub fn set(self, secret: &Secret) -> String {
        self.written(&secret.text(), SESSION_LIFE)
    }

    /// The value of `Set-Cookie` that takes it back.
    pub fn clear(self) -> String {
        self.written("", Duration::ZERO)
    }

    fn written(self, value: &str, life: Duration) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{}={value}; Path=/; Max-Age={}; HttpOnly{secure}; SameSite=Lax", self.name(), life.as_secs())
    }

    /// The secret in the values of `Cookie`; none where there are two of the name, of which one would be somebody
    /// else's.
    pub fn find<'a>(self, headers: impl IntoIterator<Item = &'a str>) -> Option<Secret> {
        let pairs =
            headers.into_iter().flat_map(|header| header.split(';')).filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(name, _)| name.trim() == self.name()).map(|(_, value)| value.trim());
        match (values.next(), values.next()) {
            (Some(value), None) => Secret::read(value).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back() {
        let secret = Secret::new();
        let text = secret.text();
        let secure = SessionCookie::new(true);
        assert_eq!(
            secure.set(&secret),
            format!("__Host-prony-lab={text}; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Lax")
        );
        assert_eq!(secure.clear(), "__Host-prony-lab=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax");
        let plain = SessionCookie::new(false);
        assert_eq!(
            plain.set(&secret),
            format!("prony-lab={text}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax")
        );
        let both = format!("a=b; __Host-prony-lab={text}; prony-lab=x");
        assert_eq!(secure.find([both.as_str()]), Some(secret.clone()));
        assert_eq!(plain.find([both.as_str()]), None);
        let split = format!("prony-lab={text}");
        assert_eq!(plain.find(["a=b", split.as_str()]), Some(secret));
    }

    #[test]
    fn what_is_no_session() {
        let text = Secret::new().text();
        let cookie = SessionCookie::new(false);
        let twice = format!("prony-lab={text}; prony-lab={text}");
        let capital = format!("Prony-Lab={text}");
        for header in ["", "prony-lab", "prony-lab=", "prony-lab=x", &twice, &capital] {
            assert_eq!(cookie.find([header]), None, "{header}");
        }
    }
}
