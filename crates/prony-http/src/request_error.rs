//! Why a request is refused before a byte of it is sent. The texts fit after "failed to".

use thiserror::Error;

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The method is no token (RFC 9110 section 9.1).
    #[error("use {method:?} as a method: it must be letters without spaces, such as GET")]
    Method {
        /// The method as given.
        method: String,
    },
    /// CONNECT turns the connection into a tunnel.
    #[error("use CONNECT: a tunnel cannot be measured; request the target itself")]
    Connect,
    /// The target begins with neither a slash nor `http://`.
    #[error("use {target:?} as a target: it must begin with `/`")]
    TargetForm {
        /// The target as given.
        target: String,
    },
    /// The target holds a character that cannot stand in a request line.
    #[error("use {target:?} as a target: percent-encode the character at byte {at}")]
    TargetCharacter {
        /// The target as given.
        target: String,
        /// The index of the first such byte.
        at: usize,
    },
    /// The authority is empty or cannot stand in a `Host` field (RFC 9112 section 3.2).
    #[error(
        "use {authority:?} as a host: give a name or address and perhaps a port, such as example.org:8080"
    )]
    Authority {
        /// The authority as given, perhaps in a `Host` field.
        authority: String,
    },
    /// A field name is no token (RFC 9110 section 5.1).
    #[error("send a header named {name:?}: use letters, digits and hyphens")]
    HeaderName {
        /// The name as given.
        name: String,
    },
    /// A field value holds CR, LF, NUL or another control character (RFC 9110 section 5.5).
    #[error("send the header {name}: its value holds a control character at byte {at}; remove it")]
    HeaderValue {
        /// The name of the field.
        name: String,
        /// The index of the first such byte in the value.
        at: usize,
    },
    /// A field that may be sent once only was given twice.
    #[error("send the header {name} twice: give it once")]
    HeaderTwice {
        /// The name of the field.
        name: String,
    },
    /// A field that asks for something that Prony does not do.
    #[error(
        "send the header {name}: prony sends each body at once, with its length, \
         and never switches protocols; remove it"
    )]
    HeaderRefused {
        /// The name of the field.
        name: String,
    },
    /// A field that describes a connection of HTTP/1.1 (RFC 9113 section 8.2.2).
    #[error("send the header {name} in HTTP/2, whose connections have no such fields: remove it")]
    NotInHttp2 {
        /// The name as given.
        name: String,
    },
    /// The content-length given is not that of the body.
    #[error(
        "send the content-length {given:?} with a body of {body_bytes} bytes: remove the header, it is added"
    )]
    ContentLength {
        /// The value as given.
        given: String,
        /// The length of the body.
        body_bytes: usize,
    },
}
