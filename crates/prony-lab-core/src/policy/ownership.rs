//! Whether the owner of a public server agrees to a load from this lab.
//!
//! The lab has a word for each server, which nobody else can make up. Its owner puts it into
//! `/.well-known/prony-lab`; the lab reads it there before every load, so that it can be taken back. Each address of the
//! server must have it, and a load goes only to the addresses where it was read.

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Duration;

use hmac::Mac as _;
use subtle::ConstantTimeEq as _;

use super::{Policy, Refusal};
use prony_lab_model::auth::{hexadecimal, hmac};
use prony_lab_model::clock;

/// Where the word is put.
const PATH: &str = "/.well-known/prony-lab";
/// A file with a word for each of some dozens of labs.
const FILE_BYTES_MAX: u64 = 8 << 10;
/// A server that takes longer for a file bears no load.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The same for all addresses of a name together: addresses that were not asked by then get no load.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// What is signed begins with this, so that the key can serve for other things.
const PURPOSE: &[u8] = b"prony-lab ownership 1\0";

/// Why a server's owner doesn't count as agreeing.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// The policy refuses it anyway.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file could not be read.
    #[error(
        "can't read {url} at {address} ({why}): its owner puts the line `{word}` there to agree to loads from this lab"
    )]
    Unreadable {
        /// Where it should be.
        url: String,
        /// The address that was asked.
        address: SocketAddr,
        /// Why not.
        why: String,
        /// What should stand in it.
        word: String,
    },
    /// The file is there, the word isn't.
    #[error(
        "{url} at {address} lacks the line `{word}`: its owner puts it there to agree to loads from this lab"
    )]
    Missing {
        /// Where it should be.
        url: String,
        /// The address that was asked.
        address: SocketAddr,
        /// What should stand in it.
        word: String,
    },
}

/// Reads the file at a URL from one address, or returns why it can't be read.
type ReadProof<'a> = dyn Fn(&str, SocketAddr) -> Result<Vec<u8>, String> + 'a;

/// Makes and finds the words by which owners agree.
#[derive(Clone)]
pub struct Ownership {
    key: [u8; 32],
}

impl Ownership {
    /// With the lab's own key.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The word for a server, named by host and port.
    pub fn word(&self, host: &str, port: u16) -> String {
        let mut mac = hmac(&self.key);
        mac.update(PURPOSE);
        mac.update(format!("{}:{port}", host.to_ascii_lowercase()).as_bytes());
        format!("prony-lab-{}", hexadecimal(&mac.finalize().into_bytes()))
    }

    /// Which of `addresses` a load on `url` may go to: those that `policy` vouches for, and those where the server agrees.
    /// `addresses` are what the host of `url` resolved to, and were checked.
    ///
    /// Each address is asked by itself, and no name is resolved again: the owner of a name can change its
    /// addresses between the proof and the load.
    pub fn prove(
        &self,
        policy: &Policy,
        url: &str,
        addresses: &[SocketAddr],
    ) -> Result<Vec<SocketAddr>, OwnershipError> {
        let until = clock::steady() + TOTAL_TIMEOUT;
        self.prove_with(policy, url, addresses, &|url, address| {
            let left = until.saturating_sub(clock::steady());
            if left.is_zero() {
                return Err("its other addresses took too long".to_owned());
            }
            read(url, address, TIMEOUT.min(left))
        })
    }

    fn prove_with(
        &self,
        policy: &Policy,
        url: &str,
        addresses: &[SocketAddr],
        read: &ReadProof<'_>,
    ) -> Result<Vec<SocketAddr>, OwnershipError> {
        let (host, port) = super::host_and_port(url)?;
        let proof_url = proof_url(url)?;
        let word = self.word(&host, port);
        let mut agreed = Vec::new();
        let mut first_error = None;
        for address in addresses {
            if !policy.needs_proof(Some(&host), *address) {
                agreed.push(*address);
                continue;
            }
            match check(read(&proof_url, *address), *address, &proof_url, &word) {
                Ok(()) => agreed.push(*address),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            Some(error) if agreed.is_empty() => Err(error),
            _ => Ok(agreed),
        }
    }
}

/// Where the word for the server of `url` is.
fn proof_url(url: &str) -> Result<String, Refusal> {
    let mut found = url::Url::parse(url)
        .map_err(|error| Refusal::Url { url: super::refusal::shortened(url), why: error.to_string() })?;
    found.set_path(PATH);
    found.set_query(None);
    found.set_fragment(None);
    Ok(found.into())
}

/// Whether the `file` that was read from `url` at `address` holds `word`.
fn check(
    file: Result<Vec<u8>, String>,
    address: SocketAddr,
    url: &str,
    word: &str,
) -> Result<(), OwnershipError> {
    let (url, shown_word) = (url.to_owned(), word.to_owned());
    match file {
        Ok(file) if holds(&file, word) => Ok(()),
        Ok(_) => Err(OwnershipError::Missing { url, address, word: shown_word }),
        Err(why) => Err(OwnershipError::Unreadable { url, address, why, word: shown_word }),
    }
}

/// Whether a line of `file` is `word`.
fn holds(file: &[u8], word: &str) -> bool {
    file.split(|byte| *byte == b'\n').any(|line| line.trim_ascii().ct_eq(word.as_bytes()).into())
}

/// The file at `url`, from `address` and nowhere else.
fn read(url: &str, address: SocketAddr, timeout: Duration) -> Result<Vec<u8>, String> {
    let response = super::agent_to(address, timeout).get(url).call().map_err(|error| error.to_string())?;
    if response.status() != 200 {
        return Err(format!("it answers {}", response.status()));
    }
    let mut file = Vec::new();
    response
        .into_body()
        .into_reader()
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut file)
        .map_err(|error| error.to_string())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use prony_lab_model::Role;

