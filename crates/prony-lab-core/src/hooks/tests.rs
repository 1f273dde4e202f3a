//! From events to a receiver, on both databases.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, sync_channel};

use super::*;
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildRequest, Definition, HookRequest};
use prony_lab_store::fixture::on_both;
use prony_lab_store::past::{DEFINITION, Measured, Past};

/// What a receiver got: its headers in lower case, and the body.
struct Received {
    head: String,
    body: String,
}

/// A receiver that answers with `statuses` in turn, the last one for ever. Ends with the test process.
fn receiver(statuses: &'static [u16]) -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (got, received) = sync_channel(64);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.and_then(|text| text.trim().parse().ok()).unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let status = statuses[number.min(statuses.len() - 1)];
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = reader.get_mut().write_all(answer.as_bytes());
            let body = String::from_utf8_lossy(&body).into_owned();
            if got.try_send(Received { head, body }).is_err() {
                return;
            }
        }
    });
    (address, received)
}

fn filled(store: &Store, has_mail: bool) {
    // A new one each time, as after a restart.
    let operator = Some("operator@example.org".to_owned());
    let senders = Senders { has_mail, operator, address: String::new() };
    let mut fill = Fill::new(store.clone(), senders);
    while fill.turn().expect("filled") {}
}

fn hook(store: &Store, url: &str, kinds: &str) -> prony_lab_model::HookId {
    let request = HookRequest { url: url.to_owned(), kinds: kinds.to_owned(), ..HookRequest::default() };
    let new = request.checked(None, "kim", Moment(1)).expect("good");
    store.write_blocking(move |tx| hooks::add(tx, &new, "secret")).expect("added")
}

fn waiting(store: &Store) -> i64 {
    store.read_blocking(hooks::waiting).expect("read")
}

#[test]
fn the_end_of_a_build_is_delivered_once_and_signed() {
    on_both(|store| {
        let past = Past::new(store);
        let (address, received) = receiver(&[200]);
        hook(store, &format!("http://{address}/x"), "build.completed");
        let id = past.build("main", "abc", Measured::default());
        filled(store, false);
        filled(store, false);
        assert_eq!(waiting(store), 1);
        let mut outbox = Outbox::new(store.clone(), None, PathBuf::new());
        assert_eq!(outbox.turn(clock::wall()), Duration::ZERO);
        let got = received.recv_timeout(Duration::from_secs(10)).expect("delivered");
        let signature = outbox::signature("secret", got.body.as_bytes());
        assert!(got.head.contains(&format!("x-prony-signature: {signature}\r\n")), "{}", got.head);
        let body: serde_json::Value = serde_json::from_str(&got.body).expect("JSON");
        assert_eq!(body["kind"], "build.completed");
        assert_eq!(body["build"]["id"], id.0);
        assert_eq!(body["status"]["state"], "success");
        assert_eq!(body["status"]["context"], "prony/a/default");
        assert_eq!(waiting(store), 0);
    });
}

#[test]
fn failed_deliveries_are_retried_and_given_up() {
    on_both(|store| {
        let past = Past::new(store);
        let (address, received) = receiver(&[500, 204]);
        hook(store, &format!("http://{address}/x"), "build.completed");
        past.build("main", "abc", Measured::default());
        filled(store, false);
        let mut outbox = Outbox::new(store.clone(), None, PathBuf::new());
        let now = clock::wall();
        outbox.turn(now);
        assert_eq!(waiting(store), 1);
        let first = received.recv_timeout(Duration::from_secs(10)).expect("tried");
        // Not before the pause is over.
        outbox.turn(now.after(Duration::from_secs(9)));
        assert!(received.try_recv().is_err());
        outbox.turn(now.after(Duration::from_secs(11)));
        let second = received.recv_timeout(Duration::from_secs(10)).expect("tried again");
        assert_eq!((first.body, waiting(store)), (second.body, 0));
        let delivery =
            |head: &str| head.lines().find(|line| line.starts_with("x-prony-delivery")).map(str::to_owned);
        assert_eq!(delivery(&first.head), delivery(&second.head));
        // Where the policy forbids it, nothing is ever sent, and it is given up in the end.
        hook(store, "http://169.254.169.254/x", "build.completed");
        past.build("main", "abd", Measured::default());
        filled(store, false);
        let mut later = now;
        for _ in 0..40 {
            later = later.after(Duration::from_secs(3601));
            outbox.turn(later);
        }
        let given_up = store.read_blocking(|tx| hooks::given_up(tx, 10)).expect("read");
        assert_eq!((given_up.len(), waiting(store)), (1, 0), "{given_up:?}");
        assert!(given_up[0].error.as_deref().is_some_and(|error| error.contains("metadata")), "{given_up:?}");
        // After a month it is forgotten.
        outbox.turn(later.after(Duration::from_hours(32 * 24)));
        assert_eq!(store.read_blocking(|tx| hooks::given_up(tx, 10)), Ok(Vec::new()));
    });
}

