"""What an overload found, as the benchmark reads it."""

import json
import unittest

from overload import pulses

SERVICE_S = 0.005


def log(base, pulse, seconds):
    """One worker behind a queue without end, on a clock that began long ago."""
    free, lines = 0.0, ["arrived_ns,began_ns,ended_ns,outcome"]
    at = 0.0
    while at < seconds:
        begin = max(free, at)
        free = begin + SERVICE_S
        lines.append(",".join([*(str(round((77 + moment) * 1e9)) for moment in (at, begin, free)), "served"]))
        at += 1 / (pulse if 5 <= at < 10 else base)
    return lines[1:]


def stdout(outcome):
    return json.dumps({"runs": [{"outcome": outcome}]})


class Reading(unittest.TestCase):
    def test_the_servers_own_recovery(self):
        # 1,000 too many, of which 200 may wait: 800 at 100 more than come each second.
        self.assertAlmostEqual(pulses.truth(log(100, 400, 60), 100, 400), 8.0, delta=0.3)
        self.assertIsNone(pulses.truth(log(199.9, 400, 40), 199.9, 400))
        self.assertIsNone(pulses.truth([], 100, 400))

    def read(self, kind, retries, outcome):
        return pulses.read(kind, retries, (200.0, 100.0, 400.0), 0, stdout(outcome), log(100, 400, 60))

    def test_a_recovery_is_right_within_ten_percent(self):
        recovered = lambda after: self.read("unbounded", False, {"kind": "recovered", "after_s": after, "within_s": 0.2})
        self.assertTrue(recovered(8.2).is_right())
        self.assertLess(abs(recovered(8.2).error()), 0.1)
        self.assertFalse(recovered(10.0).is_right())
        self.assertFalse(recovered(6.0).is_right())

    def test_outcomes(self):
        metastable = {"kind": "metastable", "watched_s": 50.0}
        at_once = {"kind": "recovered", "after_s": 0.2, "within_s": 0.2}
        self.assertTrue(self.read("unbounded", True, metastable).is_right())
        self.assertFalse(self.read("unbounded", True, at_once).is_right())
        self.assertFalse(self.read("bounded", True, metastable).is_right())
        self.assertTrue(self.read("bounded", True, at_once).is_right())
        self.assertFalse(self.read("shedding", False, {**at_once, "after_s": 9.0}).is_right())
        failed = pulses.read("bounded", True, (200.0, 100.0, 400.0), 4, "", [])
        self.assertEqual((failed.outcome, failed.is_right()), ("failed", False))

    def test_pulses_are_above_the_capacity_and_bases_below(self):
        for number in range(50):
            workers, service_us, base, pulse = pulses.settings(f"7 {number}")
            capacity = workers * 1e6 / service_us
            self.assertTrue(90 < capacity < 510 and base < 0.71 * capacity and pulse > 1.59 * capacity)


if __name__ == "__main__":
    unittest.main()
