//! What builds of a project find beside its files: folders kept by earlier builds, and variables.

use std::fs;

use prony_lab::SandboxMode;
use prony_lab::model::{BuildDetail, BuildId, BuildState};

use super::checkout::{commit, git};
use super::worker::{Bench, options};
use crate::folder::Folder;

/// Adds the build to what both caches hold, and prints that.
const ADD: &str = "for cache in ~/.tool/kept deps; do echo $PRONY_BUILD >>$cache/list; xargs echo $cache <$cache/list; done";
const CACHES: &str =
    "[[cache]]\nname = \"home\"\npath = \"~/.tool/kept\"\n[[cache]]\nname = \"deps\"\npath = \"deps\"\n";

fn definition(command: &str, more: &str) -> String {
    format!("{more}\n[[task]]\nname = \"compile\"\ncommand = '''\n{command}\n'''\nalways = true\n")
}

/// The lists of both caches, as the build saw them.
fn lists(bench: &Bench, build: &BuildDetail) -> [String; 2] {
    let output = bench.output(build, "compile");
    let line = |end: &str| {
        let found = output.lines().find_map(|line| Some(line.split_once(end)?.1.to_owned()));
        found.unwrap_or_else(|| panic!("{output} {build:#?}"))
    };
    [line(".tool/kept "), line("deps ")]
}

fn built(bench: &Bench, reference: &str) -> BuildDetail {
    bench.finished(bench.submit(|request| reference.clone_into(&mut request.reference)))
}

/// The folders of all caches of the lab.
fn folders(bench: &Bench) -> usize {
    fs::read_dir(bench.data().join("caches")).expect("there").count()
}

/// A repository whose branch `topic` has a commit more.
fn with_topic(bench: &Bench) {
    git(&bench.repository, &["checkout", "--quiet", "-b", "topic"]);
    commit(&bench.repository, "file", "two");
    git(&bench.repository, &["checkout", "--quiet", "-"]);
}

fn check_going_from_build_to_build(bench: &Bench) {
    with_topic(bench);
    let first = built(bench, "");
    assert_eq!(lists(bench, &first), ["1", "1"]);
    assert!(bench.output(&first, "compile").contains("cache home: kept, "), "{first:#?}");
    assert_eq!(lists(bench, &built(bench, "")), ["1 2", "1 2"]);
    // Other branches read what was kept, and change a copy.
    assert_eq!(lists(bench, &built(bench, "topic")), ["1 2 3", "1 2 3"]);
    let commit = git(&bench.repository, &["rev-parse", "topic"]);
    assert_eq!(lists(bench, &built(bench, &commit)), ["1 2 4", "1 2 4"]);
    assert_eq!(lists(bench, &built(bench, "")), ["1 2 5", "1 2 5"]);
    assert_eq!(folders(bench), 2, "nothing else is left");
}

#[test]
fn caches_go_from_build_to_build_of_the_branch() {
    let bench = Bench::new("caches", &definition(ADD, CACHES));
    check_going_from_build_to_build(&bench);
}

#[test]
fn without_a_sandbox_they_do_too() {
    let folder = Folder::new("lab-worker-caches-bare");
    let repository = folder.0.join("repository");
    fs::create_dir(&repository).expect("room");
    git(&repository, &["init", "--quiet"]);
    commit(&repository, "file", "one");
    let definition = format!("repository = {repository:?}\n{}", definition(ADD, CACHES));
    let options = prony_lab::LabOptions { sandbox: SandboxMode::Off, ..options(&folder.0.join("data")) };
    check_going_from_build_to_build(&Bench::with_options(folder, repository, &definition, options));
}

/// A comparison of two commits gives each its own: what one of them built is not measured as the other.
#[test]
fn two_commits_share_nothing_among_their_files() {
    let bench = Bench::new("caches-two", &definition(ADD, &format!("study = \"prony.toml\"\n{CACHES}")));
    with_topic(&bench);
    built(&bench, "");
    let id = bench.submit(|request| {
        (request.base, request.reference) =
            (git(&bench.repository, &["rev-parse", "HEAD"]), "topic".to_owned());
    });
    let build = bench.finished(id);
    let output = bench.output(&build, "compile");
    let lines: Vec<_> = output.lines().filter(|line| line.starts_with("deps ")).collect();
    assert_eq!(lines, ["deps 1 2", "deps 1 2"], "{output}");
    assert!(output.contains("kept 1 2 2\n"), "the home is the same: {output}");
}

