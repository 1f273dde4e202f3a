"""`prony exec` and commands whose durations are known: each run waits for as long as a list says."""

import json
import math
import os
import random
import shlex
import tempfile

from lib import child
from lib.stats import median

LIMIT_S = 110
INTERVAL_MISS = 0.05
KINDS = ("const", "exponential", "bimodal")
FACTORS = (1.0, 1.0, 1.1, 1.3, 0.7, 2.0)
LEAST_MS, MOST_MS = 5.0, 60.0
# `sleep` takes whole microseconds; the clock that is read and the one that wakes are the same.
CLOCK_S = 50e-6
# Takes the next duration off its own list. One shell, which becomes `sleep`: nothing else adds to the time.
SCRIPT = 'read -r first < "$0"; tail -n +2 "$0" > "$0.new"; mv "$0.new" "$0"; exec sleep "$first"'


def draw(chance):
    """(kind, mean in ms, factor of the second command, runs)."""
    base_ms = LEAST_MS * (MOST_MS / LEAST_MS) ** chance.random()
    return chance.choice(KINDS), round(base_ms, 3), chance.choice(FACTORS), chance.choice((8, 15, 25))


def durations(kind, base_ms, runs, chance):
    """What each run waits, s."""
    if kind == "const":
        return [base_ms / 1e3] * runs
    if kind == "bimodal":
        return [base_ms / 1e3 * (5 if chance.random() < 0.2 else 1) for _ in range(runs)]
    return [min(chance.expovariate(1e3 / base_ms), 10 * base_ms / 1e3) for _ in range(runs)]


def true_median(kind, base_ms):
    """Of the distribution, s."""
    return base_ms / 1e3 * (math.log(2) if kind == "exponential" else 1)


def check(place, case, seed, tally, again):
    """One comparison of two commands with all its checks; `again` is the command that makes it again."""
    kind, base_ms, factor, runs = case
    with tempfile.TemporaryDirectory(prefix="prony-hunt-") as folder:
        plans, lines = [], []
        for index, scale in enumerate((1.0, factor)):
            plan = durations(kind, base_ms * scale, runs, random.Random(f"{seed} {index}"))
            path = os.path.join(folder, f"list{index}")
            with open(path, "w", encoding="ascii") as file:
                file.writelines(f"{one:.6f}\n" for one in plan)
            plans.append([float(f"{one:.6f}") for one in plan])
            lines.append(f"sh -c {shlex.quote(SCRIPT)} {path}")
        argv = place.argv(["exec", "-N", "-r", str(runs), "--startup", "true", "--seed", str(seed), "-q", "--json", "-", *lines])
        done = child.run(argv, place.client_cores, LIMIT_S)
    where = f"{kind} {base_ms} ms, second x {factor:g}, {runs} runs"
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        tally.exact("exec: ends with a result", False, where, f"exit code {done.code} {done.stderr[-300:]}", "a result", again)
        return None
    judge(case, plans, result, tally, f"{where} ({result['verdict']})", again)
    return result


def judge(case, plans, result, tally, where, again):
    """Every figure beside the truth."""
    kind, base_ms, factor, runs = case
    extra = []
    for plan, command, scale in zip(plans, result["commands"], (1.0, factor)):
        walls = [one["wall_s"] for one in command["runs"]]
        tally.exact("exec: as many runs as were asked for", len(walls) == runs, where, len(walls), runs, again)
        early = min((wall - planned for wall, planned in zip(walls, plan)), default=0)
        tally.exact("exec: no run is shorter than the command", early >= -CLOCK_S, where, f"{early * 1e6:.0f} µs", "longer", again)
        extra.append(median([wall - planned for wall, planned in zip(walls, plan)]))
        _summary(command["wall"], walls, tally, where, again)
        bounds = command["wall"]["median_interval_s"]
        truth = true_median(kind, base_ms * scale) + extra[-1]
        # What the machine adds is itself only seen in these runs.
        if bounds and kind == "exponential":
            holds = bounds["low"] <= truth <= bounds["high"]
            tally.chance("exec: 95 % interval of the median", holds, INTERVAL_MISS, where, f"{bounds}", f"{truth:.6f}", again)
    for compared in result["comparisons"]:
        word, bounds, change = compared["verdict"]["word"], compared["interval"], compared["change"]
        said = f"{word} {change} {bounds}"
        if bounds:
            tally.exact("exec: an interval holds its own value", bounds["low"] <= change <= bounds["high"], where, said, "in order", again)
        # The reference is the quicker one, whichever that is.
        medians = [true_median(kind, base_ms * scale) + more for scale, more in zip((1.0, factor), extra)]
        truth = medians[compared["command"]] / medians[result["reference"]] - 1
        spoken = word.startswith(("slower", "faster"))
        if factor == 1.0:
            tally.chance("exec: equal commands are not called different", not spoken, INTERVAL_MISS, where, said, "equal", again)
        elif spoken:
            # By chance the shorter command may draw longer times: at 1 - 95 % of both sides.
            right = word.startswith("slower") == (truth > 0)
            tally.chance("exec: the sign is right", right, INTERVAL_MISS / 2, where, said, f"{truth:+.4f}", again)


def _summary(said, walls, tally, where, again):
    ordered = sorted(walls)
    pairs = {"min": ("min_s", ordered[0]), "max": ("max_s", ordered[-1]), "mean": ("mean_s", sum(walls) / len(walls)), "median": ("median_s", median(walls))}
    for name, (key, true) in pairs.items():
        holds = abs(said[key] - true) <= 1e-9 + 1e-9 * true
        tally.exact("exec: min, mean, median, max are those of the runs", holds, where, f"{name} {said[key]}", true, again)
    bounds = said["median_interval_s"]
    if bounds:
        tally.exact("exec: an interval holds its own value", bounds["low"] <= said["median_s"] <= bounds["high"], where, bounds, said["median_s"], again)
        held = said["min_s"] <= bounds["low"] and bounds["high"] <= said["max_s"]
        tally.exact("exec: an interval lies within what was seen", held, where, bounds, f"{said['min_s']} to {said['max_s']}", again)
