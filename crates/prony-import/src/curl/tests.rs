//! Commands as browsers and people write them, and what curl would send for each.

use std::fs;

use super::*;

fn read(command: &str) -> Imported {
    read_curl(command).unwrap_or_else(|problem| panic!("{command}: {problem}"))
}

fn refused(command: &str, expected: &str) {
    let problem = read_curl(command).expect_err(command).to_string();
    assert!(problem.contains(expected), "{command}: {problem}");
}

fn header<'a>(request: &'a Imported, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn body(command: &str) -> String {
    String::from_utf8(read(command).body.expect("a body")).expect("text")
}

#[test]
fn a_command_as_chromium_copies_it() {
    let request = read(
        "curl 'http://localhost:3000/api/items?page=2' \\\n  \
         -H 'accept: application/json' \\\n  \
         -H 'content-type: application/json' \\\n  \
         -b 'session=abc; theme=dark' \\\n  \
         --data-raw $'{\"name\":\"it\\'s\",\"n\":1}' \\\n  \
         --compressed",
    );
    assert_eq!(request.url, "http://localhost:3000/api/items?page=2");
    assert_eq!(request.method, None);
    assert_eq!(request.body.as_deref(), Some(b"{\"name\":\"it's\",\"n\":1}".as_slice()));
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(header(&request, "cookie"), Some("session=abc; theme=dark"));
    assert_eq!(header(&request, "accept-encoding"), Some(COMPRESSED));
    assert_eq!(request.headers.len(), 4, "nothing is there twice: {:?}", request.headers);
    assert!(request.left_out.is_empty());
}

#[test]
fn methods_follow_from_options() {
    let method = |command: &str| read(command).method;
    assert_eq!(method("curl http://h/"), None);
    assert_eq!(method("curl -X DELETE http://h/1"), Some("DELETE".into()));
    assert_eq!(method("curl -XPUT http://h/1 -d a"), Some("PUT".into()));
    assert_eq!(method("curl -I http://h/"), Some("HEAD".into()));
    assert_eq!(method("curl -sSLI http://h/"), Some("HEAD".into()));
}

#[test]
fn data_is_joined_as_curl_joins_it() {
    assert_eq!(body("curl -d a=1 -d b=2 http://h/"), "a=1&b=2");
    assert_eq!(body("curl --json '{\"a\"' --json ':1}' http://h/"), "{\"a\":1}");
    assert_eq!(
        body("curl --data-urlencode 'q=a b&ä' --data-urlencode '=x/y' http://h/"),
        "q=a+b%26%C3%A4&x%2Fy"
    );
    assert_eq!(body("curl --data-raw @notafile http://h/"), "@notafile");
    let request = read("curl -d a http://h/");
    assert_eq!(header(&request, "content-type"), Some("application/x-www-form-urlencoded"));
    let request = read("curl --json {} -H 'Accept: text/plain' http://h/");
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(header(&request, "accept"), Some("text/plain"));
    let request = read("curl -G -d a=1 --data-urlencode 'b=c d' 'http://h/p?x=0#f'");
    assert_eq!((request.url.as_str(), request.body), ("http://h/p?x=0&a=1&b=c+d#f", None));
}

#[test]
fn files_are_read_as_curl_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.txt");
    fs::write(&path, "a\r\nb\n").expect("a file");
    let path = path.display();
    assert_eq!(body(&format!("curl -d @{path} http://h/")), "ab");
    assert_eq!(body(&format!("curl --data-binary @{path} http://h/")), "a\r\nb\n");
    assert_eq!(body(&format!("curl --data-urlencode x@{path} http://h/")), "x=a%0D%0Ab%0A");
    let upload = read(&format!("curl -T {path} http://h/"));
    assert_eq!(
        (upload.method.as_deref(), upload.body.as_deref()),
        (Some("PUT"), Some(b"a\r\nb\n".as_slice()))
    );
    let form = body(&format!("curl -F 'note=a;b' -F 'file=@{path};type=text/csv' -F 'in=<{path}' http://h/"));
    let line = |text: &str| assert!(form.contains(text), "{text} is not in {form}");
    line("name=\"note\"\r\n\r\na;b\r\n");
    line("name=\"file\"; filename=\"data.txt\"\r\nContent-Type: text/csv\r\n\r\na\r\nb\n\r\n");
    line("name=\"in\"\r\n\r\na\r\nb\n\r\n");
    refused("curl -d @/nowhere/x http://h/", "can't read /nowhere/x");
    refused("curl -d @- http://h/", "from stdin");
}

#[test]
fn a_boundary_is_in_no_part() {
    let first = format!("{:016x}", 0);
    let form = read(&format!("curl -F 'a=------------------------prony{first}' http://h/"));
    let kind = header(&form, "content-type").expect("a type");
    assert!(kind.ends_with("prony0000000000000001"), "{kind}");
}

