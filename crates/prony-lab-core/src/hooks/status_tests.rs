//! From a build to the status of its commit at a forge, on both databases. In one file, because the fake forge and the
//! lab that reports to it serve these tests alone.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use serde_json::{Value, json};

use super::*;
use crate::secrets::SecretAdmin;
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    BuildId, BuildRequest, BuildState, BuildVerdict, Definition, EventId, ProjectId, TaskState,
};
use prony_lab_store::fixture::{on_both, on_both_addresses};
use prony_lab_store::statuses::{self, Delivery, SentStatus};
use prony_lab_store::{projects, queue, tasks};

/// The commit that most builds here are of.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TOKEN: &str = "very-secret-token";
/// How long the fake forge may take to pass on what it got.
const PATIENCE: Duration = Duration::from_secs(10);

/// A lab at `address` that sends no mail.
fn senders(address: String) -> Senders {
    Senders { has_mail: false, operator: None, address }
}

/// What a forge got.
#[derive(Debug)]
struct Received {
    /// `POST /path`
    line: String,
    /// Lines in lower case.
    head: String,
    body: Value,
}

impl Received {
    /// State and description.
    fn status(&self) -> (&str, &str) {
        let text = |key: &str| self.body[key].as_str().unwrap_or_default();
        (text("state"), text("description"))
    }
}

/// What a forge does with a request.
#[derive(Clone, Copy)]
enum Reaction {
    Answers(u16, &'static str),
    /// It refuses for now, as GitHub does: with 403, and when to come back.
    Limits,
    /// It closes the connection instead.
    HangsUp,
}

const GOOD: Reaction = Reaction::Answers(201, "{}");

/// A forge that reacts in turn, the last way for ever. Ends with the test process.
fn forge(reactions: Vec<Reaction>) -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (got, received) = sync_channel(64);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
            let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.and_then(|text| text.trim().parse().ok()).unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let (status, more, text) = match reactions[number.min(reactions.len() - 1)] {
                Reaction::Answers(302, text) => (302, "location: http://127.0.0.1:1/\r\n", text),
                Reaction::Answers(status, text) => (status, "", text),
                Reaction::Limits => (403, "retry-after: 1\r\n", ""),
                Reaction::HangsUp => (0, "", ""),
            };
            if status > 0 {
                let answer = format!(
                    "HTTP/1.1 {status} X\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n{text}",
                    text.len()
                );
                let _ = reader.get_mut().write_all(answer.as_bytes());
            }
            let body = serde_json::from_slice(&body).unwrap_or_default();
            if got.try_send(Received { line, head, body }).is_err() {
                return;
            }
        }
    });
    (address, received)
}

/// A lab with one project that reports to a forge.
struct Bench<'a> {
    store: &'a Store,
    data: tempfile::TempDir,
    project: ProjectId,
    definition: String,
    /// The moment of the outbox.
    now: Moment,
}

impl<'a> Bench<'a> {
    fn new(store: &'a Store, forge: &str, api: SocketAddr) -> Self {
        Self::with(store, &status_of(forge, api))
    }

    fn with(store: &'a Store, status: &str) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let definition =
            format!("repository = \"https://git.example/o/r.git\"\nstudy = \"prony.toml\"\n{status}");
        let project = register(store, &definition);
        set_token(store, data.path(), TOKEN);
        // After everything that the test does meanwhile.
        let now = clock::wall().after(Duration::from_hours(1));
        Self { store, data, project, definition, now }
    }

    /// A build of `reference`, as `change` makes its request.
    fn request(&self, reference: &str, change: impl FnOnce(&mut BuildRequest)) -> BuildId {
        let definition = Definition::read(&self.definition).expect("a definition");
        let mut request = BuildRequest { reference: reference.to_owned(), ..BuildRequest::default() };
        change(&mut request);
        let new = request.checked(self.project, &definition, "kim", Moment(5)).expect("a request");
        self.store.write_blocking(move |tx| builds::accept(tx, &new)).expect("accepted")
    }

    fn build(&self) -> BuildId {
        self.request(COMMIT, |_| {})
    }

    fn advance(&self, id: BuildId, states: &[BuildState], reason: Option<&'static str>) {
        for &to in states {
            let advanced = self.store.write_blocking(move |tx| {
                let from = builds::state(tx, id)?;
                builds::advance(tx, id, from, to, reason, Moment(7))
            });
            advanced.expect("it may");
        }
    }

