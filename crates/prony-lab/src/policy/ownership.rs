//! Whether the owner of a public server agrees to a load from this lab.
//!
//! The lab has a word for each server, which nobody else can make up. Its owner puts it into
//! `/.well-known/prony-lab`; the lab reads it there before every load, so that it can be taken back.

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hmac::Mac as _;
use subtle::ConstantTimeEq as _;

use super::{Policy, Refusal};
use crate::auth::{hexadecimal, hmac};
use crate::model::Role;

/// Where the word is put.
const PATH: &str = "/.well-known/prony-lab";
/// A file with a word for each of some dozens of labs.
const FILE_BYTES_MAX: u64 = 8 << 10;
/// A server that takes longer for a file bears no load.
const TIMEOUT: Duration = Duration::from_secs(10);
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
        "can't read {url} ({why}): its owner puts the line `{word}` there to agree to loads from this lab"
    )]
    Unreadable {
        /// Where it should be.
        url: String,
        /// Why not.
        why: String,
        /// What should stand in it.
        word: String,
    },
    /// The file is there, the word isn't.
    #[error("{url} lacks the line `{word}`: its owner puts it there to agree to loads from this lab")]
    Missing {
        /// Where it should be.
        url: String,
        /// What should stand in it.
        word: String,
    },
}

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

    /// Asks the server of `url`, at those addresses that `policy` allows, and answers with them.
    pub fn prove(
        &self,
        policy: &Arc<Policy>,
        role: Role,
        url: &str,
    ) -> Result<Vec<SocketAddr>, OwnershipError> {
        let addresses = policy.resolve(role, url)?;
        let (host, port) = super::host_and_port(url)?;
        if !addresses.iter().any(|address| policy.needs_proof(Some(&host), *address)) {
            return Ok(addresses);
        }
        let word = self.word(&host, port);
        let mut proof_url = url::Url::parse(url)
            .map_err(|error| Refusal::Url { url: super::refusal::shortened(url), why: error.to_string() })?;
        proof_url.set_path(PATH);
        proof_url.set_query(None);
        proof_url.set_fragment(None);
        agrees(policy, role, proof_url.as_str(), &word).map(|()| addresses)
    }
}

/// Whether the file at `url` holds `word`.
fn agrees(policy: &Arc<Policy>, role: Role, url: &str, word: &str) -> Result<(), OwnershipError> {
    let (url_text, word_text) = (url.to_owned(), word.to_owned());
    match read(policy, role, url) {
        Ok(file) if holds(&file, word) => Ok(()),
        Ok(_) => Err(OwnershipError::Missing { url: url_text, word: word_text }),
        Err(why) => Err(OwnershipError::Unreadable { url: url_text, why, word: word_text }),
    }
}

/// Whether a line of `file` is `word`.
fn holds(file: &[u8], word: &str) -> bool {
    file.split(|byte| *byte == b'\n').any(|line| line.trim_ascii().ct_eq(word.as_bytes()).into())
}

fn read(policy: &Arc<Policy>, role: Role, url: &str) -> Result<Vec<u8>, String> {
    let response =
        super::agent(Arc::clone(policy), role, TIMEOUT).get(url).call().map_err(|error| error.to_string())?;
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
    use super::*;

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

    /// Answers everything with `answer`; where.
    fn server(answer: String) -> String {
        use std::io::Write as _;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = [0; 4096];
                // A client that has gone wants no answer.
                let _ = stream.read(&mut head).and_then(|_| stream.write_all(answer.as_bytes()));
            }
        });
        format!("http://{address}{PATH}")
    }

    #[test]
    fn an_owner_agrees_by_a_line_in_a_file() {
        let policy = Arc::new(crate::policy::Rules::default().check().expect("good rules"));
        let word = Ownership::new([3; 32]).word("127.0.0.1", 80);
        let answer = |status: &str, body: &str| {
            let length = body.len();
            server(format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            ))
        };
        let agrees = |url: &str| super::agrees(&policy, Role::Admin, url, &word);
        assert!(agrees(&answer("200 OK", &format!("# labs\n{word}\n"))).is_ok());
        assert!(matches!(agrees(&answer("200 OK", "nothing")), Err(OwnershipError::Missing { .. })));
        let missing = agrees(&answer("404 Not Found", &word));
        assert!(matches!(missing, Err(OwnershipError::Unreadable { .. })), "{missing:?}");
        // What comes after the bound isn't read.
        let late = format!("{}\n{word}\n", "x".repeat(9_000));
        assert!(matches!(agrees(&answer("200 OK", &late)), Err(OwnershipError::Missing { .. })));
    }
}
