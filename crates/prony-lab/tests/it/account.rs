//! One's own page: password, sessions, tokens.

use prony_lab::model::Role;

use crate::front::{Front, PASSWORD, Reply};

const NEW: &str = "quite other words";

/// Sends a form of the session `cookie`.
fn send(front: &Front, cookie: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
    let csrf = front.csrf(cookie);
    let mut all = vec![("csrf", csrf.as_str())];
    all.extend_from_slice(fields);
    front.form(path, &[("Cookie", cookie), ("User-Agent", "curl/8.5.0")], &all)
}

fn log_in(front: &Front, password: &str) -> Reply {
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    front.form("/login", &[("User-Agent", agent)], &[("name", "admin"), ("password", password)])
}

fn status(front: &Front, cookie: &str) -> u16 {
    front.get("/account", &[("Cookie", cookie)]).status
}

#[test]
fn a_password_is_changed_by_who_knows_the_old_one() {
    let front = Front::new();
    let first = front.admin();
    let elsewhere = log_in(&front, PASSWORD).cookie();
    for (old, new, again, words) in [
        ("not the old one", NEW, NEW, "the old password is wrong"),
        (PASSWORD, NEW, "something else!", "not the same"),
        (PASSWORD, "short", "short", "at least 12 characters"),
        (PASSWORD, "i am the admin", "i am the admin", "the user&#39;s name"),
    ] {
        let fields = [("old", old), ("password", new), ("again", again)];
        let refused = send(&front, &first, "/account/password", &fields);
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.body.contains(words), "{words}: {}", refused.body);
    }
    assert_eq!((status(&front, &first), status(&front, &elsewhere)), (200, 200), "nothing has changed");
    let token = front.token(&first, Role::Viewer);
    let fields = [("old", PASSWORD), ("password", NEW), ("again", NEW)];
    let changed = send(&front, &first, "/account/password", &fields);
    assert_eq!((changed.status, changed.header("location")), (303, Some("/account?done=password")));
    let now = changed.cookie();
    assert_eq!([&first, &elsewhere, &now].map(|cookie| status(&front, cookie)), [401, 401, 200]);
    assert_eq!((log_in(&front, PASSWORD).status, log_in(&front, NEW).status), (401, 303));
    assert_eq!(front.call(&token, "GET", "/me", None).status, 200, "tokens stay");
    let audit = front.call(&front.token(&now, Role::Admin), "GET", "/audit", None).json().to_string();
    assert!(audit.contains("by themselves") && audit.contains("session.refuse"), "{audit}");
}

#[test]
fn an_open_browser_does_not_let_somebody_guess_the_password() {
    let front = Front::new();
    let cookie = front.admin();
    let csrf = front.csrf(&cookie);
    let fields = [("csrf", csrf.as_str()), ("old", "wrong"), ("password", NEW), ("again", NEW)];
    let guess = || front.form("/account/password", &[("Cookie", &cookie)], &fields);
    let words: Vec<bool> = (0..12).map(|_| guess().body.contains("too many tries")).collect();
    assert_eq!(words.iter().filter(|refused| **refused).count(), 2, "ten, as at the login: {words:?}");
}

#[test]
fn sessions_are_listed_and_ended() {
    let front = Front::new();
    let first = front.admin();
    let [second, third] = [(); 2].map(|()| log_in(&front, PASSWORD).cookie());
    let page = front.get("/account", &[("Cookie", &first)]);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.body.matches("Firefox on Linux").count(), 2, "{}", page.body);
    assert_eq!(page.body.matches("this one").count(), 1);
    assert_eq!(page.body.matches("127.0.0.1").count(), 3, "{}", page.body);
    // The other two, of which one ends.
    let ends: Vec<&str> =
        page.body.split("action=\"").filter(|rest| rest.starts_with("/account/session/")).collect();
    assert_eq!(ends.len(), 2);
    let path = ends[0].split('"').next().expect("a path");
    assert_eq!(send(&front, &first, path, &[]).status, 303);
    let left = [&first, &second, &third].map(|cookie| status(&front, cookie));
    assert_eq!((left[0], left[1] + left[2]), (200, 601), "{left:?}");
    let out = send(&front, &first, "/account/sign-out", &[]);
    assert_eq!((out.status, out.header("location")), (303, Some("/login")));
    assert_eq!([&first, &second, &third].map(|cookie| status(&front, cookie)), [401; 3]);
}

