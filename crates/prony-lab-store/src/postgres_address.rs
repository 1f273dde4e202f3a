//! Addresses of PostgreSQL databases, as libpq reads them: `postgres://USER@HOST/DATABASE?sslmode=…` or
//! `host=… user=… sslmode=…`. Pure, but for the password file.
//!
//! Three parameters are read here, because the client library doesn't know them or takes them too lightly: `sslmode`,
//! `sslrootcert` and `passfile`. A connection to another machine is encrypted and its certificate is verified, unless
//! the address names another `sslmode`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use postgres::Config;
use postgres::config::{Host, SslMode};
use prony_lab_model::options::StoreAddress;
use prony_model::Problem;

use super::StoreError;

/// The parameters that are read here.
const OWN: [&str; 3] = ["sslmode", "sslrootcert", "passfile"];
/// More than the passwords of a thousand databases.
const PASSFILE_BYTES_MAX: u64 = 1 << 20;
/// The port where an address names none.
const PORT: u16 = 5432;
/// Permissions of group and others, which a password file must not have.
const OTHERS: u32 = 0o077;

/// An address that was read.
#[derive(Debug, Clone)]
pub(crate) struct PostgresAddress {
    /// What the client library needs of it.
    pub(crate) config: Config,
    pub security: Security,
}

/// How a connection is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Security {
    /// Not at all: it stays on this machine, or the address says so by name.
    Plain,
    /// Encrypted, with any server that answers.
    Encrypted,
    /// Encrypted, with a certificate for the host's name from an authority in this file, or one of the system's.
    Verified(Option<PathBuf>),
}

/// Where a password may come from that is not in the address. The binary reads the environment.
#[derive(Debug, Clone, Default)]
pub struct DatabaseEnvironment {
    /// `PGPASSWORD`.
    pub password: Option<String>,
    /// `PGPASSFILE`, or `~/.pgpass` if that is there.
    pub passfile: Option<PathBuf>,
}

impl PostgresAddress {
    /// Reads `address`, and the password from its password file.
    pub(crate) fn parse(address: &str) -> Result<Self, StoreError> {
        let (rest, mut own) = split(address).map_err(StoreError::Address)?;
        let mut config: Config = rest.parse().map_err(|error: postgres::Error| {
            let why =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            StoreError::Address(Problem::new(
                format!("its address can't be read ({why})"),
                "write postgres://USER@HOST/DATABASE",
            ))
        })?;
        let security = security(&config, own.remove("sslmode").as_deref(), own.remove("sslrootcert"))
            .map_err(StoreError::Address)?;
        config.ssl_mode(if security == Security::Plain { SslMode::Disable } else { SslMode::Require });
        if let Some(path) = own.remove("passfile").filter(|_| config.get_password().is_none())
            && let Some(password) = read_password(Path::new(&path), &config).map_err(StoreError::Address)?
        {
            config.password(password);
        }
        Ok(Self { config, security })
    }
}

impl DatabaseEnvironment {
    /// `address` with the password or the password file of the environment, unless it has its own.
    #[must_use]
    pub fn apply(&self, address: &str) -> String {
        let Ok((rest, own)) = split(address) else { return address.to_owned() };
        let has_password = rest.parse::<Config>().is_ok_and(|config| config.get_password().is_some());
        match (&self.password, self.passfile.as_ref().and_then(|path| path.to_str())) {
            _ if has_password => address.to_owned(),
            (Some(password), _) => with_parameter(address, "password", password),
            (None, Some(path)) if !own.contains_key("passfile") => with_parameter(address, "passfile", path),
            _ => address.to_owned(),
        }
    }
}

/// The addresses of the machine that keeps the lab's store.
pub fn database_addresses(store: &StoreAddress) -> Vec<IpAddr> {
    let StoreAddress::Postgres(url) = store else { return Vec::new() };
    let Ok(PostgresAddress { config, .. }) = PostgresAddress::parse(url) else { return Vec::new() };
    let named = config.get_hosts().iter().filter_map(|host| match host {
        Host::Tcp(name) => (name.as_str(), PORT).to_socket_addrs().ok(),
        Host::Unix(_) => None,
    });
    named.flatten().map(|address| address.ip()).chain(config.get_hostaddrs().iter().copied()).collect()
}

