//! Secrets of the lab: named, sealed with a key that lies beside the database, and given to what names them alone.
//!
//! Sealed is by ChaCha20-Poly1305 (RFC 8439), with the secret's name: one can't be put in the place of another. Anyone who has
//! the database, or a backup of it, has no secret; anyone who has the lab's folder, too, has all.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::Problem;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

use prony_lab_model::SecretName;
use prony_lab_model::clock;
use prony_lab_store::{Store, StoreError, audit, secrets};

/// The file of the key, in the lab's folder.
const KEY_FILE: &str = "secrets.key";
const KEY_BYTES: usize = 32;
/// Shorter ones can be guessed, and to mask them would make outputs unreadable.
const VALUE_BYTES_MIN: usize = 6;
/// A private key fits.
const VALUE_BYTES_MAX: usize = 32 << 10;

/// Why something about secrets can't be done.
#[derive(Debug)]
pub enum SecretError {
    /// The store.
    Store(StoreError),
    /// The file of the key.
    Key {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It was sealed with another key, or changed.
    Sealed(String),
    /// There is none of that name.
    Missing(String),
    /// Too short, too long, or something that no variable can hold.
    Value,
}

impl SecretError {
    /// What is wrong, as it stands after "failed to", and what to try.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Store(error) => error.problem(),
            Self::Key { path, source } => Problem::new(
                format!("use the key of secrets in {} ({source})", path.display()),
                "is it the lab's own folder?",
            ),
            Self::Sealed(name) => Problem::new(
                format!("open the secret {name}, which was sealed with another key or is damaged"),
                "store it again",
            ),
            Self::Missing(name) => Problem::new(
                format!("find the secret {name}, which nobody stored"),
                format!("store it with `prony lab secret set {name}`"),
            ),
            Self::Value => Problem::without_advice(format!(
                "store it: a secret has {VALUE_BYTES_MIN} to {VALUE_BYTES_MAX} bytes, and none of them is 0"
            )),
        }
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem().sentence())
    }
}

impl std::error::Error for SecretError {}

impl From<StoreError> for SecretError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What seals and opens secrets.
pub(crate) struct SecretKey(LessSafeKey);

impl SecretKey {
    /// The key of the lab in the folder `data`, made if there is none.
    pub(crate) fn open(data: &Path) -> Result<Self, SecretError> {
        let path = data.join(KEY_FILE);
        let failed = |source| SecretError::Key { path: path.clone(), source };
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_key(&path).map_err(failed)?,
            read => read.map_err(failed)?,
        };
        let unbound = UnboundKey::new(&CHACHA20_POLY1305, &bytes);
        let wrong = |_| failed(io::Error::other(format!("it has {} bytes, not {KEY_BYTES}", bytes.len())));
        Ok(Self(LessSafeKey::new(unbound.map_err(wrong)?)))
    }

    /// `value` as text that only this key opens.
    pub(crate) fn seal(&self, name: &SecretName, value: &[u8]) -> String {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).expect("invariant: the kernel has random bytes");
        let mut sealed = value.to_vec();
        let with = Aad::from(name.as_str().as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        let done = self.0.seal_in_place_append_tag(nonce_used, with, &mut sealed);
        done.expect("invariant: a secret is shorter than 256 GiB");
        STANDARD.encode([&nonce[..], &sealed].concat())
    }

    /// The value of what [`SecretKey::seal`] made for `name`.
    pub(crate) fn open_sealed(&self, name: &SecretName, sealed: &str) -> Result<Vec<u8>, SecretError> {
        let wrong = || SecretError::Sealed(name.to_string());
        let bytes = STANDARD.decode(sealed).map_err(|_| wrong())?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN).ok_or_else(wrong)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| wrong())?;
        let mut value = sealed.to_vec();
        let with = Aad::from(name.as_str().as_bytes());
        let length = self.0.open_in_place(nonce, with, &mut value).map_err(|_| wrong())?.len();
        value.truncate(length);
        Ok(value)
    }
}

/// A new key, which nobody but the lab's user can read, on the disk before anything is sealed with it.
fn make_key(path: &Path) -> io::Result<Vec<u8>> {
    let mut key = vec![0; KEY_BYTES];
    SystemRandom::new().fill(&mut key).map_err(|_| io::Error::other("the kernel has no random bytes"))?;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(key)
}

/// The values of `names`, in their order.
pub fn values(
    store: &Store,
    data: &Path,
    names: &[SecretName],
) -> Result<Vec<(SecretName, Vec<u8>)>, SecretError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let key = SecretKey::open(data)?;
    let value = |name: &SecretName| {
        let sealed = store.read_blocking(|tx| secrets::sealed(tx, name))?;
        let sealed = sealed.ok_or_else(|| SecretError::Missing(name.to_string()))?;
        Ok((name.clone(), key.open_sealed(name, &sealed)?))
    };
    names.iter().map(value).collect()
}

