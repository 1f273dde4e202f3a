//! Files of builds: commits of a repository by any of their names, and folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prony_lab::model::Origin;
use prony_lab::work::{Fetcher, Revision};
use prony_supervisor::Cancel;

use super::Bench;

/// Calls git in `folder`, and returns what it prints.
pub(super) fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Kim", "-c", "user.email=kim@example.org", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("there is a git");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Writes `text` to the file `name` and commits it.
pub(super) fn commit(folder: &Path, name: &str, text: &str) -> String {
    fs::write(folder.join(name), text).expect("room");
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", &format!("write {name}")]);
    git(folder, &["rev-parse", "HEAD"])
}

/// A repository and who fetches from it.
struct Source {
    bench: Bench,
    repository: PathBuf,
    fetcher: Fetcher,
    output: Vec<String>,
}

impl Source {
    fn new(name: &str) -> Self {
        let bench = Bench::new(name);
        let lab = bench.room.path().parent().expect("it has one").to_owned();
        let repository = lab.join("repository");
        fs::create_dir(&repository).expect("room");
        git(&repository, &["init", "--quiet"]);
        let fetcher = Fetcher {
            starter: bench.starter.clone(),
            mirrors: lab.join("mirrors"),
            search_path: std::env::var("PATH").expect("there is one"),
            home: None,
        };
        Self { bench, repository, fetcher, output: Vec::new() }
    }

    fn fetch_from(&mut self, origin: &Origin, reference: &str) -> Result<Revision, String> {
        let into = self.files();
        let _ = fs::remove_dir_all(&into);
        let limits = (self.bench.room.path(), self.bench.bounds, &Cancel::default());
        let output = &mut self.output;
        let fetched = self
            .fetcher
            .fetch(origin, reference, &into, limits, None, &mut |line| output.push(line.to_owned()));
        fetched.map_err(|error| error.to_string())
    }

    fn fetch(&mut self, reference: &str) -> Result<Revision, String> {
        let origin = Origin::Repository(self.repository.to_str().expect("text").to_owned());
        self.fetch_from(&origin, reference)
    }

    fn files(&self) -> PathBuf {
        self.bench.room.path().join("source")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.files().join("file")).expect("it was checked out")
    }
}

#[test]
fn a_commit_is_found_by_each_of_its_names() {
    let mut source = Source::new("names");
    let first = commit(&source.repository, "file", "one");
    git(&source.repository, &["tag", "v1"]);
    git(&source.repository, &["tag", "--annotate", "--message", "x", "signed"]);
    let second = commit(&source.repository, "file", "two");
    for (reference, expected, text) in [
        ("main", &second, "two"),
        ("v1", &first, "one"),
        ("signed", &first, "one"),
        (&first[..7], &first, "one"),
        (&first[..3], &first, "one"),
        (&first, &first, "one"),
    ] {
        let fetched = source.fetch(reference).expect(reference);
        assert_eq!((&fetched.commit, source.text().as_str()), (expected, text), "{reference}");
        assert_eq!(fetched.subject, "write file");
        let newest_of: &[&str] = if fetched.commit == second { &["main"] } else { &[] };
        assert_eq!(fetched.newest_of, newest_of, "{reference}");
    }
    // The whole commit was there already: nothing had to be fetched for it.
    assert_eq!(
        source.output.iter().filter(|line| line.starts_with("fetching")).count(),
        5,
        "{:?}",
        source.output
    );
    // A branch that moves back and a tag that moves are followed.
    git(&source.repository, &["reset", "--quiet", "--hard", &first]);
    git(&source.repository, &["tag", "--force", "v1", &second]);
    assert_eq!(source.fetch("main").expect("there").commit, first);
    assert_eq!(source.fetch("v1").expect("there").commit, second);
    assert_eq!(git(&source.files(), &["rev-parse", "HEAD"]), second, "builds may ask git what they are");
}

