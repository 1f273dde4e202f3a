//! The API: what it takes, what it answers, who may.

use prony_lab::model::Role;
use serde_json::{Value, json};

use crate::front::Front;

const DEFINITION: &str = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";

/// A lab with a project, and a token of each role.
fn prepared() -> (Front, [String; 3]) {
    let front = Front::new();
    let cookie = front.admin();
    let tokens = Role::ALL.map(|role| front.token(&cookie, role));
    let put = front.call(&tokens[2], "PUT", "/projects/web", Some(&json!({ "definition": DEFINITION })));
    assert_eq!(put.status, 200, "{put:?}");
    (front, tokens)
}

#[test]
fn from_a_request_to_its_build() {
    let (front, [viewer, runner, _]) = prepared();
    let made =
        front.call(&runner, "POST", "/builds", Some(&json!({ "project": "web", "reference": "main" })));
    assert_eq!((made.status, made.header("location")), (201, Some("/api/v1/builds/1")), "{made:?}");
    assert_eq!(made.json()["build"]["state"], "queued");
    assert_eq!(made.json()["build"]["requested_by"], "admin");
    let one = front.call(&viewer, "GET", "/builds/1", None);
    assert_eq!((one.status, one.json()), (200, made.json()));
    let status = front.call(&viewer, "GET", "/builds/1/status", None).json();
    assert_eq!(
        (&status["state"], &status["context"]),
        (&json!("pending"), &json!("prony/web/default")),
        "{status}"
    );
    assert_eq!(status["target_url"], format!("http://{}/build/1", front.address));
    let events = front.call(&viewer, "GET", "/builds/1/events", None).json();
    assert_eq!(events["items"][0]["kind"], "build.queued");
    let task = one.json()["tasks"][0]["id"].clone();
    let output = front.call(&viewer, "GET", &format!("/builds/1/tasks/{task}/output"), None);
    assert_eq!(output.json(), json!({ "text": "" }));
    assert_eq!(
        front.call(&viewer, "GET", "/builds/1/results", None).json(),
        json!({ "figures": [], "comparisons": [], "demands": [] })
    );
    let note =
        front.call(&runner, "POST", "/builds/1/notes", Some(&json!({ "words": " <b>slow</b> disk " })));
    assert_eq!(
        (note.status, &note.json()["items"][0]["words"]),
        (201, &json!("<b>slow</b> disk")),
        "{note:?}"
    );
    assert_eq!(front.call(&viewer, "GET", "/builds/1/notes", None).json(), note.json());
    assert_eq!(front.call(&runner, "POST", "/builds/1/notes", Some(&json!({ "words": " " }))).status, 422);
    for path in ["/builds/2", "/builds/2/results"] {
        assert_eq!(front.call(&viewer, "GET", path, None).status, 404);
    }
    assert_eq!(front.call(&viewer, "GET", "/builds/x", None).status, 404);
}

#[test]
fn what_is_wrong_is_a_problem() {
    let (front, [viewer, runner, _]) = prepared();
    let check = |reply: crate::front::Reply, status: u16, words: &str| {
        assert_eq!(reply.status, status, "{reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{reply:?}");
        assert_eq!(reply.json()["status"], status);
        assert!(reply.body.contains(words), "{words}: {reply:?}");
    };
    check(front.call(&viewer, "POST", "/builds", Some(&json!({ "project": "web" }))), 403, "the role runner");
    check(
        front.call(&runner, "POST", "/builds", Some(&json!({ "project": "none" }))),
        422,
        "no such project",
    );
    check(front.call(&runner, "POST", "/builds", Some(&json!({ "projekt": "web" }))), 422, "projekt");
    check(front.call(&runner, "POST", "/builds", Some(&json!([]))), 422, "");
    check(front.call(&runner, "GET", "/builds?limit=0", None), 400, "1 to 500");
    check(front.call(&runner, "GET", "/builds?state=asleep", None), 400, "asleep");
    check(front.call(&runner, "GET", "/builds?colour=red", None), 400, "colour");
    check(front.call(&runner, "GET", "/nothing", None), 404, "openapi.json");
    check(front.call("lab_0000000000000000_x", "GET", "/me", None), 401, "unknown or revoked");
    check(front.get("/api/v1/me", &[]), 401, "log in");
    let bearer = format!("Bearer {runner}");
    let form = front.form("/api/v1/builds", &[("Authorization", &bearer)], &[("project", "web")]);
    check(form, 415, "Content-Type: application/json");
    let broken = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    check(front.ask("POST", "/api/v1/builds", &broken, "{"), 400, "");
}

