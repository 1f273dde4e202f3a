//! Reads any text as what strangers send the lab in headers: `Host`, cookies, tokens. None of it panics, lets a name in
//! that is not the lab's, or opens anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_lab::auth::{ApiToken, DeviceCookie, Hosts, Secret, SessionCookie};

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let hosts = Hosts::new(["lab.example", "192.0.2.1"]).expect("names");
    if hosts.check(input).is_ok() {
        let name = input.to_ascii_lowercase();
        let own = ["lab.example", "192.0.2.1", "localhost", "127.", "[::1]", "::1"];
        assert!(own.iter().any(|own| name.starts_with(own)), "{input:?}");
    }
    for secure in [false, true] {
        if let Some(secret) = SessionCookie::new(secure).find([input]) {
            assert!(input.contains(&secret.text()), "{input:?}");
        }
        // Nobody knows the key.
        assert_eq!(DeviceCookie::new(secure, &Secret::new()).find([input], "ada"), None);
    }
    if let Ok(token) = ApiToken::read(input) {
        assert_eq!(token.text(), input);
    }
});
