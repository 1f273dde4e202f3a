//! Notifications of pushes from code hosts (GitHub, Gitea, GitLab), and from strangers.

use hmac::{Hmac, KeyInit as _, Mac as _};
use prony_lab::LocalAdmin;
use prony_lab::StoreAddress;
use prony_lab::model::Role;
use sha2::Sha256;

use crate::front::{Front, Reply};

const SECRET: &str = "a secret that two know";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A lab with the project `web`, whose trigger names a secret that is stored.
fn lab() -> (Front, String) {
    let front = Front::new();
    let token = front.token(&front.admin(), Role::Admin);
    let definition = "repository = \"https://example.org/web.git\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"\n\
                      [trigger]\npush = \"PUSH\"\nbranches = [\"main\", \"release/*\"]\n";
    let body = serde_json::json!({ "definition": definition });
    assert_eq!(front.call(&token, "PUT", "/projects/web", Some(&body)).status, 200);
    let data = front.folder.path();
    let admin =
        LocalAdmin::open(data, &StoreAddress::Sqlite(data.join("lab.sqlite")), "kim").expect("it runs");
    admin.set_secret(&"PUSH".parse().expect("a name"), SECRET.as_bytes()).expect("stored");
    (front, token)
}

fn signature(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
    mac.update(body.as_bytes());
    let digits: Vec<String> = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

fn payload(branch: &str, commit: &str) -> String {
    format!(
        "{{\"ref\":\"{branch}\",\"before\":\"00\",\"after\":\"{commit}\",\"pusher\":{{\"name\":\"kim\"}}}}"
    )
}

fn github(front: &Front, secret: &str, event: &str, body: &str) -> Reply {
    let signed = format!("sha256={}", signature(secret, body));
    let headers = [
        ("X-GitHub-Event", event),
        ("X-Hub-Signature-256", signed.as_str()),
        ("Content-Type", "application/json"),
    ];
    front.ask("POST", "/push/web", &headers, body)
}

#[test]
fn a_push_is_built_once() {
    let (front, token) = lab();
    let body = payload("refs/heads/main", COMMIT);
    let accepted = github(&front, SECRET, "push", &body);
    assert_eq!((accepted.status, accepted.body.as_str()), (201, "build 1\n"), "{accepted:?}");
    let again = github(&front, SECRET, "push", &body);
    assert_eq!(again.status, 200, "{again:?}");
    assert!(again.body.contains("build 1,"), "{again:?}");
    let build = front.call(&token, "GET", "/builds/1", None).json();
    assert_eq!(build["build"]["reference"].as_str().or(build["reference"].as_str()), Some(COMMIT), "{build}");
    assert!(build.to_string().contains("a push"), "{build}");

    // Others sign in other ways; one of them sends a form.
    let other = payload("refs/heads/release/1", &COMMIT.replace('0', "1"));
    let gitea = signature(SECRET, &other);
    let reply =
        front.ask("POST", "/push/web", &[("X-Gitea-Event", "push"), ("X-Gitea-Signature", &gitea)], &other);
    assert_eq!(reply.status, 201, "{reply:?}");
    let third = payload("refs/heads/main", &COMMIT.replace('0', "2"));
    let headers = [("X-Gitlab-Event", "Push Hook"), ("X-Gitlab-Token", SECRET)];
    assert_eq!(front.ask("POST", "/push/web", &headers, &third).status, 201);
    let fourth = payload("refs/heads/main", &COMMIT.replace('0', "3"));
    let form = url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &fourth).finish();
    let signed = format!("sha256={}", signature(SECRET, &form));
    let headers = [
        ("X-GitHub-Event", "push"),
        ("X-Hub-Signature-256", signed.as_str()),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    assert_eq!(front.ask("POST", "/push/web", &headers, &form).status, 201);
}

#[test]
fn what_is_no_push_to_a_branch_of_ours_is_left_alone() {
    let (front, token) = lab();
    for (event, branch, commit, words) in [
        ("ping", "refs/heads/main", COMMIT, "not a push"),
        ("push", "refs/tags/v1", COMMIT, "not a branch"),
        ("push", "refs/heads/topic", COMMIT, "another branch"),
        ("push", "refs/heads/main", "0000000000000000000000000000000000000000", "the branch is gone"),
    ] {
        let reply = github(&front, SECRET, event, &payload(branch, commit));
        assert!(reply.status == 202 && reply.body.contains(words), "{words}: {reply:?}");
    }
    let odd = github(&front, SECRET, "push", &payload("refs/heads/main", "--upload-pack=x"));
    assert_eq!(odd.status, 400, "{odd:?}");
    for broken in ["", "[]", "{\"ref\": 3}"] {
        assert_eq!(github(&front, SECRET, "push", broken).status, 400, "{broken}");
    }
    let listed = front.call(&token, "GET", "/builds", None).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(0), "{listed}");
}

#[test]
fn nobody_else_has_anything_built() {
    let (front, token) = lab();
    let body = payload("refs/heads/main", COMMIT);
    assert_eq!(github(&front, "another secret", "push", &body).status, 401);
    assert_eq!(front.ask("POST", "/push/web", &[("X-GitHub-Event", "push")], &body).status, 401, "unsigned");
    let empty = [("X-GitHub-Event", "push"), ("X-Gitlab-Token", "")];
    assert_eq!(front.ask("POST", "/push/web", &empty, &body).status, 401);
    assert_eq!(front.ask("POST", "/push/shop", &[], &body).status, 404);
    // What was signed was another body.
    let signed = format!("sha256={}", signature(SECRET, &body));
    let headers = [("X-GitHub-Event", "push"), ("X-Hub-Signature-256", signed.as_str())];
    let forged = payload("refs/heads/main", &COMMIT.replace('0', "f"));
    assert_eq!(front.ask("POST", "/push/web", &headers, &forged).status, 401);
    let long = format!("{body}{}", " ".repeat(2 << 20));
    assert_eq!(github(&front, SECRET, "push", &long).status, 413);
    let without = serde_json::json!({ "definition": "folder = \"/srv/a\"\n[[task]]\nname = \"a\"\ncommand = \"make\"\n" });
    assert_eq!(front.call(&token, "PUT", "/projects/plain", Some(&without)).status, 200);
    assert_eq!(front.ask("POST", "/push/plain", &headers, &body).status, 404, "it has no such trigger");
    let listed = front.call(&token, "GET", "/builds", None).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(0), "{listed}");
}
