"""`prony run` against a world: every count, every quantile and every interval."""

import bisect
import csv
import datetime
import json
import math
import os
import shlex
import tempfile
import time
from collections import defaultdict

from hunt import serving, worlds
from lib import child
from lib.stats import quantile

LIMIT_S = 60
# The clocks of both sides are one, but the arrival is stamped by CLOCK_REALTIME, which may be set meanwhile.
CLOCK_US = 60.0
# A histogram with three digits is off by 1/2048 at most; and quantiles between two values are free to be either.
ROUNDING = 1e-3
# In a run that is called valid the client and the machine may add this to a request, at the median.
CALM_MS = 2.0
INTERVAL_MISS = 0.05
# How much later than the server's answer a client may read it, on a machine that others use.
EDGE_NS = 50_000_000
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999)


def check(place, world, tally, *, warmup_s=0.0, driver="auto"):
    """One run with all its checks."""
    with tempfile.TemporaryDirectory(prefix="prony-hunt-") as folder:
        samples = os.path.join(folder, "samples.csv")
        flags = [*world.load_flags(), "-d", f"{world.seconds:g}s", "--warmup", f"{warmup_s:g}s", "--driver", driver]
        flags += ["--seed", str(world.seed), "-q", "-o", "json"]
        with serving.truth(place, world.server_flags()) as server:
            argv = place.argv(["run", server.url, *flags, "--samples", samples])
            done = child.run(argv, place.client_cores, LIMIT_S)
        again = f"prony serve truth --port 3999 {shlex.join(world.server_flags())} & prony run http://127.0.0.1:3999/ {shlex.join(flags)}"
        try:
            result = json.loads(done.stdout)
        except json.JSONDecodeError:
            tally.exact("run: ends with a result", False, str(world), done.stderr[-300:], f"exit code {done.code}", again)
            return None
        rows = _rows(samples)
    Checker(world, tally, result, rows, server.served, again, warmup_s).all()
    return result


def _rows(path):
    with open(path, newline="", encoding="ascii") as file:
        numbers = ("port", "intended_ns", "sent_ns", "done_ns", "status")
        return [{name: int(row[name]) for name in numbers} | {"outcome": row["outcome"]} for row in csv.DictReader(file)]