#[test]
fn a_key_makes_a_request_count_once() {
    let (front, [_, runner, admin]) = prepared();
    let bearer = format!("Bearer {runner}");
    let send = |key: &str, body: &Value| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", key),
        ];
        front.ask("POST", "/api/v1/builds", &headers, &body.to_string())
    };
    let body = json!({ "project": "web" });
    let first = send("one", &body);
    assert_eq!(first.status, 201);
    let again = send("one", &body);
    assert_eq!((again.status, again.json()), (200, first.json()));
    assert_eq!(send("one", &json!({ "project": "web", "priority": "low" })).status, 422, "another request");
    assert_eq!(send("two", &body).status, 201);
    let retry = |id: u32| {
        let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", "one")];
        front.ask("POST", &format!("/api/v1/builds/{id}/retry"), &headers, "")
    };
    let retried =
        [retry(1), retry(2), retry(1)].map(|answer| (answer.status, answer.json()["build"]["id"].as_i64()));
    assert_eq!(retried, [(201, Some(3)), (201, Some(4)), (200, Some(3))], "a key counts for one address");
    let tasks = json!({ "project": "web", "tasks": ["nothing"] });
    assert_eq!(send("three", &tasks).json()["mistakes"][0]["field"], "tests", "tasks are tests");
    for bad in ["", "two words", "a\ttab", &"x".repeat(256)] {
        assert_eq!(send(bad, &body).status, 400, "{bad:?} is not what the document allows");
    }
    let all = front.call(&admin, "GET", "/builds", None).json();
    assert_eq!(all["items"].as_array().map(Vec::len), Some(4));
}