/// `address` for people and logs: without its password.
pub(super) fn without_password(address: &str) -> String {
    let is_secret = |key: &str| key == "password";
    if !is_url(address) {
        let Ok(found) = keywords(address) else { return "postgres://…".to_owned() };
        let kept =
            found.iter().filter(|(key, ..)| !is_secret(key)).map(|(.., place)| &address[place.clone()]);
        return kept.collect::<Vec<_>>().join(" ");
    }
    let (head, query) = in_query(address);
    let head = match head.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?))) {
        Some((scheme, (user, rest))) => {
            format!("{scheme}://{}@{rest}", user.split_once(':').map_or(user, |(user, _)| user))
        }
        None => head.to_owned(),
    };
    let kept: Vec<&str> = query.into_iter().filter(|part| !is_secret(&decoded(key_of(part)))).collect();
    if kept.is_empty() { head } else { format!("{head}?{}", kept.join("&")) }
}

/// How the connection is to be protected.
fn security(config: &Config, mode: Option<&str>, roots: Option<String>) -> Result<Security, Problem> {
    let roots = roots.filter(|path| path != "system").map(PathBuf::from);
    let is_remote = is_remote(config);
    match mode {
        // libpq, too, ignores it for sockets of this machine.
        Some(_) if config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_))) && !is_remote => {
            Ok(Security::Plain)
        }
        None | Some("allow" | "prefer") if !is_remote => Ok(Security::Plain),
        Some("disable") => Ok(Security::Plain),
        Some(mode @ ("allow" | "prefer")) => Err(Problem::new(
            format!("sslmode={mode} sends everything in the clear if its server wants that"),
            "write sslmode=verify-full, or sslmode=disable if the network is trusted",
        )),
        Some("require") if roots.is_none() => Ok(Security::Encrypted),
        None | Some("require" | "verify-full") => Ok(Security::Verified(roots)),
        Some(other) => Err(Problem::new(
            format!("sslmode={other} is not known here"),
            "write verify-full (with sslrootcert=FILE for an authority of your own), require or disable",
        )),
    }
}

/// Whether a connection leaves this machine.
fn is_remote(config: &Config) -> bool {
    let addresses = config.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().any(|address| !address.is_loopback());
    }
    config.get_hosts().iter().any(|host| match host {
        Host::Unix(_) => false,
        Host::Tcp(name) => {
            let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            !(is_loopback || name.eq_ignore_ascii_case("localhost"))
        }
    })
}

/// The password for `config` in the file at `path`.
fn read_password(path: &Path, config: &Config) -> Result<Option<String>, Problem> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        Problem::new(format!("its password file {shown} can't be read ({error})"), "check passfile")
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if found.mode() & OTHERS != 0 {
        return Err(Problem::new(
            format!("its password file {shown} is open to other users"),
            format!("run: chmod 600 {shown}"),
        ));
    }
    let mut text = String::new();
    file.take(PASSFILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(password(&text, config))
}

/// The password of the first line that matches: `HOST:PORT:DATABASE:USER:PASSWORD`, where `*` is any.
fn password(text: &str, config: &Config) -> Option<String> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) => "localhost".to_owned(),
        None => config.get_hostaddrs().first()?.to_string(),
    };
    let port = config.get_ports().first().copied().unwrap_or(PORT).to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [host.as_str(), &port, config.get_dbname().unwrap_or(user), user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let (password, keys) = fields.split_last().filter(|(_, keys)| keys.len() == wanted.len())?;
        let is_match = keys.iter().zip(wanted).all(|(key, wanted)| key == "*" || key == wanted);
        is_match.then(|| password.clone())
    })
}

/// The five fields of a line, in which `\` protects the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            other => fields[last].push(other),
        }
    }
    fields
}

/// The address without the parameters that are read here, and these.
fn split(address: &str) -> Result<(String, BTreeMap<String, String>), Problem> {
    let mut own = BTreeMap::new();
    if !is_url(address) {
        let mut rest = Vec::new();
        for (key, value, place) in keywords(address)? {
            if OWN.contains(&key.as_str()) {
                own.insert(key, value);
            } else {
                rest.push(&address[place]);
            }
        }
        return Ok((rest.join(" "), own));
    }
    let (head, query) = in_query(address);
    let mut rest = Vec::new();
    for part in query {
        let key = decoded(key_of(part));
        if OWN.contains(&key.as_str()) {
            own.insert(key, decoded(part.split_once('=').map_or("", |(_, value)| value)));
        } else {
            rest.push(part);
        }
    }
    let rest = if rest.is_empty() { head.to_owned() } else { format!("{head}?{}", rest.join("&")) };
    Ok((rest, own))
}