    fn begin(&self, id: BuildId) {
        self.advance(id, &[BuildState::Assigned, BuildState::Running], None);
    }

    /// Ends a build that runs, with `verdict`.
    fn end(&self, id: BuildId, verdict: BuildVerdict, reason: &'static str) {
        self.store.write_blocking(move |tx| builds::set_verdict(tx, id, verdict, None)).expect("noted");
        self.advance(id, &[BuildState::Finalizing, BuildState::Completed], Some(reason));
    }

    /// The checkout of a build found `commit`.
    fn check_out(&self, id: BuildId, commit: &'static str) {
        let done = self.store.write_blocking(move |tx| {
            let task = tasks::of(tx, id)?[0].id;
            queue::set_commits(tx, id, commit, None, None)?;
            tasks::end(tx, id, task, TaskState::Success, None, None, Moment(7))
        });
        done.expect("noted");
    }

    /// Looks at all events, as a lab does that was started just now.
    fn fill(&self) {
        let mut fill = Fill::new(self.store.clone(), senders("https://lab.example".to_owned()));
        while fill.turn().expect("filled") {}
    }

    /// Looks at all events, and sends what is due, as a lab does that was started just now.
    fn deliver(&self) {
        self.fill();
        let mut outbox = Outbox::new(self.store.clone(), None, self.data.path().to_owned());
        while outbox.turn(self.now) == Duration::ZERO {}
    }

    fn later(&mut self, seconds: u64) {
        self.now = self.now.after(Duration::from_secs(seconds));
    }

    fn last(&self) -> SentStatus {
        let project = self.project;
        let last = self.store.read_blocking(|tx| statuses::last(tx, project, 1)).expect("read");
        last.into_iter().next().expect("there is one")
    }
}

fn status_of(forge: &str, api: SocketAddr) -> String {
    format!("[status]\nforge = \"{forge}\"\ntoken = \"FORGE_TOKEN\"\napi = \"http://{api}\"")
}

fn register(store: &Store, definition: &str) -> ProjectId {
    let (name, definition) = ("a".parse().expect("a name"), definition.to_owned());
    store.write_blocking(move |tx| projects::register(tx, &name, &definition, Moment(1))).expect("registered")
}

fn set_token(store: &Store, data: &Path, token: &str) {
    let name = "FORGE_TOKEN".parse().expect("a name");
    SecretAdmin::over(store.clone(), data, "kim").set(&name, token.as_bytes()).expect("stored");
}

fn next(received: &Receiver<Received>) -> Received {
    received.recv_timeout(PATIENCE).expect("the forge got something")
}

fn waiting(store: &Store) -> i64 {
    store.read_blocking(hooks::waiting).expect("read")
}

#[test]
fn each_forge_gets_what_it_understands() {
    let of_github = ("/repos/o/r/statuses", "authorization: bearer very-secret-token", "context");
    let of_gitlab = ("/api/v4/projects/o%2Fr/statuses", "private-token: very-secret-token", "name");
    let of_gitea = ("/api/v1/repos/o/r/statuses", "authorization: token very-secret-token", "context");
    on_both(|store| {
        for (name, (path, header, context), states) in [
            ("github", of_github, ["pending", "pending", "failure"]),
            ("gitlab", of_gitlab, ["pending", "running", "failed"]),
            ("gitea", of_gitea, ["pending", "pending", "failure"]),
        ] {
            let (api, received) = forge(vec![GOOD]);
            let bench = Bench::new(store, name, api);
            let id = bench.build();
            bench.deliver();
            let first = next(&received);
            assert_eq!(first.line, format!("POST {path}/{COMMIT}"));
            assert!(first.head.contains(&format!("{header}\r\n")), "{}", first.head);
            assert!(first.head.contains("content-type: application/json\r\n"), "{}", first.head);
            assert!(first.head.contains("user-agent: prony-lab/"), "GitHub wants one: {}", first.head);
            let link = format!("https://lab.example/build/{id}");
            let expected = |state: &str, description: &str| json!({ "state": state, "description": description, "target_url": link, context: "prony" });
            assert_eq!(first.body, expected(states[0], "queued"));
            bench.begin(id);
            bench.deliver();
            assert_eq!(next(&received).body, expected(states[1], "running"));
            bench.end(id, BuildVerdict::Slower, "kv: p99 slower, +7.9 %, against build 7");
            bench.deliver();
            let words = "slower: kv: p99 slower, +7.9 %, against build 7";
            assert_eq!(next(&received).body, expected(states[2], words));
            let last = bench.last();
            assert_eq!(
                (last.delivery, last.error, last.report.status.build),
                (Delivery::Delivered, None, id)
            );
            assert_eq!(waiting(store), 0);
        }
    });
}

