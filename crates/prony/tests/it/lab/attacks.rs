//! What somebody who may commit to a project tries; docs/security.md lists it.

use std::fs;

use prony_lab::model::BuildState;

use super::checkout::commit;
use super::worker::Bench;

/// A study that can be read; nothing of it is ever run here.
const STUDY: &str = "name = \"x\"\n[targets.a]\nserve = \"null\"\n[loads.l]\nconnections = 1\nduration = \"1s\"\n\
                     [matrix]\ntarget = [\"a\"]\nload = [\"l\"]\n";

/// V11: the lab writes the study of both commits beside that of the second, wherever that leads.
#[test]
fn a_folder_replaced_by_a_link_is_not_written_through() {
    let folder = crate::folder::Folder::new("lab-attack-victim");
    let victim = folder.0.join("victim");
    fs::create_dir(&victim).expect("room");
    fs::write(victim.join("prony.toml"), STUDY).expect("room");
    let definition = format!(
        "study = \"prony.toml\"\n[[task]]\nname = \"swap\"\ncommand = \"\"\"\ncase $PWD in */source) cd ..; \
         mv source moved || mv source/prony.toml source/moved; ln -s {victim} source; \
         ln -s {victim}/prony.toml source/prony.toml;; esac; true\"\"\"\nalways = true\n",
        victim = victim.display()
    );
    let bench = Bench::new("attack-link", &definition);
    let first = commit(&bench.repository, "prony.toml", STUDY);
    commit(&bench.repository, "file", "two");
    let id = bench.submit(|request| (request.base, request.reference) = (first, "main".to_owned()));
    let build = bench.finished(id);
    assert_eq!(build.build.state, BuildState::Failed, "{build:#?}");
    let left: Vec<_> =
        fs::read_dir(&victim).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["prony.toml"], "{build:#?}");
}

/// What `script` prints as a task of a build; `more` are lines of the task.
fn task_output(name: &str, script: &str, more: &str) -> (Bench, String) {
    let definition = format!("[[task]]\nname = \"attack\"\ncommand = '''\n{script}\n'''\n{more}\n");
    let bench = Bench::new(name, &definition);
    let build = bench.finished(bench.submit(|_| ()));
    assert_eq!(build.build.state, BuildState::Completed, "{build:#?} {}", bench.output(&build, "attack"));
    let output = bench.output(&build, "attack");
    (bench, output)
}

/// V3: a build sees what is listed, not all but what is listed.
#[test]
fn a_build_sees_nothing_of_the_machine_but_what_is_listed() {
    let folder = crate::folder::Folder::new("lab-attack-secret");
    fs::write(folder.0.join("secret"), "of somebody").expect("room");
    let script = format!(
        "cat {}/secret; for place in /root/* /home/* /srv/* /boot/* /mnt/* /opt/* /sys/class/* /var/lib/* /run/*; do \
         [ -e $place ] && echo seen $place; done; cat /etc/shadow; cut -d: -f1 /etc/passwd; ls -a ..; true",
        folder.0.display()
    );
    let (_, output) = task_output("attack-list", &script, "");
    assert!(
        !output.contains("of somebody") && !output.contains("seen /") && !output.contains("root:"),
        "{output}"
    );
    assert!(output.contains("build\n") && output.contains("source\n"), "{output}");
    assert!(!output.contains("study\n"), "what is measured lies elsewhere: {output}");
}

/// V3: no rights, no way to more of them, no sight of other processes.
#[test]
fn a_build_has_no_rights_and_gets_none() {
    let script = "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status; id -u; unshare -U true && echo namespaces; \
                  unshare -m true && echo mounts; for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done; \
                  readlink /proc/self/ns/net; readlink /proc/self/ns/cgroup; true";
    let (_, output) = task_output("attack-rights", script, "");
    assert!(!output.contains("namespaces\n") && !output.contains("mounts\n"), "{output}");
    for line in ["CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000"] {
        assert!(output.contains(line), "{output}");
    }
    assert!(
        output.contains("NoNewPrivs:\t1") && !output.lines().any(|line| line == "0"),
        "not as root: {output}"
    );
    let mut others = output.lines().filter(|line| !line.contains("bwrap --unshare"));
    assert!(!others.any(|line| line.contains("prony")), "guardians are elsewhere: {output}");
    for space in ["net", "cgroup"] {
        let own = fs::read_link(format!("/proc/self/ns/{space}")).expect("it has one");
        assert!(!output.contains(own.to_str().expect("text")), "{output}");
    }
}

/// The lab's own port, its database, and everything else that listens on this machine.
#[test]
fn a_build_does_not_reach_what_listens_on_this_machine() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let script = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)' 2>/dev/null && echo reached; \
         python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); \
         socket.create_connection(s.getsockname(), 5)' && echo own; true"
    );
    let (_, output) = task_output("attack-port", &script, "");
    assert_eq!(output, "own\n");
}

