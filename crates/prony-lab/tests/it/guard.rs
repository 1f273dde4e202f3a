//! What every request passes and every response has (S2, S13, S18).

use prony_lab::model::Role;

use crate::front::Front;

#[test]
fn a_lab_answers_to_its_own_names() {
    let front = Front::with(|options| options.hosts = vec!["lab.example.org".to_owned()]);
    let port = front.address.port();
    let status = |hosts: &[&str]| {
        let headers: Vec<(&str, &str)> = hosts.iter().map(|host| ("Host", *host)).collect();
        front.ask_as("GET", "/login", &headers, "").status
    };
    for own in ["127.0.0.1", "localhost", "LAB.example.org", "[::1]"] {
        assert_eq!(status(&[&format!("{own}:{port}")]), 200, "{own}");
    }
    for foreign in ["evil.example", "127.0.0.1.evil.example", "example.org"] {
        assert_eq!(status(&[foreign]), 421, "{foreign}");
    }
    assert_eq!(status(&[]), 400);
    assert_eq!(status(&["localhost", "evil.example"]), 400);
    let absolute = front.ask_as("GET", "http://evil.example/login", &[("Host", "localhost")], "");
    assert_eq!(absolute.status, 400, "{absolute:?}");
}

#[test]
fn every_response_has_its_headers() {
    let front = Front::new();
    let cookie = front.admin();
    for (method, path, headers) in [
        ("GET", "/", vec![("Cookie", cookie.as_str())]),
        ("GET", "/", vec![]),
        ("GET", "/login", vec![]),
        ("GET", "/nowhere", vec![("Cookie", cookie.as_str())]),
        ("GET", "/build/99", vec![("Cookie", cookie.as_str())]),
        ("POST", "/add_job", vec![]),
        ("DELETE", "/", vec![("Cookie", cookie.as_str())]),
        ("GET", "/api/v1/openapi.json", vec![]),
        ("GET", "/api/v1/me", vec![]),
        (
            "OPTIONS",
            "/api/v1/builds",
            vec![("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")],
        ),
        ("GET", "/login", vec![("Origin", "http://evil.example")]),
    ] {
        let reply = front.ask(method, path, &headers, "");
        let policy = reply.header("content-security-policy").unwrap_or_else(|| panic!("{method} {path}"));
        assert_eq!(
            policy,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{method} {path}");
        }
        assert!(reply.header("cache-control").is_some(), "{method} {path}");
        let shares = reply.headers.iter().any(|(name, _)| name.starts_with("access-control-"));
        assert!(!shares, "no CORS: {method} {path}: {reply:?}");
    }
}

#[test]
fn bodies_and_heads_have_bounds() {
    let front = Front::new();
    let unknown = front.form("/login", &[], &[("name", &"x".repeat(20_000))]);
    assert_eq!(unknown.status, 413, "{unknown:?}");
    let cookie = front.admin();
    let csrf = front.csrf(&cookie);
    let fields = [("csrf", csrf.as_str()), ("project", &"x".repeat(20_000))];
    assert_eq!(front.form("/add_job", &[("Cookie", &cookie)], &fields).status, 422, "an admin may send more");
    let too_much = [("csrf", csrf.as_str()), ("project", &"x".repeat(1 << 20))];
    assert_eq!(front.form("/add_job", &[("Cookie", &cookie)], &too_much).status, 413);
    let many: Vec<(&str, &str)> = (0..100).map(|_| ("X-Header", "x")).collect();
    assert_eq!(front.get("/login", &many).status, 431);
    let long = "x".repeat(40_000);
    let status = front.get("/login", &[("X-Header", &long)]).status;
    assert!(status == 431 || status == 400, "{status}");
}

/// Every address of a page to which something is sent, and the least role of its sender.
const SENT: [(&str, Option<Role>); 36] = [
    ("/build/1/cancel", Some(Role::Runner)),
    ("/build/1/retry", Some(Role::Runner)),
    ("/build/1/note", Some(Role::Runner)),
    ("/build/1/commits", Some(Role::Runner)),
    ("/bisects", Some(Role::Runner)),
    ("/bisect/1/cancel", Some(Role::Runner)),
    ("/alert/1", Some(Role::Runner)),
    ("/add_job", Some(Role::Runner)),
    ("/monitors", Some(Role::Runner)),
    ("/monitor/1/remove", Some(Role::Runner)),
    ("/projects", Some(Role::Admin)),
    ("/projects/inspect", Some(Role::Admin)),
    ("/project/web", Some(Role::Admin)),
    ("/project/web/archive", Some(Role::Admin)),
    ("/project/web/clear-caches", Some(Role::Runner)),
    ("/admin/users", Some(Role::Admin)),
    ("/admin/user/ada", Some(Role::Admin)),
    ("/admin/tokens", Some(Role::Admin)),
    ("/admin/token/x/revoke", Some(Role::Admin)),
    ("/admin/policy", Some(Role::Admin)),
    ("/admin/stop", Some(Role::Admin)),
    ("/admin/hooks", Some(Role::Admin)),
    ("/admin/hook/1/remove", Some(Role::Admin)),
    ("/agents/stop", Some(Role::Runner)),
    ("/agents/lift", Some(Role::Admin)),
    ("/agent/a/drain", Some(Role::Runner)),
    ("/agent/a/resume", Some(Role::Admin)),
    ("/account/password", Some(Role::Viewer)),
    ("/account/tokens", Some(Role::Viewer)),
    ("/account/token/x/revoke", Some(Role::Viewer)),
    ("/account/session/x/end", Some(Role::Viewer)),
    // It ends the session that the others are tried with.
    ("/account/sign-out", Some(Role::Viewer)),
    ("/push/web", None),
    ("/login", None),
    ("/logout", None),
    ("/first-login/x", None),
];

#[test]
fn nobody_sends_what_they_may_not() {
    let front = Front::new();
    let admin = front.admin();
    let token = front.token(&admin, Role::Admin);
    let as_role = |role: Role| {
        let body = serde_json::json!({ "name": format!("a-{role}"), "role": role.to_string() });
        let link = front.call(&token, "POST", "/users", Some(&body)).json();
        let url = link["url"].as_str().expect("a link");
        let cookie = front.follow(url.strip_prefix(&format!("http://{}", front.address)).expect("our own"));
        let csrf = front.get("/", &[("Cookie", &cookie)]).csrf();
        (role, cookie, csrf)
    };
    let people = [as_role(Role::Viewer), as_role(Role::Runner)];
    for (path, least) in SENT.into_iter().filter_map(|(path, least)| Some((path, least?))) {
        assert_eq!(front.form(path, &[], &[]).status, 401, "{path}");
        for (role, cookie, csrf) in &people {
            assert_eq!(
                front.form(path, &[("Cookie", cookie)], &[]).status,
                403,
                "{path} without the form's token"
            );
            let status = front.form(path, &[("Cookie", cookie)], &[("csrf", csrf)]).status;
            assert_eq!(status == 403, *role < least, "{path} as {role}: {status}");
        }
    }
    let table = include_str!("../../../prony-lab-web/src/web/routes.rs");
    assert_eq!(table.matches("post(").count(), SENT.len(), "a new address wants a line above");
}