#[test]
fn headers_that_options_make() {
    let request = read("curl -A me -e http://r/ -u kim:pw -r 0-9 http://h/");
    assert_eq!(header(&request, "user-agent"), Some("me"));
    assert_eq!(header(&request, "referer"), Some("http://r/"));
    assert_eq!(header(&request, "authorization"), Some("Basic a2ltOnB3"));
    assert_eq!(header(&request, "range"), Some("bytes=0-9"));
    let request = read("curl --oauth2-bearer t -H 'X-Empty;' -H 'Accept:' http://h/");
    assert_eq!(header(&request, "authorization"), Some("Bearer t"));
    assert_eq!(header(&request, "x-empty"), Some(""));
    assert_eq!(header(&request, "accept"), None);
    assert_eq!(request.left_out.len(), 1);
}

#[test]
fn connections_and_times() {
    let request = read("curl -m 2.5 --connect-timeout 1 -0 --unix-socket /run/x http://h/");
    assert_eq!(request.timeout, Some(Duration::from_millis(2_500)));
    assert_eq!(request.connect_timeout, Some(Duration::from_secs(1)));
    assert_eq!(request.version, HttpVersion::Http10);
    assert_eq!(request.unix, Some(PathBuf::from("/run/x")));
    let addresses = |command: &str| read(command).connect_to;
    let expected: Vec<SocketAddr> =
        ["127.0.0.1:80", "127.0.0.2:80"].map(|text| text.parse().expect(text)).to_vec();
    assert_eq!(addresses("curl --resolve h:80:127.0.0.1,127.0.0.2 http://h/"), expected);
    assert_eq!(addresses("curl --connect-to h:80:127.0.0.1:80 http://h/"), expected[..1]);
    assert_eq!(
        addresses("curl --connect-to ::[::1]:81 http://h/"),
        ["[::1]:81".parse().expect("an address")]
    );
    refused("curl --connect-to h:80:other:80 http://h/", "needs an IP address");
    refused("curl -m soon http://h/", "number of seconds");
    refused("curl -m 0 http://h/", "number of seconds");
}

#[test]
fn versions() {
    let check = |command: &str, version: HttpVersion, left_out: usize| {
        let request = read(command);
        assert_eq!((request.version, request.left_out.len()), (version, left_out), "{command}");
    };
    check("curl https://h/", HttpVersion::Http11, 0);
    check("curl --http2 https://h/", HttpVersion::Http2, 0);
    check("curl --http2-prior-knowledge http://h/", HttpVersion::Http2PriorKnowledge, 0);
    check("curl --http2-prior-knowledge h:3000", HttpVersion::Http2PriorKnowledge, 0);
    check("curl HTTPS://h/ --http2-prior-knowledge", HttpVersion::Http2, 0);
    // The last one counts.
    check("curl --http2 --http1.1 https://h/", HttpVersion::Http11, 0);
    check("curl -0 --http2 https://h/", HttpVersion::Http2, 0);
    // Without TLS it would be an upgrade.
    check("curl --http2 http://h/", HttpVersion::Http11, 1);
    check("curl --http2 h", HttpVersion::Http11, 1);
    let upgrade = read("curl http://h/ \\\n --http2").left_out[0].to_string();
    assert!(upgrade.starts_with("line 2: --http2 left out: it is sent by HTTP/1.1"), "{upgrade}");
}

#[test]
fn what_is_left_out_is_listed_with_its_line() {
    let request = read("curl -sS -o /dev/null -L \\\n http://h/ --http3 --retry 3");
    let left_out: Vec<String> = request.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    assert!(left_out[0].starts_with("line 1: -L left out: redirects"), "{left_out:?}");
    assert!(left_out[1].starts_with("line 2: --http3 left out"), "{left_out:?}");
    assert!(left_out[2].starts_with("line 2: --retry 3 left out"), "{left_out:?}");
}

#[test]
fn what_can_not_be_loaded_is_refused() {
    refused("", "empty");
    refused("wget http://h/", "`wget` is not curl");
    refused("curl -s", "no URL");
    refused("curl http://h/ http://i/", "second URL");
    refused("curl http://h/ --next http://i/", "--next");
    refused("curl 'http://h/{a,b}'", "several");
    refused("curl --digest -u a:b http://h/", "--digest");
    refused("curl -x http://proxy http://h/", "-x");
    refused("curl -b cookies.txt http://h/", "from a file");
    refused("curl -H 'no colon' http://h/", "is not a header");
    refused("curl -d a -F b=c http://h/", "body of their own");
    refused("curl --dat-raw a http://h/", "--data-raw");
    refused("curl -@ http://h/", "-@");
    refused("curl http://h/ -d", "lacks its value");
    refused("curl -F nothing http://h/", "has no `=`");
    assert_eq!(read("curl -g 'http://h/{a}'").url, "http://h/{a}");
    assert_eq!(read("curl 'http://[::1]:80/'").url, "http://[::1]:80/");
}
