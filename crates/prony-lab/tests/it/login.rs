//! Logging in and out (S3, S5, S6).

use prony_lab::model::Role;

use crate::front::{Front, PASSWORD};

#[test]
fn the_first_link_makes_an_admin_once() {
    let front = Front::new();
    let link = front.lab.first_link().expect("a store").expect("nobody is there");
    for _ in 0..2 {
        let page = front.get(&link, &[]);
        assert_eq!(page.status, 200, "looking at it uses nothing up: {page:?}");
        assert!(page.body.contains("Set a password for admin"), "{page:?}");
        assert_eq!(page.header("cache-control"), Some("no-store"));
    }
    for (password, again, words) in [
        ("short", "short", "at least 12 characters"),
        ("i am the admin", "i am the admin", "the user&#39;s name"),
        (PASSWORD, "something else!", "not the same"),
    ] {
        let refused = front.form(&link, &[], &[("password", password), ("again", again)]);
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.body.contains(words), "{words}: {}", refused.body);
    }
    let cookie = front.follow(&link);
    let home = front.get("/", &[("Cookie", &cookie)]);
    assert!(home.status == 200 && home.body.contains("admin"), "{home:?}");
    assert_eq!(front.get(&link, &[]).status, 404, "it was used");
    assert_eq!(front.form(&link, &[], &[("password", PASSWORD), ("again", PASSWORD)]).status, 404);
    assert_eq!(front.lab.first_link().expect("a store"), None);
}

#[test]
fn nobody_reads_anything_before_that() {
    let front = Front::new();
    for path in ["/", "/add_job", "/build/1", "/api/v1/builds", "/api/v1/me"] {
        assert_eq!(front.get(path, &[]).status, 401, "{path}");
    }
    let browser = front.get("/build/7?a=b", &[("Accept", "text/html,*/*")]);
    assert_eq!(browser.status, 303);
    assert_eq!(browser.header("location"), Some("/login?next=%2Fbuild%2F7%3Fa%3Db"));
    let anonymous = Front::with(|options| options.anonymous = Some(Role::Viewer));
    assert_eq!(anonymous.get("/", &[]).status, 200);
    assert_eq!(anonymous.form("/add_job", &[], &[("project", "a")]).status, 403);
    assert_eq!(anonymous.get("/api/v1/users", &[]).status, 403);
}

#[test]
fn in_and_out() {
    let front = Front::new();
    let first = front.admin();
    let good = [("name", "admin"), ("password", PASSWORD), ("next", "/add_job")];
    let login = front.form("/login", &[("Cookie", &first)], &good);
    assert_eq!(login.status, 403, "a form of a session needs its token: {login:?}");
    let csrf = front.csrf(&first);
    let with_token = [good[0], good[1], good[2], ("csrf", csrf.as_str())];
    let login = front.form("/login", &[("Cookie", &first)], &with_token);
    assert_eq!((login.status, login.header("location")), (303, Some("/add_job")));
    let cookie = login.cookie();
    assert_ne!(cookie, first);
    assert_eq!(front.get("/", &[("Cookie", &first)]).status, 401, "the session before ended with the login");
    let set = login.header("set-cookie").expect("a cookie");
    for part in ["; Path=/", "; Max-Age=43200", "; HttpOnly", "; SameSite=Lax"] {
        assert!(set.contains(part), "{set}");
    }
    let elsewhere = front.form("/login", &[], &[good[0], good[1], ("next", "//evil.example/")]);
    assert_eq!(elsewhere.header("location"), Some("/"));

    let csrf = front.csrf(&cookie);
    let out = front.form("/logout", &[("Cookie", &cookie)], &[("csrf", &csrf)]);
    assert_eq!((out.status, out.header("location")), (303, Some("/login")));
    assert!(out.header("set-cookie").is_some_and(|set| set.contains("Max-Age=0")), "{out:?}");
    assert_eq!(front.get("/", &[("Cookie", &cookie)]).status, 401);
}

#[test]
fn wrong_passwords_are_few() {
    let front = Front::new();
    front.admin();
    let attempt =
        |name: &str, password: &str| front.form("/login", &[], &[("name", name), ("password", password)]);
    let nobody = attempt("nobody", "wrong words here");
    let wrong = attempt("admin", "wrong words here");
    assert_eq!((nobody.status, wrong.status), (401, 401));
    assert_eq!(nobody.body.replace("nobody", "admin"), wrong.body, "it doesn't tell who is there");
    let refused = (0..20).map(|_| attempt("admin", "wrong words here")).find(|reply| reply.status == 429);
    let refused = refused.expect("too many");
    assert!(refused.header("retry-after").is_some_and(|wait| wait.parse::<u64>().is_ok()), "{refused:?}");
    assert_eq!(attempt("admin", PASSWORD).status, 429, "also for the right one, for a while");
}

#[test]
fn a_form_needs_its_token_and_its_page() {
    let front = Front::new();
    let cookie = front.admin();
    let csrf = front.csrf(&cookie);
    let own = format!("http://{}", front.address);
    let status = |headers: &[(&str, &str)], fields: &[(&str, &str)]| {
        let mut all = vec![("Cookie", cookie.as_str())];
        all.extend_from_slice(headers);
        front.form("/add_job", &all, fields).status
    };
    let token = [("csrf", csrf.as_str()), ("project", "none")];
    // 422: let in, and refused for the project that isn't there.
    assert_eq!(status(&[], &token), 422);
    assert_eq!(status(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")], &token), 422);
    assert_eq!(status(&[], &[("project", "none")]), 403, "no token");
    assert_eq!(status(&[], &[("csrf", &"0".repeat(64)), ("project", "none")]), 403, "another token");
    assert_eq!(status(&[("Origin", "http://evil.example")], &token), 403);
    assert_eq!(status(&[("Origin", "null")], &token), 403);
    assert_eq!(status(&[("Sec-Fetch-Site", "cross-site")], &token), 403);
    assert_eq!(status(&[("Sec-Fetch-Site", "same-site"), ("Origin", &own)], &token), 403);
    // A login that another page makes would put somebody into a stranger's account.
    let login = [("name", "admin"), ("password", PASSWORD)];
    assert_eq!(front.form("/login", &[("Origin", "http://evil.example")], &login).status, 403);
}

#[test]
fn the_secret_of_a_session_is_no_token() {
    let front = Front::new();
    let cookie = front.admin();
    assert_eq!(front.get("/", &[("Cookie", &cookie)]).status, 200);
    let (_, secret) = cookie.split_once('=').expect("a cookie");
    let bearer = format!("Bearer lab_0123456789abcdef_{secret}");
    assert_eq!(front.get("/api/v1/me", &[("Authorization", &bearer)]).status, 401);
}

#[test]
fn failed_logins_are_in_the_audit_log_without_what_was_typed() {
    let front = Front::new();
    let cookie = front.admin();
    for name in ["admin", "my secret words"] {
        let refused = front.form("/login", &[], &[("name", name), ("password", "wrong")]);
        assert_eq!(refused.status, 401, "{refused:?}");
    }
    let token = front.token(&cookie, Role::Admin);
    let entries = front.call(&token, "GET", "/audit", None).json();
    let failed: Vec<&str> = entries["items"]
        .as_array()
        .expect("rows")
        .iter()
        .filter(|entry| entry["action"] == "session.refuse")
        .filter_map(|entry| entry["subject"].as_str())
        .collect();
    assert_eq!(failed, ["a name that nobody has", "admin"]);
}
