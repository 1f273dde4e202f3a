"""Servers whose capacity is known, searches for it, and what they found."""

import json
import random
from dataclasses import dataclass

from lib import child, servers

# The quantile that is required may be this much later than the service takes. A queue that grows through a trial of T seconds
# reaches that at the quantile q from 1 + OVER_S/(q T) times the capacity on.
OVER_S = 0.02
# A neighbour that takes bursts of up to 50 ms of each core delays nearly a tenth of all answers by more than OVER_S, whatever the
# load is: beside it the median is required.
QUANTILE, QUANTILE_BUSY = 0.9, 0.5
# A search ends by itself; this is for one that does not.
GRACE_S = 120.0


@dataclass
class Searched:
    """What a search found of a server."""

    seed: str
    quantile: float
    service_us: int
    truth_per_s: float
    kind: str
    estimate: float | None
    low: float | None
    high: float | None
    at_least: float | None
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
        return self.low <= self._most(trial_s) and self.high >= self.truth_per_s

    def holds(self, trial_s):
        """Whether a lower bound that stands alone is one; None where there is none."""
        return None if self.at_least is None else self.at_least <= self._most(trial_s)

    def gap(self):
        """How far a lower bound that stands alone is below the truth, as a share of it; None where there is none."""
        return None if self.at_least is None else 1 - self.at_least / self.truth_per_s

    def _most(self, trial_s):
        return self.truth_per_s * (1 + OVER_S / (self.quantile * trial_s))


def server(seed):
    """One worker, and how long it takes for each request: 50 to 2,000 a second."""
    chance = random.Random(seed)
    return round(500 * (20_000 / 500) ** chance.random())


def search(prony, cores, seed, time_s, quantile=QUANTILE):
    """A search on a fresh server; client and server on a core each."""
    service_us = server(seed)
    objective = f"response.p{100 * quantile:.0f} < {service_us / 1e3 + OVER_S * 1e3:.3f}ms"
    port = servers.free_port()
    argv = [prony, "serve", "truth", "--port", str(port), "--delay", f"single:{service_us}us"]
    client = [prony, "capacity", f"http://127.0.0.1:{port}/", "--slo", objective, "--time", f"{time_s}s"]
    with servers.Server(argv, {cores[1]}, port):
        found = child.run([*client, "--json", "-", "--quiet"], {cores[0]}, time_s + GRACE_S)
    return read(seed, quantile, service_us, found.code, found.stdout)


def read(seed, quantile, service_us, code, stdout):
    """What a search printed."""
    truth = 1e6 / service_us
    try:
        result = json.loads(stdout)
    except ValueError:
        return Searched(seed, quantile, service_us, truth, "failed", None, None, None, None, 0, 0, 0.0, code)
    outcome, trials = result["outcome"], result["trials"]
    void = sum(trial["outcome"] == "void" for trial in trials)
    numbers = [outcome.get(f"{name}_per_s") for name in ("estimate", "lower", "upper")]
    at_least = numbers[1] if outcome["kind"] == "at-least" else None
    if outcome["kind"] != "between":
        numbers = [None, None, None]
    kind, elapsed_s = outcome["kind"], result["elapsed_s"]
    return Searched(seed, quantile, service_us, truth, kind, *numbers, at_least, len(trials), void, elapsed_s, code)