#[test]
fn nothing_of_the_token_is_in_the_outbox_or_in_an_error() {
    on_both(|store| {
        // A forge that repeats what it got.
        let (api, received) =
            forge(vec![Reaction::Answers(401, "{\"message\": \"no very-secret-token here\"}")]);
        let bench = Bench::new(store, "github", api);
        bench.build();
        bench.fill();
        let all = |store: &Store| {
            store
                .read_blocking(|tx| {
                    tx.query("SELECT body, COALESCE(last_error, '') FROM deliveries", &[], |row| {
                        Ok(row.text(0)? + &row.text(1)?)
                    })
                })
                .expect("read")
                .concat()
        };
        assert!(!all(store).contains(TOKEN));
        bench.deliver();
        next(&received);
        assert!(all(store).contains("no *** here") && !all(store).contains(TOKEN), "{}", all(store));
    });
}

#[test]
fn a_branch_reports_once_its_commit_is_known() {
    on_both(|store| {
        let (api, received) = forge(vec![GOOD]);
        let bench = Bench::new(store, "github", api);
        let id = bench.request("main", |_| {});
        bench.deliver();
        bench.begin(id);
        bench.deliver();
        assert!(received.try_recv().is_err(), "of which commit?");
        bench.check_out(id, COMMIT);
        bench.deliver();
        let got = next(&received);
        assert_eq!((got.line.ends_with(COMMIT), got.status()), (true, ("pending", "running")));
        bench.end(id, BuildVerdict::NoBaseline, "");
        bench.deliver();
        assert_eq!(next(&received).status().0, "success");
        // A build whose checkout failed is of no known commit.
        let lost = bench.request("no-such-branch", |_| {});
        bench.begin(lost);
        bench.advance(lost, &[BuildState::Failed], Some("checkout: there is no such branch"));
        bench.deliver();
        assert!(received.try_recv().is_err());
    });
}

#[test]
fn a_build_that_is_over_never_pends_again() {
    on_both(|store| {
        let (api, received) = forge(vec![Reaction::Answers(500, ""), GOOD]);
        let mut bench = Bench::new(store, "github", api);
        let id = bench.build();
        bench.deliver();
        assert_eq!(next(&received).status(), ("pending", "queued"));
        assert_eq!(waiting(store), 1, "it is to be tried again");
        // The build goes on meanwhile: what is tried again is what holds now, and nothing else.
        bench.begin(id);
        bench.end(id, BuildVerdict::NoDifference, "kv: p99 no difference");
        bench.deliver();
        assert_eq!(next(&received).status(), ("success", "no difference: kv: p99 no difference"));
        bench.later(7200);
        bench.deliver();
        assert!(received.try_recv().is_err());
        assert_eq!(waiting(store), 0);
    });
}

#[test]
fn a_later_build_of_a_commit_takes_the_place_of_an_earlier_one() {
    on_both(|store| {
        let (api, received) = forge(vec![Reaction::Answers(500, ""), GOOD]);
        let mut bench = Bench::new(store, "github", api);
        let first = bench.build();
        bench.begin(first);
        bench.end(first, BuildVerdict::Invalid, "");
        bench.deliver();
        assert_eq!(next(&received).status().0, "error");
        let second = bench.build();
        bench.begin(second);
        bench.end(second, BuildVerdict::Faster, "");
        bench.deliver();
        assert_eq!(next(&received).status().0, "success");
        bench.later(7200);
        bench.deliver();
        assert!(received.try_recv().is_err(), "the first one is not tried again");
    });
}

#[test]
fn failures_that_may_pass_are_tried_again() {
    on_both(|store| {
        let (api, received) = forge(vec![
            Reaction::Answers(500, "not JSON"),
            Reaction::HangsUp,
            Reaction::Answers(429, "{\"message\": \"slow down\"}"),
            GOOD,
        ]);
        let mut bench = Bench::new(store, "gitea", api);
        bench.build();
        let mut reasons = Vec::new();
        for seconds in [11, 41, 161] {
            bench.deliver();
            next(&received);
            let last = bench.last();
            assert_eq!(last.delivery, Delivery::Waiting);
            reasons.push(last.error.expect("it failed"));
            // Not before the pause is over.
            bench.later(seconds - 2);
            bench.deliver();
            assert!(received.try_recv().is_err());
            bench.later(2);
        }
        assert!(reasons[0].contains("500") && reasons[2].contains("slow down"), "{reasons:?}");
        bench.deliver();
        next(&received);
        let last = bench.last();
        assert_eq!((last.delivery, last.attempts, last.error), (Delivery::Delivered, 3, None));
    });
}

