use std::net::SocketAddr;
use std::time::Duration;

use prony_model::{Arrivals, Rate, RunOptions, RunPlan, Stages, Target};
use proptest::prelude::*;

use super::*;

fn policy(change: impl FnOnce(&mut Rules)) -> Policy {
    let mut rules = Rules::default();
    change(&mut rules);
    rules.check().expect("good rules")
}

fn at(text: &str) -> SocketAddr {
    text.parse().expect(text)
}

#[test]
fn a_new_lab_loads_its_own_machine_and_network() {
    let policy = policy(|_| {});
    for role in Role::ALL {
        for good in ["127.0.0.1:3000", "[::1]:3000", "10.0.0.1:80", "192.168.1.1:8080", "[fd00::1]:80"] {
            assert_eq!(policy.check(role, at(good)), Ok(()), "{good}");
        }
        for (bad, kind) in [
            ("169.254.169.254:80", Kind::Metadata),
            ("[fd00:ec2::254]:80", Kind::Metadata),
            ("[::ffff:169.254.169.254]:80", Kind::Metadata),
            ("[64:ff9b::a9fe:a9fe]:80", Kind::Metadata),
            ("169.254.7.7:80", Kind::LinkLocal),
            ("[fe80::1]:80", Kind::LinkLocal),
            ("0.0.0.0:80", Kind::Nobody),
            ("[::]:80", Kind::Nobody),
        ] {
            let address = at(bad);
            let expected = match kind {
                Kind::Metadata => Refusal::Metadata { address },
                Kind::LinkLocal => Refusal::LinkLocal { address },
                _ => Refusal::Nobody { address },
            };
            assert_eq!(policy.check(role, address), Err(expected), "{bad} for {role}");
        }
        assert!(matches!(policy.check(role, at("127.0.0.1:0")), Err(Refusal::Port { .. })));
    }
}

#[test]
fn public_addresses_are_for_admins() {
    let policy = policy(|_| {});
    for text in ["8.8.8.8:80", "[2606:4700::1]:443", "[2002:808:808::1]:80", "[64:ff9b::8.8.8.8]:80"] {
        let address = at(text);
        assert_eq!(policy.check(Role::Viewer, address), Err(Refusal::Public { address }));
        assert_eq!(policy.check(Role::Runner, address), Err(Refusal::Public { address }));
        assert_eq!(policy.check(Role::Admin, address), Ok(()));
        assert!(policy.needs_proof(None, address));
    }
    assert!(!policy.needs_proof(None, at("127.0.0.1:80")));
}

#[test]
fn rules_open_and_close() {
    let policy = policy(|rules| {
        rules.loopback = false;
        rules.private = false;
        rules.hosts = vec!["Example.org".to_owned(), "*.test.example".to_owned()];
        rules.networks = vec!["203.0.113.0/24".to_owned(), "127.0.0.7".to_owned()];
        rules.refused = vec!["203.0.113.128/25".to_owned()];
        rules.ports = vec!["80".to_owned(), "3000-3999".to_owned()];
    });
    let runner = |host, text| policy.check_named(Role::Runner, host, at(text));
    assert_eq!(runner(None, "203.0.113.1:80"), Ok(()));
    assert!(!policy.needs_proof(None, at("203.0.113.1:80")));
    assert!(matches!(runner(None, "203.0.113.200:80"), Err(Refusal::Network { .. })));
    // The network of IPv4 also holds what means one of its addresses.
    assert!(matches!(runner(None, "[2002:cb00:71c8::1]:80"), Err(Refusal::Network { .. })));
    assert_eq!(runner(None, "127.0.0.7:3999"), Ok(()));
    assert!(matches!(runner(None, "127.0.0.1:3999"), Err(Refusal::Loopback { .. })));
    assert!(matches!(runner(None, "[::1]:80"), Err(Refusal::Loopback { .. })));
    assert!(matches!(runner(None, "10.0.0.1:80"), Err(Refusal::Private { .. })));
    assert!(matches!(runner(None, "203.0.113.1:81"), Err(Refusal::Port { port: 81, .. })));
    assert_eq!(runner(Some("example.ORG."), "8.8.8.8:80"), Ok(()));
    assert_eq!(runner(Some("a.b.test.example"), "8.8.8.8:80"), Ok(()));
    assert!(matches!(runner(Some("test.example"), "8.8.8.8:80"), Err(Refusal::Public { .. })));
    assert!(matches!(runner(Some("eviltest.example"), "8.8.8.8:80"), Err(Refusal::Public { .. })));
    // A name that may be loaded must not lead to this machine, to its network or to a metadata service.
    assert!(matches!(runner(Some("example.org"), "127.0.0.1:80"), Err(Refusal::Loopback { .. })));
    assert!(matches!(runner(Some("example.org"), "10.0.0.1:80"), Err(Refusal::Private { .. })));
    assert!(matches!(runner(Some("example.org"), "169.254.169.254:80"), Err(Refusal::Metadata { .. })));
}