    #[test]
    fn a_word_is_for_one_server_and_one_lab() {
        let lab = Ownership::new([1; 32]);
        let word = lab.word("example.org", 443);
        assert_eq!(word, lab.word("EXAMPLE.org", 443));
        assert_ne!(word, lab.word("example.org", 80));
        assert_ne!(word, lab.word("example.net", 443));
        assert_ne!(word, Ownership::new([2; 32]).word("example.org", 443));
        assert!(holds(format!("other\n {word}\r\nlast").as_bytes(), &word));
        assert!(!holds(format!("x{word}").as_bytes(), &word));
        assert!(!holds(b"", &word));
    }

    /// Answers everything with `body`; where.
    fn server(status: &str, body: &str) -> SocketAddr {
        use std::io::Write as _;
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = [0; 4096];
                // A client that has gone wants no answer.
                let _ = stream.read(&mut head).and_then(|_| stream.write_all(answer.as_bytes()));
            }
        });
        address
    }

    #[test]
    fn an_owner_agrees_by_a_line_in_a_file() {
        let word = Ownership::new([3; 32]).word("127.0.0.1", 80);
        let agrees = |address: SocketAddr| {
            let url = format!("http://{address}{PATH}");
            check(read(&url, address, TIMEOUT), address, &url, &word)
        };
        assert!(agrees(server("200 OK", &format!("# labs\n{word}\n"))).is_ok());
        assert!(matches!(agrees(server("200 OK", "nothing")), Err(OwnershipError::Missing { .. })));
        let missing = agrees(server("404 Not Found", &word));
        assert!(matches!(missing, Err(OwnershipError::Unreadable { .. })), "{missing:?}");
        // What comes after the bound isn't read.
        let late = format!("{}\n{word}\n", "x".repeat(9_000));
        assert!(matches!(agrees(server("200 OK", &late)), Err(OwnershipError::Missing { .. })));
    }

    #[test]
    fn the_file_is_read_from_the_address_whatever_the_name_means() {
        let (good, other) = (server("200 OK", "the word"), server("200 OK", "nothing"));
        // This name leads to the good server, if it is resolved; the next one leads nowhere.
        let url = format!("http://localhost:{}{PATH}", good.port());
        assert_eq!(read(&url, other, TIMEOUT), Ok(b"nothing".to_vec()));
        let url = format!("http://no-such-name.invalid{PATH}");
        assert_eq!(read(&url, good, TIMEOUT), Ok(b"the word".to_vec()));
    }

    #[test]
    fn a_name_that_moves_between_proof_and_load_moves_no_load() {
        let policy = crate::policy::Rules::default().check().expect("good rules");
        let ownership = Ownership::new([3; 32]);
        let word = ownership.word("moving.example", 80);
        let [victim, attacker]: [SocketAddr; 2] =
            ["198.51.100.7:80", "203.0.113.9:80"].map(|text| text.parse().expect(text));
        let asked = Cell::new(0);
        // The attacker's name server returns the victim at first, and the attacker's own server from then on.
        let resolver = |_: &str, _: u16| {
            asked.set(asked.get() + 1);
            Ok(vec![if asked.get() == 1 { victim } else { attacker }])
        };
        let resolve = || policy.resolve_with(Role::Admin, "moving.example", 80, &resolver).expect("public");
        let read = |url: &str, address: SocketAddr| {
            assert_eq!(url, format!("http://moving.example{PATH}"));
            if address == attacker { Ok(word.clone().into_bytes()) } else { Err("404".to_owned()) }
        };
        let url = "http://moving.example/page?x=1";
        let proved = ownership.prove_with(&policy, url, &resolve(), &read);
        assert!(matches!(proved, Err(OwnershipError::Unreadable { address, .. }) if address == victim));
        // The attacker's own server may be loaded, and nothing else with it.
        assert_eq!(ownership.prove_with(&policy, url, &resolve(), &read).expect("agreed"), [attacker]);
        assert_eq!(asked.get(), 2, "the proof resolves nothing");
        let both = ownership.prove_with(&policy, url, &[victim, attacker], &read).expect("one agreed");
        assert_eq!(both, [attacker]);
        // Addresses that need no proof are not asked.
        let own = "127.0.0.1:80".parse().expect("an address");
        let found = ownership.prove_with(&policy, url, &[own], &|_, _| panic!("asked"));
        assert_eq!(found.expect("its own"), [own]);
    }
}