#[test]
fn refusals_that_stay_are_given_up_with_the_reason() {
    on_both(|store| {
        for (reaction, words) in [
            (
                Reaction::Answers(401, "{\"message\": \"Bad credentials\"}"),
                "(Bad credentials); check the secret FORGE_TOKEN",
            ),
            (
                Reaction::Answers(404, "{\"message\": \"Not\\nFound\"}"),
                "(Not\\nFound); check that the token FORGE_TOKEN may set statuses of o/r",
            ),
            (Reaction::Answers(403, "{\"error\": \"read-only token\"}"), "(read-only token)"),
            (Reaction::Answers(302, ""), "follows no redirects"),
            (Reaction::Answers(422, "{\"message\": {\"sha\": [\"is unknown\"]}}"), "is unknown"),
        ] {
            let (api, received) = forge(vec![reaction]);
            let mut bench = Bench::new(store, "github", api);
            bench.build();
            bench.deliver();
            next(&received);
            let last = bench.last();
            assert_eq!((last.delivery, last.attempts), (Delivery::GivenUp, 1));
            let error = last.error.expect("a reason");
            assert!(error.contains(words), "{error}");
            bench.later(7200);
            bench.deliver();
            assert!(received.try_recv().is_err(), "once is enough");
            let given_up = store.read_blocking(|tx| hooks::given_up(tx, 1)).expect("read");
            assert_eq!(given_up[0].project, Some(bench.project));
        }
    });
}

#[test]
fn a_limit_of_requests_passes() {
    on_both(|store| {
        let (api, received) = forge(vec![Reaction::Limits, GOOD]);
        let mut bench = Bench::new(store, "github", api);
        bench.build();
        bench.deliver();
        next(&received);
        assert_eq!(bench.last().delivery, Delivery::Waiting);
        bench.later(11);
        bench.deliver();
        next(&received);
        assert_eq!(bench.last().delivery, Delivery::Delivered);
    });
}

#[test]
fn what_gitlab_shows_already_is_delivered() {
    const REFUSED: Reaction = Reaction::Answers(
        400,
        "{\"message\": \"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition)\"}",
    );
    on_both(|store| {
        let (api, received) = forge(vec![REFUSED]);
        let bench = Bench::new(store, "gitlab", api);
        let id = bench.build();
        bench.deliver();
        next(&received);
        assert_eq!(bench.last().delivery, Delivery::Delivered);
        // An end that it refuses is not shown there.
        bench.begin(id);
        bench.end(id, BuildVerdict::Faster, "");
        bench.deliver();
        next(&received);
        assert_eq!(bench.last().delivery, Delivery::GivenUp);
    });
}

#[test]
fn what_was_committed_is_delivered_after_a_restart_once() {
    on_both_addresses(|address| {
        let (api, received) = forge(vec![GOOD]);
        let data = tempfile::tempdir().expect("a folder");
        {
            let store = Store::open(address).expect("a store");
            let bench = Bench::new(&store, "github", api);
            set_token(&store, data.path(), TOKEN);
            let (over, open) = (bench.build(), bench.request(&COMMIT.replace('0', "9"), |_| {}));
            bench.begin(over);
            bench.fill();
            bench.end(over, BuildVerdict::Faster, "kv: p99 faster, -30.0 %");
            // The lab ends here: some events were seen, others not, and nothing was sent.
            assert_eq!((waiting(&store), open), (2, BuildId(2)));
        }
        let store = Store::open(address).expect("the same store");
        let mut fill = Fill::new(store.clone(), senders(String::new()));
        while fill.turn().expect("filled") {}
        let mut outbox = Outbox::new(store.clone(), None, data.path().to_owned());
        let now = clock::wall();
        while outbox.turn(now) == Duration::ZERO {}
        let mut got = [next(&received), next(&received)];
        got.sort_by(|a, b| a.line.cmp(&b.line));
        assert_eq!(got[0].status(), ("success", "faster: kv: p99 faster, -30.0 %"));
        assert_eq!(got[0].body.get("target_url"), None, "no address is known now");
        assert_eq!(got[1].status(), ("pending", "queued"));
        // And once more.
        drop((fill, outbox));
        drop(store);
        let store = Store::open(address).expect("the same store");
        let mut fill = Fill::new(store.clone(), senders(String::new()));
        while fill.turn().expect("filled") {}
        Outbox::new(store.clone(), None, data.path().to_owned()).turn(now);
        assert!(received.try_recv().is_err());
        assert_eq!(waiting(&store), 0);
    });
}

