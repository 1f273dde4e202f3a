//! `prony run --k8s`: bundles, and their processes as the manifests start them, in a cluster of this machine's processes
//! (`kubectl.py`).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::fleet::{Fleet, json};
use crate::repository::root;
use crate::server::Server;

/// Looks at what the processes of a pod still do when the run is over: a minute and more.
const LOOKS_MAX: u32 = 1_200;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

fn bundle(url: &str, more: &[&str]) -> ProgramOutput {
    let words = ["run", url, "--k8s", "2", "--image", "registry.example/prony:1"];
    let output = command().args(words).args(more).output();
    program_output(output.expect("the binary was built"))
}

fn objects(output: &ProgramOutput) -> Vec<Value> {
    assert_eq!(output.code, Some(0), "{output:?}");
    let list: Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(list["kind"], "List");
    list["items"].as_array().expect("a list").clone()
}

fn pods(objects: &[Value]) -> Vec<&Value> {
    objects.iter().map(|object| &object["spec"]["template"]["spec"]).filter(|pod| pod.is_object()).collect()
}

#[test]
fn a_bundle_has_all_that_a_run_needs() {
    let output = bundle(
        "http://web.test/",
        &["--avoid", "app=web", "--namespace", "load", "--threads", "3", "-d", "30s"],
    );
    assert!(output.err.contains("kubectl create -n load -f -"), "{}", output.err);
    let objects = objects(&output);
    let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().expect("a kind")).collect();
    let expected = [
        "Job",
        "Secret",
        "Secret",
        "Secret",
        "ConfigMap",
        "Service",
        "NetworkPolicy",
        "NetworkPolicy",
        "Job",
    ];
    assert_eq!(kinds, expected);
    assert!(objects.iter().all(|object| object["metadata"]["namespace"] == "load"));
    let pods = pods(&objects);
    assert_eq!(pods.len(), 2);
    for pod in &pods {
        let containers =
            ["containers", "initContainers"].into_iter().filter_map(|name| pod[name].as_array()).flatten();
        for container in containers {
            assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
            assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        }
        let avoided =
            &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(avoided["labelSelector"]["matchLabels"]["app"], "web");
        assert_eq!(pod["automountServiceAccountToken"], false);
    }
    let agents = &objects[8]["spec"];
    assert_eq!((&agents["completions"], &agents["completionMode"]), (&2.into(), &"Indexed".into()));
    assert_eq!(agents["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"], "4");
    for job in [&objects[0], &objects[8]] {
        assert_eq!(job["spec"]["backoffLimit"], 0);
        // Longer than the load, and finite.
        let deadline = job["spec"]["activeDeadlineSeconds"].as_u64().expect("seconds");
        assert!((30 + 600..3 * 3_600).contains(&deadline), "{deadline}");
        assert!(job["spec"]["ttlSecondsAfterFinished"].is_u64());
    }
    // Each run has keys of its own.
    let again = bundle("http://web.test/", &[]);
    assert_ne!(objects[1]["stringData"]["lab.key"], self::objects(&again)[1]["stringData"]["lab.key"]);
}

