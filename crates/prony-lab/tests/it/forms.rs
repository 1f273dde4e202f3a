//! Nobody is shown what they may not do: every form of every page works for anyone who is shown it.

use std::collections::BTreeSet;

use prony_lab::model::Role;
use serde_json::json;

use crate::front::Front;

/// Builds of the example: enough for a change, and so for an alert.
const BUILDS: u32 = 50;

/// Every kind of page, each with something on it.
const PAGES: [&str; 19] = [
    "/",
    "/?project=example",
    "/build/50",
    "/build/4",
    "/build/51",
    "/compare?a=38&b=41",
    "/history/example",
    "/history/example/3",
    "/alerts",
    "/add_job",
    "/projects",
    "/project/example",
    "/monitors",
    "/monitor/1",
    "/monitor/2",
    "/agents",
    "/account",
    "/admin",
    "/admin/hooks",
];

/// What a form sends, as far as the page has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    action: String,
    /// Names and values of hidden fields and of what its first button sends.
    fields: Vec<(String, String)>,
}

/// The value of `name` in `tag`, as it was before it was escaped for the page.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split('"').next()?.replace("&amp;", "&").replace("&#38;", "&"))
}

/// The forms of a page that send something: those of GET change nothing.
fn forms(page: &str) -> Vec<Form> {
    let mut found = Vec::new();
    for part in page.split("<form ").skip(1) {
        let (form, _) = part.split_once("</form>").expect("it ends");
        let tag = format!(" {}", form.split('>').next().expect("a tag"));
        if attribute(&tag, "method").as_deref() != Some("post") {
            continue;
        }
        let inputs = form.split("<input").skip(1).filter(|input| input.contains("type=\"hidden\""));
        let button = form.split("<button").skip(1).find(|button| button.contains(" value=\""));
        let fields = inputs.chain(button).filter_map(|tag| {
            let tag = tag.split('>').next()?;
            Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default()))
        });
        let action = attribute(&tag, "action").expect("an address");
        found.push(Form {
            action: action.split('#').next().expect("a path").to_owned(),
            fields: fields.collect(),
        });
    }
    found
}

/// A lab with a past, something that waits, monitors of a runner and of an administrator, and a webhook; and the cookie of
/// somebody of each role.
fn lab() -> (Front, [(Role, String); 3]) {
    let front = Front::new();
    front.lab.fill_example(BUILDS).expect("an empty store");
    let admin = front.admin();
    let token = front.token(&admin, Role::Admin);
    let cookie = |role: Role| {
        let body = json!({ "name": format!("a-{role}"), "role": role.to_string() });
        let link = front.call(&token, "POST", "/users", Some(&body)).json();
        let url = link["url"].as_str().expect("a link");
        front.follow(url.strip_prefix(&format!("http://{}", front.address)).expect("our own"))
    };
    let people = [Role::Viewer, Role::Runner, Role::Admin].map(|role| (role, cookie(role)));
    let runner = front.token(&people[1].1, Role::Runner);
    for (who, path, body) in [
        (&runner, "/builds", json!({ "project": "example" })),
        (&runner, "/monitors", json!({ "name": "theirs", "url": "http://127.0.0.1:9/" })),
        (&token, "/monitors", json!({ "name": "ours", "url": "http://127.0.0.1:9/" })),
        (&token, "/hooks", json!({ "url": "http://127.0.0.1:9/hook" })),
    ] {
        let reply = front.call(who, "POST", path, Some(&body));
        assert!((200..300).contains(&reply.status), "{path}: {reply:?}");
    }
    (front, people)
}

#[test]
fn every_form_works_for_whoever_is_shown_it() {
    let (front, people) = lab();
    let mut shown = Vec::new();
    // All pages are read before anything is sent: what is sent changes them.
    for (role, cookie) in &people {
        let mut all = BTreeSet::new();
        for path in PAGES {
            let page = front.get(path, &[("Cookie", cookie)]);
            let is_closed = path.starts_with("/admin") && *role < Role::Admin;
            assert_eq!(page.status, if is_closed { 403 } else { 200 }, "{path} as {role}: {page:?}");
            if !is_closed {
                all.extend(forms(&page.body));
            }
            let has_button = page.body.contains("class=\"button\" href=\"/add_job");
            assert!(!has_button || *role >= Role::Runner, "{path} as {role}: {}", page.body);
        }
        shown.push((*role, cookie, all));
    }
    let actions =
        |place: usize| -> BTreeSet<&str> { shown[place].2.iter().map(|form| form.action.as_str()).collect() };
    let (viewer, runner, admin) = (actions(0), actions(1), actions(2));
    let is_own = |action: &&str| action.starts_with("/account/") || *action == "/logout";
    assert!(viewer.iter().all(is_own), "a viewer only reads: {viewer:?}");
    for wanted in
        ["/build/51/cancel", "/build/50/retry", "/build/50/note", "/alert/1", "/add_job", "/monitor/1/remove"]
    {
        assert!(runner.contains(wanted) && admin.contains(wanted), "{wanted}: {runner:?}, {admin:?}");
    }
    assert!(!runner.contains("/monitor/2/remove"), "it is an administrator's: {runner:?}");
    for wanted in
        ["/monitor/2/remove", "/project/example", "/projects", "/admin/stop", "/admin/hook/1/remove"]
    {
        assert!(admin.contains(wanted), "{wanted}: {admin:?}");
    }
    for (role, cookie, all) in &shown {
        // What ends the session comes last.
        let disables = |form: &Form| form.fields.iter().any(|(_, value)| value == "disable");
        let ends =
            |form: &&Form| form.action == "/logout" || form.action == "/account/sign-out" || disables(form);
        for form in all.iter().filter(|form| !ends(form)).chain(all.iter().filter(ends)) {
            let fields: Vec<(&str, &str)> =
                form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let status = front.form(&form.action, &[("Cookie", cookie)], &fields).status;
            let is_ended = status == 401 && ends(&form);
            assert!(
                status != 403 && status != 405 && (status != 401 || is_ended),
                "{form:?} as {role}: {status}"
            );
        }
    }
}

#[test]
fn forms_are_found_with_what_they_send() {
    let page = "<form method=\"get\" action=\"/x\"><button>Filter</button></form>\n\
                <form class=\"inline\" method=\"post\" action=\"/a?b=1&amp;c=2#d\"><input type=\"hidden\" name=\"csrf\" value=\"t\">\n\
                <input name=\"typed\" value=\"no\"><button name=\"do\" value=\"role\">Set</button><button name=\"do\" value=\"other\">Other</button></form>";
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let fields = vec![field("csrf", "t"), field("do", "role")];
    assert_eq!(forms(page), [Form { action: "/a?b=1&c=2".to_owned(), fields }]);
}
