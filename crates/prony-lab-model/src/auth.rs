//! Who somebody is: passwords, sessions, API tokens, and what keeps others from acting in their name.
//!
//! Pure: no socket, no store, no clock. Moments come as arguments, chance from the kernel ([`Secret`]). What is stored of
//! a secret is its SHA-256 ([`Secret::digest`]): 256 bits of chance can't be guessed back from it, and a copy of the
//! store lets nobody in. Passwords, which can be guessed, are stored as Argon2id ([`Password`]).

mod badge;
mod cookie;
mod device;
mod headers;
mod hosts;
mod limit;
mod origin;
mod password;
mod push;
mod secret;
mod token;

pub use badge::BadgeSeal;
pub use cookie::SessionCookie;
pub use device::DeviceCookie;
pub use headers::{CONTENT_SECURITY_POLICY, SECURITY_HEADERS, STORED_PAGE_POLICY};
pub use hosts::{HostError, Hosts};
pub use limit::{LoginLimit, Source, TooManyLogins};
pub use origin::{ForeignOrigin, Provenance};
pub use password::{Password, PasswordError};
pub use push::PushProof;
pub use secret::{Digest, Secret, SecretError, hexadecimal, hmac, random};
pub use token::{ApiToken, TokenError};

use std::time::Duration;

/// How long a session lasts from its login, whatever is done in it: a working day and its evening.
pub const SESSION_LIFE: Duration = Duration::from_hours(12);
/// How long a link for setting a password can be used, once.
pub const INVITE_LIFE: Duration = Duration::from_hours(1);