#[test]
fn nobody_ends_the_session_of_somebody_else() {
    let front = Front::new();
    let admin = front.admin();
    let token = front.token(&admin, Role::Admin);
    let body = serde_json::json!({"name": "ada", "role": "runner"});
    let link =
        front.call(&token, "POST", "/users", Some(&body)).json()["url"].as_str().expect("a link").to_owned();
    let ada = front.follow(&link[link.find("/first-login").expect("a path")..]);
    let page = front.get("/account", &[("Cookie", &ada)]).body;
    assert!(!page.contains("/account/session/"), "only her own: {page}");
    let _second = log_in(&front, PASSWORD).cookie();
    let page = front.get("/account", &[("Cookie", &admin)]).body;
    let path = page.split("action=\"").find(|rest| rest.starts_with("/account/session/")).expect("a session");
    let path = path.split('"').next().expect("a path");
    send(&front, &ada, path, &[]);
    let after = front.get("/account", &[("Cookie", &admin)]).body;
    assert!(after.contains(path), "it is there still");
}

#[test]
fn tokens_are_made_and_made_void_by_their_user() {
    let front = Front::new();
    let admin = front.admin();
    let body = serde_json::json!({"name": "ada", "role": "runner"});
    let link = front.call(&front.token(&admin, Role::Admin), "POST", "/users", Some(&body)).json();
    let link = link["url"].as_str().expect("a link").to_owned();
    let ada = front.follow(&link[link.find("/first-login").expect("a path")..]);
    let form = front.get("/account?label=laptop", &[("Cookie", &ada)]).body;
    assert!(form.contains("value=\"laptop\"") && !form.contains(">admin<"), "{form}");

    let made = send(&front, &ada, "/account/tokens", &[("label", "ci"), ("role", "viewer"), ("days", "7")]);
    assert_eq!((made.status, made.header("cache-control")), (200, Some("no-store")));
    let token = made.body.split("<code>lab_").nth(1).expect("a token").split('<').next().expect("its end");
    let token = format!("lab_{token}");
    let me = front.call(&token, "GET", "/me", None).json();
    assert_eq!((me["name"].as_str(), me["role"].as_str()), (Some("ada"), Some("viewer")));
    let again = front.get("/account", &[("Cookie", &ada)]).body;
    assert!(!again.contains(&token), "it is shown once");
    for (fields, words) in [
        ([("label", "ci"), ("role", "admin"), ("days", "7")], "do this as admin"),
        ([("label", ""), ("role", "viewer"), ("days", "7")], "name the token"),
        ([("label", "ci"), ("role", "viewer"), ("days", "0")], "make a token for 0 days"),
    ] {
        let refused = send(&front, &ada, "/account/tokens", &fields);
        assert!(refused.status == 422 && refused.body.contains(words), "{words}: {}", refused.body);
    }
    let id = token.split('_').nth(1).expect("its number");
    let path = format!("/account/token/{id}/revoke");
    assert_eq!(send(&front, &admin, &path, &[]).status, 404, "it is not the admin's");
    assert_eq!(send(&front, &ada, &path, &[]).status, 303);
    assert_eq!(front.call(&token, "GET", "/me", None).status, 401);
    let bearer = format!("Bearer {}", front.token(&ada, Role::Viewer));
    assert_eq!(front.get("/account", &[("Authorization", &bearer)]).status, 401, "a page for people");
}

#[test]
fn a_badge_is_for_whoever_has_its_address() {
    let front = Front::new();
    let admin = front.admin();
    let definition = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"\n";
    let body = serde_json::json!({ "definition": definition });
    let token = front.token(&admin, Role::Admin);
    assert_eq!(front.call(&token, "PUT", "/projects/web", Some(&body)).status, 200);
    let page = front.get("/project/web", &[("Cookie", &admin)]).body;
    let at = page.find("href=\"/badge/web/").expect("a badge") + "href=\"".len();
    let path = page[at..].split('"').next().expect("its address");
    assert!(page.contains(&format!("http://{}{path}", front.address)), "as a README needs it: {page}");
    let badge = front.get(path, &[]);
    assert_eq!((badge.status, badge.header("content-type")), (200, Some("image/svg+xml")));
    assert!(badge.body.contains("performance: no builds"), "{badge:?}");
    let other = path.replace("/web/", "/shop/");
    let guessed = "/badge/web/00000000000000000000000000000000.svg";
    for wrong in [other.as_str(), guessed, "/badge/web/.svg"] {
        assert_eq!(front.get(wrong, &[]).status, 404, "{wrong}");
    }
}
