"""Contests between servers, and what long runs complain about."""

import types
import unittest

from lib.load import Said
from lib.trial import Trial
from servers import contests, endurance


def trial(said, server_cpu_s=1.0, error=None):
    return Trial("wrk", said, error, 0, ["wrk"], 1.0, 1.0, 0, server_cpu_s, 0)


def run(server, answered, *, round_number=1, failed=0, database_cpu_s=None):
    return contests.Run(round_number, "Title", 16, server, trial(Said(answered, failed=failed)), database_cpu_s)


def contest(**changes):
    fields = {"part": "p", "title": "Title", "reference": "theirs", "own": ("ours",), "keepalive": True}
    return contests.Contest(**(fields | {"connections": (16,), "targets": {"ours": 3.0}} | changes))


class Contests(unittest.TestCase):
    def test_ratios_are_taken_within_a_round(self):
        runs = [run("theirs", 100), run("ours", 400), run("theirs", 200, round_number=2), run("ours", 800, round_number=2)]
        text = contests.table(contest(), runs)
        self.assertIn(">= 3.00: met", text)
        self.assertRegex(text, r"ours, 16 +\| +600 \| +– \| +4\.00")
        self.assertNotIn("database", text)

    def test_a_run_with_failures_is_none(self):
        self.assertIsNone(run("ours", 400, failed=1).per_cpu_s())
        self.assertIn("not measured", contests.table(contest(), [run("theirs", 100), run("ours", 400, failed=1)]))

    def test_the_database_stands_beside(self):
        text = contests.table(contest(), [run("theirs", 100, database_cpu_s=0.01), run("ours", 200, database_cpu_s=0.01)])
        self.assertRegex(text, r"theirs, 16 .* 100\.0 \|")
        self.assertRegex(text, r"ours, 16 .* 50\.0 \| +>= 3\.00: missed")

    def test_every_job_has_its_reference(self):
        for each in contests.CONTESTS:
            self.assertEqual(set(each.targets) - set(each.own), set())
            here = [(count, name) for _, count, name in contests.jobs([each])]
            self.assertEqual({count for count, name in here if name == each.reference}, set(each.connections))

    def test_flags(self):
        place = types.SimpleNamespace(database=types.SimpleNamespace(url="postgresql://h/d"))
        self.assertEqual(contests.flags(place, "kv", True), ["kv"])
        self.assertEqual(contests.flags(place, "express", True), ["express", "--database", "postgresql://h/d"])
        self.assertEqual(contests.flags(place, "rudy", False), ["rudy", "--model", "sequential", "--delay", "0ms"])
        self.assertEqual(contests.flags(place, "rudy async", True)[2:], ["async", "--delay", "0ms", "--keepalive"])


class Endurance(unittest.TestCase):
    def check(self, complaint, said, error=None):
        self.assertEqual(endurance.Endured("null", True, trial(said, error=error)).complaint(), complaint)

    def test_complaints(self):
        broken = "Socket errors: connect 0, read 0, write 0, timeout 7"
        self.check(None, Said(10))
        self.check(None, Said(10, remark="Socket errors: connect 0, read 0, write 0, timeout 0"))
        self.check(broken, Said(10, remark=broken))
        self.check("3 failed", Said(10, failed=3))
        self.check("nothing was answered", Said(0))
        self.check("still running", None, error="still running")

    def test_express_only_where_it_is_served(self):
        self.assertIn(("express", True), endurance.jobs(True))
        self.assertNotIn(("express", True), endurance.jobs(False))
