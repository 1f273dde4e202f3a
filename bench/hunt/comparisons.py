"""`prony compare` of two worlds whose difference is known: the verdict's sign, its interval, and equal servers."""

import json
import shlex

from hunt import serving, worlds
from lib import child
from lib.stats import median, quantile

LIMIT_S = 240
INTERVAL_MISS = 0.05
# Of the verdicts on equal servers; 5 % by construction.
FALSE_VERDICTS = 0.05
# Longer than this after an answer, the next request belongs to another block.
SAME_BLOCK_S = 0.05
FACTORS = (1.0, 1.0, 0.5, 0.9, 0.95, 0.975, 1.025, 1.05, 1.1, 2.0)
# Up to this, what the client and the machine add is not small beside the server.
LEAST_BASE_MS = 1.0
PAIRS = (8, 12, 20)
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
FASTER = ("faster", "faster-size-uncertain")
SLOWER = ("slower", "slower-size-uncertain")


def draw(chance):
    """A world and the factor by which B's times are longer."""
    while True:
        # Exact truth: neither rare freezes nor failures.
        world = worlds.draw(chance, kinds=("const", "const", "bimodal", "exponential", "pareto", "single", "batch"), plain=True)
        if world.numbers[-1] >= LEAST_BASE_MS and worlds.mean_ms(world.kind, world.numbers) <= 150:
            return world, chance.choice(FACTORS)


def check(place, world, factor, pairs, tally):
    """One comparison with all its checks."""
    flags = [*world.load_flags(), "--pairs", str(pairs), "--warmup", "0.3s", "--seed", str(world.seed), "-q", "-o", "json"]
    with serving.truth(place, world.server_flags()) as a, serving.truth(place, world.server_flags(factor)) as b:
        done = child.run(place.argv(["compare", a.url, b.url, *flags]), place.client_cores, LIMIT_S)
    again = f"prony serve truth --port 3998 {shlex.join(world.server_flags())} & prony serve truth --port 3999 {shlex.join(world.server_flags(factor))} & "
    again += f"prony compare http://127.0.0.1:3998/ http://127.0.0.1:3999/ {shlex.join(flags)}"
    where = f"{world}, B x {factor:g}, {pairs} pairs"
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        tally.exact("compare: ends with a result", False, where, f"exit code {done.code} {done.stderr[-300:]}", "a result", again)
        return None
    judge(world, factor, result, (a.served, b.served), tally, f"{where} ({result['verdict']})", again)
    return result


def judge(world, factor, result, served, tally, where, again):
    """Every metric of a comparison beside the truth."""
    truths = [_truths(world, one, scale) for one, scale in zip(served, (1.0, factor))]
    signs = {}
    for metric in result["metrics"]:
        name, word = metric["metric"], metric["outcome"]["word"]
        bounds, change = metric["interval"], metric["change"]
        said = f"{name} {word} {_percent(change)} {_bounds(bounds)} ({metric['outcome'].get('reason', '')})"
        if bounds and change is not None:
            tally.exact("compare: an interval holds its own value", bounds["low"] <= change <= bounds["high"], where, said, "in order", again)
            # Two servers that are not the same machine state twice can't be known without any error.
            tally.exact("compare: no interval has the width 0", bounds["high"] > bounds["low"], where, said, "> 0", again)
        if name not in ("rate", *QUANTILES) or any(name not in one for truth in truths for one in truth):
            continue
        # What the machine adds may differ from what was seen between blocks: the truth is a range.
        ratios = [b[name] / a[name] - 1 for a in truths[0] for b in truths[1]]
        low, high = min(ratios), max(ratios)
        true = f"{_percent(low)} to {_percent(high)}"
        worse = (lambda value: -value) if name == "rate" else (lambda value: value)
        spoken = word in FASTER + SLOWER
        if spoken:
            signs[name] = word in SLOWER
        if factor == 1.0 and metric["primary"] and word not in ("no-verdict", "too-noisy"):
            tally.chance("compare: equal servers are not called different", not spoken, FALSE_VERDICTS, where, said, true, again)
        elif spoken and metric["primary"] and (low > 0.002 or high < -0.002):
            says_worse = word in SLOWER
            tally.exact("compare: the sign is right", says_worse == (worse(low + high) > 0), where, said, true, again)
        if bounds and word != "no-verdict":
            holds = bounds["low"] <= high and low <= bounds["high"]
            kind = world.kind if world.kind in ("single", "batch") else "other"
            tally.chance(f"compare: 95 % interval of the {name}, {kind} servers", holds, INTERVAL_MISS, where, said, true, again)
    if "rate" in signs and "p50" in signs and factor != 1.0 and not world.rate:
        tally.exact("compare: rate and p50 of a closed loop agree", signs["rate"] == signs["p50"], where, signs, "the same sign", again)
    failed = [block["failed"] for pair in result["pairs"] for block in (pair["a"], pair["b"]) if block]
    tally.exact("compare: servers without failures have none", not any(failed), where, f"{sum(failed)} failed", "0", again)


def _truths(world, served, factor):
    """Figures in the long run, with as little added by the machine as was seen and with as much as was seen."""
    gaps = [gap for gap in serving.gaps_s(served) if gap < SAME_BLOCK_S] if not world.rate else []
    if world.rate:
        # In an open loop nothing is seen of it in the log; latencies hold it on both sides.
        around = [1e-4], [5e-4]
    else:
        if not gaps:
            return [{}]
        around = [median(gaps)], [quantile(gaps, 0.9)]
    found = []
    for overheads in around:
        truth = worlds.expect(world, overheads, factor=factor, requests=20_000)
        figures = {name: truth.quantiles_ms[q] for name, q in QUANTILES.items()}
        # The rate of an open loop is the one that was asked for.
        found.append(figures if world.rate else figures | {"rate": truth.per_s})
    return found


def _percent(value):
    return "–" if value is None else f"{100 * value:+.2f} %"


def _bounds(bounds):
    return "–" if bounds is None else f"[{_percent(bounds['low'])}, {_percent(bounds['high'])}]"