#[test]
fn pages_and_tags() {
    let (front, [viewer, runner, _]) = prepared();
    for _ in 0..5 {
        assert_eq!(front.call(&runner, "POST", "/builds", Some(&json!({ "project": "web" }))).status, 201);
    }
    let mut seen = Vec::new();
    let mut path = "/builds?limit=2".to_owned();
    loop {
        let page = front.call(&viewer, "GET", &path, None).json();
        seen.extend(
            page["items"].as_array().expect("rows").iter().map(|build| build["id"].as_i64().expect("an id")),
        );
        let Some(next) = page.get("next") else { break };
        path = format!("/builds?limit=2&before={next}");
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    let bearer = format!("Bearer {viewer}");
    let get = |tag: Option<&str>| {
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(tag.map(|tag| ("If-None-Match", tag)));
        front.get("/api/v1/builds/1", &headers)
    };
    let tag = get(None).header("etag").expect("a tag").to_owned();
    assert_eq!((get(Some(&tag)).status, get(Some(&tag)).body.as_str()), (304, ""));
    assert_eq!(get(Some(&format!("\"x\", W/{tag}"))).status, 304);
    assert_eq!(get(Some("\"x\"")).status, 200);
}

#[test]
fn a_search_finds_what_one_may_see() {
    let (front, [viewer, runner, admin]) = prepared();
    for reference in ["main", "release/1"] {
        let made = front.call(
            &runner,
            "POST",
            "/builds",
            Some(&json!({ "project": "web", "reference": reference })),
        );
        assert_eq!(made.status, 201, "{made:?}");
    }
    let search =
        |token: &str, query: &str| front.call(token, "GET", &format!("/search?q={query}"), None).json();
    let numbers = |found: &Value| -> Vec<i64> {
        found["items"].as_array().expect("rows").iter().filter_map(|build| build["id"].as_i64()).collect()
    };
    let found = search(&viewer, "web");
    assert_eq!((numbers(&found), &found["projects"][0]["name"]), (vec![2, 1], &json!("web")), "{found}");
    assert_eq!(numbers(&search(&viewer, "branch:release/*")), [2]);
    assert_eq!(search(&viewer, "%232")["number"], json!(2));
    let first = search(&viewer, "web&limit=1");
    assert_eq!((numbers(&first), &first["next"]), (vec![2], &json!(2)), "{first}");
    assert_eq!(numbers(&search(&viewer, "web&limit=1&before=2")), [1]);
    assert_eq!(search(&admin, "ADMIN")["users"], json!(["admin"]));
    for token in [&viewer, &runner] {
        assert_eq!(search(token, "admin").get("users"), None, "administrators alone see users");
    }
    for (query, words) in [
        ("", "nothing to search for"),
        ("x:y", "there is no operator"),
        ("a&limit=0", "1 to 500"),
        ("a&colour=red", "colour"),
    ] {
        let refused = front.call(&viewer, "GET", &format!("/search?q={query}"), None);
        assert!(refused.status == 400 && refused.body.contains(words), "{refused:?}");
    }
    let long = front.call(&viewer, "GET", &format!("/search?q={}", "x".repeat(201)), None);
    assert!(long.status == 400 && long.body.contains("200 characters"), "{long:?}");
}

#[test]
fn loads_go_where_the_policy_says() {
    let (front, [_, runner, admin]) = prepared();
    let load = |url: &str| json!({ "url": url, "connections": 2, "rate_per_s": null, "duration_s": 1.0 });
    let made = front.call(&runner, "POST", "/loads", Some(&load("http://127.0.0.1:9/")));
    assert_eq!((made.status, &made.json()["build"]["kind"]), (201, &json!("load")), "{made:?}");
    for url in ["http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://8.8.8.8/", "ftp://x/"]
    {
        let refused = front.call(&runner, "POST", "/loads", Some(&load(url)));
        assert_eq!(
            (refused.status, &refused.json()["mistakes"][0]["field"]),
            (422, &json!("url")),
            "{refused:?}"
        );
    }
    let set = front.call(&admin, "PUT", "/policy", Some(&json!({ "policy": "loopback = false" })));
    assert_eq!(set.status, 200, "{set:?}");
    let verdict =
        front.call(&runner, "POST", "/policy/judge", Some(&json!({ "url": "http://0x7f.1/" }))).json();
    assert_eq!(verdict["allowed"], false, "{verdict}");
    assert_eq!(front.call(&runner, "POST", "/loads", Some(&load("http://2130706433:9/"))).status, 422);
}

#[test]
fn builds_are_called_off_and_asked_for_again() {
    let (front, [viewer, runner, admin]) = prepared();
    let request = || front.call(&runner, "POST", "/builds", Some(&json!({ "project": "web" })));
    assert_eq!(request().status, 201);
    assert_eq!(front.call(&viewer, "POST", "/builds/1/cancel", None).status, 403);
    let cancelled = front.call(&runner, "POST", "/builds/1/cancel", None);
    assert_eq!(
        (cancelled.status, &cancelled.json()["build"]["state"]),
        (200, &json!("cancelled")),
        "{cancelled:?}"
    );
    assert_eq!(front.call(&runner, "POST", "/builds/1/cancel", None).status, 409, "it is over");
    assert_eq!(front.call(&runner, "POST", "/builds/9/cancel", None).status, 404);
    let again = front.call(&runner, "POST", "/builds/1/retry", None);
    assert_eq!((again.status, again.header("location")), (201, Some("/api/v1/builds/2")), "{again:?}");
    assert_eq!(request().status, 201);
    assert_eq!(front.call(&runner, "POST", "/stop", None).status, 403);
    assert_eq!(front.call(&admin, "POST", "/stop", None).json(), json!({ "stopped": 2 }));
    assert_eq!(front.call(&admin, "GET", "/queue", None).json(), json!({ "items": [] }));
}

#[test]
fn monitors_and_hooks_go_where_the_policy_says() {
    let (front, [viewer, runner, admin]) = prepared();
    let monitor = |url: &str| json!({ "name": "home", "url": url });
    let added = front.call(&runner, "POST", "/monitors", Some(&monitor("http://127.0.0.1:9/")));
    assert_eq!((added.status, &added.json()["fail_after"]), (201, &json!(3)), "{added:?}");
    for url in ["http://169.254.169.254/", "http://8.8.8.8/", "http://a:b@127.0.0.1/", "x"] {
        let refused = front.call(&runner, "POST", "/monitors", Some(&monitor(url)));
        assert_eq!(
            (refused.status, &refused.json()["mistakes"][0]["field"]),
            (422, &json!("url")),
            "{refused:?}"
        );
    }
    let listed = front.call(&viewer, "GET", "/monitors", None).json();
    let id = listed["items"][0]["id"].clone();
    assert_eq!(front.call(&viewer, "GET", &format!("/monitors/{id}/checks"), None).status, 200);
    assert_eq!(front.call(&runner, "DELETE", &format!("/monitors/{id}"), None).status, 200);
    assert_eq!(front.call(&runner, "DELETE", &format!("/monitors/{id}"), None).status, 404);
    let hook = front.call(&admin, "POST", "/hooks", Some(&json!({ "url": "http://127.0.0.1:9/hook" })));
    assert_eq!(hook.json()["secret"].as_str().map(str::len), Some(64), "{hook:?}");
    let listed = front.call(&admin, "GET", "/hooks", None);
    assert!(
        !listed.body.contains(hook.json()["secret"].as_str().expect("a secret")),
        "shown once: {listed:?}"
    );
    let refused = front.call(&admin, "POST", "/hooks", Some(&json!({ "url": "http://[fe80::1]/" })));
    assert_eq!(refused.status, 422, "{refused:?}");
}

#[test]
fn a_project_with_variables_and_caches() {
    let (front, [viewer, runner, admin]) = prepared();
    let plain = front.call(&viewer, "GET", "/projects/web", None).json();
    assert_eq!((&plain["environment"], &plain["caches"]), (&json!({}), &json!([])), "{plain}");
    let definition = format!(
        "{DEFINITION}\n[environment]\nRUSTFLAGS = \"-g\"\n[[cache]]\nname = \"cargo\"\npath = \"~/.cargo/registry\"\n"
    );
    let put = |definition: &str| {
        front.call(&admin, "PUT", "/projects/web", Some(&json!({ "definition": definition })))
    };
    let changed = put(&definition).json();
    assert_eq!(changed["environment"], json!({ "RUSTFLAGS": "-g" }), "{changed}");
    let cache = json!({
        "name": "cargo", "path": "~/.cargo/registry", "limit_bytes": 4_u64 << 30,
        "size_bytes": null, "build": null, "changed_at": null, "note": null,
    });
    assert_eq!(changed["caches"], json!([cache]));
    let one = front.call(&viewer, "GET", "/projects/web", None).json();
    assert_eq!(
        (&one, &front.call(&viewer, "GET", "/projects", None).json()["items"][0]),
        (&changed, &changed)
    );
    let refused = put(&definition.replace("RUSTFLAGS", "LD_PRELOAD"));
    assert!(refused.status == 422 && refused.body.contains("environment.LD_PRELOAD"), "{refused:?}");
    let refused = put(&definition.replace("~/.cargo/registry", "../registry"));
    assert!(refused.status == 422 && refused.body.contains("cache.path"), "{refused:?}");
    assert_eq!(front.call(&viewer, "DELETE", "/projects/web/caches", None).status, 403);
    assert_eq!(front.call(&runner, "DELETE", "/projects/none/caches", None).status, 404);
    assert_eq!(front.call(&runner, "DELETE", "/projects/web/caches", None).json(), json!({ "cleared": 0 }));
    let entries = front.call(&admin, "GET", "/audit", None).json();
    assert_eq!(entries["items"][0]["action"], "project.clear-caches");
}

#[test]
fn repeats_have_bounds() {
    let (front, [viewer, runner, _]) = prepared();
    assert_eq!(front.call(&runner, "POST", "/builds", Some(&json!({ "project": "web" }))).status, 201);
    let repeat = |token: &str, id: u32, body: Value| {
        front.call(token, "POST", &format!("/builds/{id}/repeat"), Some(&body))
    };
    assert_eq!(repeat(&viewer, 1, json!({})).status, 403);
    assert_eq!(repeat(&runner, 9, json!({})).status, 404);
    let refused = repeat(&runner, 1, json!({ "at_most": 11 }));
    assert_eq!((refused.status, &refused.json()["mistakes"][0]["field"]), (422, &json!("at_most")));
    for (body, why) in [(json!({ "at_most": 0 }), "switched off"), (json!({}), "from a folder")] {
        let not = repeat(&runner, 1, body).json();
        assert!(
            not["build"].is_null() && not["why"].as_str().is_some_and(|words| words.contains(why)),
            "{not}"
        );
    }
}

#[test]
fn alerts_and_series() {
    let (front, [viewer, runner, _]) = prepared();
    assert_eq!(front.call(&viewer, "GET", "/alerts?state=active", None).json(), json!({ "items": [] }));
    assert_eq!(front.call(&viewer, "GET", "/projects/web/series", None).json(), json!({ "items": [] }));
    assert_eq!(front.call(&viewer, "GET", "/projects/none/series", None).status, 404);
    assert_eq!(front.call(&viewer, "GET", "/series/1", None).status, 404);
    assert_eq!(front.call(&viewer, "GET", "/alerts/1", None).status, 404);
    let answer = |body: Value| front.call(&runner, "POST", "/alerts/1", Some(&body)).status;
    assert_eq!(answer(json!({ "state": "acknowledged" })), 404);
    assert_eq!(answer(json!({ "state": "silenced" })), 422, "for how long?");
    assert_eq!(answer(json!({ "state": "dismissed", "silence_s": 5 })), 422);
}

#[test]
fn users_tokens_and_what_was_done() {
    let (front, [viewer, _, admin]) = prepared();
    let link = front.call(&admin, "POST", "/users", Some(&json!({ "name": "ada", "role": "runner" }))).json();
    let url = link["url"].as_str().expect("a link");
    let ada = front.follow(url.strip_prefix(&format!("http://{}", front.address)).expect("our own address"));
    let csrf = front.csrf(&ada);
    let ask = |method: &str, path: &str, body: &str| {
        let headers =
            [("Cookie", ada.as_str()), ("X-CSRF-Token", csrf.as_str()), ("Content-Type", "application/json")];
        front.ask(method, &format!("/api/v1{path}"), &headers, body)
    };
    assert_eq!(ask("POST", "/tokens", "{\"name\":\"x\",\"role\":\"admin\"}").status, 403);
    assert_eq!(ask("POST", "/tokens", "{\"name\":\"x\",\"role\":\"viewer\",\"user\":\"admin\"}").status, 403);
    let token = ask("POST", "/tokens", "{\"name\":\"x\",\"role\":\"runner\"}").json();
    let (id, token) = (token["id"].as_str().expect("an id"), token["token"].as_str().expect("a token"));
    assert_eq!(front.call(token, "GET", "/me", None).json(), json!({ "name": "ada", "role": "runner" }));
    assert_eq!(front.call(token, "GET", "/users", None).status, 403);
    let own = front.call(token, "GET", "/tokens", None).json();
    assert_eq!(own["items"].as_array().map(Vec::len), Some(1), "ada sees her own: {own}");
    // A role that is taken counts at once, for sessions and tokens.
    assert_eq!(front.call(&admin, "PUT", "/users/ada/role", Some(&json!({ "role": "viewer" }))).status, 200);
    assert_eq!(front.call(token, "GET", "/me", None).status, 401, "it may do more than she");
    assert_eq!(front.get("/", &[("Cookie", &ada)]).status, 401, "her session, too");
    for who in [&viewer, &admin] {
        assert_eq!(front.call(who, "DELETE", &format!("/tokens/{id}"), None).status, 404, "it is void");
    }
    assert_eq!(front.call(&admin, "POST", "/users/ada/disable", None).status, 200);
    assert_eq!(front.get("/", &[("Cookie", &ada)]).status, 401);
    assert_eq!(front.call(&admin, "POST", "/users/admin/disable", None).status, 409, "the last admin");
    let checked = front.call(&admin, "GET", "/audit/check", None).json();
    assert_eq!(checked["broken_at"], Value::Null, "{checked}");
    let entries = front.call(&admin, "GET", "/audit", None).json();
    let actions: Vec<&str> = entries["items"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|entry| entry["action"].as_str().expect("a word"))
        .collect();
    assert_eq!(actions[..3], ["user.disable", "user.role", "token.add"], "{actions:?}");
}

/// Every route of the document, asked with every role and with none: nobody may do what the document says they may not.
#[test]
fn the_document_says_who_may() {
    let (front, tokens) = prepared();
    let document = front.get("/api/v1/openapi.json", &[]).json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut routes = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            routes += 1;
            let method = method.to_uppercase();
            let words = operation["description"].as_str().expect("words");
            let least =
                Role::ALL.into_iter().find(|role| words.contains(&format!("the role {role}"))).expect(words);
            let path = path.replace("{id}", "999").replace("{task}", "999").replace("{name}", "nobody");
            let nobody = front.ask(&method, &path, &[], "");
            assert_eq!(nobody.status, 401, "{method} {path}");
            for (role, token) in Role::ALL.into_iter().zip(&tokens) {
                let status = front.call(token, &method, &path["/api/v1".len()..], None).status;
                assert_eq!(status == 403, role < least, "{method} {path} as {role}: {status}");
                assert!(status < 500, "{method} {path}: {status}");
            }
        }
    }
    assert!(routes >= 25, "{routes}");
}

/// Every reference of the document leads somewhere.
#[test]
fn the_document_is_whole() {
    let front = Front::new();
    let document = front.get("/api/v1/openapi.json", &[]).json();
    let mut waiting = vec![&document];
    let mut references = 0;
    while let Some(value) = waiting.pop() {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            references += 1;
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
        match value {
            Value::Object(fields) => waiting.extend(fields.values()),
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    assert!(references > 50, "{references}");
}
