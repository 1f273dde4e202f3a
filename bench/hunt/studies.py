"""`prony study` of two servers whose difference is known: what the report says of each run, and its comparison; and two
studies made one after the other, compared as the lab compares a build with its baseline."""

import json
import os
import tempfile

from lib import child

LIMIT_S = 110
REPEATS = 6
FALSE_VERDICTS = 0.05
# Of studies made one after the other, by what the comparison itself says of them.
FALSE_VERDICTS_IN_ROW = 1 / 3
KINDS = ("const", "exponential", "single")
FACTORS = (1.0, 1.0, 0.8, 1.05, 1.2, 2.0)
LEAST_MS, MOST_MS = 2.0, 50.0
# Latencies of servers that take this much longer, in a closed loop, differ by at least so much less.
LEAST_DIFFERENCE = 0.01
# The machine itself changes from one study to the next by more than the smallest factors here.
LEAST_IN_ROW = 0.3
FILE = """title = "Known"
repeats = {repeats}
seed = {seed}

[targets.truth]
serve = "truth --seed {seed} --delay {kind}:{{delay}}"

[loads.closed]
connections = {connections}
duration = "600ms"
warmup = "100ms"

[matrix]
delay = ["{a}us", "{b}us"]

[[compare]]
title = "Known"
a = {{ delay = "{a}us" }}
b = {{ delay = "{b}us" }}
metric = "{metric}"
"""


BASELINE_FILE = FILE.partition("[[compare]]")[0].replace(', "{b}us"', "")


def draw(chance):
    """(kind, A's delay in µs, factor, connections, metric)."""
    base_us = round(1000 * LEAST_MS * (MOST_MS / LEAST_MS) ** chance.random())
    return chance.choice(KINDS), base_us, chance.choice(FACTORS), chance.choice((1, 4, 16)), chance.choice(("rate", "p50"))


def check(place, case, seed, tally):
    """One study with all its checks."""
    kind, base_us, factor, connections, metric = case
    # Two cells need two names: equal servers differ by a millionth.
    other_us = round(base_us * factor) if factor != 1.0 else base_us + 1
    text = FILE.format(repeats=REPEATS, seed=seed, kind=kind, connections=connections, a=base_us, b=other_us, metric=metric)
    where = f"{kind} {base_us} µs, x {factor:g}, c={connections}, {metric}"
    with tempfile.TemporaryDirectory(prefix="prony-hunt-") as folder:
        path, out = os.path.join(folder, "study.toml"), os.path.join(folder, "out")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = child.run(place.argv(["study", path, "-o", out, "--format", "json", "-q"]), None, LIMIT_S)
        again = f"prony study study.toml, where study.toml is:\n{text}"
        try:
            result = json.loads(done.stdout)
        except json.JSONDecodeError:
            tally.exact("study: ends with a result", False, where, f"exit code {done.code} {done.stderr[-300:]}", "a result", again)
            return None
        stored = {}
        for cell in result["cells"]:
            for run in cell["runs"]:
                with open(os.path.join(out, run["file"]), encoding="utf-8") as file:
                    stored[run["file"]] = json.load(file)
    judge(case, result, stored, tally, f"{where} ({result['verdict']})", again)
    return result


def check_baseline(place, case, seed, tally):
    """Two studies of a server each, one after the other, and their comparison."""
    kind, base_us, factor, connections, _ = case
    where = f"{kind} {base_us} µs, then x {factor:g}, c={connections}"
    with tempfile.TemporaryDirectory(prefix="prony-hunt-") as folder:
        outs = []
        for index, scale in enumerate((1.0, factor)):
            text = BASELINE_FILE.format(repeats=REPEATS, seed=seed, kind=kind, connections=connections, a=round(base_us * scale))
            path = os.path.join(folder, f"study{index}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            outs.append(os.path.join(folder, f"out{index}"))
            child.run(place.argv(["study", path, "-o", outs[-1], "--format", "json", "-q"]), None, LIMIT_S)
        # The cells have different names where the delays differ, so the runs are compared, not the studies.
        done = child.run(place.argv(["compare", *(os.path.join(out, "runs") for out in outs), "--force", "-o", "json"]), None, LIMIT_S)
    again = f"bench/hunt/run --only baseline: {where}, seed {seed}"
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        # Results that may not be compared are refused, with the reason.
        tally.exact("baseline: a refusal has a reason", "error" in done.stderr, where, f"exit code {done.code} {done.stderr[-300:]}", "a reason", again)
        return None
    judge_baseline(factor, result, tally, f"{where} ({result['verdict']})", again)
    return result


def judge_baseline(factor, result, tally, where, again):
    """The lab's word is that of the primary metric."""
    for told in result["metrics"]:
        word, bounds, change = told["outcome"]["word"], told["interval"], told["change"]
        said = f"{told['metric']} {word} {change} {bounds} {told['outcome'].get('reason', '')}"
        if bounds and change is not None:
            tally.exact("baseline: an interval holds its own value", bounds["low"] <= change <= bounds["high"], where, said, "in order", again)
        if not told["primary"] or word in ("no-verdict",):
            continue
        spoken = word.startswith(("slower", "faster"))
        if factor == 1.0:
            tally.chance("baseline: equal builds are not called different", not spoken, FALSE_VERDICTS_IN_ROW, where, said, "equal", again)
        elif spoken and abs(factor - 1) > LEAST_IN_ROW:
            tally.exact("baseline: the sign is right", word.startswith("slower") == (factor > 1), where, said, f"x {factor:g}", again)


def judge(case, result, stored, tally, where, again):
    """Every run and the comparison beside the truth."""
    _, _, factor, _, metric = case
    for cell in result["cells"]:
        tally.exact("study: all planned runs are there", len(cell["runs"]) == cell["planned"], where, len(cell["runs"]), cell["planned"], again)
        for run in cell["runs"]:
            one = stored[run["file"]]
            pairs = {
                "requests": (run["requests"], one["requests"]["intended"]),
                "failed": (run["failed"], one["requests"]["failed"]),
                "rate": (run["figures"].get("rate"), one["rate"]["done_per_s"]),
                "p50": (run["figures"].get("p50"), one["latency"]["response"]["quantiles_ms"]["0.5"]),
                "min": (run["figures"].get("min"), one["latency"]["response"]["min_ms"]),
                "max": (run["figures"].get("max"), one["latency"]["response"]["max_ms"]),
                "mean": (run["figures"].get("mean"), one["latency"]["response"]["mean_ms"]),
            }
            for name, (said, true) in pairs.items():
                tally.exact("study: figures of a run are those of its result", said is None or said == true, where, f"{name} {said}", true, again)
    for told in result["comparisons"][0]["metrics"]:
        word, bounds, change = told["outcome"]["word"], told["interval"], told["change"]
        said = f"{told['metric']} {word} {change} {bounds}"
        if bounds and change is not None:
            tally.exact("study: an interval holds its own value", bounds["low"] <= change <= bounds["high"], where, said, "in order", again)
        spoken = word.startswith(("slower", "faster"))
        if told["metric"] != metric or not told["primary"] or word == "no-verdict":
            continue
        if factor == 1.0:
            tally.chance("study: equal servers are not called different", not spoken, FALSE_VERDICTS, where, said, "equal", again)
        elif spoken and abs(factor - 1) > LEAST_DIFFERENCE:
            tally.exact("study: the sign is right", word.startswith("slower") == (factor > 1), where, said, f"B x {factor:g}", again)