#[test]
fn the_commits_between_two_are_listed_from_the_labs_own_copy() {
    let mut source = Source::new("between");
    let first = commit(&source.repository, "file", "one");
    git(&source.repository, &["branch", "other"]);
    for number in 0..4 {
        commit(&source.repository, &format!("file-{number}"), "more");
    }
    // What is in a commit is a stranger's; a hook and settings of the source run nothing here.
    let mark = source.bench.room.path().join("mark");
    git(&source.repository, &["config", "core.pager", &format!("touch {}", mark.display())]);
    git(&source.repository, &["config", "log.showSignature", "true"]);
    let subject = format!("\u{1b}[31m{}\ttab", "x".repeat(5_000));
    git(
        &source.repository,
        &["commit", "--quiet", "--allow-empty", "--author", "Eve <e@example.org>", "-m", &subject],
    );
    let tip = git(&source.repository, &["rev-parse", "HEAD"]);
    git(&source.repository, &["checkout", "--quiet", "other"]);
    let side = commit(&source.repository, "side", "x");
    let fetched = source.fetch("main").expect("there");
    let described = fetched.description.expect("it is a commit");
    assert_eq!((described.commit.as_str(), described.author.as_str()), (tip.as_str(), "Eve"));
    assert!(described.at.is_some() && described.subject.ends_with('…'), "{described:?}");
    let address = source.repository.to_str().expect("text").to_owned();
    let between = |base: &str, tip: &str, most: u32| {
        let found = source.fetcher.commits_between(&address, [base, tip], (most, false), &Cancel::default());
        found.map_err(|error| error.to_string())
    };
    let whole = between(&first, &tip, 50).expect("both are there");
    assert_eq!((whole.ahead, whole.behind, whole.commits.len()), (5, 0, 5));
    assert_eq!(whole.commits[0], described, "the newest first");
    assert_eq!(whole.commits[4].subject, "write file-0");
    let cut = between(&first, &tip, 2).expect("both are there");
    assert_eq!((cut.ahead, cut.commits.as_slice()), (5, &whole.commits[..2]));
    let apart = between(&side, &tip, 50).expect("both were fetched");
    assert_eq!((apart.ahead, apart.behind), (5, 1));
    let back = between(&tip, &first, 50).expect("both are there");
    assert_eq!((back.ahead, back.behind, back.commits.len()), (0, 5, 0));
    // Nothing but whole commits that the copy has, and nothing is fetched for it.
    let unknown = "0".repeat(40);
    for bad in ["main", "--output=x", "HEAD", "", unknown.as_str(), &first[..10]] {
        assert!(between(bad, &tip, 50).expect_err(bad).contains("has no commit"), "{bad}");
        assert!(between(&first, bad, 50).expect_err(bad).contains("has no commit"), "{bad}");
    }
    // Of a branch that was merged a line has the merge alone.
    git(&source.repository, &["checkout", "--quiet", "main"]);
    git(&source.repository, &["merge", "--quiet", "--no-ff", "--message", "merge it", "other"]);
    let merge = source.fetch("main").expect("there").commit;
    let count = |in_line: bool| {
        let most = (50, in_line);
        let found = source.fetcher.commits_between(&address, [&tip, &merge], most, &Cancel::default());
        let found = found.expect("both are there");
        (found.ahead, found.behind, found.commits.len())
    };
    assert_eq!((count(false), count(true)), ((2, 0, 2), (1, 0, 1)));
    let elsewhere = source.fetcher.commits_between(
        "/no/such/repository",
        [&first, &tip],
        (50, false),
        &Cancel::default(),
    );
    assert!(elsewhere.is_err());
    assert!(!mark.exists());
}

#[test]
fn what_is_not_there_is_reported() {
    let mut source = Source::new("missing");
    commit(&source.repository, "file", "one");
    for reference in ["nothing", "0000000", "abc/def"] {
        let error = source.fetch(reference).expect_err(reference);
        assert!(
            error.starts_with(&format!("there is no branch, tag or commit `{reference}` in /")),
            "{error}"
        );
    }
    for reference in ["--upload-pack=touch x", "a..b", "main:file", "-"] {
        let error = source.fetch(reference).expect_err(reference);
        assert!(
            error.ends_with("is no name of a branch, tag or commit: take one that git accepts"),
            "{error}"
        );
    }
    let error = source.fetch_from(&Origin::Repository("/no/such/repository".to_owned()), "main");
    assert!(
        error.as_ref().is_err_and(
            |error| error.contains("fetch /no/such/repository: git ended with exit code 128\nfatal:")
        ),
        "{error:?}"
    );
}