/// Secrets, for an administrator.
pub(crate) struct SecretAdmin {
    store: Store,
    data: PathBuf,
    by: String,
}

impl SecretAdmin {
    /// For the lab with this store and the folder `data`; `by` stands in the audit log.
    pub(crate) fn over(store: Store, data: &Path, by: &str) -> Self {
        Self { store, data: data.to_owned(), by: by.to_owned() }
    }

    /// The names of all secrets.
    pub(crate) fn names(&self) -> Result<Vec<String>, SecretError> {
        Ok(self.store.read_blocking(secrets::names)?)
    }

    /// Keeps a secret; one of the same name is replaced.
    pub(crate) fn set(&self, name: &SecretName, value: &[u8]) -> Result<(), SecretError> {
        if !(VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&value.len()) || value.contains(&0) {
            return Err(SecretError::Value);
        }
        let sealed = SecretKey::open(&self.data)?.seal(name, value);
        let (name, by) = (name.clone(), self.by.clone());
        let now = clock::wall();
        Ok(self.store.write_blocking(move |tx| {
            secrets::set(tx, &name, &sealed)?;
            audit::append(tx, now, &by, "secret.set", name.as_str(), "").map(drop)
        })?)
    }

    /// Forgets a secret.
    pub(crate) fn remove(&self, name: &SecretName) -> Result<(), SecretError> {
        let (kept, by) = (name.clone(), self.by.clone());
        let now = clock::wall();
        let is_removed = self.store.write_blocking(move |tx| {
            let is_removed = secrets::remove(tx, &kept)?;
            if is_removed {
                audit::append(tx, now, &by, "secret.remove", kept.as_str(), "")?;
            }
            Ok(is_removed)
        })?;
        if is_removed { Ok(()) } else { Err(SecretError::Missing(name.to_string())) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use prony_lab_model::options::StoreAddress;

    fn name(text: &str) -> SecretName {
        text.parse().expect("a name")
    }

    #[test]
    fn what_is_stored_is_sealed_and_comes_back() {
        let data = tempfile::tempdir().expect("room");
        let address = StoreAddress::Sqlite(data.path().join("lab.sqlite"));
        let admin = SecretAdmin::over(Store::open(&address).expect("a store"), data.path(), "kim");
        admin.set(&name("TOKEN"), b"very secret").expect("stored");
        assert_eq!(admin.names().expect("read"), ["TOKEN"]);
        let found = values(&admin.store, data.path(), &[name("TOKEN")]).expect("there");
        assert_eq!(found, [(name("TOKEN"), b"very secret".to_vec())]);
        let missing = values(&admin.store, data.path(), &[name("OTHER")]).expect_err("none").to_string();
        assert!(missing.contains("`prony lab secret set OTHER`"), "{missing}");
        for wrong in [&b"short"[..], b"zero \0 inside", &vec![b'x'; VALUE_BYTES_MAX + 1]] {
            assert!(admin.set(&name("WRONG"), wrong).is_err());
        }
        let mode = fs::metadata(data.path().join(KEY_FILE)).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        admin.remove(&name("TOKEN")).expect("there");
        assert!(admin.remove(&name("TOKEN")).is_err());
        drop(admin);
        let all =
            ["lab.sqlite", "lab.sqlite-wal"].map(|file| fs::read(data.path().join(file)).unwrap_or_default());
        let text = all.concat();
        assert!(!text.windows(11).any(|part| part == b"very secret"), "never in the clear");
    }

    #[test]
    fn a_seal_holds() {
        let data = tempfile::tempdir().expect("room");
        let key = SecretKey::open(data.path()).expect("made");
        let sealed = key.seal(&name("A"), b"very secret");
        assert_ne!(sealed, key.seal(&name("A"), b"very secret"));
        let same = SecretKey::open(data.path()).expect("the same");
        assert_eq!(same.open_sealed(&name("A"), &sealed).expect("whole"), b"very secret");
        assert!(same.open_sealed(&name("B"), &sealed).is_err(), "another's");
        for broken in ["", "x", &sealed[..8], &sealed.replace(&sealed[20..24], "AAAA")] {
            assert!(same.open_sealed(&name("A"), broken).is_err(), "{broken}");
        }
        let other = tempfile::tempdir().expect("room");
        let key = SecretKey::open(other.path()).expect("made");
        assert!(key.open_sealed(&name("A"), &sealed).is_err(), "another key");
        fs::write(other.path().join(KEY_FILE), "short").expect("room");
        assert!(SecretKey::open(other.path()).is_err());
    }
}