/// The study sees no cache, but the variables of the project; so do the servers that it starts.
#[test]
fn the_study_finds_the_variables_and_no_cache() {
    let study = "name = \"seen\"\n[targets.a]\ncommand = \"sh ./server {port}\"\nready = { path = \"/\", within = \"20s\" }\n\
         [loads.l]\npath = \"/\"\nconnections = 1\nduration = \"1s\"\n[matrix]\ntarget = [\"a\"]\nload = [\"l\"]\n";
    let server = format!(
        "echo variable $GREETING\nfind ~ . ../caches -name list | sed 's/^/saw /'\nexec {} serve null --port $1\n",
        env!("CARGO_BIN_EXE_prony")
    );
    let more = format!("study = \"prony.toml\"\n{CACHES}[environment]\nGREETING = \"good day\"\n");
    let bench = Bench::new("caches-study", &definition(&format!("{ADD}; echo $GREETING"), &more));
    fs::write(bench.repository.join("server"), server).expect("room");
    git(&bench.repository, &["add", "server"]);
    commit(&bench.repository, "prony.toml", study);
    let build = built(&bench, "");
    assert!(bench.output(&build, "compile").contains("\ngood day\n"), "{build:#?}");
    let files = bench.lab().files(build.build.id).expect("read");
    let logs: Vec<String> = files
        .iter()
        .filter(|(name, _)| name.starts_with("logs/"))
        .map(|(name, _)| bench.lab().file(build.build.id, name).expect("read").expect("kept"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    assert!(logs.iter().any(|log| log.contains("variable good day")), "{logs:?} {build:#?}");
    assert!(logs.iter().all(|log| !log.contains("saw ")), "{logs:?}");
}

#[test]
fn one_above_its_limit_is_emptied_and_that_is_shown() {
    let command = "ls ~/c; head -c 3000000 /dev/zero >~/c/large";
    let more = "[[cache]]\nname = \"c\"\npath = \"~/c\"\nlimit = \"1MiB\"\n";
    let bench = Bench::new("caches-limit", &definition(command, more));
    for number in 1..3 {
        let build = built(&bench, "");
        let output = bench.output(&build, "compile");
        let expected = format!("cache c: emptied, as after build {number} it had ");
        assert!(output.starts_with(&expected) && output.contains("its limit of 1.0 MiB"), "{output}");
    }
    bench.wait_for("the end of its folder", || folders(&bench) == 0);
}

/// What was being written when a build was killed is not kept, and the next build works.
#[test]
fn a_build_that_is_stopped_leaves_an_empty_cache() {
    let command =
        format!("{ADD}; if [ $PRONY_BUILD = 2 ] || [ $PRONY_BUILD = 4 ]; then echo begun; sleep 1000; fi");
    let mut bench = Bench::new("caches-stopped", &definition(&command, CACHES));
    let is_at_work = |build: &BuildDetail| build.tasks[1].output_bytes > 0;
    assert_eq!(lists(&bench, &built(&bench, "")), ["1", "1"]);
    let second = bench.submit(|_| ());
    bench.until(second, is_at_work);
    assert!(bench.lab().cancel(second, "kim").expect("written"));
    assert_eq!(bench.finished(second).build.state, BuildState::Cancelled);
    assert_eq!(lists(&bench, &built(&bench, "")), ["3", "3"]);
    // The same where the lab itself ends in the middle.
    let fourth = bench.submit(|_| ());
    bench.until(fourth, is_at_work);
    bench.close();
    bench.open();
    bench.start();
    assert_eq!(bench.detail(fourth).build.state, BuildState::Failed);
    assert_eq!(lists(&bench, &built(&bench, "")), ["5", "5"]);
}

#[test]
fn an_administrator_clears_them() {
    let mut bench = Bench::new("caches-clear", &definition(ADD, CACHES));
    built(&bench, "");
    let data = bench.data();
    bench.close();
    let clear = |project: &str| {
        let mut command = crate::binary::command();
        command
            .args(["lab", "clear-caches", project, "--data"])
            .arg(&data)
            .output()
            .expect("the binary was built")
    };
    let done = clear("tiny");
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && words.starts_with("2 cleared"), "{words}");
    assert!(!clear("other").status.success());
    bench.open();
    bench.start();
    assert_eq!(lists(&bench, &built(&bench, "")), ["2", "2"]);
    bench.wait_for("the end of the old ones", || folders(&bench) == 2);
}

/// Whatever a build leaves in a cache, or makes of its place, the lab follows no link, and the next build works.
#[test]
fn hostile_caches_touch_nothing_else() {
    let victim = Folder::new("lab-caches-victim");
    fs::write(victim.0.join("file"), "of somebody").expect("room");
    let place = victim.0.display();
    let mess = format!(
        "cd ~/.tool/kept; ln -s {place} link; ln -s {place}/file file-link; mkfifo pipe; mkdir -p locked/inner; \
         echo x >locked/inner/file; chmod 0 locked/inner locked; cp /bin/true setuid; chmod 4755 setuid; \
         python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; chmod 0 .; cd; \
         mv .tool moved; ln -s {place} .tool; cd $OLDPWD 2>/dev/null; true"
    );
    let more = format!("{CACHES}[[task]]\nname = \"second\"\ncommand = \"true\"\n");
    let bench = Bench::new("caches-hostile", &definition(&mess, &more));
    with_topic(&bench);
    // The definition lists `second` first, so that it runs in the place that the build before left, too.
    for reference in ["", "", "topic", ""] {
        let build = built(&bench, reference);
        assert_eq!(
            build.build.state,
            BuildState::Completed,
            "{build:#?} {}",
            bench.output(&build, "compile")
        );
    }
    let definition = definition(&mess, CACHES) + "[[task]]\nname = \"third\"\ncommand = \"ls ~/.tool\"\n";
    let text = format!("repository = {:?}\n{definition}", bench.repository);
    bench.lab().register(&"tiny".parse().expect("a name"), &text).expect("a definition");
    let build = built(&bench, "");
    let reason = build.build.reason.clone().unwrap_or_default();
    assert!(
        reason.starts_with("third: the cache `home` can't be at ~/.tool/kept (a link is in its way"),
        "{build:#?}"
    );
    let left: Vec<_> =
        fs::read_dir(&victim.0).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["file"]);
    assert_eq!(fs::read_to_string(victim.0.join("file")).expect("there"), "of somebody");
    assert_eq!(bench.left(), [""; 0]);
    assert_eq!(bench.detail(BuildId(1)).build.state, BuildState::Completed);
}
