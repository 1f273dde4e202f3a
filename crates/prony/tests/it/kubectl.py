#!/usr/bin/env python3
"""Stands in for kubectl and for the cluster behind it: pods are processes of this machine, which are started with the words,
variables and files of the manifests. Only the words that `prony run --k8s --apply` uses are known.

FAKE_CLUSTER   folder of the cluster
FAKE_PRONY     the program of the image with prony
FAKE_NATS      the program of the image with nats-server
FAKE_PORT      where the broker listens
FAKE_STRICT    if set, agents refuse this machine, as those of a cluster do
FAKE_CUT       if set, the first result that is fetched arrives cut in half
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

CLUSTER = Path(os.environ["FAKE_CLUSTER"])
PORT = os.environ["FAKE_PORT"]
# Whatever happens, a pod is gone after this.
LIMIT_S = 240


def objects():
    return [json.loads(file.read_text()) for file in sorted((CLUSTER / "objects").glob("*.json"))]


def named(kind, name):
    return next(it for it in objects() if it["kind"] == kind and it["metadata"]["name"] == name)


def create(text):
    """Takes an object or a list, and starts the pods once all is there."""
    created = json.loads(text)
    items = created["items"] if created["kind"] == "List" else [created]
    for item in items:
        if created["kind"] == "List":
            owner = item["metadata"]["ownerReferences"][0]
            assert owner["uid"] == "uid-of-the-leader", owner
        name = f"{item['kind']}-{item['metadata']['name']}.json"
        (CLUSTER / "objects").mkdir(exist_ok=True)
        (CLUSTER / "objects" / name).write_text(json.dumps(item))
    if created["kind"] == "List":
        for job in [it for it in objects() if it["kind"] == "Job"]:
            for index in range(job["spec"].get("completions", 1)):
                start(job, index)
    else:
        print("uid-of-the-leader", end="")


def start(job, index):
    """A process of its own for each pod, which outlives this one."""
    words = [sys.executable, __file__, "--pod", job["metadata"]["name"], str(index)]
    subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     start_new_session=True)


def files_of(volume):
    if "secret" in volume:
        return named("Secret", volume["secret"]["secretName"])["stringData"]
    if "configMap" in volume:
        return named("ConfigMap", volume["configMap"]["name"])["data"]
    return None


def local(text):
    """What differs between a pod and this machine: addresses, and the server's name."""
    text = text.replace("0.0.0.0:4222", f"127.0.0.1:{PORT}").replace("web.test", "127.0.0.1")
    return text if os.environ.get("FAKE_STRICT") else text.replace("loopback = false", "loopback = true")


def mount(folder, pod, container, expand):
    """Lays out the container's files below `folder`; returns what its paths become."""
    paths = []
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for mounted in container["volumeMounts"]:
        path = folder / mounted["mountPath"].strip("/").replace("/", "_")
        paths.append((mounted["mountPath"], str(path)))
        files = files_of(volumes[mounted["name"]])
        if "subPathExpr" in mounted:
            path.write_text(local(files[expand(mounted["subPathExpr"])]))
            continue
        path.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            text = local(text)
            (path / name).write_text(text.replace(mounted["mountPath"], str(path)))
    # The longest first: /etc/prony begins /etc/prony-key.
    return sorted(paths, key=lambda pair: -len(pair[0]))


def placed(text, paths):
    """A word or a value, which may be a path in the container or the broker's address."""
    if text.startswith("tls://") and text.endswith(":4222"):
        return f"tls://127.0.0.1:{PORT}"
    for path, to in paths:
        if text.startswith(path):
            return to + text[len(path):]
    return text


def run_pod(name, index):
    """The life of a pod: broker, then the container, whose exit code is noted."""
    job = named("Job", name)
    pod = job["spec"]["template"]["spec"]
    component = job["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]
    folder = CLUSTER / f"{component}-{index}"
    folder.mkdir()
    children = []
    container = pod["containers"][0]
    variables = {}

    def expand(text):
        for variable, value in variables.items():
            text = text.replace(f"$({variable})", value)
        return text

    for variable in container["env"]:
        if "valueFrom" in variable:
            path = variable["valueFrom"]["fieldRef"]["fieldPath"]
            assert path == "metadata.annotations['batch.kubernetes.io/job-completion-index']", path
            variables[variable["name"]] = str(index)
        else:
            variables[variable["name"]] = variable["value"]
    for broker in pod.get("initContainers", []):
        paths = mount(folder, pod, broker, expand)
        words = [os.environ["FAKE_NATS"]] + [placed(word, paths) for word in broker["args"]]
        with open(folder / "broker.log", "wb") as log:
            children.append(subprocess.Popen(words, stderr=log))
        until = time.monotonic() + 30
        while "Server is ready" not in (folder / "broker.log").read_text() and time.monotonic() < until:
            time.sleep(0.05)
    paths = mount(folder, pod, container, expand)
    (folder / "paths.json").write_text(json.dumps(paths))
    words = [os.environ["FAKE_PRONY"]] + [placed(expand(word), paths) for word in container["args"]]
    environment = {name: placed(value, paths) for name, value in variables.items()}
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
    try:
        code = process.wait(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    for child in children:
        child.terminate()
        child.wait()
    (folder / "code.new").write_text(str(code))
    (folder / "code.new").rename(folder / "code")


def get():
    items = [it for it in objects() if it["kind"] == "Job"]
    for folder in sorted(CLUSTER.glob("*-[0-9]*")):
        component = folder.name.rsplit("-", 1)[0]
        code = (folder / "code").read_text() if (folder / "code").exists() else None
        state = {"terminated": {"exitCode": int(code)}} if code is not None else {"running": {}}
        phase = "Running" if code is None else "Succeeded" if code == "0" else "Failed"
        container = {"name": "leader" if component == "leader" else "agent", "state": state,
                     "ready": code is None and (folder / "results" / "result.json").exists()}
        items.append({"kind": "Pod", "metadata": {"labels": {"app.kubernetes.io/component": component}},
                      "status": {"phase": phase, "containerStatuses": [container]}})
    print(json.dumps({"kind": "List", "items": items}))


def execute(words):
    """`exec job/NAME -c leader -- PROGRAM WORDS…`"""
    folder = CLUSTER / "leader-0"
    paths = json.loads((folder / "paths.json").read_text())
    words = [os.environ["FAKE_PRONY"]] + [placed(word, paths) for word in words[words.index("--") + 2:]]
    done = subprocess.run(words, capture_output=True, check=False)
    with open(CLUSTER / "calls", "a") as calls:
        calls.write(f"{' '.join(words[1:])} -> {done.returncode}\n")
    output = done.stdout
    cut = CLUSTER / "cut"
    if os.environ.get("FAKE_CUT") and output and not cut.exists():
        cut.touch()
        output = output[:len(output) // 2]
    sys.stdout.buffer.write(output)
    sys.stderr.buffer.write(done.stderr)
    sys.exit(done.returncode)


def main():
    words = sys.argv[1:]
    if words[0] == "--pod":
        return run_pod(words[1], int(words[2]))
    if words[0] == "--namespace":
        words = words[2:]
    with open(CLUSTER / "calls", "a") as calls:
        calls.write(f"kubectl {' '.join(words)}\n")
    if words[0] == "create":
        return create(sys.stdin.read())
    if words[0] == "get":
        return get()
    if words[0] == "exec":
        return execute(words)
    if words[0] == "logs":
        return print((CLUSTER / "leader-0" / "log").read_text(), end="")
    if words[0] == "delete":
        return (CLUSTER / "deleted").touch()
    sys.exit(f"unknown: {words}")


main()
