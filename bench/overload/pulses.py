"""Servers whose recovery is known by their own log, overloads of them, and what they found."""

import json
import random
import tempfile
from dataclasses import dataclass

from lib import child, servers

# Base and pulse as shares of the capacity.
BASE = (0.4, 0.7)
PULSE = (1.6, 2.4)
SLO_S = 1.0
PULSE_S = 5.0
AFTER_S = 50.0
BEFORE_S = 5.0
# What a run takes beyond its load: the look before, the wait after.
GRACE_S = 180.0
# A recovery is the moment from which on at least this share is good, by then and at each later moment.
SHARE = 0.95
# A recovery within this share of the truth is right, or within a part of the course; a queue with a bound is good at once.
NEAR = 0.10
AT_ONCE_S = 1.0
KINDS = ("unbounded", "bounded", "shedding")


@dataclass
class Pulse:
    """One run of `prony overload`, and what the server's log says of the same time."""

    kind: str
    retries: bool
    capacity_per_s: float
    base_per_s: float
    pulse_per_s: float
    outcome: str
    after_s: float | None
    within_s: float | None
    truth_s: float | None
    code: int

    def is_right(self):
        """Whether the outcome is the one that such a server has."""
        if self.kind == "unbounded" and self.retries:
            return self.outcome == "metastable"
        if self.outcome != "recovered":
            return False
        if self.truth_s is not None:
            return abs(self.after_s - self.truth_s) <= max(NEAR * self.truth_s, self.within_s)
        return self.after_s <= AT_ONCE_S

    def error(self):
        """Of the recovery, as a share of the server's own; None where either has none."""
        if self.after_s is None or not self.truth_s:
            return None
        return self.after_s / self.truth_s - 1


def settings(seed):
    """Workers, service time in µs, base and pulse per second."""
    chance = random.Random(seed)
    workers = chance.randint(1, 8)
    service_us = round(workers * 1e6 / (100 * 5 ** chance.random()))
    capacity = workers * 1e6 / service_us
    return workers, service_us, capacity * chance.uniform(*BASE), capacity * chance.uniform(*PULSE)


def overload(prony, cores, seed, kind, retries):
    """An overload of a fresh server; client and server on a core each."""
    workers, service_us, base, pulse = settings(seed)
    capacity = workers * 1e6 / service_us
    port = servers.free_port()
    with tempfile.NamedTemporaryFile(suffix=".csv") as log:
        argv = [prony, "serve", "queue", "--port", str(port), "--workers", str(workers), "--service", f"{service_us}us"]
        argv += {"unbounded": [], "bounded": ["--limit", str(4 * workers)], "shedding": ["--shed-after", "100ms"]}[kind]
        argv += ["--log", log.name]
        client = [prony, "overload", f"http://127.0.0.1:{port}/", "--rate", f"{base:.3f}", "--times", f"{pulse / base:.6f}"]
        client += ["--before", f"{BEFORE_S}s", "--pulse", f"{PULSE_S}s", "--after", f"{AFTER_S}s", "--slo", f"{SLO_S}s"]
        client += ["--clients", "retrying" if retries else "plain", "--json", "-", "--quiet"]
        with servers.Server(argv, {cores[1]}, port):
            found = child.run(client, {cores[0]}, BEFORE_S + PULSE_S + AFTER_S + GRACE_S)
        lines = log.read().decode().splitlines()[1:]
    return read(kind, retries, (capacity, base, pulse), found.code, found.stdout, lines)


def read(kind, retries, rates, code, stdout, lines):
    """What an overload printed, and what the server logged."""
    try:
        run = json.loads(stdout)["runs"][0]
    except (ValueError, LookupError):
        return Pulse(kind, retries, *rates, "failed", None, None, None, code)
    outcome = run["outcome"]
    # Retries blur the end of the pulse in the log, and a queue that is bounded is good again at once.
    truth_s = truth(lines, rates[1], rates[2]) if kind == "unbounded" and not retries else None
    return Pulse(kind, retries, *rates, outcome["kind"], outcome.get("after_s"), outcome.get("within_s"), truth_s, code)


def truth(lines, base_per_s, pulse_per_s):
    """From the end of the pulse until requests were answered well in time for good, by the server's log alone, seconds; None
    where they never were. The pulse is where requests came more often than the mean of base and pulse."""
    requests = sorted((int(arrived), int(ended), outcome) for arrived, _, ended, outcome in (line.split(",") for line in lines))
    end_ns = end_of_pulse(requests, (base_per_s + pulse_per_s) / 2)
    if end_ns is None:
        return None
    after = [(arrived, outcome == "served" and (ended - arrived) / 1e9 <= SLO_S)
             for arrived, ended, outcome in requests if end_ns < arrived <= end_ns + AFTER_S * 1e9]
    first, least = None, 0.0
    for place in range(len(after) - 1, -1, -1):
        least = after[place][1] - SHARE + min(least, 0.0)
        if least >= 0:
            first = place
    return None if first is None else (after[first][0] - end_ns) / 1e9


def end_of_pulse(requests, between_per_s):
    """The end of the pulse, ns: a quarter of a second before the last moment at which half a second had brought as many
    requests as a rate half-way between base and pulse."""
    count = max(2, round(between_per_s / 2))
    arrivals = [arrived for arrived, _, _ in requests]
    ends = [last for first, last in zip(arrivals, arrivals[count - 1:]) if last - first <= 5e8]
    return ends[-1] - 250_000_000 if ends else None