#[test]
fn what_was_typed_is_data_and_secrets_are_in_secrets() {
    let url = "http://web.test/%0a?q='\"\u{2028};$(PRONY_AGENT_INDEX)\\n---\\nkind: ClusterRoleBinding";
    let objects = objects(&bundle(
        url,
        &["-H", "Authorization: Bearer hidden-7", "-b", "{{ .Values }}\n---\nkind: Pod\n"],
    ));
    assert_eq!(objects.len(), 9, "nothing was added");
    for object in &objects {
        let mut rest = object.clone();
        if object["kind"] == "Secret"
            && object["metadata"]["name"].as_str().is_some_and(|it| it.ends_with("-leader"))
        {
            let run = rest["stringData"]["run.json"].take();
            assert!(
                run.as_str()
                    .is_some_and(|run| run.contains("hidden-7") && run.contains("ClusterRoleBinding")),
                "{run}"
            );
        }
        let rest = rest.to_string();
        assert!(!rest.contains("hidden-7") && !rest.contains("ClusterRoleBinding"), "{rest}");
    }
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_printed() {
    let check = |words: &[&str], expected: &str| {
        let words: Vec<&str> = ["run"].iter().chain(words).copied().collect();
        let output = prony(&words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
    };
    let at = |url: &'static str, more: &[&'static str]| [&[url, "--k8s", "2", "--image", "i"], more].concat();
    check(&["http://web.test/", "--k8s", "2"], "needs an image");
    check(&["http://web.test/", "--k8s", "0", "--image", "i"], "1 to 1000 agents");
    check(&["http://web.test/", "--k8s", "1001", "--image", "i"], "1 to 1000 agents");
    check(&["http://web.test/", "--image", "i"], "--k8s");
    for url in [
        "127.0.0.1:3000",
        "http://localhost:3000/",
        "http://[::1]/",
        "http://0x7f.1/",
        "http://0.0.0.0/",
        "http://a.localhost/",
    ] {
        check(&at(url, &[]), "is a pod itself");
    }
    check(&at("http://web.test/", &["--connect-to", "127.0.0.1:80"]), "is a pod itself");
    check(&at("http://169.254.169.254/", &[]), "metadata");
    check(&at("http://192.0.2.1/", &[]), "give a rate");
    check(&at("http://web.test/", &["--image", "x y"]), "--image");
    check(&["http://web.test/", "--k8s", "2", "--image", "x\ny"], "no name of an image");
    check(&at("http://web.test/", &["--namespace", "a/b"]), "no name of a namespace");
    check(&at("http://web.test/", &["--avoid", "app: web"]), "no label of a pod");
    check(&at("http://web.test/", &["--threads", "2", "--agent-cpus", "1"]), "--agent-cpus 3");
    check(&at("http://web.test/", &["-c", "1"]), "threads");
    check(&at("http://web.test/", &["--json", "r.json"]), "--apply");
    check(&at("http://web.test/", &["--live"]), "--live does not work");
    check(&at("http://web.test/", &["--agents", "2"]), "--agents");
}

/// A fake kubectl in PATH.
struct Cluster {
    fleet: Fleet,
    folder: PathBuf,
}

impl Cluster {
    fn new(what: &str) -> Option<Self> {
        let fleet = Fleet::new(what)?;
        let folder = fleet.folder.0.join("cluster");
        let programs = fleet.folder.0.join("programs");
        for folder in [&folder, &programs] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let kubectl = programs.join("kubectl");
        fs::copy(root().join("crates/prony/tests/it/kubectl.py"), &kubectl).expect("it can be copied");
        fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).expect("it is ours");
        Some(Self { fleet, folder })
    }

    fn run(&self, url: &str, more: &[&str]) -> Command {
        let mut run = self.fleet.prony();
        run.args(["run", url, "--k8s", "2", "--image", "registry.example/prony:1", "--apply"]).args(more);
        let path = std::env::var("PATH").unwrap_or_default();
        run.env("PATH", format!("{}:{path}", self.fleet.folder.0.join("programs").display()));
        run.env("FAKE_CLUSTER", &self.folder).env("FAKE_PRONY", env!("CARGO_BIN_EXE_prony"));
        run.env("FAKE_NATS", &self.fleet.program).env("FAKE_PORT", self.fleet.port.to_string());
        run
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// The exit code of a pod, which ends by itself.
    fn code(&self, pod: &str) -> String {
        let code = self.folder.join(pod).join("code");
        let mut looks = 0;
        while !code.exists() {
            looks += 1;
            assert!(looks < LOOKS_MAX, "{pod} is still there: {}", self.read(&format!("{pod}/log")));
            std::thread::sleep(POLL_INTERVAL);
        }
        self.read(&format!("{pod}/code"))
    }
}

#[test]
fn a_run_is_applied_followed_and_collected_whole() {
    let Some(cluster) = Cluster::new("a run in a cluster of processes") else { return };
    let server = Server::good();
    let port = server.url.trim_end_matches('/').rsplit(':').next().expect("a port").to_owned();
    let file = cluster.fleet.result_file();
    let mut run = cluster.run(
        &format!("http://web.test:{port}/"),
        &[
            "-c",
            "4",
            "-d",
            "2s",
            "--warmup",
            "0",
            "--threshold",
            "errors == 0",
            "--json",
            &file,
            "--target-commit",
            "v7",
        ],
    );
    let output = program_output(run.env("FAKE_CUT", "1").output().expect("it runs"));
    let leader = cluster.read("leader-0/log");
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}\n{leader}");
    // The exit code is that of the leader, and the report is that of its result.
    assert_eq!(output.code.map(|code| code.to_string()), Some(cluster.code("leader-0")), "{leader}");
    let result = json(&file);
    let done = |result: &Value| result["requests"]["done"].as_u64().expect("a count");
    let of: Vec<u64> = (0..2).map(|place| done(&result["agents"][place]["result"])).collect();
    assert!(of.iter().all(|done| *done > 0), "{of:?}");
    assert_eq!(done(&result["merged"]), of.iter().sum::<u64>());
    assert_eq!(result["merged"]["target_commit"], "v7");
    assert_eq!(result["agents"][1]["name"], "agent-1");
    assert_eq!(result["merged"]["thresholds"].as_array().map(Vec::len), Some(1));
    assert!(output.out.contains("agent-0") && output.out.contains("agent-1"), "{}", output.out);
    // What arrived cut was not confirmed, and fetched again.
    let calls = cluster.read("calls");
    assert_eq!(calls.matches("k8s-result").count() - calls.matches("kubectl exec").count(), 3, "{calls}");
    assert_eq!(calls.matches("--received").count(), 2, "{calls}");
    assert!(!leader.contains("nobody has collected"), "{leader}");
    // Agents end by themselves.
    assert_eq!([cluster.code("agents-0"), cluster.code("agents-1")], ["0", "0"]);
}

