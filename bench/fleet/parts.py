"""What is measured of agents, each part against what is known: the clocks' true offsets, the server's own count."""

import json
import pathlib
import re
import time

from fleet.processes import Fleet
from lib import table

# lab.md: two and sixteen agents start within this, at p99.
SPREAD_MAX_MS = 2.0
# How much later bytes arrive each way in the wide-area part; half of a round trip must stay below 50 ms.
WIDE_MS = {"lab": 5, "a": 10, "b": 20, "c": 35}
RATE_PER_S = 1000
RATE_SECONDS = 5
PARTITION_SECONDS = 120
# An agent ends its load when it has heard nothing for 60 s, and says so at once.
UNATTENDED_S = 75.0
# A controller gives up an agent that is silent for 10 s.
LOST_S = 30.0
# Sessions of the scenario, each with two requests.
SESSIONS = 300
SCENARIO = """base = "{url}"
[[flow]]
name = "keep"
[[flow.step]]
name = "put"
method = "PUT"
path = "/k"
body = "1"
[[flow.step]]
name = "get"
path = "/k"
expect-status = 200
"""
STUDY = """name = "start"
repeats = {rounds}
retries = 0
pause = "0"
order = "sequential"
agents = {agents}
[targets.server]
url = "{url}"
[loads.short]
connections = {connections}
warmup = "0"
duration = "200ms"
"""


def names(count):
    """Names of so many agents."""
    return [f"agent{number}" for number in range(1, count + 1)] if count > 3 else list("abc"[:count])


def start(program, folder, count, rounds, delays_ms=None):
    """Starts of `count` agents: a dict for each round, in milliseconds."""
    agents = names(count)
    with Fleet(program, folder, agents, delays_ms) as fleet:
        url = fleet.serve("null").rstrip("/")
        study = pathlib.Path(folder) / "start.toml"
        study.write_text(STUDY.format(rounds=rounds, agents=json.dumps(agents), url=url, connections=count), encoding="utf-8")
        output = str(pathlib.Path(folder) / "start.study")
        done = fleet.prony("study", str(study), "--output", output, "-q", *fleet.lead(), timeout=60 + 20 * rounds)
        if done.returncode not in (0, 3):
            raise SystemExit(f"prony study: {done.returncode}\n{done.stderr[-2000:]}")
        files = sorted((pathlib.Path(output) / "runs").glob("*.json"))
        if len(files) != rounds:
            raise SystemExit(f"{len(files)} of {rounds} rounds have a result\n{done.stderr[-2000:]}")
        return [_round(json.loads(file.read_text(encoding="utf-8")), fleet.hosts.ahead_s) for file in files]


def _round(result, ahead_s):
    """How a start was, by the clocks' true offsets and by what agents found out of them."""
    late, errors, bounds = [], [], []
    for agent in result["agents"]:
        if agent["result"] is None:
            raise SystemExit(f"{agent['name']} has no result: {agent['absence']}")
        true_ns = (ahead_s[agent["name"]] - ahead_s["lab"]) * 10**9
        error_ns = agent["clock"]["offset_ns"] - true_ns
        # The result has the start on the common clock, as far as the agent knew it.
        late.append((agent["start_late_ns"] + error_ns) / 1e6)
        errors.append(abs(error_ns) / 1e6)
        bounds.append(agent["clock"]["bound_ns"] / 1e6)
    reported = result["start_spread"]["spread_ns"] / 1e6 if result["start_spread"] else 0.0
    return {"spread": max(late) - min(late), "reported": reported, "error": max(errors), "bound": max(bounds)}