#[test]
fn odd_spellings_are_what_they_are() {
    let open = policy(|_| {});
    let closed = policy(|rules| rules.loopback = false);
    for host in ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0x7f000001", "127.0.0.1", "%31%32%37.1"] {
        let url = format!("http://{host}:3000/x");
        assert_eq!(open.resolve(Role::Runner, &url), Ok(vec![at("127.0.0.1:3000")]), "{host}");
        assert!(matches!(closed.resolve(Role::Admin, &url), Err(Refusal::Loopback { .. })), "{host}");
        if !host.contains('%') {
            // The same without a URL's parser: the system's resolver knows these spellings, too.
            let found = open.resolve_host(Role::Runner, host, 3000);
            assert_eq!(found, Ok(vec![at("127.0.0.1:3000")]), "{host}");
            assert!(closed.resolve_host(Role::Admin, host, 3000).is_err(), "{host}");
        }
    }
    for host in ["2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "[::ffff:a9fe:a9fe]"] {
        let refused = open.resolve(Role::Admin, &format!("http://{host}/latest/meta-data/"));
        assert!(matches!(refused, Err(Refusal::Metadata { .. })), "{host}: {refused:?}");
        let refused = open.resolve_host(Role::Admin, host, 80);
        assert!(matches!(refused, Err(Refusal::Metadata { .. })), "{host}: {refused:?}");
    }
}

#[test]
fn urls_that_are_not_asked() {
    let policy = policy(|_| {});
    for url in ["", "127.0.0.1", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "unix:/run/x"] {
        assert!(matches!(policy.resolve(Role::Admin, url), Err(Refusal::Url { .. })), "{url}");
    }
    for url in
        ["http://127.0.0.1/\r\nX: y", "ht\ntp://127.0.0.1/", "http://127.0.0.1/\t", "\u{7f}http://127.0.0.1/"]
    {
        assert!(matches!(policy.resolve(Role::Admin, url), Err(Refusal::Url { .. })), "{url:?}");
    }
    assert_eq!(policy.resolve(Role::Admin, "http://a:b@127.0.0.1/"), Err(Refusal::UserInfo));
    let refused = policy.resolve(Role::Admin, "http://no-such-name.invalid/");
    assert!(matches!(refused, Err(Refusal::Resolve { .. })), "{refused:?}");
    let shown = policy.resolve(Role::Admin, &"x".repeat(10_000)).expect_err("no URL").to_string();
    assert!(shown.len() < 400, "{shown}");
}

#[test]
fn rules_with_mistakes() {
    let mistaken = |change: fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        rules.check().expect_err("a mistake")
    };
    let one = |text: &str| text.to_owned();
    assert_eq!(
        mistaken(|rules| rules.networks = vec!["10.0.0.0/33".into()]),
        RulesError::Network(one("10.0.0.0/33"))
    );
    assert_eq!(mistaken(|rules| rules.refused = vec!["all".into()]), RulesError::Network(one("all")));
    assert_eq!(mistaken(|rules| rules.hosts = vec!["*".into()]), RulesError::Host(one("*")));
    assert_eq!(mistaken(|rules| rules.hosts = vec!["10.0.0.1".into()]), RulesError::Host(one("10.0.0.1")));
    assert_eq!(mistaken(|rules| rules.ports = vec!["0".into()]), RulesError::Port(one("0")));
    assert_eq!(mistaken(|rules| rules.ports = vec!["9-1".into()]), RulesError::Port(one("9-1")));
    let many = mistaken(|rules| rules.hosts = vec!["a".into(); 1_001]);
    assert_eq!(many, RulesError::TooMany { list: "hosts", count: 1_001 });
    assert!(toml::from_str::<Rules>("loopbak = true").is_err(), "an unknown key is a mistake");
    let read: Rules =
        toml::from_str("private = false\n[caps]\nrate_per_s = 5\nconnections = 1\nduration_s = 1\nbytes = 9")
            .expect("rules");
    assert!(read.loopback && !read.private);
    assert_eq!(read.caps.rate_per_s, 5);
}

fn plan(change: impl FnOnce(&mut RunOptions)) -> RunPlan {
    let mut options = RunOptions { duration: Some(Duration::from_secs(10)), ..RunOptions::default() };
    change(&mut options);
    options.plan(Target::parse("http://127.0.0.1:3000/").expect("a URL"), 1).expect("a plan")
}