class Checker:
    """One result beside its samples and the server's log."""

    def __init__(self, world, tally, result, rows, served, again, warmup_s):
        self.world, self.tally, self.result, self.rows = world, tally, result, rows
        self.served, self.again, self.warmup_s = served, again, warmup_s
        self.where = f"{world} ({result['verdict']})"

    def all(self):
        self.counts()
        self.order()
        self.against_samples()
        self.against_log()
        self.rate()
        self.intervals()

    def exact(self, name, holds, said, truth):
        self.tally.exact(f"run: {name}", holds, self.where, said, truth, self.again)

    def counts(self):
        """Counts are exact whatever the machine does."""
        counted, rows = self.result["requests"], self.rows
        parts = {name: counted[name] for name in ("done", "failed", "censored", "never_sent")}
        self.exact("intended = done + failed + censored + never sent", counted["intended"] == sum(parts.values()), counted["intended"], parts)
        self.exact("statuses add up to the answers", sum(self.result["statuses"].values()) == counted["answered"], self.result["statuses"], counted["answered"])
        self.exact("kinds add up to the failures", sum(counted["failed_by_kind"].values()) == counted["failed"], counted["failed_by_kind"], counted["failed"])
        good = sum(row["outcome"] == "2xx" for row in rows)
        self.exact("samples hold every good request", good == counted["done"], good, counted["done"])
        log = defaultdict(int)
        for one in self.served:
            log[one.outcome] += 1
        if not self.warmup_s:
            self.exact("sent = the server's log", counted["sent"] == len(self.served), counted["sent"], dict(log))
        if not self.warmup_s and not counted["censored"]:
            self.exact("done = answered 200 by the log", counted["done"] == log["success"], counted["done"], dict(log))
            failed = counted["failed_by_kind"]
            self.exact("failed by status = 500s of the log", failed.get("status", 0) == log["error"], failed, dict(log))
            self.exact("failed by reset = resets of the log", failed.get("reset", 0) == log["reset"], failed, dict(log))
        seconds = sum(one["done"] for one in self.result["series"])
        in_time = self.result["rate"]["done_per_s"] * self.result["timing"]["measured_s"]
        self.exact("seconds add up to the rate", abs(seconds - in_time) < 0.5, seconds, f"{in_time:.1f}")

    def order(self):
        """What holds for any numbers."""
        for name, one in self.result["latency"].items():
            if not isinstance(one, dict) or not one.get("count"):
                continue
            values = [one["quantiles_ms"][str(q)] for q in QUANTILES if one["quantiles_ms"].get(str(q)) is not None]
            line = [one["min_ms"], *values, one["max_ms"]]
            self.exact("min <= p50 <= … <= max", line == sorted(line), f"{name} {line}", "in order")
            self.exact("the mean lies between min and max", one["min_ms"] <= one["mean_ms"] <= one["max_ms"], f"{name} {one['mean_ms']}", line)
            bounds = [(float(q), bound) for q, bound in one["intervals_ms"].items()]
            for q, bound in bounds:
                point = one["quantiles_ms"].get(f"{q:g}")
                said = f"{name} p{100 * q:g} {point} [{bound['low']:.3f}, {bound['high']:.3f}]"
                self.exact("an interval holds its own value", point is not None and bound["low"] <= point <= bound["high"], said, point)
                held = one["min_ms"] <= bound["low"] and bound["high"] <= one["max_ms"]
                self.exact("an interval lies within what was seen", held, said, f"{one['min_ms']} to {one['max_ms']}")
            for edge in ("low", "high"):
                edges = [bound[edge] for _, bound in sorted(bounds, key=lambda pair: pair[0])]
                self.exact("intervals of higher quantiles lie higher", edges == sorted(edges), f"{name} {edge} {edges}", "in order")

    def against_samples(self):
        """The figures are those of the requests of this very run."""
        good = [row for row in self.rows if row["outcome"] == "2xx"]
        if not good:
            return
        # Those without an answer took longer than all that have one.
        counted = self.result["requests"]
        for name, begin, kinds in (("response", "intended_ns", ("censored", "never_sent")), ("service", "sent_ns", ("censored",))):
            unknown = [math.inf] * sum(counted[kind] for kind in kinds)
            values = sorted((row["done_ns"] - row[begin]) / 1e6 for row in good)
            one = self.result["latency"][name]
            self.exact(f"{name} counts what was good", one["count"] == len(values), one["count"], len(values))
            pairs = {"min": (one["min_ms"], values[0]), "max": (one["max_ms"], values[-1]), "mean": (one["mean_ms"], math.fsum(values) / len(values))}
            for q, value in one["quantiles_ms"].items():
                if value is not None:
                    pairs[f"p{100 * float(q):g}"] = (value, quantile(values + unknown, float(q)))
            for what, (said, true) in pairs.items():
                self.exact(f"{name} min, mean, quantiles, max are those of the requests", _near(said, true, values), f"{name} {what} {said}", true)

    def against_log(self):
        """No request was quicker than the server, and in a calm run none much slower."""
        served = defaultdict(list)
        for one in self.served:
            served[one.port].append(one)
        seen = defaultdict(list)
        for row in self.rows:
            seen[row["port"]].append(row)
        self.overheads_s = []
        excess_us = []
        for port, rows in seen.items():
            rows.sort(key=lambda row: row["done_ns"])
            if len(rows) != len(served[port]) or len({one.connection for one in served[port]}) != 1:
                continue
            for row, one in zip(rows, served[port]):
                if row["outcome"] == "2xx" and one.outcome == "success":
                    residence_ns = one.first_ns - one.arrival_ns
                    excess_us.append((row["done_ns"] - row["sent_ns"] - residence_ns) / 1e3)
                    self.overheads_s.append(max(0.0, (row["done_ns"] - row["intended_ns"] - residence_ns) / 1e9))
        if excess_us:
            self.exact("no request is quicker than the server", min(excess_us) >= -CLOCK_US, f"{min(excess_us):.0f} µs", f">= -{CLOCK_US:.0f} µs")
        if excess_us and self.result["verdict"] == "valid":
            middle = quantile(excess_us, 0.5) / 1e3
            self.exact("a valid run is close to the server", middle <= CALM_MS, f"{middle:.2f} ms at the median", f"<= {CALM_MS:g} ms")

    def rate(self):
        """The rate is the good answers of the window over its length."""
        rate, timing = self.result["rate"], self.result["timing"]
        if self.rows:
            seconds = timing["measured_s"]
            least, most = self._answers_in(seconds)
            counted = rate["done_per_s"] * seconds
            self.exact("rate = good answers in time / time", least - 1 <= counted <= most + 1, f"{rate['done_per_s']:.3f}/s", f"{least} to {most} in {seconds:.3f} s")
        bounds = rate["interval_per_s"]
        if bounds:
            self.exact("an interval holds its own value", bounds["low"] <= rate["done_per_s"] <= bounds["high"], f"rate {rate['done_per_s']} {bounds}", "in order")
            self.exact("no rate is negative", bounds["low"] >= 0, bounds, ">= 0")

    def _answers_in(self, seconds):
        """Answers of the window by the log, which begins after the warm-up's last request and before the first that counts."""
        first = min(row["intended_ns"] for row in self.rows)
        before = [one.arrival_ns for one in self.served if one.arrival_ns < first]
        # Without a warm-up the window begins with connecting, which a busy machine makes long.
        begins = [max(before, default=min(first, self._started_ns())) - EDGE_NS, first]
        answered = sorted(one.first_ns for one in self.served if one.outcome == "success")
        moments = {begins[0], begins[1]}
        for one in answered:
            for edge in (one, one - int(seconds * 1e9)):
                moments.update(at for at in (edge - 1, edge + 1) if begins[0] <= at <= begins[1])
        # Between the server's answer and the client's reading of it lies what the machine makes of it.
        early = [bisect.bisect_right(answered, at + seconds * 1e9 - EDGE_NS) - bisect.bisect_left(answered, at) for at in moments]
        late = [bisect.bisect_right(answered, at + seconds * 1e9) - bisect.bisect_left(answered, at - EDGE_NS) for at in moments]
        return min(early), max(late)

    def _started_ns(self):
        """The moment of the report, on the clock of the samples."""
        started = datetime.datetime.fromisoformat(self.result["timing"]["started_at"])
        ahead_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return int(started.timestamp() * 1e9) - ahead_ns

    def intervals(self):
        """How often the truth lies outside what is said to hold it in 95 of 100 runs."""
        world = self.world
        if not self.overheads_s or world.reset_share or world.closed_by:
            return
        truth = worlds.expect(world, self.overheads_s)
        bounds = self.result["rate"]["interval_per_s"]
        share = 1 - world.error_share
        if bounds:
            self._covers("rate", bounds, truth.per_s * share, self.result["rate"]["done_per_s"])
        response = self.result["latency"]["response"]
        for q, bound in response["intervals_ms"].items():
            if float(q) in truth.quantiles_ms:
                self._covers(f"p{100 * float(q):g}", bound, truth.quantiles_ms[float(q)], response["quantiles_ms"][q])

    def _covers(self, figure, bounds, truth, point):
        # What the truth is made of was itself seen in this run, and histograms round.
        slack = max(ROUNDING * truth, 0.02 if figure != "rate" else 0)
        holds = bounds["low"] - slack <= truth <= bounds["high"] + slack
        # What a run itself calls invalid is counted, but not held to anything.
        invalid = self.result["verdict"] == "invalid"
        name = f"run: 95 % interval of the {figure}{', indicative' if bounds['indicative'] else ''}{', called invalid' if invalid else ''}"
        said = f"{figure} {point:.3f} [{bounds['low']:.3f}, {bounds['high']:.3f}]"
        self.tally.chance(name, holds, 1.0 if invalid else INTERVAL_MISS, self.where, said, f"{truth:.3f}", self.again)


def _near(said, true, values):
    """Whether a figure is a value up to rounding, or lies between the neighbours of one."""
    if abs(said - true) <= max(ROUNDING * true, 2e-5):
        return True
    below = max((value for value in values if value <= true * (1 - 1e-9)), default=true)
    above = min((value for value in values if value >= true * (1 + 1e-9)), default=true)
    return below * (1 - ROUNDING) <= said <= above * (1 + ROUNDING)