#[test]
fn a_run_that_its_agents_refuse_has_the_leaders_exit_code_and_words() {
    let Some(cluster) = Cluster::new("a refused run in a cluster") else { return };
    let mut run = cluster.run("http://web.test/", &["-d", "1s"]);
    let output = program_output(run.env("FAKE_STRICT", "1").output().expect("it runs"));
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("leader: error: the agent agent-"), "{}", output.err);
    assert_eq!(cluster.code("leader-0"), "2");
}

#[test]
fn a_result_is_confirmed_by_its_digest_only() {
    let folder = crate::folder::Folder::new("k8s-result");
    let at = folder.0.to_str().expect("UTF-8");
    let none = prony(&["k8s-result", at]);
    assert_eq!(none.code, Some(4), "{none:?}");
    assert_eq!(prony(&["k8s-result", at, "--is-ready"]).code, Some(4));
    fs::write(folder.0.join("result.json"), "{\"a\":1}\n").expect("a file");
    assert_eq!(prony(&["k8s-result", at, "--is-ready"]).code, Some(0));
    assert_eq!(prony(&["k8s-result", at]).out, "{\"a\":1}\n");
    let wrong = prony(&["k8s-result", at, "--received", "00"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("collect it again"), "{wrong:?}");
    assert!(!folder.0.join("received").exists());
    // As sha256sum prints it.
    let own = "e346432021b04179518d9614f3560ccd71354a4ee101ddcb893d6959a9d6301c";
    assert_eq!(prony(&["k8s-result", at, "--received", own]).code, Some(0));
    assert!(folder.0.join("received").exists());
}