#[test]
fn loads_have_bounds() {
    let policy = policy(|rules| {
        rules.caps = Caps { rate_per_s: 1_000, connections: 100, duration_s: 60, bytes: 10_000_000 };
    });
    let too_much = |plan: &RunPlan, expected: &str| match policy.check_plan(plan, false) {
        Err(Refusal::TooMuch { what, .. }) => assert_eq!(what, expected),
        other => panic!("{expected}: {other:?}"),
    };
    let rate = |rate: f64| Rate::per_second(rate).expect("a rate");
    assert_eq!(policy.check_plan(&plan(|_| {}), false), Ok(()));
    assert_eq!(
        policy.check_plan(&plan(|options| options.rate = Some(rate(1_000.0))), false),
        Err(Refusal::TooMuch {
            what: "connections",
            requested: "1000".into(),
            allowed: "100".into(),
            whom: "in one load"
        })
    );
    too_much(&plan(|options| options.rate = Some(rate(1_001.0))), "requests per second");
    // What counts is the highest rate at any moment.
    let bursty = plan(|options| {
        options.rate = Some(rate(500.0));
        options.arrivals = Some(Arrivals::Bursty { factor: 2.1, mean: Duration::from_secs(1) });
    });
    too_much(&bursty, "requests per second");
    let staged = plan(|options| {
        options.duration = None;
        options.stages = Stages::parse("1/s:9s,1..1001:1s").ok();
    });
    too_much(&staged, "requests per second");
    too_much(&plan(|options| options.connections = Some(101)), "connections");
    too_much(&plan(|options| options.duration = Some(Duration::from_mins(1))), "seconds");
    too_much(&plan(|options| options.request.body = Some(vec![0; 10_000])), "bytes");
    let endless = plan(|options| {
        options.duration = None;
        options.requests = Some(1_000);
    });
    assert_eq!(policy.check_plan(&endless, false), Err(Refusal::Endless));
    // In the open, only a rate that was named, and less of everything.
    assert_eq!(policy.check_plan(&plan(|_| {}), true), Err(Refusal::ClosedLoop));
    let gentle = plan(|options| {
        options.rate = Some(rate(10.0));
        options.connections = Some(10);
    });
    assert_eq!(policy.check_plan(&gentle, true), Ok(()));
}

#[test]
fn users_have_bounds() {
    let policy = policy(|rules| rules.user_caps.builds = 2);
    assert_eq!(policy.check_user(Unfinished { builds: 1 }), Ok(()));
    assert!(matches!(policy.check_user(Unfinished { builds: 2 }), Err(Refusal::TooMuch { .. })));
}

proptest! {
    /// Whatever the URL: an answer is addresses that the policy allows, or a refusal; never a panic.
    #[test]
    fn no_text_gets_past(text in "(http://|https://|HTTP:|//)?[0-9a-fxA-FX.:@\\[\\]%/?#-]{0,40}") {
        let policy = policy(|rules| rules.loopback = false);
        // Names would ask a resolver far away.
        let named = url::Url::parse(&text).is_ok_and(|url| url.domain().is_some());
        if named {
            return Ok(());
        }
        if let Ok(addresses) = policy.resolve(Role::Runner, &text) {
            prop_assert!(!addresses.is_empty());
            for address in addresses {
                prop_assert_eq!(kind(address.ip()), Kind::Private);
            }
        }
    }

    #[test]
    fn a_number_is_the_address_it_counts(bits: u32) {
        let policy = policy(|rules| rules.hosts = Vec::new());
        let address = SocketAddr::from((std::net::Ipv4Addr::from_bits(bits), 80));
        let expected = policy.check(Role::Runner, address).map(|()| vec![address]);
        for spelling in [format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}")] {
            prop_assert_eq!(&policy.resolve(Role::Runner, &format!("http://{spelling}/")), &expected);
        }
    }
}

#[test]
fn authorities_have_plain_names_and_whole_paths() {
    let rules = |text: &str| -> Rules { toml::from_str(text).expect("rules") };
    let good = rules("[authorities]\ninner = \"/etc/ca.pem\"\n");
    assert!(
        good.check()
            .is_ok_and(|policy| policy.authority("inner") == Some(std::path::Path::new("/etc/ca.pem")))
    );
    assert_eq!(rules(&crate::actions::policy::written(&good)), good);
    for text in ["inner = \"ca.pem\"", "\"a b\" = \"/ca.pem\"", "\"\" = \"/ca.pem\""] {
        let refused = rules(&format!("[authorities]\n{text}\n")).check();
        assert!(matches!(refused, Err(RulesError::Authority(_))), "{text}");
    }
}
