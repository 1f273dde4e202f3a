//! The cookie by which a browser is known again from which somebody logged in before: nobody else's tries keep them out
//! there. It lets nobody in.

use std::time::Duration;

use hmac::Mac as _;
use subtle::ConstantTimeEq as _;

use super::{Secret, hexadecimal, hmac, random};

/// As those of the session's cookie.
const SECURE_NAME: &str = "__Host-prony-device";
const PLAIN_NAME: &str = "prony-device";
/// How long a browser is known without a login.
const LIFE: Duration = Duration::from_hours(180 * 24);
/// Says what the key was used for.
const PURPOSE: &[u8] = b"prony lab device ";
/// Bytes of a device's number.
const ID_BYTES: usize = 8;

/// How the cookie of a device is written and read.
#[derive(Debug, Clone)]
pub struct DeviceCookie {
    secure: bool,
    key: [u8; 32],
}

impl DeviceCookie {
    /// For a lab with this key, as [`super::SessionCookie::new`].
    pub fn new(secure: bool, key: &Secret) -> Self {
        Self { secure, key: key.bytes() }
    }

    fn name(&self) -> &'static str {
        if self.secure { SECURE_NAME } else { PLAIN_NAME }
    }

    /// The value of `Set-Cookie` for a browser from which `user` has logged in.
    pub fn set(&self, user: &str) -> String {
        let id = hexadecimal(&random::<ID_BYTES>());
        let secure = if self.secure { "; Secure" } else { "" };
        format!(
            "{}={id}.{}; Path=/; Max-Age={}; HttpOnly{secure}; SameSite=Lax",
            self.name(),
            self.seal(&id, user),
            LIFE.as_secs()
        )
    }

    /// The number of the device in the values of `Cookie`, if `user` has logged in from it.
    pub fn find<'a>(&self, headers: impl IntoIterator<Item = &'a str>, user: &str) -> Option<String> {
        let pairs =
            headers.into_iter().flat_map(|header| header.split(';')).filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(name, _)| name.trim() == self.name()).map(|(_, value)| value.trim());
        let (id, seal) = values.next()?.split_once('.')?;
        let is_known = bool::from(self.seal(id, user).as_bytes().ct_eq(seal.as_bytes()));
        is_known.then(|| id.to_owned())
    }

    fn seal(&self, id: &str, user: &str) -> String {
        let mut mac = hmac(&self.key);
        mac.update(PURPOSE);
        mac.update(format!("{id} {user}").as_bytes());
        hexadecimal(&mac.finalize().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_by_who_logged_in_from_it() {
        let cookie = DeviceCookie::new(false, &Secret::new());
        let set = cookie.set("ada");
        let (pair, rest) = set.split_once(';').expect("a cookie");
        assert!(rest.contains("HttpOnly") && rest.contains("Max-Age=15552000"), "{set}");
        let id = cookie.find(["a=b", pair], "ada").expect("hers");
        assert_eq!(id.len(), 16);
        assert_eq!(cookie.find([pair], "ben"), None);
        assert_eq!(cookie.find([pair.replace(&id, "0000000000000000").as_str()], "ada"), None);
        assert_eq!(DeviceCookie::new(false, &Secret::new()).find([pair], "ada"), None, "another lab's");
        assert_eq!(cookie.find(["prony-device=x", "prony-device"], "ada"), None);
    }
}
