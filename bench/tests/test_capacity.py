"""What a search for a capacity found, as the benchmark reads it."""

import json
import unittest

from capacity import searches


def stdout(outcome):
    trials = [{"outcome": "passed"}, {"outcome": "void"}]
    return json.dumps({"outcome": outcome, "trials": trials, "elapsed_s": 90.0})


class Reading(unittest.TestCase):
    def read(self, low, estimate, high):
        outcome = {"kind": "between", "lower_per_s": low, "estimate_per_s": estimate, "upper_per_s": high}
        return searches.read("1 0", 0.9, 1000, 0, stdout(outcome))

    def test_errors_and_bounds_are_those_of_the_truth(self):
        found = self.read(980.0, 990.0, 1005.0)
        self.assertEqual((found.truth_per_s, found.trials, found.void), (1000.0, 2, 1))
        self.assertAlmostEqual(found.error(), -0.01)
        self.assertTrue(found.covers(10))
        self.assertFalse(self.read(900.0, 950.0, 999.0).covers(10))
        # A queue takes 20 ms of 9 s to be seen at the quantile 0.9: 0.22 %.
        self.assertTrue(self.read(1001.5, 1010.0, 1020.0).covers(10))
        self.assertFalse(self.read(1003.0, 1010.0, 1020.0).covers(10))

    def test_other_outcomes_have_no_bounds(self):
        found = searches.read("1 0", 0.5, 1000, 3, stdout({"kind": "at-least", "lower_per_s": 950.0}))
        self.assertEqual((found.kind, found.error(), found.covers(10)), ("at-least", None, None))
        self.assertTrue(found.holds(10))
        self.assertAlmostEqual(found.gap(), 0.05)
        above = searches.read("1 0", 0.5, 1000, 3, stdout({"kind": "at-least", "lower_per_s": 1005.0}))
        self.assertFalse(above.holds(10))
        self.assertEqual(searches.read("1 0", 0.9, 1000, 4, "").kind, "failed")

    def test_servers_differ_by_seed_and_stay_in_range(self):
        times = {searches.server(f"7 {number}") for number in range(50)}
        self.assertGreater(len(times), 40)
        self.assertTrue(all(500 <= time <= 20_000 for time in times))


if __name__ == "__main__":
    unittest.main()
