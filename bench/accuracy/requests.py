"""Request by request: what the client saw of each against what the server did with that very one."""

import csv
import os
import tempfile
from collections import defaultdict
from dataclasses import dataclass

from accuracy import against_truth
from lib.load import Load
from lib.stats import median, quantile
from lib.table import render

RATE = 2_000
CONNECTIONS = 100
DELAYS = ("const:2ms", "bimodal:1ms,20ms,0.05", "exponential:2ms")
# µs: what the median request may take longer than the server had it, and how far any may lie below.
EXCESS_TARGET_US = 50
BELOW_TARGET_US = 50


@dataclass
class Outcome:
    """One run."""

    tool: str
    delay: str
    joined: int
    # Requests of which only one side knows.
    unmatched: int
    # Client minus server for each request, µs: on the client's clock and, where the kernel stamped both ends, on its.
    service_us: list[float]
    kernel_us: list[float]


class Sampling:
    """A tool that also writes every request."""

    def __init__(self, tool, path):
        self.tool = tool
        self.name = tool.name
        self.over = tool.over
        self.path = path

    def argv(self, load):
        return [*self.tool.argv(load), "--samples", self.path]

    def read(self, finished):
        return self.tool.read(finished)


def jobs(tools):
    """Every (delay, tool)."""
    return [(delay, tool) for delay in DELAYS for tool in tools]


def run_one(bench, seconds, delay, tool):
    """One run; the n-th request of a connection is the n-th that the server saw on it."""
    with tempfile.TemporaryDirectory(prefix="prony-bench-") as folder:
        samples = os.path.join(folder, "samples")
        run = against_truth.run(Sampling(tool, samples), lambda url: Load(url, CONNECTIONS, seconds, rate=RATE), delay, bench)
        return _join(tool.name, delay, run.log, samples)


def _join(name, delay, log, path):
    served = defaultdict(list)
    for one in log.served:
        served[one.port].append(one)
    seen = defaultdict(list)
    with open(path, newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            seen[int(row["port"])].append({key: int(row[key]) for key in ("sent_ns", "tx_ns", "rx_ns", "done_ns")})
    outcome = Outcome(name, delay, 0, 0, [], [])
    for port in served.keys() | seen.keys():
        rows = sorted(seen[port], key=lambda row: row["done_ns"])
        outcome.unmatched += abs(len(rows) - len(served[port]))
        for row, one in zip(rows, served[port]):
            outcome.joined += 1
            truth_us = (one.reply_ns - one.arrival_ns) / 1e3
            outcome.service_us.append((row["done_ns"] - row["sent_ns"]) / 1e3 - truth_us)
            if row["tx_ns"] and row["rx_ns"]:
                outcome.kernel_us.append((row["rx_ns"] - row["tx_ns"]) / 1e3 - truth_us)
    return outcome


def table(outcomes):
    """The table, as text: medians over the rounds, and the least of all."""
    head = ["tool, delay", "requests", "unmatched", "clock", "excess p50 µs", "p99 µs", "least µs", "target"]
    rows = []
    for key in dict.fromkeys((one.tool, one.delay) for one in outcomes):
        of_key = [one for one in outcomes if (one.tool, one.delay) == key]
        counts = [f"{sum(one.joined for one in of_key):,}", f"{sum(one.unmatched for one in of_key):,}"]
        for clock, name in (("service_us", "client"), ("kernel_us", "kernel")):
            values = [getattr(one, clock) for one in of_key if getattr(one, clock)]
            if values:
                rows.append([", ".join(key), *counts, name, *_cells(values)])
    return render(head, rows)


def _cells(values):
    middle = median([quantile(one, 0.5) for one in values])
    tail = median([quantile(one, 0.99) for one in values])
    least = min(min(one) for one in values)
    met = middle <= EXCESS_TARGET_US and least >= -BELOW_TARGET_US
    target = f"p50 <= {EXCESS_TARGET_US} µs, none below -{BELOW_TARGET_US} µs: {'met' if met else 'missed'}"
    return [f"{middle:+.1f}", f"{tail:+.1f}", f"{least:+.1f}", target]