def quantile(values, q):
    """The least value that a share `q` of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-q * len(ordered) // 1) - 1))]


def start_table(parts):
    """`parts`: (what, rounds, whether it has a target)."""
    head = ["agents", "rounds", "spread p50, ms", "p99", "max", "offset's error max, ms", "its bound max, ms", "target: spread p99"]
    rows = []
    for what, rounds, has_target in parts:
        spreads = [one["spread"] for one in rounds]
        p99 = quantile(spreads, 0.99)
        wrong = sum(one["error"] > one["bound"] for one in rounds)
        error = table.number(max(one["error"] for one in rounds), 3) + (f" (beyond its bound {wrong} times)" if wrong else "")
        row = [what, len(rounds), table.number(quantile(spreads, 0.5), 3), table.number(p99, 3), table.number(max(spreads), 3)]
        row += [error, table.number(max(one["bound"] for one in rounds), 3)]
        rows.append([*row, table.at_most(p99, SPREAD_MAX_MS, " ms") if has_target else "–"])
    return table.render(head, rows)


def rate(program, folder):
    """One agent at a rate, two at twice that rate, counted by a fresh server each."""
    found = []
    with Fleet(program, folder, names(2)) as fleet:
        for agents in (["a"], ["a", "b"]):
            per_s = RATE_PER_S * len(agents)
            url = fleet.serve("null")
            load = ["--rate", str(per_s), "-d", f"{RATE_SECONDS}s", "--warmup", "0", "-q", "-o", "json"]
            done = fleet.prony("run", url, "--agents", ",".join(agents), *load, *fleet.lead(), timeout=120)
            if done.returncode not in (0, 3):
                raise SystemExit(f"prony run: {done.returncode}\n{done.stderr[-2000:]}")
            server = fleet.processes.pop("server")
            server.end()
            answered = [line for line in server.text().splitlines() if "requests answered" in line]
            requests = json.loads(done.stdout)["merged"]["requests"]
            found.append({
                "agents": len(agents),
                "asked": per_s * RATE_SECONDS,
                "intended": requests["intended"],
                "done": requests["done"],
                "server": int(answered[0].split()[0].replace(",", "")) if answered else None,
            })
    return found


def rate_table(found):
    """Who counted what."""
    head = ["agents", "asked for", "due", "answered, by agents", "by the server", "target: twice"]
    rows = [[one["agents"], one["asked"], one["intended"], one["done"], one["server"]] for one in found]
    one, two = found
    exact = all(two[key] == 2 * one[key] for key in ("intended", "done", "server")) and two["intended"] == two["asked"]
    return table.render(head, [[*rows[0], "–"], [*rows[1], "met" if exact else "missed"]])


def scenario(program, folder):
    """A scenario by three agents over TLS, with TLS and keys to the broker, too; a fourth one measures the server."""
    folder = pathlib.Path(folder)
    agents = names(3)
    with Fleet(program, str(folder), [*agents, "t"], WIDE_MS, {"t": "server"}) as fleet:
        authority = str(folder / "server.pem")
        url = fleet.serve("kv", "--tls", "--tls-ca", authority).rstrip("/")
        file, stored = folder / "keep.toml", folder / "keep.json"
        file.write_text(SCENARIO.format(url=url), encoding="utf-8")
        load = ["-c", str(len(agents)), "-n", str(SESSIONS), "--warmup", "0", "--cacert", authority, "-q", "--json", str(stored)]
        words = ["run", str(file), "--agents", ",".join(agents), "--server-agent", "t"]
        done = fleet.prony(*words, *load, *fleet.lead(), timeout=120)
        if done.returncode not in (0, 3):
            raise SystemExit(f"prony run: {done.returncode}\n{done.stderr[-2000:]}")
        server = fleet.processes.pop("server")
        server.end()
        result = json.loads(stored.read_text(encoding="utf-8"))
        merged = result["merged"]
        handshakes = merged["tls"]["handshakes"]
        used = merged["server"]
        return {
            "verdict": result["verdict"],
            "sessions": [one["result"]["scenario"]["sessions"]["completed"] for one in result["agents"]],
            "requests": merged["requests"]["done"],
            "handshakes": handshakes["full"] + handshakes["resumed"],
            "by_server": _counts(server.text()),
            "server_agent": used and used["agent"],
            "cpu_per_request_us": used and used["cpu_per_request_us"],
        }


def _counts(text):
    """Requests and handshakes in what the server says at its end."""
    numbers = [re.search(rf"([\d,]+) {what}", text) for what in ("requests answered", "TLS handshakes in full", "resumed")]
    if not all(numbers):
        raise SystemExit(f"the server does not say what it answered: {text[-500:]}")
    requests, full, resumed = (int(number[1].replace(",", "")) for number in numbers)
    return {"requests": requests, "handshakes": full + resumed}


def scenario_text(found):
    """In a sentence or two."""
    by_server = found["by_server"]
    # Each agent looks before the load whether the server is there.
    looks = len(found["sessions"])
    exact = (found["requests"], sum(found["sessions"])) == (2 * SESSIONS, SESSIONS) and by_server["requests"] == found["requests"]
    exact = exact and by_server["handshakes"] == found["handshakes"] + looks
    figure = found["cpu_per_request_us"]
    cost = f"{figure['value']:.0f} µs of CPU time per request (n = {figure['requests']:,})" if figure else "no CPU time per request"
    return (
        f"A scenario over TLS by three agents, with TLS and nkeys to the broker: {sum(found['sessions'])} sessions "
        f"({', '.join(map(str, found['sessions']))}), {found['requests']} requests by the agents and {by_server['requests']} by the "
        f"server's count ({'exact' if exact else 'NOT exact'}), {found['handshakes']} handshakes by the agents, and "
        f"{by_server['handshakes']} by the server with the {looks} of the agents' looks before the load; one verdict: "
        f"{found['verdict'].upper()}. The agent on the server's host reports {cost}."
    )


def partition(program, folder):
    """An agent's cable is taken out in mid-run: what becomes of the run, and of the load that nobody can stop."""
    with Fleet(program, folder, names(2)) as fleet:
        url = fleet.serve("null")
        file = str(pathlib.Path(folder) / "partition.json")
        load = ["-c", "2", "-d", f"{PARTITION_SECONDS}s", "--warmup", "0", "--json", file]
        argv = [fleet.program, "run", url, "--agents", "a,b", *load, *fleet.lead()]
        run = fleet.start("run", "lab", argv)
        run.wait_for("b: measure")
        fleet.hosts.cut("b")
        cut = time.monotonic()
        _, suspected = run.wait_for("b: not heard for 3 s", LOST_S)
        _, given_up = run.wait_for("given up: the agent b is lost", LOST_S)
        until = time.monotonic() + LOST_S
        while run.child.running() and time.monotonic() < until:
            time.sleep(0.05)
        _, stopped = fleet.processes["b"].wait_for("stops its load", UNATTENDED_S)
        fleet.hosts.heal("b")
        result = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        a, b = result["agents"]
        return {
            "suspected_s": suspected - cut,
            "given_up_s": given_up - cut,
            "stopped_s": stopped - cut,
            "verdict": result["verdict"],
            "kept": a["result"]["requests"]["done"] if a["result"] else 0,
            "absence": b["absence"]["reason"] if b["absence"] else None,
        }


def partition_text(found):
    """In a sentence or two."""
    return (
        f"A partition in mid-run, agent b without a cable: not heard {found['suspected_s']:.1f} s later, given up after "
        f"{found['given_up_s']:.1f} s; the result is {found['verdict'].upper()}, with the {found['kept']:,} responses of agent a, and "
        f"says of b: “{found['absence']}”. Agent b ended its own load {found['stopped_s']:.1f} s after it last had a cable."
    )
