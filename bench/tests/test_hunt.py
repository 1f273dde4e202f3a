"""The truth of the hunt is right where it is known in closed form, and its checks see what is wrong."""

import copy
import datetime
import math
import random
import time
import unittest

from hunt import commands, comparisons, runs, serving, studies, tally, worlds


def world(kind, numbers, *, connections=4, rate=None):
    return worlds.World(kind, numbers, connections, rate, 2.0, 1)


class Truths(unittest.TestCase):
    def expect(self, one, overhead_s=1e-3):
        return worlds.expect(one, [overhead_s], requests=20_000)

    def test_closed_loop_of_a_constant(self):
        truth = self.expect(world("const", (9.0,)))
        self.assertAlmostEqual(truth.per_s, 400, delta=0.5)
        self.assertAlmostEqual(truth.quantiles_ms[0.99], 10.0, delta=1e-6)

    def test_one_at_a_time(self):
        self.assertAlmostEqual(self.expect(world("single", (5.0,))).per_s, 200, delta=0.2)

    def test_lockstep_of_a_batch(self):
        truth = self.expect(world("batch", (2.0, 20.0)))
        self.assertAlmostEqual(truth.per_s, 200, delta=0.2)
        self.assertAlmostEqual(truth.quantiles_ms[0.5], 20.0, delta=1e-3)

    def test_exponential(self):
        truth = self.expect(world("exponential", (10.0,), rate=50.0), 0.0)
        self.assertAlmostEqual(truth.quantiles_ms[0.5], 6.93, delta=0.3)
        self.assertAlmostEqual(truth.quantiles_ms[0.99], 46.05, delta=3)

    def test_freeze(self):
        truth = self.expect(world("freeze", (1.0, 100.0, 10.0), connections=1), 0.0)
        self.assertAlmostEqual(truth.per_s, 900, delta=15)

    def test_what_is_drawn_can_be_served(self):
        for seed in range(300):
            one = worlds.draw(random.Random(seed))
            self.assertTrue(all(number > 0 for number in one.numbers), one)
            self.assertEqual(one, worlds.draw(random.Random(seed)))
            self.assertRegex(one.delay(), r"^[a-z]+:\d+us")


class Tallies(unittest.TestCase):
    def test_chance(self):
        # Exact binomial tails.
        self.assertAlmostEqual(tally.tail(10, 1, 0.5), 1 - 0.5**10)
        self.assertAlmostEqual(tally.tail(20, 3, 0.05), 0.0755, delta=1e-4)
        self.assertFalse(tally.failed(tally.Count(100, 9, 0.05)))
        self.assertTrue(tally.failed(tally.Count(100, 15, 0.05)))
        self.assertTrue(tally.failed(tally.Count(100, 1, None)))


def latency(values):
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2 - 1]
    return {
        "count": len(values),
        "min_ms": ordered[0],
        "max_ms": ordered[-1],
        "mean_ms": math.fsum(values) / len(values),
        "quantiles_ms": {"0.5": middle},
        "intervals_ms": {"0.5": {"low": ordered[0], "high": ordered[-1], "indicative": False}},
    }


# When the samples say that the run began, 1 s after the machine's start.
STARTED = datetime.datetime.fromtimestamp(
    time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_MONOTONIC) + 1, datetime.timezone.utc
).isoformat()


def healthy():
    """A run of 200 requests in 2 s, its samples and the log."""
    rows, served = [], []
    for index in range(200):
        sent = 1_000_000_000 + index * 10_000_000
        rows.append({"port": 40_000, "intended_ns": sent, "sent_ns": sent, "done_ns": sent + 9_300_000, "status": 200, "outcome": "2xx"})
        served.append(serving.Served(sent + 100_000, sent + 9_100_000, 0, 40_000, "success"))
    same = latency([9.3] * 200)
    counted = {"intended": 200, "sent": 200, "answered": 200, "done": 200, "failed": 0, "censored": 0, "never_sent": 0, "failed_by_kind": {}}
    result = {
        "verdict": "valid",
        "requests": counted,
        "statuses": {"200": 200},
        "series": [{"done": 100}, {"done": 100}],
        "rate": {"done_per_s": 100.0, "interval_per_s": {"low": 98.0, "high": 102.0, "indicative": False}},
        "timing": {"measured_s": 2.0, "started_at": STARTED},
        "latency": {"response": same, "service": copy.deepcopy(same)},
    }
    return result, rows, served


def faults_of(result, rows, served):
    found = tally.Tally()
    runs.Checker(world("const", (9.0,), rate=100.0), found, result, rows, served, "again", 0.0).all()
    return {fault.check for fault in found.faults}