#[test]
fn a_removed_hook_gets_nothing_nor_does_one_of_another_project() {
    on_both(|store| {
        let past = Past::new(store);
        let gone = hook(store, "http://127.0.0.1:1/", "build.*");
        past.build("main", "abc", Measured::default());
        filled(store, false);
        assert!(waiting(store) > 1);
        store.write_blocking(move |tx| hooks::remove(tx, gone, Moment(2))).expect("removed");
        past.build("main", "abd", Measured::default());
        filled(store, false);
        assert_eq!(waiting(store), 0);
        assert!(store.write_blocking(move |tx| hooks::remove(tx, gone, Moment(2))).is_err());
    });
}

#[test]
fn who_asked_for_a_build_gets_mail() {
    on_both(|store| {
        let past = Past::new(store);
        let project = past.project;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mail");
        store
            .write_blocking(move |tx| {
                let request = BuildRequest { email: "kim@a.example".to_owned(), ..BuildRequest::default() };
                let definition = Definition::read(DEFINITION).expect("a definition");
                let new = request.checked(project, &definition, "kim", Moment(5)).expect("a request");
                let id = builds::accept(tx, &new)?;
                let (from, to) = (prony_lab_model::BuildState::Queued, prony_lab_model::BuildState::Expired);
                builds::advance(tx, id, from, to, Some("nobody\r\nBcc: eve@a.example"), Moment(6))
            })
            .expect("expired");
        // A build without an address is nobody's.
        past.build("main", "abc", Measured::default());
        filled(store, true);
        assert_eq!(waiting(store), 1);
        let script = format!("cat > {}", file.display());
        let command = ["/bin/sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        let mailer = Mailer { command, search_path: "/usr/bin:/bin".to_owned() };
        Outbox::new(store.clone(), Some(mailer), PathBuf::new()).turn(clock::wall());
        let mail = std::fs::read_to_string(&file).expect("sent");
        assert!(
            mail.starts_with("To: kim@a.example\r\nSubject: prony lab: build 1 of a: expired\r\n"),
            "{mail}"
        );
        let (head, _) = mail.split_once("\r\n\r\n").expect("a head");
        assert!(!head.contains("Bcc"), "{head}");
        assert_eq!(waiting(store), 0);
    });
}

#[test]
fn the_operator_gets_mail_when_a_condition_of_the_lab_begins_and_ends() {
    use prony_lab_store::alerts::{self, NewAlert};
    on_both(|store| {
        hook(store, "http://127.0.0.1:1/x", "");
        let new = NewAlert {
            kind: AlertKind::Lab,
            subject: "disk".to_owned(),
            project: None,
            series: None,
            build: None,
            monitor: None,
            comparison: None,
            words: "the lab's disk is low".to_owned(),
        };
        store.write_blocking(move |tx| alerts::raise(tx, &new, Moment(1)).map(drop)).expect("raised");
        filled(store, true);
        store
            .write_blocking(|tx| alerts::close(tx, AlertKind::Lab, "disk", "over", Moment(2)).map(drop))
            .expect("closed");
        filled(store, true);
        let mails = "SELECT mail_to FROM deliveries WHERE mail_to IS NOT NULL ORDER BY id";
        let to = store.read_blocking(|tx| tx.query(mails, &[], |row| row.text(0))).expect("read");
        assert_eq!(to, ["operator@example.org"; 2]);
        // Each also for the webhook.
        assert_eq!(waiting(store), 4);
    });
}