#[test]
fn builds_of_several_kinds_have_statuses_of_their_own() {
    on_both(|store| {
        let (api, received) = forge(vec![GOOD]);
        let status = format!("variants = [\"x\", \"y\"]\n{}\ncontext = \"speed\"", status_of("github", api));
        let bench = Bench::with(store, &status);
        let names = |count: usize| {
            let mut names: Vec<_> = (0..count)
                .map(|_| next(&received).body["context"].as_str().expect("a text").to_owned())
                .collect();
            names.sort_unstable();
            names
        };
        bench.build();
        bench.request(COMMIT, |request| request.variant = "y".to_owned());
        bench.request(COMMIT, |request| request.base = "main".to_owned());
        bench.deliver();
        assert_eq!(names(3), ["speed/x", "speed/x/comparison", "speed/y"]);
        // Comparisons that the lab itself requests are nobody's status.
        let definition = Definition::read(&bench.definition).expect("a definition");
        let request =
            BuildRequest { reference: COMMIT.to_owned(), base: "old".to_owned(), ..BuildRequest::default() };
        let new =
            request.checked(bench.project, &definition, crate::history::LAB, Moment(5)).expect("a request");
        store.write_blocking(move |tx| builds::accept(tx, &new)).expect("accepted");
        bench.deliver();
        assert!(received.try_recv().is_err());
    });
}

#[test]
fn a_token_or_a_definition_that_is_missing_is_reported() {
    on_both(|store| {
        let (api, received) = forge(vec![GOOD]);
        let mut bench = Bench::new(store, "github", api);
        let name = "FORGE_TOKEN".parse().expect("a name");
        SecretAdmin::over(store.clone(), bench.data.path(), "kim").remove(&name).expect("removed");
        bench.build();
        bench.deliver();
        let error = bench.last().error.expect("there is no token");
        assert!(error.contains("`prony lab secret set FORGE_TOKEN`"), "{error}");
        set_token(store, bench.data.path(), "two words\r\nX-Evil: 1");
        bench.later(11);
        bench.deliver();
        let error = bench.last().error.expect("it is no token");
        assert!(error.contains("which is one word") && !error.contains("X-Evil"), "{error}");
        assert!(received.try_recv().is_err());
        // Stored in time, as an editor leaves it: with the end of a line.
        set_token(store, bench.data.path(), &format!("{TOKEN}\n"));
        bench.later(41);
        bench.deliver();
        assert_eq!(next(&received).status(), ("pending", "queued"));
        // A project that no longer reports.
        bench.request(&COMMIT.replace('0', "8"), |_| {});
        bench.fill();
        register(store, "repository = \"https://git.example/o/r.git\"\nstudy = \"prony.toml\"");
        bench.deliver();
        let last = bench.last();
        assert_eq!(last.delivery, Delivery::GivenUp);
        assert!(last.error.is_some_and(|error| error.contains("no [status]")));
        assert!(received.try_recv().is_err());
    });
}

#[test]
fn the_policy_holds_for_forges_too() {
    on_both(|store| {
        let status =
            "[status]\nforge = \"gitea\"\ntoken = \"FORGE_TOKEN\"\napi = \"https://169.254.169.254\"";
        let bench = Bench::with(store, status);
        bench.build();
        bench.deliver();
        let error = bench.last().error.expect("refused");
        assert!(error.contains("metadata"), "{error}");
    });
}

#[test]
fn a_forge_that_is_away_for_long_does_not_fill_the_store() {
    on_both(|store| {
        let (api, _received) = forge(vec![GOOD]);
        let bench = Bench::new(store, "github", api);
        let project = bench.project;
        bench.build();
        bench.fill();
        let report = bench.last().report;
        let queued = store.write_blocking(move |tx| {
            let mut queued = 0;
            for number in 0..1_200 {
                let mut report = report.clone();
                report.status.commit = Some(format!("{number:040x}"));
                queued += i64::from(statuses::queue(tx, project, EventId(1), &report, Moment(1))?);
            }
            Ok(queued)
        });
        assert_eq!((queued.expect("written"), waiting(store)), (999, 1_000));
    });
}