/// V9: what is measured neither reads nor writes what measures it, nor signals it.
#[test]
fn a_server_can_not_write_its_own_results() {
    let study = "name = \"forged\"\n[targets.a]\ncommand = \"sh ./server {port}\"\nready = { path = \"/\", within = \"20s\" }\n\
         [loads.l]\npath = \"/\"\nconnections = 1\nduration = \"2s\"\n[matrix]\ntarget = [\"a\"]\nload = [\"l\"]\n";
    let server = format!(
        "while :; do for file in ../study/runs/*.json ../../*/study/runs/*.json; do \
         if [ -e $file ]; then echo forged >$file; fi; done; \
         for process in /proc/[0-9]*; do if tr '\\0' ' ' <$process/cmdline | grep -q 'prony study'; then \
         echo saw ${{process#/proc/}}; fi; done; sleep 0.2; done &\nexec {} serve null --port $1\n",
        env!("CARGO_BIN_EXE_prony")
    );
    let bench = Bench::new("attack-forge", "study = \"prony.toml\"\n");
    fs::write(bench.repository.join("server"), server).expect("room");
    commit(&bench.repository, "prony.toml", study);
    let build = bench.finished(bench.submit(|_| ()));
    let log = bench.output(&build, "study");
    let files = bench.lab().files(build.build.id).expect("read");
    let runs: Vec<_> = files.iter().filter(|(name, _)| name.starts_with("runs/")).collect();
    assert_eq!(runs.len(), 1, "{log} {build:#?}");
    let run = bench.lab().file(build.build.id, &runs[0].0).expect("read").expect("kept");
    assert!(prony_model::from_json(&String::from_utf8_lossy(&run)).is_ok(), "{log}");
    for (name, _) in files.iter().filter(|(name, _)| name.starts_with("logs/")) {
        let text = bench.lab().file(build.build.id, name).expect("read").expect("kept");
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("saw "), "{text}");
    }
}

/// A task with a network gets out by the lab's proxy, and to nothing on this machine.
#[test]
fn a_task_with_a_network_does_not_reach_this_machine_either() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let script = format!(
        "env | grep -i -c '_proxy=http://127.0.0.1:'; python3 -c '
import os, socket
proxy = os.environ[\"http_proxy\"].rsplit(\":\", 1)
for target in [\"127.0.0.1:{port}\", \"169.254.169.254:80\"]:
    way = socket.create_connection((\"127.0.0.1\", int(proxy[1])), 20)
    way.sendall(f\"CONNECT {{target}} HTTP/1.1\\r\\n\\r\\n\".encode())
    print(way.makefile().readline().strip())
try:
    socket.create_connection((\"127.0.0.1\", {port}), 5)
    print(\"reached\")
except OSError:
    pass
'; true"
    );
    let (_, output) = task_output("attack-egress", &script, "network = true");
    assert_eq!(output, "5\nHTTP/1.1 403 Forbidden\nHTTP/1.1 403 Forbidden\n");
}

/// V8: a secret is given to the task that names it, and shown to nobody.
#[test]
fn a_secret_is_where_it_is_named_and_nowhere_else() {
    let definition = "[[task]]\nname = \"with\"\ncommand = \"echo $TOKEN; printf hunt; sleep 0.5; echo er2secret; printf %s $TOKEN | base64; \
                      echo ${#TOKEN}; echo $TOKEN >kept\"\nsecrets = [\"TOKEN\"]\n\
                      [[task]]\nname = \"without\"\ncommand = \"env | grep -c hunter2secret; cat kept; cat ../../../secrets.key\"\n\
                      always = true\n";
    let mut bench = Bench::new("attack-secret", definition);
    let data = bench.data();
    let missing = bench.finished(bench.submit(|request| request.tests = vec!["with".to_owned()]));
    let reason = missing.build.reason.expect("it has one");
    assert!(reason.contains("the secret TOKEN, which nobody stored"), "{reason}");
    bench.close();
    let set = crate::binary::command()
        .args(["lab", "secret", "set", "TOKEN", "--data"])
        .arg(&data)
        .stdin(std::process::Stdio::piped())
        .spawn();
    let mut set = set.expect("the binary was built");
    std::io::Write::write_all(&mut set.stdin.take().expect("piped"), b"hunter2secret\n").expect("it reads");
    assert!(set.wait().expect("it ends").success());
    bench.open();
    bench.start();
    let build = bench.finished(bench.submit(|_| ()));
    assert_eq!(bench.output(&build, "with"), "***\n***\n***\n13\n", "{build:#?}");
    let without = bench.output(&build, "without");
    assert!(without.starts_with("0\n***\n") && without.contains("secrets.key"), "{without}");
}