/// Such addresses would run programs, or send what is fetched to nobody knows where.
#[test]
fn only_a_few_protocols_are_spoken() {
    let mut source = Source::new("protocols");
    let mark = source.bench.room.path().join("mark");
    for address in [
        format!("ext::touch {}", mark.display()),
        "git://127.0.0.1/a".to_owned(),
        "http://127.0.0.1:1/a".to_owned(),
    ] {
        let error = source.fetch_from(&Origin::Repository(address.clone()), "main").expect_err(&address);
        assert!(error.contains("not allowed"), "{error}");
    }
    assert!(!mark.exists());
}

#[test]
fn hooks_and_settings_of_a_repository_run_nothing() {
    let mut source = Source::new("hooks");
    commit(&source.repository, "file", "one");
    let mark = source.bench.room.path().join("mark");
    for name in ["post-checkout", "pre-auto-gc", "post-index-change", "reference-transaction"] {
        let hook = source.repository.join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().expect("it has one")).expect("room");
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("room");
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    }
    git(&source.repository, &["config", "core.fsmonitor", &format!("touch {}", mark.display())]);
    let _ = fs::remove_file(&mark);
    source.fetch("main").expect("there");
    let folder = source.repository.clone();
    source.fetch_from(&Origin::Folder(folder), "").expect("there");
    assert!(!mark.exists());
}

#[test]
fn a_folder_is_copied_and_is_its_commit_or_a_digest() {
    let mut source = Source::new("folder");
    let commit = commit(&source.repository, "file", "one");
    let origin = Origin::Folder(source.repository.clone());
    let fetched = source.fetch_from(&origin, "main").expect("there");
    assert_eq!((fetched.commit, source.text().as_str()), (commit.clone(), "one"));
    fs::write(source.repository.join("file"), "changed").expect("room");
    let changed = source.fetch_from(&origin, "main").expect("there");
    assert!(changed.commit != commit && changed.commit.len() == 64, "{changed:?}");
    assert_eq!(source.text(), "changed");
    fs::write(source.files().join("file"), "a build writes").expect("room");
    assert_eq!(source.fetch_from(&origin, "main").expect("there"), changed, "its own files are left alone");
    fs::remove_dir_all(source.repository.join(".git")).expect("ours");
    assert_eq!(source.fetch_from(&origin, "main").expect("there").commit, changed.commit);
    let error = source.fetch_from(&Origin::Folder("/no/such/folder".into()), "").expect_err("none");
    assert!(error.starts_with("/no/such/folder is no folder"), "{error}");
}

#[test]
fn a_repository_that_is_too_large_is_refused() {
    let mut source = Source::new("large");
    let mut noise = vec![0; 3 << 20];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut noise))
        .expect("noise");
    fs::write(source.repository.join("noise"), noise).expect("room");
    commit(&source.repository, "file", "one");
    source.bench.bounds.disk_bytes = 1 << 20;
    let error = source.fetch("main").expect_err("too large");
    assert!(error.starts_with("fetch /") || error.starts_with("check out"), "{error}");
}

/// V2: what the settings of a folder name runs only where somebody asks for it, which the lab never does.
#[test]
fn filters_and_settings_of_a_folder_run_nothing() {
    let mut source = Source::new("filters");
    commit(&source.repository, "file", "one");
    let mark = source.bench.room.path().join("mark");
    let touch = format!("touch {}; cat", mark.display());
    fs::write(source.repository.join(".gitattributes"), "* filter=x diff=x\n").expect("room");
    git(&source.repository, &["add", "--all"]);
    git(&source.repository, &["commit", "--quiet", "--message", "attributes"]);
    for key in [
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "core.sshCommand",
        "core.pager",
        "alias.status",
    ] {
        git(&source.repository, &["config", key, &touch]);
    }
    fs::write(source.repository.join("included"), format!("[core]\nfsmonitor = {touch}\n")).expect("room");
    git(&source.repository, &["config", "include.path", "../included"]);
    let _ = fs::remove_file(&mark);
    // Another file of the same length: git has to look into it.
    fs::write(source.repository.join("file"), "two").expect("room");
    let _ = fs::remove_file(&mark);
    let folder = source.repository.clone();
    source.fetch_from(&Origin::Folder(folder), "").expect("there");
    assert!(!mark.exists());
}
