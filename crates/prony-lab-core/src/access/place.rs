//! Where a lab may listen, and for whom (S1).

use crate::lab_error::LabError;
use prony_lab_model::Role;
use prony_lab_model::options::LabOptions;

/// Refuses to be reached from elsewhere without TLS, or without a login.
pub(crate) fn check_place(options: &LabOptions) -> Result<(), LabError> {
    let wide = options.listen.iter().find(|address| !address.ip().to_canonical().is_loopback());
    if let (Some(address), None, false) = (wide, &options.tls, options.is_behind_proxy) {
        return Err(LabError::Exposed { address: *address });
    }
    if options.anonymous.is_some() && (wide.is_some() || options.is_behind_proxy) {
        return Err(LabError::AnonymousAbroad);
    }
    if options.anonymous == Some(Role::Admin) {
        return Err(LabError::AnonymousAdmin);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        listen: &str,
        is_secured: bool,
        is_behind_proxy: bool,
        anonymous: Option<Role>,
    ) -> Option<String> {
        let options = LabOptions {
            listen: listen.split(' ').map(|address| address.parse().expect(address)).collect(),
            anonymous,
            tls: is_secured.then(|| ("/c".into(), "/k".into())),
            is_behind_proxy,
            ..LabOptions::new("/x".into())
        };
        check_place(&options).err().map(|error| error.to_string())
    }

    #[test]
    fn loopback_needs_nothing() {
        for listen in ["127.0.0.1:3000", "127.0.0.1:3000 [::1]:3000", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(check(listen, false, false, None), None, "{listen}");
            assert_eq!(check(listen, false, false, Some(Role::Viewer)), None, "{listen}");
        }
        assert!(check("127.0.0.1:3000", false, false, Some(Role::Admin)).is_some());
    }

    #[test]
    fn elsewhere_needs_tls_and_a_login() {
        for listen in
            ["0.0.0.0:3000", "[::]:3000", "10.0.0.1:80", "127.0.0.1:3000 192.168.0.7:3000", "[fe80::1]:1"]
        {
            let refused = check(listen, false, false, None).expect(listen);
            assert!(refused.contains("--tls-certificate") && refused.contains("--behind-proxy"), "{refused}");
            assert_eq!(check(listen, true, false, None), None, "{listen}");
            assert_eq!(check(listen, false, true, None), None, "{listen}");
            assert!(check(listen, true, false, Some(Role::Viewer)).is_some(), "{listen}");
        }
        assert!(check("127.0.0.1:3000", false, true, Some(Role::Viewer)).is_some());
    }
}
