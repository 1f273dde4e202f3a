//! The headers of every response by which the browser keeps attacks out (S18).

/// The policy of every page: nothing from elsewhere, nothing inline, no frame around it.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The policy of a stored page that stands for itself, with its styles in it (a study's report): it gets an origin of its
/// own, runs no script, sends nothing anywhere.
pub const STORED_PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'none'; sandbox";

/// Headers of every response, beside the policy.
pub const SECURITY_HEADERS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    // `no-referrer` would make browsers send `Origin: null` with our own forms.
    ("referrer-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];