class Runs(unittest.TestCase):
    def test_a_healthy_run(self):
        self.assertEqual(faults_of(*healthy()), set())

    def check(self, expected, change):
        result, rows, served = healthy()
        change(result, rows, served)
        self.assertIn(f"run: {expected}", faults_of(result, rows, served))

    def test_each_mistake_is_seen(self):
        def set_in(*path):
            *names, last, value = path

            def change(result, *_):
                for name in names:
                    result = result[name]
                result[last] = value

            return change

        response = ("latency", "response")
        self.check("intended = done + failed + censored + never sent", set_in("requests", "done", 199))
        self.check("sent = the server's log", lambda _, __, served: served.pop())
        self.check("rate = good answers in time / time", set_in("rate", "done_per_s", 90.0))
        self.check("95 % interval of the rate", set_in("rate", "interval_per_s", {"low": 120.0, "high": 140.0, "indicative": False}))
        self.check("min <= p50 <= … <= max", set_in(*response, "quantiles_ms", {"0.5": 9.4}))
        self.check("response min, mean, quantiles, max are those of the requests", set_in(*response, "mean_ms", 9.2))
        self.check("an interval lies within what was seen", set_in(*response, "intervals_ms", {"0.5": {"low": 0.0, "high": 9.3, "indicative": False}}))

        def too_quick(_, rows, __):
            rows[0]["done_ns"] -= 1_000_000

        self.check("no request is quicker than the server", too_quick)


def metric(word, change, low, high, *, name="rate", primary=True):
    return {"metric": name, "primary": primary, "outcome": {"word": word}, "change": change, "interval": {"low": low, "high": high}}


class Comparisons(unittest.TestCase):
    def judge(self, factor, metrics):
        a = world("const", (98.0,), connections=8)
        served = [
            [serving.Served(round(k * (98e6 * scale + 2e5)), round(k * (98e6 * scale + 2e5) + 98e6 * scale), c, 40_000 + c, "success") for c in range(8) for k in range(20)]
            for scale in (1.0, factor)
        ]
        found = tally.Tally()
        comparisons.judge(a, factor, {"metrics": metrics, "pairs": []}, served, found, "here", "again")
        return {fault.check for fault in found.faults}

    def test_right(self):
        self.assertEqual(self.judge(1.025, [metric("slower", -0.0245, -0.026, -0.023)]), set())

    def test_the_wrong_sign_and_no_width(self):
        wrong = self.judge(1.025, [metric("faster", 0.5, 0.5, 0.5), metric("slower", 0.025, 0.024, 0.026, name="p50", primary=False)])
        self.assertEqual(
            wrong,
            {
                "compare: the sign is right",
                "compare: no interval has the width 0",
                "compare: 95 % interval of the rate, other servers",
                "compare: rate and p50 of a closed loop agree",
            },
        )

    def test_equal_servers(self):
        self.assertIn("compare: equal servers are not called different", self.judge(1.0, [metric("faster", 0.074, 0.05, 0.09)]))


def timed(walls):
    ordered = sorted(walls)
    middle = ordered[len(ordered) // 2]
    wall = {"min_s": ordered[0], "max_s": ordered[-1], "mean_s": math.fsum(walls) / len(walls), "median_s": middle, "median_interval_s": None}
    return {"runs": [{"wall_s": one} for one in walls], "wall": wall}


class Commands(unittest.TestCase):
    def judge(self, factor, word):
        plans = [[0.02] * 9, [0.02 * factor] * 9]
        # The reference is the quicker one.
        reference = int(factor < 1)
        told = {"command": 1 - reference, "change": 0.4, "interval": None, "verdict": {"word": word}}
        result = {"commands": [timed([one + 0.001 for one in plan]) for plan in plans], "reference": reference, "comparisons": [told]}
        found = tally.Tally()
        commands.judge(("const", 20.0, factor, 9), plans, result, found, "here", "again")
        return [fault.check for fault in found.faults]

    def test_the_slower_one_is_slower_than_the_reference(self):
        self.assertEqual(self.judge(0.7, "slower"), [])
        self.assertEqual(self.judge(1.3, "slower"), [])
        self.assertEqual(self.judge(0.7, "faster"), ["exec: the sign is right"])

    def test_equal_commands(self):
        self.assertEqual(self.judge(1.0, "slower"), ["exec: equal commands are not called different"])


class Studies(unittest.TestCase):
    def test_the_wrong_sign(self):
        found = tally.Tally()
        result = {"cells": [], "comparisons": [{"metrics": [metric("faster", -0.2, -0.3, -0.1, name="p50")]}]}
        studies.judge(("const", 10_000, 1.2, 4, "p50"), result, {}, found, "here", "again")
        self.assertEqual([fault.check for fault in found.faults], ["study: the sign is right"])

    def test_the_wrong_sign_of_a_build(self):
        found = tally.Tally()
        studies.judge_baseline(2.0, {"metrics": [metric("faster", 0.2, 0.1, 0.3)]}, found, "here", "again")
        self.assertEqual([fault.check for fault in found.faults], ["baseline: the sign is right"])

    def test_a_baseline_is_one_cell(self):
        text = studies.BASELINE_FILE.format(repeats=6, seed=1, kind="const", connections=4, a=100)
        self.assertIn('delay = ["100us"]', text)
        self.assertNotIn("compare", text)
