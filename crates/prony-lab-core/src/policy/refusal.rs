//! Why a load is refused, in words for the person who asked for it.

use std::net::SocketAddr;

/// A refused URL is shown up to this many characters: it may be anything.
const SHOWN_MAX: usize = 200;

/// Why a connection, or a load, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What should be a URL isn't one that can be asked.
    #[error("`{url}` can't be loaded ({why}): write it as http://HOST:PORT/PATH")]
    Url {
        /// What was given, shortened.
        url: String,
        /// Why not.
        why: String,
    },
    /// A user name or password in a URL, which the store would keep.
    #[error("the URL holds a user name or password, which would be stored: send it as a header instead")]
    UserInfo,
    /// A name without an address.
    #[error("`{host}` has no address that can be asked ({why}): check the name")]
    Resolve {
        /// The name.
        host: String,
        /// The resolver's words.
        why: String,
    },
    /// A metadata service.
    #[error("{address} is a cloud's metadata service, which gives away credentials: nobody may load it")]
    Metadata {
        /// Where the connection would go.
        address: SocketAddr,
    },
    /// A link-local address.
    #[error("{address} is link-local, where clouds keep their own services: nobody may load it")]
    LinkLocal {
        /// Where the connection would go.
        address: SocketAddr,
    },
    /// Unspecified, multicast, broadcast or reserved.
    #[error("{address} is no single server's address: for this machine write 127.0.0.1")]
    Nobody {
        /// Where the connection would go.
        address: SocketAddr,
    },
    /// A network that the policy names.
    #[error("{address} is in {network}, which the policy refuses: an admin can change `refused`")]
    Network {
        /// Where the connection would go.
        address: SocketAddr,
        /// The network.
        network: String,
    },
    /// A port that the policy leaves out.
    #[error("port {port} is not among the ports of the policy ({allowed}): an admin can change `ports`")]
    Port {
        /// The port.
        port: u16,
        /// Those that may be loaded, in words.
        allowed: String,
    },
    /// Loopback, where the policy doesn't allow it.
    #[error(
        "{address} is the loading machine itself, which the policy doesn't allow: an admin can set `loopback`"
    )]
    Loopback {
        /// Where the connection would go.
        address: SocketAddr,
    },
    /// A private network, where the policy doesn't allow it.
    #[error("{address} is in a private network, which the policy doesn't allow: an admin can set `private`")]
    Private {
        /// Where the connection would go.
        address: SocketAddr,
    },
    /// A public address, for somebody who isn't an admin.
    #[error(
        "{address} is a public address: name it in the policy (`hosts` or `networks`); in a lab an admin may load it, too"
    )]
    Public {
        /// Where the connection would go.
        address: SocketAddr,
    },
    /// More load than the policy allows.
    #[error("{requested} {what} are more than the {allowed} that the policy allows {whom}: ask for less")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much was requested.
        requested: String,
        /// How much may be.
        allowed: String,
        /// For what or whom.
        whom: &'static str,
    },
    /// A load without an end in time.
    #[error("a number of requests alone has no known end: give a duration as well")]
    Endless,
    /// A closed loop on a public address.
    #[error("a closed loop goes as fast as the server answers, which nobody agreed to: give a rate")]
    ClosedLoop,
}

/// `text`, up to a length that can be shown.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown: String =
        text.chars().filter(|character| !character.is_control()).take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
