"""Servers whose capacity is known, searches for it, and what they found."""

import json
import random
from dataclasses import dataclass

from lib import child, servers

# The latest answer may be this much later than the service takes; a queue reaches it after so many seconds of any load above
# the capacity, so that a trial of T seconds fails from 1 + OVER_S/T times the capacity on.
OVER_S = 0.02
# A search ends by itself; this is for one that does not.
GRACE_S = 120.0


@dataclass
class Searched:
    """What a search found of a server."""

    seed: str
    service_us: int
    truth_per_s: float
    kind: str
    estimate: float | None
    low: float | None
    high: float | None
    trials: int
    void: int
    elapsed_s: float
    code: int

    def error(self):
        """Of the estimate, as a share of the truth; None where there is none."""
        return None if self.estimate is None else self.estimate / self.truth_per_s - 1

    def covers(self, trial_s):
        """Whether the bounds hold the truth, which is a range: a trial just above the capacity can't fail. None where there are
        no bounds."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.truth_per_s * (1 + OVER_S / trial_s) and self.high >= self.truth_per_s


def server(seed):
    """One worker, and how long it takes for each request: 50 to 2,000 a second."""
    chance = random.Random(seed)
    return round(500 * (20_000 / 500) ** chance.random())


def search(prony, cores, seed, time_s):
    """A search on a fresh server; client and server on a core each."""
    service_us = server(seed)
    objective = f"response.p90 < {service_us / 1e3 + OVER_S * 1e3:.3f}ms"
    port = servers.free_port()
    argv = [prony, "serve", "truth", "--port", str(port), "--delay", f"single:{service_us}us"]
    client = [prony, "capacity", f"http://127.0.0.1:{port}/", "--slo", objective, "--time", f"{time_s}s"]
    with servers.Server(argv, {cores[1]}, port):
        found = child.run([*client, "--json", "-", "--quiet"], {cores[0]}, time_s + GRACE_S)
    return read(seed, service_us, found.code, found.stdout)


def read(seed, service_us, code, stdout):
    """What a search printed."""
    truth = 1e6 / service_us
    try:
        result = json.loads(stdout)
    except ValueError:
        return Searched(seed, service_us, truth, "failed", None, None, None, 0, 0, 0.0, code)
    outcome, trials = result["outcome"], result["trials"]
    void = sum(trial["outcome"] == "void" for trial in trials)
    numbers = [outcome.get(f"{name}_per_s") for name in ("estimate", "lower", "upper")]
    if outcome["kind"] != "between":
        numbers = [None, None, None]
    return Searched(seed, service_us, truth, outcome["kind"], *numbers, len(trials), void, result["elapsed_s"], code)