fn with_parameter(address: &str, key: &str, value: &str) -> String {
    if is_url(address) {
        let sign = if in_query(address).1.is_empty() { '?' } else { '&' };
        return format!("{address}{sign}{key}={}", utf8_percent_encode(value, NON_ALPHANUMERIC));
    }
    format!("{address} {key}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn is_url(address: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|prefix| address.starts_with(prefix))
}

/// A URL up to its parameters, and these.
fn in_query(address: &str) -> (&str, Vec<&str>) {
    // A password may contain a `?`.
    let from = address.find('@').unwrap_or(0);
    match address[from..].find('?') {
        Some(at) => {
            let query = address[from + at + 1..].split('&').filter(|part| !part.is_empty());
            (&address[..from + at], query.collect())
        }
        None => (address, Vec::new()),
    }
}

fn key_of(part: &str) -> &str {
    part.split_once('=').map_or(part, |(key, _)| key)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The parameters of an address of keywords: each with its value, and where it is.
fn keywords(address: &str) -> Result<Vec<(String, String, Range<usize>)>, Problem> {
    let unread = || {
        Problem::new(
            "its address can't be read",
            "write postgres://USER@HOST/DATABASE, or host=HOST user=USER",
        )
    };
    let mut found = Vec::new();
    let mut characters = address.char_indices().peekable();
    loop {
        while characters.next_if(|(_, one)| one.is_whitespace()).is_some() {}
        let Some(&(start, _)) = characters.peek() else { return Ok(found) };
        let mut key = String::new();
        while let Some((_, one)) = characters.next_if(|(_, one)| *one != '=' && !one.is_whitespace()) {
            key.push(one);
        }
        while characters.next_if(|(_, one)| one.is_whitespace()).is_some() {}
        characters.next_if(|(_, one)| *one == '=').ok_or_else(unread)?;
        while characters.next_if(|(_, one)| one.is_whitespace()).is_some() {}
        let is_quoted = characters.next_if(|(_, one)| *one == '\'').is_some();
        let mut value = String::new();
        let mut is_closed = !is_quoted;
        while let Some((_, one)) = characters.next_if(|(_, one)| is_quoted || !one.is_whitespace()) {
            match one {
                '\'' if is_quoted => {
                    is_closed = true;
                    break;
                }
                '\\' => value.extend(characters.next().map(|(_, one)| one)),
                one => value.push(one),
            }
        }
        if !is_closed {
            return Err(unread());
        }
        let end = characters.peek().map_or(address.len(), |(at, _)| *at);
        found.push((key, value, start..end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: &Security) {
        let found = PostgresAddress::parse(address).expect(address);
        assert_eq!(found.security, *expected, "{address}");
        let is_plain = *expected == Security::Plain;
        assert_eq!(found.config.get_ssl_mode() == SslMode::Disable, is_plain, "{address}");
    }

    fn refused(address: &str) -> String {
        PostgresAddress::parse(address).expect_err(address).to_string()
    }

    #[test]
    fn other_machines_are_verified_unless_the_address_says_otherwise() {
        let own = || Security::Verified(Some("/etc/lab/ca.pem".into()));
        for local in [
            "postgres://ci@localhost/lab",
            "postgres://ci@127.0.0.1:5433/lab",
            "host=/run user=ci",
            "postgres://ci@[::1]/lab",
            "host=/run user=ci sslmode=verify-full",
            "postgres://ci@localhost/lab?sslmode=prefer",
        ] {
            check(local, &Security::Plain);
        }
        check("postgres://ci@db/lab", &Security::Verified(None));
        check("host=db user=ci", &Security::Verified(None));
        check("host=localhost hostaddr=10.0.0.7 user=ci", &Security::Verified(None));
        check("postgres://ci@localhost,db/lab", &Security::Verified(None));
        check("postgres://ci@db/lab?sslmode=verify-full&sslrootcert=%2Fetc/lab/ca.pem", &own());
        check("postgres://ci@db/lab?sslmode=require&sslrootcert=/etc/lab/ca.pem", &own());
        check("host=db user=ci sslmode = verify-full sslrootcert='/etc/lab/ca.pem'", &own());
        check(
            "postgres://ci@localhost/lab?sslmode=verify-full&sslrootcert=system",
            &Security::Verified(None),
        );
        check("postgres://ci@db/lab?sslmode=require&application_name=x", &Security::Encrypted);
        check("postgres://ci@db/lab?sslmode=disable", &Security::Plain);
        for mode in ["prefer", "allow"] {
            let words = refused(&format!("postgres://ci@db/lab?sslmode={mode}"));
            assert!(
                words.contains("in the clear") && words.contains("; write sslmode=verify-full"),
                "{words}"
            );
        }
        assert!(refused("host=db sslmode=verify-ca").contains("is not known here; write verify-full"));
        assert!(refused("postgres://ci@db/lab?nonsense=1").contains("can't be read"));
        assert!(refused("host=db user='ci").contains("can't be read"));
    }

    #[test]
    fn a_password_comes_from_a_file_that_nobody_else_reads() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pgpass");
        let text = "# databases\ndb:5432:other:ci:no\ndb:*:lab:ci:p\\:a\\\\ss:word\n*:*:*:*:any\n";
        std::fs::write(&path, text).expect("room");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("ours");
        let of = |address: &str| {
            let address = format!("{address}passfile={}", path.display());
            let found = PostgresAddress::parse(&address).expect("an address").config;
            found.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        assert_eq!(of("postgres://ci@db/lab?").as_deref(), Some("p:a\\ss:word"));
        assert_eq!(of("postgres://ci@db/x?").as_deref(), Some("any"));
        assert_eq!(of("postgres://ci:own@db/lab?").as_deref(), Some("own"));
        assert_eq!(of("host=/run user=ci ").as_deref(), Some("any"));
        std::fs::write(&path, "db:5432:lab:lee:x\n").expect("room");
        assert_eq!(of("postgres://ci@db/lab?"), None);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("ours");
        let words = refused(&format!("postgres://ci@db/lab?passfile={}", path.display()));
        assert!(words.contains("open to other users; run: chmod 600"), "{words}");
        assert!(refused("postgres://ci@db/lab?passfile=/nonexistent").contains("can't be read"));
    }

    #[test]
    fn the_environment_fills_in_what_the_address_lacks() {
        let environment =
            DatabaseEnvironment { password: Some("a b'\\&?".to_owned()), passfile: Some("/f".into()) };
        let password = |address: &str| {
            let found = PostgresAddress::parse(&environment.apply(address)).expect("an address").config;
            found.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        for address in ["postgres://ci@db/lab", "postgres://ci@db/lab?sslmode=require", "host=db user=ci"] {
            assert_eq!(password(address).as_deref(), Some("a b'\\&?"), "{address}");
        }
        assert_eq!(password("postgres://ci:own@db/lab").as_deref(), Some("own"));
        assert_eq!(password("host=db user=ci password='o w n'").as_deref(), Some("o w n"));
        let file = DatabaseEnvironment { password: None, ..environment.clone() };
        assert_eq!(file.apply("postgres://ci@db/lab"), "postgres://ci@db/lab?passfile=%2Ff");
        assert_eq!(file.apply("host=db passfile=/g"), "host=db passfile=/g");
    }

    #[test]
    fn a_password_is_not_shown() {
        let check = |address: &str, expected: &str| assert_eq!(without_password(address), expected);
        check("postgres://ci:secret@db/lab", "postgres://ci@db/lab");
        check("postgres://ci:secret@a:1,b:2/lab?x=1", "postgres://ci@a:1,b:2/lab?x=1");
        check(
            "postgresql://ci@db/lab?password=secret&sslmode=require",
            "postgresql://ci@db/lab?sslmode=require",
        );
        check("postgres://ci@db/lab?pass%77ord=secret", "postgres://ci@db/lab");
        check("host=db password = 'se cret' user=ci", "host=db user=ci");
        check("host=db password='se", "postgres://…");
    }
}
