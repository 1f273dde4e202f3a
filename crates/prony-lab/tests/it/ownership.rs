//! Connections of the lab's own go where the policy allows (S8, S10).

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use prony_lab::model::Role;
use prony_lab::policy::{Ownership, Policy, Reach, Refusal, Rules, agent};

/// A server that answers `answer` to everything.
fn server(answer: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

fn policy(change: impl FnOnce(&mut Rules)) -> Arc<Policy> {
    let mut rules = Rules::default();
    change(&mut rules);
    Arc::new(rules.check().expect("good rules"))
}

fn fetch(policy: Arc<Policy>, url: &str) -> Result<(u16, String), String> {
    let answer = agent(policy, Role::Runner, Duration::from_secs(10), Reach::default()).get(url).call();
    let mut answer = answer.map_err(|error| error.to_string())?;
    let body = answer.body_mut().read_to_string().map_err(|error| error.to_string())?;
    Ok((answer.status().as_u16(), body))
}

#[test]
fn a_client_of_the_lab_connects_to_what_is_allowed() {
    let address = server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi".to_owned());
    let port = address.port();
    let open = policy(|_| {});
    let closed = policy(|rules| rules.loopback = false);
    for host in ["127.0.0.1", "localhost", "2130706433", "127.1", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{port}/");
        let refused = fetch(closed.clone(), &url).expect_err("refused");
        assert!(refused.contains("the loading machine itself"), "{host}: {refused}");
        if host != "[::ffff:127.0.0.1]" {
            assert_eq!(fetch(open.clone(), &url), Ok((200, "hi".to_owned())), "{host}");
        }
    }
    let refused = fetch(open, "http://169.254.169.254/latest/meta-data/").expect_err("refused");
    assert!(refused.contains("metadata service"), "{refused}");
}

#[test]
fn a_redirect_is_not_followed() {
    let inside = server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret".to_owned());
    let outside = server(format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{inside}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(fetch(policy(|_| {}), &format!("http://{outside}/")), Ok((302, String::new())));
}

#[test]
fn a_server_of_ones_own_needs_no_agreement() {
    let ownership = Ownership::new([7; 32]);
    let open = policy(|_| {});
    let url = "http://127.0.0.1:9/";
    let addresses = open.resolve(Role::Runner, url).expect("loopback");
    let found = ownership.prove(&open, url, &addresses);
    assert_eq!(found.expect("no proof is needed"), ["127.0.0.1:9".parse().unwrap()]);
    let refused = open.resolve(Role::Runner, "http://8.8.8.8/").expect_err("a public address");
    assert!(refused.to_string().contains("name it in the policy"), "{refused}");
    let refusal = open.resolve(Role::Admin, "http://169.254.169.254/");
    assert!(matches!(refusal, Err(Refusal::Metadata { .. })));
}
